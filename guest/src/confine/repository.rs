//! Opens what git needs to commit files in scope.
//!
//! Git creates lock files directly in its folder, beside `hooks/` and `config`, which name programs that git runs for everyone. A
//! kernel without exceptions cannot tell them apart. So the folder is opened only for a command that runs nothing but git, with
//! options that are all known: `git add`, `git commit`, `git push`. For any other command it stays closed. In a work tree whose
//! repository is elsewhere, these locks are in a folder of their own, and git need not be the only program.

use super::Context;
use super::grant::{Grant, GrantKind, Repository};
use super::opening::GrantCollector;
use crate::config::confine::Capability;
use crate::effects::Footprint;
use crate::effects::path::Location;
use crate::ports::{FileKind as Node, Question, Root};

const GIT: &str = ".git";
const WHY: &str = "git commits";

/// Entries through which git is made to run programs or is misled about files.
const CLOSED: [&str; 6] = ["hooks", "config", "config.worktree", "info", "modules", "worktrees"];

/// What a commit changes and all work trees of a repository share.
const SHARED: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// The program for which the folder is opened.
const PROGRAM: &str = "git";

/// Whether a command runs git and nothing else whose effects are not fully known.
pub(super) fn runs_only_git(footprint: &Footprint) -> bool {
    runs_git(footprint) && footprint.programs.len() == 1 && footprint.unknowns.is_empty()
}

/// Whether a command is known to run git in a way that changes the repository.
pub(super) fn runs_git(footprint: &Footprint) -> bool {
    footprint.programs.contains(PROGRAM)
}

/// Opens the repository.
pub(super) fn open(opening: &mut GrantCollector<'_>, context: &Context<'_>) {
    let footprint = context.footprint;
    // A part that cannot be analysed may be git.
    let may_run = runs_git(footprint) || !footprint.unknowns.is_empty();
    let facts = context.ports.workspace.inspect(&[Question::project(GIT)]);
    let Some(facts) = facts.first().filter(|facts| facts.real_path.as_deref() == Some(GIT)) else { return };
    opening.repository = Repository::Closed;
    match facts.kind {
        Node::File if may_run => open_work_tree(opening, context),
        Node::Directory if context.capability == Capability::Exceptions && may_run => {
            let except = CLOSED.map(|name| format!("{GIT}/{name}")).to_vec();
            opening.grant(Grant { except, ..Grant::new(GIT, GrantKind::Tree, WHY) });
            opening.repository = Repository::Open;
        }
        Node::Directory if runs_only_git(footprint) => {
            opening.grant(Grant { widened: true, ..Grant::new(GIT, GrantKind::Tree, WHY) });
            opening.repository = Repository::Open;
        }
        _ => {}
    }
}

/// `.git` as a file: `gitdir: /repository/.git/worktrees/NAME`.
fn open_work_tree(opening: &mut GrantCollector<'_>, context: &Context<'_>) {
    const MAX_BYTES: u64 = 8 << 10;
    let text = context.ports.workspace.read(Root::Project, GIT, MAX_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let Some(own) = text.strip_prefix("gitdir:").map(str::trim).filter(|path| path.starts_with('/')) else { return };
    let is_name = |(_, name): &(&str, &str)| !name.is_empty() && !name.contains('/');
    let Some((repository, _)) = own.rsplit_once("/worktrees/").filter(is_name) else { return };
    let mut questions = vec![Question::project(own), Question::project(format!("{own}/config.worktree"))];
    questions.extend(SHARED.map(|name| Question::project(format!("{repository}/{name}"))));
    let facts = context.ports.workspace.inspect(&questions);
    let [own, settings, shared @ ..] = facts.as_slice() else { return };
    // Settings in this folder would name programs that git runs.
    let own = (settings.kind == Node::Missing && own.kind == Node::Directory).then_some(own);
    if own.is_some() {
        opening.repository = Repository::Open;
    }
    for facts in own.into_iter().chain(shared) {
        let real = facts.real_path.as_deref().filter(|_| facts.kind == Node::Directory);
        if let Some(real) = real.filter(|real| matches!(Location::from_host(real), Location::Outside(_))) {
            opening.grant(Grant::new(real, GrantKind::Tree, WHY));
        }
    }
}

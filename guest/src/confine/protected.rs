//! What is never granted: control files, guarded places of the user, the gate's state, repositories in the workspace.

use super::grant::is_at_or_below;
use crate::effects::Extent;
use crate::effects::path::{Location, WorkspacePath};
use crate::intents::control::Control;
use crate::intents::guarded::GuardedFiles;
use crate::ports::{Ports, Question, Root};

/// The file that lists submodules.
const SUBMODULES: &str = ".gitmodules";

/// The largest such file that is read, and the most submodules that are read from it.
const MAX_BYTES: u64 = 256 << 10;
const MAX_SUBMODULES: usize = 200;

/// Places that no grant may include.
pub(super) struct Protected<'a> {
    guarded: &'a GuardedFiles,
    /// Files and folders called `.git` below the root, as far as they are known.
    repositories: Vec<String>,
    /// The folder that contains the workspace; absolute.
    workspace_parent: Option<String>,
}

impl<'a> Protected<'a> {
    pub(super) fn new(guarded: &'a GuardedFiles, ports: &Ports) -> Self {
        let facts = ports.workspace.inspect(&[Question::project(".."), Question::project(SUBMODULES)]);
        let workspace_parent = facts.first().and_then(|facts| facts.real_path.clone()).filter(|path| path.starts_with('/'));
        let has_submodules = facts.get(1).is_some_and(|facts| facts.size > 0);
        let text = if has_submodules { ports.workspace.read(Root::Project, SUBMODULES, MAX_BYTES).ok() } else { None };
        let repositories = submodules(&String::from_utf8_lossy(&text.unwrap_or_default()));
        Self { guarded, repositories, workspace_parent }
    }

    /// Records that a folder below the root has a repository of its own.
    pub(super) fn add_repository(&mut self, git: String) {
        if !self.repositories.contains(&git) {
            self.repositories.push(git);
        }
    }

    /// Whether a path is protected, or is in something that is.
    pub(super) fn is_protected(&self, path: &str) -> bool {
        match Location::from_host(path) {
            Location::Inside(inside) => {
                !Control::containing(&inside).is_empty()
                    || self.repositories.iter().any(|git| is_at_or_below(path, git))
                    || self.guarded.covers(&Location::Inside(inside), Extent::Folder, std::iter::empty())
            }
            outside => self.guarded.covers(&outside, Extent::Itself, std::iter::empty()),
        }
    }

    /// Whether something protected is below a folder, or could be put there. For a folder outside, the workspace counts as
    /// protected too.
    pub(super) fn has_protected_below(&self, folder: &str) -> bool {
        match Location::from_host(folder) {
            Location::Inside(inside) => {
                folder == "."
                    || Control::has_any_below(&inside)
                    || self.repositories.iter().any(|git| is_at_or_below(git, folder))
                    || self.guarded.has_guarded_below(&Location::Inside(inside))
            }
            outside => {
                self.workspace_parent.as_deref().is_none_or(|parent| is_at_or_below(parent, folder))
                    || self.guarded.has_guarded_below(&outside)
            }
        }
    }

    /// The protected paths below a folder of the workspace.
    pub(super) fn protected_below(&self, folder: &WorkspacePath) -> Vec<String> {
        let mut found = Control::paths_below(folder);
        let repositories = self.repositories.iter().filter(|git| is_at_or_below(git, folder.as_str()));
        found.extend(repositories.cloned());
        found.extend(self.guarded.paths_below(&Location::Inside(folder.clone())));
        found
    }
}

/// The `.git` of each submodule listed in `.gitmodules`.
fn submodules(text: &str) -> Vec<String> {
    let path = |line: &str| {
        let (name, value) = line.trim().split_once('=')?;
        let path = value.trim().trim_matches('"').trim_end_matches('/');
        let is_plain = !path.is_empty() && !path.starts_with('/') && path.split('/').all(|name| !matches!(name, "" | "." | ".."));
        (name.trim() == "path" && is_plain).then(|| format!("{path}/.git"))
    };
    text.lines().filter_map(path).take(MAX_SUBMODULES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_are_read() {
        let text =
            "[submodule \"a\"]\n\tpath = vendor/a\n\turl = x\n[submodule \"b\"]\n path=\"b c/\"\npath = ../out\npath = /etc\n";
        assert_eq!(submodules(text), ["vendor/a/.git", "b c/.git"]);
    }
}

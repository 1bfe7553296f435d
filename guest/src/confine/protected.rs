//! What is never granted: control files, what is the user's own, the gate's state, repositories in the workspace.

use super::grant::is_at_or_below;
use crate::effects::Extent;
use crate::effects::path::{Location, WorkspacePath};
use crate::intents::control::Control;
use crate::intents::guarded::Guarded;
use crate::ports::{Ports, Question, Root};

/// The list of submodules.
const SUBMODULES: &str = ".gitmodules";

/// A longer one is not read, and a workspace has no more submodules.
const MAX_BYTES: u64 = 256 << 10;
const MAX_SUBMODULES: usize = 200;

/// Places that no grant may reach.
pub(super) struct Protected<'a> {
    guarded: &'a Guarded,
    /// Files and folders called `.git` below the root, as far as they are known.
    repositories: Vec<String>,
    /// The folder of the workspace; absolute.
    above: Option<String>,
}

impl<'a> Protected<'a> {
    pub(super) fn new(guarded: &'a Guarded, ports: &Ports) -> Self {
        let facts = ports.workspace.inspect(&[Question::project(".."), Question::project(SUBMODULES)]);
        let above = facts.first().and_then(|facts| facts.real_path.clone()).filter(|path| path.starts_with('/'));
        let has_submodules = facts.get(1).is_some_and(|facts| facts.size > 0);
        let text = if has_submodules { ports.workspace.read(Root::Project, SUBMODULES, MAX_BYTES).ok() } else { None };
        let repositories = submodules(&String::from_utf8_lossy(&text.unwrap_or_default()));
        Self { guarded, repositories, above }
    }

    /// Takes in that a folder below the root has a repository of its own.
    pub(super) fn add_repository(&mut self, git: String) {
        if !self.repositories.contains(&git) {
            self.repositories.push(git);
        }
    }

    /// Whether a path is protected, or lies in what is.
    pub(super) fn holds(&self, path: &str) -> bool {
        match Location::reported(path) {
            Location::Inside(inside) => {
                !Control::over(&inside).is_empty()
                    || self.repositories.iter().any(|git| is_at_or_below(path, git))
                    || self.guarded.covers(&Location::Inside(inside), Extent::Folder, std::iter::empty())
            }
            outside => self.guarded.covers(&outside, Extent::Itself, std::iter::empty()),
        }
    }

    /// Whether something protected is, or could be put, below a folder. Outside, that is also the workspace.
    pub(super) fn stands_below(&self, folder: &str) -> bool {
        match Location::reported(folder) {
            Location::Inside(inside) => {
                folder == "."
                    || Control::is_below(&inside)
                    || self.repositories.iter().any(|git| is_at_or_below(git, folder))
                    || self.guarded.stands_below(&Location::Inside(inside))
            }
            outside => {
                self.above.as_deref().is_none_or(|above| is_at_or_below(above, folder)) || self.guarded.stands_below(&outside)
            }
        }
    }

    /// What is protected below a folder of the workspace, by path.
    pub(super) fn below(&self, folder: &WorkspacePath) -> Vec<String> {
        let mut found = Control::below(folder);
        let repositories = self.repositories.iter().filter(|git| is_at_or_below(git, folder.as_str()));
        found.extend(repositories.cloned());
        found.extend(self.guarded.places_below(&Location::Inside(folder.clone())));
        found
    }
}

/// The `.git` of each submodule that a text lists.
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

//! What is not watched: what Git, builds and the gate itself write, and what the workspace's own `.gitignore` names.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// Folders that are never looked into, wherever they stand.
const FOLDERS: &[&str] = &[".git", "node_modules", "target"];

/// What the gate writes itself.
const OWN: &[&str] = &[".tollgate/logs", STATE_AT_HOME];

/// Where the state stands if the workspace is the home folder.
const STATE_AT_HOME: &str = ".local/state/tollgate";

/// One line of `.gitignore`.
struct Rule {
    matches: GlobMatcher,
    /// Whether it takes back what an earlier line says.
    keeps: bool,
    only_folders: bool,
}

/// What is not watched.
#[derive(Default)]
pub(super) struct Ignored {
    rules: Vec<Rule>,
}

impl Ignored {
    /// Reads the `.gitignore` at the top of the workspace. Those further below are not read.
    pub(super) fn read(root: &Path) -> Self {
        let text = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        Self { rules: text.lines().filter_map(Rule::parse).collect() }
    }

    /// Whether a path is not watched, itself or because of a folder that it is in.
    pub(super) fn covers(&self, path: &str, is_folder: bool) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|part| self.names(part, is_folder || part.len() < path.len()))
    }

    fn names(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        if OWN.contains(&path) || is_folder && FOLDERS.contains(&name) {
            return true;
        }
        let last = self.rules.iter().rev().find(|rule| (is_folder || !rule.only_folders) && rule.matches.is_match(path));
        last.is_some_and(|rule| !rule.keeps)
    }
}

impl Rule {
    /// None for what is no pattern, or none that can be understood.
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (keeps, pattern) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (only_folders, pattern) = pattern.strip_suffix('/').map_or((false, pattern), |rest| (true, rest));
        // A pattern with a slash is meant from the top, one without is meant anywhere.
        let pattern = if pattern.contains('/') { pattern.trim_start_matches('/').to_owned() } else { format!("**/{pattern}") };
        let glob = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build().ok()?;
        Some(Self { matches: glob.compile_matcher(), keeps, only_folders })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(".gitignore"), "# x\n\n*.log\n!keep.log\n/dist\nbuild/\ndocs/*.html\na/**/z\n").unwrap();
        let ignored = Ignored::read(temp.path());
        for (path, is_folder, covered) in [
            ("src/a.rs", false, false),
            (".git/index", false, true),
            (".git", true, true),
            ("sub/.git/HEAD", false, true),
            (".gitignore", false, false),
            ("node_modules/x/y.js", false, true),
            ("web/node_modules/x.js", false, true),
            ("target", true, true),
            ("src/target", false, false),
            (".local/state/tollgate/x", false, true),
            (".local/state/other", false, false),
            (".tollgate/logs/hooks.log", false, true),
            (".tollgate/hooks.json", false, false),
            ("x.log", false, true),
            ("src/deep/x.log", false, true),
            ("src/keep.log", false, false),
            ("dist/a.js", false, true),
            ("src/dist/a.js", false, false),
            ("build/a", false, true),
            ("src/build", true, true),
            ("src/build", false, false),
            ("docs/a.html", false, true),
            ("docs/sub/a.html", false, false),
            ("a/b/c/z", false, true),
        ] {
            assert_eq!(ignored.covers(path, is_folder), covered, "{path}");
        }
    }
}

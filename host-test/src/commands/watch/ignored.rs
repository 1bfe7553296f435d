//! Files that are not watched: those that git ignores, and those that git, builds and the gate itself write.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tollgate_guest::ports::LARGE_FOLDERS;

/// Folders that the gate writes to.
const OWN: &[&str] = &[".tollgate/logs", STATE_IN_HOME];

/// The state folder, if the workspace is the home folder.
const STATE_IN_HOME: &str = ".local/state/tollgate";

/// The patterns of a workspace: `.gitignore` in every folder, and `.git/info/exclude`.
pub(super) struct Ignored {
    root: PathBuf,
    /// Those of the whole repository, which count least.
    exclude: Gitignore,
    /// By folder, read when it is first needed.
    files: RefCell<HashMap<String, Gitignore>>,
}

impl Ignored {
    pub(super) fn read(root: &Path) -> Self {
        let exclude = patterns(root, &root.join(".git/info/exclude"));
        Self { root: root.to_owned(), exclude, files: RefCell::default() }
    }

    /// Whether a path is ignored, or in a folder that is.
    pub(super) fn covers(&self, path: &str, is_folder: bool) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|part| self.matches(part, is_folder || part.len() < path.len()))
    }

    /// Whether a path itself is ignored. The nearest `.gitignore` with a matching pattern decides.
    fn matches(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        if OWN.contains(&path) || is_folder && LARGE_FOLDERS.contains(&name) {
            return true;
        }
        let mut files = self.files.borrow_mut();
        let mut folder = path;
        while !folder.is_empty() {
            folder = folder.rfind('/').and_then(|end| folder.get(..end)).unwrap_or_default();
            let file = files.entry(folder.to_owned()).or_insert_with(|| {
                let folder = self.root.join(folder);
                patterns(&folder, &folder.join(".gitignore"))
            });
            match file.matched(self.root.join(path), is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        self.exclude.matched(self.root.join(path), is_folder).is_ignore()
    }
}

/// The patterns in a file, relative to a folder. Without such a file there are none, and invalid patterns are left out.
fn patterns(folder: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    let _ = builder.add(file);
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(".gitignore"), "# x\n\n*.log\n!keep.log\n/dist\nbuild/\ndocs/*.html\na/**/z\n").unwrap();
        for (path, text) in [
            // A pattern of a nested file counts below it, and more than those above.
            ("web/.gitignore", "*.css\n!keep.css\n!/x.log\n!mine.txt\n"),
            // An ignored folder stays ignored, whatever is in it.
            ("build/.gitignore", "!*\n"),
            (".git/info/exclude", "mine.txt\n"),
        ] {
            std::fs::create_dir_all(temp.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(temp.path().join(path), text).unwrap();
        }
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
            ("web/a.css", false, true),
            ("web/keep.css", false, false),
            ("web/deep/a.css", false, true),
            ("a.css", false, false),
            ("web/x.log", false, false),
            ("web/deep/x.log", false, true),
            ("build/keep.css", false, true),
            ("mine.txt", false, true),
            ("web/mine.txt", false, false),
        ] {
            assert_eq!(ignored.covers(path, is_folder), covered, "{path}");
        }
    }
}

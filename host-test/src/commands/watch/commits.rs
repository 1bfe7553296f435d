//! Detects commits in the reflog of `HEAD`.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Reflog actions that create a commit, unlike checkouts, resets and fast-forwards.
const COMMIT_ACTIONS: &[&str] = &["commit", "cherry-pick", "revert"];

/// The reflog of a repository, and how much of it has been read.
pub(super) struct Commits {
    folder: PathBuf,
    read: u64,
}

impl Commits {
    /// Finds the repository of a workspace. Existing reflog entries are not reported.
    pub(super) fn open(root: &Path) -> Result<Self, String> {
        let at = root.join(".git");
        let folder = if at.is_dir() {
            at
        } else {
            // In an additional work tree, `.git` is a file that names the folder.
            let text =
                std::fs::read_to_string(&at).map_err(|why| format!("`{}` is not a Git repository: {why}", root.display()))?;
            let named = text.trim().strip_prefix("gitdir:").map(str::trim);
            root.join(named.ok_or_else(|| format!("`{}` does not name a repository", at.display()))?)
        };
        let mut commits = Self { folder, read: 0 };
        commits.read = commits.log().metadata().map_or(0, |metadata| metadata.len());
        Ok(commits)
    }

    /// The folders to watch: that of the reflog, and the one in which it will appear.
    pub(super) fn folders(&self) -> [PathBuf; 2] {
        [self.folder.clone(), self.folder.join("logs")]
    }

    fn log(&self) -> PathBuf {
        self.folder.join("logs/HEAD")
    }

    /// The commits since the last call.
    pub(super) fn take(&mut self) -> Vec<Value> {
        let Ok(mut file) = File::open(self.log()) else { return Vec::new() };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        // A shorter log has been truncated.
        if length < self.read {
            self.read = length;
        }
        let mut new = Vec::new();
        if file.seek(SeekFrom::Start(self.read)).is_err() || file.read_to_end(&mut new).is_err() {
            return Vec::new();
        }
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        let lines = String::from_utf8_lossy(new.get(..whole).unwrap_or_default()).into_owned();
        let branch = branch(&std::fs::read_to_string(self.folder.join("HEAD")).unwrap_or_default());
        lines.lines().filter_map(|line| commit(line, branch.as_deref())).collect()
    }
}

/// The current branch; `None` if `HEAD` is detached.
fn branch(head: &str) -> Option<String> {
    head.trim().strip_prefix("ref:")?.trim().strip_prefix("refs/heads/").map(str::to_owned)
}

/// `<old> <new> <who> <when>\t<what>: <message>`
fn commit(line: &str, branch: Option<&str>) -> Option<Value> {
    let (facts, said) = line.split_once('\t')?;
    let (what, message) = said.split_once(": ")?;
    let first = what.split(' ').next().unwrap_or_default();
    let merged = first == "merge" && message.starts_with("Merge made");
    if !COMMIT_ACTIONS.contains(&first) && !merged {
        return None;
    }
    let id = facts.split(' ').nth(1)?;
    let mut reported = json!({"repo_root": ".", "commit": id, "message": message});
    if let (Some(branch), Some(fields)) = (branch, reported.as_object_mut()) {
        fields.insert("branch".to_owned(), branch.into());
    }
    Some(reported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commits_are_commits() {
        let line = |said: &str| format!("0000 1111 A U <a@u> 1 +0000\t{said}");
        for (said, message) in [
            ("commit: Login: first", Some("Login: first")),
            ("commit (initial): x", Some("x")),
            ("commit (amend): x", Some("x")),
            ("cherry-pick: x", Some("x")),
            ("revert: Revert \"x\"", Some("Revert \"x\"")),
            ("merge side: Merge made by the 'ort' strategy.", Some("Merge made by the 'ort' strategy.")),
            ("merge side: Fast-forward", None),
            ("checkout: moving from a to b", None),
            ("reset: moving to HEAD~1", None),
            ("clone: from x", None),
            ("", None),
        ] {
            let found = commit(&line(said), None);
            assert_eq!(found.as_ref().and_then(|found| found["message"].as_str()), message, "{said}");
            assert!(found.is_none_or(|found| found["commit"] == "1111"));
        }
    }

    #[test]
    fn only_what_is_new_and_whole_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let (root, log) = (temp.path(), temp.path().join("repo/logs/HEAD"));
        assert!(Commits::open(root).err().unwrap().contains("is not a Git repository"));
        std::fs::create_dir_all(log.parent().unwrap()).unwrap();
        std::fs::write(root.join(".git"), "gitdir: repo\n").unwrap();
        let (old, new) = ("0 1 A <a> 1 +0\tcommit: old\n", "1 2 A <a> 2 +0\tcommit: new\n");
        std::fs::write(&log, old).unwrap();
        let mut commits = Commits::open(root).unwrap();
        std::fs::write(&log, format!("{old}{}", new.trim_end())).unwrap();
        assert_eq!(commits.take(), Vec::<Value>::new());
        std::fs::write(&log, format!("{old}{new}")).unwrap();
        let reported = json!({"repo_root": ".", "commit": "2", "message": "new"});
        assert_eq!(commits.take(), std::slice::from_ref(&reported));
        for (head, branch) in [("ref: refs/heads/fix/login\n", Some("fix/login")), ("1111\n", None), ("ref: refs/x\n", None)] {
            std::fs::write(root.join("repo/HEAD"), head).unwrap();
            commits.read = old.len() as u64;
            let mut reported = reported.clone();
            branch.into_iter().for_each(|branch| reported["branch"] = branch.into());
            assert_eq!(commits.take(), [reported], "{head}");
        }
        assert_eq!(commits.take(), Vec::<Value>::new());
    }
}

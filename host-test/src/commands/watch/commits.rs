//! Commits, told from Git's own log of where `HEAD` was.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// What the log says of a commit that was made here. Checkouts, resets and fast-forwards are none.
const MADE: &[&str] = &["commit", "cherry-pick", "revert"];

/// The log of a repository, and how much of it is known.
pub(super) struct Commits {
    folder: PathBuf,
    read: u64,
}

impl Commits {
    /// Finds the repository of a workspace. What is in its log already is no news.
    pub(super) fn open(root: &Path) -> Result<Self, String> {
        let at = root.join(".git");
        let folder = if at.is_dir() {
            at
        } else {
            // In one of several work trees, a file names the folder.
            let text = std::fs::read_to_string(&at).map_err(|why| format!("`{}` is no Git repository: {why}", root.display()))?;
            let named = text.trim().strip_prefix("gitdir:").map(str::trim);
            root.join(named.ok_or_else(|| format!("`{}` names no repository", at.display()))?)
        };
        let mut commits = Self { folder, read: 0 };
        commits.read = commits.log().metadata().map_or(0, |metadata| metadata.len());
        Ok(commits)
    }

    /// Where to look for changes: the folder of the log, and the one that it will appear in.
    pub(super) fn folders(&self) -> [PathBuf; 2] {
        [self.folder.clone(), self.folder.join("logs")]
    }

    fn log(&self) -> PathBuf {
        self.folder.join("logs/HEAD")
    }

    /// What was committed since.
    pub(super) fn take(&mut self) -> Vec<Value> {
        let Ok(mut file) = File::open(self.log()) else { return Vec::new() };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        // A log that is shorter was cleaned up.
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

/// The branch that `HEAD` names; none where it names a commit.
fn branch(head: &str) -> Option<String> {
    head.trim().strip_prefix("ref:")?.trim().strip_prefix("refs/heads/").map(str::to_owned)
}

/// `<old> <new> <who> <when>\t<what>: <message>`
fn commit(line: &str, branch: Option<&str>) -> Option<Value> {
    let (facts, said) = line.split_once('\t')?;
    let (what, message) = said.split_once(": ")?;
    let first = what.split(' ').next().unwrap_or_default();
    let merged = first == "merge" && message.starts_with("Merge made");
    if !MADE.contains(&first) && !merged {
        return None;
    }
    let id = facts.split(' ').nth(1)?;
    let mut told = json!({"repo_root": ".", "commit": id, "message": message});
    if let (Some(branch), Some(fields)) = (branch, told.as_object_mut()) {
        fields.insert("branch".to_owned(), branch.into());
    }
    Some(told)
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
        assert!(Commits::open(root).err().unwrap().contains("is no Git repository"));
        std::fs::create_dir_all(log.parent().unwrap()).unwrap();
        std::fs::write(root.join(".git"), "gitdir: repo\n").unwrap();
        let (old, new) = ("0 1 A <a> 1 +0\tcommit: old\n", "1 2 A <a> 2 +0\tcommit: new\n");
        std::fs::write(&log, old).unwrap();
        let mut commits = Commits::open(root).unwrap();
        std::fs::write(&log, format!("{old}{}", new.trim_end())).unwrap();
        assert_eq!(commits.take(), Vec::<Value>::new());
        std::fs::write(&log, format!("{old}{new}")).unwrap();
        let told = json!({"repo_root": ".", "commit": "2", "message": "new"});
        assert_eq!(commits.take(), std::slice::from_ref(&told));
        for (head, branch) in [("ref: refs/heads/fix/login\n", Some("fix/login")), ("1111\n", None), ("ref: refs/x\n", None)] {
            std::fs::write(root.join("repo/HEAD"), head).unwrap();
            commits.read = old.len() as u64;
            let mut told = told.clone();
            branch.into_iter().for_each(|branch| told["branch"] = branch.into());
            assert_eq!(commits.take(), [told], "{head}");
        }
        assert_eq!(commits.take(), Vec::<Value>::new());
    }
}

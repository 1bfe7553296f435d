//! The receipt of what `tollgate init` did in a workspace, with which it can be undone.
//!
//! Each workspace has one receipt. It is in the workspace's state folder, where no repository can place a forged receipt that
//! reverts something else. It contains the previous content of each file: a copy beside the file would be committed with it.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json;

/// A file that was written, or that had been written for another workspace and serves this one too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// The path of the file.
    pub path: String,
    /// The program it is for; `None` for the intents.
    pub program: Option<String>,
    /// Its content before; `None` if it did not exist.
    pub before: Option<String>,
    /// The digest of its content after it was written.
    pub digest: String,
}

/// Everything that was done in a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// The workspace's root.
    pub workspace: String,
    /// The files.
    pub files: Vec<WrittenFile>,
    /// Folders that were created, the outermost first.
    pub folders: Vec<String>,
}

impl Receipt {
    /// Reads a receipt; `None` if it cannot be read.
    pub fn parse(text: &str) -> Option<Self> {
        json::parse(text.as_bytes()).ok()
    }

    /// The receipt as it is stored.
    pub fn text(&self) -> String {
        format!("{:#}\n", json::value_of(self))
    }

    /// The entry of a file.
    pub fn file(&self, path: &str) -> Option<&WrittenFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Records a change to a file. Undoing restores the content from before the first change, unless someone else has changed the
    /// file since. A file that was written for another workspace is restored to its content before that.
    pub fn enter(&mut self, program: Option<&str>, path: &str, before: Option<&str>, after: &str, others: &[Self]) {
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        let was = before.map(digest);
        let known = self.file(path).into_iter().chain(others.iter().filter_map(|other| other.file(path)));
        let first = known.filter(|file| was.as_ref() == Some(&file.digest)).map(|file| file.before.clone()).next();
        let written = WrittenFile {
            path: path.to_owned(),
            program: program.map(str::to_owned),
            before: first.unwrap_or_else(|| before.map(str::to_owned)),
            digest: digest(after),
        };
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) => *file = written,
            None => self.files.push(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_first_comes_back() {
        let mut receipt = Receipt::default();
        receipt.enter(Some("gemini"), "/a", Some("0"), "1", &[]);
        receipt.enter(Some("gemini"), "/a", Some("1"), "2", &[]);
        assert_eq!(receipt.file("/a").unwrap().before.as_deref(), Some("0"));
        // Someone else wrote `x` in between.
        receipt.enter(Some("gemini"), "/a", Some("x"), "3", &[]);
        assert_eq!(receipt.file("/a").unwrap().before.as_deref(), Some("x"));
        assert_eq!(Receipt::parse(&receipt.text()), Some(receipt));
        assert_eq!(Receipt::parse("{"), None);
    }

    #[test]
    fn what_another_workspace_made_is_known_as_made() {
        let (mut first, mut second) = (Receipt::default(), Receipt::default());
        first.enter(Some("codex"), "/h", None, "1", &[]);
        second.enter(Some("codex"), "/h", Some("1"), "1", &[first]);
        assert_eq!(second.file("/h").unwrap().before, None);
    }
}

//! The receipt of what `tollgate init` did in a workspace, so that it can be undone.
//!
//! There is one per workspace, in its state folder, where no repository can put one that takes back something else. What a
//! file said before is in it: a copy beside the file would be committed with it.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json;

/// A file that was written, or that was found written for another workspace and serves this one too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Where it is.
    pub path: String,
    /// The program it is for; none for the intents.
    pub program: Option<String>,
    /// What it said before; nothing where there was none.
    pub before: Option<String>,
    /// What it said then, by its digest.
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
    /// Folders that were made, the outermost first.
    pub folders: Vec<String>,
}

impl Receipt {
    /// Reads a receipt; `None` if it cannot be read.
    pub fn parse(text: &str) -> Option<Self> {
        json::parse(text.as_bytes()).ok()
    }

    /// The receipt as it is kept.
    pub fn text(&self) -> String {
        format!("{:#}\n", json::value_of(self))
    }

    /// The entry of a file.
    pub fn file(&self, path: &str) -> Option<&WrittenFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Enters what happens to a file. What was there before the first time is what comes back, unless someone else has
    /// changed it since. A file that was written for another workspace goes back to what it was before that.
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
        // Someone wrote `x` in between.
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

//! The gate's stored answer about a call that it has ruled on, or a program that it starts itself, so that the gate need not be
//! started again.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tollgate_guest::confine::evidence::EvidenceKey;

use crate::files::state_folder;

/// The size limit of a record. The gate does not write longer ones.
const MAX_BYTES: u64 = 4 << 20;

/// A stored answer about a command.
#[derive(Debug)]
pub struct Prepared {
    /// The answer to `{"op":"grants"}`.
    pub answer: Value,
    mark: PathBuf,
}

impl Prepared {
    /// The stored answer for this command; `None` if there is none or it is for another command. `root` is the canonical path of
    /// the workspace.
    pub fn of(root: &Path, home: Option<&Path>, state: Option<&Path>, key: &EvidenceKey, command: &[OsString]) -> Option<Self> {
        let path = state_folder(root, home, state).ok()?.join(key.path());
        let mark = path.with_extension("held");
        if path.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let mut kept: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let words = kept.get("words")?.as_array()?;
        // There may be a shell before the words, and arguments that refer to the copy of a script were not known.
        let behind = command.len().checked_sub(words.len()).filter(|more| *more <= 1 && !words.is_empty())?;
        let is_same = |(word, kept): (&OsString, &Value)| kept.is_null() || kept.as_str().is_some_and(|kept| word == kept);
        if !command.iter().skip(behind).zip(words).all(is_same) {
            return None;
        }
        Some(Self { answer: kept.get_mut("answer")?.take(), mark })
    }

    /// Records that the command runs confined. This must happen before it is confined, because then the state folder is not
    /// writable.
    pub fn mark(&self) -> io::Result<()> {
        // The file's existence is the mark. It is neither truncated nor written to: a file system may immediately write replaced
        // content to the disk.
        std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&self.mark).map(drop)
    }
}

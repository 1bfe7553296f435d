//! What the gate has said already about a call that it ruled on, or a program that it starts itself, kept in the state folder: then the gate
//! need not be started again.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tollgate_guest::confine::evidence::Key;

use crate::files::state_of;

/// A longer record is not the gate's.
const MAX_BYTES: u64 = 4 << 20;

/// What was said about a command.
#[derive(Debug)]
pub struct Prepared {
    /// As for `{"op":"grants"}`.
    pub answer: Value,
    mark: PathBuf,
}

impl Prepared {
    /// What was said about a command; none where nothing was, or it was about another command. `root` is the workspace's real path.
    pub fn of(root: &Path, home: Option<&Path>, state: Option<&Path>, key: &Key, command: &[OsString]) -> Option<Self> {
        let path = state_of(root, home, state).ok()?.join(key.path());
        let mark = path.with_extension("held");
        if path.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let mut kept: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let words = kept.get("words")?.as_array()?;
        // A shell may stand before the words, and a word that leads to the copy of a script was not known.
        let behind = command.len().checked_sub(words.len()).filter(|more| *more <= 1 && !words.is_empty())?;
        let is_same = |(word, kept): (&OsString, &Value)| kept.is_null() || kept.as_str().is_some_and(|kept| word == kept);
        if !command.iter().skip(behind).zip(words).all(is_same) {
            return None;
        }
        Some(Self { answer: kept.get_mut("answer")?.take(), mark })
    }

    /// Tells the gate that the command runs confined. To be called before it is, because then the state is closed.
    pub fn mark(&self) -> io::Result<()> {
        std::fs::File::create(&self.mark)?.write_all(b"held")
    }
}

//! What the gate has said already about a call that it ruled on, kept in the state folder: then the gate need not be started again.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tollgate_guest::confine::evidence;

use crate::files::state_folder;

/// A longer record is not the gate's.
const MAX_BYTES: u64 = 4 << 20;

/// What was said about a call.
#[derive(Debug)]
pub struct Prepared {
    /// As for `{"op":"grants"}`.
    pub answer: Value,
    mark: PathBuf,
}

impl Prepared {
    /// What was said about a call with this command; none where nothing was, or it was about another command. `root` is the workspace's
    /// real path.
    pub fn of(root: &Path, home: Option<&Path>, state: Option<&Path>, call: (&str, &str), command: &[OsString]) -> Option<Self> {
        let state = state_folder(root, home, state).ok()?;
        let path = state.join(tollgate_guest::state::path(evidence::FOLDER, &[call.0, call.1]));
        let mark = path.with_extension("held");
        if path.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let mut kept: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let words: Vec<OsString> =
            kept.get("words")?.as_array()?.iter().map(|word| word.as_str().map(OsString::from)).collect::<Option<_>>()?;
        let is_same = !words.is_empty() && command.ends_with(&words) && command.len() <= words.len() + 1;
        let answer = kept.get_mut("answer")?.take();
        is_same.then_some(Self { answer, mark })
    }

    /// Tells the gate that the command runs confined. To be called before it is, because then the state is closed.
    pub fn mark(&self) -> io::Result<()> {
        std::fs::File::create(&self.mark)?.write_all(b"held")
    }
}

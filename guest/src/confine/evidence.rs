//! Evidence about calls that are to run confined: their grants, saved when the gate rules on the call, and whether they did run
//! confined.
//!
//! | state file | written by | content |
//! | --- | --- | --- |
//! | `confined/KEY.json` | the gate, when it rules on a call or starts a program of its own | what the command may change, so that `tollgate confine` need not ask again |
//! | `confined/KEY.held` | `tollgate confine`, when it runs the command | `plain` if it runs unconfined, else empty |
//!
//! [`EvidenceKey`] says what `KEY` is made of. Both files are removed when the call is settled or the program has ended. If a
//! call was to run confined and the second file is missing, the agent program ran the command without `tollgate confine`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{RunDecision, RunPlan};
use crate::digest::Digest;
use crate::json;
use crate::ports::{Expectation, FileFault, FileKind, Ports, Timestamp};
use crate::state;

/// The folder of these files, in the state folder.
pub const FOLDER: &str = "confined";

/// The content of the second file for a command that runs unconfined.
const PLAIN: &[u8] = b"plain";

/// What is known about a call before it runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Prepared {
    /// The time of the record, in milliseconds since 1970.
    at: u64,
    /// The last words of the command that this record is about; for any other command, the gate has to be asked. `None` stands
    /// for a word that is only known once a script has been copied.
    words: Vec<Option<String>>,
    /// Folders in which more can be changed than the scope owns.
    widened: Vec<String>,
    /// The answer to a host.
    answer: Value,
}

/// That a call ran, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Whether the kernel confined the command.
    pub held: bool,
    /// Folders in which more could be changed than the scope owns.
    pub widened: Vec<String>,
}

impl Evidence {
    /// Whether a path is in a folder that was opened beyond the scope.
    pub fn reaches(&self, path: &str) -> bool {
        self.widened.iter().any(|folder| super::grant::is_at_or_below(path, folder))
    }
}

/// The key of the records about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceKey {
    path: String,
}

impl EvidenceKey {
    /// The key for the command of a call.
    pub fn of_call(session: &str, call: &str) -> Self {
        Self { path: state::path(FOLDER, &[session, call]) }
    }

    /// The key for a program that Tollgate starts itself, by the id of its run.
    pub fn of_program(run: &str) -> Self {
        // Three words, so that no call of any session has the same key.
        Self { path: state::path(FOLDER, &["", "program", run]) }
    }

    /// The path of the first file, in the state folder.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn mark(&self) -> String {
        mark_of(&self.path)
    }
}

/// A call id for when the process that runs the command knows only the command.
pub fn key_of_command(command: &str) -> String {
    format!("command {}", Digest::of(command.as_bytes()))
}

fn mark_of(path: &str) -> String {
    path.replace(".json", ".held")
}

/// Stores the answer to a host about a command. If it cannot be stored, the host asks again.
pub fn prepare(
    key: &EvidenceKey,
    words: Vec<Option<String>>,
    answer: &RunPlan,
    now: Timestamp,
    ports: &Ports,
) -> Result<(), FileFault> {
    let widened = answer.grants.list.iter().filter(|grant| grant.widened).map(|grant| grant.path.clone()).collect();
    let prepared = Prepared { at: now.0, words, widened, answer: answer.json() };
    state::replace(key.path(), json::line(&prepared).as_bytes(), Expectation::Anything, ports)
}

/// Whether the answer to a host about a command is stored.
pub fn is_prepared(key: &EvidenceKey, ports: &Ports) -> bool {
    ports.workspace.inspect(&[state::question(key.path())]).first().is_some_and(|facts| facts.kind == FileKind::File)
}

/// Records that a command runs, and how.
pub fn mark(key: &EvidenceKey, run: RunDecision, ports: &Ports) {
    let text: &[u8] = if run == RunDecision::Confined { b"" } else { PLAIN };
    let _ = state::replace(&key.mark(), text, Expectation::Anything, ports);
}

/// How a call ran; `None` if it did not run, or was not to run confined.
pub fn find(key: &EvidenceKey, ports: &Ports) -> Option<Evidence> {
    let mark = state::read(&key.mark(), state::MAX_BYTES, ports).ok()?;
    let prepared = state::read(key.path(), state::MAX_BYTES, ports).ok().and_then(|text| json::parse::<Prepared>(&text).ok());
    Some(Evidence { held: mark != PLAIN, widened: prepared.unwrap_or_default().widened })
}

/// Removes both files.
pub fn forget(key: &EvidenceKey, ports: &Ports) {
    let _ = state::remove(&key.mark(), ports);
    let _ = state::remove(key.path(), ports);
}

/// Removes the files of calls that were never settled, once there are many.
pub fn sweep(now: Timestamp, ports: &Ports) {
    const DAY_MS: u64 = 86_400_000;
    const MANY: usize = 256;
    const MAX_ENTRIES: u32 = 10_000;
    let names = state::list(FOLDER, MAX_ENTRIES, ports).map(|listing| listing.entries).unwrap_or_default();
    if names.len() < MANY {
        return;
    }
    for name in names.iter().filter(|entry| entry.path.ends_with(".json")) {
        let path = format!("{FOLDER}/{}", name.path);
        let text = state::read(&path, state::MAX_BYTES, ports).unwrap_or_default();
        if !json::parse::<Prepared>(&text).is_ok_and(|prepared| prepared.at.saturating_add(DAY_MS) > now.0) {
            let _ = state::remove(&mark_of(&path), ports);
            let _ = state::remove(&path, ports);
        }
    }
}

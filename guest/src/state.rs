//! The gate's state between calls: small files in the user's state folder, one per session and per pending call.
//!
//! They are outside the workspace ([`Root::State`]), so that no repository can ship them and no program that works in the
//! workspace comes across them. What is found there was written by a gate on this machine.
//!
//! | folder | what |
//! | --- | --- |
//! | `sessions/` | which intent a session works for |
//! | `leases/` | which session is writing to a file |
//! | `seen/` | what a session last saw of each file |
//! | `calls/`, `snapshots/`, `snapshot`, `images/` | what was known before a call that is under way |
//! | `late/` | calls whose programs may keep running, and what they are compared with |
//! | `told/` | what a session was last told about its intent |
//! | `rulings/` | how a session's latest calls ended, including those that were denied |
//! | `scratch/` | what a session created in temporary folders |
//! | `confined/`, `unconfined/` | which calls under way run confined, and which sessions know that theirs do not |
//! | `restoring/` | which changes the gate is reverting by itself |
//! | `good/` | the last intents, settings and hooks that could be used |
//! | `kept/` | parsed intents, and what files of hooks are about |
//! | `notes/` | an index of the notes |
//! | `servers/` | what MCP servers say about their tools |
//! | `program.json` | the digest of Tollgate's own program, by which a copy is recognised |
//! | `default.json` | the intent that new sessions work for |
//! | `ledger.jsonl` | how far the ledger went when this machine last wrote to it |

mod checksum;
pub mod journal;
pub(crate) mod kept;
mod own_program;
pub(crate) mod record;

use crate::digest::Digest;
use crate::effects::path::Location;
use crate::ports::{Expectation, FileFault, Listing, ListingLimits, Ports, Question, Root};

pub(crate) use checksum::checksum;
pub use own_program::OwnProgram;

/// Maximum size of a file of the state, except for those that have a limit of their own.
pub const MAX_BYTES: u64 = 4 << 20;

/// Maximum size of a file that is kept as the last good one.
const MAX_GOOD: u64 = 8 << 20;

/// The path of the file for something known by a few words. They come from outside, so they are hashed and never become a path.
pub fn path(folder: &str, words: &[&str]) -> String {
    let mut key = Vec::new();
    for word in words {
        key.extend_from_slice(&(word.len() as u64).to_le_bytes());
        key.extend_from_slice(word.as_bytes());
    }
    format!("{folder}/{}.json", Digest::of(&key).short_hex())
}

/// What to ask the host about a file of the state.
pub fn question(path: impl Into<String>) -> Question {
    Question { root: Root::State, path: path.into(), digest: false }
}

/// Reads a file, if it is no longer than the limit.
pub fn read(path: &str, limit_bytes: u64, ports: &Ports) -> Result<Vec<u8>, FileFault> {
    ports.workspace.read(Root::State, path, limit_bytes)
}

/// Replaces a file atomically.
pub fn replace(path: &str, bytes: &[u8], expected: Expectation, ports: &Ports) -> Result<(), FileFault> {
    ports.records.replace(Root::State, path, bytes, expected)
}

/// Removes a file.
pub fn remove(path: &str, ports: &Ports) -> Result<(), FileFault> {
    ports.records.remove(Root::State, path)
}

/// The ending, in every host, of files that a host is still writing and has not yet put in place.
const TEMPORARY: &str = ".tmp";

/// The files of one folder, except for those that another process is writing at this moment.
pub fn list(folder: &str, limit: u32, ports: &Ports) -> Result<Listing, FileFault> {
    let mut listing = ports.workspace.list(Root::State, folder, &ListingLimits { depth: 1, limit, skip: Vec::new() })?;
    listing.entries.retain(|entry| !entry.path.ends_with(TEMPORARY));
    Ok(listing)
}

/// The state folder as a path of the workspace; `None` if it is elsewhere, as it should be. A home folder may be inside the
/// workspace, or be it.
pub fn in_workspace(ports: &Ports) -> Option<String> {
    let real = ports.workspace.inspect(&[question(".")]).pop()?.real_path?;
    match Location::from_host(&real) {
        Location::Inside(path) => Some(path.as_str().to_owned()),
        Location::Outside(_) => None,
    }
}

/// Stores a text that could be used, for a process that starts when its file no longer can be.
pub fn keep_good(name: &str, text: &[u8], ports: &Ports) {
    let path = format!("good/{name}");
    if read(&path, MAX_GOOD, ports).is_ok_and(|kept| kept == text) {
        return;
    }
    if let Err(fault) = replace(&path, text, Expectation::Anything, ports) {
        ports.warn(&format!(
            "`{path}` cannot be saved in the state folder, so a later fault in the file may go unnoticed: {fault}"
        ));
    }
}

/// The last text that could be used.
pub fn last_good(name: &str, ports: &Ports) -> Option<Vec<u8>> {
    read(&format!("good/{name}"), MAX_GOOD, ports).ok()
}

/// Forgets the last text that could be used.
pub fn forget_good(name: &str, ports: &Ports) {
    let path = format!("good/{name}");
    match remove(&path, ports) {
        Ok(()) | Err(FileFault::Missing) => {}
        Err(fault) => ports.warn(&format!("`{path}` cannot be removed from the state folder: {fault}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_being_written_are_not_listed() {
        let world = crate::ports::memory::Memory::new();
        let ports = world.ports();
        for name in ["calls/a.json", "calls/.tollgate-7-0.tmp", "calls/.b.json.7-1.tmp", "calls/c.json.5f-2.tmp"] {
            replace(name, b"{", Expectation::Anything, &ports).unwrap();
        }
        let names: Vec<String> = list("calls", 10, &ports).unwrap().entries.into_iter().map(|entry| entry.path).collect();
        assert_eq!(names, ["a.json"]);
    }

    #[test]
    fn words_do_not_run_together() {
        assert_ne!(path("calls", &["a", "bc"]), path("calls", &["ab", "c"]));
        assert_eq!(path("x", &["../../etc"]).matches("..").count(), 0);
    }
}

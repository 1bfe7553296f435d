//! How the latest calls of each session ended, for a call that is told of and that nobody remembers.
//!
//! A call that was allowed is remembered until it is settled ([`pending`](super::pending)). One that ended and is not remembered
//! was settled before, which hosts that run each other's hooks tell of twice; or it was denied; or it was let through where
//! nothing governs; or its record was taken away. A journal per session tells these apart: the last line about a call counts.

use serde::{Deserialize, Serialize};

use super::pending::Change;
use crate::digest::Digest;
use crate::intents::intent::IntentId;
use crate::json;
use crate::ports::{Expectation, Ports, Root};
use crate::state;

/// Where the journals stand in the state.
const FOLDER: &str = "rulings";

/// So far back a call is looked for.
const RECENT_BYTES: u64 = 256 << 10;

/// A journal beyond this is cut down to what is recent.
const LONG_BYTES: u64 = 1 << 20;

/// So many sessions are looked through for long journals.
const MAX_SESSIONS: u32 = 10_000;

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Past {
    /// It ended, and what it changed was entered.
    Settled,
    /// It was let through without being ruled on, because the intents could not be read.
    Passed,
    /// It was not to run.
    Denied(Denial),
    /// It was allowed, its turn is over, and nothing of it was seen: a person has refused it, most likely.
    Unheard(Unheard),
}

/// A call of which nothing was heard since it was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unheard {
    /// The intent that it was ruled under.
    pub intent: IntentId,
    /// What it would have changed.
    pub changes: Vec<Change>,
    /// Whether it might have changed more.
    pub open_ended: bool,
}

/// A call that was not to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Why, for programs.
    pub code: String,
    /// The intent that it was ruled under.
    pub intent: Option<IntentId>,
    /// What it would have changed.
    pub changes: Vec<Change>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    call: String,
    past: Past,
}

/// Notes what became of a call.
pub fn note(session: &str, call: &str, past: Past, ports: &Ports) {
    let mut line = json::line(&Line { call: name(call), past });
    line.push('\n');
    let path = path(session);
    if let Err(fault) = state::append(&path, line.as_bytes(), ports) {
        ports.warn(&format!(
            "`{path}` in the state folder cannot be written, so how the call `{call}` ended is not known: {fault}"
        ));
    }
}

/// What became of a call; none where that is not known.
pub fn last(session: &str, call: &str, ports: &Ports) -> Option<Past> {
    let tail = ports.workspace.read_tail(Root::State, &path(session), RECENT_BYTES).ok()?;
    let name = name(call);
    let about = |line: &&[u8]| line.windows(name.len()).any(|part| part == name.as_bytes());
    let lines = tail.bytes.rsplit(|byte| *byte == b'\n').filter(about);
    lines.filter_map(|line| json::parse::<Line>(line).ok()).find(|line| line.call == name).map(|line| line.past)
}

/// Cuts down long journals.
pub fn sweep(ports: &Ports) {
    let Ok(listing) = state::list(FOLDER, MAX_SESSIONS, ports) else { return };
    for entry in listing.entries.iter().filter(|entry| entry.size > LONG_BYTES) {
        let path = format!("{FOLDER}/{}", entry.path);
        let Ok(text) = state::read(&path, u64::MAX, ports) else { continue };
        let recent = text.len().saturating_sub(usize::try_from(RECENT_BYTES).unwrap_or(usize::MAX));
        // Where a call of the session ends at this moment, the long journal simply stays.
        let _ = state::replace(&path, text.get(recent..).unwrap_or_default(), Expectation::Digest(Digest::of(&text)), ports);
    }
}

/// A call's name comes from outside and may be long.
fn name(call: &str) -> String {
    Digest::of(call.as_bytes()).short_hex()
}

fn path(session: &str) -> String {
    state::path(FOLDER, &[session])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{Memory, STATE};

    #[test]
    fn the_last_line_counts() {
        let world = Memory::new();
        let ports = world.ports();
        let denied = Past::Denied(Denial { code: "out_of_scope".to_owned(), intent: None, changes: Vec::new() });
        assert_eq!(last("s", "1", &ports), None);
        note("s", "1", denied.clone(), &ports);
        note("s", "2", Past::Passed, &ports);
        assert_eq!((last("s", "1", &ports), last("s", "2", &ports)), (Some(denied.clone()), Some(Past::Passed)));
        assert_eq!((last("t", "1", &ports), last("s", "3", &ports)), (None, None));
        note("s", "1", Past::Settled, &ports);
        assert_eq!(last("s", "1", &ports), Some(Past::Settled));
        note("s", "1", denied.clone(), &ports);
        assert_eq!(last("s", "1", &ports), Some(denied));
    }

    #[test]
    fn a_long_journal_is_cut_down() {
        let world = Memory::new();
        let ports = world.ports();
        note("s", "old", Past::Settled, &ports);
        let long = "x".repeat(1 << 20);
        state::append(&path("s"), format!("{long}\n").as_bytes(), &ports).unwrap();
        note("s", "new", Past::Settled, &ports);
        assert_eq!((last("s", "old", &ports), last("s", "new", &ports)), (None, Some(Past::Settled)));
        sweep(&ports);
        assert_eq!(last("s", "new", &ports), Some(Past::Settled));
        assert!(world.content(&format!("{STATE}/{}", path("s"))).unwrap().len() <= 256 << 10);
    }
}

//! The journal of each session's latest calls and how they ended, consulted when a call is reported that has no pending record.
//!
//! A call that was allowed is remembered until it is settled ([`pending`](super::pending)). A call that ended and is not
//! remembered was settled before, which hosts that run each other's hooks report twice; or it was denied; or it was let through
//! because nothing governed it; or its record was removed. A journal per session tells these apart: the last line about a call
//! counts.

use serde::{Deserialize, Serialize};

use super::pending::AllowedChange;
use crate::digest::Digest;
use crate::intents::intent::IntentId;
use crate::json;
use crate::ports::{Ports, Timestamp};
use crate::state;
use crate::state::journal::{self, Journal};

/// The folder of the journals in the state.
const FOLDER: &str = "rulings";

/// How much of the journal is searched for a call.
const RECENT_BYTES: u64 = 256 << 10;

/// A journal longer than this is cut down to what is recent.
const LONG_BYTES: u64 = 1 << 20;

/// How much of a longer journal is read to cut it down: the guest's memory is limited, and a journal is not.
const MAX_READ_BYTES: u64 = 8 << 20;

/// A journal that has changed within this time is not cut down, because a line that is appended meanwhile would be lost.
const IN_USE_MS: u64 = 60_000;

/// Maximum number of sessions that are searched for long journals.
const MAX_SESSIONS: u32 = 10_000;

/// Maximum number of sessions that are listed for people.
const MAX_LISTED: u32 = 1_000;

/// Maximum length of a name, in characters.
const MAX_CHARS: usize = 200;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallFate {
    /// It ended, and what it changed was entered.
    Settled,
    /// It was let through without being ruled on, because the intents could not be read.
    Passed,
    /// It was denied.
    Denied(DeniedCall),
    /// It was allowed, its turn is over, and nothing of it was seen: most likely, a person has refused it.
    Unheard(Unheard),
}

/// A call that nothing was reported about since it was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unheard {
    /// The intent under which it was ruled on.
    pub intent: IntentId,
    /// What it would have changed.
    pub changes: Vec<AllowedChange>,
    /// Whether it might have changed more.
    pub open_ended: bool,
    /// When it was ruled on, in milliseconds since 1970; 0 if an earlier version noted it.
    #[serde(default)]
    pub since: u64,
}

/// A call that was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedCall {
    /// The code of the reason.
    pub code: String,
    /// The intent under which it was ruled on.
    pub intent: Option<IntentId>,
    /// What it would have changed.
    pub changes: Vec<AllowedChange>,
}

/// A line of a journal. Fields that only people look at may be missing.
#[derive(Serialize, Deserialize)]
struct JournalLine {
    call: String,
    past: CallFate,
    #[serde(default)]
    at: String,
    #[serde(default)]
    session: String,
    #[serde(default)]
    program: Option<String>,
    #[serde(default)]
    tool: String,
}

/// The latest call of a session that changed something, or was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// The session.
    pub session: String,
    /// The agent program, if it is known.
    pub program: Option<String>,
    /// The tool, as the program spells it.
    pub tool: String,
    /// The time, as RFC 3339.
    pub at: String,
    /// Whether it was denied.
    pub denied: bool,
}

/// The key of a call in the journal.
#[derive(Debug, Clone, Copy)]
pub struct CallKey<'c> {
    /// Its session.
    pub session: &'c str,
    /// Its id.
    pub call: &'c str,
    /// The agent program, if it is known.
    pub program: Option<&'c str>,
    /// The tool.
    pub tool: &'c str,
}

/// Records what happened to a call.
pub fn note(call: CallKey<'_>, fate: CallFate, at: Timestamp, ports: &Ports) {
    let line = JournalLine {
        call: name(call.call),
        past: fate,
        at: at.to_string(),
        session: cut(call.session),
        program: call.program.map(cut),
        tool: cut(call.tool),
    };
    let path = path(call.session);
    if let Err(fault) = journal::append(&path, &json::line(&line), ports) {
        let call = call.call;
        ports.warn(&format!(
            "`{path}` in the state folder cannot be written, so how the call `{call}` ended is not known: {fault}"
        ));
    }
}

/// The latest call of each session, the session that was active last first.
pub fn latest(ports: &Ports) -> Vec<Latest> {
    let listing = state::list(FOLDER, MAX_LISTED, ports).map(|listing| listing.entries).unwrap_or_default();
    let mut found: Vec<Latest> =
        listing.iter().filter_map(|entry| latest_in(&format!("{FOLDER}/{}", entry.path), ports)).collect();
    found.sort_by(|one, other| other.at.cmp(&one.at));
    found
}

fn latest_in(path: &str, ports: &Ports) -> Option<Latest> {
    let recent = Journal::read_end(path, RECENT_BYTES, ports).ok()?;
    let line = recent.lines().rev().find_map(|line| json::parse::<JournalLine>(line).ok())?;
    let JournalLine { past, at, session, program, tool, .. } = line;
    (!session.is_empty()).then_some(Latest { session, program, tool, at, denied: matches!(past, CallFate::Denied(_)) })
}

/// Names come from outside and may be long.
fn cut(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

/// What happened to a call; `None` if that is not known.
pub fn last(session: &str, call: &str, ports: &Ports) -> Option<CallFate> {
    last_line(session, call, ports).map(|line| line.past)
}

/// Whether a call that was ruled on at `since` has been settled. An earlier one may have had the same id.
pub fn is_settled(session: &str, call: &str, since: Timestamp, ports: &Ports) -> bool {
    last_line(session, call, ports).is_some_and(|line| line.past == CallFate::Settled && line.at >= since.to_string())
}

fn last_line(session: &str, call: &str, ports: &Ports) -> Option<JournalLine> {
    let recent = Journal::read_end(&path(session), RECENT_BYTES, ports).ok()?;
    let name = name(call);
    let about = |line: &&[u8]| line.windows(name.len()).any(|part| part == name.as_bytes());
    let lines = recent.lines().rev().filter(about);
    let mut lines = lines.filter_map(|line| json::parse::<JournalLine>(line).ok()).filter(|line| line.call == name);
    let last = lines.next()?;
    let CallFate::Unheard(Unheard { since: since @ 1.., .. }) = last.past else { return Some(last) };
    // One process may have noted as unheard what another one had settled just before.
    let is_settled = |line: &JournalLine| line.past == CallFate::Settled && line.at >= Timestamp(since).to_string();
    lines.next().filter(is_settled).or(Some(last))
}

/// Cuts down long journals that nobody is appending to.
pub fn sweep(now: Timestamp, ports: &Ports) {
    let Ok(listing) = state::list(FOLDER, MAX_SESSIONS, ports) else { return };
    // Not every system reports when a file changed.
    let is_in_use = |changed_ms: u64| changed_ms > 0 && changed_ms.saturating_add(IN_USE_MS) > now.0;
    let long = listing.entries.iter().filter(|entry| entry.size > LONG_BYTES && !is_in_use(entry.changed_ms));
    for entry in long {
        let path = format!("{FOLDER}/{}", entry.path);
        let Ok(journal) = Journal::read_latest(&path, MAX_READ_BYTES, ports) else { continue };
        let _ = journal.replace(&path, journal.last_lines(usize::try_from(RECENT_BYTES).unwrap_or(usize::MAX)), ports);
    }
}

/// A call's id comes from outside and may be long.
fn name(call: &str) -> String {
    Digest::of(call.as_bytes()).short_hex()
}

fn path(session: &str) -> String {
    state::path(FOLDER, &[session])
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::ports::memory::{Memory, STATE};
    use crate::ports::{Facts, FileFault, Listing, ListingLimits, Question, Root, Tail, Workspace};

    fn call<'c>(session: &'c str, call: &'c str) -> CallKey<'c> {
        CallKey { session, call, program: Some("codex"), tool: "shell" }
    }

    #[test]
    fn the_last_line_counts() {
        let world = Memory::new();
        let ports = world.ports();
        let denied = CallFate::Denied(DeniedCall { code: "out_of_scope".to_owned(), intent: None, changes: Vec::new() });
        assert_eq!(last("s", "1", &ports), None);
        note(call("s", "1"), denied.clone(), Timestamp(1000), &ports);
        note(call("s", "2"), CallFate::Passed, Timestamp(2000), &ports);
        assert_eq!((last("s", "1", &ports), last("s", "2", &ports)), (Some(denied.clone()), Some(CallFate::Passed)));
        assert_eq!((last("t", "1", &ports), last("s", "3", &ports)), (None, None));
        note(call("s", "1"), CallFate::Settled, Timestamp(3000), &ports);
        assert_eq!(last("s", "1", &ports), Some(CallFate::Settled));
        note(call("s", "1"), denied.clone(), Timestamp(4000), &ports);
        assert_eq!(last("s", "1", &ports), Some(denied));
    }

    #[test]
    fn sessions_are_listed_by_their_latest_call() {
        let world = Memory::new();
        let ports = world.ports();
        note(call("one", "1"), CallFate::Settled, Timestamp(5000), &ports);
        note(call("two", "2"), CallFate::Settled, Timestamp(6000), &ports);
        let denied = DeniedCall { code: "out_of_scope".to_owned(), intent: None, changes: Vec::new() };
        note(call("one", "3"), CallFate::Denied(denied), Timestamp(7000), &ports);
        journal::append("rulings/old.json", "{\"call\":\"x\",\"past\":\"settled\"}", &ports).unwrap();
        let latest = latest(&ports);
        let shown: Vec<_> = latest.iter().map(|latest| (latest.session.as_str(), latest.tool.as_str(), latest.denied)).collect();
        assert_eq!(shown, [("one", "shell", true), ("two", "shell", false)]);
        assert!(latest.iter().all(|latest| latest.program.as_deref() == Some("codex") && latest.at.starts_with("1970-")));
    }

    #[test]
    fn a_line_that_was_cut_off_does_not_take_the_next_one_with_it() {
        let world = Memory::new();
        let ports = world.ports();
        note(call("s", "1"), CallFate::Settled, Timestamp(1000), &ports);
        let whole = world.content(&format!("{STATE}/{}", path("s"))).unwrap();
        for end in 1..whole.len() - 1 {
            world.write(&format!("{STATE}/{}", path("s")), &whole[..end]);
            note(call("s", "2"), CallFate::Passed, Timestamp(2000), &ports);
            assert_eq!((last("s", "1", &ports), last("s", "2", &ports)), (None, Some(CallFate::Passed)), "{end}");
        }
    }

    #[test]
    fn a_long_journal_is_cut_down() {
        let world = Memory::new();
        let ports = world.ports();
        note(call("s", "old"), CallFate::Settled, Timestamp(8000), &ports);
        let long = "x".repeat(1 << 20);
        journal::append(&path("s"), &long, &ports).unwrap();
        note(call("s", "new"), CallFate::Settled, Timestamp(9000), &ports);
        assert_eq!((last("s", "old", &ports), last("s", "new", &ports)), (None, Some(CallFate::Settled)));
        world.pass(IN_USE_MS);
        sweep(ports.clock.now(), &ports);
        assert_eq!(last("s", "new", &ports), Some(CallFate::Settled));
        assert!(length(&world, "s") <= 256 << 10);
    }

    fn length(world: &Memory, session: &str) -> usize {
        world.content(&format!("{STATE}/{}", path(session))).unwrap().len()
    }

    /// Another process may be appending a line to it, which would be lost.
    #[test]
    fn a_long_journal_that_is_in_use_is_left_alone() {
        let world = Memory::new();
        let ports = world.ports();
        journal::append(&path("s"), &"x".repeat(1 << 20), &ports).unwrap();
        world.pass(IN_USE_MS / 2);
        sweep(ports.clock.now(), &ports);
        assert!(length(&world, "s") > 1 << 20);
    }

    /// A journal may have grown beyond what fits into memory.
    #[test]
    fn only_the_end_of_a_very_long_journal_is_read() {
        struct Limited(Rc<Memory>);
        impl Workspace for Limited {
            fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
                self.0.inspect(questions)
            }
            fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
                assert!(limit_bytes <= MAX_READ_BYTES);
                self.0.read(root, path, limit_bytes)
            }
            fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
                self.0.read_range(root, path, offset, limit_bytes)
            }
            fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
                self.0.read_tail(root, path, limit_bytes)
            }
            fn list(&self, root: Root, directory: &str, limits: &ListingLimits) -> Result<Listing, FileFault> {
                self.0.list(root, directory, limits)
            }
        }
        let world = Memory::new();
        let ports = Ports { workspace: Rc::new(Limited(world.clone())), ..world.ports() };
        let line = "x".repeat(1 << 20);
        (0..9).for_each(|_| journal::append(&path("s"), &line, &ports).unwrap());
        note(call("s", "new"), CallFate::Settled, Timestamp(9000), &ports);
        world.pass(IN_USE_MS);
        sweep(ports.clock.now(), &ports);
        assert_eq!(last("s", "new", &ports), Some(CallFate::Settled));
        assert!(length(&world, "s") <= 256 << 10);
    }
}

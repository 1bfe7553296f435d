//! Calls that were allowed and have not ended: what was known when they were ruled on.
//!
//! Kept in a file each, so that the ledger can tell before from after even if another process settles the call, and so
//! that an intent selected meanwhile does not get the credit.

use serde::{Deserialize, Serialize};

use crate::call::effect::Operation;
use crate::digest::Digest;
use crate::intents::intent::IntentId;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports, Timestamp};
use crate::state;

/// A change that a call under way was allowed to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Relative to the workspace.
    pub path: String,
    /// What it was to be.
    pub operation: Operation,
    /// The content before.
    pub pre_hash: Option<Digest>,
    /// The content itself, of a small text file, to tell afterwards which lines changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The intent that it was ruled under.
    pub intent: IntentId,
    /// When, in milliseconds since 1970.
    pub since: u64,
    /// What it may change.
    pub changes: Vec<Change>,
    /// Whether each of them happens for certain; of a shell command, whatever lies on another way does not.
    #[serde(default)]
    pub certain: bool,
    /// Where it may change more than that: what was in force when it was allowed, because a program may change that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_ended: Option<OpenEnded>,
}

/// A call before which a snapshot was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEnded {
    /// The patterns that the intent owned.
    pub scope: Vec<String>,
    /// What git ignored.
    pub ignored: String,
}

/// Remembers a call until it is settled.
pub fn keep(key: &str, pending: &Pending, ports: &Ports) -> Result<(), FileFault> {
    state::replace(key, json::line(pending).as_bytes(), Expectation::Anything, ports)
}

/// What is remembered about a call; none where it was not ruled on or is settled.
pub fn recall(key: &str, ports: &Ports) -> Option<Pending> {
    // A folder that goes with ten thousand files in it makes a long list.
    const MOST_BYTES: u64 = 64 << 20;
    match state::read(key, MOST_BYTES, ports) {
        Ok(text) => json::parse(&text)
            .inspect_err(|fault| ports.warn(&format!("`{key}` cannot be parsed and counts as missing: {fault}")))
            .ok(),
        Err(FileFault::Missing) => None,
        Err(fault) => {
            ports.warn(&format!("`{key}` cannot be read and counts as missing: {fault}"));
            None
        }
    }
}

/// Nobody takes longer to settle a call, unless they were killed.
const CLAIM_MS: u64 = 10_000;

/// Takes the settling of a call, and says whether nobody else has it: hosts that run each other's hooks tell of the same call
/// in two processes at once.
pub fn claim(key: &str, pending: &Pending, now: Timestamp, ports: &Ports) -> bool {
    let now = now.0;
    let (at, text) = (claim_of(key), format!("{} {now}", pending.since));
    let claimed = match state::replace(&at, text.as_bytes(), Expectation::Absent, ports) {
        // One that was left behind belongs to an earlier call under the same id, or to somebody who was killed at it.
        Err(FileFault::Exists) => match state::read(&at, state::MOST_BYTES, ports) {
            Ok(found) if is_held(&found, pending.since, now) => return false,
            Ok(found) => {
                let expected = Expectation::Digest(Digest::of(&found));
                state::replace(&at, text.as_bytes(), expected, ports)
            }
            Err(fault) => Err(fault),
        },
        claimed => claimed,
    };
    // Gone or changed meanwhile, it was somebody else's. Any other fault is our own, and a line too many is better than none.
    !matches!(claimed, Err(FileFault::Exists | FileFault::Changed | FileFault::Missing))
}

/// Whether somebody is settling just this call.
fn is_held(claim: &[u8], since: u64, now: u64) -> bool {
    let numbers = String::from_utf8_lossy(claim);
    let held = numbers.split_once(' ').and_then(|(since, at)| Some((since.parse().ok()?, at.parse().ok()?)));
    held.is_some_and(|(other, at): (u64, u64)| other == since && now.abs_diff(at) < CLAIM_MS)
}

/// Gives back what [`claim`] took. The call must be forgotten before.
pub fn unclaim(key: &str, ports: &Ports) {
    forget(&claim_of(key), ports);
}

fn claim_of(key: &str) -> String {
    key.replace(".json", ".settling.json")
}

/// Forgets a settled call.
pub fn forget(key: &str, ports: &Ports) {
    match state::remove(key, ports) {
        Ok(()) | Err(FileFault::Missing) => {}
        Err(fault) => ports.warn(&format!("`{key}` cannot be removed: {fault}")),
    }
}

/// Forgets calls that were never settled: their hosts died, or do not tell how a call ended.
pub fn sweep(now: Timestamp, ports: &Ports) {
    const DAY_MS: u64 = 86_400_000;
    let is_over = |content: &[u8]| json::parse::<Pending>(content).map_or(true, |pending| pending.since + DAY_MS < now.0);
    for key in state::sweep("calls", is_over, ports) {
        let _ = state::remove(&snapshot_of(&key), ports);
    }
}

/// Where the snapshot stands that was taken before a call.
pub fn snapshot_of(key: &str) -> String {
    key.replace("calls/", "snapshots/")
}

/// The file that remembers a call.
pub fn key(session: &str, call: &str) -> String {
    state::path("calls", &[session, call])
}

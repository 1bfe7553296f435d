//! Pending records: calls that were allowed and have not ended, with what was known when they were ruled on.
//!
//! Kept in a file each, so that the ledger can tell before from after even if another process settles the call, and so
//! that an intent selected meanwhile does not get the credit.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::effects::{Operation, Persistence};
use crate::intents::intent::IntentId;
use crate::json;
use crate::ledger::reading::LedgerPosition;
use crate::ports::{Expectation, FileFault, Ports, Timestamp};
use crate::state;
use crate::tool_call::ToolCall;

/// A change that a call under way was allowed to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedChange {
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

/// The origin of a call: enough to record it even if its end is never reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOrigin {
    /// The session that makes the call.
    pub session: String,
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The sub-agent within the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent program, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl CallOrigin {
    /// Who makes a call.
    pub fn of(call: &ToolCall) -> Self {
        Self {
            session: call.session.clone(),
            call: call.call.clone(),
            tool: call.tool.clone(),
            agent: call.agent.clone(),
            host: call.host.clone(),
        }
    }

    /// The call, without the arguments, which are not stored.
    pub fn call(&self) -> ToolCall {
        let Self { session, call, tool, agent, host } = self.clone();
        ToolCall { session, agent, call, host, tool, server: None, args: Value::Null, cwd: None }
    }
}

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Whose it is; unknown where an earlier version wrote it.
    #[serde(default)]
    pub caller: CallOrigin,
    /// The intent that it was ruled under.
    pub intent: IntentId,
    /// When, in milliseconds since 1970.
    pub since: u64,
    /// What it may change.
    pub changes: Vec<AllowedChange>,
    /// Whether each of them happens for certain; of a shell command, whatever lies on another way does not.
    #[serde(default)]
    pub certain: bool,
    /// Whether its program may keep running after it has ended.
    #[serde(default)]
    pub persistence: Persistence,
    /// Whether it is taken for refused by a person: the session was given something new to do, and nothing of the call was seen.
    #[serde(default)]
    pub is_presumed_refused: bool,
    /// Where it may change more than that: what was in force when it was allowed, because a program may change that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_ended: Option<OpenEnded>,
    /// Whether it had to run confined.
    #[serde(default, skip_serializing_if = "is_not")]
    pub confined: bool,
    /// Where the ledger ended when it was ruled on, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerPosition>,
}

fn is_not(flag: &bool) -> bool {
    !flag
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
    const MAX_BYTES: u64 = 64 << 20;
    match state::read(key, MAX_BYTES, ports) {
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

/// A call is given up after this many unfinished attempts to settle it.
pub const MAX_ATTEMPTS: u32 = 3;

/// Takes the settling of a call, and says whether nobody else has it: hosts that run each other's hooks tell of the same call
/// in two processes at once. Returns how often it has been begun, this time included.
pub fn claim(key: &str, pending: &Pending, now: Timestamp, ports: &Ports) -> Option<u32> {
    let now = now.0;
    let (at, mut attempts) = (claim_of(key), 1);
    let text = |attempts: u32| format!("{} {now} {attempts}", pending.since);
    let claimed = match state::replace(&at, text(1).as_bytes(), Expectation::Absent, ports) {
        // One that was left behind belongs to an earlier call under the same id, or to someone who was killed at it.
        Err(FileFault::Exists) => match state::read(&at, state::MAX_BYTES, ports) {
            Ok(found) => {
                match SettlementClaim::read(&found).filter(|claim| claim.since == pending.since) {
                    Some(claim) if claim.is_held(now) => return None,
                    Some(claim) => attempts = claim.attempts.saturating_add(1),
                    None => {}
                }
                let expected = Expectation::Digest(Digest::of(&found));
                state::replace(&at, text(attempts).as_bytes(), expected, ports)
            }
            Err(fault) => Err(fault),
        },
        claimed => claimed,
    };
    // Gone or changed meanwhile, it was someone else's. Any other fault is our own, and a line too many is better than none.
    let is_lost = matches!(claimed, Err(FileFault::Exists | FileFault::Changed | FileFault::Missing));
    (!is_lost).then_some(attempts)
}

/// A claim by the process that settles a call.
struct SettlementClaim {
    /// When the call was ruled on.
    since: u64,
    /// When it was begun to be settled.
    at: u64,
    /// How often.
    attempts: u32,
}

impl SettlementClaim {
    fn read(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let mut numbers = text.split(' ');
        let mut next = || numbers.next()?.parse().ok();
        let (since, at) = (next()?, next()?);
        Some(Self { since, at, attempts: next().and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(1) })
    }

    /// Whether the claim is still held.
    fn is_held(&self, now: u64) -> bool {
        now.abs_diff(self.at) < CLAIM_MS
    }
}

/// How many calls under way are looked at.
const MAX_LEFT: u32 = 10_000;

/// Old calls are looked for only above this many, because most processes end before they could matter.
const MANY: usize = 256;

/// What has ended, so that the ends of its calls will never be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over<'s> {
    /// Nothing in particular.
    Nothing,
    /// A turn of a session's main agent. Its sub-agents may continue.
    Turn(&'s str),
    /// A session.
    Session(&'s str),
}

impl Over<'_> {
    fn covers(self, caller: &CallOrigin) -> bool {
        match self {
            Self::Nothing => false,
            Self::Turn(session) => caller.session == session && caller.agent.is_none(),
            Self::Session(session) => caller.session == session,
        }
    }
}

/// The calls under way, as many as are looked at when a change is to be attributed.
pub fn calls_under_way(ports: &Ports) -> Vec<Pending> {
    const MAX_UNDER_WAY: usize = 256;
    let names = state::list("calls", MAX_LEFT, ports).map(|listing| listing.entries).unwrap_or_default();
    let keys = names.iter().map(|entry| &entry.path).filter(|name| !name.ends_with(SETTLING)).take(MAX_UNDER_WAY);
    keys.filter_map(|name| recall(&format!("calls/{name}"), ports)).collect()
}

/// Whether any call is under way.
pub fn is_any_under_way(ports: &Ports) -> bool {
    // More than one, because files that are just being written are not counted.
    state::list("calls", 64, ports).is_ok_and(|listing| !listing.entries.is_empty())
}

/// Calls whose end nobody will tell any more: those that someone began to settle and did not, those of what is over, and, where
/// there are many, those that are a day old.
pub fn left_behind(over: Over<'_>, now: Timestamp, ports: &Ports) -> Vec<(String, Pending)> {
    const DAY_MS: u64 = 86_400_000;
    let folder = "calls";
    let listing = state::list(folder, MAX_LEFT, ports);
    let names: Vec<String> = listing.map(|found| found.entries.into_iter().map(|entry| entry.path).collect()).unwrap_or_default();
    let is_many = names.len() >= MANY;
    let mut left = Vec::new();
    for name in names.iter().filter(|name| !name.ends_with(SETTLING)) {
        let key = format!("{folder}/{name}");
        let claim = claim_of(name);
        let is_claimed = names.contains(&claim);
        if !is_claimed && !is_many && over == Over::Nothing {
            continue;
        }
        let Some(pending) = recall(&key, ports) else {
            if is_many {
                forget(&key, ports);
            }
            continue;
        };
        let is_abandoned = || {
            let claim = state::read(&format!("{folder}/{claim}"), state::MAX_BYTES, ports).ok();
            claim.and_then(|text| SettlementClaim::read(&text)).is_some_and(|claim| !claim.is_held(now.0))
        };
        if over.covers(&pending.caller) || pending.since.saturating_add(DAY_MS) < now.0 || is_claimed && is_abandoned() {
            left.push((key, pending));
        }
    }
    left
}

/// Leaves a call that could not be entered to the next settlement.
pub fn release(key: &str, ports: &Ports) {
    let Some(pending) = recall(key, ports) else { return };
    let text = format!("{} 0 0", pending.since);
    // Where nothing can be written, it is found when the session ends.
    let _ = state::replace(&claim_of(key), text.as_bytes(), Expectation::Anything, ports);
}

/// Gives back what [`claim`] took. The call must be forgotten before.
pub fn unclaim(key: &str, ports: &Ports) {
    forget(&claim_of(key), ports);
}

/// How the name of a claim ends.
const SETTLING: &str = ".settling.json";

fn claim_of(key: &str) -> String {
    key.replace(".json", SETTLING)
}

/// Forgets a settled call.
pub fn forget(key: &str, ports: &Ports) {
    match state::remove(key, ports) {
        Ok(()) | Err(FileFault::Missing) => {}
        Err(fault) => ports.warn(&format!("`{key}` cannot be removed: {fault}")),
    }
}

/// Where the snapshot is stored that was taken before a call.
pub fn snapshot_of(key: &str) -> String {
    key.replace("calls/", "snapshots/")
}

/// The file that remembers a call.
pub fn key(session: &str, call: &str) -> String {
    state::path("calls", &[session, call])
}

//! Pending records: calls that were allowed and have not ended, with what was known when they were ruled on.
//!
//! Each is kept in a file of its own, so that the ledger can tell before from after even if another process settles the call, and
//! so that an intent selected meanwhile does not get the credit.
//!
//! The file is a journal. It contains the record; if there are several, the last one counts. Whoever settles the call
//! appends a claim, and the order of the claims decides who settles it; a claim holds for ten seconds, so that a call whose
//! settler was killed is settled by another process. A claim that was cut off may count as somebody else's, for as long. A
//! claim applies to the record with the same time. When the call is settled, the file is removed; a late claim may create it
//! again, and after a day it is removed. The same is true of the line that presumes a call refused.
//!
//! If the entries of a call cannot be appended to the ledger, a record that contains them takes the place of the call's, so that
//! whoever settles it next enters exactly these. It has an id of its own, because the call may be made again with the same id. A
//! call that was never allowed has only a record with its entries.

mod call_journal;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::effects::{Operation, Persistence};
use crate::intents::intent::IntentId;
use crate::ledger::entry::Entry;
use crate::ledger::reading::LedgerPosition;
use crate::ports::{FileFault, Ports, Timestamp};
use crate::state;
use crate::tool_call::ToolCall;
pub use call_journal::CLAIM_MS;
use call_journal::{CallJournal, JournalLine, SettlementClaim, append, read};

/// A change that a call under way was allowed to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedChange {
    /// The path, relative to the workspace.
    pub path: String,
    /// The operation that was allowed.
    pub operation: Operation,
    /// The digest of the content before.
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
    /// The agent program, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl CallOrigin {
    /// The origin of a call.
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
    /// The origin of the call; unknown if an earlier version wrote the record.
    #[serde(default)]
    pub caller: CallOrigin,
    /// The intent under which it was ruled on.
    pub intent: IntentId,
    /// When it was ruled on, in milliseconds since 1970; 0 if it was never allowed.
    pub since: u64,
    /// What it may change.
    pub changes: Vec<AllowedChange>,
    /// Whether each of them happens for certain; in a shell command, what is done only on some branch does not.
    #[serde(default)]
    pub certain: bool,
    /// Whether its program may keep running after it has ended.
    #[serde(default)]
    pub persistence: Persistence,
    /// Whether it is presumed refused by a person: the session was given something new to do, and nothing of the call was seen.
    #[serde(default)]
    pub is_presumed_refused: bool,
    /// Set if it may change more than that: what was in force when it was allowed, because a program may change that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_ended: Option<OpenEnded>,
    /// Whether it had to run confined.
    #[serde(default, skip_serializing_if = "is_not")]
    pub confined: bool,
    /// Whether it holds leases on the files that it changes.
    #[serde(default, skip_serializing_if = "is_not")]
    pub leased: bool,
    /// Where the ledger ended when the call was ruled on, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerPosition>,
    /// Set if the call has been compared: what is still to be entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unentered: Option<Vec<Entry>>,
    /// Whether it contains entries that could not be appended, under an id of their own instead of the call's.
    #[serde(default, skip_serializing_if = "is_not")]
    pub has_own_id: bool,
}

impl Pending {
    /// The record of entries that could not be appended, with an id of its own.
    pub fn of_unentered(&self, entries: &[Entry]) -> Self {
        let mut caller = self.caller.clone();
        if !self.has_own_id {
            let id = entries.first().map_or("", |entry| &entry.id);
            caller.call = format!("{} (unentered, {id})", caller.call);
        }
        Self {
            caller,
            changes: Vec::new(),
            open_ended: None,
            leased: false,
            unentered: Some(entries.to_vec()),
            has_own_id: true,
            ..self.clone()
        }
    }

    /// The file that remembers the call.
    pub fn key(&self) -> String {
        key(&self.caller.session, &self.caller.call)
    }

    /// The record of a call that was never allowed: nothing but what is to be entered.
    pub fn never_allowed(caller: CallOrigin, intent: IntentId, entries: &[Entry]) -> Self {
        Self {
            caller,
            intent,
            since: 0,
            changes: Vec::new(),
            certain: true,
            persistence: Persistence::Ends,
            is_presumed_refused: false,
            open_ended: None,
            confined: false,
            leased: false,
            ledger: None,
            unentered: Some(entries.to_vec()),
            has_own_id: false,
        }
    }
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
    append(key, &JournalLine::Record(pending), ports)
}

/// Notes that a call is presumed refused by a person, unless its end has been reported. The record is not written again: if the
/// call was settled just now, that would bring it back.
pub fn presume_refused(key: &str, since: u64, ports: &Ports) -> Result<(), FileFault> {
    append(key, &JournalLine::Refused { since }, ports)
}

/// What is remembered about a call; `None` if it was not ruled on or is settled.
pub fn recall(key: &str, ports: &Ports) -> Option<Pending> {
    match read(key, ports) {
        Ok(journal) => journal.record(key, ports),
        Err(FileFault::Missing) => None,
        Err(fault) => {
            ports.warn(&format!("`{key}` cannot be read and counts as missing: {fault}"));
            None
        }
    }
}

/// Number of unfinished attempts to settle a call after which it is given up.
pub const MAX_ATTEMPTS: u32 = 3;

/// Claims the settlement of a call; `None` if someone else has it, because hosts that run each other's hooks report the same call
/// in two processes at once. Otherwise returns how often settling has been started, this time included.
pub fn claim(key: &str, pending: &Pending, now: Timestamp, ports: &Ports) -> Option<u32> {
    let claim = SettlementClaim { since: pending.since, at: now.0, by: RandomState::new().build_hasher().finish() };
    let journal = match append(key, &JournalLine::Claim(claim), ports).and_then(|()| read(key, ports)) {
        Ok(journal) => journal,
        Err(FileFault::Missing) => return None,
        // Any other fault is our own, and an extra line is better than none, unless someone else has the claim.
        Err(_) => {
            let is_claimed =
                |journal: CallJournal| journal.attempt(pending.since).is_some_and(|attempt| attempt.claim.is_held(now.0));
            return (!read(key, ports).is_ok_and(is_claimed)).then_some(1);
        }
    };
    // If the call was settled meanwhile, its record is gone, or is that of another call.
    let record = journal.record(key, ports).filter(|record| record.since == pending.since)?;
    let attempt = journal.attempt(record.since)?;
    (attempt.claim.by == claim.by).then_some(attempt.number)
}

/// Maximum number of calls under way that are looked at.
const MAX_LEFT: u32 = 10_000;

/// What has ended, so that the ends of its calls will never be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended<'s> {
    /// Nothing in particular.
    Nothing,
    /// A turn of a session's main agent. Its sub-agents may continue.
    Turn(&'s str),
    /// A session.
    Session(&'s str),
}

impl Ended<'_> {
    /// Whether a call with this origin is part of what has ended.
    pub fn covers(self, caller: &CallOrigin) -> bool {
        match self {
            Self::Nothing => false,
            Self::Turn(session) => caller.session == session && caller.agent.is_none(),
            Self::Session(session) => caller.session == session,
        }
    }
}

/// The calls under way, as many as are considered when a change is to be attributed.
pub fn calls_under_way(ports: &Ports) -> Vec<Pending> {
    const MAX_UNDER_WAY: usize = 256;
    let names = state::list(FOLDER, MAX_LEFT, ports).map(|listing| listing.entries).unwrap_or_default();
    let records = names.iter().filter_map(|entry| recall(&format!("{FOLDER}/{}", entry.path), ports));
    records.filter(|record| record.unentered.is_none()).take(MAX_UNDER_WAY).collect()
}

/// Whether there are so many records that no more of calls that never ran should be added.
pub fn are_too_many(ports: &Ports) -> bool {
    const MAX_RECORDS: u32 = 1_000;
    state::list(FOLDER, MAX_RECORDS, ports).is_ok_and(|listing| listing.entries.len() >= MAX_RECORDS as usize)
}

/// Whether any call is under way.
pub fn is_any_under_way(ports: &Ports) -> bool {
    // Files that are just being replaced are not counted.
    state::list(FOLDER, 64, ports).is_ok_and(|listing| !listing.entries.is_empty())
}

/// Calls whose end nobody will report any more: those that someone began to settle and did not finish, those of what is over, and
/// those that are a day old.
pub fn left_behind(ended: Ended<'_>, now: Timestamp, ports: &Ports) -> Vec<(String, Pending)> {
    const DAY_MS: u64 = 86_400_000;
    let mut left = Vec::new();
    for entry in state::list(FOLDER, MAX_LEFT, ports).map(|listing| listing.entries).unwrap_or_default() {
        let key = format!("{FOLDER}/{}", entry.path);
        let Ok(journal) = read(&key, ports) else { continue };
        // If the time of the file is not known, the record tells.
        let may_be_old = entry.changed_ms.saturating_add(DAY_MS) < now.0;
        if ended == Ended::Nothing && !may_be_old && !journal.has_claims() {
            continue;
        }
        let Some(pending) = journal.record(&key, ports) else {
            // Someone may be about to add a record.
            if entry.changed_ms > 0 && may_be_old {
                forget(&key, ports);
            }
            continue;
        };
        let is_old = pending.since.saturating_add(DAY_MS) < now.0;
        if ended.covers(&pending.caller) || is_old || journal.is_abandoned(pending.since, now) {
            left.push((key, pending));
        }
    }
    left
}

/// Whether the journal of a call contains one record and no more, so that nobody else keeps anything there.
pub fn is_only_record(key: &str, ports: &Ports) -> bool {
    read(key, ports).is_ok_and(|journal| journal.records().count() == 1)
}

/// Leaves a call that could not be entered to the next settlement.
pub fn release(key: &str, ports: &Ports) {
    let Some(pending) = recall(key, ports) else { return };
    // If nothing can be written, the call is found when the session ends.
    let _ = append(key, &JournalLine::Claim(SettlementClaim { since: pending.since, at: 0, by: 0 }), ports);
}

/// Forgets a settled call.
pub fn forget(key: &str, ports: &Ports) {
    match state::remove(key, ports) {
        Ok(()) | Err(FileFault::Missing) => {}
        Err(fault) => ports.warn(&format!("`{key}` cannot be removed: {fault}")),
    }
}

/// The file with the snapshot that was taken before a call.
pub fn snapshot_of(key: &str) -> String {
    key.replace("calls/", "snapshots/")
}

/// The folder of the journals in the state.
const FOLDER: &str = "calls";

/// The file that remembers a call.
pub fn key(session: &str, call: &str) -> String {
    state::path(FOLDER, &[session, call])
}

#[cfg(test)]
mod tests;

//! Calls that were allowed and have not ended: what was known when they were ruled on.
//!
//! Kept in the [`journal`](super::journal), so that the ledger can tell before from after even if another process settles the call,
//! and so that an intent selected meanwhile does not get the credit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journal::{self, Kind, Line, Part};
use super::lease::{self, LeaseDenial};
use super::snapshots::{self, Place};

use crate::digest::Digest;
use crate::effects::{Operation, Persistence};
use crate::intents::intent::IntentId;
use crate::json;
use crate::ports::{FileFault, Ports, Timestamp};
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

/// Whose call it is: enough to enter it though nobody tells how it ended.
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

    /// The call, without the arguments, which nobody remembers.
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
    /// Whether it may go on after it has ended.
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
    /// Whether nobody else may write to the files that it changes; see [`lease`](super::lease).
    #[serde(default, skip_serializing_if = "is_not")]
    pub holds: bool,
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
    /// The snapshot that was taken before.
    pub before: Place,
}

/// A longer record stands in a file beside the journal: the contents of files before a change, or a long list of them.
const MAX_IN_LINE: usize = 4 << 10;

/// Of a long list, so many files stand in the journal itself, for those who ask who holds a file.
const MAX_NAMED: usize = 64;

/// What a line of the journal says about a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) call: Pending,
    /// Where that is not all of it: how long the whole is that stands beside the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
}

impl Record {
    /// Reads it off a line about a call that was allowed.
    pub(super) fn of(line: &Line<'_>) -> Option<Self> {
        let (_, record) = line.rest.split_once(' ')?;
        json::parse(record.as_bytes()).ok()
    }

    /// The whole call.
    fn whole(line: &Line<'_>, ports: &Ports) -> Option<Pending> {
        let record = Self::of(line).or_else(|| {
            ports.warn(&format!("a line of the calls in flight cannot be parsed and counts as missing: {}", line.key));
            None
        })?;
        let Some(length) = record.more else { return Some(record.call) };
        let whole = journal::read_more(line.key, line.since, length, ports);
        let whole = whole.and_then(|text| json::parse(&text).ok());
        if whole.is_none() {
            ports.warn(&format!("what is known of the call `{}` is gone, except for its first files", record.call.caller.call));
        }
        Some(whole.unwrap_or(record.call))
    }
}

/// A call that is remembered: by its key, and when it was ruled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The call's key, see [`key`].
    pub key: String,
    /// In milliseconds since 1970.
    pub since: u64,
}

impl Slot {
    /// The slot of a call.
    pub fn of(pending: &Pending) -> Self {
        Self { key: key(&pending.caller.session, &pending.caller.call), since: pending.since }
    }
}

/// Remembers a call until it is settled, and takes the files that it holds, unless another session has one of them: then nothing
/// is remembered.
pub fn open(pending: &Pending, ports: &Ports) -> Result<(), LeaseDenial> {
    append_open(pending, ports)?;
    if !pending.holds || pending.changes.is_empty() {
        return Ok(());
    }
    let slot = Slot::of(pending);
    lease::look_for_others(&slot.key, pending, ports).inspect_err(|_| forget(&slot, ports))
}

/// Remembers something else about a call that is remembered. What it holds stays as it is.
pub fn update(pending: &Pending, ports: &Ports) -> Result<(), FileFault> {
    append_open(pending, ports)
}

/// Appends the line about a call that is allowed. Of two lines about a call the later one counts.
pub(super) fn append_open(pending: &Pending, ports: &Ports) -> Result<(), FileFault> {
    let Slot { key, since } = Slot::of(pending);
    let mut record = Record { call: pending.clone(), more: None };
    let mut text = json::line(&record);
    if text.len() > MAX_IN_LINE {
        record.more = Some(journal::append_more(&key, since, &json::line(&record.call), ports)?);
        record.call.changes.truncate(MAX_NAMED);
        record.call.changes.iter_mut().for_each(|change| change.before = None);
        text = json::line(&record);
    }
    journal::append(Kind::Open, &key, since, &format!("{} {text}", lease::files_of(pending)), ports)
}

/// What is remembered about a call; none where it was not ruled on or is settled.
pub fn recall(key: &str, ports: &Ports) -> Option<Pending> {
    let now = ports.clock.now().0;
    match recall_recent(key, ports) {
        Recent::Open(pending) => return Some(*pending),
        Recent::Over => return None,
        Recent::Unknown => {}
    }
    let earlier = journal::hours(ports);
    let first = [now, journal::hour_before(now)];
    let others = earlier.into_iter().filter(|at| !first.iter().any(|known| journal::is_same_hour(*known, *at)));
    for at in first.into_iter().chain(others) {
        let part = Part::whole(at, ports)
            .inspect_err(|fault| ports.warn(&format!("the calls in flight cannot be read and count as missing: {fault}")));
        match part.map(|part| find(&part, key, ports)) {
            Ok(Recent::Open(pending)) => return Some(*pending),
            Ok(Recent::Over) => return None,
            Ok(Recent::Unknown) | Err(_) => {}
        }
    }
    None
}

/// What the latest calls say about one.
pub enum Recent {
    /// It is under way.
    Open(Box<Pending>),
    /// It is over.
    Over,
    /// It is not among them.
    Unknown,
}

/// Looks for a call among the latest ones only. Most calls end soon after they were allowed.
pub fn recall_recent(key: &str, ports: &Ports) -> Recent {
    Part::end(ports.clock.now().0, ports).map_or(Recent::Unknown, |part| find(&part, key, ports))
}

fn find(part: &Part, key: &str, ports: &Ports) -> Recent {
    let of_call = |kind: Kind| part.lines().filter(move |line| line.kind == kind && line.key == key);
    let over = of_call(Kind::Over).map(|line| line.since).max();
    match of_call(Kind::Open).max_by_key(|line| line.since) {
        Some(line) if over.is_none_or(|over| over < line.since) => {
            Record::whole(&line, ports).map_or(Recent::Unknown, |pending| Recent::Open(Box::new(pending)))
        }
        Some(_) => Recent::Over,
        // Where its line stands further up, it may have been allowed again since.
        None if over.is_some() && part.is_whole() => Recent::Over,
        None => Recent::Unknown,
    }
}

/// Nobody takes longer to settle a call, unless they were killed.
const CLAIM_MS: u64 = 10_000;

/// A call under way is not looked at again after it was begun to be settled so often and never was to the end.
pub const MAX_ATTEMPTS: u32 = 3;

/// The settling of a call, taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// How often it has been begun, this time included.
    pub attempts: u32,
    /// Whether there are other calls that somebody began to settle and did not.
    pub left_others: bool,
}

/// Takes the settling of a call, unless somebody else has it, or the call is over: hosts that run each other's hooks tell of the same
/// call in two processes at once.
pub fn claim(slot: &Slot, now: Timestamp, ports: &Ports) -> Option<Claimed> {
    let Slot { key, since } = slot;
    let random = ports.random.random_bytes();
    let nonce: String = random.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    // A fault is our own, and a line too many is better than none.
    let ours = Some(Claimed { attempts: 1, left_others: false });
    if journal::append(Kind::Claim, key, *since, &format!("{} {nonce}", now.0), ports).is_err() {
        return ours;
    }
    let reaches = |part: &Part| part.is_whole() || part.has(Kind::Open, key, *since);
    let part = Part::end(*since, ports).and_then(|end| if reaches(&end) { Ok(end) } else { Part::whole(*since, ports) });
    let Ok(part) = part else { return ours };
    if part.has(Kind::Over, key, *since) {
        return None;
    }
    let Some(claim) = Claim::of(&part, key, *since) else { return ours };
    (claim.nonce == nonce).then(|| Claimed { attempts: claim.attempts, left_others: has_abandoned(&part, now) })
}

/// Who settles a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claim<'j> {
    /// When it was begun to be settled.
    at: u64,
    nonce: &'j str,
    /// How often.
    attempts: u32,
    is_released: bool,
}

impl<'j> Claim<'j> {
    /// Who has the settling of a call. A claim does not count that was made while another was held.
    fn of(part: &'j Part, key: &str, since: u64) -> Option<Self> {
        part.lines().filter(|line| line.is_of(key, since)).fold(None, |claim, line| Self::after(claim, &line))
    }

    fn after(claim: Option<Self>, line: &Line<'j>) -> Option<Self> {
        match line.kind {
            Kind::Claim => {
                let (at, nonce) = line.rest.split_once(' ')?;
                let at = at.parse().ok()?;
                match claim {
                    Some(held) if held.is_held(at) => Some(held),
                    Some(left) => {
                        let attempts = if left.is_released { 1 } else { left.attempts.saturating_add(1) };
                        Some(Self { at, nonce, attempts, is_released: false })
                    }
                    None => Some(Self { at, nonce, attempts: 1, is_released: false }),
                }
            }
            Kind::Released => Some(Self { at: 0, nonce: "", attempts: 0, is_released: true }),
            _ => claim,
        }
    }

    /// Whether somebody is still at it.
    fn is_held(&self, now: u64) -> bool {
        !self.is_released && now.abs_diff(self.at) < CLAIM_MS
    }
}

/// Whether somebody began to settle a call and did not.
fn has_abandoned(part: &Part, now: Timestamp) -> bool {
    calls_in(part).values().any(|call| call.is_open() && call.claim.is_some_and(|claim| !claim.is_held(now.0)))
}

/// What the lines of a part come to for one call.
#[derive(Default)]
struct Course<'j> {
    opened: Option<Line<'j>>,
    over: Option<u64>,
    claim: Option<Claim<'j>>,
}

impl Course<'_> {
    fn is_open(&self) -> bool {
        self.opened.is_some_and(|line| self.over.is_none_or(|over| over < line.since))
    }
}

/// Every call that a part tells of.
fn calls_in(part: &Part) -> BTreeMap<&str, Course<'_>> {
    let mut calls: BTreeMap<&str, Course<'_>> = BTreeMap::new();
    for line in part.lines() {
        let call = calls.entry(line.key).or_default();
        match line.kind {
            Kind::Open => {
                if call.opened.is_none_or(|opened| opened.since <= line.since) {
                    if call.opened.is_some_and(|opened| opened.since < line.since) {
                        call.claim = None;
                    }
                    call.opened = Some(line);
                }
            }
            Kind::Over => call.over = call.over.max(Some(line.since)),
            Kind::Claim | Kind::Released => {
                if call.opened.is_none_or(|opened| opened.since == line.since) {
                    call.claim = Claim::after(call.claim, &line);
                }
            }
            Kind::GivenBack => {}
        }
    }
    calls
}

/// What is over, so that nobody will tell any more how its calls ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over<'s> {
    /// Nothing in particular.
    Nothing,
    /// A turn of a session's main agent. Its sub-agents may go on.
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

/// Goes through all calls under way until `visit` says that it has seen enough.
fn visit_open(ports: &Ports, mut visit: impl FnMut(&Course<'_>) -> bool) {
    for at in journal::hours(ports) {
        let Ok(part) = Part::whole(at, ports) else { continue };
        if calls_in(&part).values().filter(|call| call.is_open()).any(&mut visit) {
            return;
        }
    }
}

/// The calls under way, as many as are looked at when somebody asks whose a change is.
pub fn under_way(ports: &Ports) -> Vec<Pending> {
    const MAX_UNDER_WAY: usize = 256;
    let mut calls = Vec::new();
    visit_open(ports, |call| {
        calls.extend(call.opened.and_then(|line| Record::whole(&line, ports)));
        calls.len() == MAX_UNDER_WAY
    });
    calls
}

/// Whether any call is under way.
pub fn is_any_under_way(ports: &Ports) -> bool {
    let mut is_any = false;
    visit_open(ports, |_| {
        is_any = true;
        true
    });
    is_any
}

/// Calls whose end nobody will tell any more: those that somebody began to settle and did not, those of what is over, and those that
/// are a day old.
pub fn left_behind(over: Over<'_>, now: Timestamp, ports: &Ports) -> Vec<Pending> {
    const DAY_MS: u64 = 86_400_000;
    let mut left = Vec::new();
    visit_open(ports, |call| {
        let Some(line) = call.opened else { return false };
        let is_abandoned = call.claim.is_some_and(|claim| !claim.is_held(now.0));
        let is_old = line.since.saturating_add(DAY_MS) < now.0;
        let is_covered = || over != Over::Nothing && Record::of(&line).is_some_and(|record| over.covers(&record.call.caller));
        if is_abandoned || is_old || is_covered() {
            left.extend(Record::whole(&line, ports));
        }
        false
    });
    left
}

/// Removes what nobody will ask for again.
pub fn sweep(now: Timestamp, ports: &Ports) {
    journal::sweep(now, |part| calls_in(part).values().any(Course::is_open), ports);
    let needed: Vec<u64> = under_way(ports).iter().filter_map(|call| Some(call.open_ended.as_ref()?.before.generation)).collect();
    snapshots::sweep(&needed, ports);
}

/// Leaves a call that could not be entered to whoever settles one next.
pub fn release(slot: &Slot, ports: &Ports) {
    // Where nothing can be written, it is found when the session ends.
    let _ = journal::append(Kind::Released, &slot.key, slot.since, "", ports);
}

/// Gives back the files that a call holds, which is not over yet.
pub fn give_back(slot: &Slot, ports: &Ports) {
    // What cannot be written is free after a minute.
    let _ = journal::append(Kind::GivenBack, &slot.key, slot.since, "", ports);
}

/// Forgets a call that is settled, and what it holds.
pub fn forget(slot: &Slot, ports: &Ports) {
    if let Err(fault) = journal::append(Kind::Over, &slot.key, slot.since, "", ports) {
        ports.warn(&format!("a call that is settled cannot be forgotten, and may be settled again: {fault}"));
    }
}

/// What a call is known by, while it is under way. Session and call come from outside, so they are hashed.
pub fn key(session: &str, call: &str) -> String {
    state::key(&[session, call])
}

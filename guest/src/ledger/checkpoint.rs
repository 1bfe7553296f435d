//! Checkpoints: how far the ledger went when this machine last wrote to it, so that a truncated, emptied or replaced ledger is
//! noticed.
//!
//! The ledger is in the workspace, where a program can rewrite it as a whole; a chain alone does not show that. So the state
//! keeps its length, the digest of the bytes before that, and its heads. The file only grows, and is moved as a whole when it is
//! archived, so those bytes stay where they are: in the ledger, or in one of its parts. A writer stores the checkpoint *after*
//! its lines, from what is then in the file. The checkpoint may lag behind other writers, and is never ahead of what was written,
//! so any number of writers raise no false alarm.
//!
//! Checkpoints are appended to a journal, of which the last few lines are compared: the one that goes farthest counts, because
//! writers may append their checkpoints in another order than their entries. Replacing a file takes almost a hundred times as
//! long as appending a line, because the file system writes the content to disk first. If a writer is slow to append its
//! checkpoint, while the ledger is replaced and another process notices, the replacement is noticed a second time.
//!
//! If the bytes are gone, a line in the ledger says so, once, and the ledger is accepted as it is from then on: checking out
//! another branch brings another ledger, and nobody should be held up by that forever.

use serde::{Deserialize, Serialize};

use super::chain::{self, End};
use super::entry::{Entry, ScopeValidation};
use super::mutation::MutationClass;
use super::{ARCHIVE, PATH, archive, writing};
use crate::digest::Digest;
use crate::effects::Operation;
use crate::json;
use crate::ports::{Expectation, FileFault, FileKind, Ports, Question, Root, Tail};
use crate::state;
use crate::state::journal::{self, Journal};

/// The path of the journal in the state.
pub const KEPT: &str = "ledger.jsonl";

/// The claim of the process that is reporting a replaced ledger at this moment.
const CLAIM: &str = "ledger-told.json";

/// How long a claim holds: nobody takes longer to report, unless they were killed.
const CLAIM_MS: u64 = 10_000;

/// How many bytes before the end are compared: usually the last line, which names the lines before it. A component hashes slowly,
/// and every write hashes these bytes three times.
const COMPARED: u64 = 1 << 10;

/// If others have appended more than this since the checkpoint, the end of the ledger is read as a whole.
const MAX_APPENDED: u64 = 16 << 10;

/// A journal longer than this is cut down to the checkpoint that counts.
const LONG_BYTES: usize = 16 << 10;

/// How many checkpoints at the end of the journal are compared.
const COMPARED_CHECKPOINTS: usize = 4;

/// Maximum number of parts that are searched, the newest first.
const MAX_PARTS: usize = 1_000;

/// The session under which a replaced ledger is entered.
const SESSION: &str = "tollgate";
const TOOL: &str = "ledger";

/// How far the ledger went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The length of the ledger.
    bytes: u64,
    /// The digest of the last bytes before that.
    tail: Digest,
    /// The lines at its end that no line had named yet.
    pub heads: Vec<Digest>,
}

/// The stored checkpoints, as they were read.
#[derive(PartialEq, Eq)]
struct Checkpoints(Journal);

impl Checkpoints {
    /// Reads the stored checkpoints; `None` if nothing is stored yet.
    fn read(ports: &Ports) -> Result<Option<Self>, FileFault> {
        match Journal::read(KEPT, state::MAX_BYTES, ports) {
            Ok(journal) => Ok(Some(Self(journal)).filter(|kept| kept.0.lines().next().is_some())),
            Err(FileFault::Missing) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The checkpoint that counts; `None` if none can be parsed.
    fn latest(&self) -> Option<Checkpoint> {
        let parsed = self.0.lines().rev().filter_map(|line| json::parse::<Checkpoint>(line).ok());
        parsed.take(COMPARED_CHECKPOINTS).max_by_key(|checkpoint| checkpoint.bytes)
    }

    fn is_long(&self) -> bool {
        self.0.bytes() > LONG_BYTES
    }

    /// Stores this checkpoint alone, unless one was added since they were read.
    fn replace(&self, checkpoint: &Checkpoint, ports: &Ports) {
        warn_if_not_saved(self.0.replace(KEPT, [json::line(checkpoint).as_bytes()], ports), ports);
    }

    /// Keeps only the checkpoint that counts.
    fn shorten(ports: &Ports) {
        if let Ok(Some(kept)) = Self::read(ports)
            && let Some(checkpoint) = kept.latest()
        {
            kept.replace(&checkpoint, ports);
        }
    }
}

/// Where a checkpoint's bytes are now.
#[derive(Debug, PartialEq, Eq)]
enum CheckpointState {
    /// In the ledger.
    Current,
    /// In an archived part.
    Archived,
    /// Nowhere; the text says what happened to the ledger.
    Gone(String),
    /// Unknown: the ledger cannot be read, which its writers report.
    Unreadable,
}

impl Checkpoint {
    /// The checkpoint for a ledger up to its end.
    fn of(seen: &LedgerEnd) -> Self {
        let Tail { offset, bytes } = &seen.tail;
        let compared = bytes.len().saturating_sub(usize::try_from(COMPARED).unwrap_or(usize::MAX));
        Self {
            bytes: offset + bytes.len() as u64,
            tail: Digest::of(bytes.get(compared..).unwrap_or_default()),
            heads: seen.end.heads.clone(),
        }
    }

    /// The stored checkpoint that counts, with all that are stored.
    fn read(ports: &Ports) -> Option<(Self, Checkpoints)> {
        let kept = match Checkpoints::read(ports) {
            Ok(kept) => kept?,
            Err(fault) => {
                ports
                    .warn(&format!("`{KEPT}` in the state folder cannot be read, so a truncated ledger is not noticed: {fault}"));
                return None;
            }
        };
        let Some(checkpoint) = kept.latest() else {
            ports.warn(&format!("`{KEPT}` in the state folder cannot be parsed and counts as missing"));
            return None;
        };
        Some((checkpoint, kept))
    }

    /// The stored checkpoint that counts.
    pub fn load(ports: &Ports) -> Option<Self> {
        Self::read(ports).map(|(checkpoint, _)| checkpoint)
    }

    /// Finds the checkpoint's bytes. The ledger is searched before its parts, so that one that is archived at this moment is
    /// found.
    fn locate(&self, ports: &Ports) -> CheckpointState {
        match self.is_prefix_of(PATH, ports) {
            Ok(true) => return CheckpointState::Current,
            Ok(false) | Err(FileFault::Missing) => {}
            Err(_) => return CheckpointState::Unreadable,
        }
        let parts = archive::names(ports);
        let has = |name: &String| self.is_prefix_of(&format!("{ARCHIVE}/{name}"), ports) == Ok(true);
        if parts.iter().rev().take(MAX_PARTS).any(has) {
            return CheckpointState::Archived;
        }
        let facts = ports.workspace.inspect(&[Question::project(PATH)]).pop();
        CheckpointState::Gone(match facts.filter(|facts| facts.kind == FileKind::File).map(|facts| facts.size) {
            None => format!("it is gone (it was {} bytes long)", self.bytes),
            Some(size) if size < self.bytes => format!("it is {size} bytes long, but was {}", self.bytes),
            Some(_) => format!("its first {} bytes have changed", self.bytes),
        })
    }

    fn is_prefix_of(&self, file: &str, ports: &Ports) -> Result<bool, FileFault> {
        let compared = self.bytes.min(COMPARED);
        if compared == 0 {
            return Ok(true);
        }
        let found = ports.workspace.read_range(Root::Project, file, self.bytes - compared, compared)?;
        Ok(found.len() as u64 == compared && Digest::of(&found) == self.tail)
    }

    /// Appends it to the journal.
    fn append_to_journal(&self, ports: &Ports) {
        warn_if_not_saved(journal::append(KEPT, &json::line(self), ports), ports);
    }

    /// Stores it instead of all that were stored before.
    fn replace_all(&self, expected: Expectation, ports: &Ports) -> Result<(), FileFault> {
        journal::replace(KEPT, &json::line(self), expected, ports)
    }

    /// The message about a ledger that this checkpoint is not of.
    fn mismatch_message(&self, what: &str) -> String {
        let ended = self.heads.last().map_or_else(String::new, |head| format!("; it ended in {head}"));
        format!("`{PATH}` is not the ledger that this machine last wrote to: {what}{ended}")
    }
}

/// The end of the ledger, as a writer sees it.
pub(super) struct LedgerEnd {
    /// Its last bytes.
    pub(super) tail: Tail,
    /// The heads that the next line names.
    pub(super) end: End,
    /// The checkpoint from which it was read; `None` if it was read as a whole.
    since: Option<LastCheckpoint>,
}

/// A checkpoint that the ledger contains.
#[derive(Clone, Copy)]
struct LastCheckpoint {
    /// Whether the journal that contains it is long.
    is_long: bool,
    /// Its only head.
    head: Digest,
    /// Where it ends in the bytes that were read.
    known: usize,
}

impl LedgerEnd {
    /// Reads the end of the ledger, from the checkpoint on if possible: that is a few lines, instead of all in which heads are
    /// searched for.
    pub(super) fn read(ports: &Ports) -> Result<Self, FileFault> {
        Self::since_checkpoint(ports).map_or_else(|| Self::whole(0, ports), Ok)
    }

    /// Reads it again after something was appended.
    pub(super) fn read_again(&self, appended: u64, ports: &Ports) -> Result<Self, FileFault> {
        self.extend(appended, ports).map_or_else(|| Self::whole(appended, ports), Ok)
    }

    fn whole(appended: u64, ports: &Ports) -> Result<Self, FileFault> {
        let tail = writing::end_of_file(appended + chain::READ, ports)?;
        Ok(Self { end: End::of(&tail), tail, since: None })
    }

    fn since_checkpoint(ports: &Ports) -> Option<Self> {
        let all = Checkpoints::read(ports).ok()??;
        let kept = all.latest()?;
        let [head] = kept.heads.as_slice() else { return None };
        let compared = kept.bytes.min(COMPARED);
        let known = usize::try_from(compared).ok()?;
        let tail = read_to_end(kept.bytes - compared, compared + MAX_APPENDED, ports)?;
        let is_kept = tail.bytes.get(..known).is_some_and(|bytes| Digest::of(bytes) == kept.tail);
        let end = End::extend_from(&tail, known, *head).filter(|_| is_kept)?;
        Some(Self { tail, end, since: Some(LastCheckpoint { is_long: all.is_long(), head: *head, known }) })
    }

    fn extend(&self, appended: u64, ports: &Ports) -> Option<Self> {
        let since = self.since?;
        let limit = self.tail.bytes.len() as u64 + appended + MAX_APPENDED;
        let tail = read_to_end(self.tail.offset, limit, ports).filter(|tail| tail.bytes.starts_with(&self.tail.bytes))?;
        let end = End::extend_from(&tail, since.known, since.head)?;
        Some(Self { tail, end, since: Some(since) })
    }
}

/// Reads the ledger from an offset to its end; `None` if that is longer than the limit.
fn read_to_end(offset: u64, limit: u64, ports: &Ports) -> Option<Tail> {
    let bytes = ports.workspace.read_range(Root::Project, PATH, offset, limit).ok()?;
    ((bytes.len() as u64) < limit).then_some(Tail { offset, bytes })
}

/// Stores how far the ledger goes, if nothing is stored yet.
pub fn begin(ports: &Ports) {
    if let Ok(end) = LedgerEnd::whole(0, ports) {
        warn_if_not_saved(Checkpoint::of(&end).replace_all(Expectation::Absent, ports), ports);
    }
}

/// Checks whether the ledger is still the one that the checkpoint is of. If not, that is entered, the ledger as it is counts from
/// now on, and the notice is returned.
pub fn check(ports: &Ports) -> Option<String> {
    let Some((kept, all)) = Checkpoint::read(ports) else {
        begin(ports);
        return None;
    };
    match kept.locate(ports) {
        CheckpointState::Current | CheckpointState::Unreadable => None,
        CheckpointState::Archived => {
            let now = Checkpoint::of(&LedgerEnd::whole(0, ports).ok()?);
            if now.bytes > 0 {
                all.replace(&now, ports);
            }
            None
        }
        CheckpointState::Gone(what) => accept(&kept, &all, &what, ports),
    }
}

/// Stores how far the ledger goes, after lines were entered. Returns the notice, if there is one.
pub(super) fn advance(end: &LedgerEnd, ports: &Ports) -> Option<String> {
    let now = Checkpoint::of(end);
    // The ledger was archived just now: the lines are in the part.
    if now.bytes == 0 {
        return None;
    }
    // The ledger contains the checkpoint that its end was read from.
    if let Some(since) = &end.since {
        now.append_to_journal(ports);
        if since.is_long {
            Checkpoints::shorten(ports);
        }
        return None;
    }
    let Some((kept, all)) = Checkpoint::read(ports) else {
        now.append_to_journal(ports);
        return None;
    };
    match kept.locate(ports) {
        CheckpointState::Gone(what) => return accept(&kept, &all, &what, ports),
        // Someone who wrote later has stored their checkpoint already.
        CheckpointState::Current if kept.bytes >= now.bytes => {}
        CheckpointState::Current if !all.is_long() => now.append_to_journal(ports),
        _ => all.replace(&now, ports),
    }
    None
}

/// Forgets the checkpoint, because the workspace is no longer governed. Returns the notice, if it was governed before.
pub fn forget(ports: &Ports) -> Option<String> {
    state::remove(KEPT, ports).ok()?;
    Some("this workspace is no longer governed: `.orchestration/` is gone; calls are neither checked nor recorded".to_owned())
}

/// Enters that the ledger was replaced, unless another process is doing so, and accepts the ledger as it is.
fn accept(gone: &Checkpoint, before: &Checkpoints, what: &str, ports: &Ports) -> Option<String> {
    if !claim(ports) {
        return None;
    }
    let told = match Checkpoints::read(ports) {
        // Someone else finished just before.
        Ok(Some(kept)) if kept != *before => None,
        _ => Some(enter(gone.mismatch_message(what), ports)),
    };
    let _ = state::remove(CLAIM, ports);
    told
}

/// Claims the report of what happened to the ledger; false if another process has claimed it.
fn claim(ports: &Ports) -> bool {
    let now = ports.clock.now().0;
    let take = |expected| state::replace(CLAIM, now.to_string().as_bytes(), expected, ports);
    let taken = match take(Expectation::Absent) {
        Err(FileFault::Exists) => {
            let found = state::read(CLAIM, state::MAX_BYTES, ports).unwrap_or_default();
            let since = std::str::from_utf8(&found).ok().and_then(|text| text.parse::<u64>().ok());
            // A claim that was left behind belongs to a process that was killed.
            if since.is_some_and(|since| now.abs_diff(since) < CLAIM_MS) {
                return false;
            }
            take(Expectation::Digest(Digest::of(&found)))
        }
        taken => taken,
    };
    // Any other fault is our own, and an extra line is better than none.
    !matches!(taken, Err(FileFault::Exists | FileFault::Changed))
}

/// Enters what happened to the ledger, and stores how far it goes as it is. Returns the notice.
fn enter(complaint: String, ports: &Ports) -> String {
    let said = format!("{complaint}; from now on it is accepted as it is now, so ask a person to review it");
    ports.warn(&said);
    let class = MutationClass::of(Operation::Modify, PATH, None);
    let entry = Entry {
        scope_validation: ScopeValidation::Fail,
        success: false,
        error: Some(complaint),
        ..Entry::new(SESSION, TOOL, class, ports.clock.now(), ports)
    };
    // If it cannot be entered, the checkpoint stays, and the next process that checks tries again.
    if let Ok(Some(end)) = writing::enter_unchecked(&[entry], &mut Vec::new(), ports) {
        warn_if_not_saved(Checkpoint::of(&end).replace_all(Expectation::Anything, ports), ports);
    }
    said
}

fn warn_if_not_saved(kept: Result<(), FileFault>, ports: &Ports) {
    match kept {
        Ok(()) | Err(FileFault::Exists | FileFault::Changed) => {}
        Err(fault) => {
            ports.warn(&format!("`{KEPT}` cannot be saved in the state folder, so a truncated ledger may go unnoticed: {fault}"));
        }
    }
}

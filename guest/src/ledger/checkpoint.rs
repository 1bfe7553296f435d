//! Checkpoints: how far the ledger went when this machine last wrote to it, so that a truncated, emptied or replaced ledger is
//! noticed.
//!
//! The ledger is in the workspace, where a program can rewrite it as a whole; a chain alone does not show that. So the
//! state keeps its length, the digest of the bytes before that, and its heads. The file only grows, and moves as a whole when
//! it is put aside, so those bytes stay where they are: in the ledger, or in one of its parts. Whoever writes keeps the
//! checkpoint *after* the lines, from what then is in the file. It may lag behind other writers, and never runs ahead of
//! what was written, so any number of them raise no false alarm.
//!
//! Checkpoints are appended to a journal, of which the last few lines are compared: the one that goes farthest counts, because
//! writers may append theirs in another order than their entries. Replacing a file takes almost a hundred times as long as appending a
//! line, because the file system writes the content to disk first. A writer that is slow to append its checkpoint, while the ledger is
//! replaced and another process notices, makes the replacement be noticed a second time.
//!
//! Where the bytes are gone, a line in the ledger says so, once, and the ledger is accepted as it is from then on: another
//! branch that was checked out brings another ledger, and nobody should be held up by that for ever.

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

/// Where it is kept in the state.
pub const KEPT: &str = "ledger.jsonl";

/// Who is telling that the ledger is another one, at this moment.
const CLAIM: &str = "ledger-told.json";

/// Nobody takes longer to tell, unless they were killed.
const CLAIM_MS: u64 = 10_000;

/// How many bytes before the end are compared: usually the last line, which names what is before it. A component hashes slowly, and
/// every write hashes them three times.
const COMPARED: u64 = 1 << 10;

/// If others have appended more than this since the checkpoint, the end of the ledger is read as a whole.
const MAX_APPENDED: u64 = 16 << 10;

/// A longer journal is cut down to the checkpoint that counts.
const LONG_BYTES: usize = 16 << 10;

/// This many checkpoints at the end of the journal are compared.
const LATEST: usize = 4;

/// At most this many parts are searched, the newest first.
const MAX_PARTS: usize = 1_000;

/// The session under which a replaced ledger is entered.
const SESSION: &str = "tollgate";
const TOOL: &str = "ledger";

/// How far the ledger went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its length.
    bytes: u64,
    /// The digest of the last bytes before that.
    tail: Digest,
    /// The lines at its end that no line named yet.
    pub heads: Vec<Digest>,
}

/// What is kept, as it was read.
struct Journal(Vec<u8>);

impl Journal {
    /// None where nothing is kept yet.
    fn read(ports: &Ports) -> Result<Option<Self>, FileFault> {
        match state::read(KEPT, state::MAX_BYTES, ports) {
            Ok(text) => Ok(Some(Self(text)).filter(|journal| state::lines(&journal.0).next().is_some())),
            Err(FileFault::Missing) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The checkpoint that counts; none where none can be parsed.
    fn checkpoint(&self) -> Option<Checkpoint> {
        let parsed = state::lines(&self.0).rev().filter_map(|line| json::parse::<Checkpoint>(line).ok());
        parsed.take(LATEST).max_by_key(|checkpoint| checkpoint.bytes)
    }

    fn is_long(&self) -> bool {
        self.0.len() > LONG_BYTES
    }

    /// Keeps this checkpoint alone, unless one was added since the journal was read.
    fn replace(&self, checkpoint: &Checkpoint, ports: &Ports) {
        warn_unkept(checkpoint.replace_all(Expectation::Digest(Digest::of(&self.0)), ports), ports);
    }

    /// Keeps only the checkpoint that counts.
    fn shorten(ports: &Ports) {
        if let Ok(Some(journal)) = Self::read(ports)
            && let Some(checkpoint) = journal.checkpoint()
        {
            journal.replace(&checkpoint, ports);
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
    /// Nowhere; what happened to the ledger.
    Gone(String),
    /// Unknown: the ledger cannot be read, which its writers report.
    Unreadable,
}

impl Checkpoint {
    /// The ledger up to its end.
    fn of(seen: &LedgerEnd) -> Self {
        let Tail { offset, bytes } = &seen.tail;
        let compared = bytes.len().saturating_sub(usize::try_from(COMPARED).unwrap_or(usize::MAX));
        Self {
            bytes: offset + bytes.len() as u64,
            tail: Digest::of(bytes.get(compared..).unwrap_or_default()),
            heads: seen.end.heads.clone(),
        }
    }

    /// The one that is kept, with the journal that it is kept in.
    fn read(ports: &Ports) -> Option<(Self, Journal)> {
        let journal = match Journal::read(ports) {
            Ok(journal) => journal?,
            Err(fault) => {
                ports
                    .warn(&format!("`{KEPT}` in the state folder cannot be read, so a truncated ledger is not noticed: {fault}"));
                return None;
            }
        };
        let Some(checkpoint) = journal.checkpoint() else {
            ports.warn(&format!("`{KEPT}` in the state folder cannot be parsed and counts as missing"));
            return None;
        };
        Some((checkpoint, journal))
    }

    /// The one that is kept.
    pub fn kept(ports: &Ports) -> Option<Self> {
        Self::read(ports).map(|(checkpoint, _)| checkpoint)
    }

    /// The ledger is looked at before its parts, so that one that is put aside at this moment is found.
    fn standing(&self, ports: &Ports) -> CheckpointState {
        match self.stands_in(PATH, ports) {
            Ok(true) => return CheckpointState::Current,
            Ok(false) | Err(FileFault::Missing) => {}
            Err(_) => return CheckpointState::Unreadable,
        }
        let parts = archive::names(ports);
        let has = |name: &String| self.stands_in(&format!("{ARCHIVE}/{name}"), ports) == Ok(true);
        if parts.iter().rev().take(MAX_PARTS).any(has) {
            return CheckpointState::Archived;
        }
        let facts = ports.workspace.inspect(&[Question::project(PATH)]).pop();
        CheckpointState::Gone(match facts.filter(|facts| facts.kind == FileKind::File).map(|facts| facts.size) {
            None => format!("it is gone, and was {} bytes long", self.bytes),
            Some(size) if size < self.bytes => format!("it is {size} bytes long, and was {}", self.bytes),
            Some(_) => format!("its first {} bytes are not what they were", self.bytes),
        })
    }

    fn stands_in(&self, file: &str, ports: &Ports) -> Result<bool, FileFault> {
        let compared = self.bytes.min(COMPARED);
        if compared == 0 {
            return Ok(true);
        }
        let found = ports.workspace.read_range(Root::Project, file, self.bytes - compared, compared)?;
        Ok(found.len() as u64 == compared && Digest::of(&found) == self.tail)
    }

    /// Adds it to what is kept.
    fn keep(&self, ports: &Ports) {
        warn_unkept(state::append_line(KEPT, &json::line(self), ports), ports);
    }

    /// Keeps it instead of what was kept before.
    fn replace_all(&self, expected: Expectation, ports: &Ports) -> Result<(), FileFault> {
        state::replace(KEPT, format!("{}\n", json::line(self)).as_bytes(), expected, ports)
    }

    /// What to say of a ledger that this one is not of.
    fn complaint(&self, what: &str) -> String {
        let ended = self.heads.last().map_or_else(String::new, |head| format!("; it ended in {head}"));
        format!("`{PATH}` is not the ledger that this machine last wrote to: {what}{ended}")
    }
}

/// The end of the ledger, as a writer sees it.
pub(super) struct LedgerEnd {
    /// Its last bytes.
    pub(super) tail: Tail,
    /// The lines that the next one names.
    pub(super) end: End,
    /// The checkpoint that it was read from; none if it was read as a whole.
    since: Option<Since>,
}

/// A checkpoint that the ledger contains.
#[derive(Clone, Copy)]
struct Since {
    /// Whether the journal that it is kept in is long.
    is_long: bool,
    /// Its only head.
    head: Digest,
    /// Where in the bytes that were read it ends.
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
        self.continued(appended, ports).map_or_else(|| Self::whole(appended, ports), Ok)
    }

    fn whole(appended: u64, ports: &Ports) -> Result<Self, FileFault> {
        let tail = writing::end_of_file(appended + chain::READ, ports)?;
        Ok(Self { end: End::of(&tail), tail, since: None })
    }

    fn since_checkpoint(ports: &Ports) -> Option<Self> {
        let journal = Journal::read(ports).ok()??;
        let kept = journal.checkpoint()?;
        let [head] = kept.heads.as_slice() else { return None };
        let compared = kept.bytes.min(COMPARED);
        let known = usize::try_from(compared).ok()?;
        let tail = read_to_end(kept.bytes - compared, compared + MAX_APPENDED, ports)?;
        let is_kept = tail.bytes.get(..known).is_some_and(|bytes| Digest::of(bytes) == kept.tail);
        let end = End::continued(&tail, known, *head).filter(|_| is_kept)?;
        Some(Self { tail, end, since: Some(Since { is_long: journal.is_long(), head: *head, known }) })
    }

    fn continued(&self, appended: u64, ports: &Ports) -> Option<Self> {
        let since = self.since?;
        let limit = self.tail.bytes.len() as u64 + appended + MAX_APPENDED;
        let tail = read_to_end(self.tail.offset, limit, ports).filter(|tail| tail.bytes.starts_with(&self.tail.bytes))?;
        let end = End::continued(&tail, since.known, since.head)?;
        Some(Self { tail, end, since: Some(since) })
    }
}

/// Reads the ledger from an offset to its end; none if that is longer.
fn read_to_end(offset: u64, limit: u64, ports: &Ports) -> Option<Tail> {
    let bytes = ports.workspace.read_range(Root::Project, PATH, offset, limit).ok()?;
    ((bytes.len() as u64) < limit).then_some(Tail { offset, bytes })
}

/// Keeps how far the ledger goes, where nothing is kept yet.
pub fn begin(ports: &Ports) {
    if let Ok(end) = LedgerEnd::whole(0, ports) {
        warn_unkept(Checkpoint::of(&end).replace_all(Expectation::Absent, ports), ports);
    }
}

/// Looks whether the ledger is still the one that the checkpoint is of. Where it is not, that is entered, the ledger as it
/// stands counts from now on, and what to say is returned.
pub fn check(ports: &Ports) -> Option<String> {
    let Some((kept, journal)) = Checkpoint::read(ports) else {
        begin(ports);
        return None;
    };
    match kept.standing(ports) {
        CheckpointState::Current | CheckpointState::Unreadable => None,
        CheckpointState::Archived => {
            let now = Checkpoint::of(&LedgerEnd::whole(0, ports).ok()?);
            if now.bytes > 0 {
                journal.replace(&now, ports);
            }
            None
        }
        CheckpointState::Gone(what) => accept(&kept, &journal, &what, ports),
    }
}

/// Keeps how far the ledger goes, after lines were entered. Returns what there is to say.
pub(super) fn advance(end: &LedgerEnd, ports: &Ports) -> Option<String> {
    let now = Checkpoint::of(end);
    // A ledger that was archived just now: the lines are in the part.
    if now.bytes == 0 {
        return None;
    }
    // The ledger contains the checkpoint that its end was read from.
    if let Some(since) = &end.since {
        now.keep(ports);
        if since.is_long {
            Journal::shorten(ports);
        }
        return None;
    }
    let Some((kept, journal)) = Checkpoint::read(ports) else {
        now.keep(ports);
        return None;
    };
    match kept.standing(ports) {
        CheckpointState::Gone(what) => return accept(&kept, &journal, &what, ports),
        // Someone who wrote later has kept theirs already.
        CheckpointState::Current if kept.bytes >= now.bytes => {}
        CheckpointState::Current if !journal.is_long() => now.keep(ports),
        _ => journal.replace(&now, ports),
    }
    None
}

/// The workspace is no longer governed. Returns the notice, if it was governed before.
pub fn forget(ports: &Ports) -> Option<String> {
    state::remove(KEPT, ports).ok()?;
    Some("this workspace is no longer governed: `.orchestration/` is gone; calls are neither checked nor recorded".to_owned())
}

/// Enters that the ledger was replaced, unless another process is doing so, and accepts the ledger as it is.
fn accept(gone: &Checkpoint, journal: &Journal, what: &str, ports: &Ports) -> Option<String> {
    if !claim(ports) {
        return None;
    }
    let told = match Journal::read(ports) {
        // Someone else was done with it just before.
        Ok(Some(kept)) if kept.0 != journal.0 => None,
        _ => Some(enter(gone.complaint(what), ports)),
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
            // One that was left behind belongs to a process that was killed.
            if since.is_some_and(|since| now.abs_diff(since) < CLAIM_MS) {
                return false;
            }
            take(Expectation::Digest(Digest::of(&found)))
        }
        taken => taken,
    };
    // Any other fault is our own, and a line too many is better than none.
    !matches!(taken, Err(FileFault::Exists | FileFault::Changed))
}

/// Enters what is to be said of the ledger, and keeps how far it goes as it stands. Returns what to say.
fn enter(complaint: String, ports: &Ports) -> String {
    let said = format!("{complaint}; from now on it is accepted as it is, so have a person look at it");
    ports.warn(&said);
    let class = MutationClass::of(Operation::Modify, PATH, None);
    let entry = Entry {
        scope_validation: ScopeValidation::Fail,
        success: false,
        error: Some(complaint),
        ..Entry::new(SESSION, TOOL, class, ports.clock.now(), ports)
    };
    // Where it cannot be entered, the checkpoint stays, and the next one who looks tries again.
    if let Ok(Some(end)) = writing::enter_unchecked(&[entry], &mut Vec::new(), ports) {
        warn_unkept(Checkpoint::of(&end).replace_all(Expectation::Anything, ports), ports);
    }
    said
}

fn warn_unkept(kept: Result<(), FileFault>, ports: &Ports) {
    match kept {
        Ok(()) | Err(FileFault::Exists | FileFault::Changed) => {}
        Err(fault) => {
            ports.warn(&format!("`{KEPT}` cannot be saved in the state folder, so a truncated ledger may go unnoticed: {fault}"));
        }
    }
}

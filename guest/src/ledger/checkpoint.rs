//! How far the ledger went when this machine last wrote to it, so that one that was cut, emptied or replaced is noticed.
//!
//! The ledger stands in the workspace, where a program can rewrite it as a whole; a chain alone does not show that. So the
//! state keeps its length, the digest of the bytes before that, and its heads. The file only grows, and moves as a whole when
//! it is put aside, so those bytes stay where they are: in the ledger, or in one of its parts. Whoever writes keeps the
//! checkpoint *after* the lines, from what then stands in the file. It may lag behind other writers, and never runs ahead of
//! what was written, so any number of them raise no false alarm.
//!
//! Where the bytes are gone, a line in the ledger says so, once, and the ledger as it stands counts from then on: another
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

/// The last lines of it that are read, to find the last whole one.
const KEPT_TAIL: u64 = 4 << 10;

/// From this length on it is cut down to its last line, when a session begins.
const KEPT_LONG: u64 = 64 << 10;

/// Who is telling that the ledger is another one, at this moment.
const CLAIM: &str = "ledger-told.json";

/// Nobody takes longer to tell, unless they were killed.
const CLAIM_MS: u64 = 10_000;

/// So many of the bytes before the end are compared. The last line is among them, and it names the one before.
const COMPARED: u64 = 1 << 10;

/// So many parts are searched, the newest first.
const MAX_PARTS: usize = 1_000;


/// Who enters that the ledger is another one: no agent's session.
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

/// Where the bytes of a checkpoint are now.
#[derive(Debug, PartialEq, Eq)]
enum CheckpointState {
    /// In the ledger.
    Current,
    /// In a part that was put aside.
    Archived,
    /// Nowhere; what became of the ledger.
    Gone(String),
    /// Nobody knows: the ledger cannot be read, which whoever writes to it is told.
    Unreadable,
}

impl Checkpoint {
    /// The ledger up to its end.
    fn of(seen: &Seen) -> Self {
        let Tail { offset, bytes } = &seen.tail;
        let compared = bytes.len().saturating_sub(usize::try_from(COMPARED).unwrap_or(usize::MAX));
        Self {
            bytes: offset + bytes.len() as u64,
            tail: Digest::of(bytes.get(compared..).unwrap_or_default()),
            heads: seen.end.heads.clone(),
        }
    }

    /// The one that is kept, with the line that it is kept as. Of several lines the last one counts: whoever wrote it looked last.
    fn read(ports: &Ports) -> Option<(Self, Vec<u8>)> {
        let tail = match ports.workspace.read_tail(Root::State, KEPT, KEPT_TAIL) {
            Ok(tail) => tail.bytes,
            Err(FileFault::Missing) => return None,
            Err(fault) => {
                ports.warn(&format!(
                    "`{KEPT}` in the state folder cannot be read, so a ledger that was cut off is not noticed: {fault}"
                ));
                return None;
            }
        };
        // A line that a full disk cut off has none after it that continues it: each begins with a line break of its own.
        let mut lines = tail.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let found = lines.find_map(|line| Some((json::parse(line).ok()?, line.to_vec())));
        if found.is_none() && !tail.is_empty() {
            ports.warn(&format!("`{KEPT}` in the state folder cannot be parsed and counts as missing"));
        }
        found
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

    /// The ledger from a little before the checkpoint to its end, where it is still the one that the checkpoint is of and not much was
    /// entered since; `more` is how much. None where that cannot be told so easily.
    pub(super) fn read_on(&self, more: u64, ports: &Ports) -> Option<Seen> {
        let [head] = self.heads.as_slice() else { return None };
        let compared = self.bytes.min(COMPARED);
        let offset = self.bytes - compared;
        let bytes = ports.workspace.read_range(Root::Project, PATH, offset, compared + more).ok()?;
        let (known, new) = bytes.split_at_checked(usize::try_from(compared).ok()?)?;
        // Where the checkpoint was taken in the middle of a line, it is not known what that line came to.
        if new.len() as u64 == more || known.last() != Some(&b'\n') || Digest::of(known) != self.tail {
            return None;
        }
        let end = End::after(*head, new);
        Some(Seen { tail: Tail { offset, bytes }, end, went_on: true })
    }

    fn keep(&self, ports: &Ports) {
        if let Err(fault) = state::append(KEPT, format!("\n{}\n", json::line(self)).as_bytes(), ports) {
            ports.warn(&format!(
                "`{KEPT}` cannot be kept in the state folder, so a ledger that was cut off may go unnoticed: {fault}"
            ));
        }
    }

    /// What to say of a ledger that this one is not of.
    fn complaint(&self, what: &str) -> String {
        let ended = self.heads.last().map_or_else(String::new, |head| format!("; it ended in {head}"));
        format!("`{PATH}` is not the ledger that this machine last wrote to: {what}{ended}")
    }
}

/// The end of the ledger.
pub(super) struct Seen {
    /// Its last bytes.
    pub(super) tail: Tail,
    /// Which lines a new one is tied to.
    pub(super) end: End,
    /// Whether it was seen to be the ledger that the last checkpoint is of.
    went_on: bool,
}

impl Seen {
    /// Looks at it anew.
    pub(super) fn anew(length: u64, ports: &Ports) -> Result<Self, FileFault> {
        let tail = writing::end_of_file(length, ports)?;
        Ok(Self { end: End::of(&tail), tail, went_on: false })
    }
}

/// Keeps how far the ledger goes, where nothing is kept yet. Cuts down what has grown long.
pub fn begin(ports: &Ports) {
    match Checkpoint::read(ports) {
        None => {
            if let Ok(seen) = Seen::anew(chain::READ, ports) {
                Checkpoint::of(&seen).keep(ports);
            }
        }
        Some((_, line)) => {
            let size = ports.workspace.inspect(&[state::question(KEPT)]).first().map_or(0, |facts| facts.size);
            // Where another writer appends at this moment, its line is lost, and the checkpoint lags behind, as it may.
            if size > KEPT_LONG
                && let Ok(text) = state::read(KEPT, state::MAX_BYTES, ports)
            {
                let line = [b"\n", line.as_slice(), b"\n"].concat();
                let _ = state::replace(KEPT, &line, Expectation::Digest(Digest::of(&text)), ports);
            }
        }
    }
}

/// Looks whether the ledger is still the one that the checkpoint is of. Where it is not, that is entered, the ledger as it
/// stands counts from now on, and what to say is returned.
pub fn check(ports: &Ports) -> Option<String> {
    let Some((kept, text)) = Checkpoint::read(ports) else {
        begin(ports);
        return None;
    };
    match kept.standing(ports) {
        CheckpointState::Current | CheckpointState::Unreadable => None,
        CheckpointState::Archived => {
            let now = Checkpoint::of(&Seen::anew(chain::READ, ports).ok()?);
            if now.bytes > 0 {
                now.keep(ports);
            }
            None
        }
        CheckpointState::Gone(what) => accept(&kept, &text, &what, ports),
    }
}

/// Keeps how far the ledger goes, after lines were entered. Returns what there is to say.
pub(super) fn advance(seen: &Seen, ports: &Ports) -> Option<String> {
    let now = Checkpoint::of(seen);
    // A ledger that was put aside at this very moment: the lines are in the part.
    if now.bytes == 0 {
        return None;
    }
    if !seen.went_on
        && let Some((kept, text)) = Checkpoint::read(ports) {
        match kept.standing(ports) {
            CheckpointState::Gone(what) => return accept(&kept, &text, &what, ports),
            // Somebody who wrote later has kept theirs already.
            CheckpointState::Current if kept.bytes >= now.bytes => return None,
            _ => {}
        }
    }
    now.keep(ports);
    None
}

/// The workspace is not governed any more. Returns what to say if it was.
pub fn forget(ports: &Ports) -> Option<String> {
    state::remove(KEPT, ports).ok()?;
    Some(
        "this workspace was governed and is not any more: `.orchestration/` is gone; calls are neither checked nor entered"
            .to_owned(),
    )
}

/// Enters that the ledger is another one, unless somebody else is at it, and takes the ledger as it stands.
fn accept(gone: &Checkpoint, text: &[u8], what: &str, ports: &Ports) -> Option<String> {
    if !claim(ports) {
        return None;
    }
    let told = match Checkpoint::read(ports) {
        // Somebody else was done with it just before.
        Some((_, kept)) if kept != text => None,
        _ => Some(enter(gone.complaint(what), ports)),
    };
    let _ = state::remove(CLAIM, ports);
    told
}

/// Takes the telling of what became of the ledger, and says whether nobody else has it.
fn claim(ports: &Ports) -> bool {
    let now = ports.clock.now().0;
    let take = |expected| state::replace(CLAIM, now.to_string().as_bytes(), expected, ports);
    let taken = match take(Expectation::Absent) {
        Err(FileFault::Exists) => {
            let found = state::read(CLAIM, state::MAX_BYTES, ports).unwrap_or_default();
            let since = std::str::from_utf8(&found).ok().and_then(|text| text.parse::<u64>().ok());
            // One that was left behind belongs to somebody who was killed at it.
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
    let said = format!("{complaint}; from now on it counts as it stands, so have a person look at it");
    ports.warn(&said);
    let class = MutationClass::of(Operation::Modify, PATH, None);
    let entry = Entry {
        scope_validation: ScopeValidation::Fail,
        success: false,
        error: Some(complaint),
        ..Entry::new(SESSION, TOOL, class, ports.clock.now(), ports)
    };
    // Where it cannot be entered, the checkpoint stays, and the next one who looks tries again.
    if let Ok(Some(seen)) = writing::enter_unchecked(&[entry], &mut Vec::new(), None, ports) {
        Checkpoint::of(&seen).keep(ports);
    }
    said
}

//! The journal of calls in flight: a line for a call that was allowed, for whoever settles it, and for its end.
//!
//! Lines are only appended. To make, rename and remove a file costs a file system ten to a hundred times as much as to append to
//! one, and every call would pay that several times. A file holds the calls of one hour and is removed once all of them are over,
//! some hours later, when nobody appends to it any more.
//!
//! | line | what |
//! | --- | --- |
//! | `o KEY SINCE FILES RECORD` | a call was allowed; the hashes of the files that it holds, or `-` |
//! | `g KEY SINCE` | it holds no files any more |
//! | `c KEY SINCE AT NONCE` | somebody begins to settle it |
//! | `r KEY SINCE` | whoever was settling it could not |
//! | `x KEY SINCE` | it is over |
//!
//! The order of lines decides between two who want the same: whoever appends a line reads the file afterwards, and finds there
//! whoever came first. A process that is killed leaves whole lines, because one line is one write; and where a disk that is full
//! leaves the beginning of one, the next line does not continue it, because every line begins with a line break of its own.

use crate::ports::{FileFault, Ports, Root, Timestamp};
use crate::state;

/// Where the files stand in the state.
const FOLDER: &str = "inflight";

const HOUR_MS: u64 = 3_600_000;

/// Read at first: a minute of an agent at work.
const TAIL_BYTES: u64 = 16 << 10;

/// A longer file is not read whole.
const MAX_BYTES: u64 = 64 << 20;

/// At most this many files are looked at: some weeks of agents that never ended.
const MAX_FILES: u32 = 1_000;

/// The digits of a key.
const KEY_LENGTH: usize = 32;

/// How the name ends of the file with what is too long for a line.
const MORE: &str = ".more";

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    GivenBack,
    Claim,
    Released,
    Over,
}

impl Kind {
    fn letter(self) -> char {
        match self {
            Self::Open => 'o',
            Self::GivenBack => 'g',
            Self::Claim => 'c',
            Self::Released => 'r',
            Self::Over => 'x',
        }
    }

    fn of(letter: u8) -> Option<Self> {
        [Self::Open, Self::GivenBack, Self::Claim, Self::Released, Self::Over]
            .into_iter()
            .find(|kind| kind.letter() == char::from(letter))
    }
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'j> {
    pub(super) kind: Kind,
    pub(super) key: &'j str,
    /// When the call was ruled on, in milliseconds since 1970. It also tells which file it stands in.
    pub(super) since: u64,
    pub(super) rest: &'j str,
}

impl<'j> Line<'j> {
    fn read(line: &'j [u8]) -> Option<Self> {
        let kind = Kind::of(*line.first()?)?;
        let text = std::str::from_utf8(line.get(2..)?).ok()?;
        let (key, rest) = (text.get(..KEY_LENGTH)?, text.get(KEY_LENGTH + 1..)?);
        let (since, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Self { kind, key, since: since.parse().ok()?, rest })
    }

    pub(super) fn is_of(&self, key: &str, since: u64) -> bool {
        self.since == since && self.key == key
    }
}

/// A file of the journal, or its end.
#[derive(Debug, Default)]
pub(super) struct Part {
    text: Vec<u8>,
    is_whole: bool,
}

impl Part {
    /// The last lines of the file that a moment belongs to.
    pub(super) fn end(at: u64, ports: &Ports) -> Result<Self, FileFault> {
        Self::last(at, TAIL_BYTES, ports)
    }

    /// All lines of that file.
    pub(super) fn whole(at: u64, ports: &Ports) -> Result<Self, FileFault> {
        Self::last(at, MAX_BYTES, ports)
    }

    fn last(at: u64, bytes: u64, ports: &Ports) -> Result<Self, FileFault> {
        let tail = match ports.workspace.read_tail(Root::State, &file(at / HOUR_MS), bytes) {
            Err(FileFault::Missing) => return Ok(Self { text: Vec::new(), is_whole: true }),
            read => read?,
        };
        let mut text = tail.bytes;
        if tail.offset > 0 {
            let begin = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1);
            text.drain(..begin);
        }
        Ok(Self { text, is_whole: tail.offset == 0 })
    }

    /// As many of the last lines as it takes to see every call that was allowed since a moment.
    pub(super) fn since(at: u64, since: u64, ports: &Ports) -> Result<Self, FileFault> {
        let mut bytes = TAIL_BYTES;
        loop {
            let part = Self::last(at, bytes, ports)?;
            let reaches_back = || part.lines().any(|line| line.kind == Kind::Open && line.since < since);
            if part.is_whole || bytes >= MAX_BYTES || reaches_back() {
                return Ok(part);
            }
            bytes *= 8;
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The lines, in order. What is no line of ours is passed over.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = Line<'_>> {
        self.text.split(|byte| *byte == b'\n').filter_map(Line::read)
    }

    /// Whether a line of this kind tells of a call.
    pub(super) fn has(&self, kind: Kind, key: &str, since: u64) -> bool {
        self.lines().any(|line| line.kind == kind && line.is_of(key, since))
    }
}

/// Appends a line about a call.
pub(super) fn append(kind: Kind, key: &str, since: u64, rest: &str, ports: &Ports) -> Result<(), FileFault> {
    let blank = if rest.is_empty() { "" } else { " " };
    let line = format!("\n{} {key} {since}{blank}{rest}\n", kind.letter());
    state::append(&file(since / HOUR_MS), line.as_bytes(), ports)
}

/// Keeps what is too long for a line, in a file beside, and says how many bytes that takes.
pub(super) fn append_more(key: &str, since: u64, text: &str, ports: &Ports) -> Result<u64, FileFault> {
    let line = format!("\n{key} {since} {text}\n");
    state::append(&more(since / HOUR_MS), line.as_bytes(), ports)?;
    Ok(line.len() as u64)
}

/// What [`append_more`] kept, given its length. Others may have appended since.
pub(super) fn read_more(key: &str, since: u64, length: u64, ports: &Ports) -> Option<Vec<u8>> {
    let begin = format!("{key} {since} ");
    for bytes in [length + TAIL_BYTES, MAX_BYTES] {
        let tail = ports.workspace.read_tail(Root::State, &more(since / HOUR_MS), bytes).ok()?;
        let found = tail.bytes.split(|byte| *byte == b'\n').rev().find_map(|line| line.strip_prefix(begin.as_bytes()));
        if let Some(found) = found {
            return Some(found.to_vec());
        }
    }
    None
}

/// A moment of every hour that there is a file of, the latest first.
pub(super) fn hours(ports: &Ports) -> Vec<u64> {
    let listing = state::list(FOLDER, MAX_FILES, ports);
    let names = listing.map(|listing| listing.entries).unwrap_or_default();
    let mut hours: Vec<u64> = names.iter().filter_map(|entry| entry.path.parse::<u64>().ok()).collect();
    hours.sort_unstable_by(|one, other| other.cmp(one));
    hours.into_iter().map(|hour| hour.saturating_mul(HOUR_MS)).collect()
}

/// Whether two moments belong to the same file.
pub(super) fn is_same_hour(one: u64, other: u64) -> bool {
    one / HOUR_MS == other / HOUR_MS
}

/// The hour before.
pub(super) fn hour_before(at: u64) -> u64 {
    at.saturating_sub(HOUR_MS)
}

/// Removes the files of hours that are long over, where `is_needed` does not say that one is still needed.
pub(super) fn sweep(now: Timestamp, is_needed: impl Fn(&Part) -> bool, ports: &Ports) {
    // Whoever read the clock before the hour was over may still append to its file: nobody takes an hour for that.
    let is_over = |at: &u64| at / HOUR_MS + 2 <= now.0 / HOUR_MS;
    for at in hours(ports).into_iter().filter(is_over) {
        let is_done = Part::whole(at, ports).is_ok_and(|part| part.is_whole && !is_needed(&part));
        if is_done {
            for path in [file(at / HOUR_MS), more(at / HOUR_MS)] {
                let _ = state::remove(&path, ports);
            }
        }
    }
}

fn file(hour: u64) -> String {
    format!("{FOLDER}/{hour}")
}

fn more(hour: u64) -> String {
    format!("{FOLDER}/{hour}{MORE}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{Memory, STATE};

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn lines_read_back_in_order() {
        let world = Memory::new();
        let ports = world.ports();
        append(Kind::Open, KEY, 7, "- {\"a\":\" b\"}", &ports).unwrap();
        append(Kind::Over, KEY, 7, "", &ports).unwrap();
        let part = Part::end(7, &ports).unwrap();
        let lines: Vec<_> = part.lines().map(|line| (line.kind, line.since, line.rest)).collect();
        assert_eq!(lines, [(Kind::Open, 7, "- {\"a\":\" b\"}"), (Kind::Over, 7, "")]);
        assert!(part.has(Kind::Over, KEY, 7) && !part.has(Kind::Over, KEY, 8) && part.is_whole());
    }

    #[test]
    fn a_torn_line_takes_no_other_with_it() {
        let world = Memory::new();
        let ports = world.ports();
        state::append("inflight/0", b"\no 0123", &ports).unwrap();
        append(Kind::Open, KEY, 7, "- {}", &ports).unwrap();
        assert_eq!(Part::end(7, &ports).unwrap().lines().count(), 1);
    }

    #[test]
    fn an_end_begins_with_a_whole_line_and_reaches_back_far_enough() {
        let world = Memory::new();
        let ports = world.ports();
        for since in 0..2_000 {
            append(Kind::Open, KEY, since, &"x".repeat(100), &ports).unwrap();
        }
        let end = Part::end(0, &ports).unwrap();
        assert!(!end.is_whole() && end.lines().count() < 200);
        assert!(end.lines().all(|line| line.rest.len() == 100));
        let far = Part::since(0, 900, &ports).unwrap();
        assert!(far.lines().next().is_some_and(|line| line.since < 900));
    }

    #[test]
    fn what_is_long_stands_beside() {
        let world = Memory::new();
        let ports = world.ports();
        let length = append_more(KEY, 7, "one", &ports).unwrap();
        for number in 0..100 {
            append_more(KEY, 8 + number, &"x".repeat(1_000), &ports).unwrap();
        }
        assert_eq!(read_more(KEY, 7, length, &ports), Some(b"one".to_vec()));
        assert_eq!(read_more(KEY, 6, length, &ports), None);
    }

    #[test]
    fn only_hours_that_are_over_and_done_are_removed() {
        let world = Memory::new();
        let ports = world.ports();
        for hour in 0..5 {
            append(Kind::Open, KEY, hour * HOUR_MS, "", &ports).unwrap();
        }
        append(Kind::Over, KEY, 0, "", &ports).unwrap();
        append_more(KEY, 0, "x", &ports).unwrap();
        sweep(Timestamp(4 * HOUR_MS), |part| !part.lines().any(|line| line.kind == Kind::Over), &ports);
        assert_eq!(hours(&ports), [4, 3, 2, 1].map(|hour| hour * HOUR_MS));
        assert!(world.content(&format!("{STATE}/inflight/0.more")).is_none());
    }
}

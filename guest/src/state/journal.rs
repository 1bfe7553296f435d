//! Journals: files of the state that processes append lines to, and in which the order of the lines decides.
//!
//! A line is appended in one write, with a line break before it and after it. If a write is cut off, because the disk is full or
//! the process was killed, only that line is lost: the next one begins on a line of its own. Each kind of line is written so that
//! a line that was cut off cannot be parsed, or does no harm.
//!
//! A journal that has grown long is replaced with the lines that still count. If it has changed since it was read, it stays as it
//! is. A line that is appended between that comparison and the replacement is lost. Each journal that is shortened allows for it:
//!
//! | journal | why a lost line does no harm |
//! | --- | --- |
//! | leases | whoever takes a lease looks for its line afterwards, and appends it again; a lease whose release is lost expires |
//! | rulings | only journals that nobody has appended to for a while are shortened |
//! | seen | a session whose look is lost is told to read the file again |

use crate::digest::Digest;
use crate::ports::{Expectation, FileFault, Ports, Root};

/// What a journal contained when it was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Journal {
    bytes: Vec<u8>,
    /// Whether only the end of it was read.
    is_end: bool,
}

impl Journal {
    /// Reads a journal, if it is no longer than the limit.
    pub fn read(path: &str, limit_bytes: u64, ports: &Ports) -> Result<Self, FileFault> {
        super::read(path, limit_bytes, ports).map(|bytes| Self { bytes, is_end: false })
    }

    /// Reads the end of a journal. Its first line may be only the end of a line, unless the journal is shorter.
    pub fn read_end(path: &str, limit_bytes: u64, ports: &Ports) -> Result<Self, FileFault> {
        let tail = ports.workspace.read_tail(Root::State, path, limit_bytes)?;
        Ok(Self { bytes: tail.bytes, is_end: tail.offset > 0 })
    }

    /// Reads a journal, or only its end if it is longer than the limit.
    pub fn read_latest(path: &str, limit_bytes: u64, ports: &Ports) -> Result<Self, FileFault> {
        match Self::read(path, limit_bytes, ports) {
            Err(FileFault::TooLarge) => Self::read_end(path, limit_bytes, ports),
            read => read,
        }
    }

    /// How much of it was read.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Its lines. A line without an end is still being written and is left out; one that was cut off is among them.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        self.bytes.get(..end).unwrap_or_default().split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }

    /// The last lines, in their order, that together are no longer than this.
    pub fn last_lines(&self, limit_bytes: usize) -> impl Iterator<Item = &[u8]> {
        let mut left = limit_bytes;
        let mut fits = |line: &&[u8]| {
            let rest = left.checked_sub(line.len() + 1);
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        let count = self.lines().rev().take_while(|line| fits(line)).count();
        let all = self.lines().count();
        self.lines().skip(all - count)
    }

    /// Replaces the journal with these lines, unless it has changed since it was read. One that is too long to be read as a whole
    /// is replaced in any case: it cannot be compared, and would otherwise stay too long for ever.
    pub fn replace<'l>(&self, path: &str, lines: impl IntoIterator<Item = &'l [u8]>, ports: &Ports) -> Result<(), FileFault> {
        let expected = if self.is_end { Expectation::Anything } else { Expectation::Digest(Digest::of(&self.bytes)) };
        super::replace(path, &text(lines), expected, ports)
    }
}

/// Appends a line to a journal.
pub fn append(path: &str, line: &str, ports: &Ports) -> Result<(), FileFault> {
    append_all(path, [line.as_bytes()], ports)
}

/// Appends lines to a journal, in one write.
pub fn append_all<'l>(path: &str, lines: impl IntoIterator<Item = &'l [u8]>, ports: &Ports) -> Result<(), FileFault> {
    let mut bytes = vec![b'\n'];
    bytes.extend(text(lines));
    ports.records.append(Root::State, path, &bytes)
}

/// Creates a journal with one line, or replaces one.
pub fn replace(path: &str, line: &str, expected: Expectation, ports: &Ports) -> Result<(), FileFault> {
    super::replace(path, &text([line.as_bytes()]), expected, ports)
}

fn text<'l>(lines: impl IntoIterator<Item = &'l [u8]>) -> Vec<u8> {
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{Memory, STATE};

    fn lines(ports: &Ports) -> Vec<String> {
        let journal = Journal::read("journal", 1 << 20, ports).unwrap();
        journal.lines().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    #[test]
    fn the_line_after_one_that_was_cut_off_is_not_lost() {
        let world = Memory::new();
        let ports = world.ports();
        append("journal", "one", &ports).unwrap();
        ports.records.append(Root::State, "journal", b"\ntw").unwrap();
        assert_eq!(lines(&ports), ["one"], "it may still be written");
        append_all("journal", [&b"three"[..], b"four"], &ports).unwrap();
        assert_eq!(lines(&ports), ["one", "tw", "three", "four"]);
    }

    #[test]
    fn a_journal_that_has_changed_is_not_replaced() {
        let world = Memory::new();
        let ports = world.ports();
        append_all("journal", [&b"one"[..], b"two"], &ports).unwrap();
        let journal = Journal::read("journal", 1 << 20, &ports).unwrap();
        append("journal", "three", &ports).unwrap();
        assert_eq!(journal.replace("journal", journal.lines().skip(1), &ports), Err(FileFault::Changed));
        assert_eq!(lines(&ports), ["one", "two", "three"]);
        let journal = Journal::read("journal", 1 << 20, &ports).unwrap();
        assert_eq!(journal.replace("journal", journal.lines().skip(1), &ports), Ok(()));
        assert_eq!(lines(&ports), ["two", "three"]);
    }

    #[test]
    fn a_journal_that_is_too_long_is_read_from_its_end_and_replaced_in_any_case() {
        let world = Memory::new();
        let ports = world.ports();
        append_all("journal", [&b"one"[..], b"two", b"three"], &ports).unwrap();
        let journal = Journal::read_latest("journal", 10, &ports).unwrap();
        assert_eq!(journal.lines().collect::<Vec<_>>(), [&b"two"[..], b"three"]);
        assert_eq!(Journal::read_latest("journal", 99, &ports).unwrap().lines().count(), 3);
        append("journal", "four", &ports).unwrap();
        assert_eq!(journal.replace("journal", journal.lines().skip(1), &ports), Ok(()));
        assert_eq!(lines(&ports), ["three"]);
    }

    #[test]
    fn the_last_lines_are_those_that_fit() {
        let world = Memory::new();
        world.write(&format!("{STATE}/journal"), "one\n\ntwo\nthree\nfo");
        let journal = Journal::read("journal", 1 << 20, &world.ports()).unwrap();
        for (limit, expected) in
            [(0, &[][..]), (5, &[]), (6, &["three"]), (9, &["three"]), (10, &["two", "three"]), (99, &["one", "two", "three"])]
        {
            let found: Vec<_> = journal.last_lines(limit).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            assert_eq!(found, expected, "{limit}");
        }
    }
}

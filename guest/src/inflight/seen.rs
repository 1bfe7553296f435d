//! The digest of each file as a session last saw it, to detect stale writes.
//!
//! A journal per session in `seen/` of the state: one line per look, with the digest, the length of the path and the path, or
//! with `-` instead of the digest for a file that did not exist. The length reveals a line that was cut off. Several calls of one
//! session may append at the same time.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::ports::{FileFault, Ports};
use crate::state;
use crate::state::journal::{self, Journal};

/// A longer journal is rewritten with the last look at each file, if that makes it half as long.
const LONG_BYTES: usize = 32 << 10;

/// What one session saw.
#[derive(Debug, Default)]
pub struct SeenFiles(Journal);

impl SeenFiles {
    /// Reads the journal; a damaged one never blocks its session.
    pub fn of_session(session: &str, ports: &Ports) -> Self {
        let path = path(session);
        match Journal::read(&path, state::MAX_BYTES, ports) {
            Ok(journal) => {
                let seen = Self(journal);
                if seen.0.bytes() > LONG_BYTES {
                    seen.shorten(&path, ports);
                }
                seen
            }
            Err(FileFault::Missing) => Self::default(),
            Err(fault) => {
                ports.warn(&format!("`{path}` cannot be read and counts as empty: {fault}"));
                if fault == FileFault::TooLarge {
                    let _ = state::remove(&path, ports);
                }
                Self::default()
            }
        }
    }

    /// What the session last saw of a file: its digest, or that it did not exist. `None` if it never looked at the file.
    pub fn last(&self, file: &str) -> Option<Option<Digest>> {
        self.0.lines().rev().filter_map(SeenLine::parse).find(|look| look.file == file.as_bytes())?.digest()
    }

    /// The same for many files, in one pass over the journal.
    pub fn by_file(&self) -> ByFile<'_> {
        ByFile(self.0.lines().filter_map(SeenLine::parse).map(|look| (look.file, look)).collect())
    }

    /// Keeps the last look at each file.
    fn shorten(&self, path: &str, ports: &Ports) {
        let last = self.by_file();
        let lines = || last.0.values().map(|look| look.line);
        if lines().map(|line| line.len() + 1).sum::<usize>() <= self.0.bytes() / 2 {
            let _ = self.0.replace(path, lines(), ports);
        }
    }
}

/// What a session last saw, by file.
pub struct ByFile<'j>(BTreeMap<&'j [u8], SeenLine<'j>>);

impl ByFile<'_> {
    /// What the session last saw of a file, like [`SeenFiles::last`].
    pub fn last(&self, file: &str) -> Option<Option<Digest>> {
        self.0.get(file.as_bytes())?.digest()
    }
}

/// A line of a journal.
#[derive(Debug, Clone, Copy)]
struct SeenLine<'j> {
    line: &'j [u8],
    digest: &'j [u8],
    file: &'j [u8],
}

impl<'j> SeenLine<'j> {
    /// Parses a line; `None` if it was cut off.
    fn parse(line: &'j [u8]) -> Option<Self> {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let (digest, bytes, file) = (parts.next()?, parts.next()?, parts.next()?);
        let bytes: usize = std::str::from_utf8(bytes).ok()?.parse().ok()?;
        (file.len() == bytes).then_some(Self { line, digest, file })
    }

    /// The digest of the file, or that it did not exist.
    fn digest(&self) -> Option<Option<Digest>> {
        match self.digest {
            b"-" => Some(None),
            digest => Some(Some(std::str::from_utf8(digest).ok()?.parse().ok()?)),
        }
    }
}

/// Records what a session has seen.
pub fn record(session: &str, seen: &[(String, Option<Digest>)], ports: &Ports) {
    let line = |(file, digest): &(String, Option<Digest>)| {
        let digest = digest.map_or_else(|| "-".to_owned(), |digest| digest.to_string());
        format!("{digest} {} {file}", file.len())
    };
    let lines: Vec<String> = seen.iter().filter(|(file, _)| !file.contains('\n')).map(line).collect();
    if lines.is_empty() {
        return;
    }
    let path = path(session);
    if let Err(fault) = journal::append_all(&path, lines.iter().map(|line| line.as_bytes()), ports) {
        ports.warn(&format!("`{path}` cannot be written, so a stale write may pass: {fault}"));
    }
}

fn path(session: &str) -> String {
    state::path("seen", &[session])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{Memory, STATE};

    #[test]
    fn the_last_look_counts() {
        let world = Memory::new();
        let ports = world.ports();
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        record("s", &[("a b".into(), Some(one)), ("b".into(), None)], &ports);
        record("s", &[("a b".into(), Some(two)), ("x\n- b".into(), Some(one))], &ports);
        let journal = SeenFiles::of_session("s", &ports);
        for (file, seen) in [("a b", Some(Some(two))), ("b", Some(None)), ("c", None), ("", None)] {
            assert_eq!((journal.last(file), journal.by_file().last(file)), (seen, seen), "{file}");
        }
        assert_eq!(SeenFiles::of_session("other", &ports).last("b"), None);
    }

    #[test]
    fn a_long_journal_is_shortened_and_says_the_same() {
        let world = Memory::new();
        let ports = world.ports();
        for number in 0..4_000u32 {
            record("s", &[(format!("file{}", number % 7), Some(Digest::of(&number.to_le_bytes())))], &ports);
        }
        let before = world.content(&format!("{STATE}/{}", path("s"))).unwrap().len();
        let last = SeenFiles::of_session("s", &ports).last("file3");
        assert_eq!(SeenFiles::of_session("s", &ports).last("file3"), last);
        assert!(before > LONG_BYTES && world.content(&format!("{STATE}/{}", path("s"))).unwrap().len() < 1_000);
    }

    /// Wherever a line was cut off: it counts for nothing, not even for a file with a shorter name, and the next line counts.
    #[test]
    fn a_line_that_was_cut_off_counts_for_nothing() {
        let world = Memory::new();
        let ports = world.ports();
        record("s", &[("a.ts".into(), Some(Digest::of(b"1")))], &ports);
        let whole = world.content(&format!("{STATE}/{}", path("s"))).unwrap();
        for end in 1..whole.len() - 1 {
            world.write(&format!("{STATE}/{}", path("s")), &whole[..end]);
            record("s", &[("b".into(), None)], &ports);
            let seen = SeenFiles::of_session("s", &ports);
            for (file, expected) in [("a.ts", None), ("a.t", None), ("a.", None), ("a", None), ("b", Some(None))] {
                assert_eq!((seen.last(file), seen.by_file().last(file)), (expected, expected), "{file} {end}");
            }
        }
    }
}

//! The digest of each file as a session last saw it, to detect stale writes.
//!
//! A journal per session in `seen/` of the state: one line per look, `digest path`, or `- path` for a file that was
//! not there. Several calls of one session may append at the same time.

use std::collections::{BTreeMap, BTreeSet};

use crate::digest::Digest;
use crate::ports::{Expectation, FileFault, Ports};
use crate::state;

/// A longer journal is rewritten with the last look at each file, if that makes it half as long.
const LONG: usize = 32 << 10;

/// What one session saw.
#[derive(Debug, Default)]
pub struct Journal(Vec<u8>);

impl Journal {
    /// Reads it; a damaged journal never blocks its session.
    pub fn of(session: &str, ports: &Ports) -> Self {
        let path = path(session);
        match state::read(&path, state::MAX_BYTES, ports) {
            Ok(bytes) if bytes.len() > LONG => Self(shorten(&path, bytes, ports)),
            Ok(bytes) => Self(bytes),
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

    /// What the session last saw of a file: its digest, or that it did not exist. Nothing where it never looked.
    pub fn last(&self, file: &str) -> Option<Option<Digest>> {
        let line = self.0.rsplit(|byte| *byte == b'\n').find(|line| name_on(line) == Some(file.as_bytes()))?;
        look_on(line)
    }

    /// The same for many files: the journal is gone through once.
    pub fn by_file(&self) -> ByFile<'_> {
        ByFile(self.0.split(|byte| *byte == b'\n').filter_map(|line| Some((name_on(line)?, line))).collect())
    }
}

/// What a session last saw, by file.
pub struct ByFile<'j>(BTreeMap<&'j [u8], &'j [u8]>);

impl ByFile<'_> {
    /// What the session last saw of a file, as [`Journal::last`] has it.
    pub fn last(&self, file: &str) -> Option<Option<Digest>> {
        look_on(self.0.get(file.as_bytes())?)
    }
}

/// What a line says that was seen.
fn look_on(line: &[u8]) -> Option<Option<Digest>> {
    match line.split(|byte| *byte == b' ').next()? {
        b"-" => Some(None),
        digest => Some(Some(std::str::from_utf8(digest).ok()?.parse().ok()?)),
    }
}

/// Notes what a session has seen.
pub fn note(session: &str, seen: &[(String, Option<Digest>)], ports: &Ports) {
    let mut text = String::new();
    for (file, digest) in seen.iter().filter(|(file, _)| !file.contains('\n')) {
        match digest {
            Some(digest) => text.push_str(&format!("{digest} {file}\n")),
            None => text.push_str(&format!("- {file}\n")),
        }
    }
    if text.is_empty() {
        return;
    }
    let path = path(session);
    if let Err(fault) = state::append(&path, text.as_bytes(), ports) {
        ports.warn(&format!("`{path}` cannot be written, so a stale write may pass: {fault}"));
    }
}

fn shorten(path: &str, bytes: Vec<u8>, ports: &Ports) -> Vec<u8> {
    let mut names: BTreeSet<&[u8]> = BTreeSet::new();
    let mut short = Vec::new();
    for line in bytes.rsplit(|byte| *byte == b'\n') {
        let Some(name) = name_on(line) else { continue };
        if names.insert(name) {
            short.extend_from_slice(line);
            short.push(b'\n');
        }
    }
    // Where another call of the session appends at this moment, the long journal simply stays.
    if short.len() <= bytes.len() / 2 {
        let _ = state::replace(path, &short, Expectation::Digest(Digest::of(&bytes)), ports);
    }
    bytes
}

fn name_on(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    line.get(at + 1..)
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
        note("s", &[("a b".into(), Some(one)), ("b".into(), None)], &ports);
        note("s", &[("a b".into(), Some(two)), ("x\n- b".into(), Some(one))], &ports);
        let journal = Journal::of("s", &ports);
        for (file, seen) in [("a b", Some(Some(two))), ("b", Some(None)), ("c", None), ("", None)] {
            assert_eq!((journal.last(file), journal.by_file().last(file)), (seen, seen), "{file}");
        }
        assert_eq!(Journal::of("other", &ports).last("b"), None);
    }

    #[test]
    fn a_long_journal_is_shortened_and_says_the_same() {
        let world = Memory::new();
        let ports = world.ports();
        for number in 0..4_000u32 {
            note("s", &[(format!("file{}", number % 7), Some(Digest::of(&number.to_le_bytes())))], &ports);
        }
        let before = world.content(&format!("{STATE}/{}", path("s"))).unwrap().len();
        let last = Journal::of("s", &ports).last("file3");
        assert_eq!(Journal::of("s", &ports).last("file3"), last);
        assert!(before > LONG && world.content(&format!("{STATE}/{}", path("s"))).unwrap().len() < 1_000);
    }
}

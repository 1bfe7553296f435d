//! Parsed files, kept in a form that loads without parsing.
//!
//! A process that rules on one call needs one intent out of a thousand. What is kept consists of a front that every process
//! needs, an index, and a record for each item, so that a process reads the front, the index and the records that it needs.
//!
//! It is valid for one version of the file that was parsed, identified by everything the host reports about it, and for one version
//! of the code. A file that has just changed may change again within one tick of a coarse clock, so it is kept only if its content is
//! the same some seconds later. A file whose change time the host cannot report is not kept, because a modification time can be set.
//!
//! The file is in the user's state folder like everything else that is kept. If that folder is in the workspace, nothing is kept
//! and nothing that is found is used. Checksums detect damage, and what is damaged counts as missing.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the name of the format |
//! | 8 | the version of the code |
//! | 8, 8, 8, 8 | stamp, identity, change time and size of the file |
//! | 4, 4 | the number of records; the length of the front |
//! | 8 | a checksum of everything above, the index and the front |
//! | 24 each | the index, sorted: the hash of a key; offset, length and checksum of its record |
//! | | the front, then the records |

use std::rc::Rc;

use super::checksum::checksum as hash;
use crate::digest::Digest;
use crate::ports::{Expectation, Facts, FileFault, Ports, Question, Root, Timestamp, Workspace};

const FORMAT: [u8; 8] = *b"tollgat1";

/// The length of the header without its checksum, and with it.
const UNCHECKED: usize = 56;
const HEADER: usize = 64;

/// The length of one record's entry in the index.
const ENTRY: usize = 24;

/// Number of bytes that are read first: the index of a thousand records.
const FIRST_BYTES: u64 = 32 << 10;

/// Maximum size of a file.
const MAX_BYTES: usize = 32 << 20;

/// For this long after a change, a file may change again without another stamp: some file systems count seconds, or pairs of them.
const SETTLED_MS: u64 = 3_000;

/// The version of the code, see `build.rs`.
fn code_version() -> u64 {
    u64::from_str_radix(env!("TOLLGATE_SOURCES"), 16).unwrap_or_default()
}

/// What identifies a version of a file, read by this code; `None` if the host does not report enough about it.
fn version(file: &Facts) -> Option<[u64; 6]> {
    let known = [file.stamp, file.identity, file.changed_ms];
    let numbers = [u64::from_le_bytes(FORMAT), code_version(), file.stamp, file.identity, file.changed_ms, file.size];
    (!known.contains(&0)).then_some(numbers)
}

/// An opened file with what was kept.
pub(crate) struct KeptFile {
    workspace: Rc<dyn Workspace>,
    path: String,
    /// Header, index and front.
    head: Vec<u8>,
    count: usize,
}

/// A record that is not what was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Whether a file that changed may change again without another stamp.
pub(crate) fn may_change_unnoticed(file: &Facts, now: Timestamp) -> bool {
    version(file).is_none() || file.changed_ms.saturating_add(SETTLED_MS) > now.0
}

/// Whether a file of the workspace is still what was parsed. To be asked once it can no longer change unnoticed, because it may
/// have been read before that.
pub(crate) fn is_unchanged(path: &str, file: &Facts, parsed: Digest, ports: &Ports) -> bool {
    let question = Question { digest: true, ..Question::project(path) };
    let now = ports.workspace.inspect(&[question]).pop();
    now.is_some_and(|now| version(&now).is_some() && version(&now) == version(file) && now.digest == Some(parsed))
}

/// Keeps what was parsed from a file, each record under its key. The caller has checked that the file [is
/// unchanged](is_unchanged) and cannot [change unnoticed](may_change_unnoticed).
pub(crate) fn keep(name: &str, file: &Facts, front: &[u8], records: &[(&str, Vec<u8>)], ports: &Ports) -> Result<(), FileFault> {
    let Some(version) = version(file) else { return Ok(()) };
    if super::in_workspace(ports).is_some() {
        return Ok(());
    }
    let mut sorted: Vec<(u64, &Vec<u8>)> = records.iter().map(|(key, record)| (hash(key.as_bytes()), record)).collect();
    sorted.sort_by_key(|(hash, _)| *hash);
    let mut bytes = Vec::new();
    version.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    for length in [records.len(), front.len()] {
        bytes.extend_from_slice(&u32::try_from(length).map_err(|_| FileFault::TooLarge)?.to_le_bytes());
    }
    let mut index = Vec::new();
    let mut offset = HEADER + records.len() * ENTRY + front.len();
    for (hash_of_key, record) in &sorted {
        index.extend_from_slice(&hash_of_key.to_le_bytes());
        for number in [offset, record.len()] {
            index.extend_from_slice(&u32::try_from(number).map_err(|_| FileFault::TooLarge)?.to_le_bytes());
        }
        index.extend_from_slice(&hash(record).to_le_bytes());
        offset += record.len();
    }
    if offset > MAX_BYTES {
        return Err(FileFault::TooLarge);
    }
    let checksum = checksum_of_head(&bytes, &index, front);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&index);
    bytes.extend_from_slice(front);
    sorted.iter().for_each(|(_, record)| bytes.extend_from_slice(record));
    super::replace(&path(name), &bytes, Expectation::Anything, ports)
}

impl KeptFile {
    /// Opens what was kept of this version of a file by this version of the code.
    pub(crate) fn open(name: &str, file: &Facts, ports: &Ports) -> Option<Self> {
        let version = version(file)?;
        if super::in_workspace(ports).is_some() {
            return None;
        }
        let path = path(name);
        let mut head = ports.workspace.read_range(Root::State, &path, 0, FIRST_BYTES).ok()?;
        if version.iter().enumerate().any(|(at, number)| number_at(&head, at * 8) != Some(*number)) {
            return None;
        }
        let (count, front) = lengths_at(&head, UNCHECKED - 8)?;
        let length = HEADER.checked_add(count.checked_mul(ENTRY)?)?.checked_add(front)?;
        if length > MAX_BYTES {
            return None;
        }
        if length > head.len() {
            let more = (length - head.len()) as u64;
            head.extend(ports.workspace.read_range(Root::State, &path, head.len() as u64, more).ok()?);
        }
        head.truncate(length);
        let (index, front) = head.get(HEADER..)?.split_at_checked(count * ENTRY)?;
        let is_intact =
            head.len() == length && number_at(&head, UNCHECKED) == Some(checksum_of_head(head.get(..UNCHECKED)?, index, front));
        is_intact.then(|| Self { workspace: ports.workspace.clone(), path, head, count })
    }

    /// The front, which every process needs.
    pub(crate) fn front(&self) -> &[u8] {
        self.head.get(HEADER + self.count * ENTRY..).unwrap_or_default()
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The positions of the records that may belong to a key: different keys may have the same hash.
    pub(crate) fn positions(&self, key: &str) -> impl Iterator<Item = usize> {
        let wanted = hash(key.as_bytes());
        let hash_at = |at: usize| number_at(&self.head, HEADER + at * ENTRY).unwrap_or(u64::MAX);
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if hash_at(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        (low..self.count).take_while(move |at| hash_at(*at) == wanted)
    }

    /// Reads one record.
    pub(crate) fn record(&self, position: usize) -> Result<Vec<u8>, Damaged> {
        let (offset, length) = self.span(position)?;
        let record = self.workspace.read_range(Root::State, &self.path, offset as u64, length as u64).map_err(|_| Damaged)?;
        self.is_intact(position, &record).then_some(record).ok_or(Damaged)
    }

    /// Reads all records at once.
    pub(crate) fn records(&self) -> Result<Vec<Vec<u8>>, Damaged> {
        let begin = self.head.len();
        let rest = self.workspace.read_range(Root::State, &self.path, begin as u64, MAX_BYTES as u64).map_err(|_| Damaged)?;
        let record = |position: usize| {
            let (offset, length) = self.span(position)?;
            let from = offset.checked_sub(begin).ok_or(Damaged)?;
            let record = rest.get(from..from.saturating_add(length)).ok_or(Damaged)?;
            self.is_intact(position, record).then(|| record.to_vec()).ok_or(Damaged)
        };
        (0..self.count).map(record).collect()
    }

    /// Offset and length of a record.
    fn span(&self, position: usize) -> Result<(usize, usize), Damaged> {
        let span = lengths_at(&self.head, HEADER + position * ENTRY + 8).ok_or(Damaged)?;
        if span.0.max(span.1) > MAX_BYTES { Err(Damaged) } else { Ok(span) }
    }

    fn is_intact(&self, position: usize, record: &[u8]) -> bool {
        self.span(position).is_ok_and(|(_, length)| record.len() == length)
            && number_at(&self.head, HEADER + position * ENTRY + 16) == Some(hash(record))
    }
}

fn path(name: &str) -> String {
    format!("kept/{name}")
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..)?.first_chunk::<8>().copied()?))
}

/// Two numbers of four bytes each.
fn lengths_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let both = number_at(bytes, at)?;
    Some((usize::try_from(both & u64::from(u32::MAX)).ok()?, usize::try_from(both >> 32).ok()?))
}

fn checksum_of_head(header: &[u8], index: &[u8], front: &[u8]) -> u64 {
    [header, index, front].iter().fold(0, |sum: u64, part| sum.rotate_left(17) ^ hash(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record::RecordReader;
    use super::*;
    use crate::ports::FileKind;
    use crate::ports::memory::{Memory, STATE};

    /// A file that changed long ago.
    fn file() -> Facts {
        Facts {
            kind: FileKind::File,
            real_path: None,
            entry_path: None,
            link: None,
            hard_links: 1,
            identity: 5,
            stamp: 7,
            changed_ms: 1,
            size: 8,
            digest: None,
        }
    }

    fn keep_three(world: &Rc<Memory>) -> Ports {
        let ports = world.ports();
        let records = [("one", b"first".to_vec()), ("two", Vec::new()), ("three", vec![0; 100_000])];
        keep("x", &file(), b"front", &records, &ports).unwrap();
        ports
    }

    fn record(kept: &KeptFile, key: &str) -> Option<Vec<u8>> {
        kept.positions(key).next().map(|position| kept.record(position).unwrap())
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let world = Memory::new();
        let ports = keep_three(&world);
        let kept = KeptFile::open("x", &file(), &ports).unwrap();
        assert_eq!((kept.front(), kept.len()), (&b"front"[..], 3));
        assert_eq!(record(&kept, "one"), Some(b"first".to_vec()));
        assert_eq!(record(&kept, "two"), Some(Vec::new()));
        assert_eq!(record(&kept, "three").map(|record| record.len()), Some(100_000));
        assert_eq!(record(&kept, "four"), None);
        let each: Vec<Vec<u8>> = (0..3).map(|position| kept.record(position).unwrap()).collect();
        assert_eq!(kept.records(), Ok(each));
    }

    #[test]
    fn it_is_valid_for_one_version_of_one_file() {
        let world = Memory::new();
        let ports = keep_three(&world);
        assert!(KeptFile::open("y", &file(), &ports).is_none());
        for other in [
            Facts { stamp: 9, ..file() },
            Facts { identity: 9, ..file() },
            Facts { changed_ms: 9, ..file() },
            Facts { size: 9, ..file() },
        ] {
            assert!(KeptFile::open("x", &other, &ports).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_file_that_has_just_changed_may_change_unnoticed() {
        for (changed_ms, now, may_change) in
            [(0, 9_000, true), (9_001, 9_000, true), (9_000, 9_000, true), (6_001, 9_000, true), (6_000, 9_000, false)]
        {
            let file = Facts { changed_ms, ..file() };
            assert_eq!(may_change_unnoticed(&file, Timestamp(now)), may_change, "{changed_ms}");
        }
        assert!(may_change_unnoticed(&Facts { identity: 0, ..file() }, Timestamp(9_000)));
    }

    #[test]
    fn a_file_is_unchanged_if_its_content_is() {
        let world = Memory::new();
        let ports = world.ports();
        world.write("a", "one");
        let facts = || ports.workspace.inspect(&[Question::project("a")]).pop().unwrap();
        let parsed = facts();
        assert!(is_unchanged("a", &parsed, Digest::of(b"one"), &ports));
        assert!(!is_unchanged("a", &parsed, Digest::of(b"two"), &ports), "another content with the same stamp");
        assert!(!is_unchanged("b", &parsed, Digest::of(b"one"), &ports));
        world.write("a", "one");
        assert!(!is_unchanged("a", &parsed, Digest::of(b"one"), &ports), "the same content with another stamp");
    }

    #[test]
    fn another_version_of_the_code_does_not_use_it() {
        let world = Memory::new();
        let ports = keep_three(&world);
        let path = format!("{STATE}/kept/x");
        let mut bytes = world.content(&path).unwrap();
        bytes[8..16].copy_from_slice(&(code_version() ^ 1).to_le_bytes());
        let front = HEADER + 3 * ENTRY;
        let sum = checksum_of_head(&bytes[..UNCHECKED], &bytes[HEADER..front], &bytes[front..front + 5]);
        bytes[UNCHECKED..HEADER].copy_from_slice(&sum.to_le_bytes());
        world.write(&path, &bytes);
        assert!(KeptFile::open("x", &file(), &ports).is_none());
    }

    #[test]
    fn an_index_longer_than_the_first_read() {
        let world = Memory::new();
        let ports = world.ports();
        let keys: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
        let records: Vec<(&str, Vec<u8>)> = keys.iter().map(|key| (key.as_str(), key.clone().into_bytes())).collect();
        keep("x", &file(), b"", &records, &ports).unwrap();
        let kept = KeptFile::open("x", &file(), &ports).unwrap();
        assert!(keys.iter().all(|key| record(&kept, key) == Some(key.clone().into_bytes())));
        assert_eq!(kept.records().unwrap().len(), 5_000);
    }

    /// Every changed byte is detected.
    #[test]
    fn what_is_damaged_counts_as_missing() {
        let world = Memory::new();
        let ports = keep_three(&world);
        let path = format!("{STATE}/kept/x");
        let whole = world.content(&path).unwrap();
        for at in (0..whole.len()).step_by(1 + whole.len() / 500).chain(0..200) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x41;
            world.write(&path, &damaged);
            let Some(kept) = KeptFile::open("x", &file(), &ports) else { continue };
            let is_found = |key: &str| kept.positions(key).next().is_some_and(|position| kept.record(position).is_ok());
            assert!(!["one", "two", "three"].iter().all(|key| is_found(key)), "byte {at}");
            assert_eq!(kept.records(), Err(Damaged), "byte {at}");
        }
        for length in (0..whole.len()).step_by(997) {
            world.write(&path, &whole[..length]);
            if let Some(kept) = KeptFile::open("x", &file(), &ports) {
                assert!((0..kept.len()).any(|position| kept.record(position).is_err()), "{length} bytes");
                assert_eq!(kept.records(), Err(Damaged), "{length} bytes");
            }
        }
    }

    proptest! {
        /// A file that someone else wrote, with the right version and checksum and any numbers in it.
        #[test]
        fn foreign_files_do_no_harm(count in 0_u32..4, front in 0_u32..64, rest in prop::collection::vec(any::<u8>(), 0..256)) {
            let world = Memory::new();
            let ports = world.ports();
            let mut bytes: Vec<u8> = version(&file()).unwrap().iter().flat_map(|number| number.to_le_bytes()).collect();
            bytes.extend([count, front].iter().flat_map(|number| number.to_le_bytes()));
            let index = count as usize * ENTRY;
            let length = (index + front as usize).min(rest.len());
            let sum = checksum_of_head(&bytes, &rest[..index.min(rest.len())], &rest[index.min(length)..length]);
            bytes.extend(sum.to_le_bytes());
            bytes.extend(&rest);
            world.write(&format!("{STATE}/kept/x"), &bytes);
            if let Some(kept) = KeptFile::open("x", &file(), &ports) {
                let _ = kept.records();
                for position in 0..kept.len() + 1 {
                    let _ = kept.record(position);
                }
                let _ = kept.positions("one").count();
                let mut reader = RecordReader(kept.front());
                let _ = (reader.text(), reader.texts(), reader.numbers());
            }
        }
    }
}

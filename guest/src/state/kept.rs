//! What was read from a file and is kept in a form that loads without parsing.
//!
//! A process that rules on one call needs one intent of a thousand. What is kept has a front with what everybody needs, an index,
//! and a record for each thing, so that a process reads the front, the index and the records that it needs, and no more.
//!
//! It counts for one state of the file that it was read from, by the file's stamp and size, and for one version of the code. A file
//! that changed a moment ago may change again without another stamp, because clocks are coarse, so nothing is kept of it yet. It
//! stands in the user's state folder like everything else that is kept, never in a workspace; checksums tell what was damaged, and
//! what is damaged counts as missing.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the name of the format |
//! | 8 | the code |
//! | 8, 8 | stamp and size of the file |
//! | 4, 4 | how many records; the length of the front |
//! | 8 | a checksum of what stands above, the index and the front |
//! | 24 each | the index, sorted: the hash of a key, where its record begins, its length, its checksum |
//! | | the front, then the records |

use std::rc::Rc;

use crate::ports::{Expectation, Facts, FileFault, Ports, Root, Workspace};

const FORMAT: [u8; 8] = *b"tollgat1";

/// The header without its checksum, and with it.
const UNCHECKED: usize = 40;
const HEADER: usize = 48;

/// One record in the index.
const ENTRY: usize = 24;

/// Read at first: the index of a thousand records.
const FIRST_BYTES: u64 = 32 << 10;

/// No more is kept.
const MAX_BYTES: usize = 32 << 20;

/// So long after a change a file may change again without another stamp: the clocks of some file systems only count seconds.
const SETTLED_MS: u64 = 2_000;

/// The code that reads and writes, see `build.rs`.
fn code() -> u64 {
    u64::from_str_radix(env!("TOLLGATE_SOURCES"), 16).unwrap_or_default()
}

/// What was kept, opened.
pub(crate) struct Kept {
    workspace: Rc<dyn Workspace>,
    path: String,
    /// Header, index and front.
    head: Vec<u8>,
    count: usize,
}

/// A record that is not what it was when it was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Keeps what was read of a file, each record under its key.
pub(crate) fn keep(
    name: &str,
    file: &Facts,
    front: &[u8],
    records: &[(&str, Vec<u8>)],
    ports: &Ports,
) -> Result<(), FileFault> {
    let now = ports.clock.now().0;
    if file.stamp == 0 || file.changed_ms == 0 || file.changed_ms.saturating_add(SETTLED_MS) > now {
        return Ok(());
    }
    let mut order: Vec<(u64, &Vec<u8>)> = records.iter().map(|(key, record)| (hash(key.as_bytes()), record)).collect();
    order.sort_by_key(|(hash, _)| *hash);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&FORMAT);
    for number in [code(), file.stamp, file.size] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for length in [records.len(), front.len()] {
        bytes.extend_from_slice(&u32::try_from(length).map_err(|_| FileFault::TooLarge)?.to_le_bytes());
    }
    let mut index = Vec::new();
    let mut begin = HEADER + records.len() * ENTRY + front.len();
    for (hash_of_key, record) in &order {
        index.extend_from_slice(&hash_of_key.to_le_bytes());
        for number in [begin, record.len()] {
            index.extend_from_slice(&u32::try_from(number).map_err(|_| FileFault::TooLarge)?.to_le_bytes());
        }
        index.extend_from_slice(&hash(record).to_le_bytes());
        begin += record.len();
    }
    let checksum = checksum(&bytes, &index, front);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&index);
    bytes.extend_from_slice(front);
    order.iter().for_each(|(_, record)| bytes.extend_from_slice(record));
    if bytes.len() > MAX_BYTES {
        return Err(FileFault::TooLarge);
    }
    super::replace(&path(name), &bytes, Expectation::Anything, ports)
}

impl Kept {
    /// What was kept of a file in this state; none where nothing was, or not by this code.
    pub(crate) fn open(name: &str, file: &Facts, ports: &Ports) -> Option<Self> {
        if file.stamp == 0 {
            return None;
        }
        let path = path(name);
        let mut head = ports.workspace.read_range(Root::State, &path, 0, FIRST_BYTES).ok()?;
        let meant = [u64::from_le_bytes(FORMAT), code(), file.stamp, file.size];
        if meant.iter().enumerate().any(|(at, number)| number_at(&head, at * 8) != Some(*number)) {
            return None;
        }
        let length_at = |at: usize| number_at(&head, at).and_then(|both| u32::try_from(both & u64::from(u32::MAX)).ok());
        let (count, front) = (length_at(32)? as usize, length_at(36)? as usize);
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
        let is_whole = head.len() == length && number_at(&head, UNCHECKED) == Some(checksum(head.get(..UNCHECKED)?, index, front));
        is_whole.then(|| Self { workspace: ports.workspace.clone(), path, count, head })
    }

    /// What everybody needs.
    pub(crate) fn front(&self) -> &[u8] {
        self.head.get(HEADER + self.count * ENTRY..).unwrap_or_default()
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The places of the records that may be a key's: keys may hash alike.
    pub(crate) fn places(&self, key: &str) -> impl Iterator<Item = usize> {
        let wanted = hash(key.as_bytes());
        let hash_at = |at: usize| number_at(&self.head, HEADER + at * ENTRY).unwrap_or(u64::MAX);
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if hash_at(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        (low..self.count).take_while(move |at| hash_at(*at) == wanted)
    }

    /// The record at a place.
    pub(crate) fn record(&self, place: usize) -> Result<Vec<u8>, Damaged> {
        let at = HEADER + place * ENTRY;
        let span = number_at(&self.head, at + 8).ok_or(Damaged)?;
        let (begin, length) = (span & u64::from(u32::MAX), span >> 32);
        let record = self.workspace.read_range(Root::State, &self.path, begin, length).map_err(|_| Damaged)?;
        let is_whole = record.len() as u64 == length && number_at(&self.head, at + 16) == Some(hash(&record));
        is_whole.then_some(record).ok_or(Damaged)
    }
}

fn path(name: &str) -> String {
    format!("kept/{name}")
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn checksum(header: &[u8], index: &[u8], front: &[u8]) -> u64 {
    [header, index, front].iter().fold(0, |sum: u64, part| sum.rotate_left(17) ^ hash(part))
}

/// A checksum. It tells accidents, not attacks: whoever can write here can as well write a checksum.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let mut sum = words.by_ref().fold(bytes.len() as u64 ^ FACTOR, |sum, word| {
        mix(sum, u64::from_le_bytes(<[u8; 8]>::try_from(word).unwrap_or_default()))
    });
    sum = words.remainder().iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
    (sum ^ (sum >> 32)).wrapping_mul(FACTOR)
}

/// Writes the fields of a record, one behind the other.
#[derive(Default)]
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    /// A number.
    pub(crate) fn number(&mut self, number: usize) -> &mut Self {
        self.0.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
        self
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len());
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// A text, or none.
    pub(crate) fn option(&mut self, text: Option<&str>) -> &mut Self {
        self.number(usize::from(text.is_some()));
        text.map_or(&mut *self, |text| self.text(text));
        self
    }

    /// Texts.
    pub(crate) fn texts<'t>(&mut self, texts: impl ExactSizeIterator<Item = &'t str>) -> &mut Self {
        self.number(texts.len());
        texts.for_each(|text| drop(self.text(text)));
        self
    }

    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the fields of a record in the order in which they were written.
pub(crate) struct Reader<'r>(pub(crate) &'r [u8]);

impl Reader<'_> {
    /// A number.
    pub(crate) fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// A text, or none.
    pub(crate) fn option(&mut self) -> Option<Option<String>> {
        match self.number()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    /// Texts.
    pub(crate) fn texts(&mut self) -> Option<Vec<String>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{Memory, STATE};

    /// A file that changed long ago.
    fn file(stamp: u64, size: u64) -> Facts {
        let (changed_ms, kind) = (1, crate::ports::FileKind::File);
        let (real_path, entry_path, link, digest) = (None, None, None, None);
        Facts { kind, real_path, entry_path, link, hard_links: 1, identity: 0, stamp, changed_ms, size, digest }
    }

    fn kept(world: &Rc<Memory>) -> Ports {
        let ports = world.ports();
        let records = [("one", b"first".to_vec()), ("two", Vec::new()), ("three", vec![0; 100_000])];
        keep("x", &file(7, 8), b"front", &records, &ports).unwrap();
        ports
    }

    fn record(kept: &Kept, key: &str) -> Option<Vec<u8>> {
        kept.places(key).next().map(|place| kept.record(place).unwrap())
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let world = Memory::new();
        let ports = kept(&world);
        let kept = Kept::open("x", &file(7, 8), &ports).unwrap();
        assert_eq!((kept.front(), kept.len()), (&b"front"[..], 3));
        assert_eq!(record(&kept, "one"), Some(b"first".to_vec()));
        assert_eq!(record(&kept, "two"), Some(Vec::new()));
        assert_eq!(record(&kept, "three").map(|record| record.len()), Some(100_000));
        assert_eq!(record(&kept, "four"), None);
    }

    #[test]
    fn it_counts_for_one_state_of_one_file() {
        let world = Memory::new();
        let ports = kept(&world);
        for (name, stamp, size) in [("y", 7, 8), ("x", 7, 9), ("x", 8, 8)] {
            assert!(Kept::open(name, &file(stamp, size), &ports).is_none(), "{name} {stamp} {size}");
        }
        let now = Facts { changed_ms: ports.clock.now().0, ..file(9, 9) };
        keep("z", &now, b"", &[], &ports).unwrap();
        assert!(Kept::open("z", &now, &ports).is_none(), "it may change again in this very moment");
    }

    #[test]
    fn an_index_longer_than_one_read() {
        let world = Memory::new();
        let ports = world.ports();
        let keys: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
        let records: Vec<(&str, Vec<u8>)> = keys.iter().map(|key| (key.as_str(), key.clone().into_bytes())).collect();
        keep("x", &file(7, 8), b"", &records, &ports).unwrap();
        let kept = Kept::open("x", &file(7, 8), &ports).unwrap();
        assert!(keys.iter().all(|key| record(&kept, key) == Some(key.clone().into_bytes())));
    }

    /// Every byte that is not what it was is noticed, and nothing panics.
    #[test]
    fn what_is_damaged_counts_as_missing() {
        let world = Memory::new();
        let ports = kept(&world);
        let path = format!("{STATE}/kept/x");
        let whole = world.content(&path).unwrap();
        for at in (0..whole.len()).step_by(1 + whole.len() / 500).chain(0..200) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x41;
            world.write(&path, &damaged);
            let Some(kept) = Kept::open("x", &file(7, 8), &ports) else { continue };
            let is_found = |key: &str| kept.places(key).next().is_some_and(|place| kept.record(place).is_ok());
            assert!(!["one", "two", "three"].iter().all(|key| is_found(key)), "byte {at}");
        }
        for length in (0..whole.len()).step_by(997) {
            world.write(&path, &whole[..length]);
            if let Some(kept) = Kept::open("x", &file(7, 8), &ports) {
                assert!((0..kept.len()).any(|place| kept.record(place).is_err()), "{length} bytes");
            }
        }
    }

    #[test]
    fn fields_read_back() {
        let mut fields = Fields::default();
        fields.text("a").option(None).option(Some("")).number(7).texts(["x", "ü"].into_iter());
        let bytes = fields.into_bytes();
        let mut reader = Reader(&bytes);
        assert_eq!(reader.text().as_deref(), Some("a"));
        assert_eq!((reader.option(), reader.option(), reader.number()), (Some(None), Some(Some(String::new())), Some(7)));
        assert_eq!(reader.texts(), Some(vec!["x".to_owned(), "ü".to_owned()]));
        assert_eq!(reader.number(), None);
    }
}

//! Snapshots that are kept: what the workspace looked like when it was last looked at, and before each program that is under way.
//!
//! Most of a workspace stays as it is from one look to the next. So a file in the state holds everything that was seen once, and
//! behind it what was seen to be different since, look after look. A snapshot is that file up to some length, so to keep another
//! one costs what has changed and no more. Where the changes outgrow the beginning, a new file begins.
//!
//! Several processes may append what they saw. What one saw counts for all: a file that somebody saw changed before a program began
//! was not changed by it.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::snapshot::{Snapshot, SnapshotFile};
use crate::digest::Digest;
use crate::ports::{Expectation, FileFault, Ports, Root};
use crate::state;

/// Which file holds the latest.
const LATEST: &str = "snapshot";

/// Where the files stand in the state.
const FOLDER: &str = "snapshots";

/// A longer file is not read.
const MAX_BYTES: u64 = 96 << 20;

/// At most this many files are looked at when old ones are removed.
const MAX_FILES: u32 = 1_000;

/// The length and the checksum before each list of files.
const BATCH_HEAD: usize = 12;

/// A snapshot that is kept: a file, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Which file.
    pub generation: u64,
    /// How many bytes of it.
    pub bytes: u64,
}

/// The snapshots of a workspace, the latest of them in memory.
#[derive(Debug, Default)]
pub struct Snapshots {
    latest: Option<(Place, Rc<Snapshot>)>,
}

impl Snapshots {
    /// The latest one; empty where there is none.
    pub fn latest(&mut self, ports: &Ports) -> Rc<Snapshot> {
        self.refresh(ports);
        self.latest.as_ref().map(|(_, files)| files.clone()).unwrap_or_default()
    }

    /// One that was kept.
    pub fn at(&mut self, place: Place, ports: &Ports) -> Option<Rc<Snapshot>> {
        match &self.latest {
            Some((known, files)) if *known == place => Some(files.clone()),
            _ => {
                let bytes = ports.workspace.read_range(Root::State, &file(place.generation), 0, place.bytes).ok()?;
                let mut files = Snapshot::default();
                let is_whole = bytes.len() as u64 == place.bytes && apply(&mut files, &bytes);
                is_whole.then(|| Rc::new(files))
            }
        }
    }

    /// Keeps what a look found, as the latest one, and says where. What [`latest`](Self::latest) returned is what it is compared with.
    pub fn keep(&mut self, files: &Rc<Snapshot>, ports: &Ports) -> Result<Place, FileFault> {
        if let Some((place, before)) = self.latest.take() {
            let changes = before.changes_to(files);
            if changes.is_empty() {
                self.latest = Some((place, files.clone()));
                return Ok(place);
            }
            let batch = batch(&changes);
            let is_small = changes.len() < files.files().len() / 2 + 64 && batch.len() as u64 + place.bytes < MAX_BYTES / 2;
            if is_small && let Ok(kept) = self.append(place, &batch, files, ports) {
                return Ok(kept);
            }
        }
        let place = begin(files, ports)?;
        self.latest = Some((place, files.clone()));
        Ok(place)
    }

    fn append(&mut self, place: Place, batch: &[u8], files: &Rc<Snapshot>, ports: &Ports) -> Result<Place, FileFault> {
        let path = file(place.generation);
        state::append(&path, batch, ports)?;
        let size = ports.workspace.inspect(&[state::question(path)]).first().map_or(0, |facts| facts.size);
        let kept = Place { bytes: size, ..place };
        // Where others appended too, what they saw is read before the next look.
        if size == place.bytes + batch.len() as u64 {
            self.latest = Some((kept, files.clone()));
        }
        // Somebody removed it: what was appended stands alone.
        if size < place.bytes + batch.len() as u64 { Err(FileFault::Changed) } else { Ok(kept) }
    }

    /// Takes in what others have seen since.
    fn refresh(&mut self, ports: &Ports) {
        let Some(generation) = current(ports) else {
            self.latest = None;
            return;
        };
        let size = ports.workspace.inspect(&[state::question(file(generation))]).first().map_or(0, |facts| facts.size);
        let known = self.latest.take().filter(|(place, _)| place.generation == generation && place.bytes <= size);
        let (from, mut files) = match known {
            Some((place, files)) if place.bytes == size => {
                self.latest = Some((place, files));
                return;
            }
            Some((place, files)) => (place.bytes, files),
            None => (0, Rc::default()),
        };
        if size == 0 || size > MAX_BYTES {
            return;
        }
        let Ok(bytes) = ports.workspace.read_range(Root::State, &file(generation), from, size - from) else { return };
        if bytes.len() as u64 == size - from && apply(Rc::make_mut(&mut files), &bytes) {
            self.latest = Some((Place { generation, bytes: size }, files));
        }
    }
}

/// Removes the files that nobody needs: neither the latest nor one of these.
pub fn sweep(needed: &[u64], ports: &Ports) {
    let latest = current(ports);
    let entries = state::list(FOLDER, MAX_FILES, ports).map(|listing| listing.entries).unwrap_or_default();
    for name in entries.iter().map(|entry| &entry.path) {
        let is_needed = name.parse::<u64>().is_ok_and(|found| Some(found) == latest || needed.contains(&found));
        if !is_needed {
            let _ = state::remove(&format!("{FOLDER}/{name}"), ports);
        }
    }
}

/// Begins a new file with everything that was seen.
fn begin(files: &Snapshot, ports: &Ports) -> Result<Place, FileFault> {
    let all: Vec<(&str, Option<&SnapshotFile>)> = files.files().iter().map(|(path, file)| (path.as_str(), Some(file))).collect();
    let batch = batch(&all);
    let mut generation = ports.clock.now().0;
    // Another process may begin one at the same moment.
    while let Err(fault) = state::replace(&file(generation), &batch, Expectation::Absent, ports) {
        if fault != FileFault::Exists {
            return Err(fault);
        }
        generation += 1;
    }
    state::replace(LATEST, generation.to_string().as_bytes(), Expectation::Anything, ports)?;
    Ok(Place { generation, bytes: batch.len() as u64 })
}

fn current(ports: &Ports) -> Option<u64> {
    let text = state::read(LATEST, state::MAX_BYTES, ports).ok()?;
    std::str::from_utf8(&text).ok()?.parse().ok()
}

fn file(generation: u64) -> String {
    format!("{FOLDER}/{generation}")
}

/// A list of files as it is appended: a file, or that it is gone.
fn batch(changes: &[(&str, Option<&SnapshotFile>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (path, file) in changes {
        let kind = match file {
            None => 0_u8,
            Some(SnapshotFile { digest: None, .. }) => 1,
            Some(SnapshotFile { digest: Some(_), .. }) => 2,
        };
        body.push(kind);
        body.extend_from_slice(&u32::try_from(path.len()).unwrap_or_default().to_le_bytes());
        body.extend_from_slice(path.as_bytes());
        if let Some(SnapshotFile { stamp, size, digest }) = file {
            body.extend_from_slice(&stamp.to_le_bytes());
            body.extend_from_slice(&size.to_le_bytes());
            body.extend(digest.iter().flat_map(Digest::to_bytes));
        }
    }
    let mut batch = Vec::with_capacity(BATCH_HEAD + body.len());
    batch.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    batch.extend_from_slice(&state::kept::hash(&body).to_le_bytes());
    batch.append(&mut body);
    batch
}

/// Takes lists of files into a snapshot, and says whether all of them are whole.
fn apply(files: &mut Snapshot, mut bytes: &[u8]) -> bool {
    while let Some((head, rest)) = bytes.split_at_checked(BATCH_HEAD) {
        let (Some((length, sum)), true) = (head.split_first_chunk::<4>(), !rest.is_empty() || head.starts_with(&[0; 4])) else {
            return false;
        };
        let Some((body, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { return false };
        if sum != state::kept::hash(body).to_le_bytes() {
            return false;
        }
        let Some(changes) = changes_in(body) else { return false };
        files.take(changes);
        bytes = rest;
    }
    bytes.is_empty()
}

/// The files in one list.
fn changes_in(mut body: &[u8]) -> Option<Vec<(String, Option<SnapshotFile>)>> {
    let mut changes = Vec::new();
    while let Some((kind, rest)) = body.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (path, mut rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let path = std::str::from_utf8(path).ok()?.to_owned();
        let mut number = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_le_bytes(*number))
        };
        let file = match kind {
            0 => None,
            _ => {
                let (stamp, size) = (number()?, number()?);
                let digest = if *kind == 2 {
                    let (digest, after) = rest.split_first_chunk::<32>()?;
                    rest = after;
                    Some(Digest::from_bytes(*digest))
                } else {
                    None
                };
                Some(SnapshotFile { stamp, size, digest })
            }
        };
        changes.push((path, file));
        body = rest;
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inflight::snapshot::Ignored;
    use crate::ports::memory::{Memory, STATE};

    fn look(snapshots: &mut Snapshots, ports: &Ports) -> (Place, Rc<Snapshot>) {
        let mut files = Snapshot::look(&snapshots.latest(ports), &Ignored::default(), ports).unwrap();
        files.hash(None, ports);
        let files = Rc::new(files);
        (snapshots.keep(&files, ports).unwrap(), files)
    }

    fn paths(files: &Snapshot) -> Vec<String> {
        files.files().iter().map(|(path, file)| format!("{path}{}", if file.digest.is_some() { "" } else { "?" })).collect()
    }

    #[test]
    fn each_moment_can_be_had_again_by_any_process() {
        let world = Memory::new();
        let ports = world.ports();
        let mut one = Snapshots::default();
        for number in 0..300 {
            world.write(&format!("src/{number:03}"), number.to_string());
        }
        let (first, files) = look(&mut one, &ports);
        assert_eq!(files.files().len(), 300);
        assert_eq!(look(&mut one, &ports).0, first, "what is the same is not kept again");
        world.write("src/000", "other");
        world.delete("src/001");
        world.write("new", "new");
        let (second, changed) = look(&mut one, &ports);
        assert_eq!((second.generation, second.bytes > first.bytes), (first.generation, true));
        let mut other = Snapshots::default();
        assert_eq!(other.at(first, &ports), Some(files));
        assert_eq!(other.at(second, &ports), Some(changed.clone()));
        assert_eq!(other.latest(&ports), changed);
        assert_eq!(paths(&changed)[..3], ["new", "src/000", "src/002"]);
    }

    #[test]
    fn what_another_process_saw_counts() {
        let world = Memory::new();
        let ports = world.ports();
        (0..300).for_each(|number| world.write(&format!("{number}"), "x"));
        let (mut one, mut two) = (Snapshots::default(), Snapshots::default());
        look(&mut one, &ports);
        two.latest(&ports);
        world.write("a", "a");
        let (place, _) = look(&mut one, &ports);
        world.write("b", "b");
        let (later, files) = look(&mut two, &ports);
        assert!(later.bytes > place.bytes && files.at("a").is_some() && files.at("b").is_some());
        assert_eq!(one.latest(&ports), files);
    }

    #[test]
    fn many_changes_begin_a_new_file_and_old_ones_go() {
        let world = Memory::new();
        let ports = world.ports();
        (0..300).for_each(|number| world.write(&format!("{number}"), "x"));
        let mut snapshots = Snapshots::default();
        let (first, _) = look(&mut snapshots, &ports);
        (0..300).for_each(|number| world.write(&format!("{number}"), "y"));
        let (second, files) = look(&mut snapshots, &ports);
        assert_ne!(first.generation, second.generation);
        sweep(&[first.generation], &ports);
        assert!(Snapshots::default().at(first, &ports).is_some());
        sweep(&[], &ports);
        assert!(Snapshots::default().at(first, &ports).is_none());
        assert_eq!(Snapshots::default().latest(&ports), files);
    }

    #[test]
    fn what_is_damaged_counts_as_missing() {
        let world = Memory::new();
        let ports = world.ports();
        (0..100).for_each(|number| world.write(&format!("{number}"), "x"));
        let (place, _) = look(&mut Snapshots::default(), &ports);
        let path = format!("{STATE}/{}", file(place.generation));
        let whole = world.content(&path).unwrap();
        for at in (0..whole.len()).step_by(61) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            world.write(&path, &damaged);
            assert_eq!(Snapshots::default().at(place, &ports), None, "byte {at}");
            assert_eq!(Snapshots::default().latest(&ports).files().len(), 0, "byte {at}");
        }
    }
}

//! Stores the indexes of the note folders and keeps them up to date.
//!
//! A folder is listed again when its stamp or that of one of its first subfolders has changed, and otherwise every few seconds:
//! the larger the folder, the less often. Only notes whose stamp has changed are read again, and no call reads for long: the
//! remaining notes wait for the next call, and are known by their file names until then.

use super::index::{Index, IndexBuilder, is_note};
use super::markdown::{read, stem, targets};
use super::{MAX_BYTES, NoteText, find_note, text};
use crate::digest::Digest;
use crate::ports::{DirEntry, Expectation, FileFault, FileKind, ListingLimits, Ports, Question, Root};
use crate::state;

/// Minimum time between listings of a folder that has not changed.
const REST_MS: u64 = 2_000;

/// Maximum time that one call spends reading notes.
const SLICE_MS: u64 = 400;

/// The clock is read once per this many notes.
const SLICE_NOTES: usize = 64;

/// Minimum size of an index that is stored. A smaller one is rebuilt by every process, which takes no longer than reading it.
const KEPT_BYTES: usize = 4 << 10;

/// Maximum size of a stored index; a larger file is not one of ours.
const MAX_INDEX: u64 = 96 << 20;

/// Maximum number of entries of a folder that are looked at.
const MAX_ENTRIES: u32 = 250_000;

/// Maximum number of folders whose stamps are checked with every call.
const MAX_FOLDERS: usize = 32;

const MAX_DEPTH: u32 = 64;
/// Folders in which editors of notes keep their own files.
const OF_EDITORS: [&str; 2] = [".obsidian", ".trash"];

/// One folder, as last seen.
#[derive(Default)]
struct Folder {
    path: String,
    index: Index,
    /// When it was last listed.
    listed_ms: u64,
    /// The folder's own stamp and those of its first subfolders.
    stamps: Vec<(String, u64)>,
    /// Whether the stored index has been looked for.
    opened: bool,
}

/// The note folders in use.
#[derive(Default)]
pub(in crate::augment) struct NoteStore(Vec<Folder>);

impl NoteStore {
    /// Brings the index of a folder up to date; returns whether the folder exists.
    pub(in crate::augment) fn open(&mut self, folder: &str, ports: &Ports) -> bool {
        self.folder(folder).is_some_and(|folder| folder.catch_up(ports, false))
    }

    /// Whether a note has this name, without asking the host.
    pub(in crate::augment) fn knows(&mut self, folder: &str, concept: &str) -> bool {
        self.folder(folder).is_some_and(|folder| folder.index.find(concept).is_some())
    }

    /// Reads the note about a concept.
    pub(in crate::augment) fn find_note(&mut self, folder: &str, concept: &str, ports: &Ports) -> Option<NoteText> {
        let folder = self.folder(folder)?;
        let known = find_note(&folder.index, &folder.path, concept, ports).or_else(|_| {
            folder.catch_up(ports, true);
            find_note(&folder.index, &folder.path, concept, ports)
        });
        known.unwrap_or_default()
    }

    /// The notes whose names contain these words, by path, and how many there are in all.
    pub(in crate::augment) fn search(&mut self, folder: &str, words: &str, limit: usize) -> (Vec<String>, usize) {
        let wanted = super::key(words);
        let Some(folder) = self.folder(folder) else { return (Vec::new(), 0) };
        let mut paths: Vec<String> = Vec::new();
        for (key, path) in folder.index.entries() {
            if key.contains(&wanted) {
                paths.push(path.to_owned());
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let total = paths.len();
        paths.truncate(limit);
        (paths, total)
    }

    /// Whether every note has been read.
    pub(in crate::augment) fn is_read(&self) -> bool {
        self.0.iter().all(|folder| !folder.index.waits)
    }

    fn folder(&mut self, path: &str) -> Option<&mut Folder> {
        let place = self.0.iter().position(|folder| folder.path == path).unwrap_or(self.0.len());
        if place == self.0.len() {
            self.0.push(Folder { path: path.to_owned(), ..Folder::default() });
        }
        self.0.get_mut(place)
    }
}

impl Folder {
    /// Brings the index up to date; returns whether the folder exists.
    fn catch_up(&mut self, ports: &Ports, stale: bool) -> bool {
        let now = ports.clock.now().0;
        let mut stamps = self.folder_stamps(ports);
        let Some((_, own)) = stamps.first().cloned() else {
            *self = Self { path: std::mem::take(&mut self.path), ..Self::default() };
            return false;
        };
        if !self.opened {
            self.opened = true;
            self.unpack(ports);
            stamps = self.folder_stamps(ports);
        }
        let rest = self.index.size().max(REST_MS);
        let rested = now.checked_sub(self.listed_ms).is_none_or(|since| since >= rest);
        if stale || rested || stamps != self.stamps {
            self.list(now, own, ports);
        } else if self.index.waits {
            let index = self.index_of(&self.index.notes().collect::<Vec<_>>(), ports);
            self.replace(index, ports);
        }
        true
    }

    /// The current stamps of the folders that were last seen; empty if the first of them is not a folder.
    fn folder_stamps(&self, ports: &Ports) -> Vec<(String, u64)> {
        let mut stamps = vec![(String::new(), 0)];
        stamps.extend_from_slice(self.stamps.get(1..).unwrap_or_default());
        let mut questions = Vec::new();
        for (path, _) in &stamps {
            questions.push(Question::project(self.below(path)));
        }
        for ((_, stamp), facts) in stamps.iter_mut().zip(ports.workspace.inspect(&questions)) {
            // A folder's stamp is never 0.
            *stamp = if facts.kind == FileKind::Directory { facts.stamp } else { 0 };
        }
        if stamps.first().is_some_and(|(_, stamp)| *stamp == 0) { Vec::new() } else { stamps }
    }

    fn below(&self, path: &str) -> String {
        if path.is_empty() { self.path.clone() } else { format!("{}/{path}", self.path) }
    }

    fn list(&mut self, now: u64, own: u64, ports: &Ports) {
        let mut reach = ListingLimits::without_large_folders(MAX_DEPTH, MAX_ENTRIES);
        reach.skip.extend(OF_EDITORS.map(str::to_owned));
        let listing = match ports.workspace.list(Root::Project, &self.path, &reach) {
            Ok(listing) => listing,
            Err(fault) => return ports.warn(&format!("the notes in `{}` cannot be listed: {fault}", self.path)),
        };
        if listing.truncated {
            ports.warn(&format!("`{}` holds more than {MAX_ENTRIES} files; the rest is not indexed", self.path));
        }
        let mut notes = Vec::new();
        for DirEntry { path, stamp, kind, .. } in &listing.entries {
            if *kind == FileKind::File && is_note(path) {
                notes.push((path.as_str(), *stamp));
            }
        }
        let index = self.index_of(&notes, ports);
        self.listed_ms = now;
        self.stamps = vec![(String::new(), own)];
        for entry in listing.entries {
            if entry.kind == FileKind::Directory && !entry.path.starts_with('.') && self.stamps.len() < MAX_FOLDERS {
                self.stamps.push((entry.path, entry.stamp));
            }
        }
        self.replace(index, ports);
    }

    fn replace(&mut self, index: Index, ports: &Ports) {
        let changed = index != self.index;
        self.index = index;
        if self.index.text().len() >= KEPT_BYTES
            && let Err(fault) = self.pack(changed, ports)
        {
            ports.warn(&format!("the index of the notes in `{}` cannot be saved: {fault}", self.path));
        }
    }

    /// Builds the index of these notes: unchanged notes are taken over, the rest is read from the files as far as time allows.
    fn index_of(&self, notes: &[(&str, u64)], ports: &Ports) -> Index {
        let mut builder = IndexBuilder::new(&self.index);
        let (mut read, mut enough) = (0, false);
        let begun = ports.clock.now().0;
        for (path, stamp) in notes {
            if builder.keep(path, *stamp) {
                continue;
            }
            if enough {
                builder.postpone(path, *stamp);
                continue;
            }
            self.add(&mut builder, path, *stamp, ports);
            read += 1;
            enough = read % SLICE_NOTES == 0 && ports.clock.now().0.saturating_sub(begun) > SLICE_MS;
        }
        builder.finish()
    }

    fn add(&self, builder: &mut IndexBuilder<'_>, path: &str, stamp: u64, ports: &Ports) {
        let Some(text) = text(&self.path, path, MAX_BYTES, ports) else { return builder.add(path, stamp, &[], &[]) };
        let note = read(&text);
        let mut names = vec![stem(path)];
        names.extend(&note.names);
        builder.add(path, stamp, &names, &targets(note.body));
    }

    /// The files in which the index and, beside it, the time when the folder was last seen are stored.
    fn places(&self) -> [String; 2] {
        let place = format!("notes/{}", Digest::of(self.path.as_bytes()).short_hex());
        [format!("{place}.index"), format!("{place}.seen")]
    }

    fn pack(&self, changed: bool, ports: &Ports) -> Result<(), FileFault> {
        let [index, seen] = self.places();
        let replace = |path: &str, bytes: &[u8]| state::replace(path, bytes, Expectation::Anything, ports);
        if changed {
            replace(&index, self.index.text())?;
        }
        let mut text = format!("{:x}\n", self.listed_ms);
        for (path, stamp) in &self.stamps {
            text.push_str(&format!("{stamp:x} {path}\n"));
        }
        replace(&seen, text.as_bytes())
    }

    fn unpack(&mut self, ports: &Ports) {
        let [index, seen] = self.places().map(|place| state::read(&place, MAX_INDEX, ports).unwrap_or_default());
        let Some(index) = Index::open(index) else { return };
        let seen = String::from_utf8_lossy(&seen);
        let (listed, stamps) = seen.split_once('\n').unwrap_or_default();
        self.index = index;
        self.listed_ms = hex(listed).unwrap_or_default();
        self.stamps.clear();
        for line in stamps.lines() {
            if let (Some((stamp, path)), true) = (line.split_once(' '), self.stamps.len() < MAX_FOLDERS) {
                self.stamps.push((path.to_owned(), hex(stamp).unwrap_or_default()));
            }
        }
    }
}

fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

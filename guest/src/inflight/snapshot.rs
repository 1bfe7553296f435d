//! Snapshots: every file of the workspace at one moment, to detect what a program changed.
//!
//! A look is a listing: names, sizes and stamps. Digests are asked for only if the stamp is not known from the look before, so
//! the first look takes time and the others do not. What programs make in folders that git ignores is nobody's work and is left
//! out, and so are git's own files, except those that make git run something.

mod format;
mod git;
mod ignored;

use std::fmt;
use std::ops::Range;

use crate::digest::Digest;
use crate::intents::control::Control;
use crate::ledger::{ARCHIVE, PATH as LEDGER, map};
use crate::ports::{DirEntry, Expectation, FileFault, FileKind, Listing, ListingLimits, Ports, Question, Root};
use crate::state;

use git::GIT;
pub use ignored::Ignored;
use ignored::SortedIgnored;

/// Maximum number of files in a workspace that is watched: snapshots before and after a call are in memory at the same time, and
/// a file takes about 600 bytes in all, of the 256 MiB that the gate has.
const MAX_FILES: u32 = 150_000;

/// Maximum size of a file that is hashed; longer files are known by their stamp alone.
const MAX_HASHED: u64 = 4 << 20;

/// Maximum number of bytes, and of files, that are hashed in one look; the rest is known by its stamp as well.
const MAX_HASHED_AT_ONCE: u64 = 256 << 20;
const MAX_FILES_HASHED_AT_ONCE: usize = 20_000;

/// Number of questions in one crossing.
const AT_ONCE: usize = 512;

/// The latest snapshot, for the digests that are known already.
const LATEST: &str = "snapshot";

/// Maximum size of a stored snapshot; a longer one cannot be read back.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Maximum depth to which folders are listed.
const MAX_DEPTH: u32 = 64;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFile {
    /// Changes whenever the content may have.
    pub stamp: u64,
    /// The size in bytes.
    pub size: u64,
    /// The digest of the content, if it was hashed.
    pub digest: Option<Digest>,
}

impl SnapshotFile {
    /// Something that exists but cannot be inspected. The stamps of files are hashes, which are hardly ever equal to this one.
    const UNSEEN: Self = Self { stamp: 1, size: 0, digest: None };
}

/// Every file at one moment, sorted by path.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// The paths, in one piece: a workspace has a hundred thousand.
    paths: String,
    files: Vec<PlacedFile>,
}

/// A file, and where its path is in [`Snapshot::paths`].
#[derive(Clone)]
struct PlacedFile {
    path: Range<usize>,
    file: SnapshotFile,
}

/// Why no snapshot could be taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// Too many files.
    #[error("the workspace has more than {MAX_FILES} files, so what programs change in it is not detected")]
    TooMany,
    /// The workspace cannot be listed.
    #[error("the workspace cannot be listed, so what programs change in it is not detected: {0}")]
    Unlisted(FileFault),
}

impl Snapshot {
    /// Inspects every file. Digests are taken over from `known` for files that have not changed since.
    pub fn take(known: &Self, ignored: &Ignored, ports: &Ports) -> Result<Self, SnapshotFault> {
        let mut reach = ListingLimits::without_large_folders(MAX_DEPTH, MAX_FILES);
        reach.skip.extend(ignored.names().cloned());
        let listing = ports.workspace.list(Root::Project, ".", &reach).map_err(SnapshotFault::Unlisted)?;
        if listing.truncated {
            return Err(SnapshotFault::TooMany);
        }
        // Files that govern the gate and its hosts are watched, even in folders that git ignores.
        let is_control =
            |entry: &&DirEntry| entry.kind == FileKind::Directory && Control::is_root(&entry.path) && entry.path != GIT;
        let has_skipped = ignored.names().next().is_some();
        let controls: Vec<String> =
            listing.entries.iter().filter(is_control).filter(|_| has_skipped).map(|entry| entry.path.clone()).collect();
        let state = state::in_workspace(ports);
        let mut files = Self::default();
        files.add("", listing, ignored, state.as_deref());
        files.add_controls(&controls, state.as_deref(), ports)?;
        files.add_git(ports)?;
        files.sort();
        files.take_digests(known);
        Ok(files)
    }

    /// Every file, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SnapshotFile)> {
        self.files.iter().map(|placed| (self.path(placed), &placed.file))
    }

    /// The file at a path.
    pub fn file_at(&self, path: &str) -> Option<&SnapshotFile> {
        let at = self.search(path).ok()?;
        self.files.get(at).map(|placed| &placed.file)
    }

    fn search(&self, path: &str) -> Result<usize, usize> {
        self.files.binary_search_by(|placed| self.path(placed).cmp(path))
    }

    fn path(&self, placed: &PlacedFile) -> &str {
        self.paths.get(placed.path.clone()).unwrap_or_default()
    }

    fn is_sorted(&self) -> bool {
        self.files.is_sorted_by(|one, other| self.path(one) < self.path(other))
    }

    /// Sorts the files, if they are not sorted. Listings are sorted, so there are at most a few runs, which a stable sort only
    /// merges.
    fn sort(&mut self) {
        if self.is_sorted() {
            return;
        }
        let Self { paths, files } = self;
        let path = |placed: &PlacedFile| paths.get(placed.path.clone()).unwrap_or_default();
        files.sort_by(|one, other| path(one).cmp(path(other)));
        files.dedup_by(|one, other| path(one) == path(other));
    }

    /// Appends a file whose path consists of these parts.
    fn push(&mut self, path: [&str; 2], file: SnapshotFile) {
        let start = self.paths.len();
        path.iter().for_each(|part| self.paths.push_str(part));
        self.files.push(PlacedFile { path: start..self.paths.len(), file });
    }

    /// Appends a file whose path is in `paths` already; `None` if it is not.
    fn push_placed(&mut self, path: Range<usize>, file: SnapshotFile) -> Option<()> {
        self.paths.get(path.clone())?;
        self.files.push(PlacedFile { path, file });
        Some(())
    }

    fn add(&mut self, folder: &str, listing: Listing, ignored: &Ignored, state: Option<&str>) {
        let is_state = |path: &str| state.is_some_and(|state| is_in(path, state));
        let mut ignored = SortedIgnored::new(ignored);
        self.files.reserve(listing.entries.len());
        // A program that makes a folder unreadable would otherwise hide what is in it.
        if let Some(unseen) = listing.unseen.as_deref().map(|path| path.trim_end_matches('/'))
            && !ignored.covers(unseen)
        {
            self.push([folder, unseen], SnapshotFile::UNSEEN);
        }
        for entry in &listing.entries {
            let path = &*entry.path;
            let is_own = folder.is_empty() && (is_ours(path) || is_state(path));
            // A folder that is too deep to be listed stands for what is in it.
            let is_end = || path.bytes().filter(|byte| *byte == b'/').count() + 1 == MAX_DEPTH as usize;
            if (entry.kind != FileKind::Directory || is_end()) && !is_own && !ignored.covers(path) {
                self.push([folder, path], SnapshotFile { stamp: entry.stamp, size: entry.size, digest: None });
            }
        }
    }

    /// Adds folders that govern the gate and its hosts, with what is in subfolders whose names git ignores.
    fn add_controls(&mut self, folders: &[String], state: Option<&str>, ports: &Ports) -> Result<(), SnapshotFault> {
        let reach = ListingLimits::without_large_folders(MAX_DEPTH, MAX_FILES);
        for folder in folders {
            let Ok(mut listing) = ports.workspace.list(Root::Project, folder, &reach) else {
                self.push(["", folder], SnapshotFile::UNSEEN);
                continue;
            };
            if listing.truncated {
                return Err(SnapshotFault::TooMany);
            }
            listing.unseen = listing.unseen.map(|path| format!("{folder}/{path}"));
            listing.entries.iter_mut().for_each(|entry| entry.path = format!("{folder}/{}", entry.path));
            self.add("", listing, &Ignored::default(), state);
        }
        Ok(())
    }

    /// Takes over the digests of files that have not changed since. Both snapshots are sorted.
    fn take_digests(&mut self, known: &Self) {
        let Self { paths, files } = self;
        let mut known = known.iter().peekable();
        for PlacedFile { path, file } in files {
            let path = paths.get(path.clone()).unwrap_or_default();
            // Most files are where they were, so that is checked first.
            let mut found = known.next_if(|(other, _)| *other == path);
            if found.is_none() {
                while known.next_if(|(other, _)| *other < path).is_some() {}
                found = known.next_if(|(other, _)| *other == path);
            }
            if let Some((_, before)) = found
                && (before.stamp, before.size) == (file.stamp, file.size)
            {
                file.digest = before.digest;
            }
        }
    }

    /// Takes one file over from an earlier look: as it was then, or missing.
    pub fn take_over(&mut self, path: &str, earlier: &Self) {
        match (self.search(path), earlier.file_at(path)) {
            (Ok(at), Some(look)) => {
                if let Some(placed) = self.files.get_mut(at) {
                    placed.file = look.clone();
                }
            }
            (Ok(at), None) => drop(self.files.remove(at)),
            (Err(at), Some(look)) => {
                let start = self.paths.len();
                self.paths.push_str(path);
                self.files.insert(at, PlacedFile { path: start..self.paths.len(), file: look.clone() });
            }
            (Err(_), None) => {}
        }
    }

    /// Has the host hash the given files, which must be sorted, or all files without a digest. Returns the files that it asked
    /// about.
    pub fn hash(&mut self, only: Option<&[String]>, ports: &Ports) -> Vec<String> {
        let Self { paths, files } = self;
        let mut left = MAX_HASHED_AT_ONCE;
        let mut wanted: Vec<(&str, &mut SnapshotFile)> = Vec::new();
        for PlacedFile { path, file } in files {
            let path = paths.get(path.clone()).unwrap_or_default();
            let is_asked =
                file.digest.is_none() && only.is_none_or(|only| only.binary_search_by(|other| (**other).cmp(path)).is_ok());
            // Few files have changed, and without a digest they cannot be restored.
            let is_few = wanted.len() < MAX_FILES_HASHED_AT_ONCE || only.is_some();
            if is_asked && is_few && (file.size <= MAX_HASHED || only.is_some()) && file.size <= left {
                left -= file.size;
                wanted.push((path, file));
            }
        }
        let asked = wanted.iter().map(|(path, _)| (*path).to_owned()).collect();
        for files in wanted.chunks_mut(AT_ONCE) {
            let question = |path: &str| Question { root: Root::Project, path: path.to_owned(), digest: true };
            let facts = ports.workspace.inspect(&files.iter().map(|(path, _)| question(path)).collect::<Vec<_>>());
            for ((_, file), facts) in files.iter_mut().zip(facts) {
                // A link is identified by its own path, not by its target.
                if facts.entry_path == facts.real_path {
                    file.digest = facts.digest;
                }
            }
        }
        asked
    }

    /// The files that may differ from an earlier look.
    pub fn possibly_changed(&self, before: &Self) -> Vec<String> {
        let mut suspects: Vec<String> = Vec::new();
        // Both snapshots are sorted.
        let mut before = before.iter().peekable();
        for (path, look) in self.iter() {
            // Most files are where they were, so that is checked first.
            let mut found = before.next_if(|(other, _)| *other == path);
            if found.is_none() {
                while let Some((gone, _)) = before.next_if(|(other, _)| *other < path) {
                    suspects.push(gone.to_owned());
                }
                found = before.next_if(|(other, _)| *other == path);
            }
            match found {
                Some((_, was)) if (was.stamp, was.size) == (look.stamp, look.size) => {}
                _ => suspects.push(path.to_owned()),
            }
        }
        suspects.extend(before.map(|(gone, _)| gone.to_owned()));
        suspects
    }

    /// The latest snapshot; empty if there is none.
    pub fn latest(ports: &Ports) -> Self {
        Self::load(LATEST, ports).unwrap_or_default()
    }

    /// A stored snapshot; `None` if it is gone or damaged.
    pub fn load(at: &str, ports: &Ports) -> Option<Self> {
        state::read(at, MAX_BYTES, ports).ok().and_then(|bytes| Self::from_bytes(&bytes))
    }

    /// Stores the snapshot.
    pub fn keep(&self, at: &str, ports: &Ports) -> Result<(), FileFault> {
        state::replace(at, &self.to_bytes(), Expectation::Anything, ports)
    }

    /// Stores the snapshot as the latest. Without it the next look takes longer, and that is all.
    pub fn keep_latest(&self, ports: &Ports) {
        if let Err(fault) = self.keep(LATEST, ports) {
            ports.warn(&format!("`{LATEST}` cannot be written: {fault}"));
        }
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Snapshot {}

impl fmt::Debug for Snapshot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}

impl<'f> FromIterator<(&'f str, SnapshotFile)> for Snapshot {
    fn from_iter<F: IntoIterator<Item = (&'f str, SnapshotFile)>>(files: F) -> Self {
        let mut snapshot = Self::default();
        files.into_iter().for_each(|(path, file)| snapshot.push(["", path], file));
        snapshot.sort();
        snapshot
    }
}

/// Whether a path is one that the gate itself writes while a program runs.
fn is_ours(path: &str) -> bool {
    [".tollgate/logs", LEDGER, ARCHIVE, map::PATH].iter().any(|ours| is_in(path, ours))
}

fn is_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ports::memory::Memory;

    fn paths(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn what_is_watched() {
        let world = Memory::new();
        for path in [
            "src/a",
            ".claude/settings.json",
            "node_modules/x",
            "dist/x",
            "web/.next/x",
            "out/x",
            ".git/config",
            ".git/HEAD",
            ".git/hooks/pre-commit",
            ".env",
            LEDGER,
        ] {
            world.write(path, path);
        }
        world.write(".gitignore", "# made\ndist/\n.next\n/out\n.env\n.claude/\n.orchestration\n*\n!keep\n");
        let ignored = Ignored::parse(&Ignored::text(&world.ports()));
        let snapshot = Snapshot::take(&Snapshot::default(), &ignored, &world.ports()).unwrap();
        assert_eq!(
            paths(&snapshot),
            [".claude/settings.json", ".env", ".git/config", ".git/hooks/pre-commit", ".gitignore", "src/a"]
        );
    }

    /// Files that git does not ignore after all, and files that govern the gate, are watched in folders with ignored names, too.
    #[test]
    fn exceptions_and_control_folders_are_watched() {
        let world = Memory::new();
        let deep = format!("{}/x", vec!["d"; 70].join("/"));
        for path in ["lib/x", "src/lib/x", "packages/a/x", "packages/core/x", ".claude/hooks/lib/x", "line\nbreak", &deep] {
            world.write(path, path);
        }
        world.write(".gitignore", "lib/\nhooks\n!src/lib/\npackages/*\n!packages/core/\n");
        let ignored = Ignored::parse(&Ignored::text(&world.ports()));
        let snapshot = Snapshot::take(&Snapshot::default(), &ignored, &world.ports()).unwrap();
        let end = vec!["d"; MAX_DEPTH as usize].join("/");
        assert_eq!(paths(&snapshot), [".claude/hooks/lib/x", ".gitignore", &end, "line\nbreak", "packages/core/x", "src/lib/x"]);
    }

    /// A folder that no exception names is not even listed, because there may be very many files in it.
    #[test]
    fn only_folders_that_an_exception_names_are_listed() {
        let rules = "dist/\nlib/\ncore-1/\n!*.keep\n!src/lib/\n!packages/core-*/\n!dist/keep\n";
        assert_eq!(Ignored::parse(rules).names().collect::<Vec<_>>(), ["dist"]);
        assert_eq!(Ignored::parse("dist/\n!*/\n").names().count(), 0);
    }

    /// A program cannot turn detection off by making a folder unreadable, and what it hides in one is seen as a change.
    #[test]
    fn a_folder_that_cannot_be_listed_is_part_of_a_snapshot() {
        for (folder, rules) in [("src/a", ""), (".claude", ""), (".claude", "lib/\n"), (".git/hooks", ""), (".git", "")] {
            let world = Memory::new();
            world.write(&format!("{folder}/hidden"), "x");
            world.write("README.md", "x");
            let look = || Snapshot::take(&Snapshot::default(), &Ignored::parse(rules), &world.ports()).unwrap();
            let before = look();
            world.refuse_listing(folder);
            world.write("README.md", "changed");
            let changed = look().possibly_changed(&before);
            assert!(changed.contains(&"README.md".to_owned()), "{folder}: {changed:?}");
            assert!(changed.contains(&folder.to_owned()), "{folder}: {changed:?}");
        }
    }

    /// Many files with other names in `.git` hide nothing.
    #[test]
    fn what_git_runs_cannot_be_hidden_behind_other_files() {
        let world = Memory::new();
        let path = |number: usize| [format!(".git/a{number}"), format!(".git/hooks/a{number}")];
        (0..1_200).flat_map(path).for_each(|path| world.write(&path, ""));
        let look = || Snapshot::take(&Snapshot::default(), &Ignored::default(), &world.ports()).unwrap();
        let before = look();
        world.write(".git/config", "[core]");
        world.write(".git/hooks/pre-commit", "x");
        assert_eq!(look().possibly_changed(&before), [".git/config", ".git/hooks/pre-commit"]);
    }

    /// A link to other hooks runs them.
    #[test]
    fn what_git_runs_is_watched() {
        let world = Memory::new();
        world.write(".git/HEAD", "ref: refs/heads/main\n");
        let look = || Snapshot::take(&Snapshot::default(), &Ignored::default(), &world.ports()).unwrap();
        let before = look();
        world.symlink("/tmp/elsewhere", ".git/hooks");
        world.write(".git/commondir", "../other\n");
        assert_eq!(look().possibly_changed(&before), [".git/commondir", ".git/hooks"]);
    }

    /// Changes in a large workspace are seen, even if there was no time to hash everything.
    #[test]
    fn large_workspaces_are_watched() {
        let world = Memory::new();
        let count = MAX_FILES_HASHED_AT_ONCE + 2_000;
        for number in 0..count {
            world.write(&format!("src/{number:06}"), "x");
        }
        let mut before = Snapshot::take(&Snapshot::default(), &Ignored::default(), &world.ports()).unwrap();
        assert_eq!(before.hash(None, &world.ports()).len(), MAX_FILES_HASHED_AT_ONCE);
        assert_eq!(Snapshot::from_bytes(&before.to_bytes()), Some(before.clone()));
        let last = format!("src/{:06}", count - 1);
        world.write("src/000000", "changed");
        world.write(&last, "changed");
        let after = Snapshot::take(&before, &Ignored::default(), &world.ports()).unwrap();
        assert_eq!(after.possibly_changed(&before), ["src/000000".to_owned(), last]);
    }

    #[test]
    fn changed_files_are_found() {
        let world = Memory::new();
        let ports = world.ports();
        ["a", "b", "c d"].iter().for_each(|path| world.write(path, path));
        let ignored = Ignored::default();
        let mut before = Snapshot::take(&Snapshot::default(), &ignored, &ports).unwrap();
        assert_eq!(before.hash(None, &ports), ["a", "b", "c d"]);
        before.keep("x", &ports).unwrap();
        assert_eq!(Snapshot::load("x", &ports), Some(before.clone()));
        assert_eq!(Snapshot::load("y", &ports), None);
        world.write("b", "new");
        world.delete("a");
        world.write("e", "e");
        let mut after = Snapshot::take(&before, &ignored, &ports).unwrap();
        assert_eq!(after.possibly_changed(&before), ["a", "b", "e"]);
        assert_eq!(after.file_at("c d").unwrap().digest, before.file_at("c d").unwrap().digest);
        after.hash(Some(&["b".to_owned()]), &ports);
        assert_eq!((after.file_at("b").unwrap().digest, after.file_at("e").unwrap().digest), (Some(Digest::of(b"new")), None));
    }

    #[test]
    fn a_damaged_snapshot_counts_as_missing() {
        let file = |stamp: u64| SnapshotFile { stamp, size: 1, digest: Some(Digest::of(b"x")) };
        let snapshot: Snapshot = [("b", file(1)), ("a", file(2)), ("b", file(3))].into_iter().collect();
        assert_eq!(paths(&snapshot), ["a", "b"]);
        let bytes = snapshot.to_bytes();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            assert_eq!(Snapshot::from_bytes(&damaged), None, "byte {at}");
            assert_eq!(Snapshot::from_bytes(&bytes[..at]), None, "{at} bytes");
        }
        assert_eq!(Snapshot::from_bytes(&bytes), Some(snapshot));
    }

    fn snapshot() -> impl Strategy<Value = Snapshot> {
        prop::collection::btree_map("[ab ]{1,3}", (0_u64..2, 0_u64..2, any::<bool>()), 0..8).prop_map(|files| {
            let file =
                |(stamp, size, hashed): (u64, u64, bool)| SnapshotFile { stamp, size, digest: hashed.then(|| Digest::of(b"x")) };
            files.iter().map(|(path, facts)| (path.as_str(), file(*facts))).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

        #[test]
        fn suspects_are_those_that_differ(before in snapshot(), after in snapshot()) {
            let marks = |snapshot: &Snapshot, path: &str| snapshot.file_at(path).map(|file| (file.stamp, file.size));
            let all: std::collections::BTreeSet<&str> = paths(&before).into_iter().chain(paths(&after)).collect();
            let differ: Vec<&str> = all.into_iter().filter(|path| marks(&before, path) != marks(&after, path)).collect();
            prop_assert_eq!(&after.possibly_changed(&before), &differ);
            prop_assert_eq!(Snapshot::from_bytes(&after.to_bytes()), Some(after.clone()));
            let mut restored = after.clone();
            differ.iter().for_each(|path| restored.take_over(path, &before));
            prop_assert_eq!(restored.possibly_changed(&before), Vec::<String>::new());
            prop_assert_eq!(Snapshot::from_bytes(&restored.to_bytes()), Some(restored));
        }
    }
}

//! Snapshots: every file of the workspace at one moment, to detect what a program changed.
//!
//! A look is a listing: names, sizes and stamps. Digests are asked for only where the stamp is not known from the look
//! before, so the first one takes time and the others do not. What programs make in folders that git ignores is nobody's
//! work and is left out, and so are git's own files, except those that make git run something.

use std::fmt::Write as _;

use crate::digest::Digest;
use crate::glob::Glob;
use crate::intents::control::Control;
use crate::ledger::{ARCHIVE, PATH as LEDGER, map};
use crate::ports::{Expectation, FileFault, FileKind, Listing, ListingLimits, Ports, Question, Root};
use crate::state;

/// A workspace with more files than this is not watched: snapshots before and after a call are in memory at the same time, and a
/// file takes about 600 bytes in all, of the 256 MiB that the gate has.
const MAX_FILES: u32 = 150_000;

/// Files longer than this are known by their stamp alone.
const MAX_HASHED: u64 = 4 << 20;

/// And so are those beyond this many bytes, or this many files, in one look.
const MAX_HASHED_AT_ONCE: u64 = 256 << 20;
const MAX_FILES_HASHED_AT_ONCE: usize = 20_000;

/// Questions in one crossing.
const AT_ONCE: usize = 512;

/// The snapshot before this one, for the digests that are known already.
const LATEST: &str = "snapshot";

const MAX_BYTES: u64 = 64 << 20;

/// Folders that are listed and never entered, whatever git says.
const SKIPPED: &[&str] = &[".git", "node_modules", "target"];

/// What makes git run something.
const GIT_HOOKS: &str = ".git/hooks";
const GIT_CONFIG: &str = ".git/config";

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFile {
    /// Changes whenever the content may have.
    pub stamp: u64,
    /// In bytes.
    pub size: u64,
    /// The content, where it was hashed.
    pub digest: Option<Digest>,
}

/// Every file at one moment, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot(Vec<(String, SnapshotFile)>);

/// Why no snapshot could be taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// Too many files.
    #[error("the workspace has more than {MAX_FILES} files, so what programs change in it is not detected")]
    TooMany,
    /// It cannot be listed.
    #[error("the workspace cannot be listed, so what programs change in it is not detected: {0}")]
    Unlisted(FileFault),
}

impl Snapshot {
    /// Looks at everything. Digests are taken over from `known` where a file has not changed since.
    pub fn look(known: &Self, ignored: &Ignored, ports: &Ports) -> Result<Self, SnapshotFault> {
        let mut skip: Vec<String> = SKIPPED.iter().map(|name| (*name).to_owned()).collect();
        skip.extend(ignored.names.iter().cloned());
        let reach = ListingLimits { depth: 64, limit: MAX_FILES, skip };
        let listing = ports.workspace.list(Root::Project, ".", &reach).map_err(SnapshotFault::Unlisted)?;
        if listing.truncated {
            return Err(SnapshotFault::TooMany);
        }
        let mut files = Self::default();
        files.add("", listing, ignored, state::in_workspace(ports).as_deref());
        let reach = ListingLimits { depth: 1, limit: 200, skip: Vec::new() };
        if let Ok(hooks) = ports.workspace.list(Root::Project, GIT_HOOKS, &reach) {
            files.add(&format!("{GIT_HOOKS}/"), hooks, &Ignored::default(), None);
        }
        if let Some(config) = ports.workspace.inspect(&[Question::project(GIT_CONFIG)]).pop()
            && config.kind == FileKind::File
        {
            files.0.push((GIT_CONFIG.to_owned(), SnapshotFile { stamp: config.stamp, size: config.size, digest: None }));
        }
        files.0.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        // Both are sorted.
        let mut known = known.0.iter().peekable();
        for (path, look) in &mut files.0 {
            while known.next_if(|(other, _)| other < path).is_some() {}
            if let Some((_, before)) = known.next_if(|(other, _)| other == path)
                && (before.stamp, before.size) == (look.stamp, look.size)
            {
                look.digest = before.digest;
            }
        }
        Ok(files)
    }

    /// Every file.
    pub fn files(&self) -> &[(String, SnapshotFile)] {
        &self.0
    }

    /// One file.
    pub fn at(&self, path: &str) -> Option<&SnapshotFile> {
        let at = self.0.binary_search_by(|(other, _)| (**other).cmp(path)).ok()?;
        self.0.get(at).map(|(_, look)| look)
    }

    fn add(&mut self, folder: &str, listing: Listing, ignored: &Ignored, state: Option<&str>) {
        let is_state = |path: &str| state.is_some_and(|state| is_in(path, state));
        for entry in listing.entries {
            let path = format!("{folder}{}", entry.path);
            if entry.kind != FileKind::Directory
                && !is_ours(&path)
                && !is_state(&path)
                && !ignored.covers(&path)
                && !path.contains('\n')
            {
                self.0.push((path, SnapshotFile { stamp: entry.stamp, size: entry.size, digest: None }));
            }
        }
    }

    /// Takes one file over from an earlier look: as it was, or not there.
    pub fn take_over(&mut self, path: &str, earlier: &Self) {
        match (self.0.binary_search_by(|(other, _)| (**other).cmp(path)), earlier.at(path)) {
            (Ok(at), Some(look)) => {
                if let Some(file) = self.0.get_mut(at) {
                    file.1 = look.clone();
                }
            }
            (Ok(at), None) => drop(self.0.remove(at)),
            (Err(at), Some(look)) => self.0.insert(at, (path.to_owned(), look.clone())),
            (Err(_), None) => {}
        }
    }

    /// Has the host hash some files, given sorted, or all that have no digest.
    /// Returns those that it asked about.
    pub fn hash(&mut self, only: Option<&[String]>, ports: &Ports) -> Vec<String> {
        let mut left = MAX_HASHED_AT_ONCE;
        let mut wanted: Vec<&mut (String, SnapshotFile)> = Vec::new();
        for file in &mut self.0 {
            let (path, look) = &*file;
            let asked = look.digest.is_none() && only.is_none_or(|only| only.binary_search(path).is_ok());
            // Of what changed there is little, and without a digest it cannot be put back.
            let is_few = wanted.len() < MAX_FILES_HASHED_AT_ONCE || only.is_some();
            if asked && is_few && (look.size <= MAX_HASHED || only.is_some()) && look.size <= left {
                left -= look.size;
                wanted.push(file);
            }
        }
        let asked = wanted.iter().map(|file| file.0.clone()).collect();
        for files in wanted.chunks_mut(AT_ONCE) {
            let question =
                |file: &&mut (String, SnapshotFile)| Question { root: Root::Project, path: file.0.clone(), digest: true };
            let facts = ports.workspace.inspect(&files.iter().map(question).collect::<Vec<_>>());
            for (file, facts) in files.iter_mut().zip(facts) {
                // A link is known by where it stands, not by what it leads to.
                if facts.entry_path == facts.real_path {
                    file.1.digest = facts.digest;
                }
            }
        }
        asked
    }

    /// The files that may differ from an earlier look.
    pub fn suspects(&self, before: &Self) -> Vec<String> {
        let mut suspects: Vec<String> = Vec::new();
        // Both are sorted.
        let mut before = before.0.iter().peekable();
        for (path, look) in &self.0 {
            while let Some((gone, _)) = before.next_if(|(other, _)| other < path) {
                suspects.push(gone.clone());
            }
            match before.next_if(|(other, _)| other == path) {
                Some((_, was)) if (was.stamp, was.size) == (look.stamp, look.size) => {}
                _ => suspects.push(path.clone()),
            }
        }
        suspects.extend(before.map(|(gone, _)| gone.clone()));
        suspects
    }

    /// Reads one as [`text`](Self::text) writes it.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let look = |line: &str| {
            let mut words = line.splitn(4, ' ');
            let mut number = || words.next().and_then(|word| word.parse().ok());
            let (stamp, size) = (number()?, number()?);
            let digest = words.next().and_then(|word| word.parse().ok());
            Some((words.next()?.to_owned(), SnapshotFile { stamp, size, digest }))
        };
        let mut files: Vec<(String, SnapshotFile)> = text.split('\n').filter_map(look).collect();
        // Only one that is damaged is not sorted.
        if !files.is_sorted_by(|one, other| one.0 < other.0) {
            files.sort_by(|one, other| one.0.cmp(&other.0));
            files.dedup_by(|one, other| one.0 == other.0);
        }
        Self(files)
    }

    /// A line for each file.
    pub(super) fn text(&self) -> String {
        // Two numbers, a digest and what separates them are hardly longer.
        const MAX_BEFORE_PATH: usize = 112;
        let mut text = String::with_capacity(self.0.iter().map(|(path, _)| MAX_BEFORE_PATH + path.len()).sum());
        for (path, SnapshotFile { stamp, size, digest }) in &self.0 {
            // Writing to a text does not fail.
            let _ = match digest {
                Some(digest) => writeln!(text, "{stamp} {size} {digest} {path}"),
                None => writeln!(text, "{stamp} {size} - {path}"),
            };
        }
        text
    }

    /// The latest there is; empty where there is none.
    pub fn latest(ports: &Ports) -> Self {
        Self::kept(LATEST, ports).unwrap_or_default()
    }

    /// One that was kept.
    pub fn kept(at: &str, ports: &Ports) -> Option<Self> {
        state::read(at, MAX_BYTES, ports).map(|bytes| Self::parse(&bytes)).ok()
    }

    /// Keeps it.
    pub fn keep(&self, at: &str, ports: &Ports) -> Result<(), FileFault> {
        state::replace(at, self.text().as_bytes(), Expectation::Anything, ports)
    }

    /// Keeps it as the latest; without it the next look takes longer, and that is all.
    pub fn keep_latest(&self, ports: &Ports) {
        if let Err(fault) = self.keep(LATEST, ports) {
            ports.warn(&format!("`{LATEST}` cannot be written: {fault}"));
        }
    }
}

/// What the gate itself writes while a program runs.
fn is_ours(path: &str) -> bool {
    [".tollgate/logs", LEDGER, ARCHIVE, map::PATH].iter().any(|ours| is_in(path, ours))
}

fn is_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The folders that git ignores, by `.gitignore` at the root. A single file that is ignored, such as `.env`, is watched.
#[derive(Debug, Default)]
pub struct Ignored {
    /// At any depth.
    names: Vec<String>,
    /// From the root.
    folders: Vec<Glob>,
}

impl Ignored {
    /// The rules as they stand, to be kept while a program runs that may change them.
    pub fn text(ports: &Ports) -> String {
        let text = ports.workspace.read(Root::Project, ".gitignore", 256 << 10).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Reads the rules.
    pub fn parse(text: &str) -> Self {
        let mut ignored = Self::default();
        for line in text.lines() {
            let pattern = line.trim();
            let folder = pattern.trim_end_matches('/');
            // What makes exceptions, or means everything, is not followed: better to see too much.
            if folder.is_empty() || pattern.starts_with(['#', '!']) || folder.chars().all(|c| matches!(c, '*' | '/')) {
                continue;
            }
            // What governs the gate and its hosts is watched, also where git ignores it.
            if Control::is_root(folder.trim_start_matches('/')) {
                continue;
            }
            if !folder.contains(['/', '*', '?', '[', '\\']) {
                ignored.names.push(folder.to_owned());
            } else if let Ok(glob) = Glob::compile(&if folder.contains('/') {
                folder.trim_start_matches('/').to_owned()
            } else {
                format!("**/{folder}")
            }) {
                ignored.folders.push(glob);
            }
        }
        ignored
    }

    /// Whether a folder above the path is ignored.
    fn covers(&self, path: &str) -> bool {
        if path.split('/').next().is_some_and(Control::is_root) {
            return false;
        }
        let mut folder = path;
        while let Some((above, _)) = folder.rsplit_once('/') {
            if self.folders.iter().any(|glob| glob.matches(above)) {
                return true;
            }
            folder = above;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ports::memory::Memory;

    fn paths(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.0.iter().map(|(path, _)| path.as_str()).collect()
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
        let snapshot = Snapshot::look(&Snapshot::default(), &ignored, &world.ports()).unwrap();
        assert_eq!(
            paths(&snapshot),
            [".claude/settings.json", ".env", ".git/config", ".git/hooks/pre-commit", ".gitignore", "src/a"]
        );
    }

    /// What a program changes in a large workspace is seen, also where there was no time to hash everything.
    #[test]
    fn large_workspaces_are_watched() {
        let world = Memory::new();
        let count = MAX_FILES_HASHED_AT_ONCE + 2_000;
        for number in 0..count {
            world.write(&format!("src/{number:06}"), "x");
        }
        let mut before = Snapshot::look(&Snapshot::default(), &Ignored::default(), &world.ports()).unwrap();
        assert_eq!(before.hash(None, &world.ports()).len(), MAX_FILES_HASHED_AT_ONCE);
        assert_eq!(Snapshot::parse(before.text().as_bytes()), before);
        let last = format!("src/{:06}", count - 1);
        world.write("src/000000", "changed");
        world.write(&last, "changed");
        let after = Snapshot::look(&before, &Ignored::default(), &world.ports()).unwrap();
        assert_eq!(after.suspects(&before), ["src/000000".to_owned(), last]);
    }

    #[test]
    fn what_changed() {
        let world = Memory::new();
        let ports = world.ports();
        ["a", "b", "c d"].iter().for_each(|path| world.write(path, path));
        let ignored = Ignored::default();
        let mut before = Snapshot::look(&Snapshot::default(), &ignored, &ports).unwrap();
        assert_eq!(before.hash(None, &ports), ["a", "b", "c d"]);
        before.keep("x", &ports).unwrap();
        assert_eq!(Snapshot::kept("x", &ports), Some(before.clone()));
        assert_eq!(Snapshot::kept("y", &ports), None);
        world.write("b", "new");
        world.delete("a");
        world.write("e", "e");
        let mut after = Snapshot::look(&before, &ignored, &ports).unwrap();
        assert_eq!(after.suspects(&before), ["a", "b", "e"]);
        assert_eq!(after.at("c d").unwrap().digest, before.at("c d").unwrap().digest);
        after.hash(Some(&["b".to_owned()]), &ports);
        assert_eq!((after.at("b").unwrap().digest, after.at("e").unwrap().digest), (Some(Digest::of(b"new")), None));
    }

    #[test]
    fn a_damaged_snapshot_is_sorted() {
        let snapshot = Snapshot::parse(b"1 1 - b\n2 2 - a\nx\n3 3 - b\n");
        assert_eq!(paths(&snapshot), ["a", "b"]);
        assert_eq!(snapshot.at("b").unwrap().stamp, 1);
    }

    fn snapshot() -> impl Strategy<Value = Snapshot> {
        prop::collection::btree_map("[ab ]{1,3}", (0_u64..2, 0_u64..2, any::<bool>()), 0..8).prop_map(|files| {
            let file =
                |(stamp, size, hashed): (u64, u64, bool)| SnapshotFile { stamp, size, digest: hashed.then(|| Digest::of(b"x")) };
            Snapshot(files.into_iter().map(|(path, facts)| (path, file(facts))).collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

        #[test]
        fn suspects_are_those_that_differ(before in snapshot(), after in snapshot()) {
            let marks = |snapshot: &Snapshot, path: &str| snapshot.at(path).map(|file| (file.stamp, file.size));
            let all: std::collections::BTreeSet<&str> = paths(&before).into_iter().chain(paths(&after)).collect();
            let differ: Vec<&str> = all.into_iter().filter(|path| marks(&before, path) != marks(&after, path)).collect();
            prop_assert_eq!(after.suspects(&before), differ);
            prop_assert_eq!(Snapshot::parse(after.text().as_bytes()), after);
        }
    }
}

//! Every file of the workspace at one moment, to tell afterwards what a program changed.
//!
//! A look is a listing: names, sizes and stamps. Digests are asked for only where the stamp is not known from the look
//! before, so the first one takes time and the others do not ([`snapshots`](super::snapshots) keeps them). What programs make in folders that git ignores is nobody's
//! work and is left out, and so are git's own files, except those that make git run something.

use crate::digest::Digest;
use crate::glob::Glob;
use crate::intents::control::Control;
use crate::ledger::{ARCHIVE, PATH as LEDGER, map};
use crate::ports::{DirEntry, FileFault, FileKind, Listing, ListingLimits, Ports, Question, Root};
use crate::state;

/// A workspace with more files than this is not watched: they would take too much of the guest's memory.
const MAX_FILES: usize = 400_000;

/// So many are listed at once; where there are more, one folder after the other.
const MAX_AT_ONCE: u32 = 50_000;

/// Folders in folders that are looked into.
const MAX_DEPTH: u32 = 64;

/// Files longer than this are known by their stamp alone.
const MAX_HASHED: u64 = 4 << 20;

/// And so are those beyond this many bytes, and this many files, in one look, until the next.
const MAX_HASHED_AT_ONCE: u64 = 256 << 20;
const MAX_FILES_HASHED_AT_ONCE: usize = 20_000;

/// Questions in one crossing.
const AT_ONCE: usize = 512;

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

/// Why there is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotFault {
    /// Too many files.
    #[error("the workspace has more than {MAX_FILES} files, so what programs change in it is not seen")]
    TooMany,
    /// It cannot be listed.
    #[error("the workspace cannot be listed, so what programs change in it is not seen: {0}")]
    Unlisted(FileFault),
}

impl Snapshot {
    /// Looks at everything. Digests are taken over from `known` where a file has not changed since.
    pub fn look(known: &Self, ignored: &Ignored, ports: &Ports) -> Result<Self, SnapshotFault> {
        let mut skip: Vec<String> = SKIPPED.iter().map(|name| (*name).to_owned()).collect();
        skip.extend(ignored.names.iter().cloned());
        let state = state::in_workspace(ports);
        let mut watched = Watched { ignored, state: state.as_deref(), last: None };
        let mut files = Self::default();
        let limits = ListingLimits { depth: MAX_DEPTH, limit: MAX_AT_ONCE, skip };
        let listing = ports.workspace.list(Root::Project, ".", &limits).map_err(SnapshotFault::Unlisted)?;
        if listing.truncated {
            files.add_in_parts(&limits, &mut watched, ports)?;
        } else {
            files.add("", listing, &mut watched);
        }
        let reach = ListingLimits { depth: 1, limit: 200, skip: Vec::new() };
        if let Ok(hooks) = ports.workspace.list(Root::Project, GIT_HOOKS, &reach) {
            let all = &Ignored::default();
            files.add(&format!("{GIT_HOOKS}/"), hooks, &mut Watched { ignored: all, state: None, last: None });
        }
        if let Some(config) = ports.workspace.inspect(&[Question::project(GIT_CONFIG)]).pop()
            && config.kind == FileKind::File
        {
            files.0.push((GIT_CONFIG.to_owned(), SnapshotFile { stamp: config.stamp, size: config.size, digest: None }));
        }
        files.0.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let mut earlier = known.0.iter().peekable();
        for (path, file) in &mut files.0 {
            while earlier.next_if(|(before, _)| before < path).is_some() {}
            if let Some((_, before)) = earlier.next_if(|(before, _)| before == path)
                && (before.stamp, before.size) == (file.stamp, file.size)
            {
                file.digest = before.digest;
            }
        }
        Ok(files)
    }

    /// Lists the folders of the workspace one after the other, where all of them at once would take too much memory.
    fn add_in_parts(&mut self, limits: &ListingLimits, watched: &mut Watched<'_>, ports: &Ports) -> Result<(), SnapshotFault> {
        let mut ahead = vec![(String::new(), limits.depth)];
        while let Some((folder, depth)) = ahead.pop() {
            let at = if folder.is_empty() { "." } else { folder.trim_end_matches('/') };
            let inside = ListingLimits { depth, ..limits.clone() };
            let list = |limits: &ListingLimits| ports.workspace.list(Root::Project, at, limits);
            let listing = if folder.is_empty() { None } else { list(&inside).ok() };
            match listing {
                Some(listing) if !listing.truncated => self.add(&folder, listing, watched),
                // Too much for one listing, or gone by now: name by name.
                _ => {
                    let names = list(&ListingLimits { depth: 1, ..inside });
                    let listing = match names {
                        Err(FileFault::Missing) if !folder.is_empty() => continue,
                        names => names.map_err(SnapshotFault::Unlisted)?,
                    };
                    if listing.truncated {
                        return Err(SnapshotFault::TooMany);
                    }
                    let is_entered = |entry: &&DirEntry| entry.kind == FileKind::Directory && !limits.skip.contains(&entry.path);
                    if depth > 1 {
                        let folders = listing.entries.iter().filter(is_entered);
                        ahead.extend(folders.map(|entry| (format!("{folder}{}/", entry.path), depth - 1)));
                    }
                    self.add(&folder, listing, watched);
                }
            }
            if self.0.len() > MAX_FILES {
                return Err(SnapshotFault::TooMany);
            }
        }
        Ok(())
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

    fn add(&mut self, folder: &str, listing: Listing, watched: &mut Watched<'_>) {
        for entry in listing.entries {
            let path = if folder.is_empty() { entry.path } else { format!("{folder}{}", entry.path) };
            if entry.kind != FileKind::Directory && watched.has(&path) {
                self.0.push((path, SnapshotFile { stamp: entry.stamp, size: entry.size, digest: None }));
            }
        }
    }

    /// What a later look found different, sorted: files as they are then, or that they are gone.
    pub(super) fn changes_to<'l>(&'l self, later: &'l Self) -> Vec<(&'l str, Option<&'l SnapshotFile>)> {
        let mut changes = Vec::new();
        let mut before = self.0.iter().peekable();
        for (path, file) in &later.0 {
            while let Some((gone, _)) = before.next_if(|(before, _)| before < path) {
                changes.push((gone.as_str(), None));
            }
            match before.next_if(|(before, _)| before == path) {
                Some((_, same)) if same == file => {}
                _ => changes.push((path.as_str(), Some(file))),
            }
        }
        changes.extend(before.map(|(gone, _)| (gone.as_str(), None)));
        changes
    }

    /// Takes in changes: files as they are, or that they are gone.
    pub(super) fn take(&mut self, mut changes: Vec<(String, Option<SnapshotFile>)>) {
        changes.sort_by(|one, other| one.0.cmp(&other.0));
        if self.0.is_empty() {
            self.0 = changes.into_iter().filter_map(|(path, file)| Some((path, file?))).collect();
            return;
        }
        let before = std::mem::take(&mut self.0);
        self.0.reserve(before.len() + changes.len());
        let mut changes = changes.into_iter().peekable();
        for (path, file) in before {
            while let Some((new, file)) = changes.next_if(|(change, _)| *change < path) {
                self.0.extend(file.map(|file| (new, file)));
            }
            match changes.next_if(|(change, _)| *change == path) {
                Some((_, changed)) => self.0.extend(changed.map(|file| (path, file))),
                None => self.0.push((path, file)),
            }
        }
        self.0.extend(changes.filter_map(|(path, file)| Some((path, file?))));
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
    /// Returns those that have one now.
    pub fn hash(&mut self, only: Option<&[String]>, ports: &Ports) -> Vec<String> {
        let mut left = MAX_HASHED_AT_ONCE;
        let mut wanted: Vec<&mut (String, SnapshotFile)> = Vec::new();
        for file in &mut self.0 {
            let (path, look) = &*file;
            let asked = look.digest.is_none() && only.is_none_or(|only| only.binary_search(path).is_ok());
            // Of what changed there is little, and without a digest it cannot be put back.
            let has_room = look.size <= left && wanted.len() < MAX_FILES_HASHED_AT_ONCE;
            if asked && (look.size <= MAX_HASHED || only.is_some()) && has_room {
                left -= look.size;
                wanted.push(file);
            }
        }
        let mut hashed = Vec::new();
        for files in wanted.chunks_mut(AT_ONCE) {
            let question =
                |file: &&mut (String, SnapshotFile)| Question { root: Root::Project, path: file.0.clone(), digest: true };
            let facts = ports.workspace.inspect(&files.iter().map(question).collect::<Vec<_>>());
            for (file, facts) in files.iter_mut().zip(facts) {
                // A link is known by where it stands, not by what it leads to.
                if facts.entry_path == facts.real_path && facts.digest.is_some() {
                    file.1.digest = facts.digest;
                    hashed.push(file.0.clone());
                }
            }
        }
        hashed
    }

    /// The files that may differ from an earlier look.
    pub fn suspects(&self, before: &Self) -> Vec<String> {
        let is_same = |path: &str, file: Option<&SnapshotFile>| {
            let was = before.at(path);
            matches!((was, file), (Some(was), Some(is)) if (was.stamp, was.size) == (is.stamp, is.size))
        };
        let changes = before.changes_to(self);
        changes.into_iter().filter(|(path, file)| !is_same(path, *file)).map(|(path, _)| path.to_owned()).collect()
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
        Self(text.split('\n').filter_map(look).collect())
    }

    /// A line for each file.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (path, look) in &self.0 {
            text.push_str(&format!("{} {} ", look.stamp, look.size));
            match look.digest {
                Some(digest) => text.push_str(&digest.to_string()),
                None => text.push('-'),
            }
            text.push_str(&format!(" {path}\n"));
        }
        text
    }
}

/// What of a workspace is watched.
struct Watched<'w> {
    ignored: &'w Ignored,
    /// The gate's own state, where that lies in the workspace.
    state: Option<&'w str>,
    /// The folder that was last asked about, and whether git ignores it: files of one folder come one after the other.
    last: Option<(String, bool)>,
}

impl Watched<'_> {
    fn has(&mut self, path: &str) -> bool {
        if is_ours(path) || self.state.is_some_and(|state| is_in(path, state)) || path.contains('\n') {
            return false;
        }
        let Some((folder, _)) = path.rsplit_once('/') else { return true };
        match &self.last {
            Some((last, is_ignored)) if last == folder => !is_ignored,
            _ => {
                let is_ignored = self.ignored.covers(path);
                self.last = Some((folder.to_owned(), is_ignored));
                !is_ignored
            }
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

    #[test]
    fn what_changed() {
        let world = Memory::new();
        let ports = world.ports();
        ["a", "b", "c d"].iter().for_each(|path| world.write(path, path));
        let ignored = Ignored::default();
        let mut before = Snapshot::look(&Snapshot::default(), &ignored, &ports).unwrap();
        assert_eq!(before.hash(None, &ports), ["a", "b", "c d"]);
        assert_eq!(Snapshot::parse(before.text().as_bytes()), before);
        world.write("b", "new");
        world.delete("a");
        world.write("e", "e");
        let mut after = Snapshot::look(&before, &ignored, &ports).unwrap();
        assert_eq!(after.suspects(&before), ["a", "b", "e"]);
        assert_eq!(after.at("c d").unwrap().digest, before.at("c d").unwrap().digest);
        after.hash(Some(&["b".to_owned()]), &ports);
        assert_eq!((after.at("b").unwrap().digest, after.at("e").unwrap().digest), (Some(Digest::of(b"new")), None));
    }
}

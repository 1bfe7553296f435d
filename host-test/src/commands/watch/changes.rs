//! Derives file changes from events of the operating system.
//!
//! Editors save in different ways: they overwrite, write a new file and rename it, or rename the old file away and write a new
//! one. Whatever happens within a moment is one change, derived from the state before and after.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use notify::event::{ModifyKind, RenameMode};
use notify::{Event, EventKind};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ignored::Ignored;

/// The content of larger files is not compared.
const MAX_COMPARED_BYTES: u64 = 16 << 20;

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchedChange {
    Saved(String),
    Created(String),
    Deleted(String),
    Renamed { from: String, to: String },
}

impl WatchedChange {
    /// The event that it triggers.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::Saved(_) => "onDidSaveTextDocument",
            Self::Created(_) => "onDidCreateFiles",
            Self::Deleted(_) => "onDidDeleteFiles",
            Self::Renamed { .. } => "onDidRenameFiles",
        }
    }

    pub(super) fn data(&self) -> Value {
        match self {
            Self::Saved(file) | Self::Created(file) | Self::Deleted(file) => json!({"file": file}),
            Self::Renamed { from, to } => json!({"file": to, "old_file": from}),
        }
    }
}

/// The files of a workspace, and the events since the last call of [`take`](Self::take).
pub(super) struct Changes {
    root: PathBuf,
    ignored: Ignored,
    known: HashSet<String>,
    /// Digests of files whose save was reported: writing the same content again is not a change.
    reported: HashMap<String, [u8; 32]>,
    /// By path, whether the file was written.
    noticed: BTreeMap<String, bool>,
    renamed: Vec<(String, String)>,
}

impl Changes {
    pub(super) fn new(root: &Path) -> Self {
        let ignored = Ignored::read(root);
        let (root, known, reported) = (root.to_owned(), HashSet::new(), HashMap::new());
        Self { root, ignored, known, reported, noticed: BTreeMap::new(), renamed: Vec::new() }
    }

    /// All folders below and including a folder, and all files in them.
    pub(super) fn collect_below(&self, folder: &Path) -> (Vec<PathBuf>, Vec<String>) {
        let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                let Some(name) = self.name(&path).filter(|name| !self.ignored.covers(name, kind.is_dir())) else { continue };
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    files.push(name);
                }
            }
        }
        (folders, files)
    }

    /// Adds existing files, which are not reported as changes.
    pub(super) fn add_known(&mut self, files: Vec<String>) {
        self.known.extend(files);
    }

    /// Processes an event of the operating system and returns the folders that have appeared.
    pub(super) fn notice(&mut self, event: &Event) -> Vec<PathBuf> {
        if event.need_rescan() {
            let (folders, files) = self.collect_below(&self.root);
            let all: Vec<String> = self.known.iter().cloned().chain(files).collect();
            all.into_iter().for_each(|file| self.mark_changed(file, true));
            return folders;
        }
        let written = match event.kind {
            EventKind::Access(kind) if !matches!(kind, notify::event::AccessKind::Close(notify::event::AccessMode::Write)) => {
                return Vec::new();
            }
            EventKind::Modify(ModifyKind::Metadata(_)) => return Vec::new(),
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
                if let [from, to] = event.paths.as_slice() {
                    return self.rename(from, to);
                }
                true
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => false,
            _ => true,
        };
        event.paths.iter().flat_map(|path| self.examine(path, written)).collect()
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Vec<PathBuf> {
        if to.is_dir() {
            // The files in it have new paths now, and there are no events for the old ones.
            return [from, to].iter().flat_map(|path| self.examine(path, true)).collect();
        }
        if let (Some(from), Some(to)) = (self.watched_name(from), self.watched_name(to)) {
            self.renamed.push((from, to));
        }
        [from, to].iter().flat_map(|path| self.examine(path, true)).collect()
    }

    fn examine(&mut self, path: &Path, written: bool) -> Vec<PathBuf> {
        let Some(name) = self.name(path) else { return Vec::new() };
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        // A folder may come with a `.gitignore` of its own.
        if is_folder || name == ".gitignore" || name.ends_with("/.gitignore") {
            self.ignored = Ignored::read(&self.root);
        }
        if name.is_empty() || self.ignored.covers(&name, is_folder) {
            return Vec::new();
        }
        if is_folder {
            let (folders, files) = self.collect_below(path);
            let new: Vec<String> = files.into_iter().filter(|file| !self.known.contains(file)).collect();
            new.into_iter().for_each(|file| self.mark_changed(file, true));
            return folders;
        }
        let inside = format!("{name}/");
        let gone: Vec<String> = self.known.iter().filter(|file| file.starts_with(&inside)).cloned().collect();
        gone.into_iter().for_each(|file| self.mark_changed(file, false));
        self.mark_changed(name, written);
        Vec::new()
    }

    fn mark_changed(&mut self, file: String, written: bool) {
        *self.noticed.entry(file).or_default() |= written;
    }

    fn watched_name(&self, path: &Path) -> Option<String> {
        self.name(path).filter(|name| !self.ignored.covers(name, false))
    }

    /// A path relative to the workspace.
    fn name(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.root).ok()?;
        let names: Option<Vec<&str>> = below.components().map(|component| component.as_os_str().to_str()).collect();
        Some(names?.join("/"))
    }

    /// The changes since the last call, once no more events arrive.
    pub(super) fn take(&mut self) -> Vec<WatchedChange> {
        let mut changes = Vec::new();
        let root = self.root.clone();
        let is_file = |path: &str| root.join(path).symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        for (from, to) in std::mem::take(&mut self.renamed) {
            let moved = self.known.contains(&from) && !self.known.contains(&to) && !is_file(&from) && is_file(&to);
            if moved {
                self.known.remove(&from);
                self.known.insert(to.clone());
                self.noticed.remove(&from);
                self.noticed.remove(&to);
                if let Some(content) = self.reported.remove(&from) {
                    self.reported.insert(to.clone(), content);
                }
                changes.push(WatchedChange::Renamed { from, to });
            }
        }
        for (file, written) in std::mem::take(&mut self.noticed) {
            match (self.known.contains(&file), is_file(&file)) {
                (false, true) => {
                    self.known.insert(file.clone());
                    changes.push(WatchedChange::Created(file.clone()));
                    // An empty new file does not count as saved.
                    if root.join(&file).metadata().is_ok_and(|metadata| metadata.len() > 0) && self.is_new(&file) {
                        changes.push(WatchedChange::Saved(file));
                    }
                }
                (true, true) if written && self.is_new(&file) => changes.push(WatchedChange::Saved(file)),
                (true, false) => {
                    self.known.remove(&file);
                    self.reported.remove(&file);
                    changes.push(WatchedChange::Deleted(file));
                }
                _ => {}
            }
        }
        changes
    }

    /// Whether the content differs from what was last reported. A hook that formats a file saves it as well, and must not trigger
    /// itself forever.
    fn is_new(&mut self, file: &str) -> bool {
        let Some(content) = digest(&self.root.join(file)) else { return true };
        self.reported.insert(file.to_owned(), content) != Some(content)
    }
}

fn digest(path: &Path) -> Option<[u8; 32]> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MAX_COMPARED_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_COMPARED_BYTES).then(|| Sha256::digest(&bytes).into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, MetadataKind, RemoveKind};

    use super::*;

    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));

    fn kind(name: &str) -> EventKind {
        match name {
            "written" => EventKind::Modify(ModifyKind::Data(DataChange::Any)),
            "closed" => CLOSED,
            "made" => EventKind::Create(CreateKind::File),
            "gone" => EventKind::Remove(RemoveKind::File),
            "moved" => EventKind::Modify(ModifyKind::Name(RenameMode::Both)),
            "chmod" => EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
            _ => panic!("{name}"),
        }
    }

    /// The changes that result from events and this final state; `a` and `b` existed before.
    fn changes(now: &[(&str, &str)], events: &str) -> Vec<WatchedChange> {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let mut changes = Changes::new(root);
        changes.add_known(vec!["a".to_owned(), "b".to_owned()]);
        for (path, text) in now {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        for event in events.split(", ") {
            let mut words = event.split(' ');
            let event = Event::new(kind(words.next().unwrap()));
            changes.notice(&words.fold(event, |event, path| event.add_path(root.join(path))));
        }
        changes.take()
    }

    #[test]
    fn however_an_editor_saves_it_is_one_save() {
        let [a, b, c] = ["a", "b", "c"].map(str::to_owned);
        let old: &[(&str, &str)] = &[("a", "1"), ("b", "1")];
        let saved = || vec![WatchedChange::Saved(a.clone())];
        for (what, now, events, expected) in [
            ("in place", old, "written a, written a, closed a", saved()),
            ("beside, then renamed", old, "made a.tmp, closed a.tmp, moved a.tmp a", saved()),
            ("renamed away, written anew, removed", old, "moved a a~, made a, closed a, gone a~", saved()),
            ("only its mode", old, "chmod a", vec![]),
            ("a trial file", old, "made 4913, gone 4913", vec![]),
            (
                "a new file",
                &[("a", ""), ("b", ""), ("c", "x")],
                "made c, closed c",
                vec![WatchedChange::Created(c.clone()), WatchedChange::Saved(c.clone())],
            ),
            ("an empty new file", &[("a", ""), ("b", ""), ("c", "")], "made c", vec![WatchedChange::Created(c.clone())]),
            ("removed", &[("b", "")], "gone a", vec![WatchedChange::Deleted(a.clone())]),
            ("renamed", &[("b", ""), ("c", "x")], "moved a c", vec![WatchedChange::Renamed { from: a.clone(), to: c }]),
            (
                "renamed onto another",
                &[("b", "x")],
                "moved a b",
                vec![WatchedChange::Deleted(a.clone()), WatchedChange::Saved(b)],
            ),
            ("ignored", &[("a", ""), ("b", ""), (".git/x", "x"), ("target/y", "y")], "made .git/x, made target/y", vec![]),
        ] {
            assert_eq!(changes(now, events), expected, "{what}");
        }
    }

    #[test]
    fn folders_bring_and_take_their_files() {
        let temp = tempfile::tempdir().unwrap();
        let mut changes = Changes::new(temp.path());
        fs::create_dir_all(temp.path().join("new/deep")).unwrap();
        fs::write(temp.path().join("new/deep/f"), "x").unwrap();
        let at = |kind, name: &str| Event::new(kind).add_path(temp.path().join(name));
        let folders = changes.notice(&at(EventKind::Create(CreateKind::Folder), "new"));
        assert_eq!(folders, [temp.path().join("new"), temp.path().join("new/deep")]);
        assert_eq!(changes.take(), [WatchedChange::Created("new/deep/f".into()), WatchedChange::Saved("new/deep/f".into())]);
        fs::remove_dir_all(temp.path().join("new")).unwrap();
        changes.notice(&at(EventKind::Remove(RemoveKind::Folder), "new"));
        assert_eq!(changes.take(), [WatchedChange::Deleted("new/deep/f".into())]);
    }

    #[test]
    fn who_writes_the_same_again_has_saved_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let mut changes = Changes::new(temp.path());
        changes.add_known(vec!["a".to_owned()]);
        for (text, saved) in [("1", true), ("1", false), ("2", true), ("1", true)] {
            fs::write(temp.path().join("a"), text).unwrap();
            changes.notice(&Event::new(CLOSED).add_path(temp.path().join("a")));
            assert_eq!(changes.take().len(), usize::from(saved), "{text}");
        }
    }
}

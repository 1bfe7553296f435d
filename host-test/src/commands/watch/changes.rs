//! What happened to files, told from what the operating system noticed about names.
//!
//! Editors save in many ways: they write, or write beside and rename, or rename away and write anew. Whatever they do
//! within a moment is one change, told from how things stand then and stood before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use notify::event::{ModifyKind, RenameMode};
use notify::{Event, EventKind};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ignored::Ignored;

/// Of a longer file, the content is not compared.
const MOST_COMPARED: u64 = 16 << 20;

/// Something that happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Saved(String),
    Created(String),
    Deleted(String),
    Renamed { from: String, to: String },
}

impl Change {
    /// The event that hooks are declared for.
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

/// The files of a workspace, and what was noticed since somebody looked.
pub(super) struct Changes {
    root: PathBuf,
    ignored: Ignored,
    known: HashSet<String>,
    /// The content of files whose save was told: who writes the same again has not changed anything.
    told: HashMap<String, [u8; 32]>,
    /// By path, whether something was written there.
    noticed: BTreeMap<String, bool>,
    renamed: Vec<(String, String)>,
}

impl Changes {
    pub(super) fn new(root: &Path) -> Self {
        let ignored = Ignored::read(root);
        let (root, known, told) = (root.to_owned(), HashSet::new(), HashMap::new());
        Self { root, ignored, known, told, noticed: BTreeMap::new(), renamed: Vec::new() }
    }

    /// Everything below a folder: its folders, itself among them, and its files.
    pub(super) fn below(&self, folder: &Path) -> (Vec<PathBuf>, Vec<String>) {
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

    /// These are there and nothing new.
    pub(super) fn know(&mut self, files: Vec<String>) {
        self.known.extend(files);
    }

    /// Takes in what the operating system noticed; the folders that came with it are returned.
    pub(super) fn notice(&mut self, event: &Event) -> Vec<PathBuf> {
        if event.need_rescan() {
            let (folders, files) = self.below(&self.root);
            let all: Vec<String> = self.known.iter().cloned().chain(files).collect();
            all.into_iter().for_each(|file| self.touch(file, true));
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
        event.paths.iter().flat_map(|path| self.look(path, written)).collect()
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Vec<PathBuf> {
        if to.is_dir() {
            // The files in it have other names now, and nobody hears of them at the old ones.
            return [from, to].iter().flat_map(|path| self.look(path, true)).collect();
        }
        if let (Some(from), Some(to)) = (self.watched(from), self.watched(to)) {
            self.renamed.push((from, to));
        }
        [from, to].iter().flat_map(|path| self.look(path, true)).collect()
    }

    fn look(&mut self, path: &Path, written: bool) -> Vec<PathBuf> {
        let Some(name) = self.name(path) else { return Vec::new() };
        if name == ".gitignore" {
            self.ignored = Ignored::read(&self.root);
        }
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if name.is_empty() || self.ignored.covers(&name, is_folder) {
            return Vec::new();
        }
        if is_folder {
            let (folders, files) = self.below(path);
            let new: Vec<String> = files.into_iter().filter(|file| !self.known.contains(file)).collect();
            new.into_iter().for_each(|file| self.touch(file, true));
            return folders;
        }
        let inside = format!("{name}/");
        let gone: Vec<String> = self.known.iter().filter(|file| file.starts_with(&inside)).cloned().collect();
        gone.into_iter().for_each(|file| self.touch(file, false));
        self.touch(name, written);
        Vec::new()
    }

    fn touch(&mut self, file: String, written: bool) {
        *self.noticed.entry(file).or_default() |= written;
    }

    fn watched(&self, path: &Path) -> Option<String> {
        self.name(path).filter(|name| !self.ignored.covers(name, false))
    }

    /// A path relative to the workspace, as the gate spells it.
    fn name(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.root).ok()?;
        let names: Option<Vec<&str>> = below.components().map(|component| component.as_os_str().to_str()).collect();
        Some(names?.join("/"))
    }

    /// What all that was noticed comes to, now that things have come to rest.
    pub(super) fn take(&mut self) -> Vec<Change> {
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
                if let Some(content) = self.told.remove(&from) {
                    self.told.insert(to.clone(), content);
                }
                changes.push(Change::Renamed { from, to });
            }
        }
        for (file, written) in std::mem::take(&mut self.noticed) {
            match (self.known.contains(&file), is_file(&file)) {
                (false, true) => {
                    self.known.insert(file.clone());
                    changes.push(Change::Created(file.clone()));
                    // An empty file was made, not saved.
                    if root.join(&file).metadata().is_ok_and(|metadata| metadata.len() > 0) && self.is_new(&file) {
                        changes.push(Change::Saved(file));
                    }
                }
                (true, true) if written && self.is_new(&file) => changes.push(Change::Saved(file)),
                (true, false) => {
                    self.known.remove(&file);
                    self.told.remove(&file);
                    changes.push(Change::Deleted(file));
                }
                _ => {}
            }
        }
        changes
    }

    /// Whether the content is not what was told last: a hook that formats a file saves it too, and must come to an end.
    fn is_new(&mut self, file: &str) -> bool {
        let Some(content) = content(&self.root.join(file)) else { return true };
        self.told.insert(file.to_owned(), content) != Some(content)
    }
}

fn content(path: &Path) -> Option<[u8; 32]> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MOST_COMPARED + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MOST_COMPARED).then(|| Sha256::digest(&bytes).into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, MetadataKind, RemoveKind};

    use super::*;

    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const MADE: EventKind = EventKind::Create(CreateKind::File);
    const GONE: EventKind = EventKind::Remove(RemoveKind::File);
    const MOVED: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
    const CHMOD: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));

    /// What comes of events at the end of which the workspace stands as written; `a` and `b` were there before.
    fn changes(now: &[(&str, &str)], events: &[(EventKind, &[&str])]) -> Vec<Change> {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let mut changes = Changes::new(root);
        changes.know(vec!["a".to_owned(), "b".to_owned()]);
        for (path, text) in now {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        for (kind, paths) in events {
            let event = paths.iter().fold(Event::new(*kind), |event, path| event.add_path(root.join(path)));
            changes.notice(&event);
        }
        changes.take()
    }

    #[test]
    fn however_an_editor_saves_it_is_one_save() {
        let [a, b, c] = ["a", "b", "c"].map(str::to_owned);
        let old: &[(&str, &str)] = &[("a", "1"), ("b", "1")];
        for (what, now, events, expected) in [
            (
                "in place",
                old,
                &[(WRITTEN, &["a"] as &[_]), (WRITTEN, &["a"]), (CLOSED, &["a"])] as &[_],
                vec![Change::Saved(a.clone())],
            ),
            (
                "beside, then renamed",
                old,
                &[(MADE, &["a.tmp"]), (CLOSED, &["a.tmp"]), (MOVED, &["a.tmp", "a"])],
                vec![Change::Saved(a.clone())],
            ),
            (
                "renamed away, written anew, removed",
                old,
                &[(MOVED, &["a", "a~"]), (MADE, &["a"]), (CLOSED, &["a"]), (GONE, &["a~"])],
                vec![Change::Saved(a.clone())],
            ),
            ("only its mode", old, &[(CHMOD, &["a"])], vec![]),
            ("a trial file", old, &[(MADE, &["4913"]), (GONE, &["4913"])], vec![]),
            (
                "a new file",
                &[("a", ""), ("b", ""), ("c", "x")],
                &[(MADE, &["c"]), (CLOSED, &["c"])],
                vec![Change::Created(c.clone()), Change::Saved(c.clone())],
            ),
            ("an empty new file", &[("a", ""), ("b", ""), ("c", "")], &[(MADE, &["c"])], vec![Change::Created(c.clone())]),
            ("removed", &[("b", "")], &[(GONE, &["a"])], vec![Change::Deleted(a.clone())]),
            ("renamed", &[("b", ""), ("c", "x")], &[(MOVED, &["a", "c"])], vec![Change::Renamed { from: a.clone(), to: c }]),
            ("renamed onto another", &[("b", "x")], &[(MOVED, &["a", "b"])], vec![Change::Deleted(a), Change::Saved(b)]),
            (
                "ignored",
                &[("a", ""), ("b", ""), (".git/x", "x"), ("target/y", "y")],
                &[(MADE, &[".git/x"]), (MADE, &["target/y"])],
                vec![],
            ),
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
        assert_eq!(changes.take(), [Change::Created("new/deep/f".into()), Change::Saved("new/deep/f".into())]);
        fs::remove_dir_all(temp.path().join("new")).unwrap();
        changes.notice(&at(EventKind::Remove(RemoveKind::Folder), "new"));
        assert_eq!(changes.take(), [Change::Deleted("new/deep/f".into())]);
    }

    #[test]
    fn who_writes_the_same_again_has_saved_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let mut changes = Changes::new(temp.path());
        changes.know(vec!["a".to_owned()]);
        for (text, saved) in [("1", true), ("1", false), ("2", true), ("1", true)] {
            fs::write(temp.path().join("a"), text).unwrap();
            changes.notice(&Event::new(CLOSED).add_path(temp.path().join("a")));
            assert_eq!(changes.take().len(), usize::from(saved), "{text}");
        }
    }
}

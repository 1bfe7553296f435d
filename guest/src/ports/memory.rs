//! An in-memory host for tests, benchmarks and fuzzing: files with links, a clock that ticks, deterministic random bytes.
//!
//! It follows the same contract as the hosts' file systems and goes through the same fixtures, so a test that passes here
//! means what it says.

mod path;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use serde_json::Value;

use super::{
    Clock, DirEntry, Environment, Expectation, Facts, FileFault, FileKind, Listing, ListingLimits, Log, LogLevel, Ports,
    Question, Random, Records, Root, Tail, Timestamp, Workspace,
};
use crate::digest::Digest;
use path::{folder, join, may_read, may_write, parent_of, reported, walk_from};

/// Where the workspace is in an in-memory host.
pub const PROJECT: &str = "/workspace";
/// Where the home folder is in an in-memory host.
pub const HOME: &str = "/home/user";
/// Where the gate's state is in an in-memory host.
pub const STATE: &str = "/home/user/.local/state/tollgate/workspace";

/// Maximum number of links followed before a path counts as a cycle; the kernel's own limit.
const MAX_LINKS: u32 = 40;

#[derive(Debug, Clone)]
enum FileNode {
    File { identity: u64 },
    Directory,
    Link(String),
    Other,
}

#[derive(Debug, Clone)]
struct FileContent {
    bytes: Vec<u8>,
    stamp: u64,
    changed_ms: u64,
}

/// The in-memory host.
pub struct Memory {
    nodes: RefCell<BTreeMap<String, FileNode>>,
    contents: RefCell<BTreeMap<u64, FileContent>>,
    ticks: Cell<u64>,
    now: Cell<u64>,
    drawn: Cell<u8>,
    lines: RefCell<Vec<(LogLevel, String)>>,
    /// What another process appends to a file just before the gate does.
    ahead: RefCell<Option<(String, Vec<u8>)>>,
    behind: RefCell<Option<(String, Vec<u8>)>>,
    /// The fault with which every write ends.
    refusal: Cell<Option<FileFault>>,
    /// The folder that cannot be listed.
    unlistable: RefCell<Option<String>>,
    variables: RefCell<BTreeMap<String, String>>,
    secrets: RefCell<BTreeMap<String, String>>,
}

/// Where resolving a path ended.
#[derive(Default)]
struct Walk {
    real: Option<String>,
    entry: Option<String>,
    /// The target of the link at `entry`.
    link: Option<String>,
}

impl Memory {
    /// An empty workspace and an empty home folder, on the first day of 2026.
    pub fn new() -> Rc<Self> {
        let world = Self {
            nodes: RefCell::default(),
            contents: RefCell::default(),
            ticks: Cell::new(0),
            now: Cell::new(1_767_225_600_000),
            drawn: Cell::new(0),
            lines: RefCell::default(),
            ahead: RefCell::default(),
            behind: RefCell::default(),
            refusal: Cell::new(None),
            unlistable: RefCell::default(),
            variables: RefCell::default(),
            secrets: RefCell::default(),
        };
        world.make_directory(PROJECT);
        world.make_directory(HOME);
        world.make_directory("/tmp");
        Rc::new(world)
    }

    /// The gate's ports onto this host.
    pub fn ports(self: &Rc<Self>) -> Ports {
        Ports {
            workspace: self.clone(),
            records: self.clone(),
            log: self.clone(),
            clock: self.clone(),
            random: self.clone(),
            environment: self.clone(),
            secrets: Rc::default(),
        }
    }

    /// Writes a file of the workspace, with the folders it needs.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.write_at(&walk_from(PROJECT, path).join_names(), content.as_ref());
    }

    /// Writes a file of the home folder.
    pub fn write_home(&self, path: &str, content: impl AsRef<[u8]>) {
        self.write_at(&walk_from(HOME, path).join_names(), content.as_ref());
    }

    /// Makes a folder in the workspace.
    pub fn mkdir(&self, path: &str) {
        self.make_directory(&walk_from(PROJECT, path).join_names());
    }

    /// Makes a symbolic link in the workspace.
    pub fn symlink(&self, target: &str, path: &str) {
        let path = walk_from(PROJECT, path).join_names();
        self.make_directory(parent_of(&path));
        self.nodes.borrow_mut().insert(path, FileNode::Link(target.to_owned()));
    }

    /// Gives a file of the workspace a second name.
    pub fn hardlink(&self, existing: &str, path: &str) {
        let node = self.nodes.borrow().get(&walk_from(PROJECT, existing).join_names()).cloned();
        let path = walk_from(PROJECT, path).join_names();
        self.make_directory(parent_of(&path));
        self.nodes.borrow_mut().insert(path, node.unwrap_or(FileNode::Other));
    }

    /// Removes a file or a folder of the workspace with everything in it.
    pub fn delete(&self, path: &str) {
        let path = walk_from(PROJECT, path).join_names();
        let below = format!("{path}/");
        self.nodes.borrow_mut().retain(|name, _| *name != path && !name.starts_with(&below));
    }

    /// The content of a file of the workspace, or of any other whose absolute path is given.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let real = self.walk(Root::Project, path).real?;
        self.file_at(&real).ok().map(|content| content.bytes)
    }

    /// Makes another process append to a file just before the gate next does.
    pub fn before_append(&self, path: &str, bytes: &[u8]) {
        *self.ahead.borrow_mut() = Some((path.to_owned(), bytes.to_vec()));
    }

    /// Makes another process append to a file just after the gate next does.
    pub fn after_append(&self, path: &str, bytes: &[u8]) {
        *self.behind.borrow_mut() = Some((path.to_owned(), bytes.to_vec()));
    }

    /// From now on, every write of the gate fails with this fault.
    pub fn refuse_writes(&self, with: Option<FileFault>) {
        self.refusal.set(with);
    }

    /// From now on, a folder of the workspace cannot be listed, as if its mode were 000.
    pub fn refuse_listing(&self, folder: &str) {
        *self.unlistable.borrow_mut() = Some(walk_from(PROJECT, folder).join_names());
    }

    /// Sets a variable of the environment.
    pub fn set_variable(&self, name: &str, value: &str) {
        self.variables.borrow_mut().insert(name.to_owned(), value.to_owned());
    }

    /// Puts a secret into the keyring.
    pub fn set_secret(&self, name: &str, value: &str) {
        self.secrets.borrow_mut().insert(name.to_owned(), value.to_owned());
    }

    /// How many files are below a folder of the workspace.
    pub fn count(&self, folder: &str) -> usize {
        let below = format!("{}/", walk_from(PROJECT, folder).join_names());
        self.nodes
            .borrow()
            .iter()
            .filter(|(path, node)| path.starts_with(&below) && matches!(node, FileNode::File { .. }))
            .count()
    }

    /// Advances the clock.
    pub fn pass(&self, millis: u64) {
        self.now.set(self.now.get() + millis);
    }

    /// Everything logged so far.
    pub fn logged(&self) -> Vec<(LogLevel, String)> {
        self.lines.borrow().clone()
    }

    fn tick(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 1);
        self.ticks.get()
    }

    fn make_directory(&self, path: &str) {
        if !path.is_empty() {
            self.make_directory(parent_of(path));
            self.nodes.borrow_mut().entry(path.to_owned()).or_insert(FileNode::Directory);
        }
    }

    fn write_at(&self, path: &str, bytes: &[u8]) {
        self.make_directory(parent_of(path));
        let stamp = self.tick();
        let known = match self.nodes.borrow().get(path) {
            Some(FileNode::File { identity }) => Some(*identity),
            _ => None,
        };
        let identity = known.unwrap_or(stamp);
        self.nodes.borrow_mut().insert(path.to_owned(), FileNode::File { identity });
        self.contents.borrow_mut().insert(identity, FileContent { bytes: bytes.to_vec(), stamp, changed_ms: self.now.get() });
    }

    fn node(&self, path: &str) -> Option<FileNode> {
        if path.is_empty() { Some(FileNode::Directory) } else { self.nodes.borrow().get(path).cloned() }
    }

    fn walk(&self, root: Root, path: &str) -> Walk {
        let mut at = Vec::new();
        let mut ahead = walk_from(folder(root), path).names;
        let (mut links, mut entry, mut link) = (0, None, None);
        while let Some(name) = ahead.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(name);
            let here = join(&at);
            let last = ahead.is_empty();
            match self.node(&here) {
                Some(FileNode::Link(target)) => {
                    if last && entry.is_none() {
                        (entry, link) = (Some(here), Some(target.clone()));
                    }
                    links += 1;
                    if links > MAX_LINKS {
                        return Walk { real: None, entry, link };
                    }
                    at.pop();
                    if target.starts_with('/') {
                        at.clear();
                    }
                    ahead.extend(walk_from("", &target).names);
                }
                Some(FileNode::File { .. } | FileNode::Other) if !last => return Walk::default(),
                _ => {}
            }
        }
        let real = join(&at);
        Walk { entry: Some(entry.unwrap_or_else(|| real.clone())), real: Some(real), link }
    }

    /// The real path that a path leads to, if the gate may write there.
    fn may_write(&self, root: Root, path: &str) -> Result<String, FileFault> {
        let real = self.walk(root, path).real.ok_or(FileFault::Other)?;
        if !may_write(root, &real) {
            return Err(FileFault::Denied);
        }
        self.refusal.get().map_or(Ok(real), Err)
    }

    fn file(&self, root: Root, path: &str) -> Result<FileContent, FileFault> {
        let real = self.walk(root, path).real.ok_or(FileFault::Other)?;
        if !may_read(root, &real) {
            return Err(FileFault::Denied);
        }
        self.file_at(&real)
    }

    fn file_at(&self, real: &str) -> Result<FileContent, FileFault> {
        match self.node(real) {
            Some(FileNode::File { identity }) => self.contents.borrow().get(&identity).cloned().ok_or(FileFault::Missing),
            None => Err(FileFault::Missing),
            _ => Err(FileFault::Other),
        }
    }
}

impl Workspace for Memory {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let look = |question: &Question| {
            let walk = self.walk(question.root, &question.path);
            let mut facts = Facts {
                real_path: walk.real.as_deref().map(reported),
                entry_path: walk.entry.as_deref().map(reported),
                link: walk.link,
                ..Facts::missing()
            };
            match walk.real.and_then(|real| self.node(&real)) {
                None => {}
                Some(FileNode::Directory) => (facts.kind, facts.hard_links, facts.stamp) = (FileKind::Directory, 1, 1),
                Some(FileNode::Link(_) | FileNode::Other) => {
                    (facts.kind, facts.hard_links, facts.stamp) = (FileKind::Other, 1, 1)
                }
                Some(FileNode::File { identity }) => {
                    let names = self.nodes.borrow();
                    let same = |node: &&FileNode| matches!(node, FileNode::File { identity: other } if *other == identity);
                    facts.kind = FileKind::File;
                    facts.hard_links = u32::try_from(names.values().filter(same).count()).unwrap_or(u32::MAX);
                    facts.identity = identity;
                    if let Some(content) = self.contents.borrow().get(&identity) {
                        (facts.stamp, facts.changed_ms) = (content.stamp, content.changed_ms);
                        facts.size = content.bytes.len() as u64;
                        facts.digest = question.digest.then(|| Digest::of(&content.bytes));
                    }
                }
            }
            facts
        };
        questions.iter().map(look).collect()
    }

    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        let content = self.file(root, path)?;
        if content.bytes.len() as u64 > limit_bytes { Err(FileFault::TooLarge) } else { Ok(content.bytes) }
    }

    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        let bytes = self.file(root, path)?.bytes;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let length = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        Ok(bytes.into_iter().skip(start).take(length).collect())
    }

    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        let length = self.file(root, path)?.bytes.len() as u64;
        let offset = length.saturating_sub(limit_bytes);
        Ok(Tail { offset, bytes: self.read_range(root, path, offset, limit_bytes)? })
    }

    fn list(&self, root: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault> {
        let real = self.walk(root, directory).real.ok_or(FileFault::Other)?;
        match self.node(&real) {
            Some(FileNode::Directory) => {}
            None => return Err(FileFault::Missing),
            Some(_) => return Err(FileFault::Other),
        }
        let unlistable = self.unlistable.borrow().as_ref().map(|folder| format!("{folder}/"));
        let below = format!("{real}/");
        if unlistable.as_ref().is_some_and(|folder| below.starts_with(folder)) {
            return Err(FileFault::Denied);
        }
        let mut names = HashMap::<u64, u32>::new();
        for node in self.nodes.borrow().values() {
            if let FileNode::File { identity } = node {
                *names.entry(*identity).or_default() += 1;
            }
        }
        let mut listing = Listing { entries: Vec::new(), truncated: false, unseen: None };
        for (path, node) in self.nodes.borrow().range(below.clone()..) {
            let is_hidden = unlistable.as_ref().is_some_and(|folder| path.starts_with(folder));
            let Some(path) = path.strip_prefix(&below) else { break };
            if is_hidden {
                let folder = unlistable.as_ref().and_then(|folder| folder.strip_prefix(&below));
                listing.unseen = listing.unseen.or(folder.map(str::to_owned));
                continue;
            }
            let mut folders = path.split('/');
            folders.next_back();
            let depth = path.split('/').count();
            if depth > reach.depth as usize || folders.any(|name| reach.skip.iter().any(|skipped| skipped == name)) {
                continue;
            }
            if listing.entries.len() as u64 == u64::from(reach.limit) {
                listing.truncated = true;
                break;
            }
            let mut entry = DirEntry {
                path: path.to_owned(),
                kind: FileKind::Other,
                link: None,
                hard_links: 1,
                identity: 0,
                stamp: 1,
                changed_ms: 0,
                size: 0,
            };
            match node {
                FileNode::Directory => entry.kind = FileKind::Directory,
                FileNode::Link(target) => entry.link = Some(target.clone()),
                FileNode::Other => {}
                FileNode::File { identity } => {
                    entry.kind = FileKind::File;
                    entry.identity = *identity;
                    entry.hard_links = names.get(identity).copied().unwrap_or(1);
                    if let Some(content) = self.contents.borrow().get(identity) {
                        (entry.stamp, entry.changed_ms) = (content.stamp, content.changed_ms);
                        entry.size = content.bytes.len() as u64;
                    }
                }
            }
            listing.entries.push(entry);
        }
        Ok(listing)
    }
}

impl Records for Memory {
    fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        let others = |waiting: &RefCell<Option<(String, Vec<u8>)>>| {
            waiting.borrow_mut().take_if(|(whose, _)| whose == path).map_or_else(Vec::new, |(_, bytes)| bytes)
        };
        let bytes = [others(&self.ahead), bytes.to_vec(), others(&self.behind)].concat();
        let real = self.may_write(root, path)?;
        match self.node(&real) {
            // This happens in place, because a journal is appended to again and again.
            Some(FileNode::File { identity }) => {
                let stamp = self.tick();
                let mut contents = self.contents.borrow_mut();
                let content = contents.get_mut(&identity).ok_or(FileFault::Missing)?;
                content.bytes.extend_from_slice(&bytes);
                (content.stamp, content.changed_ms) = (stamp, self.now.get());
            }
            Some(_) => return Err(FileFault::Other),
            None => self.write_at(&real, &bytes),
        }
        Ok(())
    }

    fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        let real = self.may_write(root, path)?;
        let present = self.file(root, path).ok().map(|content| Digest::of(&content.bytes));
        match expected {
            Expectation::Absent if present.is_some() => return Err(FileFault::Exists),
            Expectation::Digest(digest) if present != Some(digest) => return Err(FileFault::Changed),
            _ => {}
        }
        self.write_at(&real, bytes);
        Ok(())
    }

    fn remove(&self, root: Root, path: &str) -> Result<(), FileFault> {
        let real = self.walk(root, path).real.ok_or(FileFault::Other)?;
        if !may_write(root, &real) {
            return Err(FileFault::Denied);
        }
        self.nodes.borrow_mut().remove(&real).map(drop).ok_or(FileFault::Missing)
    }
}

impl Environment for Memory {
    fn variables(&self, names: &[String]) -> Vec<Option<String>> {
        names.iter().map(|name| self.variables.borrow().get(name).cloned()).collect()
    }

    fn secrets(&self, names: &[String]) -> Vec<Option<String>> {
        names.iter().map(|name| self.secrets.borrow().get(name).cloned()).collect()
    }
}

impl Log for Memory {
    fn write(&self, level: LogLevel, message: &str, _details: &Value) {
        self.lines.borrow_mut().push((level, message.to_owned()));
    }
}

impl Clock for Memory {
    /// Each reading is a second later.
    fn now(&self) -> Timestamp {
        let now = self.now.get();
        self.now.set(now + 1000);
        Timestamp(now)
    }
}

impl Random for Memory {
    /// The same byte sixteen times, a different one each time.
    fn random_bytes(&self) -> [u8; 16] {
        let byte = self.drawn.get();
        self.drawn.set(byte.wrapping_add(1));
        [byte; 16]
    }
}

#[cfg(test)]
mod tests;

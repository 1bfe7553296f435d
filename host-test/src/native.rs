//! The gate's logic compiled natively, on the same files, as a baseline for measuring the component.
//!
//! Only with the feature `native`, for benchmarks. A host that used it for decisions would not run the verified component.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use tollgate_guest::gate::Gate;
use tollgate_guest::ports::{
    Clock, DirEntry, Environment, Expectation, Facts, FileFault, FileKind, Listing, ListingLimits, Log, LogLevel, Ports,
    Question, Random, Records, Root, Tail, Timestamp, Workspace, marks,
};

use crate::bindings::tollgate::hooks::{records, workspace};
use crate::error::Error;
use crate::files::{FileError, Files, states_folder};

/// The native gate of a workspace.
pub struct NativeGate {
    gate: RefCell<Gate>,
    files: Rc<Native>,
}

impl NativeGate {
    /// Opens the gate with user settings and hooks from a home folder, which also contains the state folder.
    pub fn open(folder: &Path, home: &Path) -> Result<Self, Error> {
        let state = states_folder(Some(home), None)?;
        Self::over(Files::open(folder, Some(home), Some(&state))?)
    }

    fn over(files: Files) -> Result<Self, Error> {
        let files = Rc::new(Native { files, crossings: Cell::new(0) });
        let ports = Ports {
            workspace: files.clone(),
            records: files.clone(),
            log: files.clone(),
            clock: files.clone(),
            random: files.clone(),
            environment: files.clone(),
            secrets: Rc::default(),
        };
        Ok(Self { gate: RefCell::new(Gate::new(ports)), files })
    }

    /// Answers one JSON line.
    pub fn perform(&self, line: &[u8]) -> String {
        tollgate_guest::operations::perform(&mut self.gate.borrow_mut(), line)
    }

    /// How often the gate called its host. In the component, each is a call of an import.
    pub fn crossings(&self) -> u64 {
        self.files.crossings.get()
    }
}

struct Native {
    files: Files,
    crossings: Cell<u64>,
}

impl Native {
    /// The files, for one call of the gate, which is counted.
    fn counted(&self) -> &Files {
        self.crossings.set(self.crossings.get() + 1);
        &self.files
    }
}

impl Workspace for Native {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let asked = |question: &Question| workspace::Question {
            root: root(question.root),
            path: question.path.clone(),
            digest: question.digest,
        };
        let told = |facts: workspace::Facts| Facts {
            kind: kind(facts.kind),
            real_path: facts.real_path,
            entry_path: facts.entry_path,
            link: facts.link,
            hard_links: facts.hard_links,
            identity: identity(facts.marks),
            stamp: stamp(facts.marks, facts.size),
            changed_ms: marks::changed_ms(facts.marks.changed_ns, facts.marks.modified_ns),
            size: facts.size,
            digest: facts.digest.and_then(|digest| digest.parse().ok()),
        };
        let asked: Vec<_> = questions.iter().map(asked).collect();
        self.counted().inspect(&asked).into_iter().map(told).collect()
    }

    fn read(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.counted().read(root(at), path, limit_bytes).map_err(fault)
    }

    fn read_range(&self, at: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.counted().read_range(root(at), path, offset, limit_bytes).map_err(fault)
    }

    fn read_tail(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        let tail = self.counted().read_tail(root(at), path, limit_bytes).map_err(fault)?;
        Ok(Tail { offset: tail.offset, bytes: tail.bytes })
    }

    fn list(&self, at: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault> {
        let reach = workspace::Reach { depth: reach.depth, limit: reach.limit, skip: reach.skip.clone() };
        let listing = self.counted().list(root(at), directory, &reach).map_err(fault)?;
        let entry = |entry: workspace::Entry| DirEntry {
            path: entry.path,
            kind: kind(entry.kind),
            link: entry.link,
            hard_links: entry.hard_links,
            identity: identity(entry.marks),
            stamp: stamp(entry.marks, entry.size),
            size: entry.size,
        };
        Ok(Listing {
            entries: listing.entries.into_iter().map(entry).collect(),
            truncated: listing.truncated,
            unseen: listing.unseen,
        })
    }
}

impl Records for Native {
    fn append(&self, at: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        self.counted().append(root(at), path, bytes).map_err(fault)
    }

    fn replace(&self, at: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        let expected = match expected {
            Expectation::Anything => records::Expectation::Anything,
            Expectation::Absent => records::Expectation::Absent,
            Expectation::Digest(digest) => records::Expectation::Digest(digest.to_string()),
        };
        self.counted().replace(root(at), path, bytes, &expected).map_err(fault)
    }

    fn remove(&self, at: Root, path: &str) -> Result<(), FileFault> {
        self.counted().remove(root(at), path).map_err(fault)
    }
}

impl Log for Native {
    fn write(&self, _level: LogLevel, _message: &str, _details: &serde_json::Value) {
        self.counted();
    }
}

impl Clock for Native {
    fn now(&self) -> Timestamp {
        self.counted();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Random for Native {
    fn random_bytes(&self) -> [u8; 16] {
        self.counted();
        let mut bytes = [0; 16];
        let _ = getrandom::fill(&mut bytes);
        bytes
    }
}

impl Environment for Native {
    fn variables(&self, names: &[String]) -> Vec<Option<String>> {
        self.counted();
        names.iter().map(|name| std::env::var(name).ok()).collect()
    }

    fn secrets(&self, names: &[String]) -> Vec<Option<String>> {
        self.counted();
        names.iter().map(|_| None).collect()
    }
}

fn identity(marks: workspace::Marks) -> u64 {
    marks::identity(marks.device, marks.inode)
}

fn stamp(marks: workspace::Marks, size: u64) -> u64 {
    marks::stamp(marks.device, marks.inode, marks.changed_ns, marks.modified_ns, size)
}

fn root(root: Root) -> workspace::Root {
    match root {
        Root::Project => workspace::Root::Project,
        Root::Home => workspace::Root::Home,
        Root::State => workspace::Root::State,
    }
}

fn kind(kind: workspace::Kind) -> FileKind {
    match kind {
        workspace::Kind::Missing => FileKind::Missing,
        workspace::Kind::File => FileKind::File,
        workspace::Kind::Directory => FileKind::Directory,
        workspace::Kind::Other => FileKind::Other,
        workspace::Kind::Unreadable => FileKind::Unreadable,
    }
}

fn fault(error: FileError) -> FileFault {
    match error.fault {
        workspace::Fault::Denied => FileFault::Denied,
        workspace::Fault::Missing => FileFault::Missing,
        workspace::Fault::Exists => FileFault::Exists,
        workspace::Fault::Changed => FileFault::Changed,
        workspace::Fault::TooLarge => FileFault::TooLarge,
        workspace::Fault::Busy => FileFault::Busy,
        workspace::Fault::Full => FileFault::Full,
        workspace::Fault::Other => FileFault::Other,
    }
}

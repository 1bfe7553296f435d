//! The component's imports as [`Ports`].

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::bindings::tollgate::hooks::{environment, log, records, workspace};
use crate::ports::{
    Clock, DirEntry, Environment, Expectation, Facts, FileFault, FileKind, Listing, ListingLimits, Log, LogLevel, Ports,
    Question, Random, Records, Root, Tail, Timestamp, Workspace, marks,
};

/// The contract's imports.
struct Imports;

pub(super) fn ports() -> Ports {
    let imports = Rc::new(Imports);
    Ports {
        workspace: imports.clone(),
        records: imports.clone(),
        log: imports.clone(),
        clock: imports.clone(),
        random: imports.clone(),
        environment: imports,
        secrets: Rc::default(),
    }
}

impl Workspace for Imports {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let question = |question: &Question| workspace::Question {
            root: root(question.root),
            path: question.path.clone(),
            digest: question.digest,
        };
        let facts = |facts: workspace::Facts| Facts {
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
        workspace::inspect(&questions.iter().map(question).collect::<Vec<_>>()).into_iter().map(facts).collect()
    }

    fn read(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        workspace::read(root(at), path, limit_bytes).map_err(fault)
    }

    fn read_range(&self, at: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        workspace::read_range(root(at), path, offset, limit_bytes).map_err(fault)
    }

    fn read_tail(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        let tail = workspace::read_tail(root(at), path, limit_bytes).map_err(fault)?;
        Ok(Tail { offset: tail.offset, bytes: tail.bytes })
    }

    fn list(&self, at: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault> {
        let reach = workspace::Reach { depth: reach.depth, limit: reach.limit, skip: reach.skip.clone() };
        let listing = workspace::list(root(at), directory, &reach).map_err(fault)?;
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

impl Records for Imports {
    fn append(&self, at: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        records::append(root(at), path, bytes).map_err(fault)
    }

    fn replace(&self, at: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        let expected = match expected {
            Expectation::Anything => records::Expectation::Anything,
            Expectation::Absent => records::Expectation::Absent,
            Expectation::Digest(digest) => records::Expectation::Digest(digest.to_string()),
        };
        records::replace(root(at), path, bytes, &expected).map_err(fault)
    }

    fn remove(&self, at: Root, path: &str) -> Result<(), FileFault> {
        records::remove(root(at), path).map_err(fault)
    }
}

impl Log for Imports {
    fn write(&self, level: LogLevel, message: &str, details: &Value) {
        let level = match level {
            LogLevel::Debug => log::Level::Debug,
            LogLevel::Info => log::Level::Info,
            LogLevel::Warn => log::Level::Warn,
            LogLevel::Error => log::Level::Error,
        };
        let details = if details.is_null() { Vec::new() } else { details.to_string().into_bytes() };
        log::write(level, message, &details);
    }
}

impl Clock for Imports {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Random for Imports {
    fn random_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            log::write(log::Level::Warn, "the host provides no random bytes; ids may repeat", &[]);
        }
        bytes
    }
}

impl Environment for Imports {
    fn variables(&self, names: &[String]) -> Vec<Option<String>> {
        environment::variables(names)
    }

    fn secrets(&self, names: &[String]) -> Vec<Option<String>> {
        environment::secrets(names)
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

fn fault(fault: workspace::Fault) -> FileFault {
    match fault {
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

//! The gate's logic compiled natively, on the same files, as a baseline for measuring the component.
//!
//! Only for benchmarks and `cargo xtask guard`. It is hidden instead of a feature, because with another feature everything that uses
//! this crate would be compiled twice. A host that used it for decisions would not run the verified component.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use tollgate_guest::gate::Gate;
use tollgate_guest::ports::{
    Clock, Environment, Expectation, Facts, FileFault, Listing, ListingLimits, Log, LogLevel, Ports, Question, Random, Records,
    Root, Tail, Timestamp, Workspace,
};

use crate::bindings::tollgate::hooks::{records, workspace};
use crate::error::Error;
use crate::files::{FileError, Files, states_folder};

tollgate_guest::contract_conversions!(workspace, records);

/// The native gate of a workspace.
pub struct NativeGate {
    gate: RefCell<Gate>,
    files: Rc<Native>,
}

impl NativeGate {
    /// Opens the gate with user settings and hooks from a home folder, which also contains the state folder.
    pub fn open(folder: &Path, home: &Path) -> Result<Self, Error> {
        let state = states_folder(Some(home), None)?;
        Self::from_files(Files::open(folder, Some(home), Some(&state))?)
    }

    fn from_files(files: Files) -> Result<Self, Error> {
        let files = Rc::new(Native { files, crossings: Cell::new(0), ahead: Cell::new(Duration::ZERO) });
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

    /// Sets the clock ahead of the system's. Files that have just been written are then old enough for their parsed form to be
    /// stored.
    pub fn set_ahead(&self, ahead: Duration) {
        self.files.ahead.set(ahead);
    }

    /// How often the gate called its host. In the component, each is a call of an import.
    pub fn crossings(&self) -> u64 {
        self.files.crossings.get()
    }
}

struct Native {
    files: Files,
    crossings: Cell<u64>,
    /// By how much the clock is ahead of the system's.
    ahead: Cell<Duration>,
}

impl Native {
    /// Counts one call of the gate to its host, and returns the files for it.
    fn count_crossing(&self) -> &Files {
        self.crossings.set(self.crossings.get() + 1);
        &self.files
    }
}

impl Workspace for Native {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let asked: Vec<_> = questions.iter().map(question).collect();
        self.count_crossing().inspect(&asked).into_iter().map(facts).collect()
    }

    fn read(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.count_crossing().read(root(at), path, limit_bytes).map_err(file_fault)
    }

    fn read_range(&self, at: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.count_crossing().read_range(root(at), path, offset, limit_bytes).map_err(file_fault)
    }

    fn read_tail(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        self.count_crossing().read_tail(root(at), path, limit_bytes).map(tail).map_err(file_fault)
    }

    fn list(&self, at: Root, directory: &str, limits: &ListingLimits) -> Result<Listing, FileFault> {
        self.count_crossing().list(root(at), directory, &reach(limits)).map(listing).map_err(file_fault)
    }
}

impl Records for Native {
    fn append(&self, at: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        self.count_crossing().append(root(at), path, bytes).map_err(file_fault)
    }

    fn replace(&self, at: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        self.count_crossing().replace(root(at), path, bytes, &expectation(expected)).map_err(file_fault)
    }

    fn remove(&self, at: Root, path: &str) -> Result<(), FileFault> {
        self.count_crossing().remove(root(at), path).map_err(file_fault)
    }
}

impl Log for Native {
    fn write(&self, _level: LogLevel, _message: &str, _details: &serde_json::Value) {
        self.count_crossing();
    }
}

impl Clock for Native {
    fn now(&self) -> Timestamp {
        self.count_crossing();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + self.ahead.get();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Random for Native {
    fn random_bytes(&self) -> [u8; 16] {
        self.count_crossing();
        let mut bytes = [0; 16];
        let _ = getrandom::fill(&mut bytes);
        bytes
    }
}

impl Environment for Native {
    fn variables(&self, names: &[String]) -> Vec<Option<String>> {
        self.count_crossing();
        names.iter().map(|name| std::env::var(name).ok()).collect()
    }

    fn secrets(&self, names: &[String]) -> Vec<Option<String>> {
        self.count_crossing();
        names.iter().map(|_| None).collect()
    }
}

fn file_fault(error: FileError) -> FileFault {
    fault(error.fault)
}

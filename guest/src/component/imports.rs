//! The component's imports as [`Ports`].

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::bindings::tollgate::hooks::{environment, log, records, workspace};
use crate::ports::{
    Clock, Environment, Expectation, Facts, FileFault, Listing, ListingLimits, Log, LogLevel, Ports, Question, Random, Records,
    Root, Tail, Timestamp, Workspace,
};

crate::contract_conversions!(workspace, records);

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
        workspace::inspect(&questions.iter().map(question).collect::<Vec<_>>()).into_iter().map(facts).collect()
    }

    fn read(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        workspace::read(root(at), path, limit_bytes).map_err(fault)
    }

    fn read_range(&self, at: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        workspace::read_range(root(at), path, offset, limit_bytes).map_err(fault)
    }

    fn read_tail(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        workspace::read_tail(root(at), path, limit_bytes).map(tail).map_err(fault)
    }

    fn list(&self, at: Root, directory: &str, limits: &ListingLimits) -> Result<Listing, FileFault> {
        workspace::list(root(at), directory, &reach(limits)).map(listing).map_err(fault)
    }
}

impl Records for Imports {
    fn append(&self, at: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        records::append(root(at), path, bytes).map_err(fault)
    }

    fn replace(&self, at: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        records::replace(root(at), path, bytes, &expectation(expected)).map_err(fault)
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

//! The imports of the contract: everything a guest can access.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wasmtime::StoreLimits;

use crate::bindings::tollgate::hooks::environment;
use crate::bindings::tollgate::hooks::log::{self, Level};
use crate::bindings::tollgate::hooks::records::{self, Expectation};
use crate::bindings::tollgate::hooks::types;
use crate::bindings::tollgate::hooks::workspace::{self, Facts, Fault, Listing, Question, Reach, Root, Tail};
use crate::files::Files;
use crate::keyring;

/// A guest may request at most this many random bytes at once; it needs sixteen.
const MAX_RANDOM_BYTES: u64 = 1 << 16;

/// Receives a level, a message and details as JSON.
pub(crate) type LogSink = Box<dyn FnMut(Level, &str, &str) + Send>;

/// Fills a slice with random bytes.
pub(crate) type RandomSource = Box<dyn FnMut(&mut [u8]) -> wasmtime::Result<()> + Send>;

/// Returns the value of an environment variable, or `None` if it is not set.
pub(crate) type VariableSource = Box<dyn Fn(&str) -> Option<String> + Send>;

/// The log, the clock, the source of random bytes and the environment.
pub(crate) struct HostServices {
    pub(crate) log: LogSink,
    pub(crate) variables: VariableSource,
    pub(crate) clock: Box<dyn Fn() -> Duration + Send>,
    pub(crate) random: RandomSource,
}

impl Default for HostServices {
    fn default() -> Self {
        Self {
            log: Box::new(|_, _, _| ()),
            variables: Box::new(|name| std::env::var(name).ok()),
            clock: Box::new(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()),
            random: Box::new(system_random),
        }
    }
}

fn system_random(bytes: &mut [u8]) -> wasmtime::Result<()> {
    getrandom::fill(bytes).map_err(|fault| wasmtime::format_err!("no random bytes: {fault}"))
}

/// Everything that one instance has access to.
pub(crate) struct Imports {
    files: Arc<Files>,
    services: HostServices,
    limits: StoreLimits,
}

impl Imports {
    pub(crate) fn new(files: Arc<Files>, services: HostServices, limits: StoreLimits) -> Self {
        Self { files, services, limits }
    }

    pub(crate) fn limits(&mut self) -> &mut StoreLimits {
        &mut self.limits
    }

    pub(crate) fn now(&self) -> Duration {
        (self.services.clock)()
    }

    pub(crate) fn random(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        wasmtime::ensure!(length <= MAX_RANDOM_BYTES, "the guest requested {length} random bytes at once");
        let mut bytes = vec![0; usize::try_from(length)?];
        (self.services.random)(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn random_number(&mut self) -> wasmtime::Result<u64> {
        let mut bytes = [0; 8];
        (self.services.random)(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Always from the system: the configured source may be deterministic, and the seed of hash maps never shows in an id.
    pub(crate) fn seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        let (mut low, mut high) = ([0; 8], [0; 8]);
        system_random(&mut low)?;
        system_random(&mut high)?;
        Ok((u64::from_le_bytes(low), u64::from_le_bytes(high)))
    }

    /// Logs the message of the operating system if the contract has no specific fault for it.
    fn log_other<T>(&mut self, result: Result<T, crate::files::FileError>) -> Result<T, Fault> {
        result.map_err(|error| {
            if error.fault == Fault::Other {
                (self.services.log)(Level::Debug, &error.message, "");
            }
            error.fault
        })
    }
}

impl types::Host for Imports {}

impl workspace::Host for Imports {
    fn inspect(&mut self, questions: Vec<Question>) -> Vec<Facts> {
        self.files.inspect(&questions)
    }

    fn read(&mut self, root: Root, path: String, limit_bytes: u64) -> Result<Vec<u8>, Fault> {
        let read = self.files.read(root, &path, limit_bytes);
        self.log_other(read)
    }

    fn read_range(&mut self, root: Root, path: String, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, Fault> {
        let read = self.files.read_range(root, &path, offset, limit_bytes);
        self.log_other(read)
    }

    fn read_tail(&mut self, root: Root, path: String, limit_bytes: u64) -> Result<Tail, Fault> {
        let read = self.files.read_tail(root, &path, limit_bytes);
        self.log_other(read)
    }

    fn list(&mut self, root: Root, directory: String, reach: Reach) -> Result<Listing, Fault> {
        let listing = self.files.list(root, &directory, &reach);
        self.log_other(listing)
    }
}

impl records::Host for Imports {
    fn append(&mut self, root: Root, path: String, bytes: Vec<u8>) -> Result<(), Fault> {
        let appended = self.files.append(root, &path, &bytes);
        self.log_other(appended)
    }

    fn replace(&mut self, root: Root, path: String, bytes: Vec<u8>, expected: Expectation) -> Result<(), Fault> {
        let replaced = self.files.replace(root, &path, &bytes, &expected);
        self.log_other(replaced)
    }

    fn remove(&mut self, root: Root, path: String) -> Result<(), Fault> {
        let removed = self.files.remove(root, &path);
        self.log_other(removed)
    }
}

impl environment::Host for Imports {
    fn variables(&mut self, names: Vec<String>) -> Vec<Option<String>> {
        // The standard library panics if a name contains `=` or NUL.
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        names.iter().map(|name| if is_name(name) { (self.services.variables)(name) } else { None }).collect()
    }

    fn secrets(&mut self, names: Vec<String>) -> Vec<Option<String>> {
        names.iter().map(|name| keyring::read(name)).collect()
    }
}

impl log::Host for Imports {
    fn write(&mut self, level: Level, message: String, details: Vec<u8>) {
        (self.services.log)(level, &message, &String::from_utf8_lossy(&details));
    }
}

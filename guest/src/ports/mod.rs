//! Everything the gate needs from its host, as traits.
//!
//! In the component they are the contract's imports (the `component` module); in native tests they are [`memory`].

mod contract;
pub mod marks;
pub mod memory;
mod timestamp;

use std::rc::Rc;

use serde_json::Value;

use crate::digest::Digest;
use crate::redact::Secrets;
pub use timestamp::Timestamp;

/// A folder that the host exposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// The workspace.
    Project,
    /// The user's home folder.
    Home,
    /// What the gate keeps between calls; see [`state`](crate::state).
    State,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A device, a pipe, a socket; in listings also a link.
    Other,
    /// The host may not look at the path.
    Unreadable,
}

/// A path to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The root at which a relative path begins.
    pub root: Root,
    /// Relative to the root, or absolute; not normalized, because the host has to resolve `..` after a link.
    pub path: String,
    /// Whether the content's digest is wanted.
    pub digest: bool,
}

impl Question {
    /// A question about a file of the workspace, without its digest.
    pub fn project(path: impl Into<String>) -> Self {
        Self { root: Root::Project, path: path.into(), digest: false }
    }
}

/// What the host reports about one path in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What is at `real_path`.
    pub kind: FileKind,
    /// Where the path leads once every link is followed; `None` if it leads nowhere.
    pub real_path: Option<String>,
    /// The same, without following the last name's own link.
    pub entry_path: Option<String>,
    /// The target of the link at `entry_path`, as written; `None` if there is no link, or if it is not UTF-8.
    pub link: Option<String>,
    /// How many names the file has.
    pub hard_links: u32,
    /// The same for all names of one file; 0 if unknown.
    pub identity: u64,
    /// Changes whenever the content may have changed; 0 if nothing is there.
    pub stamp: u64,
    /// When the file last changed in any way, in milliseconds since 1970; 0 if unknown.
    pub changed_ms: u64,
    /// The size in bytes.
    pub size: u64,
    /// The content's digest, if it was asked for and is available.
    pub digest: Option<Digest>,
}

impl Facts {
    /// The facts about a path where nothing is.
    pub const fn missing() -> Self {
        Self {
            kind: FileKind::Missing,
            real_path: None,
            entry_path: None,
            link: None,
            hard_links: 0,
            identity: 0,
            stamp: 0,
            changed_ms: 0,
            size: 0,
            digest: None,
        }
    }
}

/// Why a file could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// The host does not expose this path.
    #[error("access denied")]
    Denied,
    /// Nothing is there.
    #[error("no such file")]
    Missing,
    /// Something is there already.
    #[error("it already exists")]
    Exists,
    /// The content is no longer what was expected.
    #[error("it has changed in the meantime")]
    Changed,
    /// It exceeds the given limit.
    #[error("it is too large")]
    TooLarge,
    /// Someone else holds it.
    #[error("it is busy")]
    Busy,
    /// There is no space left.
    #[error("the disk is full")]
    Full,
    /// Anything else.
    #[error("the host could not do it; its log says why")]
    Other,
}

/// Folders that are large and not edited by hand, which most listings do not enter.
pub const LARGE_FOLDERS: [&str; 3] = [".git", "node_modules", "target"];

/// The limits of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingLimits {
    /// How deep the listing goes; 1 lists the folder itself.
    pub depth: u32,
    /// Maximum number of entries.
    pub limit: u32,
    /// Folders with these names are listed but not entered.
    pub skip: Vec<String>,
}

impl ListingLimits {
    /// Limits for a listing that does not enter [`LARGE_FOLDERS`].
    pub fn without_large_folders(depth: u32, limit: u32) -> Self {
        Self { depth, limit, skip: LARGE_FOLDERS.map(str::to_owned).to_vec() }
    }
}

/// One name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Relative to the listed folder.
    pub path: String,
    /// What is there, without following links.
    pub kind: FileKind,
    /// The target of a link, as written; `None` for everything else, and if it is not UTF-8.
    pub link: Option<String>,
    /// As in [`Facts`].
    pub hard_links: u32,
    /// As in [`Facts`].
    pub identity: u64,
    /// As in [`Facts`].
    pub stamp: u64,
    /// As in [`Facts`].
    pub changed_ms: u64,
    /// As in [`Facts`].
    pub size: u64,
}

/// The names below a folder, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The names.
    pub entries: Vec<DirEntry>,
    /// Whether the limit cut it short.
    pub truncated: bool,
    /// The first entry that exists but could not be reported: a name that is not UTF-8, a folder that cannot be opened.
    pub unseen: Option<String>,
}

/// The end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// Where in the file the bytes begin.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Reads files and folders.
pub trait Workspace {
    /// Inspects many paths in one crossing; the answers are in the order of the questions.
    fn inspect(&self, questions: &[Question]) -> Vec<Facts>;
    /// Reads a whole file, if it is no longer than the limit.
    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault>;
    /// Reads a part of a file.
    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault>;
    /// Reads the last bytes of a file.
    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault>;
    /// Lists the names below a folder.
    fn list(&self, root: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault>;
}

/// What must be at a path before it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Whatever there is.
    Anything,
    /// Nothing.
    Absent,
    /// Content with this digest.
    Digest(Digest),
}

/// Writes the gate's own files.
pub trait Records {
    /// Appends in one write.
    fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault>;
    /// Replaces the whole content atomically.
    fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault>;
    /// Removes a file.
    fn remove(&self, root: Root, path: &str) -> Result<(), FileFault>;
}

/// The severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// For those who investigate a fault.
    Debug,
    /// Worth knowing.
    Info,
    /// The gate recovered; worth a look.
    Warn,
    /// Something was not done.
    Error,
}

/// The log that the operator of the host reads.
pub trait Log {
    /// Writes one line; `details` is a JSON object or null.
    fn write(&self, level: LogLevel, message: &str, details: &Value);
}

/// The time of day.
pub trait Clock {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// A source of unpredictable bytes.
pub trait Random {
    /// Sixteen unpredictable bytes.
    fn random_bytes(&self) -> [u8; 16];
}

/// What the user keeps outside of files, by name.
pub trait Environment {
    /// The values of variables, in the order of the names.
    fn variables(&self, names: &[String]) -> Vec<Option<String>>;
    /// The secrets in the system's keyring, in the order of the names.
    fn secrets(&self, names: &[String]) -> Vec<Option<String>>;
}

/// Everything through which the gate reaches the outside world.
#[derive(Clone)]
pub struct Ports {
    /// Reads files and folders.
    pub workspace: Rc<dyn Workspace>,
    /// Writes the gate's own files.
    pub records: Rc<dyn Records>,
    /// The log.
    pub log: Rc<dyn Log>,
    /// The time of day.
    pub clock: Rc<dyn Clock>,
    /// Unpredictable bytes.
    pub random: Rc<dyn Random>,
    /// What the user keeps outside of files.
    pub environment: Rc<dyn Environment>,
    /// Redacts everything that is said and written down.
    pub secrets: Rc<Secrets>,
}

impl Ports {
    /// Logs that something went wrong that did not stop the work.
    pub fn warn(&self, message: &str) {
        self.log.write(LogLevel::Warn, &self.secrets.redact(message), &Value::Null);
    }

    /// Logs that something was not done.
    pub fn fail(&self, message: &str) {
        self.log.write(LogLevel::Error, &self.secrets.redact(message), &Value::Null);
    }
}

//! Everything the gate needs from its host, as traits.
//!
//! In the component they are the contract's imports (`component.rs`); in native tests they are [`memory`].

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
    /// The host may not look there.
    Unreadable,
}

/// A path to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Where a relative path begins.
    pub root: Root,
    /// Relative to the root, or absolute; not normalised, because `..` after a link is the host's to walk.
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

/// What the host can tell about one path in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What is at `real_path`.
    pub kind: FileKind,
    /// Where the path leads once every link is followed; none where it leads nowhere.
    pub real_path: Option<String>,
    /// The same with the last name's own link not followed.
    pub entry_path: Option<String>,
    /// What the link at `entry_path` says, as it was written; none where no link is there, or where it is not UTF-8.
    pub link: Option<String>,
    /// How many names the file has.
    pub hard_links: u32,
    /// The same for all names of one file; 0 where unknown.
    pub identity: u64,
    /// Changes whenever the content may have changed; 0 if nothing is there.
    pub stamp: u64,
    /// When the file last changed in any way, in milliseconds since 1970; 0 where unknown.
    pub changed_ms: u64,
    /// In bytes.
    pub size: u64,
    /// The content's digest, where it was asked for and can be had.
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
    /// There is no room.
    #[error("the disk is full")]
    Full,
    /// Anything else.
    #[error("the host could not do it; its log says why")]
    Other,
}

/// How far a listing goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingLimits {
    /// 1 lists the folder itself.
    pub depth: u32,
    /// At most this many entries.
    pub limit: u32,
    /// Folders of these names are listed, never entered.
    pub skip: Vec<String>,
}

/// One name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Relative to the listed folder.
    pub path: String,
    /// What is there, no link followed.
    pub kind: FileKind,
    /// What a link says, as it was written; none for everything else, and where it is not UTF-8.
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
    /// The first entry that exists and could not be reported: a name that is not UTF-8, a folder that cannot be opened.
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

/// Files to look at.
pub trait Workspace {
    /// Looks at many paths in one crossing; the answers stand in the order of the questions.
    fn inspect(&self, questions: &[Question]) -> Vec<Facts>;
    /// A whole file, if it is no longer than the limit.
    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault>;
    /// A part of a file.
    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault>;
    /// The last bytes of a file.
    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault>;
    /// The names below a folder.
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

/// The gate's own files, to write.
pub trait Records {
    /// Appends in one write.
    fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault>;
    /// Replaces the whole content atomically.
    fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault>;
    /// Takes a file away.
    fn remove(&self, root: Root, path: &str) -> Result<(), FileFault>;
}

/// How much a log line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// For those who look into a fault.
    Debug,
    /// Worth knowing.
    Info,
    /// Recovered; worth a look.
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
    /// Sixteen of them.
    fn random_bytes(&self) -> [u8; 16];
}

/// What the user keeps outside of files, by name.
pub trait Environment {
    /// The values of variables, in the order of the names.
    fn variables(&self, names: &[String]) -> Vec<Option<String>>;
    /// The secrets in the system's keyring, in the order of the names.
    fn secrets(&self, names: &[String]) -> Vec<Option<String>>;
}

/// Everything the gate reaches the world through.
#[derive(Clone)]
pub struct Ports {
    /// Files to look at.
    pub workspace: Rc<dyn Workspace>,
    /// The gate's own files, to write.
    pub records: Rc<dyn Records>,
    /// Where it speaks.
    pub log: Rc<dyn Log>,
    /// The time of day.
    pub clock: Rc<dyn Clock>,
    /// Unpredictable bytes.
    pub random: Rc<dyn Random>,
    /// What the user keeps outside of files.
    pub environment: Rc<dyn Environment>,
    /// What is said and written down goes through here first.
    pub secrets: Rc<Secrets>,
}

impl Ports {
    /// Says that something went wrong that did not stop the work.
    pub fn warn(&self, message: &str) {
        self.log.write(LogLevel::Warn, &self.secrets.redact(message), &Value::Null);
    }

    /// Says that something was not done.
    pub fn fail(&self, message: &str) {
        self.log.write(LogLevel::Error, &self.secrets.redact(message), &Value::Null);
    }
}

//! Collects the facts about a path.

use cap_std::fs::Metadata;
use sha2::{Digest as _, Sha256};
use std::io::{self, Read};
use tollgate_guest::digest::Digest;

use super::walk::{FolderCache, Names, Stat, join_names};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Facts, Kind, Marks, Question, Root};

impl Files {
    /// The facts about several paths.
    pub(crate) fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let mut folders = FolderCache::default();
        questions.iter().map(|question| self.facts(question, &mut folders)).collect()
    }

    fn facts(&self, question: &Question, folders: &mut FolderCache) -> Facts {
        let walked = self.walk_cached(question.root, &question.path, folders);
        let mut facts = Facts {
            kind: Kind::Missing,
            real_path: walked.real.as_ref().map(|names| self.guest_path(names)),
            entry_path: walked.entry.as_ref().map(|names| self.guest_path(names)),
            link: walked.link,
            hard_links: 0,
            marks: NONE,
            size: 0,
            digest: None,
        };
        match walked.found {
            Stat::Missing => {}
            Stat::Denied => facts.kind = Kind::Unreadable,
            Stat::Found(metadata) => {
                facts.kind = kind(&metadata);
                facts.hard_links = hard_links(&metadata);
                facts.marks = marks(&metadata);
                if metadata.is_file() {
                    facts.size = metadata.len();
                    facts.digest =
                        walked.real.filter(|_| question.digest).and_then(|real| self.digest(Root::Project, &real).ok());
                }
            }
        }
        facts
    }

    /// The digest of a readable file.
    pub(super) fn digest(&self, root: Root, real: &Names) -> Result<String, FileError> {
        let (dir, below) = self.readable(root, real)?;
        Ok(digest_of(&mut dir.open(join_names(below))?)?.to_string())
    }
}

/// The digest of a file, computed in pieces because it may be larger than memory.
pub fn digest_of(file: &mut impl Read) -> io::Result<Digest> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(Digest::from_bytes(hasher.finalize().into())),
            length => hasher.update(piece.get(..length).unwrap_or_default()),
        }
    }
}

pub(super) fn kind(metadata: &Metadata) -> Kind {
    if metadata.is_file() {
        Kind::File
    } else if metadata.is_dir() {
        Kind::Directory
    } else {
        Kind::Other
    }
}

/// The marks of a path that does not exist.
const NONE: Marks = Marks { device: 0, inode: 0, changed_ns: 0, modified_ns: 0 };

/// The number of hard links of a file. The link count of a directory means something else.
#[cfg(unix)]
pub(super) fn hard_links(metadata: &Metadata) -> u32 {
    use cap_std::fs::MetadataExt as _;
    if metadata.is_dir() { 1 } else { u32::try_from(metadata.nlink()).unwrap_or(u32::MAX) }
}

/// What identifies a file and its version.
#[cfg(unix)]
pub(super) fn marks(metadata: &Metadata) -> Marks {
    use cap_std::fs::MetadataExt as _;
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Marks {
        device: metadata.dev(),
        inode: metadata.ino(),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
    }
}

/// Other systems report hard links and change times only for open files.
#[cfg(not(unix))]
pub(super) fn hard_links(_metadata: &Metadata) -> u32 {
    1
}

/// What identifies a version of a file.
#[cfg(not(unix))]
pub(super) fn marks(metadata: &Metadata) -> Marks {
    let modified = metadata.modified().ok().map(|time| time.into_std());
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    Marks { modified_ns: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX), ..NONE }
}

//! What one look at a path brings.

use cap_std::fs::Metadata;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::Read as _;

use super::walk::{Look, Names, joined};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Facts, Kind, Question, Root};

impl Files {
    /// Everything that can be told about a path in one look.
    pub(crate) fn inspect(&self, question: &Question) -> Facts {
        let walked = self.walk(question.root, &question.path);
        let mut facts = Facts {
            kind: Kind::Missing,
            real_path: walked.real.as_ref().map(|names| self.reported(names)),
            entry_path: walked.entry.as_ref().map(|names| self.reported(names)),
            link: walked.link,
            hard_links: 0,
            identity: 0,
            stamp: 0,
            size: 0,
            digest: None,
        };
        match walked.found {
            Look::Missing => {}
            Look::Refused => facts.kind = Kind::Unreadable,
            Look::Found(metadata) => {
                let marks = marks(&metadata);
                facts.kind = kind(&metadata);
                facts.hard_links = marks.hard_links;
                facts.identity = marks.identity;
                facts.stamp = marks.stamp;
                if metadata.is_file() {
                    facts.size = metadata.len();
                    facts.digest =
                        walked.real.filter(|_| question.digest).and_then(|real| self.digest(Root::Project, &real).ok());
                }
            }
        }
        facts
    }

    /// The digest of a file that may be read, taken in pieces: a file may be larger than memory.
    pub(super) fn digest(&self, root: Root, real: &Names) -> Result<String, FileError> {
        let (dir, below) = self.readable(root, real)?;
        let mut file = dir.open(joined(below))?;
        let mut hasher = Sha256::new();
        let mut piece = vec![0; 64 << 10];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                length => hasher.update(piece.get(..length).unwrap_or_default()),
            }
        }
        Ok(hexed(&hasher.finalize()))
    }
}

/// `sha256:` and hex digits.
pub(crate) fn hexed(digest: &[u8]) -> String {
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
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

/// What tells files and their versions apart.
pub(super) struct Marks {
    pub(super) hard_links: u32,
    pub(super) identity: u64,
    pub(super) stamp: u64,
}

/// A file's change time cannot be set back, so it goes into the stamp beside the usual times.
#[cfg(unix)]
pub(super) fn marks(metadata: &Metadata) -> Marks {
    use cap_std::fs::MetadataExt as _;
    let identity = mix(&[metadata.dev(), metadata.ino()]);
    let times = [metadata.ctime(), metadata.ctime_nsec(), metadata.mtime(), metadata.mtime_nsec()].map(i64::cast_unsigned);
    Marks {
        // What file systems count for a folder is not its names.
        hard_links: if metadata.is_dir() { 1 } else { u32::try_from(metadata.nlink()).unwrap_or(u32::MAX) },
        identity,
        stamp: mix(&[identity, mix(&times), metadata.size()]),
    }
}

/// Elsewhere neither a second name nor a change time can be had without opening the file.
#[cfg(not(unix))]
pub(super) fn marks(metadata: &Metadata) -> Marks {
    let modified = metadata.modified().ok().map(|time| time.into_std());
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    Marks { hard_links: 1, identity: 0, stamp: mix(&[since.as_secs(), since.subsec_nanos().into(), metadata.len()]) }
}

/// A number that changes with any of them, and is never 0.
fn mix(values: &[u64]) -> u64 {
    let mixed = values.iter().fold(0xcbf2_9ce4_8422_2325_u64, |mixed, value| {
        let turned = (mixed ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        turned ^ (turned >> 29)
    });
    mixed.max(1)
}

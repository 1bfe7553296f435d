//! What the operating system reports about a path in one system call.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;

use crate::bindings::tollgate::hooks::workspace::{Kind, Marks};

/// The marks of a path that does not exist.
pub(super) const NO_MARKS: Marks = Marks { device: 0, inode: 0, changed_ns: 0, modified_ns: 0 };

/// What exists at a path, without following a link.
#[derive(Clone, Copy)]
pub(super) struct FileStat {
    type_: FileType,
    /// The number of hard links of a file. The link count of a directory means something else.
    pub(super) hard_links: u32,
    /// What identifies a file and its version.
    pub(super) marks: Marks,
    /// The size of a file.
    pub(super) size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileType {
    File,
    Folder,
    Link,
    Other,
}

impl FileStat {
    pub(super) fn is_file(&self) -> bool {
        self.type_ == FileType::File
    }

    pub(super) fn is_dir(&self) -> bool {
        self.type_ == FileType::Folder
    }

    pub(super) fn is_symlink(&self) -> bool {
        self.type_ == FileType::Link
    }

    /// The kind in the contract. A link that was not followed is none of the others.
    pub(super) fn kind(&self) -> Kind {
        match self.type_ {
            FileType::File => Kind::File,
            FileType::Folder => Kind::Directory,
            FileType::Link | FileType::Other => Kind::Other,
        }
    }
}

/// Looks up a path relative to a folder; an empty path is the folder itself.
///
/// Links in the last name are not followed. The caller has followed those before it; `cap_std` would look for them again, with three
/// system calls instead of one. If such a name becomes a link in between, the facts of another file are reported, as they would be if
/// that had happened a moment later. Contents are only read through `cap_std`.
#[cfg(unix)]
pub(super) fn stat_at(folder: &Dir, path: &Path) -> io::Result<FileStat> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Ok(rustix::fs::statat(folder, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?.into())
}

/// Looks up a name in a folder, which need not be copied.
#[cfg(unix)]
pub(super) fn stat_of_name(folder: &Dir, name: &std::ffi::CStr) -> io::Result<FileStat> {
    Ok(rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?.into())
}

#[cfg(unix)]
impl From<rustix::fs::Stat> for FileStat {
    // The types of the fields depend on the system.
    #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions, clippy::unnecessary_cast)]
    fn from(stat: rustix::fs::Stat) -> Self {
        use rustix::fs::FileType as Type;
        let type_ = match Type::from_raw_mode(stat.st_mode) {
            Type::RegularFile => FileType::File,
            Type::Directory => FileType::Folder,
            Type::Symlink => FileType::Link,
            _ => FileType::Other,
        };
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let marks = Marks {
            device: u64::try_from(stat.st_dev).unwrap_or_default(),
            inode: u64::try_from(stat.st_ino).unwrap_or_default(),
            changed_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            modified_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        };
        let hard_links = if type_ == FileType::Folder { 1 } else { u32::try_from(stat.st_nlink).unwrap_or(u32::MAX) };
        let size = if type_ == FileType::File { u64::try_from(stat.st_size).unwrap_or_default() } else { 0 };
        Self { type_, hard_links, marks, size }
    }
}

/// Other systems report hard links and change times only for open files.
#[cfg(not(unix))]
pub(super) fn stat_at(folder: &Dir, path: &Path) -> io::Result<FileStat> {
    let metadata = if path.as_os_str().is_empty() { folder.dir_metadata() } else { folder.symlink_metadata(path) }?;
    let type_ = match () {
        () if metadata.is_file() => FileType::File,
        () if metadata.is_dir() => FileType::Folder,
        () if metadata.is_symlink() => FileType::Link,
        () => FileType::Other,
    };
    let modified = metadata.modified().ok().map(|time| time.into_std());
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    let marks = Marks { modified_ns: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX), ..NO_MARKS };
    let size = if type_ == FileType::File { metadata.len() } else { 0 };
    Ok(FileStat { type_, hard_links: 1, marks, size })
}

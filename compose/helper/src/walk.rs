//! Resolves paths name by name, as an operating system does, as far as the host grants access.

use std::ffi::CString;
use std::mem::MaybeUninit;

use crate::exports::tollgate::hooks::workspace::{Kind, Marks, Root};
use crate::folders::{self, Names};

/// A path with more links than this is treated as a cycle.
const MAX_LINKS: u32 = 40;

/// What exists at a path, without following links.
pub struct Stat {
    pub kind: Kind,
    pub is_link: bool,
    pub hard_links: u32,
    pub marks: Marks,
    pub size: u64,
}

pub const NO_MARKS: Marks = Marks { device: 0, inode: 0, changed_ns: 0, modified_ns: 0 };

/// The result of looking up a path.
pub enum LookupResult {
    Missing,
    /// The path cannot be inspected.
    Denied,
    Found(Stat),
}

/// Looks up a path without following links.
pub fn look_up(at: &[String]) -> LookupResult {
    if !folders::is_in_opened_folder(at) {
        // Whatever is on the way to an opened folder must be a folder itself.
        let folder = Stat { kind: Kind::Directory, is_link: false, hard_links: 1, marks: NO_MARKS, size: 0 };
        return if folders::leads_to_opened_folder(at) { LookupResult::Found(folder) } else { LookupResult::Denied };
    }
    let Ok(path) = CString::new(folders::absolute_path(at)) else { return LookupResult::Missing };
    let mut found = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the path is NUL-terminated, and `lstat` fills the buffer if it succeeds. Otherwise it stays zeroed, which is a
    // valid `stat`.
    let (status, found) = unsafe { (libc::lstat(path.as_ptr(), found.as_mut_ptr()), found.assume_init()) };
    if status != 0 {
        let error = std::io::Error::last_os_error();
        return match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => LookupResult::Missing,
            _ => LookupResult::Denied,
        };
    }
    let mode = found.st_mode & libc::S_IFMT;
    let (is_file, is_link) = (mode == libc::S_IFREG, mode == libc::S_IFLNK);
    let kind = if is_file {
        Kind::File
    } else if mode == libc::S_IFDIR {
        Kind::Directory
    } else {
        Kind::Other
    };
    let nanoseconds = |at: libc::timespec| (at.tv_sec as i64).saturating_mul(1_000_000_000).saturating_add(i64::from(at.tv_nsec));
    let marks = Marks {
        device: found.st_dev as u64,
        inode: found.st_ino as u64,
        changed_ns: nanoseconds(found.st_ctim),
        modified_ns: nanoseconds(found.st_mtim),
    };
    let size = if is_file { u64::try_from(found.st_size).unwrap_or_default() } else { 0 };
    LookupResult::Found(Stat { kind, is_link, hard_links: u32::try_from(found.st_nlink).unwrap_or(u32::MAX), marks, size })
}

/// The result of resolving a path.
pub struct ResolvedPath {
    /// The path with every link followed.
    pub real: Option<Names>,
    /// The path without following a link in the last name.
    pub entry: Option<Names>,
    pub link: Option<String>,
    pub found: LookupResult,
}

/// Resolves a path, relative to a root.
pub fn walk(root: Root, path: &str) -> ResolvedPath {
    let unresolved = || ResolvedPath { real: None, entry: None, link: None, found: LookupResult::Missing };
    let Some(from) = folders::root_path(root).filter(|_| !path.contains('\0')) else { return unresolved() };
    let mut at = if path.starts_with('/') { Vec::new() } else { from.clone() };
    let mut ahead: Names = folders::split_path(path).into_iter().rev().collect();
    let (mut links, mut entry, mut link, mut found) = (0, None, None, None);
    while let Some(name) = ahead.pop() {
        if name == ".." {
            at.pop();
            found = None;
            continue;
        }
        at.push(name);
        let is_last = ahead.is_empty();
        match look_up(&at) {
            LookupResult::Found(stat) if stat.is_link => {
                links += 1;
                let target = std::fs::read_link(folders::absolute_path(&at))
                    .ok()
                    .and_then(|target| target.into_os_string().into_string().ok());
                let target = target.filter(|_| links <= MAX_LINKS);
                if is_last && entry.is_none() {
                    (entry, link) = (Some(at.clone()), target.clone());
                }
                let Some(target) = target else { return ResolvedPath { entry, link, ..unresolved() } };
                at.pop();
                if target.starts_with('/') {
                    at.clear();
                }
                ahead.extend(folders::split_path(&target).into_iter().rev());
                found = None;
            }
            LookupResult::Found(stat) if !is_last && stat.kind != Kind::Directory => return unresolved(),
            look => found = Some(look),
        }
    }
    let found = found.unwrap_or_else(|| look_up(&at));
    ResolvedPath { entry: Some(entry.unwrap_or_else(|| at.clone())), real: Some(at), link, found }
}

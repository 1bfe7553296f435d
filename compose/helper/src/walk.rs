//! Follows paths name by name, as an operating system does, as far as the host lets anybody look.

use std::ffi::CString;
use std::mem::MaybeUninit;

use crate::exports::tollgate::hooks::workspace::{Kind, Marks, Root};
use crate::folders::{self, Names};

/// A path with more links than this runs in a circle.
const MAX_LINKS: u32 = 40;

/// What stands at a path, links not followed.
pub struct Stat {
    pub kind: Kind,
    pub is_link: bool,
    pub hard_links: u32,
    pub marks: Marks,
    pub size: u64,
}

pub const NO_MARKS: Marks = Marks { device: 0, inode: 0, changed_ns: 0, modified_ns: 0 };

/// What a look brought.
pub enum Look {
    Missing,
    /// Nobody can look there.
    Denied,
    Found(Stat),
}

/// Looks at a path, links not followed.
pub fn look(at: &[String]) -> Look {
    if !folders::can_look(at) {
        // A folder on the way to one that is open is a folder.
        let folder = Stat { kind: Kind::Directory, is_link: false, hard_links: 1, marks: NO_MARKS, size: 0 };
        return if folders::leads_there(at) { Look::Found(folder) } else { Look::Denied };
    }
    let Ok(path) = CString::new(folders::path(at)) else { return Look::Missing };
    let mut found = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the path ends with a zero, and `lstat` fills what it is given where it succeeds. Zeros are a valid `stat` in any case.
    let (status, found) = unsafe { (libc::lstat(path.as_ptr(), found.as_mut_ptr()), found.assume_init()) };
    if status != 0 {
        let error = std::io::Error::last_os_error();
        return match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Look::Missing,
            _ => Look::Denied,
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
    Look::Found(Stat { kind, is_link, hard_links: u32::try_from(found.st_nlink).unwrap_or(u32::MAX), marks, size })
}

/// Where a path leads.
pub struct Walked {
    /// With every link followed.
    pub real: Option<Names>,
    /// With the last name's own link not followed.
    pub entry: Option<Names>,
    pub link: Option<String>,
    pub found: Look,
}

/// Follows a path from a root on.
pub fn walk(root: Root, path: &str) -> Walked {
    let nowhere = || Walked { real: None, entry: None, link: None, found: Look::Missing };
    let Some(from) = folders::of(root).filter(|_| !path.contains('\0')) else { return nowhere() };
    let mut at = if path.starts_with('/') { Vec::new() } else { from.clone() };
    let mut ahead: Names = folders::names(path).into_iter().rev().collect();
    let (mut links, mut entry, mut link, mut found) = (0, None, None, None);
    while let Some(name) = ahead.pop() {
        if name == ".." {
            at.pop();
            found = None;
            continue;
        }
        at.push(name);
        let is_last = ahead.is_empty();
        match look(&at) {
            Look::Found(stat) if stat.is_link => {
                links += 1;
                let target =
                    std::fs::read_link(folders::path(&at)).ok().and_then(|target| target.into_os_string().into_string().ok());
                let target = target.filter(|_| links <= MAX_LINKS);
                if is_last && entry.is_none() {
                    (entry, link) = (Some(at.clone()), target.clone());
                }
                let Some(target) = target else { return Walked { entry, link, ..nowhere() } };
                at.pop();
                if target.starts_with('/') {
                    at.clear();
                }
                ahead.extend(folders::names(&target).into_iter().rev());
                found = None;
            }
            Look::Found(stat) if !is_last && stat.kind != Kind::Directory => return nowhere(),
            look => found = Some(look),
        }
    }
    let found = found.unwrap_or_else(|| look(&at));
    Walked { entry: Some(entry.unwrap_or_else(|| at.clone())), real: Some(at), link, found }
}

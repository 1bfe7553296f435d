//! Opens and creates paths without following links: what is granted is what the path was when the gate looked.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, open, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{Kind, Plan};

/// Other users have no access to a folder for temporary files.
const PRIVATE: Mode = Mode::RWXU;

/// For locating a path without reading it.
#[cfg(target_os = "linux")]
const FIND: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const FIND: OFlags = OFlags::RDONLY;

/// Walks to a path name by name without following links. Missing folders are created if that is allowed.
fn walk(path: &Path, make: Option<Mode>) -> io::Result<(OwnedFd, PathBuf)> {
    let mut at = open("/", FIND | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut names: Vec<&OsStr> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::RootDir | Component::CurDir => {}
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    let Some((last, folders)) = names.split_last() else { return Ok((at, PathBuf::from("."))) };
    for name in folders {
        at = step(&at, name, make)?;
    }
    Ok((at, PathBuf::from(last)))
}

fn step(at: &OwnedFd, name: impl AsRef<Path>, make: Option<Mode>) -> io::Result<OwnedFd> {
    let name = name.as_ref();
    let flags = FIND | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match (openat(at, name, flags, Mode::empty()), make) {
        (Err(Errno::NOENT), Some(mode)) => {
            match mkdirat(at, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(fault) => return Err(fault.into()),
            }
            Ok(openat(at, name, flags, Mode::empty())?)
        }
        (found, _) => Ok(found?),
    }
}

/// Opens a path without following links.
#[cfg(target_os = "linux")]
pub(super) fn find(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags, Mode::empty(), links) {
        // Some containers block this system call.
        Err(Errno::NOSYS | Errno::PERM) => {
            let (at, name) = walk(path, None)?;
            Ok(openat(&at, &name, flags | OFlags::NOFOLLOW, Mode::empty())?)
        }
        found => Ok(found?),
    }
}

/// Creates granted paths that do not exist, as far as possible. Returns the folder for temporary files if it belongs to the user.
pub(super) fn make(plan: &Plan) -> Option<PathBuf> {
    let mut temporary = None;
    for grant in plan.grants.iter().filter(|grant| grant.make) {
        let is_temporary = plan.temporary.as_deref() == Some(&grant.path);
        let folder = if is_temporary { PRIVATE } else { Mode::from_raw_mode(0o777) };
        let made = match grant.kind {
            Kind::Tree => walk(&grant.path, Some(folder)).and_then(|(at, name)| step(&at, name, Some(folder))),
            Kind::File => make_file(&grant.path),
        };
        if is_temporary {
            temporary = made.ok().filter(is_private).map(|_| grant.path.clone());
        }
    }
    temporary
}

fn make_file(path: &Path) -> io::Result<OwnedFd> {
    let (at, name) = walk(path, None)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&at, &name, flags, Mode::from_raw_mode(0o666))?)
}

/// Whether a folder belongs to the user and is not accessible to others.
fn is_private(folder: &OwnedFd) -> bool {
    fstat(folder).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            && stat.st_uid == geteuid().as_raw()
            && Mode::from_raw_mode(stat.st_mode) == PRIVATE
    })
}

#[cfg(test)]
mod tests {
    use super::super::Grant;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn plan(grants: &[(&Path, Kind)], temporary: Option<&Path>) -> Plan {
        let grant =
            |(path, kind): &(&Path, Kind)| Grant { path: path.to_path_buf(), kind: *kind, make: true, except: Vec::new() };
        Plan { grants: grants.iter().map(grant).collect(), network: true, temporary: temporary.map(Path::to_owned) }
    }

    #[test]
    fn nothing_is_made_or_found_through_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("out/deep")).unwrap();
        symlink(top.join("out"), top.join("link")).unwrap();
        let (folder, file) = (top.join("a/b/c"), top.join("a/f"));
        make(&plan(&[(&folder, Kind::Tree), (&file, Kind::File)], None));
        assert!(folder.is_dir() && file.is_file());
        make(&plan(
            &[(&top.join("link/x/y"), Kind::Tree), (&top.join("link/f"), Kind::File), (&top.join("link"), Kind::File)],
            None,
        ));
        assert_eq!(fs::read_dir(top.join("out")).unwrap().count(), 1);
        #[cfg(target_os = "linux")]
        {
            assert!(find(&folder).is_ok());
            assert!(find(&top.join("link")).is_err() && find(&top.join("link/deep")).is_err());
        }
        // An existing file keeps its content.
        fs::write(&file, "x").unwrap();
        make(&plan(&[(&file, Kind::File)], None));
        assert_eq!(fs::read(&file).unwrap(), b"x");
    }

    #[test]
    fn a_temporary_folder_is_private_or_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let own = top.join("own");
        assert_eq!(make(&plan(&[(&own, Kind::Tree)], Some(&own))).as_deref(), Some(&*own));
        assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(make(&plan(&[(&own, Kind::Tree)], Some(&own))).as_deref(), Some(&*own), "twice");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(make(&plan(&[(&own, Kind::Tree)], Some(&own))), None);
        let file = top.join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(make(&plan(&[(&file, Kind::Tree)], Some(&file))), None);
    }
}

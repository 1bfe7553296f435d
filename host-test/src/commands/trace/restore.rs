//! Restores a file of the workspace, only if it is unchanged, and atomically.
//!
//! The gate can only write its own folders, so the command does this after a person has confirmed.

use std::io::{self, Write as _};
use std::path::{Component, Path};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};
use tollgate::digest_of;
use tollgate::temporary_file::TemporaryFile;

/// A change to a file.
#[derive(Debug)]
pub(super) enum FileRestoration<'a> {
    /// Writes this content. `executable` applies if there is no file whose mode could be kept.
    Restore { bytes: &'a [u8], executable: bool },
    /// Removes the file.
    Remove,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum RestoreError {
    #[error("`{0}` is not a path of a file in the workspace")]
    NotAPath(String),
    #[error("`{0}` leads out of the workspace; it was not changed")]
    OutsideWorkspace(String),
    #[error("`{0}` is a link or not a regular file; it was not changed")]
    NotAFile(String),
    #[error("`{path}` has changed in the meantime: it {is}; review it and try again")]
    Changed { path: String, is: String },
    #[error("`{path}` cannot be changed: {why}")]
    Io { path: String, why: io::Error },
}

impl RestoreError {
    fn io_error(path: &str) -> impl Fn(io::Error) -> Self + '_ {
        move |why| {
            // This comes from the folder handle, not from the operating system.
            let refused = why.kind() == io::ErrorKind::PermissionDenied && why.raw_os_error().is_none();
            let path = path.to_owned();
            if refused { Self::OutsideWorkspace(path) } else { Self::Io { path, why } }
        }
    }
}

/// Changes a file if its digest is still `now` at the last moment; `None` means that it does not exist.
pub(super) fn apply(workspace: &Path, path: &str, now: Option<&str>, change: &FileRestoration<'_>) -> Result<(), RestoreError> {
    let fault = RestoreError::io_error(path);
    let dir = Dir::open_ambient_dir(workspace, ambient_authority()).map_err(&fault)?;
    let (folder, name) = split_path(path)?;
    let folder = match (open_folder(&dir, folder), change) {
        (Err(why), FileRestoration::Restore { .. }) if why.kind() == io::ErrorKind::NotFound && now.is_none() => {
            dir.create_dir_all(folder).and_then(|()| open_folder(&dir, folder)).map_err(&fault)?
        }
        (opened, _) => opened.map_err(&fault)?,
    };
    let check = || check_unchanged(&folder, name, path, now);
    check()?;
    match change {
        FileRestoration::Remove => folder.remove_file(name).map_err(fault),
        FileRestoration::Restore { bytes, executable } => {
            let standing = folder.symlink_metadata(name).ok();
            let mut temporary =
                TemporaryFile::create(folder.try_clone().map_err(&fault)?, &options(*executable)).map_err(&fault)?;
            fill(temporary.file(), bytes, standing.as_ref()).map_err(&fault)?;
            check()?;
            if now.is_some() { temporary.replace(name) } else { temporary.place_new(name) }.map_err(fault)
        }
    }
}

/// Splits a path into its folder and file name.
fn split_path(path: &str) -> Result<(&Path, &Path), RestoreError> {
    let whole = Path::new(path);
    let names = whole.components().all(|name| matches!(name, Component::Normal(_)));
    match (whole.parent(), whole.file_name()) {
        (Some(folder), Some(name)) if names && !path.ends_with('/') => Ok((folder, name.as_ref())),
        _ => Err(RestoreError::NotAPath(path.to_owned())),
    }
}

fn open_folder(dir: &Dir, folder: &Path) -> io::Result<Dir> {
    if folder.as_os_str().is_empty() { dir.try_clone() } else { dir.open_dir(folder) }
}

/// Checks that the file is still what it was when the person was asked.
fn check_unchanged(folder: &Dir, name: &Path, path: &str, now: Option<&str>) -> Result<(), RestoreError> {
    let fault = RestoreError::io_error(path);
    let changed = |is: String| Err(RestoreError::Changed { path: path.to_owned(), is });
    match (folder.symlink_metadata(name), now) {
        (Err(why), None) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        (Err(why), Some(_)) if why.kind() == io::ErrorKind::NotFound => changed("no longer exists".to_owned()),
        (Err(why), _) => Err(fault(why)),
        (Ok(found), _) if !found.is_file() => Err(RestoreError::NotAFile(path.to_owned())),
        (Ok(_), None) => changed("exists again".to_owned()),
        (Ok(_), Some(now)) => match digest_of(&mut folder.open(name).map_err(&fault)?).map_err(&fault)?.to_string() {
            is if is == now => Ok(()),
            is => changed(format!("is {is}")),
        },
    }
}

/// Writes the content and keeps the mode of the replaced file.
fn fill(file: &mut File, bytes: &[u8], standing: Option<&Metadata>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(standing) = standing {
        file.set_permissions(permission_bits(standing.permissions()))?;
    }
    file.sync_all()
}

#[cfg(unix)]
fn options(executable: bool) -> OpenOptions {
    use cap_std::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.mode(if executable { 0o777 } else { 0o666 });
    options
}

/// Without set-user-id and similar bits, because the content changes.
#[cfg(unix)]
fn permission_bits(permissions: Permissions) -> Permissions {
    use cap_std::fs::PermissionsExt as _;
    Permissions::from_mode(permissions.mode() & 0o777)
}

#[cfg(not(unix))]
fn options(_executable: bool) -> OpenOptions {
    OpenOptions::new()
}

#[cfg(not(unix))]
fn permission_bits(permissions: Permissions) -> Permissions {
    permissions
}

/// The content of a regular file below the workspace.
pub(super) fn read(workspace: &Path, path: &str) -> Option<Vec<u8>> {
    let dir = Dir::open_ambient_dir(workspace, ambient_authority()).ok()?;
    dir.metadata(path).ok().filter(Metadata::is_file)?;
    dir.read(path).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tollgate_guest::digest::Digest;

    use super::*;

    const NEW: FileRestoration<'_> = FileRestoration::Restore { bytes: b"new", executable: false };

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_changed_only_if_it_is_what_it_was() {
        for (standing, now, change, expected) in [
            (Some("old"), Some("old"), NEW, Ok(Some("new"))),
            (Some("other"), Some("old"), NEW, Err("has changed in the meantime: it is sha256:")),
            (None, Some("old"), NEW, Err("no longer exists")),
            (None, None, NEW, Ok(Some("new"))),
            (Some("other"), None, NEW, Err("exists again")),
            (Some("old"), Some("old"), FileRestoration::Remove, Ok(None)),
            (Some("other"), Some("old"), FileRestoration::Remove, Err("has changed in the meantime")),
        ] {
            let temp = tempfile::tempdir().unwrap();
            let file = temp.path().join("a");
            if let Some(standing) = standing {
                fs::write(&file, standing).unwrap();
            }
            let now = now.map(|now| Digest::of(now.as_bytes()).to_string());
            let result = apply(temp.path(), "a", now.as_deref(), &change);
            let left = fs::read_to_string(&file).ok();
            match (result, expected) {
                (Ok(()), Ok(expected)) => assert_eq!(left.as_deref(), expected),
                (Err(fault), Err(expected)) => {
                    assert!(fault.to_string().contains(expected), "{fault}");
                    assert_eq!(left.as_deref(), standing);
                }
                (result, expected) => panic!("{result:?} instead of {expected:?}"),
            }
            assert!(names(temp.path()).iter().all(|name| name == "a"));
        }
    }

    #[test]
    fn folders_that_went_with_the_file_come_back() {
        let temp = tempfile::tempdir().unwrap();
        apply(temp.path(), "a/b/c", None, &NEW).unwrap();
        assert_eq!(
            (fs::read(temp.path().join("a/b/c")).unwrap(), names(&temp.path().join("a/b"))),
            (b"new".to_vec(), vec!["c".to_owned()])
        );
        assert!(apply(temp.path(), "x/y", Some("sha256:"), &NEW).is_err() && !temp.path().join("x").exists());
    }

    #[test]
    fn only_paths_of_the_workspace_are_taken() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        fs::create_dir(&root).unwrap();
        let outside = temp.path().join("outside");
        for path in ["", ".", "..", "../outside", "a/../../outside", "a/", outside.to_str().unwrap()] {
            assert!(matches!(apply(&root, path, None, &NEW), Err(RestoreError::NotAPath(_))), "{path}");
        }
        assert_eq!((names(&root).len(), outside.exists()), (0, false));
        fs::create_dir(root.join("folder")).unwrap();
        assert!(matches!(apply(&root, "folder", None, &NEW), Err(RestoreError::NotAFile(_))));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_neither_followed_nor_replaced() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let (root, outside) = (temp.path().join("root"), temp.path().join("outside"));
        fs::create_dir_all(root.join("inside")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a"), "old").unwrap();
        fs::write(root.join("b"), "old").unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("b", root.join("to-b")).unwrap();
        symlink("gone", root.join("dangling")).unwrap();
        symlink("inside", root.join("in")).unwrap();
        let old = Digest::of(b"old").to_string();
        for change in [NEW, FileRestoration::Remove] {
            let fault = apply(&root, "out/a", Some(&old), &change).unwrap_err();
            assert!(matches!(fault, RestoreError::OutsideWorkspace(_)), "{fault}");
            assert!(matches!(apply(&root, "to-b", Some(&old), &change), Err(RestoreError::NotAFile(_))));
            assert!(matches!(apply(&root, "dangling", None, &change), Err(RestoreError::NotAFile(_))));
        }
        assert!(matches!(apply(&root, "out/new/a", None, &NEW), Err(RestoreError::OutsideWorkspace(_))));
        assert_eq!(names(&outside), ["a"]);
        assert_eq!((fs::read(outside.join("a")).unwrap(), fs::read(root.join("b")).unwrap()), (b"old".to_vec(), b"old".to_vec()));
        // A link between folders of the workspace is allowed.
        apply(&root, "in/a", None, &NEW).unwrap();
        assert_eq!(fs::read(root.join("inside/a")).unwrap(), b"new");
        // Content outside the workspace is not read either.
        assert_eq!((read(&root, "out/a"), read(&root, "b")), (None, Some(b"old".to_vec())));
    }

    #[test]
    #[cfg(unix)]
    fn a_mode_is_kept_or_gits() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(temp.path().join(name)).unwrap().permissions().mode() & 0o7777;
        fs::write(temp.path().join("a"), "old").unwrap();
        for (before, after) in [(0o640, 0o640), (0o4755, 0o755), (0o400, 0o400)] {
            fs::write(temp.path().join("fresh"), "old").unwrap();
            fs::rename(temp.path().join("fresh"), temp.path().join("a")).unwrap();
            fs::set_permissions(temp.path().join("a"), fs::Permissions::from_mode(before)).unwrap();
            apply(temp.path(), "a", Some(&Digest::of(b"old").to_string()), &NEW).unwrap();
            assert_eq!(mode("a"), after);
        }
        apply(temp.path(), "program", None, &FileRestoration::Restore { bytes: b"", executable: true }).unwrap();
        apply(temp.path(), "text", None, &NEW).unwrap();
        assert_eq!((mode("program") & 0o100, mode("text") & 0o111), (0o100, 0));
    }
}

//! A script of the workspace, run as the bytes that were checked.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::bindings::tollgate::hooks::workspace::Root;
use crate::files::{Files, hexed};

/// Longer than any script anybody writes.
const LONGEST: u64 = 64 << 20;

/// A copy that nobody else can change. It goes when this goes.
pub(super) struct Script {
    _folder: TempDir,
    pub(super) path: PathBuf,
}

/// Why there is no copy.
#[derive(Debug)]
pub(super) enum Unusable {
    /// It is not what somebody approved.
    Changed,
    /// It cannot be copied.
    Failed(String),
}

impl Script {
    /// Reads a file of the workspace, and copies it to a private folder if its digest is this one.
    pub(super) fn checked(files: &Files, path: &str, digest: &str) -> Result<Self, Unusable> {
        // What cannot be read is not what was approved either.
        let bytes = files.read(Root::Project, path, LONGEST).map_err(|_| Unusable::Changed)?;
        if hexed(&Sha256::digest(&bytes)) != digest {
            return Err(Unusable::Changed);
        }
        let name = Path::new(path).file_name().unwrap_or("script".as_ref());
        copied(name.as_ref(), &bytes).map_err(|why| {
            let folder = std::env::temp_dir();
            Unusable::Failed(format!(
                "the script `{path}` cannot be copied to `{}`: {why}; TMPDIR names another",
                folder.display()
            ))
        })
    }
}

fn copied(name: &Path, bytes: &[u8]) -> std::io::Result<Script> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("tollgate-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir()?;
    let path = folder.path().join(name);
    write(&path, bytes)?;
    Ok(Script { _folder: folder, path })
}

#[cfg(unix)]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o500).open(path)?.write_all(bytes)
}

#[cfg(not(unix))]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_checked_bytes_are_copied() {
        let (temp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = b"#!/bin/sh\n";
        let digest = hexed(&Sha256::digest(text));
        fs::create_dir(temp.path().join("hooks")).unwrap();
        fs::write(temp.path().join("hooks/a.sh"), text).unwrap();
        fs::write(outside.path().join("b.sh"), text).unwrap();
        std::os::unix::fs::symlink(outside.path().join("b.sh"), temp.path().join("out.sh")).unwrap();
        std::os::unix::fs::symlink("hooks/a.sh", temp.path().join("in.sh")).unwrap();
        let files = Files::open(temp.path(), None, None).unwrap();
        for path in ["hooks/a.sh", "in.sh"] {
            let script = Script::checked(&files, path, &digest).unwrap();
            assert_eq!(fs::read(&script.path).unwrap(), text);
            assert_eq!(script.path.file_name(), Path::new(path).file_name());
            let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777;
            assert_eq!((mode(&script.path), mode(script.path.parent().unwrap())), (0o500, 0o700));
            let path = script.path.clone();
            drop(script);
            assert!(!path.parent().unwrap().exists());
        }
        for (path, digest) in [("hooks/a.sh", "sha256:00"), ("out.sh", &digest), ("../x", &digest), ("none.sh", &digest)] {
            assert!(matches!(Script::checked(&files, path, digest), Err(Unusable::Changed)), "{path}");
        }
    }
}

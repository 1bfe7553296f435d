//! Runs a script of the workspace from a private copy of exactly the bytes that were approved.
//!
//! The gate determines which files are copied, their digests, and where the copy may be placed.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tollgate_guest::digest::Digest;

use crate::bindings::exports::tollgate::hooks::engine::{CheckedFile, CopiedArgument, ScriptCopy};
use crate::bindings::tollgate::hooks::workspace::Root;
use crate::files::Files;

/// The size limit of a copy, which is more than can be approved.
const MAX_BYTES: u64 = 64 << 20;

/// The name prefix of copies.
const PREFIX: &str = "tollgate-run-";

/// No run takes longer than this; an older folder was left by a killed process.
const MAX_COPY_AGE: Duration = Duration::from_secs(2 * 86_400);

/// A copy in a folder that only the user can access. It is removed on drop.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    folder: TempDir,
    /// The arguments that name files of the copy.
    words: Vec<(usize, String)>,
}

/// Why a copy could not be made.
#[derive(Debug)]
pub(super) enum CopyError {
    /// This file does not have the approved content.
    Changed(String),
    /// The files cannot be copied.
    Failed(String),
}

impl PrivateCopy {
    /// Makes a copy. Each file is read once, so the bytes that are written are those that were hashed.
    pub(super) fn make(ordered: &ScriptCopy, files: &Files) -> Result<Self, CopyError> {
        let folder = fresh_folder(ordered.folders.iter().map(String::as_str))?;
        let mut left = MAX_BYTES;
        for CheckedFile { path, digest } in &ordered.files {
            // A file that cannot be read is not the one that was approved either.
            let bytes = files.read(Root::Project, path, left).map_err(|_| CopyError::Changed(path.clone()))?;
            left = left.saturating_sub(bytes.len() as u64);
            if Digest::of(&bytes).to_string() != *digest {
                return Err(CopyError::Changed(path.clone()));
            }
            write(folder.path(), path, &bytes)
                .map_err(|why| CopyError::Failed(format!("`{path}` cannot be copied to `{}`: {why}", folder.path().display())))?;
        }
        let word = |word: &CopiedArgument| (usize::try_from(word.index).unwrap_or(usize::MAX), word.path.clone());
        Ok(Self { words: ordered.arguments.iter().map(word).collect(), folder })
    }

    /// Makes the arguments refer to the copy.
    pub(super) fn redirect(&self, argv: &mut [String]) -> Result<(), CopyError> {
        for (arg, path) in &self.words {
            let copied = self.folder.path().join(path);
            let (Some(word), Some(copied)) = (argv.get_mut(*arg), copied.to_str()) else {
                return Err(CopyError::Failed("the script is not among the arguments".to_owned()));
            };
            copied.clone_into(word);
        }
        Ok(())
    }
}

/// Creates a private folder in the first of these folders where that is possible.
fn fresh_folder<'f>(folders: impl Iterator<Item = &'f str>) -> Result<TempDir, CopyError> {
    let mut why = "the gate named no folder for it".to_owned();
    for folder in folders {
        let made = create_private_folder(Path::new(folder)).and_then(|()| {
            remove_stale_copies(Path::new(folder));
            let mut builder = tempfile::Builder::new();
            builder.prefix(PREFIX);
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            builder.tempdir_in(folder)
        });
        match made {
            Ok(made) => return Ok(made),
            Err(fault) => why = format!("`{folder}` cannot be used for it: {fault}"),
        }
    }
    Err(CopyError::Failed(format!("the script cannot be copied: {why}; set TMPDIR to another folder")))
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes copies that killed processes left behind.
fn remove_stale_copies(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_copy = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let age = || entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_copy && age().is_some_and(|age| age > MAX_COPY_AGE) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes a file below the folder of the copy, and nowhere else.
fn write(folder: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    let below = Path::new(path);
    if path.is_empty() || !below.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("its path leads out of the copy"));
    }
    let target: PathBuf = folder.join(below);
    if let Some(parent) = target.parent() {
        create_private_folder(parent)?;
    }
    create(&target, bytes)
}

#[cfg(unix)]
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o500).open(path)?.write_all(bytes)
}

#[cfg(not(unix))]
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::write(path, bytes)
}

// They look at modes and links.
#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_checked_bytes_are_copied() {
        let (temp, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = b"#!/bin/sh\n";
        let digest = Digest::of(text).to_string();
        fs::create_dir_all(temp.path().join("hooks/lib")).unwrap();
        fs::write(temp.path().join("hooks/a.sh"), text).unwrap();
        fs::write(temp.path().join("hooks/lib/b.sh"), text).unwrap();
        fs::write(outside.path().join("b.sh"), text).unwrap();
        std::os::unix::fs::symlink(outside.path().join("b.sh"), temp.path().join("out.sh")).unwrap();
        let files = Files::open(temp.path(), None, None).unwrap();
        let folder = outside.path().join("not/there/yet");
        let order = |paths: &[(&str, &str)]| {
            let file = |(path, digest): &(&str, &str)| CheckedFile { path: (*path).to_owned(), digest: (*digest).to_owned() };
            ScriptCopy {
                files: paths.iter().map(file).collect(),
                arguments: vec![CopiedArgument { index: 1, path: "hooks/a.sh".to_owned() }],
                folders: vec!["/dev/null/x".to_owned(), folder.to_str().unwrap().to_owned()],
            }
        };
        let copy = PrivateCopy::make(&order(&[("hooks/a.sh", &digest), ("hooks/lib/b.sh", &digest)]), &files).unwrap();
        let mut argv = ["sh", "hooks/a.sh", "x"].map(str::to_owned);
        copy.redirect(&mut argv).unwrap();
        let script = Path::new(&argv[1]);
        assert!(script.starts_with(&folder) && script.ends_with("hooks/a.sh"), "{argv:?}");
        let beside = script.with_file_name("lib").join("b.sh");
        assert_eq!((fs::read(script).unwrap(), fs::read(&beside).unwrap()), (text.to_vec(), text.to_vec()));
        let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777;
        let top = copy.folder.path();
        assert_eq!([script, top, &folder, &top.join("hooks/lib")].map(mode), [0o500, 0o700, 0o700, 0o700]);
        assert!(copy.redirect(&mut argv[..1]).is_err());
        drop(copy);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

        for (path, digest) in [("hooks/lib/b.sh", "sha256:00"), ("out.sh", &digest), ("../x", &digest), ("none.sh", &digest)] {
            let made = PrivateCopy::make(&order(&[("hooks/a.sh", &Digest::of(text).to_string()), (path, digest)]), &files);
            assert!(matches!(made, Err(CopyError::Changed(changed)) if changed == path), "{path}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left of {path}");
        }
        let nowhere = ScriptCopy { files: Vec::new(), arguments: Vec::new(), folders: vec!["/dev/null/x".to_owned()] };
        assert!(matches!(PrivateCopy::make(&nowhere, &files), Err(CopyError::Failed(why)) if why.contains("TMPDIR")));
    }

    #[test]
    fn what_was_left_behind_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - MAX_COPY_AGE - Duration::from_secs(60);
        for (name, is_old) in [("tollgate-run-1", true), ("tollgate-run-2", false), ("other", true)] {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            if is_old {
                fs::File::open(&path).unwrap().set_modified(old).unwrap();
            }
        }
        remove_stale_copies(folder.path());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["other", "tollgate-run-2"]);
    }
}

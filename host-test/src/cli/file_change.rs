//! Changes to settings files, applied all or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::Permissions;
use serde_json::Value;
use tollgate::temporary_file::TemporaryFile;

use crate::cli::CommandError;
use crate::cli::client::texts;

/// A change to a file.
#[derive(Debug, Clone)]
pub(crate) struct SettingsChange {
    pub(crate) path: PathBuf,
    /// The path, as the gate spells it.
    pub(crate) named: String,
    /// The path, as shown to people.
    pub(crate) shown: String,
    /// The current content; `None` if the file does not exist.
    pub(crate) before: Option<String>,
    /// The new content; `None` if the file is removed.
    pub(crate) after: Option<String>,
    /// The difference, as lines.
    pub(crate) diff: Vec<String>,
}

impl SettingsChange {
    /// Reads a change from the gate's answer; `None` if it is invalid.
    pub(crate) fn read(change: &Value) -> Option<Self> {
        let text = |name: &str| change.get(name)?.as_str().map(str::to_owned);
        let named = text("path")?;
        let diff = texts(change, "diff").into_iter().map(str::to_owned).collect();
        let (path, shown) = (PathBuf::from(&named), text("shown")?);
        Some(Self { path, named, shown, before: text("before"), after: text("after"), diff })
    }

    /// Why the file cannot be written, if so.
    pub(crate) fn write_error(&self) -> Option<String> {
        let tried = match self.path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok()) {
            Some(folder) => tempfile::Builder::new().prefix(".tollgate-").tempfile_in(folder).map(drop),
            None => Ok(()),
        };
        // A writable folder may contain a file that is not writable.
        let opened = || if self.before.is_some() { OpenOptions::new().append(true).open(&self.path).map(drop) } else { Ok(()) };
        tried.and_then(|()| opened()).err().map(|why| why.to_string())
    }
}

/// The content of a file, if it exists.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Applies all changes or none: everything that can fail is tried before the first file changes.
pub(crate) fn write_all(changes: &[SettingsChange]) -> Result<(), CommandError> {
    let mut made = Vec::new();
    let prepared: Result<Vec<_>, ChangeError> = changes.iter().map(|change| prepare(change, &mut made)).collect();
    prepared.and_then(|prepared| replace_all(changes, prepared)).map_err(|(path, fault)| {
        made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
        CommandError::Failed(format!("`{}` cannot be written: {fault}; nothing was changed", path.display()))
    })
}

type ChangeError = (PathBuf, io::Error);

/// Writes the new content to a temporary file in the same folder; `None` if the file is removed.
fn prepare(change: &SettingsChange, made: &mut Vec<PathBuf>) -> Result<Option<TemporaryFile>, ChangeError> {
    let failed = |fault| (change.path.clone(), fault);
    if read(&change.path).map_err(failed)? != change.before {
        return Err(failed(io::Error::other("it has changed since it was shown")));
    }
    let Some(after) = &change.after else { return Ok(None) };
    let parent = change.path.parent().unwrap_or(Path::new("."));
    for folder in parent.ancestors().collect::<Vec<_>>().into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
        match fs::create_dir(folder) {
            Ok(()) => made.push(folder.to_owned()),
            Err(_) if folder.is_dir() => {}
            Err(fault) => return Err(failed(fault)),
        }
    }
    let mut new = TemporaryFile::create_for(&change.path).map_err(failed)?;
    new.file().write_all(after.as_bytes()).map_err(failed)?;
    if change.before.is_some() {
        OpenOptions::new().append(true).open(&change.path).map_err(failed)?;
        let permissions = fs::metadata(&change.path).map_err(failed)?.permissions();
        new.file().set_permissions(Permissions::from_std(permissions)).map_err(failed)?;
    }
    Ok(Some(new))
}

fn replace_all(changes: &[SettingsChange], prepared: Vec<Option<TemporaryFile>>) -> Result<(), ChangeError> {
    for (done, (change, new)) in changes.iter().zip(prepared).enumerate() {
        let result = match new {
            Some(new) => new.replace(Path::new(change.path.file_name().unwrap_or_default())),
            None => fs::remove_file(&change.path),
        };
        if let Err(fault) = result {
            for change in changes.iter().take(done) {
                let _ = match &change.before {
                    Some(before) => fs::write(&change.path, before),
                    None => fs::remove_file(&change.path),
                };
            }
            return Err((change.path.clone(), fault));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: PathBuf, before: Option<&str>, after: Option<&str>) -> SettingsChange {
        let named = path.display().to_string();
        let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
        SettingsChange { path, shown: named.clone(), named, before, after, diff: Vec::new() }
    }

    #[test]
    fn all_or_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        fs::write(at("file"), "here").unwrap();
        let new = |path: &str| change(at(path), None, Some("new"));
        for bad in [new("file/b.json"), change(at("file"), Some("there"), Some("new")), new("file")] {
            let Err(CommandError::Failed(why)) = write_all(&[new("new/a.json"), bad]) else { panic!() };
            assert!(why.contains("/file") && why.ends_with("nothing was changed"), "{why}");
            assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        }
        write_all(&[new("new/a.json"), change(at("file"), Some("here"), None)]).unwrap();
        assert_eq!(fs::read_to_string(at("new/a.json")).unwrap(), "new");
        assert!(!at("file").exists());
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        fs::write(at("file"), "here").unwrap();
        assert_eq!(change(at("a/b/c"), None, Some("new")).write_error(), None);
        assert_eq!(change(at("file"), Some("here"), Some("new")).write_error(), None);
        assert!(change(at("file/b"), None, Some("new")).write_error().is_some());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}

//! A file that is to become another: shown, written together with others or not at all, and taken back.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::super::Stop;

/// A file that is to become another.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Change {
    pub(in crate::commands) path: PathBuf,
    /// What stands there; nothing where there is no file.
    pub(in crate::commands) before: Option<String>,
    pub(in crate::commands) after: String,
}

/// What a file says; nothing where there is none.
pub(in crate::commands) fn read(path: &Path) -> Result<Option<String>, Stop> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(Stop::Fault(format!("`{}` cannot be read: {fault}; nothing was changed", path.display()))),
    }
}

/// Where the content before stays.
pub(in crate::commands) fn backup_of(path: &Path) -> PathBuf {
    beside(path, "tollgate-backup")
}

pub(in crate::commands) fn digest(text: &str) -> String {
    let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Writes everything, or nothing: whatever can fail is tried before the first file changes.
pub(in crate::commands) fn write_all(changes: &[Change]) -> Result<Vec<PathBuf>, Stop> {
    let mut made = Vec::new();
    let prepared = changes.iter().try_for_each(|change| prepare(change, &mut made));
    let written = prepared.and_then(|()| replace_all(changes));
    written.map(|()| made.clone()).map_err(|(path, fault)| {
        for change in changes {
            let _ = fs::remove_file(beside(&change.path, "tollgate-new"));
        }
        made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
        Stop::Fault(format!("`{}` cannot be written: {fault}; nothing was changed", path.display()))
    })
}

type Failed = (PathBuf, io::Error);

/// Puts the new content beside the file.
fn prepare(change: &Change, made: &mut Vec<PathBuf>) -> Result<(), Failed> {
    let failed = |fault| (change.path.clone(), fault);
    let parent = change.path.parent().unwrap_or(Path::new("."));
    for folder in parent.ancestors().collect::<Vec<_>>().into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
        match fs::create_dir(folder) {
            Ok(()) => made.push(folder.to_owned()),
            Err(_) if folder.is_dir() => {}
            Err(fault) => return Err(failed(fault)),
        }
    }
    let new = beside(&change.path, "tollgate-new");
    fs::write(&new, &change.after).map_err(failed)?;
    if change.before.is_some() {
        // A folder that may be written in does not make a file one that may be written.
        OpenOptions::new().append(true).open(&change.path).map_err(failed)?;
        let facts = fs::metadata(&change.path).map_err(failed)?;
        fs::set_permissions(&new, facts.permissions()).map_err(failed)?;
    }
    Ok(())
}

fn replace_all(changes: &[Change]) -> Result<(), Failed> {
    for (done, change) in changes.iter().enumerate() {
        let result = fs::rename(beside(&change.path, "tollgate-new"), &change.path);
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

fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{name}.{ending}"))
}

/// A change line by line: `+` for what comes, `-` for what goes, with two lines around.
pub(in crate::commands) fn diff(change: &Change) -> Vec<String> {
    let before: Vec<&str> = change.before.as_deref().unwrap_or_default().lines().collect();
    let after: Vec<&str> = change.after.lines().collect();
    let mut marked = Vec::new();
    let (mut old, mut new) = (before.iter().peekable(), after.as_slice());
    while let Some((first, rest)) = new.split_first() {
        match old.peek() {
            Some(line) if *line == first => {
                marked.push((' ', *first));
                old.next();
                new = rest;
            }
            // What is still to come was only moved down.
            Some(line) if !new.contains(line) => {
                marked.push(('-', **line));
                old.next();
            }
            _ => {
                marked.push(('+', *first));
                new = rest;
            }
        }
    }
    marked.extend(old.map(|line| ('-', *line)));
    let near = |at: usize| {
        let from = at.saturating_sub(2);
        marked.iter().skip(from).take(at + 3 - from).any(|(mark, _)| *mark != ' ')
    };
    marked
        .iter()
        .enumerate()
        .filter(|(at, _)| near(*at))
        .map(|(_, (mark, line))| format!("{mark} {line}").trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_reads_line_by_line() {
        let change = |before: Option<&str>, after: &str| Change {
            path: PathBuf::new(),
            before: before.map(str::to_owned),
            after: after.to_owned(),
        };
        for (before, after, expected) in [
            (None, "a\nb\n", vec!["+ a", "+ b"]),
            (Some("1\n2\n3\n4\n5\n6\n"), "1\n2\n3\n4\nx\n5\n6\n", vec!["  3", "  4", "+ x", "  5", "  6"]),
            (Some("a\nb\n"), "a,\nb\n", vec!["- a", "+ a,", "  b"]),
            (Some("a\n"), "", vec!["- a"]),
        ] {
            assert_eq!(diff(&change(before, after)), expected);
        }
    }

    #[test]
    fn all_or_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        fs::write(at("file"), "here").unwrap();
        let change = |path: &str| Change { path: at(path), before: None, after: "new".to_owned() };
        let Err(Stop::Fault(why)) = write_all(&[change("new/a.json"), change("file/b.json")]) else { panic!() };
        assert!(why.contains("b.json` cannot be written") && why.ends_with("nothing was changed"), "{why}");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        assert_eq!(write_all(&[change("new/a.json")]).unwrap(), [at("new")]);
        assert_eq!(fs::read_to_string(at("new/a.json")).unwrap(), "new");
    }
}

//! Implements `records`: writes the gate's own files.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use sha2::{Digest as _, Sha256};

use crate::Helper;
use crate::exports::tollgate::hooks::records::{Expectation, Guest};
use crate::exports::tollgate::hooks::workspace::{Fault, Root};
use crate::files::fault;
use crate::folders::{self, Names};
use crate::walk::{LookupResult, look_up};

impl Guest for Helper {
    fn append(root: Root, path: String, bytes: Vec<u8>) -> Result<(), Fault> {
        let at = resolve_writable(root, &path)?;
        let mut file = OpenOptions::new().append(true).create(true).open(folders::absolute_path(&at)).map_err(fault)?;
        // Not necessarily a single write, as in the other hosts: WASI takes a few kilobytes at a time.
        file.write_all(&bytes).map_err(fault)
    }

    fn replace(root: Root, path: String, bytes: Vec<u8>, expected: Expectation) -> Result<(), Fault> {
        let at = resolve_writable(root, &path)?;
        let path = folders::absolute_path(&at);
        if let Expectation::Digest(digest) = &expected {
            let found = fs::read(&path).map_err(fault)?;
            let found = Sha256::digest(&found).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
            if found != *digest {
                return Err(Fault::Changed);
            }
        }
        let temporary = temporary_path(&at);
        fs::write(&temporary, &bytes).map_err(fault)?;
        let done = match expected {
            // A hard link is only created if the name does not exist yet, so only the first of several writers succeeds.
            Expectation::Absent => fs::hard_link(&temporary, &path),
            _ => fs::rename(&temporary, &path),
        };
        if done.is_err() || matches!(expected, Expectation::Absent) {
            let _ = fs::remove_file(&temporary);
        }
        done.map_err(fault)
    }

    fn remove(root: Root, path: String) -> Result<(), Fault> {
        fs::remove_file(folders::absolute_path(&resolve_writable(root, &path)?)).map_err(fault)
    }
}

/// A path next to a file that no other writer uses.
fn temporary_path(at: &[String]) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let chance = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}.{chance:x}-{number}.tmp", folders::absolute_path(at))
}

/// Resolves the path of a file that may be written, and creates its folders. Links are never followed.
fn resolve_writable(root: Root, path: &str) -> Result<Names, Fault> {
    let folder = folders::root_path(root).ok_or(Fault::Denied)?;
    let below = folders::split_path(path);
    let is_plain = !path.starts_with('/') && !path.contains('\0') && !below.is_empty() && below.iter().all(|name| name != "..");
    let lent: &[&str] = match root {
        Root::Project => &[".orchestration", ".tollgate"],
        Root::Home => &[".tollgate"],
        Root::State => &[],
    };
    let is_lent = root == Root::State || below.len() > 1 && below.first().is_some_and(|first| lent.contains(&first.as_str()));
    if !is_plain || !is_lent {
        return Err(Fault::Denied);
    }
    let mut at = folder.clone();
    let last = below.len() - 1;
    for (number, name) in below.into_iter().enumerate() {
        at.push(name);
        match look_up(&at) {
            LookupResult::Found(stat) if stat.is_link => return Err(Fault::Denied),
            LookupResult::Found(_) => {}
            LookupResult::Missing if number < last => fs::create_dir(folders::absolute_path(&at))
                .or_else(|error| if error.kind() == std::io::ErrorKind::AlreadyExists { Ok(()) } else { Err(fault(error)) })?,
            LookupResult::Missing => {}
            LookupResult::Denied => return Err(Fault::Denied),
        }
    }
    Ok(at)
}

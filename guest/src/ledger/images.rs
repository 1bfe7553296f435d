//! Copies of files from before a program of unknown effect ran, so that its changes outside the scope can be reverted. They are
//! kept by content, in the state folder, within limits; files that git also has are not copied.

use crate::digest::Digest;
use crate::ports::{DirEntry, Expectation, FileFault, Ports, Root};
use crate::state;

/// The folder of the copies in the state.
const FOLDER: &str = "images";

/// Maximum size of a file that is kept.
pub const MAX_BYTES_EACH: u64 = 256 << 10;

/// Maximum size, and number of files, copied before one call, because the call waits.
const MAX_BYTES_AT_ONCE: u64 = 8 << 20;
const MAX_FILES_AT_ONCE: usize = 1_000;

/// Maximum size of all copies. When it is nearly reached, copies that no file has any more are removed; beyond it nothing is
/// added.
const MAX_BYTES: u64 = 64 << 20;

/// The path of a content's copy in the state.
pub fn path(digest: &Digest) -> String {
    format!("{FOLDER}/{}", digest.hex())
}

/// Keeps copies of files: path, digest and size each. `needed` says whether the copy with a digest must stay in any case.
pub fn keep(files: &[(&str, Digest, u64)], needed: impl Fn(&Digest) -> bool, ports: &Ports) {
    // Listings are sorted.
    let mut there = state::list(FOLDER, 100_000, ports).map(|listing| listing.entries).unwrap_or_default();
    let taken = |there: &[DirEntry]| there.iter().map(|entry| entry.size).sum::<u64>();
    if taken(&there) > MAX_BYTES - MAX_BYTES_AT_ONCE {
        there.retain(|image| {
            let name = &image.path;
            let stays = format!("sha256:{name}").parse().is_ok_and(|digest| needed(&digest));
            if !stays {
                let _ = state::remove(&format!("{FOLDER}/{name}"), ports);
            }
            stays
        });
    }
    let mut left = MAX_BYTES.saturating_sub(taken(&there)).min(MAX_BYTES_AT_ONCE);
    for (file, digest, size) in files.iter().take(MAX_FILES_AT_ONCE) {
        if *size > MAX_BYTES_EACH || *size > left || there.binary_search_by(|image| image.path.cmp(&digest.hex())).is_ok() {
            continue;
        }
        let Ok(content) = ports.workspace.read(Root::Project, file, MAX_BYTES_EACH) else { continue };
        // A file that has just changed is not the one that was inspected.
        if Digest::of(&content) != *digest {
            continue;
        }
        left -= size;
        match state::replace(&path(digest), &content, Expectation::Absent, ports) {
            Ok(()) | Err(FileFault::Exists) => {}
            Err(fault) => return ports.warn(&format!("`{file}` cannot be copied before the program runs: {fault}")),
        }
    }
}

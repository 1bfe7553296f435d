//! The gate's memory between calls: small files below `.tollgate/state/`, one per session and per call under way.

use crate::digest::Digest;
use crate::ports::{Expectation, FileFault, Ports, Root};

/// No file of the state is longer.
pub const MOST_BYTES: u64 = 4 << 20;

/// Where it stands.
pub const FOLDER: &str = ".tollgate/state";

/// The file for something known by a few words. They come from outside, so they are hashed and never become a path.
pub fn path(drawer: &str, words: &[&str]) -> String {
    let mut key = Vec::new();
    for word in words {
        key.extend_from_slice(&(word.len() as u64).to_le_bytes());
        key.extend_from_slice(word.as_bytes());
    }
    format!("{}/{}.json", self::drawer(drawer), Digest::of(&key).short_hex())
}

/// The folder of things of one kind.
pub fn drawer(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Marks the folder as nothing to commit. Whoever makes the folder's first file calls this.
pub fn mark(ports: &Ports) -> Result<(), FileFault> {
    match ports.records.replace(Root::Project, &format!("{FOLDER}/.gitignore"), b"*\n", Expectation::Absent) {
        Ok(()) | Err(FileFault::Exists) => Ok(()),
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_run_together() {
        assert_ne!(path("calls", &["a", "bc"]), path("calls", &["ab", "c"]));
        assert_eq!(path("x", &["../../etc"]).matches("..").count(), 0);
    }
}

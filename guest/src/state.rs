//! The gate's memory between calls: small files below `.tollgate/state/`, one per session and per call under way.

use crate::digest::Digest;
use crate::ports::{Expectation, FileFault, Ports, Reach, Root};

/// No file of the state is longer.
pub const MOST_BYTES: u64 = 4 << 20;

/// No file that is kept as the last good one is longer.
const MOST_GOOD: u64 = 8 << 20;

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

/// Keeps a text that could be used, for a process that begins when its file no longer can be.
pub fn keep_good(name: &str, text: &[u8], ports: &Ports) {
    let path = format!("{}/{name}", drawer("good"));
    if ports.workspace.read(Root::Project, &path, MOST_GOOD).is_ok_and(|kept| kept == text) {
        return;
    }
    let kept = mark(ports).and_then(|()| ports.records.replace(Root::Project, &path, text, Expectation::Anything));
    if let Err(fault) = kept {
        ports.warn(&format!("`{path}` cannot be written, so a later fault in the file may go unnoticed: {fault}"));
    }
}

/// The last text that could be used.
pub fn good(name: &str, ports: &Ports) -> Option<Vec<u8>> {
    ports.workspace.read(Root::Project, &format!("{}/{name}", drawer("good")), MOST_GOOD).ok()
}

/// Marks the folder as nothing to commit. Whoever makes the folder's first file calls this.
pub fn mark(ports: &Ports) -> Result<(), FileFault> {
    match ports.records.replace(Root::Project, &format!("{FOLDER}/.gitignore"), b"*\n", Expectation::Absent) {
        Ok(()) | Err(FileFault::Exists) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// Old files are looked for only once there are so many, because most processes end before they could matter.
const MANY: usize = 256;

/// Takes away what nobody will ask for again: the files of a drawer that their own content says are over. Returns them.
pub fn sweep(drawer: &str, is_over: impl Fn(&[u8]) -> bool, ports: &Ports) -> Vec<String> {
    let folder = self::drawer(drawer);
    let reach = Reach { depth: 1, limit: 10_000, skip: Vec::new() };
    let mut taken = Vec::new();
    let Ok(listing) = ports.workspace.list(Root::Project, &folder, &reach) else { return taken };
    if listing.entries.len() < MANY {
        return taken;
    }
    for entry in listing.entries {
        let path = format!("{folder}/{}", entry.path);
        let content = ports.workspace.read(Root::Project, &path, MOST_BYTES).unwrap_or_default();
        if is_over(&content) && ports.records.remove(Root::Project, &path).is_ok() {
            taken.push(path);
        }
    }
    taken
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

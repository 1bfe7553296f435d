//! Reads the names and sizes in `.git/index`.
//!
//! Implements git's own [format](https://git-scm.com/docs/index-format), versions 2 to 4. A file that is in the index with its
//! current size can most likely be restored from git, and need not be copied.
//!
//! It is parsed by hand because nothing more is needed: `gix-index` maps files into memory and brings a tree of crates for what
//! are 90 lines here. If an index is not understood, files are copied that git has as well. Tests read indexes that git itself
//! has written.

use crate::ports::{FileFault, Ports, Root};

const PATH: &str = ".git/index";

/// Maximum size of an index; a larger one is not read, and git counts as having nothing.
const MAX_BYTES: u64 = 32 << 20;

/// Bytes of an entry before its name: times, numbers, size, hash, flags.
const HEAD: usize = 62;

/// The offset of the size in an entry, and of the flags.
const SIZE: usize = 36;
const FLAGS: usize = 60;

/// The flag that says that two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;

/// The files in git's index, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GitIndex(Vec<(Vec<u8>, u32)>);

impl GitIndex {
    /// Reads the index. If there is none, or none that can be understood, git counts as having nothing.
    pub fn read(ports: &Ports) -> Self {
        let bytes = ports.workspace.read(Root::Project, PATH, MAX_BYTES).unwrap_or_default();
        Self::parse(&bytes).unwrap_or_default()
    }

    /// Whether the index has a file with this size.
    pub fn has(&self, path: &str, size: u64) -> bool {
        let at = self.0.binary_search_by(|(name, _)| name.as_slice().cmp(path.as_bytes()));
        at.ok().and_then(|at| self.0.get(at)).is_some_and(|(_, known)| u64::from(*known) == size)
    }

    /// Reads the index; `None` if it exists and cannot be parsed.
    pub fn read_whole(ports: &Ports) -> Option<Self> {
        match ports.workspace.read(Root::Project, PATH, MAX_BYTES) {
            Ok(bytes) => Self::parse(&bytes),
            Err(FileFault::Missing) => Some(Self::default()),
            Err(_) => None,
        }
    }

    /// Whether the index contains any file of a folder.
    pub fn has_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let at = self.0.partition_point(|(name, _)| name.as_slice() < below.as_bytes());
        self.0.get(at).is_some_and(|(name, _)| name.starts_with(below.as_bytes()))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"DIRC")?;
        let version = number(rest, 0)?;
        let count = number(rest, 4)?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let mut files: Vec<(Vec<u8>, u32)> = Vec::new();
        let mut rest = rest.get(8..)?;
        for _ in 0..count {
            let size = number(rest, SIZE)?;
            let flags = u16::from_be_bytes([*rest.get(FLAGS)?, *rest.get(FLAGS + 1)?]);
            let head = if flags & EXTENDED == 0 { HEAD } else { HEAD + 2 };
            let mut name = Vec::new();
            let mut at = head;
            if version == 4 {
                // A name begins like the one before, without some bytes at its end.
                let (cut, length) = variable(rest.get(head..)?)?;
                at += length;
                let before = files.last().map_or(&[][..], |(name, _)| name);
                name.extend_from_slice(before.get(..before.len().checked_sub(cut)?)?);
            }
            let end = at + rest.get(at..)?.iter().position(|byte| *byte == 0)?;
            name.extend_from_slice(rest.get(at..end)?);
            // Older versions pad with zeroes, at least one, to a multiple of eight.
            let length = if version == 4 { end + 1 } else { (end + 8) & !7 };
            rest = rest.get(length..)?;
            files.push((name, size));
        }
        Some(Self(files))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// A number of seven bits per byte, the highest first, and how many bytes it takes.
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value = (value + 1) << 7;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// Real indexes, written by git itself.
    #[test]
    fn every_version_reads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let git =
            |words: &[&str]| assert!(Command::new("git").arg("-C").arg(folder.path()).args(words).status().unwrap().success());
        git(&["init", "--quiet"]);
        let files: Vec<(String, String)> = (0..300)
            .map(|number| (format!("src/{}/file{number}.txt", "d".repeat(1 + number % 13)), "x".repeat(number)))
            .collect();
        for (path, text) in &files {
            fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            fs::write(folder.path().join(path), text).unwrap();
        }
        git(&["add", "."]);
        fs::write(folder.path().join("later"), "x").unwrap();
        // An entry with extended flags.
        git(&["add", "--intent-to-add", "later"]);
        for version in ["2", "3", "4"] {
            git(&["update-index", "--index-version", version]);
            let bytes = fs::read(folder.path().join(".git/index")).unwrap();
            let index = GitIndex::parse(&bytes).unwrap();
            assert_eq!(index.0.len(), 301, "version {version}");
            for (path, text) in &files {
                assert!(index.has(path, text.len() as u64), "version {version}: {path}");
                assert!(!index.has(path, text.len() as u64 + 1));
            }
            assert!(!index.has("src", 0));
            for (folder, expected) in
                [("src", true), ("src/d", true), ("src/d/file0.txt", false), ("sr", false), ("later", false)]
            {
                assert_eq!(index.has_below(folder), expected, "{folder}");
            }
            // Cut anywhere, it is not an index, and nothing panics.
            for length in (0..bytes.len()).step_by(97) {
                let _ = GitIndex::parse(&bytes[..length]);
            }
        }
    }
}

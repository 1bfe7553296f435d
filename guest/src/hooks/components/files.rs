//! Reads and searches the files of the workspace that a hook was granted.

use crate::glob::Glob;
use crate::ports::{FileFault, FileKind, ListingLimits, Ports, Question, Root};

/// Maximum number of names that a search for files looks at.
pub const MAX_LISTED: u32 = 20_000;
/// Maximum number of files that a search finds.
pub const MAX_FOUND: usize = 10_000;
/// How many levels of folders a search descends.
pub const MAX_DEPTH: u32 = 32;
/// How often one call of a hook may read and search.
pub const MAX_READS: u32 = 64;

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    /// It is not granted, or the operating system refuses.
    Denied,
    /// It is granted, but nothing is there.
    Missing,
    /// It is longer than the limit.
    TooLarge,
    /// It is not a file.
    OtherKind,
    /// Anything else.
    Other,
}

/// The files that may be read: those that match a glob of every list.
#[derive(Debug)]
pub struct Granted(Vec<Vec<Glob>>);

impl Granted {
    /// Compiles the globs of a question. A glob that does not compile grants nothing.
    pub fn new(files: &[Vec<String>]) -> Self {
        let compile = |globs: &Vec<String>| globs.iter().filter_map(|glob| Glob::compile(glob).ok()).collect();
        Self(files.iter().map(compile).collect())
    }

    /// Whether nothing is granted at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a path is granted as it is written: plain names only, downwards.
    pub fn has(&self, path: &str) -> bool {
        let is_plain = |name: &str| !name.is_empty() && name != "." && name != "..";
        path.split('/').all(is_plain)
            && !path.contains(['\\', '\0'])
            && !self.is_empty()
            && self.0.iter().all(|globs| globs.iter().any(|glob| glob.matches(path)))
    }

    /// Reads a file. A file that is not granted is not even looked at, or a hook could find out what exists.
    pub fn read(&self, path: &str, limit_bytes: u64, ports: &Ports) -> Result<Vec<u8>, ReadFault> {
        if !self.has(path) {
            return Err(ReadFault::Denied);
        }
        let question = Question { root: Root::Project, path: path.to_owned(), digest: false };
        let facts = ports.workspace.inspect(&[question]).pop().ok_or(ReadFault::Other)?;
        // Links are followed, and the file that they lead to has to be granted as well.
        let real = facts.real_path.filter(|real| self.has(real)).ok_or(ReadFault::Denied)?;
        match facts.kind {
            FileKind::File => {}
            FileKind::Missing => return Err(ReadFault::Missing),
            FileKind::Unreadable => return Err(ReadFault::Denied),
            FileKind::Directory | FileKind::Other => return Err(ReadFault::OtherKind),
        }
        ports.workspace.read(Root::Project, &real, limit_bytes).map_err(|fault| match fault {
            FileFault::Denied => ReadFault::Denied,
            FileFault::Missing => ReadFault::Missing,
            FileFault::TooLarge => ReadFault::TooLarge,
            _ => ReadFault::Other,
        })
    }

    /// The granted files that match a glob, sorted.
    pub fn find(&self, glob: &str, ports: &Ports) -> Result<Vec<String>, ReadFault> {
        let glob = Glob::compile(glob).map_err(|_| ReadFault::Other)?;
        if self.is_empty() {
            return Err(ReadFault::Denied);
        }
        let reach = ListingLimits::without_large_folders(MAX_DEPTH, MAX_LISTED);
        let listing = ports.workspace.list(Root::Project, ".", &reach).map_err(|_| ReadFault::Other)?;
        let files = listing.entries.into_iter().filter(|entry| entry.kind == FileKind::File).map(|entry| entry.path);
        let mut found: Vec<String> = files.filter(|path| glob.matches(path) && self.has(path)).collect();
        found.sort_unstable();
        found.truncate(MAX_FOUND);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    #[test]
    fn nothing_is_read_that_is_not_granted() {
        let world = Memory::new();
        world.write("src/a.rs", "a");
        world.write("src/b/c.rs", "c");
        world.write("secret.txt", "s");
        world.symlink("../secret.txt", "src/out.rs");
        let ports = world.ports();
        let granted = Granted::new(&[vec!["src/**".to_owned()], vec!["**/*.rs".to_owned()]]);
        assert_eq!(granted.read("src/a.rs", 10, &ports), Ok(b"a".to_vec()));
        for (path, fault) in [
            ("src/none.rs", ReadFault::Missing),
            ("src/a.txt", ReadFault::Denied),
            ("src/out.rs", ReadFault::Denied),
            ("secret.txt", ReadFault::Denied),
            ("no-such.rs", ReadFault::Denied),
            ("src/../secret.txt", ReadFault::Denied),
            ("./src/a.rs", ReadFault::Denied),
            ("/src/a.rs", ReadFault::Denied),
            ("src\\a.rs", ReadFault::Denied),
            ("", ReadFault::Denied),
        ] {
            assert_eq!(granted.read(path, 10, &ports), Err(fault), "{path}");
        }
        assert_eq!(granted.read("src/a.rs", 0, &ports), Err(ReadFault::TooLarge));
        assert_eq!(granted.find("**", &ports), Ok(vec!["src/a.rs".to_owned(), "src/b/c.rs".to_owned()]));
        assert_eq!(Granted::new(&[]).find("**", &ports), Err(ReadFault::Denied));
        assert!(!Granted::new(&[vec!["[".to_owned()]]).has("a"));
    }
}

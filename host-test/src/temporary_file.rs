//! Files that appear only when they are complete: the content is written to a temporary file in the same folder, which then gets
//! the name.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

/// A new file without its final name. It is removed on drop, unless it was given one.
#[derive(Debug)]
pub struct TemporaryFile {
    folder: Dir,
    name: String,
    file: File,
    is_placed: bool,
}

impl TemporaryFile {
    /// Creates a file in a folder, under a name that no other writer uses. Files left by killed processes are skipped.
    pub fn create(folder: Dir, options: &OpenOptions) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = options.clone();
        options.write(true).create_new(true);
        loop {
            let name = format!(".tollgate-{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            match folder.open_with(&name, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => return Ok(Self { file: opened?, folder, name, is_placed: false }),
            }
        }
    }

    /// Creates a file in the folder of `path`.
    pub fn create_for(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::create(Dir::open_ambient_dir(folder, ambient_authority())?, &OpenOptions::new())
    }

    /// The file, for writing.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it the name, replacing a file of that name.
    pub fn replace(mut self, name: &Path) -> io::Result<()> {
        self.folder.rename(&self.name, &self.folder, name)?;
        self.is_placed = true;
        Ok(())
    }

    /// Gives it the name, and fails if the name exists: of several writers, only one succeeds.
    pub fn place_new(mut self, name: &Path) -> io::Result<()> {
        // One system call instead of two, where the system and the file system have it.
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            match renameat_with(&self.folder, &self.name, &self.folder, name, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.is_placed = true;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error.into()),
                Err(_) => {}
            }
        }
        match self.folder.hard_link(&self.name, &self.folder, name) {
            // Not every file system has hard links.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                rename_new((&self.folder, Path::new(&self.name)), (&self.folder, name))?;
                self.is_placed = true;
                Ok(())
            }
            linked => linked,
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Renames a file and fails if the new name exists. It first reserves the new name with an empty file, because a plain rename
/// would replace a file that was created in between.
pub fn rename_new(from: (&Dir, &Path), to: (&Dir, &Path)) -> io::Result<()> {
    drop(to.0.open_with(to.1, OpenOptions::new().write(true).create_new(true))?);
    from.0.rename(from.1, to.0, to.1).inspect_err(|_| drop(to.0.remove_file(to.1)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn folder() -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        dir.write("a", "a").unwrap();
        dir.write("b", "b").unwrap();
        (folder, dir)
    }

    #[test]
    fn a_rename_never_replaces() {
        let (_folder, dir) = folder();
        let rename = |from: &str, to: &str| rename_new((&dir, Path::new(from)), (&dir, Path::new(to))).map_err(|why| why.kind());
        assert_eq!(rename("a", "b"), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(rename("gone", "c"), Err(io::ErrorKind::NotFound));
        assert!(!dir.exists("c"));
        assert_eq!(rename("a", "c"), Ok(()));
        assert_eq!((dir.read_to_string("b").unwrap(), dir.read_to_string("c").unwrap()), ("b".to_owned(), "a".to_owned()));
    }

    #[test]
    fn only_a_placed_file_stays() {
        let (folder, dir) = folder();
        let create = |name: &str| {
            let mut file = TemporaryFile::create_for(&folder.path().join(name)).unwrap();
            file.file().write_all(b"new").unwrap();
            file
        };
        drop(create("a"));
        create("a").replace(Path::new("a")).unwrap();
        assert_eq!(create("b").place_new(Path::new("b")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        create("c").place_new(Path::new("c")).unwrap();
        let texts = ["a", "b", "c"].map(|name| dir.read_to_string(name).unwrap());
        assert_eq!((texts, dir.entries().unwrap().count()), (["new", "b", "new"].map(str::to_owned), 3));
    }
}

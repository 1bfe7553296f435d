//! Writes the gate's own files.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::{Dir, DirBuilder, OpenOptions};

use super::facts::digest_of;
use super::reading::open_regular;
use super::walk::{LookupResult, ResolvedPath, join_names};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::records::Expectation;
use crate::bindings::tollgate::hooks::workspace::{Fault, Root};
use crate::temporary_file::TemporaryFile;

/// The gate may write below these folders of the workspace.
const WRITABLE_IN_PROJECT: &[&str] = &[".orchestration", ".tollgate"];

/// The gate may write below these folders of the home folder.
const WRITABLE_IN_HOME: &[&str] = &[".tollgate"];

/// A path that may be written: a handle, the folder relative to it, and the file name.
struct WritablePath {
    #[cfg_attr(not(unix), expect(dead_code, reason = "it decides on modes, which only Unix has"))]
    root: Root,
    dir: Arc<Dir>,
    folder: PathBuf,
    name: PathBuf,
    /// Whether only the user gets access.
    private: bool,
    /// What exists there.
    existing: ExistingEntry,
}

/// What exists at a path that may be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExistingEntry {
    Nothing,
    File,
    SomethingElse,
    /// It was not looked up, because the operation itself will find out.
    Unknown,
}

impl Files {
    /// Appends bytes with a single write.
    pub(crate) fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let target = self.resolve_writable(root, path)?;
        if target.existing == ExistingEntry::SomethingElse {
            return Err(Fault::Other.into());
        }
        let mut options = options(target.private);
        options.append(true).create(true);
        without_waiting(&mut options);
        let at = target.path();
        let mut file = match target.dir.open_with(&at, &options) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                target.make_folder()?;
                target.dir.open_with(&at, &options)?
            }
            opened => opened?,
        };
        // A single write, so that the kernel appends it as a whole after whatever others append at the same time.
        let written = file.write(bytes)?;
        if written == bytes.len() { Ok(()) } else { Err(Fault::Full.into()) }
    }

    /// Replaces the whole content: writes a temporary file in the same folder and renames it.
    pub(crate) fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: &Expectation) -> Result<(), FileError> {
        let target = self.resolve_writable(root, path)?;
        if *expected == Expectation::Absent && matches!(target.existing, ExistingEntry::File | ExistingEntry::SomethingElse) {
            return Err(Fault::Exists.into());
        }
        let mut temporary = TemporaryFile::create(target.open_folder()?, &options(target.private))?;
        temporary.file().write_all(bytes)?;
        // As late as possible, because another process may replace the file meanwhile.
        if let Expectation::Digest(digest) = expected
            && target.digest().ok().as_ref() != Some(digest)
        {
            return Err(Fault::Changed.into());
        }
        // If the file must not exist, only one of several writers succeeds.
        let name = &target.name;
        let placed = if *expected == Expectation::Absent { temporary.place_new(name) } else { temporary.replace(name) };
        Ok(placed?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, root: Root, path: &str) -> Result<(), FileError> {
        if let Some((state, path)) = self.plain_in_state(root, path) {
            return Ok(state.dir()?.remove_file(path)?);
        }
        let target = self.check_writable(root, self.walk(root, path))?;
        Ok(target.dir.remove_file(target.path())?)
    }

    /// Checks that a path may be written.
    fn resolve_writable(&self, root: Root, path: &str) -> Result<WritablePath, FileError> {
        if let Some((state, path)) = self.plain_in_state(root, path)
            && let (Some(folder), Some(name)) = (path.parent(), path.file_name())
        {
            let (folder, name) = (folder.to_owned(), PathBuf::from(name));
            return Ok(WritablePath {
                root,
                dir: state.create()?,
                folder,
                name,
                private: true,
                existing: ExistingEntry::Unknown,
            });
        }
        self.check_writable(root, self.walk(root, path))
    }

    /// Checks that a path may be written after following links. Only the gate's own folders of the given root are allowed: a link in
    /// the workspace must not lead to user files.
    fn check_writable(&self, root: Root, walked: ResolvedPath) -> Result<WritablePath, FileError> {
        let real = walked.real.ok_or(Fault::Other)?;
        let own = |folder: &[String]| match (root, folder.first()) {
            (Root::State, _) => true,
            (Root::Project, Some(first)) => WRITABLE_IN_PROJECT.contains(&first.as_str()),
            (Root::Home, Some(first)) => WRITABLE_IN_HOME.contains(&first.as_str()),
            (_, None) => false,
        };
        let existing = match walked.found {
            LookupResult::Found(found) if found.is_file() => ExistingEntry::File,
            LookupResult::Found(_) => ExistingEntry::SomethingElse,
            LookupResult::Missing | LookupResult::Denied => ExistingEntry::Nothing,
        };
        if let Some(guest_folder) = self.real(root)
            && let Some([folder @ .., name]) = real.strip_folder(guest_folder)
            && own(folder)
        {
            // The workspace may be the home folder itself.
            let at_home = self.home.as_ref().is_some_and(|home| home.real == *guest_folder);
            let (folder, name, dir) = (join_names(folder), PathBuf::from(name), self.dir_to_write(root)?);
            return Ok(WritablePath { root, dir, folder, name, private: at_home || root == Root::State, existing });
        }
        Err(Fault::Denied.into())
    }
}

impl WritablePath {
    /// The path relative to the handle.
    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The digest of the file.
    fn digest(&self) -> Result<String, FileError> {
        let (mut file, _) = open_regular(&self.dir, &self.path())?;
        Ok(digest_of(&mut file)?.to_string())
    }

    /// Opens the folder, which is created if it does not exist.
    fn open_folder(&self) -> Result<Dir, FileError> {
        // The state folder itself has no name relative to its handle.
        if self.folder.as_os_str().is_empty() {
            return Ok(self.dir.try_clone()?);
        }
        match self.dir.open_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.make_folder()?;
                Ok(self.dir.open_dir(&self.folder)?)
            }
            opened => Ok(opened?),
        }
    }

    /// Creates the folder; in the state folder, accessible only to the user.
    fn make_folder(&self) -> std::io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        if self.root == Root::State {
            use cap_std::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        self.dir.create_dir_with(&self.folder, builder.recursive(true))
    }
}

/// Keeps the opening of a pipe from waiting for its other end.
#[cfg(unix)]
pub(super) fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

/// Other systems have no pipes among files.
#[cfg(not(unix))]
pub(super) fn without_waiting(_options: &mut OpenOptions) {}

#[cfg(unix)]
pub(super) fn options(private: bool) -> OpenOptions {
    use cap_std::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    if private {
        options.mode(0o600);
    }
    options
}

/// On other systems, home folders are private by default.
#[cfg(not(unix))]
pub(super) fn options(_private: bool) -> OpenOptions {
    OpenOptions::new()
}

//! Writes the gate's own files.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, DirBuilder, OpenOptions};

use super::walk::{Names, Stat, join_names};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::records::Expectation;
use crate::bindings::tollgate::hooks::workspace::{Fault, Root};
use crate::temporary_file::TemporaryFile;

/// The gate may write below these folders of the workspace.
const WRITABLE_IN_PROJECT: &[&str] = &[".orchestration", ".tollgate"];

/// The gate may write below these folders of the home folder.
const WRITABLE_IN_HOME: &[&str] = &[".tollgate"];

/// A path that may be written: a handle, the folder relative to it, and the file name.
struct WritablePath<'a> {
    root: Root,
    dir: Arc<Dir>,
    folder: &'a [String],
    name: &'a str,
    /// Whether only the user gets access.
    private: bool,
}

impl Files {
    /// Appends bytes with a single write.
    pub(crate) fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let walked = self.walk(root, path);
        let real = walked.real.ok_or(Fault::Other)?;
        let target = self.writable_path(root, &real)?;
        // Opening a pipe would wait for a reader.
        if matches!(&walked.found, Stat::Found(metadata) if !metadata.is_file()) {
            return Err(Fault::Other.into());
        }
        let mut options = options(target.private);
        options.append(true).create(true);
        let at = join_names(target.folder).join(target.name);
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
        let walked = self.walk(root, path);
        let real = walked.real.ok_or(Fault::Other)?;
        let target = self.writable_path(root, &real)?;
        let stands = matches!(walked.found, Stat::Found(_));
        match expected {
            Expectation::Anything => {}
            Expectation::Absent if stands => return Err(Fault::Exists.into()),
            Expectation::Absent => {}
            Expectation::Digest(_) if !stands => return Err(Fault::Changed.into()),
            Expectation::Digest(digest) => {
                if self.digest(root, &real).ok().as_ref() != Some(digest) {
                    return Err(Fault::Changed.into());
                }
            }
        }
        let name = Path::new(target.name);
        let mut temporary = TemporaryFile::create(self.folder(&target)?, &options(target.private))?;
        temporary.file().write_all(bytes)?;
        // If the file must not exist, only one of several writers succeeds.
        let placed = if *expected == Expectation::Absent { temporary.place_new(name) } else { temporary.replace(name) };
        Ok(placed?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, root: Root, path: &str) -> Result<(), FileError> {
        let real = self.walk(root, path).real.ok_or(Fault::Other)?;
        let target = self.writable_path(root, &real)?;
        Ok(target.dir.remove_file(join_names(target.folder).join(target.name))?)
    }

    /// Checks that a path may be written. Only the gate's own folders of the given root are allowed, after following links: a
    /// link in the workspace must not lead to user files.
    fn writable_path<'a>(&self, root: Root, real: &'a Names) -> Result<WritablePath<'a>, FileError> {
        let own = |folder: &[String]| match (root, folder.first()) {
            (Root::State, _) => true,
            (Root::Project, Some(first)) => WRITABLE_IN_PROJECT.contains(&first.as_str()),
            (Root::Home, Some(first)) => WRITABLE_IN_HOME.contains(&first.as_str()),
            (_, None) => false,
        };
        if let Some(guest_folder) = self.real(root)
            && let Some([folder @ .., name]) = real.below(guest_folder)
            && own(folder)
        {
            // The workspace may be the home folder itself.
            let at_home = self.home.as_ref().is_some_and(|home| home.real == *guest_folder);
            return Ok(WritablePath {
                root,
                dir: self.dir_to_write(root)?,
                folder,
                name,
                private: at_home || root == Root::State,
            });
        }
        Err(Fault::Denied.into())
    }

    fn folder(&self, target: &WritablePath<'_>) -> Result<Dir, FileError> {
        // The state folder itself has no name relative to its handle.
        if target.folder.is_empty() {
            return Ok(target.dir.try_clone()?);
        }
        let folder = join_names(target.folder);
        match target.dir.open_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                target.make_folder()?;
                Ok(target.dir.open_dir(&folder)?)
            }
            opened => Ok(opened?),
        }
    }
}

impl WritablePath<'_> {
    /// Creates the folder; in the state folder, accessible only to the user.
    fn make_folder(&self) -> std::io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        if self.root == Root::State {
            use cap_std::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        self.dir.create_dir_with(join_names(self.folder), builder.recursive(true))
    }
}

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

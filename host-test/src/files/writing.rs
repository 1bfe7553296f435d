//! Writing the gate's own files, and nothing else.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, DirBuilder, File, OpenOptions};

use super::walk::{Look, Names, joined};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::records::Expectation;
use crate::bindings::tollgate::hooks::workspace::{Fault, Root};

/// Below these folders of the workspace the gate writes.
const OWN_OF_PROJECT: &[&str] = &[".orchestration", ".tollgate"];

/// Below these folders of the home folder.
const OWN_OF_HOME: &[&str] = &[".tollgate"];

/// A place that may be written: the handle, the folder below it, the name in that.
struct Spot<'a> {
    root: Root,
    dir: Arc<Dir>,
    folder: &'a [String],
    name: &'a str,
    /// Whether it is the user's alone.
    private: bool,
}

impl Files {
    /// Appends in one write.
    pub(crate) fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let walked = self.walk(root, path);
        let real = walked.real.ok_or(Fault::Other)?;
        let spot = self.spot(root, &real)?;
        // A pipe would wait for somebody to read.
        if matches!(&walked.found, Look::Found(metadata) if !metadata.is_file()) {
            return Err(Fault::Other.into());
        }
        let mut options = options(spot.private);
        options.append(true).create(true);
        let at = joined(spot.folder).join(spot.name);
        let mut file = match spot.dir.open_with(&at, &options) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                spot.make_folder()?;
                spot.dir.open_with(&at, &options)?
            }
            opened => opened?,
        };
        // One call, so that the kernel puts it behind whatever others append meanwhile.
        let written = file.write(bytes)?;
        if written == bytes.len() { Ok(()) } else { Err(Fault::Full.into()) }
    }

    /// Replaces the whole content: a new file beside the old one, then a change of name.
    pub(crate) fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: &Expectation) -> Result<(), FileError> {
        let walked = self.walk(root, path);
        let real = walked.real.ok_or(Fault::Other)?;
        let spot = self.spot(root, &real)?;
        let stands = matches!(walked.found, Look::Found(_));
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
        let folder = self.folder(&spot)?;
        let (draft, mut file) = draft(&folder, &spot)?;
        let written = file.write_all(bytes).and_then(|()| match expected {
            // A second name is given only where there is none: of two writers, one succeeds.
            Expectation::Absent => folder.hard_link(&draft, &folder, spot.name),
            _ => folder.rename(&draft, &folder, spot.name),
        });
        if written.is_err() || *expected == Expectation::Absent {
            let _ = folder.remove_file(&draft);
        }
        Ok(written?)
    }

    /// Takes a file away.
    pub(crate) fn remove(&self, root: Root, path: &str) -> Result<(), FileError> {
        let real = self.walk(root, path).real.ok_or(Fault::Other)?;
        let spot = self.spot(root, &real)?;
        Ok(spot.dir.remove_file(joined(spot.folder).join(spot.name))?)
    }

    /// Where a place may be written; `denied` for all but the gate's own folders of the root that was named, wherever the links
    /// led: a link in the workspace must not lead to what the user keeps at home.
    fn spot<'a>(&self, root: Root, real: &'a Names) -> Result<Spot<'a>, FileError> {
        let own = |folder: &[String]| match (root, folder.first()) {
            (Root::State, _) => true,
            (Root::Project, Some(first)) => OWN_OF_PROJECT.contains(&first.as_str()),
            (Root::Home, Some(first)) => OWN_OF_HOME.contains(&first.as_str()),
            (_, None) => false,
        };
        if let Some(lent) = self.real(root)
            && let Some([folder @ .., name]) = real.below(lent)
            && own(folder)
        {
            // The workspace may be the home folder itself.
            let at_home = self.home.as_ref().is_some_and(|home| home.real == *lent);
            return Ok(Spot { root, dir: self.dir_to_write(root)?, folder, name, private: at_home || root == Root::State });
        }
        Err(Fault::Denied.into())
    }

    fn folder(&self, spot: &Spot<'_>) -> Result<Dir, FileError> {
        // The state folder itself has no name below its handle.
        if spot.folder.is_empty() {
            return Ok(spot.dir.try_clone()?);
        }
        let folder = joined(spot.folder);
        match spot.dir.open_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                spot.make_folder()?;
                Ok(spot.dir.open_dir(&folder)?)
            }
            opened => Ok(opened?),
        }
    }
}

impl Spot<'_> {
    /// Makes the folder; in the state, one that nobody else may look into.
    fn make_folder(&self) -> std::io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        if self.root == Root::State {
            use cap_std::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        self.dir.create_dir_with(joined(self.folder), builder.recursive(true))
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

/// Elsewhere a home folder is its user's alone without our help.
#[cfg(not(unix))]
pub(super) fn options(_private: bool) -> OpenOptions {
    OpenOptions::new()
}

/// A new file under a name that no other writer uses. One that a killed process left behind is passed over.
fn draft(folder: &Dir, spot: &Spot<'_>) -> std::io::Result<(String, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let name = format!(".{}.{}-{}.tmp", spot.name, std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match folder.open_with(&name, options(spot.private).write(true).create_new(true)) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            opened => return Ok((name, opened?)),
        }
    }
}

//! Writing the gate's own files, and nothing else.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, OpenOptions};

use super::walk::{Look, Names, joined};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::records::Expectation;
use crate::bindings::tollgate::hooks::workspace::{Fault, Root};

/// Below these folders of the workspace the gate writes.
const OWN_OF_PROJECT: &[&str] = &[".orchestration", ".tollgate"];

/// Below this folder of the workspace stand copies of files, whoever may read those.
const OWN_AND_PRIVATE: [&str; 2] = [".tollgate", "state"];

/// Below these folders of the home folder.
const OWN_OF_HOME: &[&str] = &[".tollgate"];

/// A place that may be written: the handle, the folder below it, the name in that.
struct Spot<'a> {
    dir: &'a Dir,
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
                spot.dir.create_dir_all(joined(spot.folder))?;
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
    fn spot<'a>(&'a self, root: Root, real: &'a Names) -> Result<Spot<'a>, FileError> {
        let own = match root {
            Root::Project => OWN_OF_PROJECT,
            Root::Home => OWN_OF_HOME,
        };
        if let Some(lent) = self.lent(root)
            && let Some([folder @ .., name]) = real.below(&lent.real)
            && folder.first().is_some_and(|first| own.contains(&first.as_str()))
        {
            // The workspace may be the home folder itself.
            let at_home = self.home.as_ref().is_some_and(|home| home.real == lent.real);
            let kept = folder.iter().map(String::as_str).take(OWN_AND_PRIVATE.len()).eq(OWN_AND_PRIVATE);
            return Ok(Spot { dir: &lent.dir, folder, name, private: at_home || kept });
        }
        Err(Fault::Denied.into())
    }

    fn folder(&self, spot: &Spot<'_>) -> Result<Dir, FileError> {
        let folder = joined(spot.folder);
        match spot.dir.open_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                spot.dir.create_dir_all(&folder)?;
                Ok(spot.dir.open_dir(&folder)?)
            }
            opened => Ok(opened?),
        }
    }
}

#[cfg(unix)]
fn options(private: bool) -> OpenOptions {
    use cap_std::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    if private {
        options.mode(0o600);
    }
    options
}

/// Elsewhere a home folder is its user's alone without our help.
#[cfg(not(unix))]
fn options(_private: bool) -> OpenOptions {
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

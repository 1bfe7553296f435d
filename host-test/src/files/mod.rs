//! The workspace and the home folder, behind capabilities.
//!
//! A path of a guest is walked name by name, so that links and `..` mean what they mean to the operating system, and what
//! is then opened is opened relative to a folder handle that does not let it out, whatever changed in between.
//!
//! Linux is what this is run on. macOS and Windows compile the same code; where they differ, it says so.

mod facts;
mod fault;
mod listing;
mod reading;
mod walk;
mod writing;

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::bindings::tollgate::hooks::workspace::Root;
use crate::error::Error;
pub(crate) use facts::hexed;
pub(crate) use fault::FileError;
use walk::Names;

/// A folder that is lent, and where it stands.
struct Lent {
    dir: Dir,
    real: Names,
}

impl Lent {
    fn open(folder: &Path) -> std::io::Result<Self> {
        let real = folder.canonicalize()?;
        let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
        let real = Names::of_path(&real).ok_or_else(|| std::io::Error::other("its path is not UTF-8"))?;
        Ok(Self { dir, real })
    }
}

/// Everything a guest's paths can lead to.
pub(crate) struct Files {
    project: Lent,
    folder: PathBuf,
    /// None where the user has no home folder.
    home: Option<Lent>,
    /// The whole file system, used to follow links and never to read or write: a path may leave the workspace and come
    /// back.
    outside: Option<Dir>,
}

impl Files {
    pub(crate) fn open(workspace: &Path, home: Option<&Path>) -> Result<Self, Error> {
        let unusable = |why| Error::Workspace { path: workspace.to_owned(), why };
        let folder = workspace.canonicalize().map_err(unusable)?;
        let project = Lent::open(&folder).map_err(unusable)?;
        let top = project.real.top();
        Ok(Self {
            project,
            folder,
            home: home.and_then(|home| Lent::open(home).ok()),
            outside: Dir::open_ambient_dir(top, ambient_authority()).ok(),
        })
    }

    /// The real path of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.folder
    }

    fn lent(&self, root: Root) -> Option<&Lent> {
        match root {
            Root::Project => Some(&self.project),
            Root::Home => self.home.as_ref(),
        }
    }
}

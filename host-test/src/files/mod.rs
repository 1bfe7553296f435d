//! The workspace, the home folder and the state folder, behind capabilities.
//!
//! A path of a guest is walked name by name, so that links and `..` mean what they mean to the operating system, and what
//! is then opened is opened relative to a folder handle that does not let it out, whatever changed in between.
//!
//! Linux is what this is run on. macOS and Windows compile the same code; where they differ, it says so.

mod facts;
mod fault;
mod listing;
mod reading;
mod state;
mod walk;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::bindings::tollgate::hooks::workspace::{Fault, Root};
use crate::error::Error;
pub(crate) use facts::hexed;
pub(crate) use fault::FileError;
pub(crate) use state::{State, folder as state_folder};
use walk::Names;

/// The folder in which the gate keeps what it knows of a workspace between calls; see [`Builder::state`](crate::Builder::state)
/// for where that is. It need not exist yet.
pub fn state_of(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<PathBuf, Error> {
    Ok(open_state(workspace, home, state)?.path().to_owned())
}

/// Makes the folder of [`state_of`], where nobody but the user may look, unless it is there.
pub fn make_state_of(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<(), Error> {
    let state = open_state(workspace, home, state)?;
    state.made().map(drop).map_err(|why| Error::State { path: state.path().to_owned(), why })
}

fn open_state(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<State, Error> {
    let folder = state_folder(home, state)?;
    let workspace = workspace.canonicalize().map_err(|why| Error::Workspace { path: workspace.to_owned(), why })?;
    State::of(&workspace, &folder).map_err(|why| Error::State { path: folder, why })
}

/// A folder that is lent, and where it stands.
struct Lent {
    dir: Arc<Dir>,
    real: Names,
}

impl Lent {
    fn open(folder: &Path) -> std::io::Result<Self> {
        let real = folder.canonicalize()?;
        let dir = Arc::new(Dir::open_ambient_dir(&real, ambient_authority())?);
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
    home_folder: Option<PathBuf>,
    /// None where the gate is only measured.
    state: Option<State>,
    /// The whole file system, used to follow links and never to read or write: a path may leave the workspace and come
    /// back.
    outside: Option<Dir>,
}

impl Files {
    /// Opens the workspace; `state` is the folder that the state of all workspaces stands in.
    pub(crate) fn open(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<Self, Error> {
        let unusable = |why| Error::Workspace { path: workspace.to_owned(), why };
        let folder = workspace.canonicalize().map_err(unusable)?;
        let project = Lent::open(&folder).map_err(unusable)?;
        let top = project.real.top();
        let state = state.map(|state| State::of(&folder, state).map_err(|why| Error::State { path: state.to_owned(), why }));
        Ok(Self {
            project,
            folder,
            state: state.transpose()?,
            home: home.and_then(|home| Lent::open(home).ok()),
            home_folder: home.and_then(|home| home.canonicalize().ok()),
            outside: Dir::open_ambient_dir(top, ambient_authority()).ok(),
        })
    }

    /// The real path of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.folder
    }

    /// The real path of the home folder; none where there is none, or where it lies in the workspace or is it: whoever writes there
    /// could put anything into it.
    pub(crate) fn private_home(&self) -> Option<&Path> {
        self.home_folder.as_deref().filter(|home| !home.starts_with(&self.folder))
    }

    /// Where the workspace's state stands, or will.
    pub(crate) fn state(&self) -> Option<&Path> {
        self.state.as_ref().map(State::path)
    }

    /// Where a root stands; none where it is not lent.
    fn real(&self, root: Root) -> Option<&Names> {
        match root {
            Root::Project => Some(&self.project.real),
            Root::Home => self.home.as_ref().map(|home| &home.real),
            Root::State => self.state.as_ref().map(|state| &state.real),
        }
    }

    /// A root's handle, to read.
    fn dir(&self, root: Root) -> Result<Arc<Dir>, FileError> {
        match root {
            Root::Project => Ok(Arc::clone(&self.project.dir)),
            Root::Home => Ok(self.home.as_ref().map(|home| Arc::clone(&home.dir)).ok_or(Fault::Missing)?),
            Root::State => Ok(self.state.as_ref().ok_or(Fault::Missing)?.dir()?),
        }
    }

    /// A root's handle, to write.
    fn dir_to_write(&self, root: Root) -> Result<Arc<Dir>, FileError> {
        match root {
            Root::State => Ok(self.state.as_ref().ok_or(Fault::Denied)?.made()?),
            root => self.dir(root),
        }
    }
}

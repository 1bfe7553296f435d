//! The workspace, the home folder and the state folder, behind capabilities.
//!
//! A path given by the guest is resolved name by name, so that links and `..` mean what they mean to the operating system. The
//! result is opened relative to a folder handle that cannot be left, even if the file system changes in between.
//!
//! Tested on Linux. macOS and Windows compile the same code; differences are noted where they occur.

mod facts;
mod fault;
mod listing;
mod names;
mod reading;
mod stat;
mod state;
mod walk;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::bindings::tollgate::hooks::workspace::{Fault, Root};
use crate::error::Error;
#[doc(hidden)]
pub use facts::digest_of;
pub(crate) use fault::FileError;
pub(crate) use state::{State, folder as states_folder};
use walk::Names;

/// The folder in which the gate keeps its state for a workspace; see [`Builder::state`](crate::Builder::state). It may not exist
/// yet.
pub fn state_folder(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<PathBuf, Error> {
    Ok(open_state(workspace, home, state)?.path().to_owned())
}

/// Creates the folder of [`state_folder`] if it does not exist, accessible only to the user.
pub fn create_state_folder(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<(), Error> {
    let state = open_state(workspace, home, state)?;
    state.create().map(drop).map_err(|why| Error::State { path: state.path().to_owned(), why })
}

fn open_state(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<State, Error> {
    let folder = states_folder(home, state)?;
    let workspace = workspace.canonicalize().map_err(|why| Error::Workspace { path: workspace.to_owned(), why })?;
    State::new(&workspace, &folder).map_err(|why| Error::State { path: folder, why })
}

/// A folder that the guest can access, with its canonical path.
struct GuestFolder {
    dir: Arc<Dir>,
    real: Names,
}

impl GuestFolder {
    fn open(folder: &Path) -> std::io::Result<Self> {
        let real = folder.canonicalize()?;
        let dir = Arc::new(Dir::open_ambient_dir(&real, ambient_authority())?);
        let real = Names::from_path(&real).ok_or_else(|| std::io::Error::other("its path is not UTF-8"))?;
        Ok(Self { dir, real })
    }
}

/// Everything that a guest's paths can refer to.
pub(crate) struct Files {
    project: GuestFolder,
    folder: PathBuf,
    /// `None` if the user has no home folder.
    home: Option<GuestFolder>,
    home_folder: Option<PathBuf>,
    /// `None` in benchmarks.
    state: Option<State>,
    /// The root of the file system, used only to follow links, never to read or write: a path may leave the workspace and come
    /// back.
    outside: Option<Dir>,
}

impl Files {
    /// Opens the workspace; `state` is the folder for the state of all workspaces.
    pub(crate) fn open(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<Self, Error> {
        let unusable = |why| Error::Workspace { path: workspace.to_owned(), why };
        let folder = workspace.canonicalize().map_err(unusable)?;
        let project = GuestFolder::open(&folder).map_err(unusable)?;
        let top = project.real.top();
        let state = state.map(|state| State::new(&folder, state).map_err(|why| Error::State { path: state.to_owned(), why }));
        Ok(Self {
            project,
            folder,
            state: state.transpose()?,
            home: home.and_then(|home| GuestFolder::open(home).ok()),
            home_folder: home.and_then(|home| home.canonicalize().ok()),
            outside: Dir::open_ambient_dir(top, ambient_authority()).ok(),
        })
    }

    /// The canonical path of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.folder
    }

    /// The real path of the home folder; `None` if there is none, or if it is the workspace or in it, where others could write.
    pub(crate) fn private_home(&self) -> Option<&Path> {
        self.home_folder.as_deref().filter(|home| !home.starts_with(&self.folder))
    }

    /// The state folder of the workspace, which may not exist yet.
    pub(crate) fn state(&self) -> Option<&Path> {
        self.state.as_ref().map(State::path)
    }

    /// The canonical path of a root, if the guest can access it.
    fn real(&self, root: Root) -> Option<&Names> {
        match root {
            Root::Project => Some(&self.project.real),
            Root::Home => self.home.as_ref().map(|home| &home.real),
            Root::State => self.state.as_ref().map(|state| &state.real),
        }
    }

    /// The folder handle of a root, for reading.
    fn dir(&self, root: Root) -> Result<Arc<Dir>, FileError> {
        match root {
            Root::Project => Ok(Arc::clone(&self.project.dir)),
            Root::Home => Ok(self.home.as_ref().map(|home| Arc::clone(&home.dir)).ok_or(Fault::Missing)?),
            Root::State => Ok(self.state.as_ref().ok_or(Fault::Missing)?.dir()?),
        }
    }

    /// The state folder and a path in it, if the path only consists of names. The state contains no links, because nobody else
    /// writes there, so such a path need not be resolved name by name.
    fn plain_in_state<'p>(&self, root: Root, path: &'p str) -> Option<(&State, &'p Path)> {
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            !matches!(name, "" | "." | "..") && name.bytes().all(is_plain)
        };
        (root == Root::State && path.split('/').all(is_name)).then_some((self.state.as_ref()?, Path::new(path)))
    }

    /// The folder handle of a root, for writing.
    fn dir_to_write(&self, root: Root) -> Result<Arc<Dir>, FileError> {
        match root {
            Root::State => Ok(self.state.as_ref().ok_or(Fault::Denied)?.create()?),
            root => self.dir(root),
        }
    }
}

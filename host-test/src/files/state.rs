//! Where the gate keeps its state between calls: one folder per workspace, among the user's other state.
//!
//! | given | the folder |
//! | --- | --- |
//! | a state folder | that folder |
//! | a home folder other than the user's | `.local/state/tollgate` in it |
//! | `XDG_STATE_HOME` | `tollgate` in it |
//! | Windows | `%LOCALAPPDATA%\tollgate` |
//! | macOS | `~/Library/Application Support/tollgate` |
//! | otherwise | `~/.local/state/tollgate` |
//!
//! The folder of a workspace in it is named by a digest of the workspace's canonical path, and contains a file with that path.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tollgate_guest::exchange::workspace_search::{state_name, without_prefix};

use super::walk::Names;
use super::writing::options;
use crate::error::Error;

/// The file with the path of the workspace, for people.
const WORKSPACE: &str = "workspace";

/// The state folder of a workspace. It is created when something is first stored in it.
pub(crate) struct State {
    path: PathBuf,
    pub(super) real: Names,
    workspace: String,
    /// The folder as it was last opened.
    opened: Mutex<Option<OpenedFolder>>,
}

/// An open folder, and what identifies it.
struct OpenedFolder {
    dir: Arc<Dir>,
    identity: (u64, u64),
}

impl State {
    /// The state folder of a workspace with this canonical path, in a folder for all workspaces.
    pub(crate) fn new(workspace: &Path, folder: &Path) -> io::Result<Self> {
        let not_text = || io::Error::other("its path is not UTF-8");
        let workspace = Names::from_path(workspace).ok_or_else(not_text)?.absolute();
        let workspace = without_prefix(&workspace).to_owned();
        let path = resolve(folder)?.join(state_name(&workspace));
        Ok(Self { real: Names::from_path(&path).ok_or_else(not_text)?, path, workspace, opened: Mutex::default() })
    }

    /// The path, which may not exist yet.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, if it exists. A user may remove or move it while the gate is running, so it is opened again unless the path still
    /// leads to the same folder.
    pub(super) fn dir(&self) -> io::Result<Arc<Dir>> {
        let identity = identity_of(&self.path)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(identity), Some(opened)) = (identity, &*opened)
            && opened.identity == identity
        {
            return Ok(Arc::clone(&opened.dir));
        }
        let dir = Arc::new(Dir::open_ambient_dir(&self.path, ambient_authority())?);
        *opened = identity.map(|identity| OpenedFolder { dir: Arc::clone(&dir), identity });
        Ok(dir)
    }

    /// The folder, created if it does not exist.
    pub(super) fn create(&self) -> io::Result<Arc<Dir>> {
        match self.dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_builder().recursive(true).create(&self.path)?;
                let dir = self.dir()?;
                // Only informational. A process that creates the folder at the same time writes the same text.
                if let Ok(mut file) = dir.open_with(WORKSPACE, options(true).write(true).create_new(true)) {
                    let _ = writeln!(file, "{}", self.workspace);
                }
                Ok(dir)
            }
            dir => dir,
        }
    }
}

/// What identifies a folder for as long as it is open: its device and inode.
#[cfg(unix)]
fn identity_of(folder: &Path) -> io::Result<Option<(u64, u64)>> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = folder.metadata()?;
    Ok(Some((metadata.dev(), metadata.ino())))
}

/// Other systems do not report it for a path.
#[cfg(not(unix))]
fn identity_of(_folder: &Path) -> io::Result<Option<(u64, u64)>> {
    Ok(None)
}

/// Creates folders that are accessible only to the user.
#[cfg(unix)]
fn private_builder() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// On other systems, user folders are private by default.
#[cfg(not(unix))]
fn private_builder() -> DirBuilder {
    DirBuilder::new()
}

/// The canonical path of a folder that may not exist yet.
fn resolve(folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    for ancestor in folder.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), folder.strip_prefix(ancestor)) {
            return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
    }
    Ok(folder)
}

/// The folder for the state of all workspaces.
pub(crate) fn folder(home: Option<&Path>, state: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(state) = state {
        return Ok(state.to_owned());
    }
    if let Some(home) = home {
        return Ok(home.join(".local/state/tollgate"));
    }
    let of = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let at_home = |below: &str| std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(below));
    let folder = of("XDG_STATE_HOME").or_else(|| match () {
        () if cfg!(windows) => of("LOCALAPPDATA").or_else(|| at_home(r"AppData\Local")),
        () if cfg!(target_os = "macos") => at_home("Library/Application Support"),
        () => at_home(".local/state"),
    });
    folder.map(|folder| folder.join("tollgate")).ok_or(Error::NoStateFolder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_a_folder_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let state = State::new(Path::new("/work space/a"), &top.join("new/state")).unwrap();
        // `npm-wrapper/test/state.test.js` expects the same.
        assert_eq!(state.path(), top.join("new/state/602e79202365cbd9b66a1fd2fd657617"));
        assert!(state.dir().is_err() && !top.join("new").exists(), "nothing is made before something is kept");
        assert_ne!(State::new(Path::new("/work space/b"), &top).unwrap().path().file_name(), state.path().file_name());
        state.create().unwrap();
        assert_eq!(std::fs::read_to_string(state.path().join(WORKSPACE)).unwrap(), "/work space/a\n");
        #[cfg(unix)]
        for folder in [top.join("new"), top.join("new/state"), state.path().to_owned()] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        }
    }

    #[test]
    fn a_folder_that_was_moved_or_removed_is_opened_again() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let state = State::new(Path::new("/w"), &top).unwrap();
        state.create().unwrap().write("a", "1").unwrap();
        assert!(state.dir().unwrap().exists("a"));
        std::fs::rename(state.path(), top.join("moved")).unwrap();
        assert_eq!(state.dir().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!state.create().unwrap().exists("a"), "another folder is in its place");
        std::fs::remove_dir_all(state.path()).unwrap();
        assert_eq!(state.dir().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_that_is_named_goes_first() {
        let (home, state) = (Path::new("/h"), Path::new("/s"));
        assert_eq!(folder(Some(home), Some(state)).unwrap(), state);
        assert_eq!(folder(Some(home), None).unwrap(), Path::new("/h/.local/state/tollgate"));
        assert!(folder(None, None).unwrap().ends_with("tollgate"));
    }
}

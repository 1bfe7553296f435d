//! The workspace that governs an event of an agent program.
//!
//! The rule is the gate's own, and the very code of it: it is compiled into this program too, because most calls are made where
//! nothing is governed, and need not wait until the component is there to say so.

use std::path::{Path, PathBuf};

use tollgate_guest::exchange::place::{self, Surroundings};

use crate::files::state_folder;

/// The workspace that governs what a payload of an agent program tells of; none where nothing does. `event` names the event where
/// the payload does not.
pub fn locate(program: &str, event: Option<&str>, payload: &[u8]) -> Option<PathBuf> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    let text = |path: PathBuf| path.into_os_string().into_string().ok();
    let surroundings = Surroundings {
        cwd: std::env::current_dir().ok().and_then(text).unwrap_or_default(),
        state: state_folder(None, None).ok().and_then(text),
        variables: place::variables(program).iter().filter_map(variable).collect(),
    };
    let look = |path: &str| Path::new(path).canonicalize().ok().filter(|path| path.is_dir()).and_then(text);
    place::locate(program, event, payload, &surroundings, &look).map(PathBuf::from)
}

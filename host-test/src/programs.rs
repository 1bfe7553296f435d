//! What a host needs to know about agent programs without a running gate.
//!
//! The rules are those of the gate, and so is the code, which is compiled into this crate as well: most calls happen in folders
//! that are not governed and should not have to wait for the component to start, and someone must answer when the component does
//! not start.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tollgate_guest::exchange::workspace_search::{self, HostEnvironment, without_prefix};
use tollgate_guest::exchange::{self, programs_with_hooks};
use tollgate_guest::gate::on_fault::{self, OnFault};

use crate::bindings::exports::tollgate::hooks::programs::Answer as Reply;
use crate::files::states_folder;

pub use tollgate_guest::exchange::MAX_PAYLOAD;

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| programs_with_hooks().collect());

/// The names of the agent programs that the gate can answer.
pub fn program_names() -> &'static [&'static str] {
    &NAMES
}

/// The names of the agent programs that `tollgate init` can set up.
pub fn wired_program_names() -> Vec<&'static str> {
    tollgate_guest::wiring::wired_programs().map(|(program, _)| program.name()).collect()
}

/// Returns the answer that a program expects if there is nothing to report.
pub fn empty_reply(program: &str) -> &'static str {
    exchange::empty_answer(program)
}

/// Finds the workspace that governs a payload of an agent program, if any. `event` names the event if the payload does not.
pub fn locate(program: &str, event: Option<&str>, payload: &[u8]) -> Option<PathBuf> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    let text = |path: PathBuf| path.into_os_string().into_string().ok();
    let surroundings = HostEnvironment {
        cwd: std::env::current_dir().ok().and_then(text).unwrap_or_default(),
        state: states_folder(None, None).ok().and_then(text),
        variables: workspace_search::variables(program).iter().filter_map(variable).collect(),
    };
    workspace_search::locate(program, event, payload, &surroundings, &canonical_folder).map(PathBuf::from)
}

/// Finds the workspace that a command in a folder is for: the nearest folder upwards that looks like one. `home` contains the user's
/// `.tollgate/`, which does not count. The error says why there is none.
pub fn command_workspace(folder: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    // The path of a workspace is text.
    let here = folder.ancestors().find_map(Path::to_str).unwrap_or_default();
    workspace_search::for_command(here, home.and_then(Path::to_str), &canonical).map(PathBuf::from)
}

/// Finds the workspace that governs a folder, by the same rule as [`locate`], if any.
pub fn governing_workspace(folder: &Path) -> Option<PathBuf> {
    workspace_search::governing([folder.to_str()?].into_iter(), None, &canonical_folder).map(PathBuf::from)
}

fn canonical_folder(path: &str) -> Option<String> {
    canonical(path).filter(|real| Path::new(real).is_dir())
}

/// The canonical path of anything that exists.
fn canonical(path: &str) -> Option<String> {
    let real = Path::new(path).canonicalize().ok()?.into_os_string().into_string().ok()?;
    // After the prefix, Windows does not take `/` for a separator. The path of a share is different without it.
    let plain = without_prefix(&real);
    Some(if plain.starts_with("UNC") { real } else { plain.to_owned() })
}

/// The answer to a payload if the gate of a workspace cannot be started: a person decides before a tool runs, unless the user's
/// settings allow such calls.
pub fn fault_reply(program: &str, event: Option<&str>, payload: &[u8], why: &str, workspace: &Path) -> Reply {
    let reply = exchange::fault_reply(program, event, payload, why, allows_on_fault(workspace));
    Reply { text: reply.text.into_bytes(), refused: reply.refused }
}

/// Whether the user's settings allow calls that the gate could not check. A settings file inside the workspace does not count.
fn allows_on_fault(workspace: &Path) -> bool {
    let settings = std::env::home_dir().and_then(|home| home.join(on_fault::PATH).canonicalize().ok());
    let Some(settings) = settings.filter(|path| !path.starts_with(workspace) && path.is_file()) else { return false };
    let mut text = Vec::new();
    let read = File::open(settings).and_then(|file| file.take(on_fault::MAX_BYTES).read_to_end(&mut text));
    read.is_ok() && OnFault::read(&text) == OnFault::Allow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_for_the_nearest_workspace() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for folder in [".tollgate", "work/.orchestration", "work/a/b", "plain/d", "wt/e"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::write(top.join("wt/.git"), "gitdir: elsewhere\n").unwrap();
        for (here, home, found) in [
            ("work/a/b", "nobody", Some("work")),
            // In additional work trees of a repository, `.git` is a file.
            ("wt/e", "nobody", Some("wt")),
            ("plain/d", "nobody", Some("")),
            ("plain/d", "", None),
        ] {
            let found = found.map(|found| if found.is_empty() { top.clone() } else { top.join(found) });
            // Folders above the temporary folder may be workspaces, so matches outside of it are ignored.
            let nearest = command_workspace(&top.join(here), Some(&top.join(home)));
            assert_eq!(nearest.ok().filter(|nearest| nearest.starts_with(&top)), found, "{here} with home {home}");
        }
    }

    /// A folder whose name is not text cannot be a workspace, but one above it can.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_whose_name_is_not_text_is_passed_over() {
        use std::os::unix::ffi::OsStrExt as _;
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let odd = top.join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        for folder in [top.join(".git"), odd.join(".git")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(command_workspace(&odd, None).unwrap(), top);
    }
}

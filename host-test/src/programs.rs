//! What a host must know of agent programs before there is a gate to ask, and where there is none.
//!
//! The rules are the gate's own, and the very code of them: it is compiled into this crate too, because most calls are made where
//! nothing is governed and need not wait for the component to say so, and because somebody has to answer where the component does
//! not start.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tollgate_guest::exchange::place::{self, HostEnvironment};
use tollgate_guest::exchange::{self, speaking_programs};
use tollgate_guest::gate::on_fault::{self, OnFault};

use crate::bindings::exports::tollgate::hooks::programs::Answer as Reply;
use crate::files::state_folder;

pub use tollgate_guest::exchange::MAX_PAYLOAD;

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| speaking_programs().collect());

/// The names of the agent programs that the gate speaks to.
pub fn program_names() -> &'static [&'static str] {
    &NAMES
}

/// The names of the agent programs that `tollgate init` can wire.
pub fn wired_program_names() -> Vec<&'static str> {
    tollgate_guest::wiring::wired_programs().map(|(program, _)| program.name()).collect()
}

/// What a program reads where there is nothing to say.
pub fn silence_of(program: &str) -> &'static str {
    exchange::silence_of(program)
}

/// The workspace that governs what a payload of an agent program tells of; none where nothing does. `event` names the event where
/// the payload does not.
pub fn locate(program: &str, event: Option<&str>, payload: &[u8]) -> Option<PathBuf> {
    let variable = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    let text = |path: PathBuf| path.into_os_string().into_string().ok();
    let surroundings = HostEnvironment {
        cwd: std::env::current_dir().ok().and_then(text).unwrap_or_default(),
        state: state_folder(None, None).ok().and_then(text),
        variables: place::variables(program).iter().filter_map(variable).collect(),
    };
    place::locate(program, event, payload, &surroundings, &folder_at).map(PathBuf::from)
}

/// The workspace that governs a folder, by the same rule; none where nothing does.
pub fn governing_workspace(folder: &Path) -> Option<PathBuf> {
    place::governing([folder.to_str()?].into_iter(), None, &folder_at).map(PathBuf::from)
}

fn folder_at(path: &str) -> Option<String> {
    let real = Path::new(path).canonicalize().ok().filter(|path| path.is_dir())?;
    real.into_os_string().into_string().ok()
}

/// The answer to a payload where the gate of a workspace does not start at all: before a tool runs a person decides, unless the
/// user lets faults pass.
pub fn fault_reply(program: &str, event: Option<&str>, payload: &[u8], why: &str, workspace: &Path) -> Reply {
    let reply = exchange::fault_reply(program, event, payload, why, lets_faults_pass(workspace));
    Reply { text: reply.text.into_bytes(), refused: reply.refused }
}

/// A file that stands in the workspace is not the user's word.
fn lets_faults_pass(workspace: &Path) -> bool {
    let settings = std::env::home_dir().and_then(|home| home.join(on_fault::PATH).canonicalize().ok());
    let Some(settings) = settings.filter(|path| !path.starts_with(workspace) && path.is_file()) else { return false };
    let mut text = Vec::new();
    let read = File::open(settings).and_then(|file| file.take(on_fault::MAX_BYTES).read_to_end(&mut text));
    read.is_ok() && OnFault::read(&text) == OnFault::Allow
}

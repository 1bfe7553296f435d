//! On which ground a hook stands: the governed workspace around what the host tells of, and what the user wants of a gate that fails.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::hosts::{Event, Host};

/// The user's own settings, below the home folder.
const SETTINGS_OF_USER: &str = ".tollgate/config.json";

/// Longer settings are a mistake.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The workspace that governs an event; none where nothing does.
///
/// The other commands stop at the nearest repository. A hook goes on to the nearest `.orchestration/`: an agent that steps into
/// a submodule, or makes a repository in a folder, is still at work in the workspace around it. For the same reason the
/// project's folder goes before the working directory, which follows the agent.
pub(super) fn governed(host: &dyn Host, event: &Event) -> Option<PathBuf> {
    let project = host.project_variables().iter().filter_map(std::env::var_os).map(PathBuf::from);
    let told = event.cwd.iter().chain(&event.roots).map(PathBuf::from);
    let starts = project.chain(told).filter(|folder| folder.is_absolute());
    let starts: Vec<PathBuf> = starts.chain(std::env::current_dir()).map(|start| start.canonicalize().unwrap_or(start)).collect();
    let nearest = |is_it: &dyn Fn(&Path) -> bool| {
        starts.iter().find_map(|start| start.ancestors().find(|folder| is_it(folder)).map(Path::to_owned))
    };
    // A folder that something is kept of was governed, and what took that away is told of.
    let known = |folder: &Path| tollgate::state_of(folder, None, None).is_ok_and(|state| state.is_dir());
    nearest(&|folder| folder.join(".orchestration").is_dir()).or_else(|| nearest(&known))
}

/// Whether the user lets calls run that the gate could not judge: `"on_fault": "allow"` in `~/.tollgate/config.json`.
///
/// The gate decides everything else, and this too where it can. Here it is what has failed, so nobody is left to decide but the host.
/// The host's part is one key of one file, and nothing of the workspace: a file that stands in it is not the user's word.
/// `opencode/faults.ts` reads the same.
pub(super) fn lets_faults_pass(root: &Path) -> bool {
    let settings = std::env::home_dir().and_then(|home| home.join(SETTINGS_OF_USER).canonicalize().ok());
    let Some(settings) = settings.filter(|path| !path.starts_with(root) && path.is_file()) else { return false };
    let mut text = Vec::new();
    let read = std::fs::File::open(settings).and_then(|file| file.take(MAX_SETTINGS_BYTES).read_to_end(&mut text));
    let settings = read.ok().and_then(|_| serde_json::from_slice::<Value>(&text).ok()).unwrap_or_default();
    settings.get("on_fault").and_then(Value::as_str) == Some("allow")
}

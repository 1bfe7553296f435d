//! On which ground a hook stands: the governed workspace around what the host tells of.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::hosts::{Event, Host};

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

/// Whether the settings turn faults into denials. Asked only where the gate, which knows, cannot be asked.
pub(super) fn is_strict(root: &Path) -> bool {
    // The settings, else the last that could be used.
    let kept = tollgate::state_of(root, None, None).ok().map(|state| state.join("good/config.json"));
    let files = [Some(root.join(".tollgate/config.json")), kept];
    let parsed = files.iter().flatten().find_map(|file| serde_json::from_slice::<Value>(&std::fs::read(file).ok()?).ok());
    parsed.is_some_and(|settings| settings.get("strict") == Some(&Value::Bool(true)))
}

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
    starts.chain(std::env::current_dir()).find_map(|start| {
        let start = start.canonicalize().unwrap_or(start);
        start.ancestors().find(|folder| folder.join(".orchestration").is_dir()).map(Path::to_owned)
    })
}

/// Whether the settings turn faults into denials. Asked only where the gate, which knows, cannot be asked.
pub(super) fn is_strict(root: &Path) -> bool {
    // The settings, else the last that could be used.
    let kept = tollgate::state_of(root, None, None).ok().map(|state| state.join("good/config.json"));
    let files = [Some(root.join(".tollgate/config.json")), kept];
    let parsed = files.iter().flatten().find_map(|file| serde_json::from_slice::<Value>(&std::fs::read(file).ok()?).ok());
    parsed.is_some_and(|settings| settings.get("strict") == Some(&Value::Bool(true)))
}

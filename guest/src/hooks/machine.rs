//! What the host reported about its machine: workspace path, search path, temporary folder.

use super::bundle::Digests;

/// What the host said about the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Where the workspace is.
    pub workspace: String,
    /// Where programs are looked for.
    pub path: Vec<String>,
    /// Where temporary files lie.
    pub temp: Option<String>,
    /// Files that were hashed before.
    pub(crate) digests: Digests,
}

impl Machine {
    /// What the host says. Programs are looked for neither in the workspace nor wherever one happens to be.
    pub fn new(workspace: &str, path: impl Iterator<Item = String>) -> Self {
        let mut machine = Self { workspace: workspace.trim_end_matches('/').to_owned(), ..Self::default() };
        let installed = |folder: &String| {
            let below = folder.strip_prefix(machine.workspace.as_str());
            let within =
                !machine.workspace.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
            machine.is_absolute(folder) && !within
        };
        let path = path.filter(installed).collect();
        machine.path = path;
        machine
    }

    /// A path that the host reported, as an absolute one.
    pub fn absolute(&self, path: &str) -> String {
        if self.is_absolute(path) { path.to_owned() } else { format!("{}/{path}", self.workspace) }
    }

    /// The folders of programs as a variable of the environment.
    pub fn path_variable(&self) -> String {
        self.path.join(if self.has_drives() { ";" } else { ":" })
    }

    fn has_drives(&self) -> bool {
        self.workspace.get(1..2) == Some(":")
    }

    /// Whether a path that the host reported lies outside of the workspace.
    pub fn is_absolute(&self, path: &str) -> bool {
        path.starts_with('/') || self.has_drives() && path.get(1..2) == Some(":")
    }
}

//! What the host reported about its machine: workspace path, search path, temporary folder.

use super::bundle::Digests;

/// What the host said about the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The path of the workspace.
    pub workspace: String,
    /// The folders in which programs are searched for.
    pub path: Vec<String>,
    /// The folder for temporary files.
    pub temp: Option<String>,
    /// Digests of files that were hashed before.
    pub(crate) digests: Digests,
}

impl Machine {
    /// Takes over the host's report. Programs are searched for neither in the workspace nor in relative folders.
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

    /// Makes a path that the host reported absolute.
    pub fn absolute(&self, path: &str) -> String {
        if self.is_absolute(path) { path.to_owned() } else { format!("{}/{path}", self.workspace) }
    }

    /// The search path as an environment variable.
    pub fn path_variable(&self) -> String {
        self.path.join(if self.has_drives() { ";" } else { ":" })
    }

    fn has_drives(&self) -> bool {
        self.workspace.get(1..2) == Some(":")
    }

    /// Whether a path that the host reported is outside the workspace.
    pub fn is_absolute(&self, path: &str) -> bool {
        path.starts_with('/') || self.has_drives() && path.get(1..2) == Some(":")
    }
}

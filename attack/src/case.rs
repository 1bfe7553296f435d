//! One attack: the workspace it starts in, the shell that runs it, and its calls.

use serde::{Deserialize, Serialize};

use crate::world::World;

/// One attack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Its name in a table, or its number in a campaign.
    #[serde(default)]
    pub id: String,
    /// The kind of misreading that it tries to cause.
    #[serde(default)]
    pub family: String,
    /// The workspace.
    #[serde(default)]
    pub world: World,
    /// The shell that the host would use.
    #[serde(default = "bash")]
    pub shell: String,
    /// The commands, one per call.
    pub calls: Vec<String>,
    /// The reason why running a program is what the command openly does, if so. Then only a silent change is a finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_design: Option<String>,
}

/// The shell that hosts use.
pub fn bash() -> String {
    "bash".to_owned()
}

impl Case {
    /// Creates a case with a single command in the plain workspace.
    pub fn single(family: &str, command: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            family: family.to_owned(),
            world: World::Plain,
            shell: bash(),
            calls: vec![command.into()],
            by_design: None,
        }
    }

    /// Formats the case as a line for the table of attacks.
    pub fn row(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

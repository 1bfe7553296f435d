//! Tools of MCP servers: what a person has said about them, what the servers claim, and how the gate treats a call of a tool that
//! it does not know by itself.
//!
//! | | who says it | where | what it is worth |
//! | --- | --- | --- | --- |
//! | [`Permission`] | a person | their own settings of the agent program, or of Tollgate | they let the tool run without being asked |
//! | [`Claim`] | the server | its list of tools | nothing, unless a person trusts the server |
//!
//! Both are considered only if a call would otherwise be unknown. What the arguments of such a call plainly name is judged all
//! the same.
//!
//! [`ServerSpec`] says how a server is reached, and [`ServerRegistry`] holds all that are declared.

mod address;
mod call;
mod claim;
mod extension_servers;
pub mod hub;
mod link;
pub mod outcome;
mod permit;
mod registry;
mod request;
pub mod schema;
mod secret;
mod settings;
mod spec;
pub mod tool;

use serde_json::Value;

use crate::home;
use crate::json::document;
use crate::ports::Ports;
use crate::programs;
pub use crate::programs::permissions::Permission;
use crate::programs::permissions::{PermissionsFormat, ServerTool};
pub use address::Address;
pub use claim::{Claim, keep};
pub use extension_servers::ExtensionServers;
pub use permit::start;
pub use registry::{ServerRegistry, workspace_entry};
pub use secret::{SettingLookup, resolve};
pub use spec::{CALL_TIMEOUT_MS, CONNECT_TIMEOUT_MS, Endpoint, ServerSource, ServerSpec, Transport};

/// How a tool is treated that the gate does not know by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Treatment {
    /// What it does is unknown.
    #[default]
    Unknown,
    /// It reads.
    Reads,
    /// It runs like a program whose effects cannot be seen: under an intent, and its changes are detected afterwards.
    Runs,
}

impl Treatment {
    /// How a server's tool is treated in an agent program, according to the user's own settings and what its server claims. Reads
    /// files, so it is for calls that are otherwise unknown.
    pub fn of(asked: &ServerTool, host: Option<&str>, ports: &Ports) -> Self {
        let permission = permission_for(host, asked, ports);
        let is_believed = permission == Permission::Server || is_trusted(&asked.server, ports);
        let claim = || claim::of(&asked.server, &asked.tool, ports);
        Self::from_permission(permission, is_believed.then(claim))
    }

    /// The same, once everything is known. `claim` is what the server says, if a person trusts it.
    fn from_permission(permission: Permission, claim: Option<Claim>) -> Self {
        let claim = claim.unwrap_or_default();
        match permission {
            Permission::Against => Self::Unknown,
            _ if claim.reads() => Self::Reads,
            Permission::Tool => Self::Runs,
            Permission::Server if !claim.destroys() => Self::Runs,
            Permission::Server | Permission::Unspecified => Self::Unknown,
        }
    }
}

/// What the user's own settings of an agent program say about a tool.
fn permission_for(host: Option<&str>, asked: &ServerTool, ports: &Ports) -> Permission {
    let Some(permissions) = host.and_then(programs::find).and_then(|program| program.permissions) else {
        return Permission::Unspecified;
    };
    let Some(text) = home::read(permissions.file, ports) else { return Permission::Unspecified };
    match permissions.form {
        PermissionsFormat::Json(read) => {
            document::read(&text).map_or(Permission::Unspecified, |settings: Value| read(&settings, asked))
        }
        PermissionsFormat::Toml(read) => read(&String::from_utf8_lossy(&text), asked),
    }
}

/// Whether the user's own settings of Tollgate say to trust what a server claims: `mcpServers.NAME.trust`.
fn is_trusted(server: &str, ports: &Ports) -> bool {
    let settings: Value = home::read(home::SETTINGS, ports).and_then(|text| document::read(&text).ok()).unwrap_or_default();
    let entry = settings.get("mcpServers").and_then(|servers| servers.get(server));
    entry.and_then(|entry| entry.get("trust")) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_claims() {
        let claim = |read_only, destructive| Some(Claim { read_only, destructive });
        for (permission, claim, expected) in [
            (Permission::Unspecified, None, Treatment::Unknown),
            (Permission::Unspecified, claim(Some(true), None), Treatment::Reads),
            (Permission::Unspecified, claim(Some(false), Some(false)), Treatment::Unknown),
            (Permission::Unspecified, claim(Some(true), Some(true)), Treatment::Unknown),
            (Permission::Server, claim(None, None), Treatment::Runs),
            (Permission::Server, claim(Some(true), None), Treatment::Reads),
            (Permission::Server, claim(None, Some(true)), Treatment::Unknown),
            (Permission::Tool, None, Treatment::Runs),
            (Permission::Tool, claim(None, Some(true)), Treatment::Runs),
            (Permission::Tool, claim(Some(true), Some(false)), Treatment::Reads),
            (Permission::Against, claim(Some(true), None), Treatment::Unknown),
        ] {
            assert_eq!(Treatment::from_permission(permission, claim), expected, "{permission:?} {claim:?}");
        }
    }
}

//! What happens to a call when the gate itself fails before the tool runs: `on_fault` in the user's `~/.tollgate/config.json`.
//!
//! `"ask"`, the default: a person decides, and if no one can be asked the call does not run. `"allow"`: the call runs. It is a
//! person's choice for all of their workspaces, so a workspace cannot make it: neither its own settings count nor a user's file
//! that is inside the workspace, where a repository can ship it.
//!
//! A host that cannot start the gate at all asks [`OnFault::read`] itself. See `docs/hosts.md`.

use serde_json::Value;

use crate::home;
use crate::json::document;
use crate::ports::Ports;

/// The user's own settings, below the home folder.
pub const PATH: &str = home::SETTINGS;

/// Maximum size of the file; a larger one is a mistake.
pub const MAX_BYTES: u64 = home::MAX_BYTES;

/// What happens to a call when the gate itself fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFault {
    /// A person decides.
    Ask,
    /// It runs.
    Allow,
}

impl OnFault {
    /// Reads the user's choice. Faults are rare, so it is read only when one happens.
    pub(super) fn of_user(ports: &Ports) -> Self {
        Self::read(&home::read(PATH, ports).unwrap_or_default())
    }

    /// Parses the user's choice from the text of the user's settings.
    pub fn read(settings: &[u8]) -> Self {
        match document::read::<Value>(settings) {
            Ok(settings) if settings.get("on_fault").and_then(Value::as_str) == Some("allow") => Self::Allow,
            _ => Self::Ask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    #[test]
    fn only_the_users_own_word_counts() {
        for (text, expected) in [
            (Some(r#"{"on_fault": "allow"}"#), OnFault::Allow),
            (Some(r#"{"hooks": {}, "on_fault": "allow", "x": 1}"#), OnFault::Allow),
            (Some("{\n  // they are few\n  \"on_fault\": \"allow\",\n}"), OnFault::Allow),
            (Some(r#"{"on_fault": "ask"}"#), OnFault::Ask),
            (Some(r#"{"on_fault": true}"#), OnFault::Ask),
            (Some(r#"{"on_fault": "ALLOW"}"#), OnFault::Ask),
            (Some(r#"[{"on_fault": "allow"}]"#), OnFault::Ask),
            (Some(r#"{"on_fault": "allow""#), OnFault::Ask),
            (None, OnFault::Ask),
        ] {
            let world = Memory::new();
            world.write(PATH, r#"{"on_fault": "allow"}"#);
            if let Some(text) = text {
                world.write_home(PATH, text);
            }
            assert_eq!(OnFault::of_user(&world.ports()), expected, "{text:?}");
        }
    }
}

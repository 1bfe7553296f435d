//! The answer to a host that is about to run a command.

use serde_json::{Map, Value, json};

use super::grant::Grants;
use crate::config::confine::ConfineMode;
use crate::intents::intent::Intent;

/// How a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunDecision {
    /// Confined to the grants.
    Confined,
    /// Unconfined.
    Plain,
    /// Not at all: the command is refused.
    Refused,
}

impl RunDecision {
    /// The name of the decision.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confined => "confined",
            Self::Plain => "plain",
            Self::Refused => "refused",
        }
    }
}

/// The answer to a host that is about to run a command.
#[derive(Debug)]
pub struct RunPlan {
    /// How the command is to run.
    pub run: RunDecision,
    /// Which commands run confined.
    pub mode: ConfineMode,
    /// Whether the command may open TCP connections and listen.
    pub network: bool,
    /// The intent that the command works for.
    pub intent: Option<Intent>,
    /// What the command may change.
    pub grants: Grants,
    /// What to tell the person.
    pub say: Option<String>,
}

impl RunPlan {
    /// The answer as JSON, for hosts.
    pub fn json(&self) -> Value {
        let env: Map<String, Value> =
            self.grants.temporary.iter().map(|folder| ("TMPDIR".to_owned(), Value::from(folder.clone()))).collect();
        json!({
            "run": self.run.as_str(),
            "mode": self.mode.as_str(),
            "network": self.network,
            "intent": self.intent.as_ref().map(|intent| json!({"id": intent.id, "name": intent.name, "status": intent.status})),
            "grants": self.grants.list.iter().map(|grant| grant.json()).collect::<Vec<_>>(),
            "env": env,
            "notes": self.grants.notes,
            "say": self.say,
        })
    }
}

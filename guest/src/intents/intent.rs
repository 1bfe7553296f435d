//! One intent: what the work is for, and which files it owns.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::scope::Scope;

/// The id of an intent, such as `INT-001`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IntentId(String);

/// A text that is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an intent id: expected 1 to 128 characters without blanks or control characters")]
pub struct InvalidIntentId(String);

impl IntentId {
    /// Stands for no intent where a record needs one.
    pub fn none() -> Self {
        Self("-".to_owned())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for IntentId {
    type Error = InvalidIntentId;

    fn try_from(text: String) -> Result<Self, InvalidIntentId> {
        let unfit = |c: char| c.is_whitespace() || c.is_control();
        if text.is_empty() || text.chars().count() > 128 || text.contains(unfit) {
            Err(InvalidIntentId(text))
        } else {
            Ok(Self(text))
        }
    }
}

impl From<IntentId> for String {
    fn from(id: IntentId) -> Self {
        id.0
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The status of an intent: how far the work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Not begun.
    Planned,
    /// Under way.
    InProgress,
    /// Done; it no longer governs anything.
    Completed,
    /// Waiting for something.
    Blocked,
    /// Given up; it no longer governs anything.
    Abandoned,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Planned, Self::InProgress, Self::Completed, Self::Blocked, Self::Abandoned];

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "PLANNED",
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Blocked => "BLOCKED",
            Self::Abandoned => "ABANDONED",
        }
    }

    /// Whether work may continue under it.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Completed | Self::Abandoned)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// One intent, as `active_intents.yaml` declares it.
#[derive(Debug, Clone)]
pub struct Intent {
    /// Unique in the file.
    pub id: IntentId,
    /// Its name, a few words.
    pub name: String,
    /// Its description, a few sentences.
    pub description: Option<String>,
    /// Its status.
    pub status: Status,
    /// The files it owns.
    pub owned_scope: Scope,
    /// What must hold.
    pub constraints: Vec<String>,
    /// When the work is done.
    pub acceptance_criteria: Vec<String>,
    /// When it was created, as written in the file.
    pub created_at: Option<String>,
    /// When it was last changed, as written in the file.
    pub updated_at: Option<String>,
}

impl fmt::Display for Intent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.id, self.name)
    }
}

//! One intent: what the work is for, and which files it owns.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::scope::Scope;

/// The id of an intent, such as `INT-001`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IntentId(String);

/// An id that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an intent id: expected 1 to 128 characters without blanks or control characters")]
pub struct NotAnIntentId(String);

impl IntentId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for IntentId {
    type Error = NotAnIntentId;

    fn try_from(text: String) -> Result<Self, NotAnIntentId> {
        let unfit = |c: char| c.is_whitespace() || c.is_control();
        if text.is_empty() || text.chars().count() > 128 || text.contains(unfit) {
            Err(NotAnIntentId(text))
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

/// How far the work has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Not begun.
    Planned,
    /// Under way.
    InProgress,
    /// Done: governs nothing any more.
    Completed,
    /// Waiting for something.
    Blocked,
    /// Given up: governs nothing any more.
    Abandoned,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Planned, Self::InProgress, Self::Completed, Self::Blocked, Self::Abandoned];

    /// The status of that name.
    pub fn named(name: &str) -> Option<Self> {
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

    /// Whether work may go on under it.
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
    /// A few words.
    pub name: String,
    /// A few sentences.
    pub description: Option<String>,
    /// How far it has come.
    pub status: Status,
    /// The files it owns.
    pub owned_scope: Scope,
    /// What must hold.
    pub constraints: Vec<String>,
    /// When it is done.
    pub acceptance_criteria: Vec<String>,
    /// When it was written down, as it is written.
    pub created_at: Option<String>,
    /// When it was last changed, as it is written.
    pub updated_at: Option<String>,
}

impl fmt::Display for Intent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.id, self.name)
    }
}

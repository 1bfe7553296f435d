//! Augmentation: adds what is known about the concepts that a call names.
//!
//! First [`Knowledge::plan`] says what to look up, then the host looks it up in its own time, and [`Knowledge::apply`] adds what
//! was found. It goes into the arguments only if that does not change what the tool does; otherwise the host tells the model, and
//! the arguments stay as they are, byte for byte.

mod block;
mod concept;
mod insertion;
mod knowledge;
mod notes;
pub(crate) mod programs;
mod request;
pub mod settings;

use serde::Deserialize;
use serde_json::Value;

pub use knowledge::{Knowledge, NamedConcepts, ServerStarter};
pub use request::{LookupRequest, Program};

/// Timeout for one answer.
pub const LOOKUP_MS: u32 = 1_000;
/// Timeout for all answers together; then those that have arrived are used.
pub const TOTAL_MS: u32 = 5_000;

/// One thing to look up outside the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The concept, as the call spells it.
    pub concept: String,
    /// The source that is asked.
    pub source: String,
    /// The request to the source.
    pub request: LookupRequest,
}

/// What to look up for a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The concepts that the call names.
    pub concepts: Vec<String>,
    /// The lookups that the host makes, all at once.
    pub lookups: Vec<Lookup>,
    /// Why there is nothing to do.
    pub skipped: Option<&'static str>,
}

/// The answer to a lookup.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LookupAnswer {
    /// The knowledge.
    Text(String),
    /// The source does not know the concept.
    Unknown,
    /// The source is not available.
    Unavailable,
    /// The source did not answer in time.
    Late,
    /// The source failed; its own words.
    Failed(String),
}

/// What a source outside the gate said about a concept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LookupFinding {
    /// The concept.
    pub concept: String,
    /// The source.
    pub source: String,
    /// What came back.
    pub answer: LookupAnswer,
}

/// What is known about a call's concepts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Augmentation {
    /// The arguments to run the tool with, if they differ from the call's.
    pub args: Option<Value>,
    /// What was added to the arguments.
    pub added: Option<String>,
    /// What the model should be told alongside the call.
    pub text: Option<String>,
    /// The concepts about which something was found.
    pub concepts: Vec<String>,
    /// The source that knew each of them.
    pub sources: Vec<String>,
    /// Why nothing was added.
    pub skipped: Option<&'static str>,
}

/// A note that the built-in source knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedNote {
    /// The source.
    pub source: String,
    /// The note's file, in the workspace.
    pub path: String,
}

/// The notes that the built-in source found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteListing {
    /// As many notes as were asked for.
    pub notes: Vec<ListedNote>,
    /// How many notes there are in all.
    pub total: usize,
    /// Whether every note has been read; otherwise asking again may find more.
    pub done: bool,
}

impl ListedNote {
    /// The name of the note.
    pub fn concept(&self) -> &str {
        notes::stem(&self.path)
    }
}

//! Augmentation: adds what is known about the concepts that a call names.
//!
//! First [`Knowledge::plan`] says what to look up, then the host looks it up in its own time, and [`Knowledge::apply`] puts
//! what was found where it serves. It goes into the arguments only where the tool does the same with it as without; else
//! the host tells the model, and the arguments stay as they are, byte for byte.

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

/// How long one answer is waited for.
pub const LOOKUP_MS: u32 = 1_000;
/// How long all of them are waited for; then what has arrived is used.
pub const TOTAL_MS: u32 = 5_000;

/// One thing to look up outside the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The concept, as the call spells it.
    pub concept: String,
    /// The source that is asked.
    pub source: String,
    /// Who is asked.
    pub request: LookupRequest,
}

/// What to look up for a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The concepts that the call names.
    pub concepts: Vec<String>,
    /// What the host looks up, all at once.
    pub lookups: Vec<Lookup>,
    /// Why there is nothing to do.
    pub skipped: Option<&'static str>,
}

/// What a lookup brought.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LookupAnswer {
    /// The knowledge.
    Text(String),
    /// The source does not know the concept.
    Unknown,
    /// The source is not there.
    Unavailable,
    /// It did not answer in time.
    Late,
    /// It failed; its own words.
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
pub struct Directions {
    /// The arguments to run the tool with, where they are others than the call's.
    pub args: Option<Value>,
    /// What was added to the arguments.
    pub added: Option<String>,
    /// What the model should be told beside the call.
    pub text: Option<String>,
    /// The concepts about which something was found.
    pub concepts: Vec<String>,
    /// Who knew each of them.
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

/// What the built-in source knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteListing {
    /// As many notes as were asked for.
    pub notes: Vec<ListedNote>,
    /// How many there are.
    pub total: usize,
    /// Whether every note has been read; otherwise asking again may find more.
    pub done: bool,
}

impl ListedNote {
    /// What the note is called.
    pub fn concept(&self) -> &str {
        notes::stem(&self.path)
    }
}

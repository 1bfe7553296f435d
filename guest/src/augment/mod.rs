//! Directions: what is known about the concepts that a call names.
//!
//! What is found goes to the model beside the call. The arguments stay as they are, so the tool does what it would have
//! done.

mod concept;
mod notes;

use serde_json::Value;

use crate::ports::Ports;

/// After so long what has arrived is used.
pub const TOTAL_MS: u32 = 5_000;

/// What to look up for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The concepts that the call names.
    pub concepts: Vec<String>,
    /// Why there is nothing to do.
    pub skipped: Option<&'static str>,
}

/// What a source outside the guest said about a concept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The concept.
    pub concept: String,
    /// The source.
    pub source: String,
    /// The knowledge, where there is any.
    pub text: Option<String>,
}

/// What is known about a call's concepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directions {
    /// What the model should be told beside the call.
    pub text: Option<String>,
    /// The concepts about which something was found.
    pub concepts: Vec<String>,
    /// Why nothing was added.
    pub skipped: Option<&'static str>,
}

/// Which concepts the call names.
pub fn plan(args: &Value) -> Plan {
    match concept::concepts(args) {
        None => Plan { concepts: Vec::new(), skipped: Some("no_text_args") },
        Some(concepts) if concepts.is_empty() => Plan { concepts, skipped: Some("no_concepts") },
        Some(concepts) => Plan { concepts, skipped: None },
    }
}

/// What is known, from the notes and from what the host found elsewhere.
pub fn apply(args: &Value, found: &[Finding], ports: &Ports) -> Directions {
    let plan = plan(args);
    if plan.skipped.is_some() {
        return Directions { text: None, concepts: Vec::new(), skipped: plan.skipped };
    }
    let mut sections = Vec::new();
    let mut known = Vec::new();
    for concept in plan.concepts {
        let note = notes::look_up(&concept, ports).map(|text| (notes::NAME, text));
        let elsewhere = || {
            let about = found.iter().filter(|finding| finding.concept == concept);
            about.filter_map(|finding| Some((finding.source.as_str(), finding.text.clone()?))).next()
        };
        if let Some((source, text)) = note.or_else(elsewhere) {
            sections.push(format!("## [[{concept}]] ({source})\n\n{text}"));
            known.push(concept);
        }
    }
    if sections.is_empty() {
        return Directions { text: None, concepts: Vec::new(), skipped: Some("no_context") };
    }
    Directions { text: Some(sections.join("\n\n---\n\n")), concepts: known, skipped: None }
}

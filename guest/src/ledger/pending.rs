//! Calls that were allowed and have not ended: what was known when they were ruled on.
//!
//! Kept in a file each, so that the ledger can tell before from after even if another process settles the call, and so
//! that an intent selected meanwhile does not get the credit.

use serde::{Deserialize, Serialize};

use crate::call::effect::Operation;
use crate::digest::Digest;
use crate::intents::intent::IntentId;
use crate::ports::{Expectation, FileFault, Ports, Root};
use crate::state;

/// A change that a call under way was allowed to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Relative to the workspace.
    pub path: String,
    /// What it was to be.
    pub operation: Operation,
    /// The content before.
    pub pre_hash: Option<Digest>,
}

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The intent that it was ruled under.
    pub intent: IntentId,
    /// What it may change.
    pub changes: Vec<Change>,
}

/// Remembers a call until it is settled.
pub fn keep(session: &str, call: &str, pending: &Pending, ports: &Ports) -> Result<(), FileFault> {
    let text = serde_json::to_vec(pending).map_err(|_| FileFault::Other)?;
    ports.records.replace(Root::Project, &path(session, call), &text, Expectation::Anything)
}

/// What is remembered about a call; none where it was not ruled on or is settled.
pub fn recall(session: &str, call: &str, ports: &Ports) -> Option<Pending> {
    let path = path(session, call);
    match ports.workspace.read(Root::Project, &path, state::MOST_BYTES) {
        Ok(text) => serde_json::from_slice(&text)
            .inspect_err(|fault| ports.warn(&format!("`{path}` cannot be parsed and counts as missing: {fault}")))
            .ok(),
        Err(FileFault::Missing) => None,
        Err(fault) => {
            ports.warn(&format!("`{path}` cannot be read and counts as missing: {fault}"));
            None
        }
    }
}

/// Forgets a settled call.
pub fn forget(session: &str, call: &str, ports: &Ports) {
    let path = path(session, call);
    if let Err(fault) = ports.records.remove(Root::Project, &path) {
        ports.warn(&format!("`{path}` cannot be removed: {fault}"));
    }
}

fn path(session: &str, call: &str) -> String {
    state::path("calls", &[session, call])
}

//! Records of runs and requests for approval.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bindings::exports::tollgate::hooks::engine::Approval;

pub use tollgate_guest::hooks::run::RunStatus;

/// One run of a hook. The same record is written to the hooks log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HookRecord {
    /// Unique among all runs.
    pub id: String,
    /// The id of the hook.
    pub hook: String,
    /// The event that triggered it.
    pub trigger: String,
    /// The current status.
    pub status: RunStatus,
    /// The number of attempts.
    pub attempts: u64,
    /// The file the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The agent session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The number of events this run covers, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// When it was first started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The exit code of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its output, with secrets removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A hook of the workspace that needs approval before it can run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookApproval {
    /// The id of the hook.
    pub hook: String,
    /// The digest of everything that would run.
    pub digest: String,
    /// Why approval is needed: `new`, `changed` and so on.
    pub why: String,
    /// What a person should review.
    pub shows: Value,
    /// Additional information for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl HookApproval {
    pub(super) fn from_gate(approval: Approval) -> Self {
        let Approval { hook, digest, why, notice, shows } = approval;
        Self { hook, digest, why, notice, shows: serde_json::from_slice(&shows).unwrap_or_default() }
    }
}

//! What embedders are told about runs and approvals.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bindings::exports::tollgate::hooks::engine::Approval;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunStatus {
    /// It waits.
    Queued,
    /// It is under way.
    Running,
    /// It ended well.
    Success,
    /// It ended badly, or could not begin.
    Failed,
    /// Its time was up.
    Timeout,
    /// Somebody canceled it.
    Canceled,
    /// It did not run, for a reason.
    Skipped,
}

/// One run of a hook. The same is written to the log of hooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HookRecord {
    /// Unique among all runs.
    pub id: String,
    /// The hook.
    pub hook: String,
    /// The event that set it off.
    pub trigger: String,
    /// How it stands.
    pub status: RunStatus,
    /// How often it was tried.
    pub attempts: u64,
    /// The file that the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The agent session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many events it answers, where these are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// When it first began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What the program ended with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Why it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it printed, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A hook of the workspace that wants to run and that nobody has approved as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HookApproval {
    /// The hook.
    pub hook: String,
    /// The digest of what would run.
    pub digest: String,
    /// `new`, `changed` and so on.
    pub why: String,
    /// What a person should see before deciding.
    pub shows: Value,
    /// What else a person should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl HookApproval {
    pub(super) fn of(approval: Approval) -> Self {
        let Approval { hook, digest, why, notice, shows } = approval;
        Self { hook, digest, why, notice, shows: serde_json::from_slice(&shows).unwrap_or_default() }
    }
}

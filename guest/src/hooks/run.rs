//! One run of a hook.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::declaration::Hook;
use super::event::Event;
use super::registry::Source;

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunStatus {
    /// Waiting to start.
    Queued,
    /// In progress.
    Running,
    /// Finished successfully.
    Success,
    /// Failed, or could not be started.
    Failed,
    /// Exceeded its time limit.
    Timeout,
    /// Canceled by a person or by the gate.
    Canceled,
    /// Did not run; the record gives the reason.
    Skipped,
}

impl RunStatus {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
        }
    }
}

/// A run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Unique within the instance, in the order in which runs came.
    pub number: u64,
    /// The hook, as it was declared when the event came.
    pub hook: Rc<Hook>,
    /// Where it was declared.
    pub source: Source,
    /// What happened.
    pub event: Event,
    /// Which part of the event this run is about.
    pub part: usize,
    /// How many events it answers; more than one if they came faster than it could run.
    pub events: u64,
    /// The chain that waits for it.
    pub chain: Option<u64>,
    /// How often it was tried.
    pub attempts: u64,
    /// When it was queued, on the host's clock.
    pub queued: u64,
    /// When it first started, on the host's clock and by the time of day.
    pub began: Option<(u64, crate::ports::Timestamp)>,
    /// Its stage.
    pub(super) stage: RunStage,
}

/// The stage of a run, with its times on the host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunStage {
    /// Its file may still change.
    Settling { since: u64, until: u64 },
    /// It waits for a slot.
    Ready,
    /// It has a slot and is being started.
    Beginning,
    /// The host runs it.
    Running { command: u64, until: u64 },
    /// The host was told to end it.
    Ending { command: u64, until: u64, status: RunStatus },
    /// It failed and will be tried again.
    Resting { until: u64 },
}

impl RunStage {
    /// When something has to happen even if nothing is reported.
    pub(super) fn until(self) -> Option<u64> {
        match self {
            Self::Settling { until, .. } | Self::Running { until, .. } | Self::Ending { until, .. } | Self::Resting { until } => {
                Some(until)
            }
            Self::Ready | Self::Beginning => None,
        }
    }

    pub(super) fn command(self) -> Option<u64> {
        match self {
            Self::Running { command, .. } | Self::Ending { command, .. } => Some(command),
            _ => None,
        }
    }

    /// Whether it takes a slot.
    pub(super) fn is_active(self) -> bool {
        matches!(self, Self::Beginning | Self::Running { .. } | Self::Ending { .. })
    }
}

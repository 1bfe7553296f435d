//! Errors returned by this crate.

use std::io;
use std::path::PathBuf;

use crate::bindings::exports::tollgate::hooks::sessions::{Fault, Refusal};

/// Why a call failed. A ruling is never an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workspace does not exist or is not a folder.
    #[error("cannot open the workspace `{}`: {why}; name an existing folder", path.display())]
    Workspace {
        /// The given folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        why: io::Error,
    },
    /// The state folder cannot be used.
    #[error("the state cannot be stored in `{}`: {why}; name another folder for it", path.display())]
    State {
        /// The given folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        why: io::Error,
    },
    /// No state folder could be determined.
    #[error(
        "there is no folder for the state: neither a home folder nor XDG_STATE_HOME is known; set HOME, or name a folder with --state DIR"
    )]
    NoStateFolder,
    /// The engine could not be set up.
    #[error("the engine cannot be set up: {0:#}")]
    Engine(#[source] wasmtime::Error),
    /// The guest trapped, ran too long or ran out of memory. The next call uses a fresh instance.
    #[error("the gate failed on this call and was restarted: {0:#}")]
    Trap(#[source] wasmtime::Error),
    /// The input is invalid.
    #[error("{0}")]
    InvalidInput(String),
    /// The workspace could not be read or written.
    #[error("{0}")]
    Files(String),
    /// A bug in the component or in this crate.
    #[error("{0}")]
    Internal(String),
    /// The intent cannot be selected.
    #[error("{message}")]
    Refused {
        /// `unknown_intent`, `intent_closed` or `not_governed`.
        code: &'static str,
        /// What went wrong, and what to do instead.
        message: String,
    },
}

impl Error {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Workspace { .. } => "workspace_missing",
            Self::State { .. } | Self::NoStateFolder => "state_missing",
            Self::Engine(_) => "engine_fault",
            Self::Trap(_) => "guest_trap",
            Self::InvalidInput(_) => "invalid_input",
            Self::Files(_) => "workspace_fault",
            Self::Internal(_) => "internal",
            Self::Refused { code, .. } => code,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let Fault::NotKept(message) = fault;
        Self::Files(message)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownIntent(message) => Self::Refused { code: "unknown_intent", message },
            Refusal::IntentClosed(message) => Self::Refused { code: "intent_closed", message },
            Refusal::NotGoverned(message) => Self::Refused { code: "not_governed", message },
            Refusal::NotKept(message) => Self::Files(message),
        }
    }
}

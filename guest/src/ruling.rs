//! Rulings: a verdict, its code and its reason.

use serde::Serialize;

use crate::effects::Effect;

/// Whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may.
    Allow,
    /// A person decides.
    Ask,
    /// It may not.
    Deny,
}

/// The stable code of each reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Every change is in the intent's scope.
    InScope,
    /// Nothing is changed.
    ReadOnly,
    /// The workspace has no `.orchestration/`.
    Ungoverned,
    /// The intents cannot be read, so governance is off, or a person decides if they cannot even be inspected.
    IntentsUnreadable,
    /// The session has not selected an intent.
    NoActiveIntent,
    /// The selected intent is not in the file.
    UnknownIntent,
    /// The selected intent is completed or abandoned.
    IntentClosed,
    /// A change that the intent does not own.
    OutOfScope,
    /// A change to a file that governs the gate itself.
    ControlFile,
    /// A change to a file that is no longer what the session last saw.
    StaleWrite,
    /// A change to a file that another session is writing to.
    WriteInFlight,
    /// The effects of the call cannot be known.
    UnknownEffects,
    /// A program that the settings do not allow to run.
    Program,
    /// A patch that cannot be read.
    InvalidPatch,
    /// A path that leads nowhere or is not a path.
    InvalidPath,
    /// Arguments that cannot be understood.
    InvalidArguments,
    /// A fault of the gate itself, so a person decides.
    GateFault,
    /// The command's changes cannot be seen beforehand, and the kernel holds it to the intent's scope.
    Confined,
    /// Confinement would stop the command half-way.
    NotConfinable,
}

impl Code {
    /// The code as programs see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InScope => "in_scope",
            Self::ReadOnly => "read_only",
            Self::Ungoverned => "ungoverned",
            Self::IntentsUnreadable => "intents_unreadable",
            Self::NoActiveIntent => "no_active_intent",
            Self::UnknownIntent => "unknown_intent",
            Self::IntentClosed => "intent_closed",
            Self::OutOfScope => "out_of_scope",
            Self::ControlFile => "control_file",
            Self::StaleWrite => "stale_write",
            Self::WriteInFlight => "write_in_flight",
            Self::UnknownEffects => "unknown_effects",
            Self::Program => "program",
            Self::InvalidPatch => "invalid_patch",
            Self::InvalidPath => "invalid_path",
            Self::InvalidArguments => "invalid_arguments",
            Self::GateFault => "gate_fault",
            Self::Confined => "confined",
            Self::NotConfinable => "not_confinable",
        }
    }
}

/// A verdict, its code and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Whether the call may run.
    pub verdict: Verdict,
    /// The code, for programs.
    pub code: Code,
    /// The reason, for people: what is wrong and what to do about it. Empty on a plain allow.
    pub reason: String,
    /// What the call would do.
    pub effects: Vec<Effect>,
    /// Whether the command has to run confined.
    pub confined: bool,
}

impl Ruling {
    /// A plain allow.
    pub fn allow(code: Code, effects: Vec<Effect>) -> Self {
        Self { verdict: Verdict::Allow, code, reason: String::new(), effects, confined: false }
    }

    /// A refusal.
    pub fn deny(code: Code, reason: impl Into<String>, effects: Vec<Effect>) -> Self {
        Self { verdict: Verdict::Deny, code, reason: reason.into(), effects, confined: false }
    }
}

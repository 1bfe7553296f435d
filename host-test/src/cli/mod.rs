//! What every command of `tollgate` is served by: the workspace it is about, questions to the gate, what it prints and asks a person.

pub(crate) mod client;
pub(crate) mod confirm;
pub(crate) mod inspection;
pub(crate) mod interrupt;
pub(crate) mod output;
pub(crate) mod workspace;

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value;
use tollgate::Level;

/// What a command came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// It was asked for a judgement, and that is no.
    No,
}

/// Why a command stopped before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What is wrong, and what to do.
    Fault(String),
    /// The gate answered with an error.
    Refused { message: String, answer: Value },
    /// Whoever read the output has gone.
    Unread,
}

impl Stop {
    pub(crate) fn fault(why: impl std::fmt::Display) -> Self {
        Self::Fault(why.to_string())
    }

    /// Says why, and which exit code that is.
    pub(crate) fn exit(&self) -> ExitCode {
        match self {
            Self::Fault(why) | Self::Refused { message: why, .. } => failed(why),
            Self::Unread => ExitCode::SUCCESS,
        }
    }

    /// Says first what has been done already.
    pub(crate) fn after(self, done: &str) -> Self {
        match self {
            Self::Fault(why) => Self::Fault(format!("{done}: {why}")),
            Self::Refused { message, answer } => Self::Refused { message: format!("{done}: {message}"), answer },
            Self::Unread => Self::Unread,
        }
    }
}

/// Only for the output: a file's faults name the file.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Fault(format!("the output cannot be written: {error}")),
        }
    }
}

/// Says why something could not be done.
pub(crate) fn failed(why: &str) -> ExitCode {
    say(why);
    ExitCode::from(2)
}

/// Puts what somebody should look at on standard error.
pub(crate) fn log(level: Level, message: &str, _details: &str) {
    match level {
        Level::Debug | Level::Info => {}
        Level::Warn => say(&format!("warn: {message}")),
        Level::Error => say(&format!("error: {message}")),
    }
}

/// One message on standard error. Where that is closed, there is nobody to tell.
pub(crate) fn say(message: &str) {
    let _ = writeln!(io::stderr(), "tollgate: {}", output::lines(message));
}

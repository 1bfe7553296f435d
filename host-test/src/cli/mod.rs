//! Shared parts of every `tollgate` command: choosing the workspace, asking the gate, printing, and asking a person.

pub(crate) mod client;
pub(crate) mod confirm;
pub(crate) mod file_change;
pub(crate) mod inspection;
pub(crate) mod interrupt;
pub(crate) mod output;
pub(crate) mod workspace;

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value;
use tollgate::Level;

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The command checks something, and the answer is no.
    No,
}

/// What every command returns.
pub(crate) type CommandResult = Result<Outcome, CommandError>;

/// Why a command did not finish.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// What is wrong, and how to fix it.
    Failed(String),
    /// The gate answered with an error.
    Refused { message: String, answer: Value },
    /// The reader of the output is gone.
    OutputClosed,
}

impl CommandError {
    pub(crate) fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// Prints the reason and returns the exit code.
    pub(crate) fn exit(&self) -> ExitCode {
        match self {
            Self::Failed(why) | Self::Refused { message: why, .. } => fail(why),
            Self::OutputClosed => ExitCode::SUCCESS,
        }
    }

    /// Adds what has already been done to the message.
    pub(crate) fn with_context(self, done: &str) -> Self {
        match self {
            Self::Failed(why) => Self::Failed(format!("{done}: {why}")),
            Self::Refused { message, answer } => Self::Refused { message: format!("{done}: {message}"), answer },
            Self::OutputClosed => Self::OutputClosed,
        }
    }
}

/// Only for errors while printing: errors on files name the file.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Failed(format!("the output cannot be written: {error}")),
        }
    }
}

/// Prints why a command failed and returns its exit code.
pub(crate) fn fail(why: &str) -> ExitCode {
    print_message(why);
    ExitCode::from(2)
}

/// Prints warnings and errors of the gate on standard error.
pub(crate) fn log(level: Level, message: &str, _details: &str) {
    match level {
        Level::Debug | Level::Info => {}
        Level::Warn => print_message(&format!("warn: {message}")),
        Level::Error => print_message(&format!("error: {message}")),
    }
}

/// Prints a message on standard error. If that is closed, the message is dropped.
pub(crate) fn print_message(message: &str) {
    let _ = writeln!(io::stderr(), "tollgate: {}", output::escape_lines(message));
}

//! What the `tollgate` command can do, a file each.
//!
//! The gate decides; a command carries the question, asks a person where one has to agree, does what the gate's own
//! folders are too small for, and prints.
//!
//! Exit codes: 0 done, 1 the answer is no, 2 it could not be done.

mod ask;
pub(crate) mod augment;
pub(crate) mod compile_hook;
pub(crate) mod concepts;
pub(crate) mod confine;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod hook;
pub(crate) mod hook_runner;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod intents;
mod interrupt;
mod look;
pub(crate) mod mcp_serve;
pub(crate) mod new_hook;
mod person;
mod place;
mod screen;
pub(crate) mod shell_prefix;
pub(crate) mod test_hook;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod watch;

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value;
use tollgate::Level;

/// What a command came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// It was asked for a judgement, and that is no.
    No,
}

/// Why a command stopped before its end.
#[derive(Debug)]
enum Stop {
    /// What is wrong, and what to do.
    Fault(String),
    /// The gate answered with an error.
    Refused { message: String, answer: Value },
    /// Whoever read the output has gone.
    Unread,
}

impl Stop {
    fn fault(why: impl std::fmt::Display) -> Self {
        Self::Fault(why.to_string())
    }

    /// Says why, and which exit code that is.
    fn exit(&self) -> ExitCode {
        match self {
            Self::Fault(why) | Self::Refused { message: why, .. } => failed(why),
            Self::Unread => ExitCode::SUCCESS,
        }
    }

    /// Says first what has been done already.
    fn after(self, done: &str) -> Self {
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
fn failed(why: &str) -> ExitCode {
    say(why);
    ExitCode::from(2)
}

/// Puts what somebody should look at on standard error.
fn log(level: Level, message: &str, _details: &str) {
    match level {
        Level::Debug | Level::Info => {}
        Level::Warn => say(&format!("warn: {message}")),
        Level::Error => say(&format!("error: {message}")),
    }
}

/// One message on standard error. Where that is closed, there is nobody to tell.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "tollgate: {}", screen::lines(message));
}

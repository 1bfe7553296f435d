//! What the `tollgate` command can do, a file each.
//!
//! Exit codes: 0 done, 1 the answer is no, 2 it could not be done.

pub(crate) mod eval;

use std::process::ExitCode;

use tollgate::Level;

/// Says why something could not be done.
pub(crate) fn failed(why: &str) -> ExitCode {
    eprintln!("tollgate: {why}");
    ExitCode::from(2)
}

/// Puts what somebody should look at on standard error.
pub(crate) fn log(level: Level, message: &str, _details: &str) {
    match level {
        Level::Debug | Level::Info => {}
        Level::Warn => eprintln!("tollgate: warn: {message}"),
        Level::Error => eprintln!("tollgate: error: {message}"),
    }
}

//! `tollgate hook-runner`: calls third-party hooks for a host that cannot do so itself, one JSON line per round.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tollgate::components::Runner;

use crate::cli::fail;

/// The options of `tollgate hook-runner`.
#[derive(Args)]
pub(crate) struct Options {
    /// The workspace whose files hooks may have been granted
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The home folder that keeps approved components
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
}

/// Answers lines until the input ends.
pub(crate) fn run(options: &Options) -> ExitCode {
    let mut runner = match Runner::open(&options.workspace, &options.home) {
        Ok(runner) => runner,
        Err(why) => return fail(&why.to_string()),
    };
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if writeln!(out, "{}", runner.answer(&line)).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

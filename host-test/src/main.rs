//! The `tollgate` command.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The gate that every tool call of an AI coding agent passes.
#[derive(Parser)]
#[command(name = "tollgate", version = version(), propagate_version = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer JSON lines from standard input: one object in, one object out
    Eval(commands::eval::Options),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Eval(options) => commands::eval::run(&options),
    }
}

/// What runs here, by its content: the npm package of this version prints the same digest.
fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " (component ", env!("TOLLGATE_DIGEST"), ")")
}

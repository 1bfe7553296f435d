//! `tollgate trace`: shows and manages what agents changed.

mod archive;
mod entry;
mod export;
mod filters;
mod list;
mod map;
mod pages;
mod restore;
mod revert;
mod verify;
mod versions;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::fail;
use crate::cli::workspace::WorkspaceArgs;

/// The options of `tollgate trace`.
#[derive(Args)]
#[command(after_help = list::COLUMNS)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: list::Options,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

#[derive(Subcommand)]
enum Command {
    /// List the latest changes, oldest first; the same as `tollgate trace` alone
    #[command(after_help = list::COLUMNS)]
    List(list::Options),
    /// Verify the ledger; exits with 1 if it was damaged or tampered with
    Verify(verify::Options),
    /// Write the ledger in a format that other tools read, one JSON record per line
    Export(export::Options),
    /// Write .orchestration/intent_map.md: which files were changed for which intent
    Map,
    /// Move the ledger to .orchestration/archive/ and start a new one
    Archive(archive::Options),
    /// Revert the change of one entry after reviewing it
    Revert(revert::Options),
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Self::List(_) => "list",
            Self::Verify(_) => "verify",
            Self::Export(_) => "export",
            Self::Map => "map",
            Self::Archive(_) => "archive",
            Self::Revert(_) => "revert",
        }
    }
}

/// Runs a subcommand.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    if let Some(command) = &options.command
        && options.list != list::Options::default()
    {
        let name = command.name();
        return fail(&format!("options must follow `{name}`: tollgate trace {name} …"));
    }
    options.workspace.run(|opened, output| match &options.command {
        None => list::run(opened, &options.list, json, output),
        Some(Command::List(options)) => list::run(opened, options, json, output),
        Some(Command::Verify(options)) => verify::run(&mut opened.gate, options, json, output),
        Some(Command::Export(options)) => export::run(opened, options, output),
        Some(Command::Map) => map::run(&mut opened.gate, json, output),
        Some(Command::Archive(options)) => archive::run(opened, options, json, output),
        Some(Command::Revert(options)) => revert::run(opened, options, json, output),
    })
}

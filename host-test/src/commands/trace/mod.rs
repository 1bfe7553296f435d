//! `tollgate trace`: what the agents changed.

mod archive;
mod entry;
mod export;
mod filters;
mod list;
mod map;
mod pages;
mod rename;
mod restore;
mod revert;
mod verify;
mod versions;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::failed;
use crate::cli::workspace::Place;

/// The options of `tollgate trace`.
#[derive(Args)]
#[command(after_help = list::MARKS)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: list::Options,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    /// List the latest changes, oldest first; the same as `tollgate trace` alone
    #[command(after_help = list::MARKS)]
    List(list::Options),
    /// Check that the ledger is whole; exits with 1 if it is not
    Verify(verify::Options),
    /// Write the ledger in a format that other tools read, one JSON record per line
    Export(export::Options),
    /// Write .orchestration/intent_map.md: which files were changed for which intent
    Map,
    /// Move the ledger aside, below .orchestration/archive/, and begin a new one
    Archive(archive::Options),
    /// Take the change of one entry back, once you have seen what that means and agreed
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

/// Asks the gate, and prints what it says.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.place.json;
    if let Some(command) = &options.command
        && options.list != list::Options::default()
    {
        let name = command.name();
        return failed(&format!("options in front of `{name}` would not count; write them behind it: tollgate trace {name} …"));
    }
    options.place.run(|opened, screen| match &options.command {
        None => list::run(opened, &options.list, json, screen),
        Some(Command::List(options)) => list::run(opened, options, json, screen),
        Some(Command::Verify(options)) => verify::run(&mut opened.gate, options, json, screen),
        Some(Command::Export(options)) => export::run(opened, options, screen),
        Some(Command::Map) => map::run(&mut opened.gate, json, screen),
        Some(Command::Archive(options)) => archive::run(opened, options, json, screen),
        Some(Command::Revert(options)) => revert::run(opened, options, json, screen),
    })
}

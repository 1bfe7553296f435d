//! `tollgate hooks`: what is done when something happens.

mod approve;
mod deed;
mod history;
mod list;
pub(super) mod record;
mod run;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::workspace::Place;

/// The options of `tollgate hooks`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    /// List the hooks: what sets them off, what they run, whether they may; exits with 1 if a declaration cannot be used
    List,
    /// Show one hook: what it would run, and what has changed since somebody approved it
    Show(One),
    /// Let a hook of the workspace run, once you have seen what it runs and agreed
    Approve(approve::Options),
    /// Take an approval back
    Revoke(approve::Options),
    /// Run a hook now, whatever sets it off; exits with 1 if it does not succeed
    Run(run::Options),
    /// List the latest runs, the newest last
    History(history::Options),
}

#[derive(Args)]
struct One {
    /// The hook, as `tollgate hooks list` shows it
    #[arg(value_name = "ID")]
    id: String,
}

/// Asks the gate, runs what it wants run, and prints what it says.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.place.json;
    options.place.run(|opened, screen| {
        let root = opened.root.clone();
        let mut hooks = Hooks::new(&mut opened.gate, HookOptions::new());
        match &options.command {
            Command::List => list::show(&mut hooks, json, screen),
            Command::Show(one) => approve::show(&mut hooks, &one.id, json, screen),
            Command::Approve(options) => approve::run(&mut hooks, &root, options, json, screen),
            Command::Revoke(options) => approve::run_revoke(&mut hooks, &root, options, json, screen),
            Command::Run(options) => {
                run::end_with_us(hooks.remote());
                run::run(&mut hooks, options, json, screen)
            }
            Command::History(options) => history::show(&mut hooks, options, json, screen),
        }
    })
}

//! `tollgate hooks`: lists, approves and runs hooks.

mod approve;
mod history;
mod import;
mod list;
mod preview;
pub(super) mod record;
mod run;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::workspace::WithSubcommand;

/// The options of `tollgate hooks`.
pub(crate) type Options = WithSubcommand<Command>;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the hooks with their triggers, commands and approvals; exits with 1 if a declaration is invalid
    List,
    /// Show one hook: what it would run, and what has changed since it was approved
    Show(HookId),
    /// Approve a hook of the workspace after reviewing what it runs
    Approve(approve::Options),
    /// Revoke an approval
    Revoke(approve::Options),
    /// Import hooks written for Claude Code after reviewing them
    Import(import::Options),
    /// Run a hook now, whatever its trigger; exits with 1 if it does not succeed
    Run(run::Options),
    /// List recent runs, newest last
    History(history::Options),
}

#[derive(Args)]
pub(crate) struct HookId {
    /// The hook id, as shown by `tollgate hooks list`
    #[arg(value_name = "ID")]
    id: String,
}

/// Runs a subcommand.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    options.workspace.run(|opened, output| {
        let (root, home) = (opened.root.clone(), options.workspace.home());
        let mut hooks = Hooks::new(&mut opened.gate, HookOptions::new());
        match &options.command {
            Command::List => list::show(&mut hooks, json, output),
            Command::Show(one) => approve::show(&mut hooks, &one.id, json, output),
            Command::Approve(options) => approve::run(&mut hooks, (&root, home.as_deref()), options, json, output),
            Command::Revoke(options) => approve::run_revoke(&mut hooks, &root, options, json, output),
            Command::Import(options) => import::run(&mut hooks, &root, options, json, output),
            Command::Run(options) => {
                run::shut_down_on_interrupt(hooks.remote());
                run::run(&mut hooks, options, json, output)
            }
            Command::History(options) => history::show(&mut hooks, options, json, output),
        }
    })
}

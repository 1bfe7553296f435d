//! `tollgate extensions`: folders that provide hooks, MCP servers, settings and skills.

mod approve;
mod enable;
mod list;
mod preview;
mod set;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::Outcome;
use crate::cli::client::{ask, text};
use crate::cli::confirm::Person;
use crate::cli::output::escape;
use crate::cli::workspace::WithSubcommand;

/// The options of `tollgate extensions`.
pub(crate) type Options = WithSubcommand<Command>;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the extensions with their state and contents; exits with 1 if a manifest is not valid
    List,
    /// Show one extension: everything that it provides, and its settings
    Show(ExtensionName),
    /// Enable an extension
    Enable(enable::Options),
    /// Disable an extension
    Disable(enable::Options),
    /// Approve an extension of the workspace after reviewing everything that it provides
    Approve(approve::Options),
    /// Withdraw an approval
    Revoke(approve::Options),
    /// Set a value for an extension; asks for a secret without showing it
    Set(set::Options),
    /// Validate manifests; exits with 1 if one is not valid
    Check(Check),
    /// Create a new extension
    New(New),
}

#[derive(Args)]
pub(crate) struct ExtensionName {
    /// The extension, as `tollgate extensions list` shows it
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Args)]
pub(crate) struct Check {
    /// The folder of an extension in the workspace [default: all extensions]
    #[arg(value_name = "FOLDER")]
    folder: Option<String>,
}

#[derive(Args)]
pub(crate) struct New {
    /// The name of the new extension
    #[arg(value_name = "NAME")]
    name: String,
    /// Create it in your own ~/.tollgate/extensions instead of the workspace's
    #[arg(long)]
    user: bool,
}

/// Asks the gate, applies changes, and prints its answer.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    options.workspace.run(|opened, output| {
        let root = opened.root.clone();
        let mut gate = Hooks::new(&mut opened.gate, HookOptions::new());
        match &options.command {
            Command::List => list::show(&mut gate, json, output),
            Command::Check(check) => list::check(&mut gate, check.folder.as_deref(), json, output),
            Command::Show(one) => {
                let extension = ask(&mut gate, &json!({"op": "extensions", "do": "show", "id": one.name}))?;
                if json {
                    output.json(&extension)?;
                } else {
                    preview::render(&extension, output).iter().try_for_each(|line| output.line(line))?;
                }
                Ok(Outcome::Done)
            }
            Command::Enable(options) => enable::run(&mut gate, &root, options, true, json, output),
            Command::Disable(options) => enable::run(&mut gate, &root, options, false, json, output),
            Command::Approve(options) => approve::run(&mut gate, &root, options, json, output),
            Command::Revoke(options) => approve::revoke(&mut gate, &root, options, json, output),
            Command::Set(options) => set::run(&mut gate, &root, options, json, output),
            Command::New(new) => {
                let person = Person::require(&mut gate, &root, &["extensions", "new", &new.name], true)?;
                let answer = ask(&mut gate, &json!({"op": "extensions", "do": "new", "id": new.name, "own": new.user}))?;
                let folder = text(&answer, "/folder").to_owned();
                if json {
                    output.json(&answer)?;
                } else {
                    output.line(&format!("created {}; `tollgate extensions list` shows its state", escape(&folder)))?;
                }
                person.record(&mut gate, &[folder])?;
                Ok(Outcome::Done)
            }
        }
    })
}

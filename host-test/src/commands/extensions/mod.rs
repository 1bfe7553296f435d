//! `tollgate extensions`: folders that bring hooks, MCP servers, settings and skills.

mod approve;
mod enable;
mod list;
mod set;
mod shown;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::client::{ask, text};
use crate::cli::confirm::Person;
use crate::cli::output::escape;
use crate::cli::workspace::WorkspaceArgs;
use crate::cli::{CommandError, Outcome};

/// The options of `tollgate extensions`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

#[derive(Subcommand)]
enum Command {
    /// List the extensions: whose they are, how they stand, what they bring; exits with 1 if one cannot be used
    List,
    /// Show one extension: everything that it brings, in words, and what is set for it
    Show(One),
    /// Let what an extension brings count
    Enable(enable::Options),
    /// Let nothing of an extension count
    Disable(enable::Options),
    /// Let an extension of the workspace count, once you have seen everything that it brings and agreed
    Approve(approve::Options),
    /// Take an approval back
    Revoke(approve::Options),
    /// Set something for an extension; a secret is asked for, and not shown
    Set(set::Options),
    /// Check manifests; exits with 1 if one cannot be used
    Check(Check),
    /// Make a new extension to begin with
    New(New),
}

#[derive(Args)]
struct One {
    /// The extension, as `tollgate extensions list` shows it
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Args)]
struct Check {
    /// The folder of an extension in the workspace [default: all that are found]
    #[arg(value_name = "FOLDER")]
    folder: Option<String>,
}

#[derive(Args)]
struct New {
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
    /// Put it into your own ~/.tollgate/extensions instead of the workspace's
    #[arg(long)]
    user: bool,
}

/// Asks the gate, has changes made, and prints what it says.
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
                    shown::lines(&extension, output).iter().try_for_each(|line| output.line(line))?;
                }
                Ok(Outcome::Done)
            }
            Command::Enable(options) => enable::run(&mut gate, &root, options, true, json, output),
            Command::Disable(options) => enable::run(&mut gate, &root, options, false, json, output),
            Command::Approve(options) => approve::run(&mut gate, &root, options, json, output),
            Command::Revoke(options) => approve::run_revoke(&mut gate, &root, options, json, output),
            Command::Set(options) => set::run(&mut gate, &root, options, json, output),
            Command::New(new) => {
                let person = Person::require(&mut gate, &root, &["extensions", "new", &new.name], true)?;
                let answer = ask(&mut gate, &json!({"op": "extensions", "do": "new", "id": new.name, "own": new.user}))?;
                let folder = text(&answer, "/folder").to_owned();
                if json {
                    output.json(&answer)?;
                } else {
                    output.line(&format!("{} is there; `tollgate extensions list` shows how it stands", escape(&folder)))?;
                }
                person.record(&mut gate, &[folder])?;
                Ok::<_, CommandError>(Outcome::Done)
            }
        }
    })
}

//! `tollgate mcp`: lists the declared MCP servers and their tools, and calls tools.
//!
//! The gate decides which servers to connect to and what happens to a call. It checks every call, as it does for an agent.

mod add;
mod call;
mod list;

use std::process::ExitCode;

use clap::Subcommand;
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::CommandError;
use crate::cli::interrupt::on_interrupt;
use crate::cli::workspace::WithSubcommand;

/// The options of `tollgate mcp`.
pub(crate) type Options = WithSubcommand<Command>;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Connect to every declared server and show its state; exits with 1 if one is not available
    Status,
    /// List the tools of all servers, or of one
    Tools(list::Tools),
    /// Call a tool, through the gate; exits with 1 if it fails or may not run
    Call(call::Options),
    /// Declare a server in your own settings, ~/.tollgate/config.json
    Add(add::Options),
}

/// Runs a subcommand.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    options.workspace.run(|opened, output| match &options.command {
        Command::Add(wanted) => {
            let home =
                options.workspace.home().ok_or_else(|| CommandError::failed("there is no home folder; name one with --home"))?;
            add::run(opened, &home, wanted, json, output)
        }
        Command::Call(wanted) => call::run(opened, wanted, json, output),
        Command::Status => list::status(&mut hooks(&mut opened.gate, HookOptions::new()), json, output),
        Command::Tools(wanted) => list::tools(&mut hooks(&mut opened.gate, HookOptions::new()), wanted, json, output),
    })
}

/// Creates the hooks that drive the gate's connections. Ctrl-C also ends the servers.
fn hooks(gate: &mut tollgate::Tollgate, options: HookOptions) -> Hooks<&mut tollgate::Tollgate> {
    let hooks = Hooks::new(gate, options);
    let remote = hooks.remote();
    on_interrupt(move |_| remote.shutdown(false));
    hooks
}

//! The `tollgate` command.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod cli;
mod commands;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes: 0 done, 1 the answer is no, 2 it could not be done.";

/// The gate that every tool call of an AI coding agent passes.
#[derive(Parser)]
#[command(name = "tollgate", version = version(), propagate_version = false, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer JSON lines from standard input: one object in, one object out
    Eval(commands::eval::Options),
    /// Show, check and select what the agents work for
    Intents(commands::intents::Options),
    /// Say what tools do that the gate does not know
    Tools(commands::tools::Options),
    /// Show what would be added to a call about the concepts it names, and from where
    Augment(commands::augment::Options),
    /// List and search the notes about concepts
    Concepts(commands::concepts::Options),
    /// Show, approve and run what the workspace and you want done when something happens
    Hooks(commands::hooks::Options),
    /// Run hooks outside an editor: at saved, created, deleted and renamed files, and at commits
    Watch(commands::watch::Options),
    /// Offer intents and ledger to an agent as tools of an MCP server, on standard input and output
    McpServe(commands::mcp_serve::Options),
    /// Answer one event of a host's hooks: its JSON on standard input, the answer on standard output
    Hook(commands::agent_event::Options),
    /// Run a command that the kernel holds to what its session's intent owns
    Confine(commands::confine::Options),
    /// Wire the hosts in use to the gate, or take that back
    Init(commands::init::Options),
    /// Prove that the hosts really ask the gate; exits with 1 if one does not
    Doctor(commands::doctor::Options),
    /// Show, check, export and archive what the agents changed, and take changes back
    Trace(Box<commands::trace::Options>),
}

fn main() -> ExitCode {
    // A host waits for its hook at every call, so the plain form is not parsed at length.
    let words: Vec<_> = std::env::args_os().take(6).collect();
    if let Some(options) = commands::agent_event::Options::plain(&words) {
        return commands::agent_event::run(&options);
    }
    if let Some(options) = commands::confine::Options::plain(std::env::args_os()) {
        return commands::confine::run(&options);
    }
    let is_command = |word: &str| Cli::command().find_subcommand(word).is_some();
    if let Some(given) = commands::shell_prefix::given(&words, is_command) {
        return commands::shell_prefix::run(&given);
    }
    match Cli::parse().command {
        Command::Eval(options) => commands::eval::run(&options),
        Command::Augment(options) => commands::augment::run(&options),
        Command::Concepts(options) => commands::concepts::run(&options),
        Command::Hooks(options) => commands::hooks::run(&options),
        Command::Watch(options) => commands::watch::run(&options),
        Command::Confine(options) => commands::confine::run(&options),
        Command::Hook(options) => commands::agent_event::run(&options),
        Command::Init(options) => commands::init::run(&options),
        Command::Doctor(options) => commands::doctor::run(&options),
        Command::Intents(options) => commands::intents::run(&options),
        Command::Tools(options) => commands::tools::run(&options),
        Command::McpServe(options) => commands::mcp_serve::run(&options),
        Command::Trace(options) => commands::trace::run(&options),
    }
}

/// What runs here, by its content: the npm package of this version prints the same digest.
fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " (component ", env!("TOLLGATE_DIGEST"), ")")
}

//! The `tollgate` command.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod cli;
mod commands;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes: 0 success, 1 the answer is no, 2 failure.";

/// The gate that every tool call of an AI coding agent passes through.
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
    /// List, check and select the intents that agents work for
    Intents(commands::intents::Options),
    /// Declare what tools unknown to the gate do
    Tools(commands::tools::Options),
    /// Show what would be added to a call about the concepts it mentions, and from which source
    Augment(commands::augment::Options),
    /// List and search the notes about concepts
    Concepts(commands::concepts::Options),
    /// List, approve and run hooks of the workspace and of the user
    Hooks(commands::hooks::Options),
    /// Show, enable, approve and set up extensions, which provide hooks, MCP servers, settings and skills
    Extensions(commands::extensions::Options),
    /// List skills, and print the prompt of one
    Skills(commands::skills::Options),
    /// Show what a hook's component is and what it asks for; exits with 1 if it cannot be a hook
    Inspect(commands::inspect::Options),
    /// Create the project of a new hook: source, manifest and test cases
    NewHook(commands::new_hook::Options),
    /// Embed a manifest in a hook's component
    PackHook(commands::inspect::PackOptions),
    /// Run test cases against a hook's component; exits with 1 if one fails
    TestHook(commands::test_hook::Options),
    /// Call hooks of third parties for another host, a JSON line for each round
    #[command(hide = true)]
    HookRunner(commands::hook_runner::Options),
    /// Run hooks without an editor: when files are saved, created, deleted or renamed, and on commits
    Watch(commands::watch::Options),
    /// List MCP servers and their tools, call a tool through the gate, and add servers
    Mcp(commands::mcp::Options),
    /// Serve the tools of MCP servers on standard input and output, with every call checked by the gate
    McpProxy(commands::mcp_proxy::Options),
    /// Serve intents and the ledger as tools of an MCP server on standard input and output
    McpServe(commands::mcp_serve::Options),
    /// Answer one hook event of an agent program: its JSON on standard input, the answer on standard output
    Hook(commands::agent_event::Options),
    /// Run a command that the kernel restricts to the files its session's intent owns
    Confine(commands::confine::Options),
    /// Connect the agent programs in use to the gate, or undo that
    Init(commands::init::Options),
    /// Check that agent programs really ask the gate; exits with 1 if one does not
    Doctor(commands::doctor::Options),
    /// List, verify, export and archive what agents changed, and revert changes
    Trace(Box<commands::trace::Options>),
}

fn main() -> ExitCode {
    // An agent program waits for its hook on every call, so the usual form skips the full parser.
    let words: Vec<_> = std::env::args_os().take(6).collect();
    if let Some(options) = commands::agent_event::Options::parse_plain(&words) {
        return commands::agent_event::run(&options);
    }
    if let Some(options) = commands::confine::Options::parse_alone(std::env::args_os()) {
        return commands::confine::run(&options);
    }
    let is_command = |word: &str| Cli::command().find_subcommand(word).is_some();
    if let Some(given) = commands::shell_prefix::command_to_run(&words, is_command) {
        return commands::shell_prefix::run(&given);
    }
    match Cli::parse().command {
        Command::Eval(options) => commands::eval::run(&options),
        Command::Augment(options) => commands::augment::run(&options),
        Command::Concepts(options) => commands::concepts::run(&options),
        Command::Hooks(options) => commands::hooks::run(&options),
        Command::Extensions(options) => commands::extensions::run(&options),
        Command::Skills(options) => commands::skills::run(&options),
        Command::Inspect(options) => commands::inspect::run(&options),
        Command::NewHook(options) => commands::new_hook::run(&options),
        Command::PackHook(options) => commands::inspect::pack(&options),
        Command::TestHook(options) => commands::test_hook::run(&options),
        Command::HookRunner(options) => commands::hook_runner::run(&options),
        Command::Watch(options) => commands::watch::run(&options),
        Command::Confine(options) => commands::confine::run(&options),
        Command::Hook(options) => commands::agent_event::run(&options),
        Command::Init(options) => commands::init::run(&options),
        Command::Doctor(options) => commands::doctor::run(&options),
        Command::Intents(options) => commands::intents::run(&options),
        Command::Tools(options) => commands::tools::run(&options),
        Command::Mcp(options) => commands::mcp::run(&options),
        Command::McpProxy(options) => commands::mcp_proxy::run(&options),
        Command::McpServe(options) => commands::mcp_serve::run(&options),
        Command::Trace(options) => commands::trace::run(&options),
    }
}

/// The version and the digest of the component; the npm package of this version prints the same digest.
fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " (component ", env!("TOLLGATE_DIGEST"), ")")
}

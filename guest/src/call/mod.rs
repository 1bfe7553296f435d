//! Turns a tool call into a footprint: whatever a host calls its tools, every call becomes a set of paths and of what is done to
//! them.

pub mod claude_words;
pub mod patch;
pub mod resolve;
pub mod shell;
mod tools;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::effects::Footprint;
use crate::effects::path::PathFault;
use crate::ports::Workspace;
use crate::programs::permissions::ServerTool;
use crate::servers::Treatment;
pub use crate::tool_call::{TextReader, ToolCall};
use patch::PatchFault;
pub use shell::SimpleCommand;
pub use tools::ShellCommand;

/// Why a call cannot be understood. Such a call is denied; its meaning is never guessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// The arguments are not an object.
    #[error("the arguments of `{tool}` are {found}, not a JSON object; pass them by name")]
    NoObject {
        /// The tool.
        tool: String,
        /// What was given instead.
        found: &'static str,
    },
    /// An argument has the wrong type.
    #[error("the argument `{name}` must be {expected}")]
    Argument {
        /// The argument.
        name: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A tool that writes was called without a path.
    #[error("`{tool}` was called without a path; name the file")]
    NoPath {
        /// The tool.
        tool: String,
    },
    /// A path is rejected.
    #[error(transparent)]
    Path(#[from] PathFault),
    /// A path cannot belong to any file.
    #[error("the path `{path}` cannot be resolved: its links form a loop, or go through a file; use another path")]
    Nowhere {
        /// As the call spells it.
        path: String,
    },
    /// A patch cannot be read.
    #[error(transparent)]
    Patch(#[from] PatchFault),
}

/// What the call does, as far as its arguments tell. `treatment` is how the call's tool is treated if nothing else says what it
/// does.
pub fn footprint(
    call: &ToolCall,
    treatment: Treatment,
    config: &Config,
    workspace: &dyn Workspace,
) -> Result<Footprint, CallFault> {
    tools::footprint(call, arguments(call)?, treatment, config, workspace)
}

/// The MCP tool that is called; `None` if it is another tool, or if that is not certain.
pub fn server_tool(call: &ToolCall) -> Option<ServerTool> {
    call.server.clone().or_else(|| tools::server_tool(call, arguments(call).ok()?))
}

/// What interprets the text in the call.
pub fn reader(call: &ToolCall, config: &Config) -> TextReader {
    tools::reader(call, config)
}

/// The command that a call runs; `None` if the call does something else, or if what runs the command is not known.
pub fn shell_command(call: &ToolCall, config: &Config) -> Option<ShellCommand> {
    tools::shell_command(call, config)
}

/// The programs that a call's command runs, with their words; empty if it runs none, or if what interprets the command is not
/// known.
pub fn commands(call: &ToolCall, config: &Config, workspace: &dyn Workspace) -> Vec<SimpleCommand> {
    let cwd = call.cwd.as_deref().unwrap_or_default();
    match shell_command(call, config) {
        Some(ShellCommand::Text { command, .. }) => shell::commands(&command, cwd, workspace),
        Some(ShellCommand::Words(words)) => shell::commands_of_words(&words, cwd, workspace),
        None => Vec::new(),
    }
}

/// The arguments of a call with its command replaced; `None` if the call does not run a command.
pub fn with_command(call: &ToolCall, config: &Config, replace: impl FnOnce(ShellCommand) -> Value) -> Option<Value> {
    tools::with_command(call, config, replace)
}

/// Whether an agent program does not report the end of a call while the call's command is still running.
pub fn omits_end_while_running(host: Option<&str>) -> bool {
    tools::omits_end_while_running(host)
}

/// Whether a tool's own answer says that its command keeps running after the call.
pub fn reports_still_running(answer: &Value) -> bool {
    tools::reports_still_running(answer)
}

fn arguments(call: &ToolCall) -> Result<&Map<String, Value>, CallFault> {
    let found = match &call.args {
        Value::Object(args) => return Ok(args),
        Value::Null => "missing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(CallFault::NoObject { tool: call.tool.clone(), found })
}

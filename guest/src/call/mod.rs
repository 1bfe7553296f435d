//! Turns a tool call into a footprint: whatever the host calls its tools, every call becomes a set of paths and what is done to
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
use crate::servers::Standing;
pub use crate::tool_call::{TextReader, ToolCall};
use patch::PatchFault;
pub use shell::SimpleCommand;
pub use tools::ShellCommand;

/// Why a call cannot be understood. A call that cannot be understood is denied, never guessed at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// Arguments that are no object.
    #[error("the arguments of `{tool}` are {found}, not a JSON object; pass them by name")]
    NoObject {
        /// The tool.
        tool: String,
        /// What came instead.
        found: &'static str,
    },
    /// An argument of the wrong type.
    #[error("the argument `{name}` must be {expected}")]
    Argument {
        /// The argument.
        name: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A tool that writes, told to write nowhere.
    #[error("`{tool}` was called without a path; name the file")]
    NoPath {
        /// The tool.
        tool: String,
    },
    /// A path that is refused.
    #[error(transparent)]
    Path(#[from] PathFault),
    /// A path that no file can have.
    #[error("the path `{path}` cannot be resolved: its links form a loop, or go through a file; use another path")]
    Nowhere {
        /// As the call spells it.
        path: String,
    },
    /// A patch that cannot be read.
    #[error(transparent)]
    Patch(#[from] PatchFault),
}

/// What the call does, as far as its arguments tell. `standing` is how its tool is taken where nothing else says what it does.
pub fn footprint(
    call: &ToolCall,
    standing: Standing,
    config: &Config,
    workspace: &dyn Workspace,
) -> Result<Footprint, CallFault> {
    tools::footprint(call, arguments(call)?, standing, config, workspace)
}

/// The MCP server's tool that a call means; `None` if it is another tool, or if that is not certain.
pub fn server_tool(call: &ToolCall) -> Option<ServerTool> {
    call.server.clone().or_else(|| tools::server_tool(call, arguments(call).ok()?))
}

/// Who reads the call's text.
pub fn reader(call: &ToolCall, config: &Config) -> TextReader {
    tools::reader(call, config)
}

/// The command that a call runs; `None` if it does something else, or if what runs it is not known.
pub fn shell_command(call: &ToolCall, config: &Config) -> Option<ShellCommand> {
    tools::shell_command(call, config)
}

/// The programs that a call's command runs, with their words; `None` if it runs none, or if what reads it is not known.
pub fn commands(call: &ToolCall, config: &Config, workspace: &dyn Workspace) -> Vec<SimpleCommand> {
    let cwd = call.cwd.as_deref().unwrap_or_default();
    match shell_command(call, config) {
        Some(ShellCommand::Text { command, .. }) => shell::commands(&command, cwd, workspace),
        Some(ShellCommand::Words(words)) => shell::commands_of_words(&words, cwd, workspace),
        None => Vec::new(),
    }
}

/// The arguments of a call with another command in them; `None` if the call runs none.
pub fn with_command(call: &ToolCall, config: &Config, replace: impl FnOnce(ShellCommand) -> Value) -> Option<Value> {
    tools::with_command(call, config, replace)
}

/// Whether an agent program does not report a call's end while its command is running.
pub fn leaves_end_untold(host: Option<&str>) -> bool {
    tools::leaves_end_untold(host)
}

/// Whether a tool's own answer says that its command keeps running after the call.
pub fn says_it_goes_on(answer: &Value) -> bool {
    tools::says_it_goes_on(answer)
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

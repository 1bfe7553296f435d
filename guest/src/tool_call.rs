//! A tool call as an agent proposed it, before it is interpreted.

use serde_json::Value;

use crate::programs::permissions::ServerTool;

/// One tool call, as the agent proposed it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The agent session.
    pub session: String,
    /// The call's id, unique within its session.
    pub call: String,
    /// The sub-agent within the session.
    pub agent: Option<String>,
    /// The tool, as the host spells it.
    pub tool: String,
    /// The host whose tool names are meant.
    pub host: Option<String>,
    /// The MCP server's tool that this is, if the host says so separately from the name.
    pub server: Option<ServerTool>,
    /// The arguments, or what came in their place.
    pub args: Value,
    /// The call's working directory.
    pub cwd: Option<String>,
}

/// Who reads a call's text, and so where adding text is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextReader {
    /// A POSIX shell reads `command`, and comments behind it change nothing.
    pub is_shell: bool,
    /// Another model reads it.
    pub is_model: bool,
    /// The tool leaves arguments alone that it does not know, and changes nothing.
    pub ignores_properties: bool,
}

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
    /// The tool's name, as the host spells it.
    pub tool: String,
    /// The host whose tool names are used.
    pub host: Option<String>,
    /// The MCP server and tool, if the host reports them separately from the name.
    pub server: Option<ServerTool>,
    /// The arguments, or whatever was sent in their place.
    pub args: Value,
    /// The call's working directory.
    pub cwd: Option<String>,
}

/// Who reads a call's text, and so where adding text is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextReader {
    /// A POSIX shell reads `command`, and comments after it change nothing.
    pub is_shell: bool,
    /// Another model reads the text.
    pub is_model: bool,
    /// The tool ignores arguments that it does not know, and changes nothing.
    pub ignores_properties: bool,
}

//! One tool call, as an embedder describes it.

use serde::Serialize;

use crate::bindings::tollgate::hooks::types;
use crate::error::Error;

/// One tool call, as proposed by the agent.
///
/// ```
/// # use tollgate::ToolCall;
/// let call = ToolCall::new("session-1", "call-1", "write_to_file", &serde_json::json!({"path": "src/a.rs", "content": ""}))?
///     .host("roo");
/// # Ok::<(), tollgate::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The agent session that makes the call.
    pub session: String,
    /// The sub-agent within the session.
    pub agent: Option<String>,
    /// The call's id, unique within its session.
    pub call: String,
    /// The agent program that defines the tool name; `None` means any known program.
    pub host: Option<String>,
    /// The tool, as the agent program spells it.
    pub tool: String,
    /// The arguments: one JSON object in UTF-8.
    pub args: Vec<u8>,
    /// The working directory of the call, absolute or relative to the workspace; `None` means the workspace.
    pub cwd: Option<String>,
}

impl ToolCall {
    /// Creates a call in the workspace, of a tool of any known program. Fails if the arguments cannot be serialized as JSON.
    pub fn new(
        session: impl Into<String>,
        call: impl Into<String>,
        tool: impl Into<String>,
        args: &impl Serialize,
    ) -> Result<Self, Error> {
        let args = serde_json::to_vec(args)
            .map_err(|why| Error::InvalidInput(format!("the arguments cannot be written as JSON: {why}")))?;
        Ok(Self { session: session.into(), agent: None, call: call.into(), host: None, tool: tool.into(), args, cwd: None })
    }

    /// Sets the agent program that defines the tool name, such as `opencode`.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Sets the sub-agent within the session.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    pub(crate) fn contract(&self) -> types::ToolCall {
        let Self { session, agent, call, host, tool, args, cwd } = self.clone();
        types::ToolCall { session, agent, call, host, tool, args, cwd }
    }
}

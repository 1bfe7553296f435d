//! One tool call, as an embedder describes it.

use serde::Serialize;

use crate::bindings::tollgate::hooks::types;
use crate::error::Error;

/// One tool call, as the agent proposed it.
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
    /// The agent program whose tool names are meant; none means any known one's.
    pub host: Option<String>,
    /// The tool, as the program spells it.
    pub tool: String,
    /// The arguments: one JSON object in UTF-8.
    pub args: Vec<u8>,
    /// The call's working directory, absolute or relative to the workspace; none means the workspace.
    pub cwd: Option<String>,
}

impl ToolCall {
    /// A call in the workspace itself, by the tool names of any known program. Fails where the arguments cannot be written as
    /// JSON.
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

    /// Names the agent program whose tool names are meant, such as `opencode`.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Names the sub-agent within the session.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Names the working directory.
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

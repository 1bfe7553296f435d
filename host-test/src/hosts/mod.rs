//! How each host speaks: what it sends to its hooks, and what it wants to read back. A file each.
//!
//! An adapter translates and decides nothing. It reads the host's JSON into an [`Event`] and writes an [`Answer`] in the
//! host's own words, with no field that the host does not know. `docs/hosts.md` says what each host does with them.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod fields;
mod gemini;
mod hook_specific;
mod limit;
mod opencode;
mod roo;
mod salvage;

use serde_json::Value;
use tollgate::Outcome;

pub(crate) use limit::{Limit, cut};
pub(crate) use salvage::{before_tool, salvage};

/// Every host there is, in the order in which they are listed.
const HOSTS: &[&dyn Host] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &cursor::Cursor,
    &copilot::Copilot,
    &opencode::OpenCode,
    &roo::Roo,
];

/// The names that `tollgate hook` takes.
pub(crate) const NAMES: [&str; 7] = ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode", "roo"];

/// The host of a name.
pub(crate) fn named(name: &str) -> Option<&'static dyn Host> {
    HOSTS.iter().copied().find(|host| host.name() == name)
}

/// A host's way of speaking.
pub(crate) trait Host: Sync {
    /// As `tollgate hook` and the gate's table of tools call it.
    fn name(&self) -> &'static str;

    /// The moments that it tells of, under its own names.
    fn moments(&self) -> &'static [(&'static str, Moment)];

    /// Variables in which it gives the project's folder to its hooks. They do not follow a `cd` of the agent.
    fn project_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it says. `named` is the event's name where the command line gives one.
    fn read(&self, payload: Value, named: Option<&str>) -> Event;

    /// What it is told; none where it wants to read nothing.
    fn answer(&self, event: &Event, answer: Answer) -> Option<Value>;

    /// How much the model can be told at a moment; none where it cannot be told anything.
    fn limit(&self, moment: Moment) -> Option<Limit>;

    /// Whether somebody is asked when the answer is *ask*.
    fn asks(&self, event: &Event) -> bool;

    /// Whether a call's arguments can be rewritten without letting anything run that would not run else.
    fn rewrites(&self, event: &Event) -> bool;

    /// What it reads where there is nothing to say.
    fn silence(&self) -> &'static str {
        ""
    }
}

/// When a host speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    SessionStart,
    /// A person has said something, and the agent is about to work on it.
    BeforeAgent,
    /// A sub-agent begins.
    SubagentStart,
    /// The prompt is being put together.
    Prompt,
    BeforeTool,
    AfterTool,
    /// The agent has done its work for now.
    AfterAgent,
    SessionEnd,
    /// Nothing that concerns the gate.
    Other,
}

/// What a host says.
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// The host's own name for it, as the host spells it.
    pub(crate) name: &'static str,
    pub(crate) moment: Option<Moment>,
    pub(crate) session: String,
    /// The sub-agent within the session.
    pub(crate) agent: Option<String>,
    /// The session that this one is a sub-agent of.
    pub(crate) parent: Option<String>,
    pub(crate) cwd: Option<String>,
    /// The folders that are open in the host.
    pub(crate) roots: Vec<String>,
    pub(crate) call: Option<Call>,
    /// Somebody told the host to ask nobody.
    pub(crate) asks_nobody: bool,
    /// What else of the payload the answer is made from.
    pub(crate) rest: Value,
    /// Why it cannot be understood.
    pub(crate) fault: Option<String>,
}

impl Event {
    pub(crate) fn moment(&self) -> Moment {
        self.moment.unwrap_or(Moment::Other)
    }
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) args: Value,
    /// How it ended, where it has.
    pub(crate) outcome: Outcome,
}

/// What a host is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The call may run, with other arguments where there are some; what the model is told beside it may be empty.
    Allow { args: Option<Value>, told: String },
    /// A person decides.
    Ask(String),
    /// The call does not run.
    Deny(String),
    /// What the model is told; may be empty.
    Tell(String),
    /// What a person said is not worked on.
    Stop(String),
}

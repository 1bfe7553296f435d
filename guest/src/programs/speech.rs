//! The hook protocol of a program: its events, its payloads, and the answers it reads.
//!
//! A record of speech translates and decides nothing. It reads the program's JSON into an [`ProgramEvent`] and writes an [`HookAnswer`] in
//! the program's own words, with no field that the program does not know.

use serde_json::Value;

use super::Limit;
use super::permissions::ServerTool;

/// A program's hook payloads and answers.
#[derive(Debug)]
pub struct HookProtocol {
    /// The moments that it reports, under its own names. The first name of a moment is the one that `init` writes.
    pub moments: &'static [(&'static str, EventKind)],
    /// Variables in which it gives the project's folder to its hooks. They do not follow a `cd` of the agent.
    pub project_variables: &'static [&'static str],
    /// Reads a payload. `named` is the event's name where the command line gives one.
    pub read: fn(payload: Value, named: Option<&str>) -> ProgramEvent,
    /// What it is told; `None` if it wants to read nothing.
    pub answer: fn(&ProgramEvent, HookAnswer) -> Option<Value>,
    /// How much the model can be told at a moment; `None` if it cannot be told anything.
    pub limit: fn(EventKind) -> Option<Limit>,
    /// Whether the program asks a person when the answer is *ask*.
    pub asks: fn(&ProgramEvent) -> bool,
    /// Whether a call's arguments can be rewritten without letting anything run that would not run otherwise.
    pub rewrites: fn(&ProgramEvent) -> bool,
    /// What it reads where there is nothing to say.
    pub silence: &'static str,
    /// The field of an answer that is shown to the person and not to the model, at the beginning of a session; `None` if there is no
    /// such field.
    pub person: Option<&'static str>,
}

impl HookProtocol {
    /// What most programs have in common: *ask* asks no one, arguments can be rewritten, and the model cannot be told anything.
    pub(super) const fn new(
        moments: &'static [(&'static str, EventKind)],
        read: fn(Value, Option<&str>) -> ProgramEvent,
        answer: fn(&ProgramEvent, HookAnswer) -> Option<Value>,
    ) -> Self {
        Self {
            moments,
            project_variables: &[],
            read,
            answer,
            limit: |_| None,
            asks: |_| false,
            rewrites: |_| true,
            silence: "",
            person: Some("systemMessage"),
        }
    }

    /// The program's name for a moment; empty if it does not report it.
    pub fn name_of(&self, moment: EventKind) -> &'static str {
        self.moments.iter().find(|(_, known)| *known == moment).map_or("", |(name, _)| name)
    }

    /// The moment of an event's name. Programs that run another program's hooks do not always spell it as that one does.
    pub fn moment_of(&self, name: &str) -> Option<(&'static str, EventKind)> {
        find_moment(self.moments, name)
    }
}

/// The moment of an event's name: spelled exactly, else without case.
pub(super) fn find_moment(moments: &'static [(&'static str, EventKind)], name: &str) -> Option<(&'static str, EventKind)> {
    let exact = moments.iter().find(|(known, _)| *known == name);
    exact.or_else(|| moments.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))).copied()
}

/// The kinds of events that programs report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A session begins, or is resumed.
    SessionStart,
    /// A person has said something, and the agent is about to work on it.
    BeforeAgent,
    /// A sub-agent begins.
    SubagentStart,
    /// The prompt is being built.
    Prompt,
    /// The model is about to be asked.
    BeforeModel,
    /// The model has answered, in whole or in part.
    AfterModel,
    /// The tools that the model may choose from are about to be offered.
    BeforeToolSelection,
    /// A tool is about to run.
    BeforeTool,
    /// A tool has run, or failed.
    AfterTool,
    /// The agent has done its work for now.
    AfterAgent,
    /// A session ends.
    SessionEnd,
    /// The program ends, and with it every session that it reported.
    ProgramEnd,
    /// Nothing that concerns the gate.
    Other,
}

/// An event that a program reports.
#[derive(Debug, Default)]
pub struct ProgramEvent {
    /// The program's own name for it, as the program spells it.
    pub name: &'static str,
    /// When it is said; `None` if the event is not known.
    pub moment: Option<EventKind>,
    /// The session's id.
    pub session: String,
    /// The sub-agent within the session.
    pub agent: Option<String>,
    /// The session that this one is a sub-agent of.
    pub parent: Option<String>,
    /// The folder in which the agent works.
    pub cwd: Option<String>,
    /// The folders that are open in the program.
    pub roots: Vec<String>,
    /// The tool call that it is about.
    pub call: Option<ReportedCall>,
    /// The program runs in a mode that asks no one.
    pub asks_nobody: bool,
    /// What the person said.
    pub prompt: Option<String>,
    /// What the agent answered at the end of its turn.
    pub response: Option<String>,
    /// How the session came about, such as `startup` or `resume`.
    pub source: Option<String>,
    /// Why the session, or the turn, ended.
    pub reason: Option<String>,
    /// What else hooks should get, by the program's own names: what the model is asked, and what it answered. An object, or null.
    pub data: Value,
    /// What else of the payload the answer is made from.
    pub rest: Value,
    /// The process that reports it runs until the program ends, so what is known about a session is kept in memory.
    pub lasting: bool,
    /// The answer is not read.
    pub unheard: bool,
    /// The program reports it for every call that does not end well, even if the end is known: it only counts while the call is in progress.
    pub repeats: bool,
    /// Why it cannot be understood.
    pub fault: Option<String>,
}

impl ProgramEvent {
    /// When it is said.
    pub fn moment(&self) -> EventKind {
        self.moment.unwrap_or(EventKind::Other)
    }
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct ReportedCall {
    /// The program's id for it, or one made from the call itself.
    pub id: String,
    /// Another id under which the program may have reported it before it ran.
    pub other_id: Option<String>,
    /// As the program calls the tool.
    pub tool: String,
    /// The MCP server's tool that this is, where the program says so beside the name.
    pub server: Option<ServerTool>,
    /// What the tool is given.
    pub args: Value,
    /// How it ended, where it has.
    pub ending: CallEnding,
    /// What the tool said, in the program's own form, where the program passes it on.
    pub result: Option<Value>,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnding {
    /// The tool ran, or has not run yet.
    Done,
    /// The tool failed, in its own words.
    Failed(String),
    /// The program, or a person asked by it, did not let the tool run.
    Refused(String),
}

/// An answer to a program.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// The call may run.
    Allow {
        /// Other arguments, if there are any.
        args: Option<Value>,
        /// What the model is told beside it; may be empty.
        told: String,
    },
    /// A person decides.
    Ask(String),
    /// The call does not run.
    Deny(String),
    /// What the model is told; may be empty.
    Tell(String),
    /// What the model is told instead of the tool's result, where the program can keep that from it.
    Withhold(String),
    /// What a person said is not worked on.
    Stop(String),
}

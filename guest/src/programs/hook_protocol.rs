//! The hook protocol of a program: its events, its payloads, and the answers it reads.
//!
//! A protocol record only translates and decides nothing. It reads the program's JSON into a [`ProgramEvent`] and writes a
//! [`HookAnswer`] in the program's own format, without any field that the program does not know.

use serde_json::Value;

use super::Limit;
use super::permissions::ServerTool;

/// A program's hook payloads and answers.
#[derive(Debug)]
pub struct HookProtocol {
    /// The events that the program reports, under its own names. If an event has several names, the first is the one that `init`
    /// writes.
    pub events: &'static [(&'static str, EventKind)],
    /// Variables in which the program passes the project's folder to its hooks. They do not follow a `cd` of the agent.
    pub project_variables: &'static [&'static str],
    /// Reads a payload. `named` is the event's name if the command line gives one.
    pub read: fn(payload: Value, named: Option<&str>) -> ProgramEvent,
    /// Writes the answer; `None` if the program does not read one.
    pub answer: fn(&ProgramEvent, HookAnswer) -> Option<Value>,
    /// How much the model can be told at an event; `None` if it cannot be told anything.
    pub limit: fn(EventKind) -> Option<Limit>,
    /// Whether the program asks a person when the answer is *ask*.
    pub asks: fn(&ProgramEvent) -> bool,
    /// Whether a call's arguments can be rewritten without letting anything run that would not run otherwise.
    pub rewrites: fn(&ProgramEvent) -> bool,
    /// What the program expects if there is nothing to say.
    pub silence: &'static str,
    /// The field of an answer at the start of a session that is shown to the person and not to the model; `None` if there is no
    /// such field.
    pub person: Option<&'static str>,
}

impl HookProtocol {
    /// What most programs have in common: *ask* asks no one, arguments can be rewritten, and the model cannot be told anything.
    pub(super) const fn new(
        events: &'static [(&'static str, EventKind)],
        read: fn(Value, Option<&str>) -> ProgramEvent,
        answer: fn(&ProgramEvent, HookAnswer) -> Option<Value>,
    ) -> Self {
        Self {
            events,
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

    /// The program's name for a kind of event; empty if the program does not report it.
    pub fn name_of(&self, kind: EventKind) -> &'static str {
        self.events.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name)
    }

    /// The kind of event with this name. Programs that run another program's hooks do not always use the same spelling.
    pub fn event_of(&self, name: &str) -> Option<(&'static str, EventKind)> {
        find_event(self.events, name)
    }
}

/// Finds the kind of event with this name: spelled exactly, otherwise ignoring case.
pub(super) fn find_event(events: &'static [(&'static str, EventKind)], name: &str) -> Option<(&'static str, EventKind)> {
    let exact = events.iter().find(|(known, _)| *known == name);
    exact.or_else(|| events.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))).copied()
}

/// The kinds of events that programs report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A session begins or is resumed.
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
    /// An event that does not concern the gate.
    Other,
}

/// An event that a program reports.
#[derive(Debug, Default)]
pub struct ProgramEvent {
    /// The program's own name for the event, in the program's spelling.
    pub name: &'static str,
    /// The kind of event; `None` if the event is not known.
    pub kind: Option<EventKind>,
    /// The session's id.
    pub session: String,
    /// The sub-agent within the session.
    pub agent: Option<String>,
    /// The session of which this one is a sub-agent.
    pub parent: Option<String>,
    /// The folder in which the agent works.
    pub cwd: Option<String>,
    /// The folders that are open in the program.
    pub roots: Vec<String>,
    /// The tool call that the event is about.
    pub call: Option<ReportedCall>,
    /// Whether the program runs in a mode in which nobody is asked.
    pub asks_nobody: bool,
    /// The prompt of the person.
    pub prompt: Option<String>,
    /// The agent's answer at the end of its turn.
    pub response: Option<String>,
    /// How the session started, such as `startup` or `resume`.
    pub source: Option<String>,
    /// Why the session, or the turn, ended.
    pub reason: Option<String>,
    /// Other data for hooks, under the program's own names: the request to the model, and its reply. An object, or null.
    pub data: Value,
    /// The rest of the payload, as far as the answer is made from it.
    pub rest: Value,
    /// Whether the reporting process runs until the program ends, so that what is known about a session is kept in memory.
    pub lasting: bool,
    /// Whether the answer is not read.
    pub unheard: bool,
    /// Whether the program reports it for every call that does not end well, even if the end is already known: it only counts
    /// while the call is in progress.
    pub repeats: bool,
    /// Why the event cannot be understood.
    pub fault: Option<String>,
}

impl ProgramEvent {
    /// The kind of event.
    pub fn kind(&self) -> EventKind {
        self.kind.unwrap_or(EventKind::Other)
    }
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct ReportedCall {
    /// The program's id for the call, or one derived from the call itself.
    pub id: String,
    /// Another id under which the program may have reported the call before it ran.
    pub other_id: Option<String>,
    /// The program's name for the tool.
    pub tool: String,
    /// The MCP tool that is called, if the program gives it in addition to the name.
    pub server: Option<ServerTool>,
    /// The arguments.
    pub args: Value,
    /// How the call ended, if it has.
    pub ending: CallEnding,
    /// The result of the tool, in the program's own form, if the program passes it on.
    pub result: Option<Value>,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnding {
    /// The tool ran, or has not run yet.
    Done,
    /// The tool failed, with its own message.
    Failed(String),
    /// The program, or a person asked by it, did not let the tool run.
    Refused(String),
}

/// An answer to a program.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// The call may run.
    Allow {
        /// Rewritten arguments, if any.
        args: Option<Value>,
        /// What the model is told in addition; may be empty.
        told: String,
    },
    /// A person decides.
    Ask(String),
    /// The call does not run.
    Deny(String),
    /// What the model is told; may be empty.
    Tell(String),
    /// What the model is told instead of the tool's result, if the program can keep the result from the model.
    Withhold(String),
    /// The person's prompt is not processed.
    Stop(String),
}

//! What a program has reported about its sessions, kept while this instance lives.
//!
//! A program that runs a command for each event loses nothing when the command ends: it reports everything each time. A program
//! whose plugin keeps running reports some things only once, or in pieces: which tools its agent called, what the agent said,
//! which calls are under way. Everything here is bounded, and an instance that starts again merely knows less.

use serde_json::{Map, Value};

use crate::programs::{CallEnding, EventKind, HookProtocol, NO_REASON_GIVEN, ProgramEvent, ReportedCall};

/// Maximum number of sessions; beyond that, the oldest is forgotten.
const MAX_SESSIONS: usize = 256;

/// Maximum number of calls, tool names and messages kept per session, of each.
const MAX_KEPT: usize = 1_024;

/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 1 << 20;

/// What is known about the sessions, oldest first.
#[derive(Default)]
pub(super) struct SessionMemory {
    sessions: Vec<Session>,
}

/// What is known about one session.
#[derive(Default)]
struct Session {
    id: String,
    cwd: Option<String>,
    /// Whether the agent is working.
    busy: bool,
    /// What the agent said last in this turn.
    response: Option<String>,
    /// The tools that the agent called in this turn.
    tools: Vec<String>,
    /// Calls under way, each with its sub-agent.
    open: Vec<(Option<String>, ReportedCall)>,
    /// Calls that have ended.
    ended: Vec<String>,
    /// What the model is told with the next prompt, and whether a prompt has already included it.
    messages: Vec<(String, bool)>,
}

/// How an event is handled.
pub(super) enum EventHandling {
    /// The event was reported before.
    Ignored,
    /// The event is passed on once these have been.
    After(Vec<ProgramEvent>),
}

impl SessionMemory {
    /// Records an event and fills in what it leaves out. Events that follow from it without being reported come first.
    pub(super) fn take(&mut self, event: &mut ProgramEvent, speech: &HookProtocol) -> EventHandling {
        let mut before = Vec::new();
        match event.kind() {
            EventKind::SessionStart => drop(self.session(event)),
            EventKind::BeforeAgent => {
                // OpenCode does not report that a session continues.
                if event.lasting && self.find(&event.session).is_none() {
                    let source = Some("resume".to_owned());
                    before.push(ProgramEvent { source, ..implied_event(event, speech, EventKind::SessionStart) });
                }
                let session = self.session(event);
                session.busy = true;
                session.response = None;
                session.tools.clear();
            }
            EventKind::BeforeTool => self.begin_call(event),
            EventKind::AfterTool if self.has_ended(event) => return EventHandling::Ignored,
            EventKind::AfterTool => self.end_call(event),
            EventKind::AfterModel => {
                if let Some(said) = event.response.clone() {
                    self.session(event).response = Some(truncate(said));
                }
            }
            EventKind::AfterAgent => {
                before = self.implied_endings(event, speech);
                if let Some(session) = self.find(&event.session) {
                    if event.lasting && !session.busy {
                        event.kind = Some(EventKind::Other);
                    }
                    session.end_turn(event);
                }
            }
            EventKind::SessionEnd => before = self.end_session(event, speech),
            EventKind::ProgramEnd => {
                let known: Vec<(String, Option<String>)> =
                    self.sessions.iter().map(|session| (session.id.clone(), session.cwd.clone())).collect();
                for (session, cwd) in known {
                    let of_session = ProgramEvent { session, cwd, lasting: event.lasting, ..ProgramEvent::default() };
                    let end = implied_event(&of_session, speech, EventKind::SessionEnd);
                    before.extend(self.end_session(&end, speech));
                    before.push(end);
                }
            }
            _ => {}
        }
        EventHandling::After(before)
    }

    /// Keeps what a session's model should be told until there is a prompt to tell it with.
    pub(super) fn keep(&mut self, session: &str, messages: Vec<String>) {
        if let Some(session) = self.find(session) {
            session.messages.extend(messages.into_iter().map(|message| (message, false)));
            trim(&mut session.messages);
        }
    }

    /// What a session's model is told with a prompt. It is repeated until [`Self::mark_told`] says that a model got it.
    pub(super) fn messages(&mut self, session: &str) -> Vec<String> {
        let Some(session) = self.find(session) else { return Vec::new() };
        session.messages.iter_mut().for_each(|(_, shown)| *shown = true);
        session.messages.iter().map(|(message, _)| message.clone()).collect()
    }

    /// Records that the prompt went to the session's model.
    pub(super) fn mark_told(&mut self, session: &str) {
        if let Some(session) = self.find(session) {
            session.messages.retain(|(_, shown)| !shown);
        }
    }

    /// Forgets a call that does not run after all. If the program reports its end anyway, it did run, and that counts.
    pub(super) fn withdraw(&mut self, session: &str, call: &str) {
        if let Some(session) = self.find(session) {
            session.open.retain(|(_, open)| open.id != call);
        }
    }

    /// Whether a call is under way.
    pub(super) fn is_open(&self, event: &ProgramEvent) -> bool {
        let Some(call) = &event.call else { return false };
        let session = self.sessions.iter().find(|known| known.id == event.session);
        session.is_some_and(|session| session.open.iter().any(|(_, open)| is_same(open, call)))
    }

    fn find(&mut self, session: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|known| known.id == session)
    }

    /// The session of an event, added if it is not known yet.
    fn session(&mut self, event: &ProgramEvent) -> &mut Session {
        let at = self.sessions.iter().position(|known| known.id == event.session).unwrap_or_else(|| {
            if self.sessions.len() >= MAX_SESSIONS {
                self.sessions.remove(0);
            }
            self.sessions.push(Session { id: event.session.clone(), cwd: event.cwd.clone(), ..Session::default() });
            self.sessions.len() - 1
        });
        #[allow(clippy::indexing_slicing, reason = "it was found or made just now")]
        &mut self.sessions[at]
    }

    fn begin_call(&mut self, event: &ProgramEvent) {
        let Some(call) = &event.call else { return };
        let (agent, call, lasting) = (event.agent.clone(), call.clone(), event.lasting);
        let session = self.session(event);
        session.tools.push(call.tool.clone());
        trim(&mut session.tools);
        if lasting {
            session.ended.retain(|ended| *ended != call.id);
            session.open.retain(|(_, open)| open.id != call.id);
            session.open.push((agent, call));
            trim(&mut session.open);
        }
    }

    fn has_ended(&mut self, event: &ProgramEvent) -> bool {
        let Some(call) = event.call.as_ref().filter(|_| event.lasting) else { return false };
        self.find(&event.session).is_some_and(|session| session.ended.contains(&call.id))
    }

    /// Ends the call of an event. What the program reported before fills in what it leaves out now.
    fn end_call(&mut self, event: &mut ProgramEvent) {
        let Some(session) = self.sessions.iter_mut().find(|known| known.id == event.session) else { return };
        let Some(call) = &mut event.call else { return };
        let Some(at) = session.open.iter().position(|(_, open)| is_same(open, call)) else { return };
        let (agent, open) = session.open.remove(at);
        session.ended.push(open.id.clone());
        trim(&mut session.ended);
        event.agent = event.agent.take().or(agent);
        if event.repeats {
            (call.id, call.tool, call.args) = (open.id, open.tool, open.args);
        }
    }

    /// The ends of calls that will not be reported: their session is idle, so none of them is still in progress.
    fn implied_endings(&mut self, event: &ProgramEvent, speech: &HookProtocol) -> Vec<ProgramEvent> {
        let Some(session) = self.find(&event.session).filter(|_| event.lasting) else { return Vec::new() };
        let open = std::mem::take(&mut session.open);
        session.ended.extend(open.iter().map(|(_, call)| call.id.clone()));
        trim(&mut session.ended);
        let end = |(agent, call): (Option<String>, ReportedCall)| {
            let call = ReportedCall { ending: CallEnding::Failed(NO_REASON_GIVEN.to_owned()), ..call };
            ProgramEvent { agent, call: Some(call), ..implied_event(event, speech, EventKind::AfterTool) }
        };
        open.into_iter().map(end).collect()
    }

    /// The events that follow from the end of a session, which is then forgotten.
    fn end_session(&mut self, event: &ProgramEvent, speech: &HookProtocol) -> Vec<ProgramEvent> {
        let mut before = self.implied_endings(event, speech);
        if let Some(at) = self.sessions.iter().position(|known| known.id == event.session) {
            let mut session = self.sessions.remove(at);
            if session.busy && event.lasting {
                let mut end = implied_event(event, speech, EventKind::AfterAgent);
                session.end_turn(&mut end);
                before.push(end);
            }
        }
        before
    }
}

impl Session {
    /// Ends the agent's turn: adds to the event what the agent said and which tools it called, if the program does not report
    /// them.
    fn end_turn(&mut self, event: &mut ProgramEvent) {
        self.busy = false;
        let (response, tools) = (self.response.take(), std::mem::take(&mut self.tools));
        event.response = event.response.take().or(response);
        if !tools.is_empty() {
            let mut data = match event.data.take() {
                Value::Object(fields) => fields,
                _ => Map::new(),
            };
            data.insert("tool_calls".to_owned(), tools.into());
            event.data = data.into();
        }
    }
}

/// An event that was not reported, because it follows from another.
fn implied_event(event: &ProgramEvent, speech: &HookProtocol, kind: EventKind) -> ProgramEvent {
    ProgramEvent {
        name: speech.name_of(kind),
        kind: Some(kind),
        session: event.session.clone(),
        cwd: event.cwd.clone(),
        lasting: event.lasting,
        unheard: true,
        ..ProgramEvent::default()
    }
}

fn is_same(open: &ReportedCall, told: &ReportedCall) -> bool {
    open.id == told.id || told.other_id.as_ref() == Some(&open.id)
}

fn truncate(mut text: String) -> String {
    if text.len() > MAX_RESPONSE {
        text.truncate(text.floor_char_boundary(MAX_RESPONSE));
    }
    text
}

/// Drops the oldest if there are too many.
fn trim<T>(kept: &mut Vec<T>) {
    if kept.len() > MAX_KEPT {
        kept.drain(..kept.len() - MAX_KEPT);
    }
}

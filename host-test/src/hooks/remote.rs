//! What reaches the hooks from other threads.

use std::sync::mpsc;

use serde_json::{Value, json};

use crate::bindings::exports::tollgate::hooks::augment::Answer;
use crate::bindings::exports::tollgate::hooks::engine::{Ending, Event, Input, Listening};
use crate::mcp::{Answered, RequestNumber};

/// What happened, for the thread that drives the hooks.
pub(super) enum Message {
    /// An input for the gate, as it is.
    Input(Input),
    /// A run has ended. The instance that asked for it may be gone.
    Ended { instance: u64, command: u64, ending: Ending },
    /// A lookup has ended.
    Found { instance: u64, command: u64, answer: Answer },
    /// Somebody wants something of MCP servers.
    Request { number: RequestNumber, method: String, params: Value, answered: Answered },
    /// And no longer does.
    CancelRequest(RequestNumber),
    /// What the gate is told about connections to them.
    Servers(Value),
    /// Nothing that could be said; look again.
    Wake,
}

/// Tells hooks from any thread what happened. Nothing comes of it before [`Hooks::work`](super::Hooks::work) is called.
#[derive(Clone)]
pub struct Remote(pub(super) mpsc::Sender<Message>);

impl Remote {
    /// Something happened that hooks may be declared for.
    pub fn notify(&self, event: &str, session: Option<&str>, data: &Value) {
        let (name, session) = (event.to_owned(), session.map(str::to_owned));
        self.input(Input::Event(Event { name, session, data: data.to_string().into_bytes() }));
    }

    /// A person cancels a run.
    pub fn cancel(&self, run: &str) {
        self.input(Input::Cancel(run.to_owned()));
    }

    /// Nothing more is begun. What is under way is waited for, or canceled.
    pub fn shutdown(&self, drain: bool) {
        self.input(Input::Shutdown(drain));
    }

    /// Whether a trigger is listened to; else why not. Only for what could not be said at once.
    pub fn listening(&self, trigger: &str, failed: Option<&str>) {
        self.input(Input::Listening(Listening { trigger: trigger.to_owned(), failed: failed.map(str::to_owned) }));
    }

    /// The declarations of hooks may have changed.
    pub fn reload(&self) {
        self.input(Input::Reload);
    }

    /// Wants something of MCP servers, such as `tools/list` or `tools/call` of the protocol; `answered` gets the result, or why there
    /// is none.
    pub fn request(
        &self,
        method: &str,
        params: Value,
        answered: impl FnOnce(Result<Value, String>) + Send + 'static,
    ) -> RequestNumber {
        let number = RequestNumber::next();
        self.send(Message::Request { number, method: method.to_owned(), params, answered: Box::new(answered) });
        number
    }

    /// Keeps MCP servers connected: those that are named, or all that are declared.
    pub fn want_servers(&self, servers: Option<&[String]>) {
        self.send(Message::Servers(json!({"type": "want", "servers": servers})));
    }

    /// Nobody waits for a request any more. What a tool has done by then is entered all the same.
    pub fn cancel_request(&self, number: RequestNumber) {
        self.send(Message::CancelRequest(number));
    }

    /// Lets [`Hooks::work`](super::Hooks::work) return.
    pub fn wake(&self) {
        self.send(Message::Wake);
    }

    fn input(&self, input: Input) {
        self.send(Message::Input(input));
    }

    pub(super) fn send(&self, message: Message) {
        // Where the hooks are gone there is nobody to hear it.
        let _ = self.0.send(message);
    }
}

//! Messages to the hooks from other threads.

use std::sync::mpsc;

use serde_json::{Value, json};

use crate::bindings::exports::tollgate::hooks::augment::Answer;
use crate::bindings::exports::tollgate::hooks::engine::{Ending, Event, Input, Listening};
use crate::mcp::{AnswerCallback, RequestNumber};

/// A message for the thread that runs the hooks.
pub(super) enum HooksMessage {
    /// An input for the gate.
    Input(Input),
    /// A run has ended. The instance that requested it may no longer exist.
    Ended { instance: u64, command: u64, ending: Ending },
    /// A lookup has ended.
    Found { instance: u64, command: u64, answer: Answer },
    /// A request about MCP servers.
    Request { number: RequestNumber, method: String, params: Value, answered: AnswerCallback },
    /// The answer to a request about MCP servers is no longer needed.
    CancelRequest(RequestNumber),
    /// An input for the gate about connections to MCP servers.
    Servers(Value),
    /// Only wakes the thread up.
    Wake,
}

/// Reports events to hooks from any thread. They take effect when [`Hooks::work`](super::Hooks::work) is called.
#[derive(Clone)]
pub struct Remote(pub(super) mpsc::Sender<HooksMessage>);

impl Remote {
    /// Reports an event.
    pub fn notify(&self, event: &str, session: Option<&str>, data: &Value) {
        let (name, session) = (event.to_owned(), session.map(str::to_owned));
        self.input(Input::Event(Event { name, session, data: data.to_string().into_bytes() }));
    }

    /// Cancels a run on behalf of a person.
    pub fn cancel(&self, run: &str) {
        self.input(Input::Cancel(run.to_owned()));
    }

    /// Starts nothing more; running hooks are waited for or canceled.
    pub fn shutdown(&self, drain: bool) {
        self.input(Input::Shutdown(drain));
    }

    /// Reports whether a trigger is being observed, and if not, why. Only needed if this was not known immediately.
    pub fn listening(&self, trigger: &str, failed: Option<&str>) {
        self.input(Input::Listening(Listening { trigger: trigger.to_owned(), failed: failed.map(str::to_owned) }));
    }

    /// Reports that hook declarations may have changed.
    pub fn reload(&self) {
        self.input(Input::Reload);
    }

    /// Sends a request about MCP servers, such as `tools/list` or `tools/call` of the protocol. `answered` receives the result or
    /// an error message.
    pub fn request(
        &self,
        method: &str,
        params: Value,
        answered: impl FnOnce(Result<Value, String>) + Send + 'static,
    ) -> RequestNumber {
        let number = RequestNumber::next();
        self.send(HooksMessage::Request { number, method: method.to_owned(), params, answered: Box::new(answered) });
        number
    }

    /// Keeps MCP servers connected: the named ones, or all declared ones if no names are given.
    pub fn want_servers(&self, servers: Option<&[String]>) {
        self.send(HooksMessage::Servers(json!({"type": "want", "servers": servers})));
    }

    /// Cancels a request. What a tool has done by then is recorded nevertheless.
    pub fn cancel_request(&self, number: RequestNumber) {
        self.send(HooksMessage::CancelRequest(number));
    }

    /// Makes [`Hooks::work`](super::Hooks::work) return.
    pub fn wake(&self) {
        self.send(HooksMessage::Wake);
    }

    fn input(&self, input: Input) {
        self.send(HooksMessage::Input(input));
    }

    pub(super) fn send(&self, message: HooksMessage) {
        // If the hooks no longer exist, the message is dropped.
        let _ = self.0.send(message);
    }
}

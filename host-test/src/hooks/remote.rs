//! What reaches the hooks from other threads.

use std::sync::mpsc;

use serde_json::{Value, json};

/// What happened, for the thread that drives the hooks.
pub(super) enum Message {
    /// An input for the gate, as it is.
    Input(Value),
    /// A run has ended. The instance that asked for it may be gone.
    Ended { instance: u64, command: u64, ending: Value },
    /// Nothing that could be said; look again.
    Wake,
}

/// Tells hooks from any thread what happened. Nothing comes of it before [`Hooks::work`](super::Hooks::work) is called.
#[derive(Clone)]
pub struct Remote(pub(super) mpsc::Sender<Message>);

impl Remote {
    /// Something happened that hooks may be declared for.
    pub fn notify(&self, event: &str, session: Option<&str>, data: &Value) {
        self.input(json!({"type": "event", "event": event, "session": session, "data": data}));
    }

    /// A person cancels a run.
    pub fn cancel(&self, run: &str) {
        self.input(json!({"type": "cancel", "run": run}));
    }

    /// Nothing more is begun. What is under way is waited for, or canceled.
    pub fn shutdown(&self, drain: bool) {
        self.input(json!({"type": "shutdown", "drain": drain}));
    }

    /// Whether a trigger is listened to; else why not. Only for what could not be said at once.
    pub fn listening(&self, trigger: &str, failed: Option<&str>) {
        self.input(json!({"type": "listening", "trigger": trigger, "failed": failed}));
    }

    /// The declarations of hooks may have changed.
    pub fn reload(&self) {
        self.input(json!({"type": "reload"}));
    }

    /// Lets [`Hooks::work`](super::Hooks::work) return.
    pub fn wake(&self) {
        self.send(Message::Wake);
    }

    fn input(&self, input: Value) {
        self.send(Message::Input(input));
    }

    pub(super) fn send(&self, message: Message) {
        // Where the hooks are gone there is nobody to hear it.
        let _ = self.0.send(message);
    }
}

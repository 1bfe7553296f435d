//! Calls of MCP servers' tools, which pass the gate like any other: hooks hear of them, and a person is asked where the gate wants it.

use std::borrow::BorrowMut;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Hooks;
use super::remote::{Message, Remote};
use crate::bindings::exports::tollgate::hooks::programs::Progress;
use crate::error::Error;
use crate::gate::Tollgate;
use crate::mcp::Wish;

/// The program whose words calls are told in.
const PROGRAM: &str = "generic";

/// Whether a call may run, for a person to answer. One that is dropped counts as not answered, and the call does not run.
pub struct Question {
    /// What to ask.
    pub message: String,
    command: u64,
    remote: Remote,
    decided: Option<bool>,
}

impl Question {
    /// What the person decided.
    pub fn decide(mut self, accepted: bool) {
        self.decided = Some(accepted);
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let input = json!({"type": "decided", "command": self.command, "accepted": self.decided});
        self.remote.send(Message::Servers(input));
    }
}

/// What the gate answered to an event of a call.
pub(super) fn exchanged(command: u64, text: &[u8], refused: Option<&str>) -> Value {
    json!({"type": "exchanged", "command": command, "text": String::from_utf8_lossy(text), "refused": refused})
}

impl<G: BorrowMut<Tollgate>> Hooks<G> {
    /// Wants something of MCP servers, such as `status`, `tools` or `call`, and waits for the result.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Error> {
        let (sender, answer) = mpsc::channel();
        self.remote.request(method, params, move |result| drop(sender.send(result)));
        loop {
            self.work(Duration::from_secs(60))?;
            if self.stopped {
                return Err(Error::Internal("interrupted".to_owned()));
            }
            match answer.try_recv() {
                Ok(result) => return result.map_err(Error::InvalidInput),
                Err(mpsc::TryRecvError::Empty) => {}
                Err(mpsc::TryRecvError::Disconnected) => {
                    return Err(Error::Internal("the gate has forgotten a request; please report it".to_owned()));
                }
            }
        }
    }

    /// Takes connections to MCP servers as far as they go.
    pub(super) fn drive_servers(&mut self) -> Result<(), Error> {
        let remote = self.remote.clone();
        self.gate.borrow_mut().servers().wake_with(move || remote.wake());
        loop {
            self.gate.borrow_mut().drive_servers().inspect_err(|_| self.forget())?;
            let wishes = self.gate.borrow_mut().servers().take_wishes();
            if wishes.is_empty() {
                return Ok(());
            }
            for wish in wishes {
                self.grant(wish)?;
            }
        }
    }

    fn grant(&mut self, wish: Wish) -> Result<(), Error> {
        match wish {
            Wish::Exchange { command, payload } => {
                self.greet()?;
                let payload = payload.to_string();
                match self.gate.borrow_mut().respond(PROGRAM, None, payload.as_bytes()).inspect_err(|_| self.forget())? {
                    Progress::Answered(reply) => {
                        let input = exchanged(command, &reply.text, reply.refused.as_deref());
                        self.gate.borrow_mut().servers().tell(input);
                    }
                    Progress::Waiting(number) => {
                        self.exchanging.insert(number, command);
                        self.step(Vec::new())?;
                    }
                }
            }
            Wish::Ask { command, message } => {
                let question = Question { message, command, remote: self.remote.clone(), decided: None };
                if let Some(ask) = &mut self.options.on_question {
                    ask(question);
                }
            }
            Wish::ToolsChanged => {
                if let Some(tell) = &mut self.options.on_tools_changed {
                    tell();
                }
            }
        }
        Ok(())
    }
}

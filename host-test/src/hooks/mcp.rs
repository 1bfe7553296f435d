//! Calls tools of MCP servers. The gate checks these calls like any other: hooks run, and a person is asked if the gate decides
//! so.

use std::borrow::BorrowMut;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Hooks;
use super::remote::{HooksMessage, Remote};
use crate::bindings::exports::tollgate::hooks::programs::Progress;
use crate::error::Error;
use crate::gate::Tollgate;
use crate::mcp::Task;

/// The program in whose format calls are reported.
const PROGRAM: &str = "generic";

/// Asks a person whether a call may run. If it is dropped without an answer, the call does not run.
pub struct Question {
    /// What to ask.
    pub message: String,
    command: u64,
    remote: Remote,
    decided: Option<bool>,
}

impl Question {
    /// Reports the person's decision.
    pub fn decide(mut self, accepted: bool) {
        self.decided = Some(accepted);
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let input = json!({"type": "decided", "command": self.command, "accepted": self.decided});
        self.remote.send(HooksMessage::Servers(input));
    }
}

/// The gate's answer to an event of a call, as an input for the connections.
pub(super) fn exchange_input(command: u64, text: &[u8], refused: Option<&str>) -> Value {
    json!({"type": "exchanged", "command": command, "text": String::from_utf8_lossy(text), "refused": refused})
}

impl<G: BorrowMut<Tollgate>> Hooks<G> {
    /// Sends a request about MCP servers, such as `status`, `tools` or `call`, and waits for the result.
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
                    return Err(Error::Internal("the gate lost a request; please report it".to_owned()));
                }
            }
        }
    }

    /// Processes everything that has happened on connections to MCP servers.
    pub(super) fn drive_servers(&mut self) -> Result<(), Error> {
        let remote = self.remote.clone();
        self.gate.borrow_mut().servers().wake_with(move || remote.wake());
        loop {
            self.gate.borrow_mut().drive_servers().inspect_err(|_| self.abandon_all())?;
            let tasks = self.gate.borrow_mut().servers().take_tasks();
            if tasks.is_empty() {
                return Ok(());
            }
            for task in tasks {
                self.run_task(task)?;
            }
        }
    }

    fn run_task(&mut self, task: Task) -> Result<(), Error> {
        match task {
            Task::Exchange { command, payload } => {
                self.describe_host()?;
                let payload = payload.to_string();
                match self.gate.borrow_mut().respond(PROGRAM, None, payload.as_bytes()).inspect_err(|_| self.abandon_all())? {
                    Progress::Answered(reply) => {
                        let input = exchange_input(command, &reply.text, reply.refused.as_deref());
                        self.gate.borrow_mut().servers().push_input(input);
                    }
                    Progress::Waiting(number) => {
                        self.exchanging.insert(number, command);
                        self.step(Vec::new())?;
                    }
                }
            }
            Task::Ask { command, message } => {
                let question = Question { message, command, remote: self.remote.clone(), decided: None };
                if let Some(ask) = &mut self.options.on_question {
                    ask(question);
                }
            }
            Task::ToolsChanged => {
                if let Some(callback) = &mut self.options.on_tools_changed {
                    callback();
                }
            }
        }
        Ok(())
    }
}

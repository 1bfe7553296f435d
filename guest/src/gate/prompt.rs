//! The context added to a prompt: the intent, if it is new to the session, and knowledge about the concepts that the prompt
//! names.

use serde_json::Value;

use super::Gate;
use crate::augment::{LookupFinding, Plan};
use crate::call::{TextReader, ToolCall};
use crate::intents::context;
use crate::json::object;
use crate::ports::{Expectation, FileFault};
use crate::state;

/// The name under which a prompt goes through the same lookups as a call.
const PROMPT: &str = "prompt";

impl Gate {
    /// What the model should know about the session's intent, if it has not been told: at first, and when the session has another
    /// intent or its intent has changed. `again` tells it in any case, as after a compaction. Otherwise empty.
    pub fn context_if_new(&mut self, session: &str, limit_chars: usize, again: bool) -> String {
        let at = state::path("told", &[session]);
        let Some(intent) = self.current(session) else {
            // When an intent is selected again later, it is sent again.
            if let Err(fault) = state::remove(&at, &self.ports)
                && fault != FileFault::Missing
            {
                self.ports.warn(&format!("`{at}` in the state folder cannot be removed: {fault}"));
            }
            return String::new();
        };
        let digest = context::digest(&intent).to_string();
        let was_told = || state::read(&at, state::MAX_BYTES, &self.ports).is_ok_and(|told| told == digest.as_bytes());
        if !again && was_told() {
            return String::new();
        }
        let text = self.prompt_context(&intent, limit_chars);
        if !text.is_empty()
            && let Err(fault) = state::replace(&at, digest.as_bytes(), Expectation::Anything, &self.ports)
        {
            self.ports.warn(&format!("`{at}` in the state folder cannot be written, so the intent is sent again: {fault}"));
        }
        text
    }

    /// Plans what to look up about the concepts that a prompt names.
    pub fn plan_lookups_for_text(&mut self, session: &str, text: &str) -> Plan {
        self.plan_lookups(&prompt(session, text))
    }

    /// What is known about the concepts that a prompt names, to be told alongside it; `None` if there is nothing to tell.
    pub fn augment_text(&mut self, session: &str, text: &str, found: &[LookupFinding]) -> Option<String> {
        let call = prompt(session, text);
        let named = self.knowledge.named_concepts(&call, &self.ports).ok()?;
        let config = self.settings();
        self.knowledge.apply(&call, named, TextReader::default(), found, &config.augment, &self.ports).text
    }
}

/// A prompt in the form of a call, which is never run.
fn prompt(session: &str, text: &str) -> ToolCall {
    ToolCall {
        session: session.to_owned(),
        agent: None,
        call: PROMPT.to_owned(),
        host: None,
        tool: PROMPT.to_owned(),
        server: None,
        args: object(&mut [(PROMPT, Value::from(text))]),
        cwd: None,
    }
}

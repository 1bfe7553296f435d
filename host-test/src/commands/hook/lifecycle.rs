//! Telling the gate's own hooks what happens.

use serde_json::Value;
use tollgate::hooks::{Hooks, Options};
use tollgate::{Error, Tollgate};

/// What the hooks make of an event.
pub(super) struct Word {
    /// Whether it goes on.
    pub(super) goes_on: bool,
    /// What they say about it.
    pub(super) message: Option<String>,
}

impl Default for Word {
    fn default() -> Self {
        Self { goes_on: true, message: None }
    }
}

/// Tells the gate of one event: `session_start`, `session_end`, `before_agent`, `after_agent`, `before_tool`, `after_tool`.
pub(super) fn lifecycle(gate: &mut Tollgate, event: &str, session: &str, data: &Value) -> Result<Word, Error> {
    let answer = Hooks::new(gate, Options::new()).event(event, session, data)?;
    Ok(Word { goes_on: answer.go_on, message: answer.system_message.filter(|message| !message.is_empty()) })
}

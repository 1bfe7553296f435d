//! Telling the gate's own hooks what happens.

use serde_json::{Value, json};
use tollgate::{Error, Tollgate};

use super::text;

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
pub(super) fn lifecycle(gate: &mut Tollgate, event: &str, session: &str, data: Value) -> Result<Word, Error> {
    let line = json!({"op": "event", "event": event, "session": session, "data": data});
    let answer = gate.perform(line.to_string().as_bytes())?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|why| Error::Internal(format!("`event`: {why}")))?;
    if let Some(error) = answer.get("error") {
        return Err(Error::Internal(text(error, "message").unwrap_or_default()));
    }
    let goes_on = answer.get("continue") != Some(&Value::Bool(false));
    Ok(Word { goes_on, message: text(&answer, "system_message").filter(|message| !message.is_empty()) })
}

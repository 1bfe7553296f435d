//! Cursor, by its documentation.
//!
//! Its schema takes *ask* from `preToolUse`, and then the tool runs, so *ask* becomes a denial. Rewritten arguments need
//! `"permission": "allow"`; the prompt of a sub-agent is the only text that is ever rewritten, and no approval stands before
//! that. Cursor also runs the hooks of `.claude/settings.json`: the same conversation and call ids arrive there, so a call that
//! is told twice is entered once.

use serde_json::{Map, Value, json};
use tollgate::Outcome;

use super::fields::{self, SNAKE, Spelling};
use super::{Answer, Event, Host, Limit, Moment};

pub(super) struct Cursor;

const SPELLING: Spelling = Spelling { session: &["conversation_id", "session_id"], ..SNAKE };

const MOMENTS: &[(&str, Moment)] = &[
    ("preToolUse", Moment::BeforeTool),
    ("postToolUse", Moment::AfterTool),
    ("postToolUseFailure", Moment::AfterTool),
    ("sessionStart", Moment::SessionStart),
    ("beforeSubmitPrompt", Moment::BeforeAgent),
    ("stop", Moment::AfterAgent),
    ("sessionEnd", Moment::SessionEnd),
];

impl Host for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn project_variables(&self) -> &'static [&'static str] {
        &["CURSOR_PROJECT_DIR"]
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        fields::read(&SPELLING, MOMENTS, payload, named, outcome)
    }

    fn answer(&self, _: &Event, answer: Answer) -> Option<Value> {
        match answer {
            Answer::Ask(reason) | Answer::Deny(reason) => {
                Some(json!({"permission": "deny", "user_message": reason, "agent_message": reason}))
            }
            Answer::Stop(reason) => Some(json!({"continue": false, "user_message": reason})),
            Answer::Allow { args, .. } => args.map(|args| json!({"permission": "allow", "updated_input": args})),
            Answer::Tell(told) => (!told.is_empty()).then(|| json!({"additional_context": told})),
        }
    }

    /// What is longer is dropped.
    fn limit(&self, moment: Moment) -> Option<Limit> {
        matches!(moment, Moment::AfterTool | Moment::SessionStart).then_some(Limit::Utf16(10_000))
    }

    fn asks(&self, _: &Event) -> bool {
        false
    }

    fn rewrites(&self, event: &Event) -> bool {
        event.call.as_ref().is_some_and(|call| call.tool == "Task")
    }

    fn silence(&self) -> &'static str {
        "{}"
    }
}

fn outcome(event: &str, payload: &Map<String, Value>) -> Outcome {
    if event == "postToolUseFailure" {
        return fields::failed(payload.get("error_message").or_else(|| payload.get("error")));
    }
    match payload.get("error") {
        Some(error) if !error.is_null() => fields::failed(Some(error)),
        _ => fields::done(),
    }
}

//! Gemini CLI 0.61.
//!
//! Without a terminal *ask* hangs for ever, and a hook cannot tell whether there is one, so *ask* becomes a denial. Its calls
//! have no id; one is made from the call. Rewritten arguments come without a decision, so its own policy still decides. Before
//! a tool runs the model cannot be told anything; it is told after.

use serde_json::{Map, Value, json};
use tollgate::Outcome;

use super::fields::{self, SNAKE};
use super::{Answer, Event, Host, Limit, Moment};

pub(super) struct Gemini;

const MOMENTS: &[(&str, Moment)] = &[
    ("BeforeTool", Moment::BeforeTool),
    ("AfterTool", Moment::AfterTool),
    ("SessionStart", Moment::SessionStart),
    ("BeforeAgent", Moment::BeforeAgent),
    ("AfterAgent", Moment::AfterAgent),
    ("SessionEnd", Moment::SessionEnd),
];

impl Host for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn project_variables(&self) -> &'static [&'static str] {
        &["GEMINI_PROJECT_DIR"]
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        fields::read(&SNAKE, MOMENTS, payload, named, outcome)
    }

    fn answer(&self, event: &Event, answer: Answer) -> Option<Value> {
        let specific = |name: &str, value: Value| Some(json!({"hookSpecificOutput": {"hookEventName": event.name, name: value}}));
        match answer {
            Answer::Ask(reason) | Answer::Deny(reason) | Answer::Stop(reason) => {
                Some(json!({"decision": "deny", "reason": reason}))
            }
            Answer::Allow { args, .. } => args.and_then(|args| specific("tool_input", args)),
            Answer::Tell(told) if told.is_empty() => None,
            Answer::Tell(told) => match self.limit(event.moment()) {
                Some(_) => specific("additionalContext", told.into()),
                None => Some(json!({"systemMessage": told})),
            },
        }
    }

    fn limit(&self, moment: Moment) -> Option<Limit> {
        let takes = matches!(moment, Moment::AfterTool | Moment::BeforeAgent | Moment::SessionStart);
        takes.then_some(Limit::Utf16(10_000))
    }

    fn asks(&self, _: &Event) -> bool {
        false
    }

    fn rewrites(&self, _: &Event) -> bool {
        true
    }
}

fn outcome(_: &str, payload: &Map<String, Value>) -> Outcome {
    match payload.get("tool_response").and_then(|response| response.get("error")) {
        Some(error) if !error.is_null() => fields::failed(Some(error)),
        _ => fields::done(),
    }
}

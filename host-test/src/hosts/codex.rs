//! Codex 0.166.
//!
//! A field that it does not know makes the whole answer invalid, and then the tool runs. It takes *ask* for invalid too, so
//! *ask* becomes a denial; a reason must not be empty. *Allow* counts only together with rewritten arguments and answers no
//! question of its own approvals, so rewriting widens nothing.

use serde_json::{Map, Value};
use tollgate::Outcome;

use super::fields::{self, SNAKE};
use super::{Answer, Event, Host, Limit, Moment, hook_specific};

pub(super) struct Codex;

const MOMENTS: &[(&str, Moment)] = &[
    ("PreToolUse", Moment::BeforeTool),
    ("PostToolUse", Moment::AfterTool),
    ("SessionStart", Moment::SessionStart),
    ("UserPromptSubmit", Moment::BeforeAgent),
    ("Stop", Moment::AfterAgent),
    ("SessionEnd", Moment::SessionEnd),
];

impl Host for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        fields::read(&SNAKE, MOMENTS, payload, named, outcome)
    }

    fn answer(&self, event: &Event, answer: Answer) -> Option<Value> {
        hook_specific::answer(event, answer)
    }

    /// It takes some 2,500 tokens and counts four bytes for each; the rest goes into a file.
    fn limit(&self, moment: Moment) -> Option<Limit> {
        (!matches!(moment, Moment::AfterAgent | Moment::SessionEnd)).then_some(Limit::Bytes(8_000))
    }

    fn asks(&self, _: &Event) -> bool {
        false
    }

    fn rewrites(&self, _: &Event) -> bool {
        true
    }
}

/// There is one event for tools that ran and tools that failed. A patch says how it ended in its first line, a server's tool
/// in a field, a command not at all.
fn outcome(_: &str, payload: &Map<String, Value>) -> Outcome {
    match payload.get("tool_response") {
        Some(Value::String(said)) => match said.strip_prefix("Exit code: ").and_then(|rest| rest.lines().next()) {
            Some(code) if code.trim() != "0" => Outcome::Failed(said.chars().take(500).collect()),
            _ => fields::done(),
        },
        Some(Value::Object(result)) if result.get("isError") == Some(&Value::Bool(true)) => {
            fields::failed(result.get("content").and_then(|content| content.pointer("/0/text")))
        }
        _ => fields::done(),
    }
}

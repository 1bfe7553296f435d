//! Roo Code, which is archived and has no hooks; for forks that call one, in its own words.
//!
//! In: `{"event", "taskId", "parentTaskId"?, "cwd", "toolUseId"?, "name", "params", "error"?}` with the event `before_tool`,
//! `after_tool`, `session_start`, `before_agent`, `after_agent` or `session_end`. Out: `{"decision": "deny" | "ask", "reason"}`,
//! `{"params"}` for other arguments, `{"context"}` for what the model should be told, `{}` for nothing.

use serde_json::{Map, Value, json};
use tollgate::Outcome;

use super::fields::{self, Spelling};
use super::{Answer, Event, Host, Limit, Moment};

pub(super) struct Roo;

const SPELLING: Spelling = Spelling {
    event: &["event"],
    session: &["taskId"],
    agent: &[],
    parent: &["parentTaskId"],
    cwd: &["cwd"],
    roots: &[],
    tool: &["name"],
    args: &["params"],
    call: &["toolUseId"],
};

const MOMENTS: &[(&str, Moment)] = &[
    ("before_tool", Moment::BeforeTool),
    ("after_tool", Moment::AfterTool),
    ("session_start", Moment::SessionStart),
    ("before_agent", Moment::BeforeAgent),
    ("after_agent", Moment::AfterAgent),
    ("session_end", Moment::SessionEnd),
];

impl Host for Roo {
    fn name(&self) -> &'static str {
        "roo"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        fields::read(&SPELLING, MOMENTS, payload, named, outcome)
    }

    fn answer(&self, _: &Event, answer: Answer) -> Option<Value> {
        match answer {
            Answer::Ask(reason) => Some(json!({"decision": "ask", "reason": reason})),
            Answer::Deny(reason) | Answer::Stop(reason) => Some(json!({"decision": "deny", "reason": reason})),
            Answer::Allow { args: Some(args), .. } => Some(json!({"params": args})),
            Answer::Allow { args: None, told } | Answer::Tell(told) => (!told.is_empty()).then(|| json!({"context": told})),
        }
    }

    fn limit(&self, _: Moment) -> Option<Limit> {
        Some(Limit::Utf16(16_000))
    }

    /// Its own approval dialogue takes any call.
    fn asks(&self, _: &Event) -> bool {
        true
    }

    fn rewrites(&self, _: &Event) -> bool {
        true
    }

    fn silence(&self) -> &'static str {
        "{}"
    }
}

fn outcome(_: &str, payload: &Map<String, Value>) -> Outcome {
    match payload.get("error") {
        Some(error) if !error.is_null() => fields::failed(Some(error)),
        _ => fields::done(),
    }
}

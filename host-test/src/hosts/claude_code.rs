//! Claude Code 2.1.
//!
//! *Ask* opens its permission dialogue; without a terminal it counts as a denial. An explicit *allow* skips that dialogue, so
//! it is given in one case only: with the rewritten prompt of a sub-agent, which Claude Code starts without asking. Its deny
//! and ask rules are looked at whatever a hook says. Everywhere else the arguments stay, and the model is told.

use serde_json::{Map, Value};
use tollgate::Outcome;

use super::fields::{self, SNAKE};
use super::{Answer, Event, Host, Limit, Moment, hook_specific};

pub(super) struct ClaudeCode;

const MOMENTS: &[(&str, Moment)] = &[
    ("PreToolUse", Moment::BeforeTool),
    ("PostToolUse", Moment::AfterTool),
    ("PostToolUseFailure", Moment::AfterTool),
    ("SessionStart", Moment::SessionStart),
    ("UserPromptSubmit", Moment::BeforeAgent),
    ("SubagentStart", Moment::SubagentStart),
    ("Stop", Moment::AfterAgent),
    ("SessionEnd", Moment::SessionEnd),
];

/// Tools that it starts without asking anybody.
const UNASKED: [&str; 2] = ["Agent", "Task"];

impl Host for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn project_variables(&self) -> &'static [&'static str] {
        &["CLAUDE_PROJECT_DIR"]
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        // Whoever lets everything run without being asked is not there to be asked.
        let asks_nobody = payload.get("permission_mode").and_then(Value::as_str) == Some("bypassPermissions");
        Event { asks_nobody, ..fields::read(&SNAKE, MOMENTS, payload, named, outcome) }
    }

    fn answer(&self, event: &Event, answer: Answer) -> Option<Value> {
        hook_specific::answer(event, answer)
    }

    /// What is longer goes into a file, and the model is told the file's name.
    fn limit(&self, moment: Moment) -> Option<Limit> {
        (!matches!(moment, Moment::AfterAgent | Moment::SessionEnd)).then_some(Limit::Utf16(10_000))
    }

    fn asks(&self, event: &Event) -> bool {
        !event.asks_nobody
    }

    fn rewrites(&self, event: &Event) -> bool {
        event.call.as_ref().is_some_and(|call| UNASKED.contains(&call.tool.as_str()))
    }
}

fn outcome(event: &str, payload: &Map<String, Value>) -> Outcome {
    if event == "PostToolUseFailure" { fields::failed(payload.get("error")) } else { fields::done() }
}

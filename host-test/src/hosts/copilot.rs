//! Copilot CLI, by its documentation, and VS Code, which runs the same files.
//!
//! The command line's own payloads do not name their event, so `tollgate init` writes `--event`; without it the fields tell.
//! VS Code and the events of Claude Code's spelling name it, and want Claude Code's answers. Rewritten arguments come without a
//! decision, so its own permissions still decide. The model can be told something only after a tool.

use serde_json::{Map, Value, json};
use tollgate::Outcome;

use super::fields::{self, Spelling};
use super::{Answer, Event, Host, Limit, Moment, hook_specific};

pub(super) struct Copilot;

const SPELLING: Spelling = Spelling {
    event: &["hook_event_name", "hookEventName"],
    session: &["sessionId", "session_id"],
    agent: &["agentId", "agent_id"],
    parent: &["parentSessionId", "parent_session_id"],
    cwd: &["cwd"],
    roots: &["workspaceRoots", "workspace_roots"],
    tool: &["toolName", "tool_name"],
    args: &["toolArgs", "tool_input"],
    call: &["toolUseId", "toolCallId", "tool_use_id"],
};

const MOMENTS: &[(&str, Moment)] = &[
    ("preToolUse", Moment::BeforeTool),
    ("postToolUse", Moment::AfterTool),
    ("postToolUseFailure", Moment::AfterTool),
    ("sessionStart", Moment::SessionStart),
    ("userPromptSubmitted", Moment::BeforeAgent),
    ("agentStop", Moment::AfterAgent),
    ("sessionEnd", Moment::SessionEnd),
    // The same in Claude Code's spelling.
    ("PreToolUse", Moment::BeforeTool),
    ("PostToolUse", Moment::AfterTool),
    ("PostToolUseFailure", Moment::AfterTool),
    ("SessionStart", Moment::SessionStart),
    ("UserPromptSubmit", Moment::BeforeAgent),
    ("Stop", Moment::AfterAgent),
    ("SessionEnd", Moment::SessionEnd),
];

impl Host for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        // A payload that names its event wants to be answered under that name.
        let own = payload.as_object().and_then(|fields| fields::first(fields, SPELLING.event)).map(str::to_owned);
        let named = own.as_deref().or(named).or_else(|| guessed(&payload));
        fields::read(&SPELLING, MOMENTS, payload, named.map(str::to_owned).as_deref(), outcome)
    }

    fn answer(&self, event: &Event, answer: Answer) -> Option<Value> {
        if is_claude_codes(event.name) {
            return hook_specific::answer(event, answer);
        }
        let decided =
            |decision: &str, reason: String| Some(json!({"permissionDecision": decision, "permissionDecisionReason": reason}));
        match answer {
            Answer::Ask(reason) => decided("ask", reason),
            Answer::Deny(reason) => decided("deny", reason),
            Answer::Allow { args, .. } => args.map(|args| json!({"modifiedArgs": args})),
            Answer::Tell(told) => (!told.is_empty()).then(|| json!({"additionalContext": told})),
            // What a hook says about a prompt is not read.
            Answer::Stop(_) => None,
        }
    }

    fn limit(&self, moment: Moment) -> Option<Limit> {
        (moment == Moment::AfterTool).then_some(Limit::Bytes(10_000))
    }

    fn asks(&self, _: &Event) -> bool {
        true
    }

    /// VS Code takes other arguments only with an explicit *allow*, which skips its own question.
    fn rewrites(&self, event: &Event) -> bool {
        !is_claude_codes(event.name)
    }
}

fn is_claude_codes(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The event of a payload that does not name it.
fn guessed(payload: &Value) -> Option<&'static str> {
    let has = |name: &str| payload.get(name).is_some();
    match () {
        () if has("toolName") && has("toolResult") => Some("postToolUse"),
        () if has("toolName") && has("error") => Some("postToolUseFailure"),
        () if has("toolName") || has("toolArgs") => Some("preToolUse"),
        () if has("source") => Some("sessionStart"),
        () if has("prompt") => Some("userPromptSubmitted"),
        () if has("reason") => Some("sessionEnd"),
        () => None,
    }
}

fn outcome(event: &str, payload: &Map<String, Value>) -> Outcome {
    if event.eq_ignore_ascii_case("postToolUseFailure") {
        return fields::failed(payload.get("error"));
    }
    let result = payload.get("toolResult").or_else(|| payload.get("tool_result"));
    let said = |names: &[&str]| names.iter().find_map(|name| result?.get(*name)?.as_str()).unwrap_or_default().to_owned();
    match said(&["resultType", "result_type"]).as_str() {
        "failure" => Outcome::Failed(said(&["textResultForLlm", "text_result_for_llm"]).chars().take(500).collect()),
        "denied" | "rejected" => Outcome::Refused("denied in the host".to_owned()),
        _ => fields::done(),
    }
}

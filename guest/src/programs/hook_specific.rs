//! The hook format of Claude Code: its events, which Qwen Code shares, and its answers, which Codex and VS Code read as well.

use serde_json::{Map, Value, json};

use super::payload::{self, SNAKE};
use super::{CallEnding, EventKind, HookAnswer, ProgramEvent};

/// The events of Claude Code that compatible programs share.
pub(super) const EVENTS: &[(&str, EventKind)] = &[
    ("PreToolUse", EventKind::BeforeTool),
    ("PostToolUse", EventKind::AfterTool),
    ("PostToolUseFailure", EventKind::AfterTool),
    ("SessionStart", EventKind::SessionStart),
    ("UserPromptSubmit", EventKind::BeforeAgent),
    ("SubagentStart", EventKind::SubagentStart),
    ("Stop", EventKind::AfterAgent),
    ("SessionEnd", EventKind::SessionEnd),
];

/// The names of [`EVENTS`], as `init` writes them.
pub(super) const EVENT_NAMES: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SessionStart",
    "UserPromptSubmit",
    "SubagentStart",
    "Stop",
    "SessionEnd",
];

/// Reads a payload of one of these events.
pub(super) fn read(payload: Value, named: Option<&str>) -> ProgramEvent {
    payload::read(&SNAKE, EVENTS, payload, named, ending)
}

fn ending(event: &str, payload: &Map<String, Value>) -> CallEnding {
    if event == "PostToolUseFailure" { payload::failed_ending(payload.get("error")) } else { CallEnding::Done }
}

/// The answer, using only the fields that all three programs know.
pub(super) fn answer(event: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    let specific = |fields: Vec<(&str, Value)>| {
        let mut all = Map::from_iter([("hookEventName".to_owned(), event.name.into())]);
        all.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Some(json!({"hookSpecificOutput": all}))
    };
    let decided = |decision: &str, reason: String| {
        specific(vec![("permissionDecision", decision.into()), ("permissionDecisionReason", reason.into())])
    };
    match answer {
        HookAnswer::Ask(reason) => decided("ask", reason),
        HookAnswer::Deny(reason) => decided("deny", reason),
        HookAnswer::Stop(reason) => Some(json!({"decision": "block", "reason": reason})),
        HookAnswer::Allow { args: Some(args), told } => {
            let mut fields = vec![("permissionDecision", "allow".into()), ("updatedInput", args)];
            if !told.is_empty() {
                fields.push(("additionalContext", told.into()));
            }
            specific(fields)
        }
        HookAnswer::Allow { args: None, told } | HookAnswer::Tell(told) | HookAnswer::Withhold(told) => match event.kind() {
            _ if told.is_empty() => None,
            // At these events the model cannot be told anything; a person can.
            EventKind::AfterAgent | EventKind::SessionEnd => Some(json!({"systemMessage": told})),
            _ => specific(vec![("additionalContext", told.into())]),
        },
    }
}

/// The position of a denial in such an answer, and its value.
pub(super) const DENIAL: (&str, &str) = ("/hookSpecificOutput/permissionDecision", "deny");

/// A call that must be denied, as a payload of the same format.
pub(super) fn canary(root: &str, event: &str, tool: &str, args: &Value) -> Value {
    json!({"session_id": "tollgate-doctor", "transcript_path": null, "cwd": root, "permission_mode": "default",
           "hook_event_name": event, "tool_name": tool, "tool_input": args, "tool_use_id": "canary"})
}

//! Answers in the format of Claude Code, which Codex and VS Code read too.

use serde_json::{Map, Value, json};

use super::{EventKind, HookAnswer, ProgramEvent};

/// The answer, with the fields that all three know and no other.
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
        HookAnswer::Allow { args: None, told } | HookAnswer::Tell(told) | HookAnswer::Withhold(told) => match event.moment() {
            _ if told.is_empty() => None,
            // There the model cannot be told anything; a person can.
            EventKind::AfterAgent | EventKind::SessionEnd => Some(json!({"systemMessage": told})),
            _ => specific(vec![("additionalContext", told.into())]),
        },
    }
}

/// Where a denial is in such an answer, and how it reads.
pub(super) const DENIAL: (&str, &str) = ("/hookSpecificOutput/permissionDecision", "deny");

/// A call that must be denied, in the payload that goes with such answers.
pub(super) fn canary(root: &str, event: &str, tool: &str, args: &Value) -> Value {
    json!({"session_id": "tollgate-doctor", "transcript_path": null, "cwd": root, "permission_mode": "default",
           "hook_event_name": event, "tool_name": tool, "tool_input": args, "tool_use_id": "canary"})
}

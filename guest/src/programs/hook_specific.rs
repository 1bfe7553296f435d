//! The answers of Claude Code's kind, which Codex and VS Code read too.

use serde_json::{Map, Value, json};

use super::{Answer, Event, Moment};

/// The answer, with the fields that all three know and no other.
pub(super) fn answer(event: &Event, answer: Answer) -> Option<Value> {
    let specific = |fields: Vec<(&str, Value)>| {
        let mut all = Map::from_iter([("hookEventName".to_owned(), event.name.into())]);
        all.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Some(json!({"hookSpecificOutput": all}))
    };
    let decided = |decision: &str, reason: String| {
        specific(vec![("permissionDecision", decision.into()), ("permissionDecisionReason", reason.into())])
    };
    match answer {
        Answer::Ask(reason) => decided("ask", reason),
        Answer::Deny(reason) => decided("deny", reason),
        Answer::Stop(reason) => Some(json!({"decision": "block", "reason": reason})),
        Answer::Allow { args: Some(args), told } => {
            let mut fields = vec![("permissionDecision", "allow".into()), ("updatedInput", args)];
            if !told.is_empty() {
                fields.push(("additionalContext", told.into()));
            }
            specific(fields)
        }
        Answer::Allow { args: None, told } | Answer::Tell(told) | Answer::Withhold(told) => match event.moment() {
            _ if told.is_empty() => None,
            // There the model cannot be told anything; a person can.
            Moment::AfterAgent | Moment::SessionEnd => Some(json!({"systemMessage": told})),
            _ => specific(vec![("additionalContext", told.into())]),
        },
    }
}

/// Where a denial stands in such an answer, and how it reads.
pub(super) const DENIAL: (&str, &str) = ("/hookSpecificOutput/permissionDecision", "deny");

/// A call that must be denied, in the payload that goes with such answers.
pub(super) fn canary(root: &str, event: &str, tool: &str, args: &Value) -> Value {
    json!({"session_id": "tollgate-doctor", "transcript_path": null, "cwd": root, "permission_mode": "default",
           "hook_event_name": event, "tool_name": tool, "tool_input": args, "tool_use_id": "canary"})
}

//! Builds the JSON input of a hook in Claude Code's format.

use serde_json::Value;

use super::Declared;
use super::call::ClaudeCall;
use crate::hooks::event::Event;
use crate::hooks::machine::Machine;
use crate::json::{self, object};

/// The payload of an event; `call` is the call that the hook is run for.
pub fn payload(declared: &Declared, event: &Event, call: Option<ClaudeCall>, machine: &Machine) -> Value {
    let data = &event.data;
    let text = |key: &str| Value::from(json::text(data, key).unwrap_or_default());
    let cwd = folder(event, machine);
    let session = event.session.as_deref().unwrap_or_default();
    let mut fields = vec![
        ("session_id", Value::from(session)),
        // No other program keeps a transcript in Claude Code's format.
        ("transcript_path", "".into()),
        ("cwd", cwd.as_str().into()),
        ("permission_mode", "default".into()),
        ("hook_event_name", declared.event.into()),
    ];
    if let Some(agent) = json::text(data, "agent") {
        fields.push(("agent_id", agent.into()));
    }
    match declared.event {
        "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => {
            if let Some(call) = call {
                fields.extend([("tool_name", Value::from(call.name)), ("tool_input", Value::Object(call.input))]);
            }
            fields.push(("tool_use_id", text("call_id")));
            match declared.event {
                "PostToolUse" => fields.push(("tool_response", data.get("result").cloned().unwrap_or_default())),
                "PostToolUseFailure" => fields.push(("error", text("error"))),
                _ => {}
            }
        }
        "UserPromptSubmit" => fields.push(("prompt", text("prompt"))),
        "SessionStart" => fields.push(("source", text("source"))),
        "SessionEnd" => fields.push(("reason", text("reason"))),
        _ => fields.extend([("stop_hook_active", false.into()), ("last_assistant_message", text("response"))]),
    }
    object(&mut fields)
}

/// The folder that an event happened in, absolute.
pub fn folder(event: &Event, machine: &Machine) -> String {
    match json::text(&event.data, "cwd") {
        Some(cwd) if machine.is_absolute(cwd) => cwd.to_owned(),
        Some(cwd) if !matches!(cwd, "" | ".") => format!("{}/{cwd}", machine.workspace),
        _ => machine.workspace.clone(),
    }
}

//! Detects calls that leave something running, from the tool's arguments and its answer.

use serde_json::{Map, Value};

use crate::effects::Persistence;

/// Arguments with which agent programs run a command in the background, and how long the command then lasts.
const ARGUMENTS: &[(&str, Persistence)] = &[
    ("run_in_background", Persistence::Session),
    ("runInBackground", Persistence::Session),
    ("is_background", Persistence::Session),
    ("isBackground", Persistence::Session),
    ("background", Persistence::Session),
    ("async", Persistence::Session),
    ("persistent", Persistence::Session),
    ("tty", Persistence::Interactive),
    ("detach", Persistence::Detached),
    ("detached", Persistence::Detached),
];

/// Values of an argument `mode`.
const MODES: &[(&str, Persistence)] =
    &[("async", Persistence::Session), ("background", Persistence::Session), ("detached", Persistence::Detached)];

/// Tools whose command keeps running, whatever their arguments are.
const TOOLS: &[&str] = &["Monitor", "run_task", "create_and_run_task"];

/// How an answer begins if the command keeps running.
const ANSWERS: &[&str] = &["Command moved to background (PID", "Command running in background with ID"];

/// Members of an answer that contain its text.
const TEXTS: &[&str] = &["llmContent", "returnDisplay", "output", "stdout", "text", "content"];

/// How deeply an answer is searched.
const MAX_DEPTH: usize = 4;

/// Agent programs that do not report the end of a call while its command is still running.
const SILENT: &[&str] = &["codex"];

/// Whether what a call starts keeps running after the call, judging by the tool and its arguments.
pub(super) fn persistence(tool: &str, args: &Map<String, Value>) -> Persistence {
    let is_set = |name: &str| match args.get(name) {
        Some(Value::Bool(set)) => *set,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let mode = args.get("mode").and_then(Value::as_str).unwrap_or_default();
    let said = ARGUMENTS.iter().filter(|(name, _)| is_set(name)).chain(MODES.iter().filter(|(name, _)| *name == mode));
    let by_name = if TOOLS.contains(&tool) { Persistence::Session } else { Persistence::Ends };
    said.map(|(_, persistence)| *persistence).fold(by_name, Persistence::max)
}

/// Whether a program does not report a call's end while the command is running. This is also assumed if the program is unknown.
pub(in crate::call) fn omits_end_while_running(host: Option<&str>) -> bool {
    host.is_none_or(|host| SILENT.iter().any(|silent| silent.eq_ignore_ascii_case(host)))
}

/// Whether a tool's own answer says that its command keeps running.
pub(in crate::call) fn reports_still_running(answer: &Value) -> bool {
    is_running(answer, MAX_DEPTH)
}

fn is_running(answer: &Value, depth: usize) -> bool {
    match answer {
        Value::String(text) => ANSWERS.iter().any(|begin| text.trim_start().starts_with(begin)),
        Value::Array(parts) => depth > 0 && parts.iter().any(|part| is_running(part, depth - 1)),
        Value::Object(fields) => {
            fields.get("backgroundTaskId").is_some_and(|id| !id.is_null())
                || depth > 0 && TEXTS.iter().filter_map(|name| fields.get(*name)).any(|text| is_running(text, depth - 1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments() {
        for (tool, args, expected) in [
            ("Bash", json!({"command": "x", "run_in_background": true}), Persistence::Session),
            ("Bash", json!({"command": "x", "run_in_background": false}), Persistence::Ends),
            ("Bash", json!({"command": "x"}), Persistence::Ends),
            ("run_shell_command", json!({"command": "x", "is_background": true}), Persistence::Session),
            ("run_shell_command", json!({"command": "x", "is_background": "true"}), Persistence::Session),
            ("bash", json!({"command": "x", "mode": "async"}), Persistence::Session),
            ("bash", json!({"command": "x", "mode": "sync"}), Persistence::Ends),
            ("bash", json!({"command": "x", "mode": "async", "detach": true}), Persistence::Detached),
            ("run_in_terminal", json!({"command": "x", "isBackground": true}), Persistence::Session),
            ("exec_command", json!({"cmd": "x", "tty": true}), Persistence::Interactive),
            ("Monitor", json!({"command": "x"}), Persistence::Session),
        ] {
            let Value::Object(fields) = &args else { panic!("{args}") };
            assert_eq!(persistence(tool, fields), expected, "{tool} {args}");
        }
    }

    #[test]
    fn answers() {
        let deep = (0..40).fold(json!("Command moved to background (PID: 7)"), |inner, _| json!([inner]));
        for (answer, expected) in [
            (json!({"stdout": "", "stderr": "", "backgroundTaskId": "b1"}), true),
            (json!({"stdout": "", "stderr": "", "backgroundTaskId": null}), false),
            (json!("Command running in background with ID: b1. Output is being written to: x"), true),
            (json!({"llmContent": "Command moved to background (PID: 7). Output hidden.", "returnDisplay": "x"}), true),
            (json!({"content": [{"type": "text", "text": "Command moved to background (PID: 7)"}]}), true),
            (json!({"stdout": "it said: Command moved to background (PID: 7)"}), false),
            (json!("done"), false),
            (json!(null), false),
            (deep, false),
        ] {
            assert_eq!(reports_still_running(&answer), expected, "{answer}");
        }
    }

    #[test]
    fn who_tells_of_every_end() {
        for (host, untold) in [(None, true), (Some("codex"), true), (Some("Codex"), true), (Some("claude-code"), false)] {
            assert_eq!(omits_end_while_running(host), untold, "{host:?}");
        }
    }
}

//! What the answer of a Claude Code hook means.
//!
//! | answer | before a tool | at a prompt | elsewhere |
//! | --- | --- | --- | --- |
//! | exit code 2 | the call does not run; the reason is what it wrote to standard error | the same for the prompt | the model is told |
//! | `decision: "block"`, `permissionDecision: "deny"`, `continue: false` | the same; the reason is in the answer | the same | the model is told |
//! | `permissionDecision: "ask"` | a person decides, if the program can ask one | | |
//! | `permissionDecision: "allow"`, `decision: "approve"` | nothing: a hook can only object | | |
//! | `updatedInput` | the call runs with other arguments, if the program can do that | | |
//! | `additionalContext`, `systemMessage` | the model is told | the model is told | the model is told |
//! | a text that is not JSON | nothing | the model is told | at the beginning of a session, the model is told |
//! | any other exit code | nothing, as if it had not run | | |

use serde_json::{Map, Value};

use super::Declared;
use super::call::ClaudeCall;
use crate::engine::RunEnding;
use crate::json;

/// The key of the arguments that a hook wants, for the gate.
pub const UPDATED: &str = "updated_input";
/// The key of arguments that a hook wants and that cannot be passed to the program.
pub const WANTED: &str = "wanted_input";
/// The key of the reason why a person should decide.
pub const ASKS: &str = "asks";

/// The reason if a hook gives none.
const NO_REASON: &str = "a hook stopped it and gave no reason";

/// Translates a hook's answer into our own format; `None` if the hook failed.
pub fn read(declared: &Declared, ending: &RunEnding) -> Option<Map<String, Value>> {
    let RunEnding::Exited { code, stdout, stderr, .. } = ending else { return None };
    let mut said = Map::new();
    match code {
        Some(0) => {}
        Some(2) => return Some(stop_answer(declared, stderr.trim())),
        _ => return None,
    }
    let printed = stdout.trim();
    let Ok(Value::Object(answer)) = json::value(printed) else {
        let tells = matches!(declared.event, "UserPromptSubmit" | "SessionStart");
        if tells && !printed.is_empty() {
            said.insert("systemMessage".to_owned(), printed.into());
        }
        return Some(said);
    };
    let answer = Value::Object(answer);
    let specific = answer.get("hookSpecificOutput").unwrap_or(&Value::Null);
    let decision = json::text(specific, "permissionDecision").or_else(|| json::text(&answer, "decision"));
    let reason = json::text(specific, "permissionDecisionReason").or_else(|| json::text(&answer, "reason"));
    if answer.get("continue") == Some(&Value::Bool(false)) {
        return Some(stop_answer(declared, json::text(&answer, "stopReason").or(reason).unwrap_or_default()));
    }
    match decision {
        Some("deny" | "block") => return Some(stop_answer(declared, reason.unwrap_or_default())),
        Some("ask") if declared.event == "PreToolUse" => {
            said.insert(ASKS.to_owned(), reason.unwrap_or("a hook wants a person to decide").into());
        }
        _ => {}
    }
    let told: Vec<&str> =
        [json::text(specific, "additionalContext"), json::text(&answer, "systemMessage")].into_iter().flatten().collect();
    if !told.is_empty() {
        said.insert("systemMessage".to_owned(), told.join("\n").into());
    }
    if let Some(updated @ Value::Object(_)) = specific.get("updatedInput").filter(|_| declared.event == "PreToolUse") {
        said.insert(UPDATED.to_owned(), updated.clone());
    }
    Some(said)
}

/// What the failure or timeout of a hook means: nothing, unless the hook has to agree.
pub fn answer_for_failure(declared: &Declared, why: &str) -> Option<Map<String, Value>> {
    declared.blocks_on_failure.then(|| stop_answer(declared, &format!("a required hook failed: {why}")))
}

/// Adds the arguments that a hook wants to the data of an event: as the program's own if they can be translated back, otherwise
/// as a request that cannot be met.
pub fn add_wanted_args(data: &mut Map<String, Value>, call: Option<&ClaudeCall>, wanted: Value) {
    let args = data.get("args").cloned().unwrap_or_default();
    match call.zip(wanted.as_object()).and_then(|(call, wanted)| call.merge_wanted(&args, wanted)) {
        Some(updated) => {
            data.insert("args".to_owned(), updated.clone());
            data.insert(UPDATED.to_owned(), updated);
        }
        None => drop(data.insert(WANTED.to_owned(), wanted)),
    }
}

/// Stops what was about to happen. If it has already happened, the model is told.
fn stop_answer(declared: &Declared, reason: &str) -> Map<String, Value> {
    let reason = if reason.is_empty() { NO_REASON } else { reason };
    let mut said = Map::from_iter([("systemMessage".to_owned(), reason.into())]);
    if matches!(declared.event, "PreToolUse" | "UserPromptSubmit") {
        said.insert("continue".to_owned(), false.into());
    }
    said
}

#[cfg(test)]
mod tests {
    use super::super::matcher::Matcher;
    use super::*;
    use serde_json::json;

    fn read_answer(event: &'static str, code: i32, stdout: &str, stderr: &str) -> Value {
        let declared = Declared { event, matcher: Matcher::All, from: None, blocks_on_failure: false };
        let ending =
            RunEnding::Exited { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned(), truncated: false };
        read(&declared, &ending).map(Value::Object).unwrap_or_default()
    }

    #[test]
    fn answers() {
        let stopped = |reason: &str| json!({"systemMessage": reason, "continue": false});
        let specific = |fields: Value| json!({"hookSpecificOutput": fields}).to_string();
        for (event, code, stdout, stderr, expected) in [
            ("PreToolUse", 0, String::new(), "", json!({})),
            ("PreToolUse", 2, "{}".to_owned(), "no rm\n", stopped("no rm")),
            ("PreToolUse", 2, String::new(), "", stopped(NO_REASON)),
            ("PreToolUse", 1, String::new(), "broken", Value::Null),
            ("PreToolUse", 0, "not JSON".to_owned(), "", json!({})),
            (
                "PreToolUse",
                0,
                specific(json!({"permissionDecision": "deny", "permissionDecisionReason": "why"})),
                "",
                stopped("why"),
            ),
            ("PreToolUse", 0, specific(json!({"permissionDecision": "allow"})), "", json!({})),
            (
                "PreToolUse",
                0,
                specific(json!({"permissionDecision": "ask"})),
                "",
                json!({"asks": "a hook wants a person to decide"}),
            ),
            (
                "PreToolUse",
                0,
                specific(json!({"updatedInput": {"command": "ls"}, "additionalContext": "c"})),
                "",
                json!({"systemMessage": "c", "updated_input": {"command": "ls"}}),
            ),
            ("PreToolUse", 0, json!({"decision": "block", "reason": "old"}).to_string(), "", stopped("old")),
            ("PreToolUse", 0, json!({"continue": false, "stopReason": "enough"}).to_string(), "", stopped("enough")),
            ("UserPromptSubmit", 0, "context\n".to_owned(), "", json!({"systemMessage": "context"})),
            ("UserPromptSubmit", 2, String::new(), "no", stopped("no")),
            ("PostToolUse", 2, String::new(), "format it", json!({"systemMessage": "format it"})),
            ("PostToolUse", 0, json!({"decision": "block", "reason": "lint"}).to_string(), "", json!({"systemMessage": "lint"})),
            ("Stop", 0, json!({"decision": "block", "reason": "go on"}).to_string(), "", json!({"systemMessage": "go on"})),
            ("SessionStart", 0, "hello".to_owned(), "", json!({"systemMessage": "hello"})),
        ] {
            assert_eq!(read_answer(event, code, &stdout, stderr), expected, "{event} {code} {stdout}");
        }
        let strict = Declared { event: "PreToolUse", matcher: Matcher::All, from: None, blocks_on_failure: true };
        assert_eq!(read(&strict, &RunEnding::Missing), None);
        assert_eq!(answer_for_failure(&strict, "it exited with code 1").unwrap()["continue"], false);
        let lax = Declared { blocks_on_failure: false, ..strict };
        assert_eq!(answer_for_failure(&lax, "it exited with code 1"), None);
    }
}

//! The operations behind `tollgate intents` and `tollgate tools`.
//!
//! | op | answer |
//! | --- | --- |
//! | `list-intents` | `{governed, intents, diagnostics, errors, warnings, summary, readable, valid}`: the intents in force, and what is wrong with the current file. `summary` says in a sentence what a person should know about the list, or is null; `readable` is false if nothing could be read, which is different from an empty list; `valid` is what `tollgate intents check` asks |
//! | `list-sessions` | `{default, sessions}`, each `{session, intent, parent, by, since, program, last}`: those that selected or inherited an intent, or changed something, the most recently active first |
//! | `select-default` `{intent}` | `{"intent":…}`: the intent that new sessions work for; null removes it |
//! | `allow-tool` `{pattern, kind, settings?}` | `{path, pattern, kind, settings}`: `settings` is the text of the workspace's settings, in the request as it is, in the answer as it has to be; the host writes it |
//! | `server-tools` `{server, tools}` | `{"tools": N}`: stores what an MCP server claims about its tools, as it answered `tools/list` |

use serde_json::{Map, Value, json};

use super::{OperationFault, check_fields, summary};
use crate::config::{self, Config, EFFECTS};
use crate::gate::Gate;
use crate::gate::condition::UNGOVERNED;
use crate::glob::Glob;
use crate::inflight::rulings::{self, Latest};
use crate::intents::diagnosis::{Diagnosis, Severity};
use crate::intents::file::{Governance, PATH};
use crate::intents::intent::Intent;
use crate::intents::selection::{self, Selection};
use crate::json::document::Document;
use crate::servers;

const CHECK: &str = "`tollgate intents check` shows what is wrong";

/// Answers one of the ops above; `None` if it is another.
pub(super) fn answer(gate: &mut Gate, op: &str, fields: &Map<String, Value>) -> Option<Result<Value, OperationFault>> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    match op {
        "list-intents" => Some(Ok(list_intents(gate))),
        "list-sessions" => Some(Ok(list_sessions(gate))),
        "select-default" => Some(check_fields(op, &[], fields).and_then(|()| {
            let selected = gate.select_default(text("intent"))?;
            Ok(json!({"intent": selected.as_ref().map(summary)}))
        })),
        "server-tools" => Some(check_fields(op, &["server", "tools"], fields).and_then(|()| {
            let tools = fields.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            Ok(json!({"tools": servers::keep(text("server").unwrap_or_default(), tools, gate.ports())?}))
        })),
        "allow-tool" => Some(check_fields(op, &["pattern", "kind"], fields).and_then(|()| {
            let [pattern, kind, settings] = ["pattern", "kind", "settings"].map(|key| text(key).unwrap_or_default());
            allow_tool(pattern, kind, settings)
        })),
        _ => None,
    }
}

/// The settings text in which a tool, or every tool of a pattern, has a kind.
fn allow_tool(pattern: &str, kind: &str, settings: &str) -> Result<Value, OperationFault> {
    let invalid = |field, why| OperationFault::InvalidValue { op: "allow-tool".to_owned(), field, why };
    if !EFFECTS.contains(&kind) {
        return Err(invalid("kind", format!("`{kind}` is not a kind; use one of: {}", EFFECTS.join(", "))));
    }
    Glob::compile(pattern).map_err(|why| invalid("pattern", why.to_string()))?;
    let unusable = |why: String| invalid("settings", why);
    // One more line does not make a file usable that is not.
    if !settings.trim().is_empty() {
        Config::parse(settings.as_bytes()).map_err(|why| unusable(why.to_string()))?;
    }
    let document = Document::parse(settings).map_err(|why| unusable(why.to_string()))?;
    document.put("tools", pattern, &kind.into()).map_err(|why| unusable(why.to_string()))?;
    let after = document.text();
    Config::parse(after.as_bytes()).map_err(|why| unusable(why.to_string()))?;
    Ok(json!({"path": config::PATH, "pattern": pattern, "kind": kind, "settings": after}))
}

fn list_intents(gate: &mut Gate) -> Value {
    let (governance, diagnoses) = gate.intents();
    let intents = match &governance {
        Governance::By(intents) => intents.all(),
        _ => &[],
    };
    let is_governed = !matches!(governance, Governance::None);
    let errors = diagnoses.iter().filter(|found| matches!(found.severity, Severity::Error)).count();
    let summary = match (is_governed, errors) {
        (false, _) => Some(UNGOVERNED.to_owned()),
        (true, 0) if intents.is_empty() => Some(format!("`{PATH}` lists no intents")),
        (true, 0) => None,
        (true, 1) => Some(format!("`{PATH}` has 1 error; {CHECK}")),
        (true, _) => Some(format!("`{PATH}` has {errors} errors; {CHECK}")),
    };
    json!({
        "governed": is_governed,
        "intents": intents.iter().map(intent_json).collect::<Vec<_>>(),
        "diagnostics": diagnoses.iter().map(diagnosis_json).collect::<Vec<_>>(),
        "errors": errors,
        "warnings": diagnoses.len() - errors,
        "summary": summary,
        // Without governance, no file is expected.
        "readable": !is_governed || errors == 0 || !intents.is_empty(),
        "valid": is_governed && errors == 0,
    })
}

fn intent_json(intent: &Intent) -> Value {
    json!({
        "id": intent.id.as_str(),
        "name": intent.name,
        "status": intent.status.as_str(),
        "open": intent.status.is_open(),
        "description": intent.description,
        "owned_scope": intent.owned_scope.patterns(),
        "constraints": intent.constraints,
        "acceptance_criteria": intent.acceptance_criteria,
    })
}

fn diagnosis_json(diagnosis: &Diagnosis) -> Value {
    let severity = match diagnosis.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({"severity": severity, "line": diagnosis.line, "column": diagnosis.column, "message": diagnosis.message})
}

fn list_sessions(gate: &Gate) -> Value {
    let mut selections = selection::all(gate.ports());
    let mut sessions = Vec::new();
    for latest in rulings::latest(gate.ports()) {
        let at = selections.iter().position(|selection| selection.session == latest.session);
        let selection = match at {
            Some(at) => selections.remove(at),
            None => Selection { session: latest.session.clone(), ..Selection::default() },
        };
        sessions.push(session(&selection, Some(&latest)));
    }
    sessions.extend(selections.iter().map(|selection| session(selection, None)));
    json!({"default": gate.default_intent().as_ref().map(|intent| intent.as_str()), "sessions": sessions})
}

fn session(selection: &Selection, latest: Option<&Latest>) -> Value {
    let last = |latest: &Latest| json!({"tool": latest.tool, "at": latest.at, "denied": latest.denied});
    json!({
        "session": selection.session,
        "intent": selection.intent.as_ref().map(|intent| intent.as_str()),
        "parent": selection.parent,
        "by": selection.by,
        "since": selection.since,
        "program": latest.and_then(|latest| latest.program.as_deref()),
        "last": latest.map(last),
    })
}

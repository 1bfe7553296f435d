//! The operations behind commands that only a person may run. See [`crate::person`].
//!
//! | op | answer |
//! | --- | --- |
//! | `person` `{step: "look", above, variables}` | `{"agent":…}`: the agent program among the caller's parent processes, or null. It applies to all lines that follow, and no later `look` takes it back |
//! | `person` `{step: "check", command, above, variables, terminal, settings?}` | `{"allowed":true}`, or `{"allowed":false, why}` |
//! | `person` `{step: "record", command, user, changed, program?}` | `{"entries":[…]}`, once it is done; no entries if nothing is governed |
//!
//! `above` is a list of `{id, name, words}`. `settings` is the text of the account's own settings, if nobody else can write to them and
//! they are not in the workspace. Once an agent program was seen above, lines that only a person may send are refused
//! with `needs_person`: `tollgate eval` is a protocol for hosts and has no terminal to ask on, but an agent can start it and write
//! to it. `select-intent` for a session is not among them, because agents select their intents themselves.

use serde_json::{Map, Value, json};

use super::{OperationFault, check_fields};
use crate::gate::Gate;
use crate::json::{self, document};
use crate::ledger::writing;
use crate::person::{self, Caller, Process};
use crate::ports::{FileKind, Question};
use crate::state::OwnProgram;

/// Maximum number of processes and variables that are looked at.
const MAX_LISTED: usize = 10_000;

/// Whether a line is one that only a person may send.
pub(super) fn is_persons(op: &str, fields: &Map<String, Value>) -> bool {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    match op {
        // Orders to connect contain settings that no agent may read.
        "archive" | "allow-tool" | "mcp" | "server-tools" | "select-default" => true,
        "person" => text("step") == Some("record"),
        // A permit is for the program that the gate runs, which sends no `look`.
        "revert" => text("step") == Some("record") || fields.get("restoring") == Some(&Value::Bool(true)),
        "hooks" => matches!(text("do"), Some("approve" | "revoke")) || fields.get("take") == Some(&Value::Bool(true)),
        "extensions" => !matches!(text("do"), Some("list" | "show" | "check" | "setting")),
        _ => false,
    }
}

/// Answers the op above.
pub(super) fn answer(gate: &mut Gate, fields: Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields("person", &["step"], &fields)?;
    match fields.get("step").and_then(Value::as_str) {
        Some("look") => {
            // An agent that was seen stays: it may have sent this line, to be taken for a person.
            if let Some(agent) = caller(&fields).agent() {
                gate.agent_above = Some(agent);
            }
            Ok(json!({"agent": gate.agent_above}))
        }
        Some("check") => Ok(match caller(&fields).check(&texts(&fields, "command")) {
            Ok(()) => json!({"allowed": true}),
            Err(why) => json!({"allowed": false, "why": why.to_string()}),
        }),
        Some("record") => record(gate, &fields),
        _ => Err(OperationFault::InvalidField { op: "person".to_owned(), field: "step", expected: "one of look, check, record" }),
    }
}

fn record(gate: &mut Gate, fields: &Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields("person", &["command", "user"], fields)?;
    if let Some(program) = fields.get("program").filter(|program| program.is_object()) {
        let program: OwnProgram = serde_json::from_value(program.clone())
            .map_err(|why| OperationFault::InvalidFields { op: "person".to_owned(), why })?;
        program.keep(gate.ports())?;
    }
    // It does not matter whether the intents can be read: the command may just have removed them.
    let folder = gate.ports().workspace.inspect(&[Question::project(".orchestration")]);
    if folder.first().is_none_or(|facts| facts.kind != FileKind::Directory) {
        return Ok(json!({"entries": []}));
    }
    gate.refresh_settings();
    let ports = gate.ports();
    if texts(fields, "command") == ["init", "--undo"] {
        crate::intents::file::forget_missing(ports);
    }
    let person = named_person(fields, ports).unwrap_or_default();
    let mut lines = Vec::new();
    writing::enter(&[person::entry(person, ports)], &mut lines, ports)?;
    let entries: Vec<Value> = lines.iter().filter_map(|line| json::value(line).ok()).collect();
    Ok(json!({"entries": entries}))
}

/// The person that a line names, if it names one.
pub(super) fn named_person(fields: &Map<String, Value>, ports: &crate::ports::Ports) -> Option<crate::ledger::entry::Person> {
    let user = fields.get("user").and_then(Value::as_str)?;
    Some(person::person(user, &texts(fields, "command"), &texts(fields, "changed"), ports))
}

fn caller(fields: &Map<String, Value>) -> Caller {
    let is = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    let above = fields.get("above").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let process = |value: &Value| Process {
        id: value.get("id").and_then(Value::as_u64).unwrap_or_default(),
        name: json::text(value, "name").unwrap_or_default().to_owned(),
        words: value.as_object().map(|process| texts(process, "words")).unwrap_or_default(),
    };
    Caller {
        ancestors: above.iter().take(MAX_LISTED).map(process).collect(),
        variables: texts(fields, "variables"),
        terminal: is("terminal"),
        unattended: fields.get("settings").and_then(Value::as_str).is_some_and(declares_unattended),
    }
}

/// Whether settings say that no one is there to confirm commands.
fn declares_unattended(settings: &str) -> bool {
    document::read::<Value>(settings.as_bytes()).is_ok_and(|settings| settings.get("unattended") == Some(&Value::Bool(true)))
}

fn texts(fields: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = fields.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().take(MAX_LISTED).filter_map(Value::as_str).map(str::to_owned).collect()
}

//! The operations behind confinement.
//!
//! | op | answer |
//! | --- | --- |
//! | `grants` `{session, call?, command?, cwd?, confinable?, why?}` | `{run, mode, network, intent, grants, env, notes, say}` |
//! | `wrap` `{session, call, command, shell?, confiner?}` | `{"command":…}`: a text for a text, a list of words for a list of words |
//!
//! `confinable` says what confinement the system can enforce: `true` for files and whole folders, `"exceptions"` for folders with
//! exceptions too, `false` for nothing, and then `why` says why. `run` says what the host does: `confined`, `plain` or `refused`.
//! A grant is `{path, kind, why}` with `kind` `file` or `tree`, and with `make` and `except` if they matter, see
//! [`Grant`](crate::confine::Grant).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{OperationFault, read};
use crate::config::confine::Capability;
use crate::confine::wrapping::{self, Wrapping};
use crate::gate::{Gate, HostCommand};

/// Maximum number of words in a command.
const MAX_WORDS: usize = 10_000;

#[derive(Deserialize)]
struct ConfineRequest {
    session: String,
    call: Option<String>,
    cwd: Option<String>,
    why: Option<String>,
}

#[derive(Deserialize)]
struct ToWrap {
    session: String,
    call: String,
    shell: Option<String>,
    confiner: Option<String>,
}

/// Reads the field `confinable`.
pub(super) fn capability(op: &str, fields: &Map<String, Value>) -> Result<Capability, OperationFault> {
    match fields.get("confinable") {
        None | Some(Value::Null | Value::Bool(false)) => Ok(Capability::None),
        Some(Value::Bool(true)) => Ok(Capability::Trees),
        Some(Value::String(text)) if text == "exceptions" => Ok(Capability::Exceptions),
        Some(_) => Err(OperationFault::InvalidField {
            op: op.to_owned(),
            field: "confinable",
            expected: "true, false or \"exceptions\"",
        }),
    }
}

/// Reads a field that holds a list of words.
fn words(op: &str, value: &Value) -> Result<Vec<String>, OperationFault> {
    let fault =
        || OperationFault::InvalidField { op: op.to_owned(), field: "command", expected: "a string or a list of strings" };
    let words = value.as_array().filter(|words| words.len() <= MAX_WORDS).ok_or_else(fault)?;
    words.iter().map(|word| word.as_str().map(str::to_owned).ok_or_else(fault)).collect()
}

pub(super) fn answer(gate: &mut Gate, op: &str, mut fields: Map<String, Value>) -> Result<Value, OperationFault> {
    let command = fields.remove("command").unwrap_or_default();
    if op == "wrap" {
        let asked: ToWrap = read(op, &["session", "call"], fields)?;
        let wrapping = Wrapping {
            program: asked.confiner.as_deref().unwrap_or(wrapping::PROGRAM),
            shell: asked.shell.as_deref().unwrap_or(wrapping::SHELL),
            session: &asked.session,
            call: &asked.call,
        };
        return Ok(match &command {
            Value::String(text) => json!({"command": wrapping.text(text)}),
            list => json!({"command": wrapping.words(&words(op, list)?)}),
        });
    }
    let capability = capability(op, &fields)?;
    let command = match command {
        Value::Null => Vec::new(),
        list => words(op, &list)?,
    };
    let asked: ConfineRequest = read(op, &["session"], fields)?;
    let command = HostCommand {
        session: &asked.session,
        call: asked.call.as_deref(),
        words: &command,
        cwd: asked.cwd.as_deref().unwrap_or_default(),
        capability,
        why: asked.why.as_deref(),
    };
    Ok(gate.confine(&command).json())
}

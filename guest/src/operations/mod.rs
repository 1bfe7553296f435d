//! The gate as JSON lines: one object in, one object out.
//!
//! | op | answer |
//! | --- | --- |
//! | `select-intent` `{session, intent}` | `{"intent":{id, name, status}}` |
//! | `clear-intent` `{session}` | `{"intent":null}` |
//! | `inherit-intent` `{session, parent}` | `{"intent":…}` |
//! | `pre-tool` `{session, call, tool, args, host?, cwd?, agent?, confinable?}` | `{verdict, code, reason, effects, pre_hash}` and, if the command has to run confined, `confined` |
//! | `post-tool` `{…, success, error?, output?}` | `{"entries":[…]}`, with `notice` if the agent should be told something, and `restore` with the ids of entries whose changes are to be reverted |
//! | `context` `{session, if_new?, again?}` or `{intent}` | `{"text":…}`; with `if_new`, empty if the session has been told, unless `again` |
//! | `event` `{event, session, data}` | `{continue, system_message, data}`, or `{"waiting":N}` if hooks run first: then a later step returns it |
//! | `readable-files` | `{"home":[…]}`: the parts of the home folder that the gate has to read, to be asked before anything else |
//! | `step` `{now_ms, inputs}` | `{commands, next_deadline_ms}`: `engine.step` as JSON, see [`crate::engine`] |
//!
//! The other operations are in `confine.rs` (`tollgate confine`), `augment.rs` (`tollgate augment` and `tollgate concepts`),
//! `hooks.rs` (`tollgate hooks`), `intents.rs` (`tollgate intents`), `extensions.rs` (`tollgate extensions`), `skills.rs`
//! (`tollgate skills`), `mcp.rs` (MCP servers), `own_tools.rs` (Tollgate's own tools), `person.rs` (commands that only a person
//! may give), `trace.rs` (`tollgate trace`) and `wiring.rs` (`tollgate init` and `tollgate doctor`).

mod augment;
mod confine;
mod extensions;
mod hooks;
mod import;
mod intents;
mod mcp;
mod own_tools;
mod person;
mod skills;
mod trace;
mod wiring;
mod workspace;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::ToolCall;
use crate::effects::Effect;
use crate::engine::Input;
use crate::gate::{CallOutcome, Gate, Refusal};
use crate::intents::intent::Intent;
use crate::json;
use crate::programs::NO_REASON_GIVEN;
use crate::ruling::Ruling;

/// Maximum length of a line.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// The default length of the context: 4,000 tokens of about four characters.
const CONTEXT_CHARS: usize = 16_000;

/// Why a request line fails.
#[derive(Debug, thiserror::Error)]
enum OperationFault {
    #[error("the line is longer than {} MiB; pass large content by path", MAX_LINE_BYTES >> 20)]
    TooLong,
    #[error("the line is not a JSON object: {0}")]
    InvalidJson(serde_json::Error),
    #[error("the line is {0}, not a JSON object such as {{\"op\":\"context\",\"session\":\"s1\"}}")]
    NoObject(&'static str),
    #[error("the field `{field}` is missing; {whose} needs it")]
    MissingField { whose: String, field: &'static str },
    #[error("the field `{field}` of `{op}` must be {expected}")]
    InvalidField { op: String, field: &'static str, expected: &'static str },
    #[error("`{op}` is invalid: {why}")]
    InvalidFields { op: String, why: serde_json::Error },
    #[error("the field `{field}` of `{op}` is invalid: {why}")]
    InvalidValue { op: String, field: &'static str, why: String },
    #[error("the op `{0}` is not known; expected one of: {known}", known = OPS.join(", "))]
    UnknownOp(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the workspace could not be read or written: {0}")]
    Workspace(#[from] crate::ports::FileFault),
    #[error("there is no hook `{asked}`; declared hooks: {known}")]
    UnknownHook { asked: String, known: String },
    #[error("there is no {what} `{asked}`; expected one of: {known}")]
    UnknownName { what: &'static str, asked: String, known: String },
    #[error("{0}")]
    NotDone(String),
    #[error("only a person may do that, and this line comes from a process started by {0}; nothing was changed")]
    NeedsPerson(String),
    #[error(
        "the gate has not decided to revert entry `{0}`; nothing was changed. A person can run `tollgate trace revert {0}` in a terminal"
    )]
    NotPermitted(String),
    #[error(transparent)]
    NotReverted(#[from] crate::ledger::revert::RevertFault),
}

impl OperationFault {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::InvalidJson(_) | Self::NoObject(_) => "invalid_json",
            Self::MissingField { .. } => "missing_field",
            Self::InvalidField { .. } | Self::InvalidFields { .. } | Self::InvalidValue { .. } => "invalid_field",
            Self::UnknownOp(_) => "unknown_op",
            Self::Refused(refusal) => refusal.code(),
            Self::Workspace(_) => "workspace_fault",
            Self::UnknownHook { .. } => "unknown_hook",
            Self::UnknownName { .. } => "unknown_name",
            Self::NotDone(_) => "not_done",
            Self::NeedsPerson(_) | Self::NotPermitted(_) => "needs_person",
            Self::NotReverted(_) => "not_reverted",
        }
    }
}

/// Every op.
pub const OPS: &[&str] = &[
    "select-intent",
    "clear-intent",
    "inherit-intent",
    "list-intents",
    "list-sessions",
    "select-default",
    "allow-tool",
    "server-tools",
    "pre-tool",
    "post-tool",
    "grants",
    "wrap",
    "context",
    "find-workspace",
    "readable-files",
    "own-tools",
    "own-tool",
    "mcp",
    "plan-lookups",
    "augment",
    "concepts",
    "event",
    "hooks",
    "extensions",
    "skills",
    "step",
    "trace",
    "verify",
    "export",
    "map",
    "archive",
    "revert",
    "wiring",
    "person",
];

/// A field, what it must be, and the check for that.
type FieldRule = (&'static str, &'static str, fn(&Value) -> bool);

/// What every field must be, in every operation. `args` may be anything: the gate rules on it.
const FIELDS: &[FieldRule] = &[
    ("session", "a string", Value::is_string),
    ("agent", "a string", Value::is_string),
    ("call", "a string", Value::is_string),
    ("host", "a string", Value::is_string),
    ("tool", "a string", Value::is_string),
    ("cwd", "a string", Value::is_string),
    ("home", "a string", Value::is_string),
    ("intent", "a string", Value::is_string),
    ("parent", "a string", Value::is_string),
    ("event", "a string", Value::is_string),
    ("error", "a string", Value::is_string),
    ("success", "true or false", Value::is_boolean),
    ("data", "an object", Value::is_object),
    ("file", "a string", Value::is_string),
    ("since", "a string", Value::is_string),
    ("until", "a string", Value::is_string),
    ("limit", "a whole number", Value::is_u64),
    ("before", "a whole number", Value::is_u64),
    ("cursor", "a whole number", Value::is_u64),
    ("format", "a string", Value::is_string),
    ("expect", "a string", Value::is_string),
    ("more", "true or false", Value::is_boolean),
    ("restoring", "true or false", Value::is_boolean),
    ("step", "a string", Value::is_string),
    ("entry", "a string", Value::is_string),
    ("findings", "a list", Value::is_array),
    ("query", "a string", Value::is_string),
    ("do", "a string", Value::is_string),
    ("id", "a string", Value::is_string),
    ("key", "a string", Value::is_string),
    ("path", "a string", Value::is_string),
    ("text", "a string", Value::is_string),
    ("keyring", "true or false", Value::is_boolean),
    ("shared", "true or false", Value::is_boolean),
    ("own", "true or false", Value::is_boolean),
    ("take", "true or false", Value::is_boolean),
    ("digest", "a string", Value::is_string),
    ("hook", "an object", Value::is_object),
    ("output", "a string", Value::is_string),
    ("confiner", "a string", Value::is_string),
    ("shell", "a string", Value::is_string),
    ("why", "a string", Value::is_string),
    ("now_ms", "a whole number", Value::is_u64),
    ("inputs", "a list", Value::is_array),
    ("prompt", "a string", Value::is_string),
    ("if_new", "true or false", Value::is_boolean),
    ("again", "true or false", Value::is_boolean),
    ("pattern", "a string", Value::is_string),
    ("kind", "a string", Value::is_string),
    ("settings", "a string", Value::is_string),
    ("server", "a string", Value::is_string),
    ("tools", "a list", Value::is_array),
    ("above", "a list", Value::is_array),
    ("variables", "a list", Value::is_array),
    ("command", "a list", Value::is_array),
    ("changed", "a list", Value::is_array),
    ("user", "a string", Value::is_string),
    ("terminal", "true or false", Value::is_boolean),
    ("program", "an object", Value::is_object),
];

/// Answers one line. A line that cannot be understood is answered with `{"error":{"code","message"}}`.
pub fn perform(gate: &mut Gate, line: &[u8]) -> String {
    let answer = parse(line)
        .and_then(|(op, fields)| answer(gate, &op, fields))
        .unwrap_or_else(|fault| json!({"error": {"code": fault.code(), "message": fault.to_string()}}));
    answer.to_string()
}

fn parse(line: &[u8]) -> Result<(String, Map<String, Value>), OperationFault> {
    if line.len() > MAX_LINE_BYTES {
        return Err(OperationFault::TooLong);
    }
    let found = match serde_json::from_slice(line).map_err(OperationFault::InvalidJson)? {
        Value::Object(mut fields) => {
            return match fields.remove("op") {
                Some(Value::String(op)) => Ok((op, fields)),
                _ => Err(OperationFault::MissingField { whose: "every line".to_owned(), field: "op" }),
            };
        }
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(OperationFault::NoObject(found))
}

fn answer(gate: &mut Gate, op: &str, fields: Map<String, Value>) -> Result<Value, OperationFault> {
    if let Some(agent) = gate.agent_above.as_ref().filter(|_| person::is_persons(op, &fields)) {
        return Err(OperationFault::NeedsPerson(agent.clone()));
    }
    match op {
        "select-intent" => {
            let asked: SelectIntent = read(op, &["session", "intent"], fields)?;
            Ok(json!({"intent": summary(&gate.select(&asked.session, &asked.intent)?)}))
        }
        "clear-intent" => {
            let asked: InSession = read(op, &["session"], fields)?;
            gate.clear(&asked.session)?;
            Ok(json!({"intent": null}))
        }
        "inherit-intent" => {
            let asked: InheritIntent = read(op, &["session", "parent"], fields)?;
            gate.inherit(&asked.session, &asked.parent)?;
            Ok(json!({"intent": gate.current(&asked.session).as_ref().map(summary)}))
        }
        "pre-tool" => {
            let capability = confine::capability(op, &fields)?;
            let asks_hooks = asks_hooks(&fields);
            let asked: CallFields = read(op, &["session", "call", "tool"], fields)?;
            let call = asked.into();
            let found = gate.check_on(&call, capability);
            let answer = ruling(&found);
            let number = if asks_hooks { gate.ask_about_ruling(&call, &found, &answer) } else { None };
            Ok(pending_or(number, answer))
        }
        "post-tool" => {
            let success = matches!(fields.get("success"), Some(Value::Bool(true)));
            let error = fields.get("error").and_then(Value::as_str).unwrap_or(NO_REASON_GIVEN).to_owned();
            let output = fields.get("output").and_then(Value::as_str).map(str::to_owned);
            let asks_hooks = asks_hooks(&fields);
            let asked: CallFields = read(op, &["session", "call", "tool", "success"], fields)?;
            let outcome = if success { CallOutcome::Done } else { CallOutcome::Failed(error) };
            let call = asked.into();
            let settled = gate.settle_with(&call, &outcome, output.as_deref());
            let entries: Vec<Value> = settled.lines.iter().filter_map(|line| json::value(line).ok()).collect();
            let mut answer = json!({"entries": entries});
            if let Some(answer) = answer.as_object_mut() {
                if let Some(notice) = settled.notice {
                    answer.insert("notice".to_owned(), notice.into());
                }
                if !settled.restore.is_empty() {
                    answer.insert("restore".to_owned(), settled.restore.into());
                }
            }
            let number = if asks_hooks { gate.ask_about_settlement(&call, &outcome, output.as_deref(), &answer) } else { None };
            Ok(pending_or(number, answer))
        }
        "find-workspace" => workspace::answer(gate, op, &fields),
        "readable-files" => Ok(json!({"home": crate::home::readable().collect::<Vec<_>>()})),
        "context" => {
            let text = if let Some(Value::String(intent)) = fields.get("intent") {
                gate.context_of(intent, CONTEXT_CHARS)?
            } else {
                let is_set = |name: &str| fields.get(name) == Some(&Value::Bool(true));
                let (if_new, again) = (is_set("if_new"), is_set("again"));
                let asked: InSession = read(op, &["session"], fields)?;
                if if_new {
                    gate.context_if_new(&asked.session, CONTEXT_CHARS, again)
                } else {
                    gate.context(&asked.session, CONTEXT_CHARS)
                }
            };
            Ok(json!({"text": text}))
        }
        "step" => {
            check_fields(op, &["now_ms"], &fields)?;
            let inputs = fields.get("inputs").and_then(Value::as_array).into_iter().flatten();
            let inputs: Vec<Input> = inputs.map(Input::from_json).collect();
            let now_ms = fields.get("now_ms").and_then(Value::as_u64).unwrap_or_default();
            Ok(gate.step(now_ms, &inputs).to_json())
        }
        "augment" | "plan-lookups" | "concepts" => augment::answer(gate, op, fields),
        "grants" | "wrap" => confine::answer(gate, op, fields),
        "event" | "hooks" => hooks::answer(gate, op, fields),
        "extensions" => extensions::answer(gate, fields),
        "skills" => skills::answer(gate, fields),
        "mcp" => mcp::answer(gate, op, &fields),
        "wiring" => wiring::answer(gate, op, fields),
        "person" => person::answer(gate, fields),
        _ => match intents::answer(gate, op, &fields).or_else(|| own_tools::answer(gate, op, &fields)) {
            Some(answer) => answer,
            None => trace::answer(gate, op, fields).unwrap_or_else(|| Err(OperationFault::UnknownOp(op.to_owned()))),
        },
    }
}

/// Whether third-party hooks are asked about a call; not for a host that must run none.
fn asks_hooks(fields: &Map<String, Value>) -> bool {
    fields.get("hooks") != Some(&Value::Bool(false))
}

/// Reads the fields of an op.
fn read<T: DeserializeOwned>(op: &str, required: &[&'static str], fields: Map<String, Value>) -> Result<T, OperationFault> {
    check_fields(op, required, &fields)?;
    serde_json::from_value(Value::Object(fields)).map_err(|why| OperationFault::InvalidFields { op: op.to_owned(), why })
}

/// Checks the fields; the fault names the first required field that is missing or empty, or the first field of a wrong type.
fn check_fields(op: &str, required: &[&'static str], fields: &Map<String, Value>) -> Result<(), OperationFault> {
    let absent = |name: &&&str| match fields.get(**name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    if let Some(field) = required.iter().find(absent) {
        return Err(OperationFault::MissingField { whose: format!("`{op}`"), field });
    }
    for (field, expected, fits) in FIELDS {
        if fields.get(*field).is_some_and(|value| !value.is_null() && !fits(value)) {
            return Err(OperationFault::InvalidField { op: op.to_owned(), field, expected });
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct InSession {
    session: String,
}

#[derive(Deserialize)]
struct SelectIntent {
    session: String,
    intent: String,
}

#[derive(Deserialize)]
struct InheritIntent {
    session: String,
    parent: String,
}

#[derive(Deserialize)]
struct CallFields {
    session: String,
    agent: Option<String>,
    #[serde(default)]
    call: String,
    host: Option<String>,
    tool: String,
    #[serde(default)]
    args: Value,
    cwd: Option<String>,
}

impl From<CallFields> for ToolCall {
    fn from(call: CallFields) -> Self {
        let CallFields { session, agent, call, host, tool, args, cwd } = call;
        Self { session, agent, call, host, tool, server: None, args, cwd }
    }
}

/// The answer, or the number under which a later step returns it.
fn pending_or(number: Option<u64>, answer: Value) -> Value {
    number.map_or(answer, |number| json!({"waiting": number}))
}

fn summary(intent: &Intent) -> Value {
    json!({"id": intent.id, "name": intent.name, "status": intent.status})
}

fn ruling(ruling: &Ruling) -> Value {
    let effect = |effect: &Effect| json!({"path": effect.location.as_str(), "operation": effect.operation});
    let mut answer = json!({
        "verdict": ruling.verdict,
        "code": ruling.code.as_str(),
        "reason": ruling.reason,
        "effects": ruling.effects.iter().map(effect).collect::<Vec<_>>(),
        "pre_hash": ruling.effects.iter().find_map(|effect| effect.pre_hash),
    });
    if let (true, Some(answer)) = (ruling.confined, answer.as_object_mut()) {
        answer.insert("confined".to_owned(), true.into());
    }
    answer
}

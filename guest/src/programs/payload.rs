//! Reads a payload, using a program's names for its fields. Unknown fields are ignored.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::hook_protocol::find_event;
use super::{CallEnding, EventKind, ProgramEvent, ReportedCall};

/// The fault of a payload that is not an object.
pub(super) const NOT_AN_OBJECT: &str = "the payload is not a JSON object";

/// The reason of a failed tool that did not give one.
pub(crate) const NO_REASON_GIVEN: &str = "the tool gave no reason";

/// A program's names for the fields; if there are several, the first that is present counts.
pub(super) struct Spelling {
    pub(super) event: &'static [&'static str],
    pub(super) session: &'static [&'static str],
    pub(super) agent: &'static [&'static str],
    pub(super) parent: &'static [&'static str],
    pub(super) cwd: &'static [&'static str],
    pub(super) roots: &'static [&'static str],
    pub(super) tool: &'static [&'static str],
    pub(super) args: &'static [&'static str],
    pub(super) call: &'static [&'static str],
    /// The result of a tool, in whatever form.
    pub(super) result: &'static [&'static str],
    pub(super) prompt: &'static [&'static str],
    pub(super) response: &'static [&'static str],
    pub(super) source: &'static [&'static str],
    pub(super) reason: &'static [&'static str],
    /// Other fields that hooks get, all that are present, under the same names.
    pub(super) data: &'static [&'static str],
}

/// Claude Code's names for the fields, followed by those of other programs.
pub(super) const SNAKE: Spelling = Spelling {
    event: &["hook_event_name"],
    session: &["session_id", "conversation_id"],
    agent: &["agent_id"],
    parent: &["parent_session_id", "parent_conversation_id"],
    cwd: &["cwd"],
    roots: &["workspace_roots"],
    tool: &["tool_name"],
    args: &["tool_input"],
    call: &["tool_use_id"],
    result: &["tool_response"],
    prompt: &["prompt"],
    response: &["last_assistant_message"],
    source: &["source"],
    reason: &["reason"],
    data: &[],
};

/// Reads a payload. `ending` determines how a call ended from the event's name and the payload.
pub(super) fn read(
    spelling: &Spelling,
    events: &'static [(&'static str, EventKind)],
    mut payload: Value,
    named: Option<&str>,
    ending: fn(&str, &Map<String, Value>) -> CallEnding,
) -> ProgramEvent {
    let Some(fields) = payload.as_object_mut() else {
        return ProgramEvent { fault: Some(NOT_AN_OBJECT.to_owned()), ..ProgramEvent::default() };
    };
    let name = named.or_else(|| first_text(fields, spelling.event)).unwrap_or_default().to_owned();
    let text = |names| first_text(fields, names).map(str::to_owned);
    let mut event = ProgramEvent {
        session: text(spelling.session).unwrap_or_default(),
        agent: text(spelling.agent),
        parent: text(spelling.parent),
        cwd: text(spelling.cwd),
        roots: spelling.roots.iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect(),
        ..ProgramEvent::default()
    };
    match find_event(events, &name) {
        Some((name, kind)) => (event.name, event.kind) = (name, Some(kind)),
        // An unknown event concerns nobody; a payload without an event may be a call.
        None if name.is_empty() => event.fault = Some(missing_field_message(spelling.event)),
        None => return event,
    }
    if event.session.is_empty() {
        event.fault.get_or_insert_with(|| missing_field_message(spelling.session));
    }
    if matches!(event.kind, Some(EventKind::BeforeTool | EventKind::AfterTool)) {
        let ending = ending(event.name, fields);
        match call(spelling, fields, &event.session, ending) {
            Ok(call) => event.call = Some(call),
            Err(why) => drop(event.fault.get_or_insert(why)),
        }
    }
    read_event_fields(spelling, fields, &mut event);
    event
}

/// Reads what hooks get in addition to the call: each field only at its event, since programs use the same names for other
/// things.
fn read_event_fields(spelling: &Spelling, fields: &mut Map<String, Value>, event: &mut ProgramEvent) {
    let text = |names| first_text(fields, names).map(str::to_owned);
    match event.kind() {
        EventKind::SessionStart => event.source = text(spelling.source),
        EventKind::BeforeAgent => event.prompt = text(spelling.prompt),
        EventKind::AfterAgent => {
            (event.prompt, event.response, event.reason) =
                (text(spelling.prompt), text(spelling.response), text(spelling.reason));
        }
        EventKind::SessionEnd => event.reason = text(spelling.reason),
        _ => {}
    }
    let data: Map<String, Value> =
        spelling.data.iter().filter_map(|name| Some(((*name).to_owned(), fields.remove(*name)?))).collect();
    if !data.is_empty() {
        event.data = data.into();
    }
}

fn call(spelling: &Spelling, fields: &mut Map<String, Value>, session: &str, ending: CallEnding) -> Result<ReportedCall, String> {
    let tool = first_text(fields, spelling.tool).ok_or_else(|| missing_field_message(spelling.tool))?.to_owned();
    let id = first_text(fields, spelling.call).map(str::to_owned);
    let args = spelling.args.iter().find_map(|name| fields.remove(*name)).unwrap_or_default();
    let args = unpack_args(args);
    let id = id.unwrap_or_else(|| derived_id(session, &tool, &args));
    let result = spelling.result.iter().find_map(|name| fields.remove(*name)).filter(|result| !result.is_null());
    Ok(ReportedCall { id, other_id: None, tool, server: None, args, ending, result })
}

/// Parses arguments that a program sends as the text of a JSON object.
pub(super) fn unpack_args(args: Value) -> Value {
    match &args {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => args,
        },
        _ => args,
    }
}

/// An id for a call whose program gives it none: the same before and after the call, because it is derived from the call itself.
/// The tool's name is compared without case: a program that runs another program's hooks may spell it both ways.
pub(crate) fn derived_id(session: &str, tool: &str, args: &Value) -> String {
    let mut hash = Sha256::new();
    for word in [session, &tool.to_ascii_lowercase(), &canonical(args).to_string()] {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word);
    }
    let hex: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("call-{hex}")
}

/// The same value with the fields of every object sorted. The parser rejects values nested deeper than 128 levels.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(name, value)| (name.clone(), canonical(value))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        plain => plain.clone(),
    }
}

/// The first of several fields that contains a non-empty string.
pub(super) fn first_text<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str().filter(|text| !text.is_empty()))
}

/// The ending of a call that failed, with the tool's own message.
pub(super) fn failed_ending(error: Option<&Value>) -> CallEnding {
    let said = match error {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(error)) => first_text(error, &["message", "error"]).map(str::to_owned),
        _ => None,
    };
    CallEnding::Failed(said.unwrap_or_else(|| NO_REASON_GIVEN.to_owned()))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn missing_field_message(names: &[&str]) -> String {
    format!("the payload has no `{}`", names.first().unwrap_or(&"name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_is_made_from_the_call_itself() {
        let id = |session: &str, tool: &str, args: &Value| derived_id(session, tool, args);
        let args = json!({"b": [1, {"y": 2, "x": 3}], "a": "t"});
        let same = json!({"a": "t", "b": [1, {"x": 3, "y": 2}]});
        assert_eq!(id("s", "Bash", &args), id("s", "bash", &same));
        for (session, tool, other) in
            [("t", "bash", &args), ("s", "sh", &args), ("s", "bash", &json!({"a": "t"})), ("sb", "ash", &args)]
        {
            assert_ne!(id("s", "bash", &args), id(session, tool, other));
        }
    }
}

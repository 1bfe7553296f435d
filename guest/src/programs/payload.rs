//! Reads a payload by the names that a program gives its fields. Unknown fields are ignored.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::speech::find_moment;
use super::{CallEnding, EventKind, ProgramEvent, ReportedCall};

/// Why a payload of another kind cannot be understood.
pub(super) const NOT_AN_OBJECT: &str = "the payload is not a JSON object";

/// Why a tool failed that did not say it.
pub(crate) const UNSAID: &str = "the tool did not say";

/// What a program calls the fields; of several names the first that is there counts.
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
    /// What a tool said, in whatever form.
    pub(super) result: &'static [&'static str],
    pub(super) prompt: &'static [&'static str],
    pub(super) response: &'static [&'static str],
    pub(super) source: &'static [&'static str],
    pub(super) reason: &'static [&'static str],
    /// What else hooks are given, under these very names; all that are there.
    pub(super) data: &'static [&'static str],
}

/// What Claude Code calls them, and after it others.
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

/// Reads a payload. `ending` says how a call ended, by the event's name and the payload.
pub(super) fn read(
    spelling: &Spelling,
    moments: &'static [(&'static str, EventKind)],
    mut payload: Value,
    named: Option<&str>,
    ending: fn(&str, &Map<String, Value>) -> CallEnding,
) -> ProgramEvent {
    let Some(fields) = payload.as_object_mut() else {
        return ProgramEvent { fault: Some(NOT_AN_OBJECT.to_owned()), ..ProgramEvent::default() };
    };
    let name = named.or_else(|| first(fields, spelling.event)).unwrap_or_default().to_owned();
    let text = |names| first(fields, names).map(str::to_owned);
    let mut event = ProgramEvent {
        session: text(spelling.session).unwrap_or_default(),
        agent: text(spelling.agent),
        parent: text(spelling.parent),
        cwd: text(spelling.cwd),
        roots: spelling.roots.iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect(),
        ..ProgramEvent::default()
    };
    match find_moment(moments, &name) {
        Some((name, moment)) => (event.name, event.moment) = (name, Some(moment)),
        // An event that is not known is nothing to say; a payload that does not say what it is may be a call.
        None if name.is_empty() => event.fault = Some(missing(spelling.event)),
        None => return event,
    }
    if event.session.is_empty() {
        event.fault.get_or_insert_with(|| missing(spelling.session));
    }
    if matches!(event.moment, Some(EventKind::BeforeTool | EventKind::AfterTool)) {
        let ending = ending(event.name, fields);
        match call(spelling, fields, &event.session, ending) {
            Ok(call) => event.call = Some(call),
            Err(why) => drop(event.fault.get_or_insert(why)),
        }
    }
    tell_more(spelling, fields, &mut event);
    event
}

/// What hooks are given beside the call: each field where its moment is, since programs use the same names for other things.
fn tell_more(spelling: &Spelling, fields: &mut Map<String, Value>, event: &mut ProgramEvent) {
    let text = |names| first(fields, names).map(str::to_owned);
    match event.moment() {
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
    let tool = first(fields, spelling.tool).ok_or_else(|| missing(spelling.tool))?.to_owned();
    let id = first(fields, spelling.call).map(str::to_owned);
    let args = spelling.args.iter().find_map(|name| fields.remove(*name)).unwrap_or_default();
    let args = unpack_args(args);
    let id = id.unwrap_or_else(|| derived_id(session, &tool, &args));
    let result = spelling.result.iter().find_map(|name| fields.remove(*name)).filter(|result| !result.is_null());
    Ok(ReportedCall { id, other_id: None, tool, server: None, args, ending, result })
}

/// Arguments that a program sends as the text of a JSON object.
pub(super) fn unpack_args(args: Value) -> Value {
    match &args {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => args,
        },
        _ => args,
    }
}

/// An id for a call whose program gives it none: the same before and after, because it is made from the call itself. Case does
/// not count in the tool's name: a program that runs another's hooks may spell it both ways.
pub(crate) fn derived_id(session: &str, tool: &str, args: &Value) -> String {
    let mut hash = Sha256::new();
    for word in [session, &tool.to_ascii_lowercase(), &canonical(args).to_string()] {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word);
    }
    let hex: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("call-{hex}")
}

/// The same value with the names of every object in order. The parser refuses what is nested deeper than 128 levels.
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

/// The first of several fields that holds a text.
pub(super) fn first<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str().filter(|text| !text.is_empty()))
}

/// A tool that failed, in its own words.
pub(super) fn failed(error: Option<&Value>) -> CallEnding {
    let said = match error {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(error)) => first(error, &["message", "error"]).map(str::to_owned),
        _ => None,
    };
    CallEnding::Failed(said.unwrap_or_else(|| UNSAID.to_owned()))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn missing(names: &[&str]) -> String {
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

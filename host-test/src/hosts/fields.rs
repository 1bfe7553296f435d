//! Reading a payload by the names that a host gives its fields. Fields that nobody asks for are ignored.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tollgate::Outcome;

use super::{Call, Event, Moment};

/// What a host calls the fields; of several names the first that is there counts.
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
};

/// The moment of an event's name. Hosts that run another host's hooks do not always spell it as that host does.
pub(super) fn moment(moments: &'static [(&'static str, Moment)], name: &str) -> Option<(&'static str, Moment)> {
    let exact = moments.iter().find(|(known, _)| *known == name);
    exact.or_else(|| moments.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))).copied()
}

/// Reads a payload. `outcome` says how a call ended, by the event's name and the payload.
pub(super) fn read(
    spelling: &Spelling,
    moments: &'static [(&'static str, Moment)],
    mut payload: Value,
    named: Option<&str>,
    outcome: fn(&str, &Map<String, Value>) -> Outcome,
) -> Event {
    let Some(fields) = payload.as_object_mut() else {
        return Event { fault: Some("the payload is no JSON object".to_owned()), ..Event::default() };
    };
    let name = named.or_else(|| first(fields, spelling.event)).unwrap_or_default().to_owned();
    let text = |names| first(fields, names).map(str::to_owned);
    let mut event = Event {
        session: text(spelling.session).unwrap_or_default(),
        agent: text(spelling.agent),
        parent: text(spelling.parent),
        cwd: text(spelling.cwd),
        roots: spelling.roots.iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect(),
        ..Event::default()
    };
    match moment(moments, &name) {
        Some((name, moment)) => (event.name, event.moment) = (name, Some(moment)),
        // An event that is not known is nothing to say; a payload that does not say what it is may be a call.
        None if name.is_empty() => event.fault = Some(missing(spelling.event)),
        None => return event,
    }
    if event.session.is_empty() {
        event.fault.get_or_insert_with(|| missing(spelling.session));
    }
    if matches!(event.moment, Some(Moment::BeforeTool | Moment::AfterTool)) {
        let outcome = outcome(event.name, fields);
        match call(spelling, fields, &event.session, outcome) {
            Ok(call) => event.call = Some(call),
            Err(why) => drop(event.fault.get_or_insert(why)),
        }
    }
    event
}

fn call(spelling: &Spelling, fields: &mut Map<String, Value>, session: &str, outcome: Outcome) -> Result<Call, String> {
    let tool = first(fields, spelling.tool).ok_or_else(|| missing(spelling.tool))?.to_owned();
    let id = first(fields, spelling.call).map(str::to_owned);
    let args = spelling.args.iter().find_map(|name| fields.remove(*name)).unwrap_or_default();
    let args = unpacked(args);
    let id = id.unwrap_or_else(|| derived(session, &tool, &args));
    Ok(Call { id, tool, args, outcome })
}

/// Arguments that a host sends as the text of a JSON object.
pub(super) fn unpacked(args: Value) -> Value {
    match &args {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => args,
        },
        _ => args,
    }
}

/// An id for a call whose host gives it none: the same before and after, because it is made from the call itself. Case does
/// not count in the tool's name: a host that runs another's hooks may spell it both ways.
pub(super) fn derived(session: &str, tool: &str, args: &Value) -> String {
    let mut hash = Sha256::new();
    for word in [session, &tool.to_ascii_lowercase(), &canonical(args).to_string()] {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word);
    }
    let hex: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("call-{hex}")
}

/// The same value with the names of every object in order. The parser refuses what is nested deeper than 128 levels.
fn canonical(value: &Value) -> Value {
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

/// A tool that ran, where the host does not tell what came of it.
pub(super) fn done() -> Outcome {
    Outcome::Done(Vec::new())
}

/// A tool that failed, in its own words.
pub(super) fn failed(error: Option<&Value>) -> Outcome {
    let said = match error {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(error)) => first(error, &["message", "error"]).map(str::to_owned),
        _ => None,
    };
    Outcome::Failed(said.unwrap_or_else(|| "the tool did not say".to_owned()))
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
        let id = |session: &str, tool: &str, args: &Value| derived(session, tool, args);
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

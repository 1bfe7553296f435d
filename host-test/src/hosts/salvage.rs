//! What can be told of a payload that is no JSON: a host that was cut short still names its event at the beginning.

use super::{Event, Host, Moment, fields};

/// An event out of a payload that cannot be parsed. Where not even its name is there it counts as a call.
pub(crate) fn salvage(host: &dyn Host, payload: &[u8], named: Option<&str>, why: &serde_json::Error) -> Event {
    let text = String::from_utf8_lossy(payload);
    let find = |names: &[&str]| names.iter().find_map(|name| string_after(&text, name));
    let name = named.map(str::to_owned).or_else(|| find(&["hook_event_name", "hookEventName", "hook", "event"]));
    let moment = name.as_deref().map(|name| fields::moment(host.moments(), name));
    let (name, moment) = match moment {
        Some(Some((name, moment))) => (name, moment),
        Some(None) => ("", Moment::Other),
        None => (before_tool(host), Moment::BeforeTool),
    };
    let cwd = find(&["cwd", "directory"]);
    let fault = if why.is_eof() { "the payload is cut short" } else { "the payload is no JSON" };
    Event { name, moment: Some(moment), cwd, fault: Some(fault.to_owned()), ..Event::default() }
}

/// What the host calls the moment before a tool runs.
pub(crate) fn before_tool(host: &dyn Host) -> &'static str {
    host.moments().iter().find(|(_, moment)| *moment == Moment::BeforeTool).map_or("", |(name, _)| name)
}

/// The string that stands behind a field's name, as far as it can be read without a parser.
fn string_after(text: &str, name: &str) -> Option<String> {
    let (_, after) = text.split_once(&format!("\"{name}\""))?;
    let value = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (value, _) = value.split_once('"')?;
    (!value.contains('\\')).then(|| value.to_owned())
}

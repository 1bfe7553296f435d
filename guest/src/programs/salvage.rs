//! Reads what it can from a payload that is not valid JSON: a truncated payload still names its event at the beginning.

use super::{EventKind, HookProtocol, ProgramEvent};

/// Recovers an event from a payload that cannot be parsed. If not even its name is certain, it counts as a call.
pub fn recover_event(speech: &HookProtocol, payload: &[u8], named: Option<&str>, why: &serde_json::Error) -> ProgramEvent {
    let text = String::from_utf8_lossy(payload);
    // A payload that is broken elsewhere than at its end may be broken at its beginning too.
    let found = if why.is_eof() { top_level_texts(&text) } else { Vec::new() };
    let find = |names: &[&str]| names.iter().find_map(|name| unique_text(&found, name));
    let name = named.map(str::to_owned).or_else(|| find(&["hook_event_name", "hookEventName", "hook", "event"]));
    let kind = name.as_deref().map(|name| speech.event_of(name));
    let (name, kind) = match kind {
        Some(Some((name, kind))) => (name, kind),
        Some(None) => ("", EventKind::Other),
        None => (speech.name_of(EventKind::BeforeTool), EventKind::BeforeTool),
    };
    let cwd = find(&["cwd", "directory"]);
    let fault = if why.is_eof() { "the payload is truncated" } else { "the payload is not valid JSON" };
    ProgramEvent { name, kind: Some(kind), cwd, fault: Some(fault.to_owned()), ..ProgramEvent::default() }
}

/// The text of a field; `None` if the field appears twice, or if its text contains escapes.
fn unique_text(found: &[(&str, &str)], name: &str) -> Option<String> {
    let mut values = found.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value);
    let value = values.next().filter(|value| !value.contains('\\'))?;
    values.next().is_none().then(|| value.to_owned())
}

/// The string fields of the outermost object, up to where the payload ends. What is in a call's arguments does not count: an
/// agent writes them, and may write anything.
fn top_level_texts(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut depth, mut rest) = (Vec::new(), 0_usize, text);
    // The last string, and whether a colon follows it.
    let (mut key, mut is_named) = (None, false);
    while let Some((_, sign)) = rest.find(['"', '{', '[', '}', ']', ':', ',']).and_then(|at| rest.split_at_checked(at)) {
        let mut characters = sign.chars();
        match characters.next() {
            Some('"') => {
                let Some((value, behind)) = string(characters.as_str()) else { break };
                match key.filter(|_| depth == 1 && is_named) {
                    Some(key) => found.push((key, value)),
                    None => key = Some(value),
                }
                is_named = false;
                rest = behind;
                continue;
            }
            Some('{' | '[') => (depth, key, is_named) = (depth + 1, None, false),
            Some('}' | ']') => (depth, key, is_named) = (depth.saturating_sub(1), None, false),
            Some(':') => is_named = key.is_some(),
            _ => (key, is_named) = (None, false),
        }
        rest = characters.as_str();
    }
    found
}

/// A string up to its closing quote, and what follows it.
fn string(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_object_counts() {
        for (text, expected) in [
            (r#"{"event":"a","x":{"event":"b"},"y":"#, Some("a")),
            (r#"{"x":{"event":"b"},"y":["event","b"],"event":"a","z"#, Some("a")),
            (r#"{"x":{"event":"b","y":"#, None),
            (r#"{"x":"\",\"event\":\"b\"","y":"#, None),
            (r#"{"event":"a","event":"b","y":"#, None),
            (r#"{"event":"\u0061","y":"#, None),
            (r#"{"event":["a"],"y":"#, None),
            (r#"{"event":1,"a":"b","y":"#, None),
            (r#"{"event" : "a", "#, Some("a")),
            (r#"{"event":"a"#, None),
            (r#"["event","a""#, None),
            ("", None),
        ] {
            assert_eq!(unique_text(&top_level_texts(text), "event").as_deref(), expected, "{text}");
        }
    }
}

//! Inserts what is known into a call's arguments.

use serde_json::{Map, Value};

use super::block::append_as_comments;
use crate::tool_call::{TextReader, ToolCall};

/// Arguments that hold text, in the order in which they are tried.
const FIELDS: [&str; 7] = ["command", "content", "prompt", "query", "message", "text", "input"];

/// The arguments among them that a model reads, if a model reads the call. A query is read by a search engine, and a text may be
/// typed somewhere.
const FOR_MODELS: [&str; 4] = ["content", "prompt", "message", "input"];

/// Maximum length of a command with the text added: the kernel takes 128 KiB in one argument.
const MAX_COMMAND: usize = 96 << 10;

/// Adds the text to the arguments; `None` if that would change what the tool does.
pub(super) fn insert_text(call: &ToolCall, reader: TextReader, text: &str, source: &str, literal: bool) -> Option<Value> {
    let args = call.args.as_object()?;
    let holds = |field: &&str| args.get(*field).is_some_and(Value::is_string);
    let Some(field) = FIELDS.iter().find(|field| holds(field)) else {
        let property = format!("_{source}_context");
        return (reader.ignores_properties && !args.contains_key(&property))
            .then(|| with_field(args, &property, text.to_owned()));
    };
    let held = args.get(*field).and_then(Value::as_str).unwrap_or_default();
    let read = match *field {
        "command" if reader.is_shell => Some(append_as_comments(held, text)).filter(|command| command.len() < MAX_COMMAND)?,
        field if (reader.is_model && FOR_MODELS.contains(&field)) || (literal && field == "content") => {
            format!("{text}\n\n{held}")
        }
        _ => return None,
    };
    Some(with_field(args, field, read))
}

fn with_field(args: &Map<String, Value>, field: &str, text: String) -> Value {
    let mut args = args.clone();
    args.insert(field.to_owned(), text.into());
    Value::Object(args)
}

//! What is known about the concepts that a call names.

use std::path::Path;

use serde_json::Value;
use tollgate::{Lookups, Tollgate, ToolCall};

use crate::commands::say;

/// What is known.
pub(super) struct Known {
    /// The arguments with it in them, where the gate put it there.
    pub(super) args: Option<Value>,
    /// The same as a text for the model.
    pub(super) text: String,
}

/// What is known about a call; nothing where it names no concept, and where looking it up fails.
pub(super) fn about(gate: &mut Tollgate, call: &ToolCall, root: &Path) -> Option<Known> {
    // Most calls name none, and need not be carried to the gate to learn that.
    if !call.args.windows(2).any(|pair| pair == b"[[") {
        return None;
    }
    let augmented = match gate.augment_with(call, &Lookups::new(root)) {
        Ok(augmented) => augmented,
        Err(fault) => {
            say(&format!("warn: nothing is added to the call: {fault}"));
            return None;
        }
    };
    let (before, after): (Value, Value) =
        (serde_json::from_slice(&call.args).ok()?, serde_json::from_slice(&augmented.args).ok()?);
    if before == after {
        return augmented.additional_context.map(|text| Known { args: None, text });
    }
    let text = augmented.additional_context.or_else(|| added(&before, &after))?;
    Some(Known { args: Some(after), text })
}

/// What was put into the arguments: before or behind a text, or as an argument of its own.
fn added(before: &Value, after: &Value) -> Option<String> {
    let changed = |(name, now): (&String, &Value)| {
        let (now, was) = (now.as_str()?, before.get(name).and_then(Value::as_str).unwrap_or_default());
        let more = now.strip_suffix(was).or_else(|| now.strip_prefix(was))?;
        (!more.is_empty()).then(|| more.trim().to_owned())
    };
    after.as_object()?.iter().find_map(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_added_is_found() {
        let before = json!({"prompt": "do [[a]]", "n": 1});
        for (after, expected) in [
            (json!({"prompt": "known\n\ndo [[a]]", "n": 1}), Some("known")),
            (json!({"prompt": "do [[a]]\n# known", "n": 1}), Some("# known")),
            (json!({"prompt": "do [[a]]", "n": 1, "_notes_context": "known"}), Some("known")),
            (before.clone(), None),
        ] {
            assert_eq!(added(&before, &after).as_deref(), expected);
        }
    }
}

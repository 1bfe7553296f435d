//! A tool call translated to Claude Code's tool and argument names.

use serde_json::{Map, Value};

/// A call in Claude Code's terms.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaudeCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Map<String, Value>,
    /// Which key of `input` corresponds to which argument of the program; `None` if the call cannot be translated back.
    pub keys: Option<Vec<(String, String)>>,
}

/// Translates the calls of an event into Claude Code's terms: one for most events, one for each file of a patch. The text is the
/// folder that relative paths start from.
pub type Translate = fn(&Value, &str) -> Vec<ClaudeCall>;

/// Leaves every call as it is.
pub fn keep_untranslated(data: &Value, _base: &str) -> Vec<ClaudeCall> {
    let name = crate::json::text(data, "tool_name").unwrap_or_default().to_owned();
    let input = data.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
    let keys = input.keys().map(|key| (key.clone(), key.clone())).collect();
    vec![ClaudeCall { name, input, keys: Some(keys) }]
}

impl ClaudeCall {
    /// Adds an argument under Claude Code's name, with the program's own name for it.
    pub fn add_argument(&mut self, key: &str, own: &str, value: Value) {
        self.input.insert(key.to_owned(), value);
        if let Some(keys) = &mut self.keys {
            keys.retain(|(known, _)| known != key);
            keys.push((key.to_owned(), own.to_owned()));
        }
    }

    /// The program's own arguments with what a hook wants in them; `None` if they cannot be translated back.
    pub fn merge_wanted(&self, args: &Value, wanted: &Map<String, Value>) -> Option<Value> {
        let keys = self.keys.as_ref()?;
        let mut updated = args.as_object()?.clone();
        for (key, value) in wanted {
            if self.input.get(key) == Some(value) {
                continue;
            }
            let own = keys.iter().find(|(known, _)| known == key).map(|(_, own)| own)?;
            updated.insert(own.clone(), value.clone());
        }
        // Arguments that the hook leaves out are removed.
        for key in self.input.keys().filter(|key| !wanted.contains_key(*key)) {
            if let Some((_, own)) = keys.iter().find(|(known, _)| known == key) {
                updated.shift_remove(own);
            }
        }
        Some(Value::Object(updated))
    }
}

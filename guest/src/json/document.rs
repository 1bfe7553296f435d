//! Edits a settings file while keeping its comments.
//!
//! People write comments and trailing commas in their settings, and most programs accept them. Whatever is not changed stays as
//! it is, byte for byte.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The byte order mark that some editors write at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The longest settings file that is edited, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// Comments and trailing commas are allowed, and no other deviation from JSON: text that the programs themselves cannot read must
/// not be mistaken for settings.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Why a settings file cannot be read or edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFault {
    /// It is too long.
    #[error("it is longer than {} MiB", MAX_BYTES >> 20)]
    TooLong,
    /// It is not JSON, even with comments.
    #[error("it is not valid JSON: {0}")]
    Invalid(String),
    /// Something that should be an object is not one.
    #[error("{0} is not an object")]
    NotAnObject(String),
    /// Something that should be a list is not one.
    #[error("{0} is not a list")]
    NotAList(String),
    /// A name appears twice, and programs differ in which of the two they read.
    #[error("the key `{0}` appears twice; remove one")]
    Twice(String),
}

/// Reads JSON that may contain comments. An error is that of plain JSON: comments are tolerated, and messages do not suggest
/// them.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text).or_else(|fault| {
        let document = std::str::from_utf8(text).ok().and_then(|text| Document::parse(text).ok());
        document.and_then(|document| serde_json::from_str(&document.value().to_string()).ok()).ok_or(fault)
    })
}

/// A settings file.
pub struct Document {
    root: CstRootNode,
    has_mark: bool,
}

impl Document {
    /// Parses a file. An empty file, or one with only comments, has no settings yet.
    pub fn parse(text: &str) -> Result<Self, DocumentFault> {
        if text.len() > MAX_BYTES {
            return Err(DocumentFault::TooLong);
        }
        let bare = text.strip_prefix(BYTE_ORDER_MARK);
        let root = CstRootNode::parse(bare.unwrap_or(text), &OPTIONS).map_err(|why| DocumentFault::Invalid(why.to_string()))?;
        Ok(Self { root, has_mark: bare.is_some() })
    }

    /// The settings as a value; an empty object if there are none.
    pub fn value(&self) -> Value {
        match self.root.value() {
            Some(node) => node.to_serde_value().unwrap_or_default(),
            None => Value::Object(serde_json::Map::new()),
        }
    }

    /// The text of the file in its current state.
    pub fn text(&self) -> String {
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        format!("{mark}{}", self.root)
    }

    /// Sets `name` if it is missing, in an object that is created if necessary. An existing value stays.
    pub fn set(&self, object: Option<&str>, name: &str, value: &Value) -> Result<(), DocumentFault> {
        let holder = match object {
            Some(object) => child_object(&self.top()?, object, object)?,
            None => self.top()?,
        };
        if only(&holder, name)?.is_none() {
            holder.append(name, input(value));
        }
        Ok(())
    }

    /// Sets `object.name`, replacing an existing value; the object is created if it is missing.
    pub fn put(&self, object: &str, name: &str, value: &Value) -> Result<(), DocumentFault> {
        let holder = child_object(&self.top()?, object, object)?;
        match only(&holder, name)?.and_then(|_| holder.get(name)) {
            Some(property) => property.set_value(input(value)),
            None => drop(holder.append(name, input(value))),
        }
        Ok(())
    }

    /// Appends to the list `object.name`; the object and the list are created if they are missing.
    pub fn push(&self, object: &str, name: &str, item: &Value) -> Result<(), DocumentFault> {
        let holder = child_object(&self.top()?, object, object)?;
        let path = format!("{object}.{name}");
        match only(&holder, name)? {
            None => drop(holder.append(name, CstInputValue::Array(vec![input(item)]))),
            Some(node) => drop(list(&node, &path)?.append(input(item))),
        }
        Ok(())
    }

    /// Appends to the list `name`, which is created if it is missing.
    pub fn push_top(&self, name: &str, item: &Value) -> Result<(), DocumentFault> {
        let top = self.top()?;
        match only(&top, name)? {
            None => drop(top.append(name, CstInputValue::Array(vec![input(item)]))),
            Some(node) => drop(list(&node, name)?.append(input(item))),
        }
        Ok(())
    }

    /// Calls `take` with every item of every list in an object, and removes the items for which it returns true. Lists and
    /// objects that become empty are removed too, unless they contain comments.
    pub fn take_items(&self, object: &str, take: impl Fn(&CstNode) -> bool) {
        let Some(top) = self.root.object_value() else { return };
        let Some(holder) = top.object_value(object) else { return };
        let mut changed = false;
        for property in holder.properties() {
            let Some(items) = property.array_value() else { continue };
            let taken: Vec<CstNode> = items.elements().into_iter().filter(|item| take(item)).collect();
            if taken.is_empty() {
                continue;
            }
            changed = true;
            taken.into_iter().for_each(CstNode::remove);
            if items.elements().is_empty() && !has_comments(&items.children()) {
                property.remove();
            }
        }
        if changed && holder.properties().is_empty() && !has_comments(&holder.children()) {
            top.get(object).into_iter().for_each(|property| property.remove());
        }
    }

    /// Removes the members of an object for which `take` returns true, and the object if it becomes empty and contains no
    /// comments.
    pub fn take_members(&self, object: &str, take: impl Fn(&str, &Value) -> bool) {
        let Some(top) = self.root.object_value() else { return };
        let Some(holder) = top.object_value(object) else { return };
        let is_taken = |property: &CstObjectProp| {
            let value = property.value().and_then(|node| node.to_serde_value());
            value.is_some_and(|value| take(&property.decoded_name().unwrap_or_default(), &value))
        };
        let taken: Vec<_> = holder.properties().into_iter().filter(is_taken).collect();
        if taken.is_empty() {
            return;
        }
        taken.into_iter().for_each(|property| property.remove());
        if holder.properties().is_empty() && !has_comments(&holder.children()) {
            top.get(object).into_iter().for_each(|property| property.remove());
        }
    }

    /// Replaces a number, found at `object.name[item]` and then further down along `below`, by names and positions.
    pub fn set_number(&self, object: &str, name: &str, item: usize, below: &[&str], number: u64) {
        let place = || {
            let holder = self.root.object_value()?.object_value(object)?;
            let mut node = holder.array_value(name)?.elements().into_iter().nth(item)?;
            for step in below {
                node = match step.parse::<usize>() {
                    Ok(at) => node.as_array()?.elements().into_iter().nth(at)?,
                    Err(_) => node.as_object()?.get(step)?.value()?,
                };
            }
            node.as_number_lit()
        };
        if let Some(literal) = place() {
            literal.set_raw_value(number.to_string());
        }
    }

    fn top(&self) -> Result<CstObject, DocumentFault> {
        self.root.object_value_or_create().ok_or_else(|| DocumentFault::NotAnObject("it".to_owned()))
    }
}

/// The value of a name that must not occur twice.
fn only(object: &CstObject, name: &str) -> Result<Option<CstNode>, DocumentFault> {
    let mut found = object.properties().into_iter().filter(|property| property.decoded_name().as_deref() == Some(name));
    let first = found.next();
    match found.next() {
        Some(_) => Err(DocumentFault::Twice(name.to_owned())),
        None => Ok(first.and_then(|property| property.value())),
    }
}

fn child_object(holder: &CstObject, name: &str, path: &str) -> Result<CstObject, DocumentFault> {
    match only(holder, name)? {
        Some(node) => node.as_object().ok_or_else(|| DocumentFault::NotAnObject(format!("`{path}`"))),
        None => {
            let made = holder.append(name, CstInputValue::Object(Vec::new()));
            made.object_value().ok_or_else(|| DocumentFault::NotAnObject(format!("`{path}`")))
        }
    }
}

fn list(node: &CstNode, path: &str) -> Result<CstArray, DocumentFault> {
    node.as_array().ok_or_else(|| DocumentFault::NotAList(format!("`{path}`")))
}

fn has_comments(children: &[CstNode]) -> bool {
    children.iter().any(CstNode::is_comment)
}

/// Converts a value to the type that the editing crate takes.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The text with an entry in `hooks.Pre`, and the text after that entry was removed again.
    fn round(text: &str) -> (String, String) {
        let document = Document::parse(text).unwrap();
        document.push("hooks", "Pre", &json!({"command": "ours"})).unwrap();
        let with = document.text();
        let again = Document::parse(&with).unwrap();
        again.take_items("hooks", |item| item.to_serde_value() == Some(json!({"command": "ours"})));
        (with, again.text())
    }

    #[test]
    fn every_form_of_settings() {
        for (what, text, with, without) in [
            (
                "an empty file",
                "",
                "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"command\": \"ours\"\n      }\n    ]\n  }\n}\n",
                "{}\n",
            ),
            (
                "comments and a trailing comma",
                "// mine\n{\n  \"model\": \"opus\", // the best\n  /* a list */\n  \"list\": [1, 2,],\n}\n",
                "// mine\n{\n  \"model\": \"opus\", // the best\n  /* a list */\n  \"list\": [1, 2,],\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"command\": \"ours\"\n      }\n    ]\n  },\n}\n",
                "// mine\n{\n  \"model\": \"opus\", // the best\n  /* a list */\n  \"list\": [1, 2,],\n}\n",
            ),
            (
                "a mark, carriage returns, tabs",
                "\u{feff}{\r\n\t\"a\": 1\r\n}\r\n",
                "\u{feff}{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t\t\"Pre\": [\r\n\t\t\t{\r\n\t\t\t\t\"command\": \"ours\"\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n",
                "\u{feff}{\r\n\t\"a\": 1\r\n}\r\n",
            ),
            (
                "foreign hooks beside ours",
                "{\n    \"hooks\": {\n        // checks\n        \"Pre\": [\n            {\"command\": \"./mine.sh\"} // mine\n        ]\n    }\n}",
                "{\n    \"hooks\": {\n        // checks\n        \"Pre\": [\n            {\"command\": \"./mine.sh\"}, // mine\n            {\n                \"command\": \"ours\"\n            }\n        ]\n    }\n}",
                "{\n    \"hooks\": {\n        // checks\n        \"Pre\": [\n            {\"command\": \"./mine.sh\"} // mine\n        ]\n    }\n}",
            ),
        ] {
            let (now, again) = round(text);
            assert_eq!(now, with, "{what}");
            assert_eq!(again, without, "{what}");
        }
    }

    /// Text on one line stays valid, whatever its layout.
    #[test]
    fn what_is_there_keeps_its_meaning() {
        for text in
            ["{}", "{ }", "{\"a\":1}", "{\"hooks\":{}}", "{\"hooks\":{\"Pre\":[]}}", "{\"hooks\":{\"Pre\":[{\"x\":[1,2]}]}}"]
        {
            let before = Document::parse(text).unwrap().value();
            let (with, without) = round(text);
            let mut now = Document::parse(&with).unwrap().value();
            assert_eq!(serde_json::from_str::<Value>(&with).unwrap(), now, "{text}");
            let ours = now["hooks"]["Pre"].as_array_mut().unwrap().pop().unwrap();
            assert_eq!(ours, json!({"command": "ours"}), "{text}");
            if before["hooks"]["Pre"].as_array().is_some_and(|list| !list.is_empty()) {
                assert_eq!((&now, &Document::parse(&without).unwrap().value()), (&before, &before), "{text}");
            }
        }
    }

    #[test]
    fn what_cannot_be_edited_is_said() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let long = format!("\"{}\"", "x".repeat(MAX_BYTES));
        for (text, said) in [
            ("[]", "it is not an object"),
            ("\"x\"", "it is not an object"),
            ("{", "it is not valid JSON"),
            ("{} {}", "it is not valid JSON"),
            ("{hooks: {}}", "it is not valid JSON"),
            ("{'hooks': {}}", "it is not valid JSON"),
            ("{\"hooks\": []}", "`hooks` is not an object"),
            ("{\"hooks\": null}", "`hooks` is not an object"),
            ("{\"hooks\": {\"Pre\": \"x\"}}", "`hooks.Pre` is not a list"),
            ("{\"hooks\": {}, \"hooks\": {}}", "the key `hooks` appears twice"),
            ("{\"hooks\": {}, \"h\\u006foks\": {}}", "the key `hooks` appears twice"),
            (deep.as_str(), "it is not valid JSON"),
            (long.as_str(), "longer than 4 MiB"),
        ] {
            let edited = Document::parse(text).and_then(|document| document.push("hooks", "Pre", &json!({})));
            let why = edited.unwrap_err().to_string();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn members_are_set_once_and_taken_alone() {
        let document = Document::parse("{\"servers\": {\"a\": 1}}").unwrap();
        document.set(Some("servers"), "b", &json!(2)).unwrap();
        document.set(Some("servers"), "b", &json!(3)).unwrap();
        document.set(None, "version", &json!(1)).unwrap();
        assert_eq!(document.value(), json!({"servers": {"a": 1, "b": 2}, "version": 1}));
        document.take_members("servers", |name, value| name == "b" && *value == json!(2));
        assert_eq!(document.value(), json!({"servers": {"a": 1}, "version": 1}));
        document.take_members("servers", |_, value| *value == json!(1));
        assert_eq!(document.value(), json!({"version": 1}));
    }

    #[test]
    fn a_number_is_replaced_in_place() {
        let text = "{\"hooks\": {\"End\": [{}, {\"hooks\": [{\"timeout\": 30 /* s */}]}]}}";
        let document = Document::parse(text).unwrap();
        document.set_number("hooks", "End", 1, &["hooks", "0", "timeout"], 3);
        document.set_number("hooks", "End", 0, &["hooks", "0", "timeout"], 3);
        assert_eq!(document.text(), text.replace("30", "3"));
    }
}

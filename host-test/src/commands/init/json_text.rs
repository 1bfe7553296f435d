//! Changing a JSON text in one place and leaving every other byte as it is: its order, its numbers, its blanks.

use std::ops::Range;

use serde_json::Value;

/// A value in a text, by where it stands.
#[derive(Debug)]
struct Node {
    at: Range<usize>,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    /// Members: the name, where the member begins, the value.
    Object(Vec<(String, usize, Node)>),
    Array(Vec<Node>),
    Plain,
}

impl Node {
    fn member(&self, name: &str) -> Option<&Node> {
        match &self.inner {
            // Of two with one name the last counts, as for every parser.
            Inner::Object(members) => members.iter().rfind(|(known, ..)| known == name).map(|(.., node)| node),
            _ => None,
        }
    }

    /// Where each of its parts begins and ends.
    fn parts(&self) -> Vec<Range<usize>> {
        match &self.inner {
            Inner::Object(members) => members.iter().map(|(_, from, node)| *from..node.at.end).collect(),
            Inner::Array(items) => items.iter().map(|item| item.at.clone()).collect(),
            Inner::Plain => Vec::new(),
        }
    }
}

/// Sets a member of the object at a path, unless it is there. Objects on the way are made.
pub(in crate::commands) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let Some((name, way)) = path.split_last() else { return Err("no member is named".to_owned()) };
    let root = parse(text)?;
    let mut node = &root;
    for (depth, step) in way.iter().enumerate() {
        match node.member(step) {
            Some(next) => node = next,
            None => {
                let rest = path.get(depth + 1..).unwrap_or_default();
                let nested = rest.iter().rev().fold(value.clone(), |inner, name| Value::from_iter([(*name, inner)]));
                return with_part(text, node, Some(step), &nested);
            }
        }
    }
    if node.member(name).is_some() { Ok(text.to_owned()) } else { with_part(text, node, Some(name), value) }
}

/// Adds an item to the end of the list at a path. The list, and objects on the way, are made.
pub(in crate::commands) fn push(text: &str, path: &[&str], item: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let found = path.iter().try_fold(&root, |node, name| node.member(name));
    match found {
        Some(list @ Node { inner: Inner::Array(_), .. }) => with_part(text, list, None, item),
        Some(_) => Err(format!("`{}` is no list", path.join("."))),
        None => set(text, path, &Value::from(vec![item.clone()])),
    }
}

/// Takes away the items of lists in the object at a path that are meant, and lists and objects that are empty then.
pub(in crate::commands) fn take(text: &str, path: &[&str], is_meant: impl Fn(&Value) -> bool) -> Result<String, String> {
    let mut text = text.to_owned();
    loop {
        let root = parse(&text)?;
        let Some(node) = path.iter().try_fold(&root, |node, name| node.member(name)) else { return Ok(text) };
        let Inner::Object(members) = &node.inner else { return Ok(text) };
        let value = |node: &Node| text.get(node.at.clone()).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let found = members.iter().enumerate().find_map(|(at, (_, _, list))| match &list.inner {
            Inner::Array(items) => {
                let item = items.iter().position(|item| value(item).is_some_and(|value| is_meant(&value)))?;
                Some(if items.len() == 1 { (node, at) } else { (list, item) })
            }
            _ => value(list).is_some_and(|value| is_meant(&value)).then_some((node, at)),
        });
        let Some((holder, at)) = found else { return Ok(text) };
        // The last one goes with what holds it.
        text = if std::ptr::eq(holder, node) && members.len() == 1 {
            match path.split_last() {
                Some((name, [])) => without_member(&text, &root, name),
                _ => without(&text, holder, at),
            }
        } else {
            without(&text, holder, at)
        };
    }
}

fn without_member(text: &str, root: &Node, name: &str) -> String {
    let Inner::Object(members) = &root.inner else { return text.to_owned() };
    members.iter().rposition(|(known, ..)| known == name).map_or_else(|| text.to_owned(), |at| without(text, root, at))
}

/// The text without a part of a node.
fn without(text: &str, node: &Node, at: usize) -> String {
    let parts = node.parts();
    let part = |at: usize| parts.get(at).cloned();
    let Some(this) = part(at) else { return text.to_owned() };
    let cut = match (at.checked_sub(1).and_then(part), part(at + 1)) {
        (Some(before), _) => before.end..this.end,
        (None, Some(next)) => this.start..next.start,
        (None, None) => node.at.start + 1..node.at.end - 1,
    };
    splice(text, cut, "")
}

/// The text with one more part at the end of a node.
fn with_part(text: &str, node: &Node, name: Option<&str>, value: &Value) -> Result<String, String> {
    if matches!(node.inner, Inner::Plain) || name.is_some() != matches!(node.inner, Inner::Object(_)) {
        return Err(match name {
            Some(name) => format!("there is no place for `{name}`: what should hold it is no object"),
            None => "what should hold the item is no list".to_owned(),
        });
    }
    let unit = unit(text);
    let parts = node.parts();
    let inside = text.get(node.at.clone()).unwrap_or_default();
    let named =
        |value: String, gap: &str| name.map_or_else(|| value.clone(), |name| format!("{}:{gap}{value}", Value::from(name)));
    match parts.last() {
        // Everything on one line stays on one line.
        Some(last) if !inside.contains('\n') => {
            Ok(splice(text, last.end..last.end, &format!(", {}", named(value.to_string(), " "))))
        }
        Some(last) => {
            let indent = indent_at(text, last.start);
            let part = named(pretty(value, &unit, &indent), " ");
            Ok(splice(text, last.end..last.end, &format!(",\n{indent}{part}")))
        }
        None => {
            let outer = indent_at(text, node.at.start);
            let indent = format!("{outer}{unit}");
            let part = named(pretty(value, &unit, &indent), " ");
            Ok(splice(text, node.at.start + 1..node.at.end - 1, &format!("\n{indent}{part}\n{outer}")))
        }
    }
}

/// The blanks at the beginning of the line that a place is on.
fn indent_at(text: &str, at: usize) -> String {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// What the text indents with.
fn unit(text: &str) -> String {
    let blanks = |line: &str| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect::<String>();
    text.lines().map(blanks).find(|blanks| !blanks.is_empty()).unwrap_or_else(|| "  ".to_owned())
}

/// A value over several lines. The formatter indents with two blanks; no line break stands within a string.
fn pretty(value: &Value, unit: &str, indent: &str) -> String {
    let lines = format!("{value:#}");
    let line = |line: &str| {
        let inner = line.trim_start_matches(' ');
        format!("{}{inner}", unit.repeat((line.len() - inner.len()) / 2))
    };
    lines.lines().map(line).collect::<Vec<_>>().join(&format!("\n{indent}"))
}

fn splice(text: &str, at: Range<usize>, with: &str) -> String {
    let (before, after) = (text.get(..at.start).unwrap_or_default(), text.get(at.end..).unwrap_or_default());
    format!("{before}{with}{after}")
}

/// Finds where everything stands. A parser has read the text before, so it is JSON and not nested too deep.
fn parse(text: &str) -> Result<Node, String> {
    serde_json::from_str::<Value>(text).map_err(|why| why.to_string())?;
    let mut reader = Reader { bytes: text.as_bytes(), text, at: 0 };
    Ok(reader.value())
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> u8 {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied().unwrap_or_default()
    }

    /// Goes on behind a sign, if it is the next.
    fn takes(&mut self, sign: u8) -> bool {
        let takes = self.peek() == sign;
        self.at += usize::from(takes);
        takes
    }

    fn value(&mut self) -> Node {
        let first = self.peek();
        let start = self.at;
        let inner = match first {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while self.peek() == b'"' {
                    let from = self.at;
                    let name = self.string();
                    self.takes(b':');
                    members.push((name, from, self.value()));
                    self.takes(b',');
                }
                self.takes(b'}');
                Inner::Object(members)
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !matches!(self.peek(), b']' | 0) {
                    items.push(self.value());
                    self.takes(b',');
                }
                self.takes(b']');
                Inner::Array(items)
            }
            b'"' => {
                self.string();
                Inner::Plain
            }
            _ => {
                while self.bytes.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)) {
                    self.at += 1;
                }
                Inner::Plain
            }
        };
        Node { at: start..self.at, inner }
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                _ => 1,
            };
            if *byte == b'"' {
                break;
            }
        }
        self.text.get(start..self.at).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OURS: &str = "ours";

    fn added(text: &str) -> String {
        push(text, &["hooks", "Pre"], &json!({"c": OURS})).unwrap()
    }

    fn taken(text: &str) -> String {
        take(text, &["hooks"], |value| value.get("c") == Some(&json!(OURS))).unwrap()
    }

    #[test]
    fn one_place_changes_and_no_other_byte() {
        for (before, after) in [
            ("{}", "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"c\": \"ours\"\n      }\n    ]\n  }\n}"),
            ("{\"a\": 1e3}\n", "{\"a\": 1e3, \"hooks\": {\"Pre\":[{\"c\":\"ours\"}]}}\n"),
            (
                "{\n\t\"z\": 1.10,\n\t\"a\": [1,2]\n}\n",
                "{\n\t\"z\": 1.10,\n\t\"a\": [1,2],\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\n\t\t\t\t\"c\": \"ours\"\n\t\t\t}\n\t\t]\n\t}\n}\n",
            ),
            (
                "{\n  \"hooks\": {\n    \"Pre\": [\n      { \"c\": \"}],\\\"\" }\n    ]\n  },\n  \"n\": 123456789012345678901234567890\n}",
                "{\n  \"hooks\": {\n    \"Pre\": [\n      { \"c\": \"}],\\\"\" },\n      {\n        \"c\": \"ours\"\n      }\n    ]\n  },\n  \"n\": 123456789012345678901234567890\n}",
            ),
            ("{\"hooks\": {\"Pre\": []}}", "{\"hooks\": {\"Pre\": [\n  {\n    \"c\": \"ours\"\n  }\n]}}"),
        ] {
            let got = added(before);
            assert_eq!(got, after);
            serde_json::from_str::<Value>(&got).unwrap();
        }
    }

    #[test]
    fn what_was_added_can_be_taken_away() {
        for before in [
            "{\"a\": 1}",
            "{\n  \"a\": 1\n}\n",
            "{\n  \"hooks\": {\n    \"Pre\": [\n      {\"c\": 1}\n    ]\n  }\n}",
            "{\n  \"hooks\": {\n    \"Other\": [1]\n  },\n  \"b\": {}\n}",
        ] {
            assert_eq!(taken(&added(before)), before);
        }
        // In the middle, and beside others.
        assert_eq!(
            taken(r#"{"hooks": {"Pre": [{"c": "ours"}, {"c": 2}], "Post": [{"c": "ours"}]}}"#),
            r#"{"hooks": {"Pre": [{"c": 2}]}}"#
        );
        assert_eq!(taken(r#"{"hooks": {"Pre": [{"c": "ours"}]}, "a": 1}"#), r#"{"a": 1}"#);
        assert_eq!(taken(r#"{"x": 1}"#), r#"{"x": 1}"#);
    }

    #[test]
    fn what_stands_in_the_way_is_not_overwritten() {
        for text in [r#"{"hooks": []}"#, r#"{"hooks": {"Pre": {}}}"#, r#"{"hooks": "no"}"#, "[1]", "// comment\n{}"] {
            assert!(push(text, &["hooks", "Pre"], &json!(1)).is_err(), "{text}");
        }
        assert_eq!(set(r#"{"a": {"b": 1}}"#, &["a", "b"], &json!(2)).unwrap(), r#"{"a": {"b": 1}}"#);
        assert_eq!(set(r#"{"a": {"b": 1}}"#, &["a", "c"], &json!(2)).unwrap(), r#"{"a": {"b": 1, "c": 2}}"#);
    }
}

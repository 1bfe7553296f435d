//! Finds the line and column of a value in a JSON text.

/// Finds the line and column, from 1, of the value at a path of keys and positions; if the path cannot be followed to its end, of
/// the last value that it reaches. The text must be JSON.
pub fn place(text: &str, path: &[PathStep]) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut at = skip_blanks(bytes, 0);
    for step in path {
        match member(text, at, step) {
            Some(found) => at = found,
            None => break,
        }
    }
    line_and_column(text, at)
}

/// Finds the first member whose object has another member of the same name, and returns its path. The text must be JSON.
pub fn find_duplicate_key(text: &str) -> Option<Vec<PathStep>> {
    let mut path = Vec::new();
    let whole = find_duplicate_in(text, skip_blanks(text.as_bytes(), 0), &mut path);
    (whole.is_none() && !path.is_empty()).then_some(path)
}

/// Where a value ends; `None` if a name in it appears twice, and then `path` leads to it.
fn find_duplicate_in(text: &str, from: usize, path: &mut Vec<PathStep>) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_object = match bytes.get(from) {
        Some(b'{') => true,
        Some(b'[') => false,
        _ => return value_end(bytes, from),
    };
    let (mut at, mut passed) = (skip_blanks(bytes, from + 1), 0);
    let mut names = std::collections::HashSet::new();
    while !matches!(bytes.get(at)?, b'}' | b']') {
        let mut is_new = true;
        if is_object {
            let end = value_end(bytes, at)?;
            let name: String = serde_json::from_str(text.get(at..end)?).ok()?;
            at = skip_blanks(bytes, skip_blanks(bytes, end) + 1);
            is_new = names.insert(name.clone());
            path.push(PathStep::Key(name));
        } else {
            path.push(PathStep::At(passed));
        }
        let end = if is_new { find_duplicate_in(text, at, path)? } else { return None };
        path.pop();
        at = skip_blanks(bytes, end);
        if bytes.get(at)? == &b',' {
            at = skip_blanks(bytes, at + 1);
        }
        passed += 1;
    }
    Some(at + 1)
}

/// One step on a path into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// A member of an object.
    Key(String),
    /// An item of a list.
    At(usize),
}

impl std::fmt::Display for PathStep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => write!(out, ".{key}"),
            Self::At(at) => write!(out, "[{at}]"),
        }
    }
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
    from + bytes.get(from..).unwrap_or_default().iter().take_while(is_blank).count()
}

/// Where the value of a member or an item begins.
fn member(text: &str, object: usize, step: &PathStep) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_object = matches!(step, PathStep::Key(_));
    if bytes.get(object)? != if is_object { &b'{' } else { &b'[' } {
        return None;
    }
    let mut at = skip_blanks(bytes, object + 1);
    let mut passed = 0;
    while !matches!(bytes.get(at)?, b'}' | b']') {
        let wanted = match step {
            PathStep::At(wanted) => *wanted == passed,
            PathStep::Key(wanted) => {
                let end = value_end(bytes, at)?;
                let key: Option<String> = serde_json::from_str(text.get(at..end)?).ok();
                at = skip_blanks(bytes, skip_blanks(bytes, end) + 1);
                key.as_ref() == Some(wanted)
            }
        };
        if wanted {
            return Some(at);
        }
        passed += 1;
        at = skip_blanks(bytes, value_end(bytes, at)?);
        if bytes.get(at)? == &b',' {
            at = skip_blanks(bytes, at + 1);
        }
    }
    None
}

/// Where the value that begins at `from` ends.
fn value_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth, mut quoted) = (from, 0usize, false);
    loop {
        match (*bytes.get(at)?, quoted) {
            (b'\\', true) => at += 1,
            (b'"', _) => {
                quoted = !quoted;
                if !quoted && depth == 0 {
                    return Some(at + 1);
                }
            }
            (_, true) => {}
            (b'{' | b'[', false) => depth += 1,
            (b'}' | b']', false) => {
                // A bracket ends the number before it.
                if depth <= 1 {
                    return Some(at + depth);
                }
                depth -= 1;
            }
            (b',', false) if depth == 0 => return Some(at),
            (byte, false) if depth == 0 && byte.is_ascii_whitespace() => return Some(at),
            _ => {}
        }
        at += 1;
        if at == bytes.len() && depth == 0 && !quoted {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_there_twice() {
        for (text, expected) in [
            ("{}", None),
            (r#"{"a": 1, "b": {"a": [1, {"c": 2}]}, "c": "a"}"#, None),
            (r#"{"a": 1, "a": 2}"#, Some(".a")),
            (r#"{"x": [ {"a": {}, "\u0061" : 2} ]}"#, Some(".x[0].a")),
            (r#"[1, "a", [], {"a": "{\"a\"", "b": 1,"b":2}]"#, Some("[3].b")),
        ] {
            let found = find_duplicate_key(text).map(|path| path.iter().map(PathStep::to_string).collect::<String>());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn places() {
        let text = "{\n  \"a\": [1, {\"b\\\"]\": \"x,]\"},\n    -2.5],\n  \"c\": {\"d\": true}\n}";
        let key = |key: &str| PathStep::Key(key.to_owned());
        for (path, expected) in [
            (vec![], (1, 1)),
            (vec![key("a")], (2, 8)),
            (vec![key("a"), PathStep::At(0)], (2, 9)),
            (vec![key("a"), PathStep::At(1), key("b\"]")], (2, 21)),
            (vec![key("a"), PathStep::At(2)], (3, 5)),
            (vec![key("a"), PathStep::At(3)], (2, 8)),
            (vec![key("c"), key("d")], (4, 14)),
            (vec![key("c"), key("e")], (4, 8)),
            (vec![key("c"), PathStep::At(0)], (4, 8)),
        ] {
            assert_eq!(place(text, &path), expected, "{path:?}");
        }
        assert_eq!(place("", &[key("a")]), (1, 1));
        assert_eq!(place("{\"a\"", &[key("a")]), (1, 5));
    }
}

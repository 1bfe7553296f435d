//! Names and paths that an extension may use.

use serde_json::{Map, Value};

pub use crate::config::extensions::is_name;
use crate::hooks::claude::settings::EXTENSION_PATH;

/// The placeholder for the workspace's folder in a manifest.
pub const WORKSPACE_PATH: &str = "${workspacePath}";

/// Whether a text can be the name of a variable.
pub fn is_variable(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= 128 && !name.starts_with(|first: char| first.is_ascii_digit()) && name.bytes().all(fits)
}

/// Checks that a path is inside the extension; the error says why not.
pub fn check_inside(path: &str) -> Result<(), String> {
    let bare = path.strip_prefix("./").unwrap_or(path);
    let is_plain = !bare.is_empty() && bare.split('/').all(|name| !matches!(name, "" | "." | ".."));
    if is_plain && !is_absolute(bare) && !bare.contains(['\\', '\0']) && !bare.contains(char::is_control) {
        return Ok(());
    }
    Err(outside_message(path))
}

/// Whether a word is a path that leaves the extension: one that contains `..`, wherever it begins.
pub fn leaves_extension(word: &str) -> bool {
    let is_path = word.contains('/') || word == "..";
    is_path && !word.contains("://") && word.split(['/', '\\', '=']).any(|name| name == "..")
}

/// The message about such a path.
pub fn outside_message(path: &str) -> String {
    let shown: String = path.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    format!("names `{shown}`, which is not a path inside the extension; leave out `..` and begin at the extension's own folder")
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.get(1..2) == Some(":")
}

/// Fills in the extension's and the workspace's folders for their placeholders in a value.
pub fn fill_placeholders(value: &Value, extension: &str, workspace: &str) -> Value {
    match value {
        Value::String(text) => text.replace(EXTENSION_PATH, extension).replace(WORKSPACE_PATH, workspace).into(),
        Value::Array(items) => items.iter().map(|item| fill_placeholders(item, extension, workspace)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), fill_placeholders(value, extension, workspace)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        for (name, fits) in
            [("a", true), ("a.b-c_1", true), ("", false), ("-a", false), ("a b", false), ("a\u{1b}", false), ("a/b", false)]
        {
            assert_eq!(is_name(name), fits, "{name:?}");
        }
        assert!(!is_name(&"a".repeat(65)));
        for (name, fits) in [("A_1", true), ("1A", false), ("A=B", false), ("", false), ("A\n", false), ("A-B", false)] {
            assert_eq!(is_variable(name), fits, "{name:?}");
        }
        for (path, fits) in [
            ("a/b.sh", true),
            ("./a", true),
            ("../a", false),
            ("a/../b", false),
            ("/a", false),
            ("~/a", false),
            ("c:/a", false),
            ("a\\..\\b", false),
            ("a//b", false),
            ("", false),
            ("a\0", false),
        ] {
            assert_eq!(check_inside(path).is_ok(), fits, "{path:?}");
        }
        for (word, out) in
            [("../x", true), ("--file=../x", true), ("a/../../x", true), ("..", true), ("a..b", false), ("https://h/../x", false)]
        {
            assert_eq!(leaves_extension(word), out, "{word}");
        }
    }
}

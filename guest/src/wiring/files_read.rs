//! The contents of the files that a host was asked to read.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// What a host saw.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// The content of files by path, including the files in folders that were to be listed.
    files: BTreeMap<String, Value>,
    /// The targets of those files that are links.
    links: BTreeMap<String, String>,
    /// Those of the requested paths that exist.
    signs: BTreeSet<String>,
    /// Those of the requested commands that are on the search path.
    on_path: BTreeSet<String>,
}

/// The content of a file as the host saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenContent<'a> {
    /// The file does not exist.
    Missing,
    /// The content.
    Text(&'a str),
    /// The file exists and cannot be read or written, for this reason.
    Fault(&'a str),
}

impl Seen {
    /// The same with `/` as the separator in paths.
    pub fn normalized(mut self, windows: bool) -> Self {
        if windows {
            let slashed = |text: String| text.replace('\\', "/");
            self.files = self.files.into_iter().map(|(path, content)| (slashed(path), content)).collect();
            self.links = self.links.into_iter().map(|(path, to)| (slashed(path), slashed(to))).collect();
            self.signs = self.signs.into_iter().map(slashed).collect();
        }
        self
    }

    /// The content of a file. A file that was not requested counts as missing.
    pub fn file(&self, path: &str) -> SeenContent<'_> {
        self.files.get(path).map_or(SeenContent::Missing, content)
    }

    /// The files in a folder that have one of these endings, sorted by name.
    pub fn files_in<'a>(&'a self, folder: &str, endings: &[&str]) -> Vec<(&'a str, SeenContent<'a>)> {
        let is_in = |path: &str| path.rsplit_once('/').is_some_and(|(above, _)| above == folder);
        let files = self.files.iter().filter(|(path, _)| is_in(path) && endings.iter().any(|ending| path.ends_with(ending)));
        files.map(|(path, seen)| (path.as_str(), content(seen))).collect()
    }

    /// The path that a file's link leads to, or the path itself.
    pub fn real<'a>(&'a self, path: &'a str) -> &'a str {
        self.links.get(path).map_or(path, String::as_str)
    }

    /// Whether a path exists.
    pub fn exists(&self, path: &str) -> bool {
        self.signs.contains(path)
    }

    /// Whether a command is on the search path.
    pub fn is_on_path(&self, command: &str) -> bool {
        self.on_path.contains(command)
    }
}

fn content(seen: &Value) -> SeenContent<'_> {
    match seen {
        Value::String(text) => SeenContent::Text(text),
        Value::Null => SeenContent::Missing,
        fault => SeenContent::Fault(fault.get("fault").and_then(Value::as_str).unwrap_or("it cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files() {
        let seen: Seen = serde_json::from_value(json!({
            "files": {"/h/b.json": "b", "/h/a.json": null, "/h/x/c.json": "c", "/h/d.txt": "d", "/e": {"fault": "is a directory"}},
            "links": {"/e": "/f"}, "signs": ["/h"], "on_path": ["node"]
        }))
        .unwrap();
        assert_eq!(seen.files_in("/h", &[".json"]), [("/h/a.json", SeenContent::Missing), ("/h/b.json", SeenContent::Text("b"))]);
        assert_eq!((seen.file("/e"), seen.file("/none")), (SeenContent::Fault("is a directory"), SeenContent::Missing));
        assert_eq!((seen.real("/e"), seen.real("/h")), ("/f", "/h"));
        assert!(seen.exists("/h") && !seen.exists("/e") && seen.is_on_path("node") && !seen.is_on_path("bun"));
    }
}

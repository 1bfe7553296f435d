//! The contents of the files that a host was asked to read.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// What was seen.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// The files by their paths, those in folders that were to be listed among them.
    files: BTreeMap<String, Value>,
    /// Where links among them lead.
    links: BTreeMap<String, String>,
    /// Those of the paths that were asked about that exist.
    signs: BTreeSet<String>,
    /// Those of the commands that were asked about that are on the search path.
    on_path: BTreeSet<String>,
}

/// A file as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenContent<'a> {
    /// There is none.
    Missing,
    /// What it says.
    Text(&'a str),
    /// It is there and cannot be read or written; why.
    Fault(&'a str),
}

impl Seen {
    /// The same with `/` between the names of paths.
    pub fn normalized(mut self, windows: bool) -> Self {
        if windows {
            let slashed = |text: String| text.replace('\\', "/");
            self.files = self.files.into_iter().map(|(path, content)| (slashed(path), content)).collect();
            self.links = self.links.into_iter().map(|(path, to)| (slashed(path), slashed(to))).collect();
            self.signs = self.signs.into_iter().map(slashed).collect();
        }
        self
    }

    /// A file. One that was not looked at counts as missing.
    pub fn file(&self, path: &str) -> SeenContent<'_> {
        self.files.get(path).map_or(SeenContent::Missing, content)
    }

    /// The files of a folder with one of these endings, in the order of their names.
    pub fn files_in<'a>(&'a self, folder: &str, endings: &[&str]) -> Vec<(&'a str, SeenContent<'a>)> {
        let is_in = |path: &str| path.rsplit_once('/').is_some_and(|(above, _)| above == folder);
        let files = self.files.iter().filter(|(path, _)| is_in(path) && endings.iter().any(|ending| path.ends_with(ending)));
        files.map(|(path, seen)| (path.as_str(), content(seen))).collect()
    }

    /// The real path of a file.
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

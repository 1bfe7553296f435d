//! Events and their classes.

use std::rc::Rc;

use serde_json::Value;

use crate::json;

/// Events of editors and watchers. Nothing waits for hooks to answer them.
const BACKGROUND: &[&str] = &[
    "onDidSaveTextDocument",
    "onWillSaveTextDocument",
    "onDidOpenTextDocument",
    "onDidCloseTextDocument",
    "onDidCreateFiles",
    "onDidDeleteFiles",
    "onDidRenameFiles",
    "gitCommit",
];

/// An event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its name.
    pub name: Rc<str>,
    /// The session that it belongs to.
    pub session: Option<Rc<str>>,
    /// Its data.
    pub data: Rc<Value>,
}

impl Event {
    /// What a hook's pattern is matched with: the file, else the tool.
    pub fn subject(&self) -> Option<&str> {
        self.file().or_else(|| json::text(&self.data, "tool_name"))
    }

    /// The file that it is about.
    pub fn file(&self) -> Option<&str> {
        json::text(&self.data, "file")
    }
}

/// Whether hooks run in the background, so that nothing waits for them.
pub fn is_background(trigger: &str) -> bool {
    BACKGROUND.contains(&trigger)
}

/// Whether an event comes from a repository.
pub fn is_git(trigger: &str) -> bool {
    trigger.starts_with("git")
}

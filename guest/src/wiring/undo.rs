//! Plans what `tollgate init --undo` changes: files of this workspace are reverted, files that other workspaces use stay.

use serde_json::{Value, json};

use super::files_read::{Seen, SeenContent};
use super::layout::Layout;
use super::plan::FileEdit;
use super::prefix;
use super::receipt::{Receipt, WrittenFile};
use crate::digest::Digest;
use crate::json::document::Document;
use crate::programs::{self, AgentProgram};

/// What happens to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoStep {
    /// The step in a few words.
    pub words: &'static str,
    /// The file.
    pub path: String,
    /// The change; `None` if the file stays as it is.
    pub change: Option<FileEdit>,
}

/// What `tollgate init --undo` changes.
#[derive(Debug, Default)]
pub struct Undo {
    /// The files, in reverse order of writing.
    pub steps: Vec<UndoStep>,
    /// Folders to remove if nothing is left in them, the innermost first.
    pub folders: Vec<String>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Plans how to undo a workspace's wiring.
pub fn undo(receipt: &Receipt, others: &[Receipt], layout: &Layout, seen: &Seen) -> Undo {
    let mut undo = Undo { folders: receipt.folders.iter().rev().cloned().collect(), ..Undo::default() };
    // A workspace that no longer exists uses no files.
    let others: Vec<&Receipt> =
        others.iter().filter(|other| other.workspace != receipt.workspace && seen.exists(&other.workspace)).collect();
    for file in receipt.files.iter().rev() {
        let users: Vec<&str> =
            others.iter().filter(|other| other.file(&file.path).is_some()).map(|other| other.workspace.as_str()).collect();
        let step = |words: &'static str, change: Option<FileEdit>| UndoStep { words, path: file.path.clone(), change };
        let shown = layout.display(&file.path);
        let done = if !users.is_empty() {
            undo.notes.push(format!("{shown} stays, because {} uses it too", users.join(", ")));
            step("used by another workspace, stays", None)
        } else {
            match seen.file(&file.path) {
                SeenContent::Missing => step("gone already", None),
                SeenContent::Fault(why) => {
                    undo.notes.push(format!("{shown} was left alone: {why}"));
                    step("cannot be read, left alone", None)
                }
                SeenContent::Text(now) => match revert_file(file, now) {
                    Some((words, after)) => {
                        let program = file.program.as_deref().and_then(programs::find).map(|program| program.name());
                        step(words, Some(FileEdit { program, path: file.path.clone(), before: Some(now.to_owned()), after }))
                    }
                    None => {
                        undo.notes.push(format!("{shown} was left alone, because it has changed since"));
                        step("changed since, left alone", None)
                    }
                },
            }
        };
        undo.steps.push(done);
    }
    undo
}

/// What is done to a file, in a few words, and its new content; `None` if the file stays.
fn revert_file(file: &WrittenFile, now: &str) -> Option<(&'static str, Option<String>)> {
    let program = file.program.as_deref().and_then(programs::find);
    if Digest::of(now.as_bytes()).to_string() == file.digest {
        let Some(before) = &file.before else { return Some(("remove", None)) };
        // The remembered content may already contain hooks from an earlier run.
        let before = program.and_then(|program| remove_ours(program, before)).unwrap_or_else(|| before.clone());
        return Some(("restore", Some(before)));
    }
    let after = remove_ours(program?, now)?;
    if file.before.is_none() && has_no_settings(&after) {
        return Some(("remove", None));
    }
    Some(("changed since; only Tollgate's entries are removed from", Some(after)))
}

/// The text of a settings file without what Tollgate added; `None` if Tollgate added nothing, or if the file cannot be read.
fn remove_ours(program: &AgentProgram, text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    // An entry may contain other hooks beside ours.
    document.take_items("hooks", |entry| {
        let Some(value) = entry.to_serde_value() else { return false };
        let commands = program.hook_commands(&value);
        let ours = commands.iter().filter(|command| program.is_our_command(command)).count();
        if ours == 0 || ours == commands.len() {
            return ours > 0;
        }
        let handlers = entry.as_object().and_then(|entry| entry.array_value("hooks")).map(|hooks| hooks.elements());
        for handler in handlers.into_iter().flatten() {
            let command = handler.to_serde_value().and_then(|handler| Some(handler.get("command")?.as_str()?.to_owned()));
            if command.is_some_and(|command| program.is_our_command(&command)) {
                handler.remove();
            }
        }
        false
    });
    if let Some(wiring) = &program.wiring {
        document.take_members("env", |name, value| prefix::is_ours(wiring, name, value));
    }
    document.take_members("mcpServers", |_, server| {
        let ours = server.get("command").and_then(Value::as_str).is_some_and(|command| command.contains("tollgate"));
        ours && server.get("args") == Some(&json!(["mcp-serve"]))
    });
    Some(document.text()).filter(|after| after != text)
}

/// Whether a settings file contains nothing that anyone would miss.
fn has_no_settings(text: &str) -> bool {
    let Ok(document) = Document::parse(text) else { return false };
    let has_comments = text.contains("//") || text.contains("/*");
    let value = document.value();
    let only_version = |(name, value): (&String, &Value)| name == "version" && *value == json!(1);
    !has_comments && value.as_object().is_some_and(|fields| fields.iter().all(only_version))
}

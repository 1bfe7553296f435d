//! The operation behind `tollgate hooks import`: imports hooks that people have for Claude Code.
//!
//! `hooks` `{"do":"import",path?,text?,take?,digest?}` answers `{"taken":[…],"left_out":[…],"known":N,"digest"}`. Without `path`
//! it reads the files that Claude Code reads; `text` is the content of a file that the gate cannot read itself. With `take`, the
//! hooks that were shown are written into `hooks.json`, the user's hooks into the user's and the workspace's into the
//! workspace's.

use serde_json::Value;

use super::OperationFault;
use crate::digest::Digest;
use crate::hooks::Hooks;
use crate::hooks::claude::installed::{self, FILES, is_same};
use crate::hooks::claude::settings::{self, EXTENSION_PATH};
use crate::json::document::Document;
use crate::json::{self, object};
use crate::ports::{Expectation, FileFault, FileKind, Ports, Question, Root};

/// Maximum size of a file; a larger one is a mistake.
const MAX_BYTES: u64 = 4 << 20;

/// Path of the declarations, in both folders.
const DECLARATIONS: &str = ".tollgate/hooks.json";

/// The command through which agents ask the gate; it is not imported as a hook.
const OWN: &str = "tollgate hook ";

#[derive(Default)]
struct Import {
    taken: Vec<(Root, Value)>,
    left_out: Vec<Value>,
    known: usize,
}

pub(super) fn answer(hooks: &Hooks, asked: &Value, ports: &Ports) -> Result<Value, OperationFault> {
    let mut found = Import::default();
    match json::text(asked, "path") {
        Some(path) => {
            let text = match json::text(asked, "text") {
                Some(text) => Ok(text.as_bytes().to_vec()),
                None => ports.workspace.read(Root::Project, path, MAX_BYTES),
            };
            let text = text.map_err(|fault| OperationFault::NotDone(format!("`{path}` cannot be read: {fault}")))?;
            found.import_file(path, Root::Project, &text, hooks, ports).map_err(OperationFault::NotDone)?;
        }
        None => {
            for file in FILES {
                let (root, path) = installed::place(file);
                match ports.workspace.read(root, path, MAX_BYTES) {
                    Ok(text) => found.import_file(file, root, &text, hooks, ports).map_err(OperationFault::NotDone)?,
                    Err(FileFault::Missing) => {}
                    Err(fault) => return Err(OperationFault::NotDone(format!("`{file}` cannot be read: {fault}"))),
                }
            }
        }
    }
    let taken: Vec<Value> = found.taken.iter().map(|(_, hook)| hook.clone()).collect();
    let digest = Digest::of(Value::from(taken.clone()).to_string().as_bytes()).to_string();
    if asked.get("take") == Some(&Value::Bool(true)) {
        if json::text(asked, "digest").is_some_and(|expected| expected != digest) {
            return Err(OperationFault::NotDone("the hooks have changed since they were shown; review them again".to_owned()));
        }
        for root in [Root::Home, Root::Project] {
            let hooks: Vec<&Value> = found.taken.iter().filter(|(of, _)| *of == root).map(|(_, hook)| hook).collect();
            if !hooks.is_empty() {
                write(root, &hooks, ports).map_err(OperationFault::NotDone)?;
            }
        }
    }
    let target = |(root, hook): &(Root, Value)| {
        let file = if *root == Root::Home { "~/.tollgate/hooks.json" } else { DECLARATIONS };
        object(&mut [("file", file.into()), ("hook", hook.clone())])
    };
    Ok(object(&mut [
        ("taken", found.taken.iter().map(target).collect()),
        ("left_out", found.left_out.into()),
        ("known", found.known.into()),
        ("digest", digest.into()),
    ]))
}

impl Import {
    fn import_file(&mut self, file: &str, root: Root, text: &[u8], hooks: &Hooks, ports: &Ports) -> Result<(), String> {
        let handlers = settings::read(text).map_err(|why| format!("`{file}` {why}"))?;
        let is_read_by_claude = FILES.contains(&file);
        for handler in handlers {
            let path: String = handler.path.iter().map(ToString::to_string).collect();
            let mut hook = match handler.taken {
                Ok(hook) => hook,
                Err(why) => {
                    let place = [("file", Value::from(file)), ("path", format!("${path}").into()), ("why", why.into())];
                    self.left_out.push(object(&mut { place }));
                    continue;
                }
            };
            if is_own(&hook) {
                continue;
            }
            resolve_paths(&mut hook, file, ports);
            let is_declared = |registered: &crate::hooks::registry::RegisteredHook| is_same(&registered.hook.written, &hook);
            if hooks.registry.all().iter().any(is_declared) || self.taken.iter().any(|(_, other)| is_same(other, &hook)) {
                self.known += 1;
                continue;
            }
            self.name(&mut hook, hooks);
            if let Some(fields) = hook.as_object_mut().filter(|_| is_read_by_claude) {
                fields.insert("from".to_owned(), file.into());
            }
            self.taken.push((root, hook));
        }
        Ok(())
    }

    /// Gives a hook a unique id.
    fn name(&self, hook: &mut Value, hooks: &Hooks) {
        let first = json::text(hook, "id").unwrap_or_default().to_owned();
        let is_taken = |id: &str| {
            hooks.registry.find(id).is_some() || self.taken.iter().any(|(_, other)| json::text(other, "id") == Some(id))
        };
        let numbered = |at: usize| if at == 1 { first.clone() } else { format!("{first}-{at}") };
        let id = (1..).map(numbered).find(|id| !is_taken(id)).unwrap_or(first.clone());
        if let Some(slot) = hook.get_mut("id") {
            *slot = id.into();
        }
    }
}

/// Whether a hook is the one by which Claude Code asks the gate.
fn is_own(hook: &Value) -> bool {
    let command = match hook.get("command") {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        command => command.and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    let program = command.split_whitespace().next().unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default();
    command.contains(OWN) || program.starts_with("tollgate")
}

/// Fills in a plugin's folder, and lists the files that text for a shell names.
fn resolve_paths(hook: &mut Value, file: &str, ports: &Ports) {
    // A plugin keeps its declarations in a folder of its own.
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let plugin = folder.strip_suffix("/hooks").unwrap_or(folder);
    let root = if plugin.is_empty() { "." } else { plugin };
    match hook.get_mut("command") {
        Some(Value::Array(words)) => {
            for word in words {
                if let Value::String(word) = word {
                    *word = word.replace(EXTENSION_PATH, root);
                }
            }
        }
        Some(Value::String(command)) => {
            let named = files(command, root, ports);
            if let Some(fields) = hook.as_object_mut().filter(|_| !named.is_empty()) {
                fields.insert("files".to_owned(), named.into());
            }
        }
        _ => {}
    }
}

/// The files of the workspace that text for a shell names, so that their changes are noticed.
fn files(command: &str, plugin: &str, ports: &Ports) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in command.split(|c: char| c.is_whitespace() || "\"';|&()<>`".contains(c)) {
        let bare = word.trim_start_matches("$CLAUDE_PROJECT_DIR").trim_start_matches("${CLAUDE_PROJECT_DIR}").to_owned();
        let bare = bare.replace("${CLAUDE_PLUGIN_ROOT}", plugin).replace("$CLAUDE_PLUGIN_ROOT", plugin);
        let bare = if bare.len() < word.len() { bare.trim_start_matches('/') } else { bare.trim_start_matches("./") };
        if bare.is_empty() || bare.contains(['$', '*', '?', '[', '{']) || bare.starts_with(['/', '~', '-']) {
            continue;
        }
        let facts = ports.workspace.inspect(&[Question::project(bare)]).pop();
        let is_own = facts.is_some_and(|facts| facts.kind == FileKind::File && facts.real_path.as_deref() == Some(bare));
        if is_own && !found.iter().any(|known| known == bare) {
            found.push(bare.to_owned());
        }
    }
    found
}

fn write(root: Root, hooks: &[&Value], ports: &Ports) -> Result<(), String> {
    let shown = if root == Root::Home { format!("~/{DECLARATIONS}") } else { DECLARATIONS.to_owned() };
    let (text, expected) = match ports.workspace.read(root, DECLARATIONS, MAX_BYTES) {
        Ok(text) => {
            let expected = Expectation::Digest(Digest::of(&text));
            (String::from_utf8(text).map_err(|_| format!("`{shown}` is not UTF-8, so it is left alone"))?, expected)
        }
        Err(FileFault::Missing) => ("{\n  \"hooks\": []\n}\n".to_owned(), Expectation::Absent),
        Err(fault) => return Err(format!("`{shown}` cannot be read: {fault}")),
    };
    let document = Document::parse(&text).map_err(|why| format!("`{shown}` is left alone: {why}"))?;
    for hook in hooks {
        document.push_top("hooks", hook).map_err(|why| format!("`{shown}` is left alone: {why}"))?;
    }
    let written = ports.records.replace(root, DECLARATIONS, document.text().as_bytes(), expected);
    written.map_err(|fault| format!("`{shown}` cannot be written: {fault}"))
}

//! The hooks of an extension: declarations whose paths begin in its folder, for the hook registry.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::discovery::ExtensionFolder;
use super::fault::ExtensionFault;
use super::manifest::{self, HookDeclarations, Manifest};
use super::path;
use crate::hooks::claude;
use crate::hooks::claude::settings::EXTENSION_PATH;
use crate::hooks::declaration::{Action, FieldReader, Hook};
use crate::hooks::owner::Owner;
use crate::json;
use crate::json::position::PathStep;
use crate::ports::{FileKind, Ports, Question};

/// Maximum size of a file of declarations; a larger one is a mistake.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of words in a command that are looked for among the extension's files.
const MAX_WORDS: usize = 64;

/// The hooks of an extension, or everything that is wrong with them. Their ids are `EXTENSION:NAME`.
pub fn read(found: &ExtensionFolder, manifest: &Manifest, ports: &Ports) -> Result<Vec<Hook>, Vec<ExtensionFault>> {
    let file = match &manifest.hooks {
        HookDeclarations::Written(_) => manifest::FILE,
        HookDeclarations::File(file) => file,
    };
    let shown = found.file(file);
    let text = || found.read(file, MAX_BYTES, ports).map_err(|why| vec![ExtensionFault::new(&shown, why)]);
    let (list, path) = match &manifest.hooks {
        HookDeclarations::Written(written) => (written.clone(), vec![PathStep::Key("hooks".to_owned())]),
        HookDeclarations::File(_) => match serde_json::from_slice(&text()?)
            .map_err(|why| vec![ExtensionFault::of_json(&shown, &why)])?
        {
            Value::Object(mut fields) => (fields.remove("hooks").unwrap_or_default(), vec![PathStep::Key("hooks".to_owned())]),
            list => (list, Vec::new()),
        },
    };
    let mut reader = FieldReader::default();
    let mut declared: Vec<(Vec<PathStep>, Value)> = Vec::new();
    match list {
        Value::Array(list) => {
            declared
                .extend(list.into_iter().enumerate().map(|(at, hook)| ([path.as_slice(), &[PathStep::At(at)]].concat(), hook)));
        }
        Value::Object(events) => {
            for handler in claude::settings::handlers(&events) {
                match handler.taken {
                    Ok(hook) => declared.push((handler.path, hook)),
                    Err(why) => {
                        reader.path = handler.path;
                        reader.fault(&why);
                    }
                }
            }
        }
        _ => reader.fault("has no valid `hooks`: expected a list of hooks, or an object in Claude Code's format"),
    }
    let mut hooks: Vec<Hook> = Vec::new();
    for (path, written) in declared {
        reader.path = path;
        if let Some(hook) = hook(&mut reader, found, manifest, &written, ports) {
            if hooks.iter().any(|other| other.id == hook.id) {
                reader.fault("has the same name as another hook of the extension; give each a unique name");
            }
            hooks.push(hook);
        }
    }
    if reader.faults.is_empty() {
        return Ok(hooks);
    }
    let text = String::from_utf8(text()?).unwrap_or_default();
    Err(reader.faults.iter().map(|fault| ExtensionFault::at(&shown, &text, fault)).collect())
}

fn hook(reader: &mut FieldReader, found: &ExtensionFolder, manifest: &Manifest, written: &Value, ports: &Ports) -> Option<Hook> {
    let Some(fields) = written.as_object() else {
        reader.fault("must be an object with `name`, `event` and `command`");
        return None;
    };
    let words = fields.get("command").into_iter().chain(fields.get("args")).flat_map(texts);
    if let Some(word) = words.clone().find(|word| path::leaves_extension(word)) {
        reader.fault_at("command", &path::outside_message(&word));
        return None;
    }
    let mut placed = fields.clone();
    for key in ["id", "name"] {
        if let Some(Value::String(name)) = placed.get_mut(key) {
            *name = format!("{}:{name}", manifest.name);
        }
    }
    if fields.get("shell") != Some(&Value::Bool(true)) {
        place_words(&mut placed, &found.real, &own_files(found, words, ports));
    }
    // The folder is approved as a whole, so it is copied as a whole unless fewer files are named.
    if found.is_of_workspace() && fields.contains_key("command") {
        let named = fields.get("files").and_then(Value::as_array).cloned().unwrap_or_else(|| vec!["**".into()]);
        let named =
            named.iter().map(|file| file.as_str().map_or(file.clone(), |file| format!("{}/{}", found.real, bare(file)).into()));
        placed.insert("files".to_owned(), named.collect());
    } else {
        placed.shift_remove("files");
    }
    if let Some(Value::String(name)) = placed.get_mut("component") {
        match manifest.components.iter().find(|component| component.name == *name) {
            Some(component) => name.clone_from(&component.path),
            None => {
                reader.fault_at("component", "is not one of the extension's `components`");
                return None;
            }
        }
    }
    let mut hook = reader.hook(&Value::Object(placed))?;
    let owner = Owner { extension: manifest.name.clone(), folder: found.real.clone(), approved: None, variables: Vec::new() };
    hook.owner = Some(Rc::new(owner));
    Some(hook)
}

fn bare(path: &str) -> &str {
    path.strip_prefix("./").or_else(|| path.strip_prefix(EXTENSION_PATH)?.strip_prefix('/')).unwrap_or(path)
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// The words that name files of the extension.
fn own_files(found: &ExtensionFolder, words: impl Iterator<Item = String>, ports: &Ports) -> Vec<String> {
    let candidates: Vec<String> = words.take(MAX_WORDS).filter(|word| path::check_inside(bare(word)).is_ok()).collect();
    let question = |word: &String| Question { root: found.root, path: format!("{}/{}", found.path, bare(word)), digest: false };
    let looked_at = ports.workspace.inspect(&candidates.iter().map(question).collect::<Vec<_>>());
    candidates.into_iter().zip(looked_at).filter(|(_, facts)| facts.kind == FileKind::File).map(|(word, _)| word).collect()
}

/// Puts the extension's folder in front of the words that name its files.
fn place_words(fields: &mut Map<String, Value>, folder: &str, own: &[String]) {
    let place = |value: &mut Value| {
        if let Value::String(word) = value {
            if own.contains(word) {
                *word = format!("{folder}/{}", bare(word));
            } else {
                *word = word.replace(EXTENSION_PATH, folder);
            }
        }
    };
    for key in ["command", "args"] {
        match fields.get_mut(key) {
            Some(Value::Array(words)) => words.iter_mut().for_each(place),
            Some(value) => place(value),
            None => {}
        }
    }
}

/// What a hook runs, for people to read.
pub fn display(hook: &Hook, found: &ExtensionFolder) -> String {
    let folder = format!("{}/", found.real);
    match &hook.action {
        Action::Command { words, shell: true } => format!("has a shell run `{}`", words.join(" ")),
        Action::Command { words, .. } => format!("runs `{}`", words.join(" ").replace(&folder, "")),
        Action::Prompt(prompt) => format!("asks a model: {}", prompt.chars().take(200).collect::<String>()),
        Action::Component(name) => format!("calls the component `{name}`"),
    }
}

/// When a hook runs, for people to read.
pub fn event(hook: &Hook) -> String {
    let pattern = json::text(&hook.written, "pattern").or_else(|| json::text(&hook.written, "matcher"));
    let about = pattern.map_or_else(String::new, |pattern| format!(" of `{pattern}`"));
    format!("at `{}`{about}", hook.trigger)
}

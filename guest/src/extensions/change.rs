//! Changes that a person makes to the settings of extensions: which are enabled, and the values that are set for them.

use serde_json::{Map, Value};

use crate::config::extensions::Choices;
use crate::digest::Digest;
use crate::json::document::Document;
use crate::ports::{Expectation, FileFault, Ports, Root};
use crate::{config, home};

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsOwner {
    /// The user's own, for all workspaces.
    User,
    /// The workspace's, for everyone who works in it.
    Workspace,
}

impl SettingsOwner {
    fn root(self) -> Root {
        match self {
            Self::User => Root::Home,
            Self::Workspace => Root::Project,
        }
    }

    /// The file's path as shown to people.
    pub fn file(self) -> &'static str {
        match self {
            Self::User => "~/.tollgate/config.json",
            Self::Workspace => config::PATH,
        }
    }
}

/// Enables an extension, or disables it.
pub fn enable(name: &str, is_on: bool, whose: SettingsOwner, ports: &Ports) -> Result<(), String> {
    change(whose, ports, |choices, document| {
        let with = |names: &[String], wanted: bool| {
            let mut names: Vec<String> = names.iter().filter(|other| *other != name).cloned().collect();
            if wanted {
                names.push(name.to_owned());
            }
            Value::from(names)
        };
        let lists = [("enabled", &choices.enabled, is_on), ("disabled", &choices.disabled, !is_on)];
        for (key, names, wanted) in lists {
            if wanted || names.iter().any(|other| other == name) {
                document.put("extensions", key, &with(names, wanted)).map_err(|why| why.to_string())?;
            }
        }
        Ok(())
    })
}

/// Sets a value, or removes it.
pub fn set_value(extension: &str, setting: &str, value: Option<&Value>, ports: &Ports) -> Result<(), String> {
    change(SettingsOwner::User, ports, |choices, document| {
        let mut all: Map<String, Value> = choices.all_values().clone();
        let mut values = choices.values(extension).cloned().unwrap_or_default();
        match value {
            Some(value) => drop(values.insert(setting.to_owned(), value.clone())),
            None => drop(values.shift_remove(setting)),
        }
        if values.is_empty() {
            drop(all.shift_remove(extension))
        } else {
            drop(all.insert(extension.to_owned(), values.into()))
        }
        document.put("extensions", "settings", &Value::Object(all)).map_err(|why| why.to_string())
    })
}

fn change(
    whose: SettingsOwner,
    ports: &Ports,
    edit: impl FnOnce(&Choices, &Document) -> Result<(), String>,
) -> Result<(), String> {
    let (root, file) = (whose.root(), whose.file());
    let (text, expected) = match ports.workspace.read(root, config::PATH, home::MAX_BYTES) {
        Ok(text) => {
            let expected = Expectation::Digest(Digest::of(&text));
            (String::from_utf8(text).map_err(|_| format!("`{file}` is not UTF-8, so it is left alone"))?, expected)
        }
        Err(FileFault::Missing) => ("{}\n".to_owned(), Expectation::Absent),
        Err(fault) => return Err(format!("`{file}` cannot be read: {fault}")),
    };
    let document = Document::parse(&text).map_err(|why| format!("`{file}` is left alone: {why}"))?;
    let settings = document.value();
    let choices = settings.get("extensions").map_or_else(|| Ok(Choices::default()), Choices::parse);
    let choices = choices.map_err(|why| format!("`{file}` is left alone: {why}"))?;
    edit(&choices, &document).map_err(|why| format!("`{file}` is left alone: {why}"))?;
    let after = document.text();
    if after == text && expected != Expectation::Absent {
        return Ok(());
    }
    let written = ports.records.replace(root, config::PATH, after.as_bytes(), expected);
    written.map_err(|fault| format!("`{file}` cannot be written: {fault}"))
}

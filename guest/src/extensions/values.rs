//! The values of an extension's settings, and where they come from.
//!
//! | from | where the value is |
//! | --- | --- |
//! | `environment` | the variable that the setting names, if it is set and not empty |
//! | `keyring`, `secrets` | the user, with `tollgate extensions set`: a secret in the system's keyring, or in a file of the user's own |
//! | `user` | the user's own settings |
//! | `workspace` | the workspace's settings, for its own extensions and for settings that allow it |
//! | `default` | the manifest |
//!
//! The first that has a value wins. A value of the wrong type is a fault and does not count as missing.

use serde_json::Value;

use super::manifest::{Manifest, Setting};
use super::store::{self, SecretPlace, Store};
use crate::config::extensions::Choices;
use crate::ports::Ports;

/// The value of one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// The setting.
    pub name: String,
    /// Its value; `None` if it is not set.
    pub value: Option<Value>,
    /// Where the value comes from.
    pub from: &'static str,
    /// What is wrong with it.
    pub fault: Option<String>,
}

/// Where values come from.
pub struct Sources<'s> {
    /// The user's settings.
    pub user: &'s Choices,
    /// The workspace's settings.
    pub workspace: &'s Choices,
    /// Whether the extension is the workspace's own.
    pub of_workspace: bool,
    /// The secrets that the user has stored.
    pub store: &'s Store,
    /// The name under which this extension's secrets are stored.
    pub stored_as: &'s str,
}

/// The values of all settings of an extension. Reads the environment, so it is only for extensions that may see what is in it.
pub fn values(manifest: &Manifest, sources: &Sources<'_>, ports: &Ports) -> Vec<Set> {
    if manifest.settings.is_empty() {
        return Vec::new();
    }
    let named: Vec<String> = manifest.settings.iter().filter_map(|setting| setting.env_var.clone()).collect();
    let variables = if named.is_empty() { Vec::new() } else { ports.environment.variables(&named) };
    let variable = |setting: &Setting| {
        let at = named.iter().position(|name| Some(name) == setting.env_var.as_ref())?;
        variables.get(at)?.clone().filter(|value| !value.is_empty())
    };
    let in_keyring: Vec<String> = manifest
        .settings
        .iter()
        .filter(|setting| sources.store.get(sources.stored_as, &setting.name) == Some(&SecretPlace::InKeyring))
        .map(|setting| store::key(sources.stored_as, &setting.name))
        .collect();
    let secrets = if in_keyring.is_empty() { Vec::new() } else { ports.environment.secrets(&in_keyring) };
    let secret = |setting: &Setting| {
        let key = store::key(sources.stored_as, &setting.name);
        let at = in_keyring.iter().position(|known| *known == key)?;
        secrets.get(at)?.clone()
    };
    manifest.settings.iter().map(|setting| value(&manifest.name, setting, sources, variable(setting), secret(setting))).collect()
}

fn value(extension: &str, setting: &Setting, sources: &Sources<'_>, variable: Option<String>, secret: Option<String>) -> Set {
    let (name, required) = (&setting.name, setting.required);
    let found = |from: &'static str, value: Result<Value, String>| match value {
        Ok(value) => Set { name: name.clone(), value: Some(value), from, fault: None },
        Err(why) => Set { name: name.clone(), value: None, from, fault: Some(why) },
    };
    let checked = |value: &Value| setting.check(value).map(|()| value.clone());
    if let Some(text) = variable {
        let of_variable = |why| format!("the variable `{}` {why}", setting.env_var.as_deref().unwrap_or_default());
        return found("environment", setting.of_text(&text).map_err(of_variable));
    }
    let set_again = format!("`tollgate extensions set {extension} {name}`");
    if setting.sensitive {
        match (sources.store.get(sources.stored_as, name), secret) {
            (Some(SecretPlace::Here(value)), _) => return found("secrets", checked(&value.as_str().into())),
            (Some(SecretPlace::InKeyring), Some(value)) => return found("keyring", checked(&value.into())),
            (Some(SecretPlace::InKeyring), None) => {
                let why = format!(
                    "it is in the system's keyring, but this program cannot read it there; set it again with {set_again}"
                );
                return found("keyring", Err(why));
            }
            (None, _) => {}
        }
        let is_in_plain_sight = [sources.user, sources.workspace].iter().any(|choices| choices.value(extension, name).is_some());
        if is_in_plain_sight {
            let why = format!("it is a secret and does not belong in `config.json`; remove it there and use {set_again}");
            return found("none", Err(why));
        }
    } else {
        let of_workspace = (sources.of_workspace || setting.by_workspace).then_some(sources.workspace);
        let written = [("user", Some(sources.user)), ("workspace", of_workspace)];
        for (from, choices) in written {
            if let Some(value) = choices.and_then(|choices| choices.value(extension, name)) {
                return found(from, checked(value).map_err(|why| format!("`extensions.settings.{extension}.{name}` {why}")));
            }
        }
        if let Some(default) = &setting.default {
            return found("default", Ok(default.clone()));
        }
    }
    let why = required.then(|| {
        let variable = setting.env_var.as_ref().map_or_else(String::new, |name| format!(", or set the variable `{name}`"));
        format!("it is required and not set; set it with {set_again}{variable}")
    });
    Set { name: name.clone(), value: None, from: "none", fault: why }
}

//! The secrets that the user has set for extensions: `~/.tollgate/secrets.json`, which only the user can read.
//!
//! It contains the secrets themselves, or notes that they are in the system's keyring, if this machine has one.

use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::home;
use crate::ports::{Expectation, FileFault, Ports, Root};

/// The file's path below the home folder.
pub const PATH: &str = ".tollgate/secrets.json";

/// The note in place of a secret that is in the keyring.
const IN_KEYRING: &str = "keyring";

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// In the file.
    Here(String),
    /// In the system's keyring.
    InKeyring,
}

/// The contents of the file, read once and kept until it changes.
#[derive(Debug, Default)]
pub struct Store {
    stamp: u64,
    kept: Vec<(String, String, SecretPlace)>,
}

/// Whether a path leads to the file, in any user's home folder.
pub fn is_at(path: &str) -> bool {
    path.strip_suffix(PATH).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// The name under which the keyring has a secret.
pub fn key(extension: &str, setting: &str) -> String {
    format!("{extension}/{setting}")
}

impl Store {
    /// Reads the file if it has changed.
    pub fn refresh(&mut self, stamp: u64, ports: &Ports) {
        if self.stamp == stamp {
            return;
        }
        self.stamp = stamp;
        // A file inside the workspace is not secret.
        let text = if stamp == 0 { None } else { home::read(PATH, ports) };
        let document: Value = text.as_deref().map_or(Ok(Value::Null), serde_json::from_slice).unwrap_or_else(|why| {
            ports.warn(&format!("`~/{PATH}` cannot be read, so no secret of an extension is set: {why}"));
            Value::Null
        });
        self.kept.clear();
        for (extension, settings) in document.get("secrets").and_then(Value::as_object).into_iter().flatten() {
            for (setting, kept) in settings.as_object().into_iter().flatten() {
                let kept = match kept {
                    Value::String(secret) => SecretPlace::Here(secret.clone()),
                    _ => SecretPlace::InKeyring,
                };
                self.kept.push((extension.clone(), setting.clone(), kept));
            }
        }
    }

    /// Where a secret is; `None` if there is none.
    pub fn get(&self, extension: &str, setting: &str) -> Option<&SecretPlace> {
        let is_it = |(of, name, _): &&(String, String, SecretPlace)| of == extension && name == setting;
        self.kept.iter().find(is_it).map(|(.., kept)| kept)
    }
}

/// Stores a secret, or removes it.
pub fn keep(extension: &str, setting: &str, kept: Option<&SecretPlace>, ports: &Ports) -> Result<(), String> {
    let cannot = |what: &str, fault: FileFault| format!("`~/{PATH}` cannot be {what}: {fault}");
    let (mut document, expected) = match ports.workspace.read(Root::Home, PATH, home::MAX_BYTES) {
        Ok(text) => {
            let document: Value = serde_json::from_slice(&text)
                .map_err(|why| format!("`~/{PATH}` is not valid JSON, so it is left alone: {why}"))?;
            (document, Expectation::Digest(Digest::of(&text)))
        }
        Err(FileFault::Missing) => (Value::Null, Expectation::Absent),
        Err(fault) => return Err(cannot("read", fault)),
    };
    if !document.get("secrets").is_some_and(Value::is_object) {
        document = Value::Object(Map::from_iter([("secrets".to_owned(), Value::Object(Map::new()))]));
    }
    let Some(secrets) = document.get_mut("secrets").and_then(Value::as_object_mut) else { return Ok(()) };
    let of_extension = secrets.entry(extension).or_insert_with(|| Value::Object(Map::new()));
    if !of_extension.is_object() {
        *of_extension = Value::Object(Map::new());
    }
    if let Some(of_extension) = of_extension.as_object_mut() {
        match kept {
            Some(SecretPlace::Here(secret)) => drop(of_extension.insert(setting.to_owned(), secret.as_str().into())),
            Some(SecretPlace::InKeyring) => drop(of_extension.insert(setting.to_owned(), serde_json::json!({IN_KEYRING: true}))),
            None => drop(of_extension.shift_remove(setting)),
        }
    }
    secrets.retain(|_, settings| settings.as_object().is_some_and(|settings| !settings.is_empty()));
    let text = format!("{document:#}\n");
    ports.records.replace(Root::Home, PATH, text.as_bytes(), expected).map_err(|fault| cannot("written", fault))
}

//! The manifest of an extension, `manifest.json`: what it says about itself.
//!
//! ```json
//! {
//!   "name": "house-rules",
//!   "version": "1.0.0",
//!   "description": "What everybody here keeps to",
//!   "mcpServers": {"rules": {"command": "node", "args": ["server.mjs"], "env": {"TOKEN": "${settings.token}"}}},
//!   "hooks": [{"name": "guard", "event": "before_tool", "command": ["node", "hooks/guard.mjs"]}],
//!   "settings": [{"name": "token", "description": "For the rules' server", "sensitive": true, "envVar": "RULES_TOKEN"}],
//!   "skills": [{"name": "review", "description": "A review", "prompt": "Review {{file}}.", "parameters": [{"name": "file"}]}],
//!   "components": [{"name": "guard", "path": "guard.wasm"}]
//! }
//! ```
//!
//! A manifest is all or nothing: with a single fault in it, the extension provides nothing.

mod component;
mod server;
mod setting;
mod skill;

use serde_json::{Map, Value};

pub use component::ManifestComponent;
pub use server::ManifestServer;
pub use setting::{Setting, SettingType, as_text};
pub(crate) use skill::placeholders;
pub use skill::{MAX_PROMPT, Parameter, Skill, fill_prompt};

use super::fault::ExtensionFault;
use super::path;
use crate::digest::Digest;
use crate::hooks::declaration::FieldReader;
use crate::json::position::{self, PathStep};

/// The file that makes a folder an extension.
pub const FILE: &str = "manifest.json";

/// Maximum size of a manifest; a larger one is a mistake.
pub const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of items of one kind; more are a mistake.
const MAX_ITEMS: usize = 200;

/// The only version of the format so far.
const SCHEMA_VERSION: u64 = 1;

const KEYS: &[&str] =
    &["$schema", "schemaVersion", "name", "version", "description", "mcpServers", "hooks", "settings", "skills", "components"];

/// A valid manifest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The extension's name.
    pub name: String,
    /// The extension's version.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// The MCP servers it provides.
    pub servers: Vec<ManifestServer>,
    /// The hooks it provides.
    pub hooks: HookDeclarations,
    /// The settings it has.
    pub settings: Vec<Setting>,
    /// The skills it provides.
    pub skills: Vec<Skill>,
    /// The components it provides.
    pub components: Vec<ManifestComponent>,
    /// The digest of the manifest itself.
    pub digest: Digest,
}

/// Where the declarations of hooks are.
#[derive(Debug, Clone, PartialEq)]
pub enum HookDeclarations {
    /// In the manifest: a list in our format, or an object in Claude Code's.
    Written(Value),
    /// In a file of the extension, in either format.
    File(String),
}

impl Manifest {
    /// Reads a manifest; `shown` is its file's path as shown to people.
    pub fn read(text: &[u8], shown: &str) -> Result<Self, Vec<ExtensionFault>> {
        let document: Value = match serde_json::from_slice(text) {
            Ok(document) => document,
            Err(why) => return Err(vec![ExtensionFault::of_json(shown, &why)]),
        };
        let text_read = String::from_utf8_lossy(text);
        let mut reader = FieldReader::default();
        if let Some(twice) = position::find_duplicate_key(&text_read) {
            reader.path = twice;
            reader.fault("appears twice; remove one");
            reader.path.clear();
        }
        let manifest = read(&document, text, &mut reader);
        match manifest.filter(|_| reader.faults.is_empty()) {
            Some(manifest) => Ok(manifest),
            None => Err(reader.faults.iter().map(|fault| ExtensionFault::at(shown, &text_read, fault)).collect()),
        }
    }

    /// The setting with this name.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

fn read(document: &Value, text: &[u8], reader: &mut FieldReader) -> Option<Manifest> {
    let Some(fields) = document.as_object() else {
        reader.fault("must be an object with `name`, `version` and what the extension provides");
        return None;
    };
    reader.check_keys(fields, KEYS);
    if fields.get("schemaVersion").is_some_and(|version| version.as_u64() != Some(SCHEMA_VERSION)) {
        reader.fault_at("schemaVersion", "must be 1; newer manifests need a newer tollgate");
    }
    let name = reader.name_of(fields, "name");
    let version = reader.line(fields, "version", true);
    let description = reader.line(fields, "description", false);
    let settings = list(reader, fields, "settings", setting::read, |setting| &setting.name);
    let skills = list(reader, fields, "skills", skill::read, |skill| &skill.name);
    let components = list(reader, fields, "components", component::read, |component| &component.name);
    let servers = servers(reader, fields, name.unwrap_or_default(), &settings);
    let hooks = hooks(reader, fields);
    Some(Manifest {
        name: name?.to_owned(),
        version: version?.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        servers,
        hooks,
        settings,
        skills,
        components,
        digest: Digest::of(text),
    })
}

/// Reads a list of items, each of which must have a unique name.
fn list<T>(
    reader: &mut FieldReader,
    fields: &Map<String, Value>,
    key: &str,
    read: fn(&mut FieldReader, &Map<String, Value>) -> Option<T>,
    name: fn(&T) -> &str,
) -> Vec<T> {
    let mut items: Vec<T> = Vec::new();
    let written = match fields.get(key) {
        None => return items,
        Some(Value::Array(written)) if written.len() <= MAX_ITEMS => written,
        Some(_) => {
            reader.fault_at(key, &format!("must be a list of at most {MAX_ITEMS} objects"));
            return items;
        }
    };
    for (at, written) in written.iter().enumerate() {
        reader.path.extend([PathStep::Key(key.to_owned()), PathStep::At(at)]);
        match written.as_object() {
            None => reader.fault("must be an object"),
            Some(written) => {
                if let Some(item) = read(reader, written) {
                    if items.iter().any(|other| name(other) == name(&item)) {
                        reader.fault_at("name", &format!("`{}` appears twice; give each a unique name", name(&item)));
                    }
                    items.push(item);
                }
            }
        }
        reader.path.truncate(reader.path.len().saturating_sub(2));
    }
    items
}

fn servers(reader: &mut FieldReader, fields: &Map<String, Value>, extension: &str, settings: &[Setting]) -> Vec<ManifestServer> {
    let mut servers = Vec::new();
    match fields.get("mcpServers") {
        None => {}
        Some(Value::Object(written)) if written.len() <= MAX_ITEMS => {
            for (name, entry) in written {
                reader.path.extend([PathStep::Key("mcpServers".to_owned()), PathStep::Key(name.clone())]);
                servers.extend(server::read(reader, name, entry, extension, settings));
                reader.path.truncate(reader.path.len().saturating_sub(2));
            }
        }
        Some(_) => reader.fault_at("mcpServers", &format!("must be an object of at most {MAX_ITEMS} servers by name")),
    }
    servers
}

/// Checks that hooks have the right form; where their paths lead is known only once the extension's folder is.
fn hooks(reader: &mut FieldReader, fields: &Map<String, Value>) -> HookDeclarations {
    match fields.get("hooks") {
        None => HookDeclarations::Written(Value::Array(Vec::new())),
        Some(Value::String(file)) => {
            if let Err(why) = path::check_inside(file) {
                reader.fault_at("hooks", &why);
            }
            HookDeclarations::File(file.strip_prefix("./").unwrap_or(file).to_owned())
        }
        Some(Value::Array(list)) if list.len() > MAX_ITEMS => {
            reader.fault_at("hooks", &format!("must be a list of at most {MAX_ITEMS} hooks"));
            HookDeclarations::Written(Value::Null)
        }
        Some(written @ Value::Array(list)) => {
            for (at, hook) in list.iter().enumerate() {
                reader.path.extend([PathStep::Key("hooks".to_owned()), PathStep::At(at)]);
                let mut hook = hook.clone();
                // The hook names one of the extension's components, whose path replaces the name later.
                if let Some(name @ Value::String(_)) = hook.get_mut("component") {
                    *name = "component.wasm".into();
                }
                reader.hook(&hook);
                reader.path.truncate(reader.path.len().saturating_sub(2));
            }
            HookDeclarations::Written(written.clone())
        }
        Some(written @ Value::Object(_)) => HookDeclarations::Written(written.clone()),
        Some(_) => {
            reader.fault_at("hooks", "must be a list of hooks, hooks in Claude Code's format, or the path of a file with either");
            HookDeclarations::Written(Value::Null)
        }
    }
}

impl FieldReader {
    /// Reports unknown keys.
    pub(super) fn check_keys(&mut self, fields: &Map<String, Value>, known: &[&str]) {
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            self.fault_at(key, &format!("is not known; expected one of: {}", known.join(", ")));
        }
    }

    /// Reads a required name.
    pub(super) fn name_of<'v>(&mut self, fields: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
        let name = self.line(fields, key, true)?;
        if path::is_name(name) {
            return Some(name);
        }
        self.fault_at(key, "must be 1 to 64 letters, digits, `_`, `-` and `.`, beginning with a letter or a digit");
        None
    }

    /// Reads a text of one line.
    pub(super) fn line<'v>(&mut self, fields: &'v Map<String, Value>, key: &str, is_required: bool) -> Option<&'v str> {
        let Some(value) = fields.get(key) else {
            if is_required {
                self.fault(&format!("has no `{key}`"));
            }
            return None;
        };
        let fits = |text: &&str| !text.trim().is_empty() && text.len() <= 1_000 && !text.contains(char::is_control);
        let text = value.as_str().filter(fits);
        if text.is_none() {
            self.fault_at(key, "must be a string of one line, with 1 to 1,000 characters and no control characters");
        }
        text
    }
}

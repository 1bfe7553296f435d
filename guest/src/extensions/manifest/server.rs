//! An MCP server that an extension provides.

use serde_json::Value;

use super::Setting;
use crate::extensions::path;
use crate::hooks::declaration::FieldReader;
use crate::servers::{ServerSource, ServerSpec};

/// A server as declared: its paths are relative to the extension.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestServer {
    /// Its name.
    pub name: String,
    /// Its entry in `mcpServers`.
    pub entry: Value,
    /// How it is reached.
    pub spec: ServerSpec,
}

/// The name that stands in for the extension's if the manifest has no usable one.
const UNNAMED: &str = "extension";

pub(super) fn read(
    reader: &mut FieldReader,
    name: &str,
    entry: &Value,
    extension: &str,
    settings: &[Setting],
) -> Option<ManifestServer> {
    let source = ServerSource::Extension(if extension.is_empty() { UNNAMED } else { extension }.to_owned());
    let spec = match ServerSpec::parse(name, &path::fill_placeholders(entry, "/", "/"), source) {
        Ok(spec) => spec,
        Err(why) => {
            reader.fault(&format!("cannot be used: {why}"));
            return None;
        }
    };
    if spec.kind() == "stdio" && !entry.get("args").is_some_and(Value::is_array) {
        reader.fault("has no `args`; add a list, which may be empty");
    }
    for key in spec.settings() {
        if !settings.iter().any(|setting| setting.name == key) {
            reader.fault(&format!("refers to the setting `{key}`, which `settings` does not have"));
        }
    }
    for key in ["command", "cwd"] {
        let written = entry.get(key).and_then(Value::as_str);
        if let Some(why) = written.and_then(|written| path::leaves_extension(written).then(|| path::outside_message(written))) {
            reader.fault_at(key, &why);
        }
    }
    for word in entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if path::leaves_extension(word) {
            reader.fault_at("args", &path::outside_message(word));
        }
        if word.contains("${settings.") {
            reader.fault_at("args", "cannot contain settings, because every user of the machine can see arguments; use `env`");
        }
    }
    Some(ManifestServer { name: name.to_owned(), entry: entry.clone(), spec })
}

//! What a hook says about itself and asks for: JSON in the custom section `tollgate:hook` of its component.
//!
//! ```json
//! {
//!   "name": "licence-header", "version": "1.0.0", "description": "Source files begin with the licence header.",
//!   "read": ["src/**"], "rewrite": false, "withhold": false,
//!   "settings": {"type": "object", "properties": {"header": {"type": "string"}}},
//!   "limits": {"cpu_ms": 100}
//! }
//! ```

use serde_json::{Map, Value};

use super::{Limits, schema};
use crate::glob::Glob;

/// Maximum size of a manifest, in bytes; a longer one is a mistake.
pub const MAX_BYTES: usize = 64 << 10;
/// Maximum number of globs in a list, and of characters in a text.
const MAX_GLOBS: usize = 32;
const MAX_CHARS: usize = 200;

/// What a hook asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookManifest {
    /// What its author calls it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does, in one sentence.
    pub description: String,
    /// The files that it wants to read, as globs.
    pub read: Vec<String>,
    /// Whether it wants to rewrite arguments.
    pub rewrite: bool,
    /// Whether it wants to withhold results.
    pub withhold: bool,
    /// The schema of its settings.
    pub settings: Option<Value>,
    /// The limits of one call.
    pub limits: Limits,
}

/// A limit that a manifest may name: its name, the highest value, and where it goes.
type Field = (&'static str, u64, fn(&mut Limits, u64));

const LIMITS: &[Field] = &[
    ("cpu_ms", 1_000, |limits, to| limits.cpu_ms = u32::try_from(to).unwrap_or(limits.cpu_ms)),
    ("wall_ms", 2_000, |limits, to| limits.wall_ms = u32::try_from(to).unwrap_or(limits.wall_ms)),
    ("memory_mb", 256, |limits, to| limits.memory_bytes = to << 20),
    ("lifted_kb", 4_096, |limits, to| limits.lifted_bytes = to << 10),
    ("read_mb", 16, |limits, to| limits.read_bytes = to << 20),
];

const KEYS: &[&str] = &["name", "version", "description", "read", "rewrite", "withhold", "settings", "limits"];

impl HookManifest {
    /// Reads the content of the section.
    pub fn parse(content: &[u8]) -> Result<Self, String> {
        if content.len() > MAX_BYTES {
            return Err(format!("the manifest is longer than {} KiB", MAX_BYTES >> 10));
        }
        let value: Value = serde_json::from_slice(content).map_err(|why| format!("the manifest is not valid JSON: {why}"))?;
        Self::read(&value)
    }

    /// Reads a manifest.
    pub fn read(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("the manifest is not a JSON object")?;
        if let Some(key) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("`{}` in the manifest is not known; expected one of: {}", brief(key), KEYS.join(", ")));
        }
        let mut manifest = Self {
            name: text(fields, "name")?,
            version: text(fields, "version")?,
            description: text(fields, "description")?,
            read: globs(fields.get("read"), "`read` in the manifest")?,
            rewrite: flag(fields, "rewrite")?,
            withhold: flag(fields, "withhold")?,
            settings: fields.get("settings").filter(|schema| !schema.is_null()).cloned(),
            limits: Limits::default(),
        };
        if let Some(written) = &manifest.settings {
            schema::check_schema(written).map_err(|why| format!("`settings` in the manifest {why}"))?;
        }
        let limits = match fields.get("limits") {
            None | Some(Value::Null) => return Ok(manifest),
            Some(Value::Object(limits)) => limits,
            Some(_) => return Err("`limits` in the manifest must be an object such as {\"cpu_ms\": 100}".to_owned()),
        };
        for (name, value) in limits {
            let Some((_, max, set)) = LIMITS.iter().find(|(known, ..)| known == name) else {
                let known: Vec<&str> = LIMITS.iter().map(|(name, ..)| *name).collect();
                return Err(format!(
                    "the manifest's limit `{}` is not known; expected one of: {}",
                    brief(name),
                    known.join(", ")
                ));
            };
            let value = value.as_u64().filter(|value| (1..=*max).contains(value));
            let Some(value) = value else {
                return Err(format!("the limit `{name}` in the manifest must be a whole number from 1 to {max}"));
            };
            set(&mut manifest.limits, value);
        }
        // A hook that may use more processor time also gets more elapsed time; otherwise the former would be useless.
        manifest.limits.wall_ms = manifest.limits.wall_ms.max(manifest.limits.cpu_ms.saturating_mul(2).min(2_000));
        Ok(manifest)
    }
}

/// Reads a list of globs for files of the workspace.
pub fn globs(written: Option<&Value>, whose: &str) -> Result<Vec<String>, String> {
    let list = match written {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MAX_GLOBS => list,
        Some(_) => return Err(format!("{whose} must be a list of at most {MAX_GLOBS} globs such as `src/**`")),
    };
    let mut globs = Vec::new();
    for glob in list {
        let glob = glob.as_str().ok_or_else(|| format!("{whose} must be a list of strings"))?;
        let leaves = glob.starts_with('/') || glob.split(['/', '\\']).any(|name| name == "..");
        if leaves || glob.is_empty() || glob.contains(char::is_control) {
            return Err(format!("`{}` in {whose} must be a path in the workspace, such as `src/**`", brief(glob)));
        }
        Glob::compile(glob).map_err(|why| format!("`{}` in {whose} is not a glob: {why}", brief(glob)))?;
        globs.push(glob.to_owned());
    }
    Ok(globs)
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<String, String> {
    let fits = |text: &&str| text.chars().count() <= MAX_CHARS && !text.contains(char::is_control);
    match fields.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(value) => value
            .as_str()
            .filter(fits)
            .map(str::to_owned)
            .ok_or_else(|| format!("`{key}` in the manifest must be a line of at most {MAX_CHARS} characters")),
    }
}

fn flag(fields: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| format!("`{key}` in the manifest must be true or false")),
    }
}

fn brief(text: &str) -> String {
    super::sanitize::clean(text, 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_asked_for_is_read() {
        let manifest = HookManifest::read(&json!({"name": "n", "read": ["src/**"], "rewrite": true, "limits": {"cpu_ms": 400}}));
        let manifest = manifest.unwrap();
        assert_eq!((manifest.read.as_slice(), manifest.rewrite, manifest.withhold), (&["src/**".to_owned()][..], true, false));
        assert_eq!((manifest.limits.cpu_ms, manifest.limits.wall_ms), (400, 800));
        assert_eq!(HookManifest::parse(b"{}").unwrap().limits, Limits::default());
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (written, said) in [
            (json!([]), "not a JSON object"),
            (json!({"reads": []}), "`reads` in the manifest is not known"),
            (json!({"read": ["../x"]}), "`../x`"),
            (json!({"read": ["/etc/**"]}), "`/etc/**`"),
            (json!({"read": ["a["]}), "is not a glob"),
            (json!({"read": "src"}), "must be a list"),
            (json!({"read": vec!["a"; 33]}), "at most 32"),
            (json!({"rewrite": 1}), "`rewrite`"),
            (json!({"name": "a\nb"}), "`name`"),
            (json!({"limits": {"cpu_ms": 1_001}}), "from 1 to 1000"),
            (json!({"limits": {"fuel": 1}}), "`fuel`"),
            (json!({"settings": {"type": "list"}}), "`settings`"),
        ] {
            let why = HookManifest::read(&written).unwrap_err();
            assert!(why.contains(said), "{written}: {why}");
        }
        assert!(HookManifest::parse(&[b' '; MAX_BYTES + 1]).unwrap_err().contains("64 KiB"));
        assert!(HookManifest::parse(b"{").unwrap_err().contains("not valid JSON"));
    }
}

//! The workspace's own settings, `.tollgate/config.json`.
//!
//! ```json
//! {
//!   "tools": {
//!     "mcp__github__create_issue": "read",
//!     "my_tool": {"effect": "write", "paths": ["where"]},
//!     "deploy_*": "execute"
//!   },
//!   "programs": "allow",
//!   "unknown": "ask",
//!   "strict": false,
//!   "select": "explicit",
//!   "record": {"failed": true, "rejected": false},
//!   "augment": {"sources": ["notes"]},
//!   "hooks": {"timeout": 30000},
//!   "confine": {"mode": "always", "writable": ["generated/**"]},
//!   "secretPatterns": ["ACME-[0-9]{6}"]
//! }
//! ```
//!
//! | setting | what it decides |
//! | --- | --- |
//! | `tools` | what a tool does: `read`, `write`, `delete`, `move`, `execute`, `shell` or `unknown`; names may be globs; an exact name takes precedence, then the first glob that matches |
//! | `programs` | a program whose effects cannot be seen: `allow` (under an active intent), `ask` or `deny` |
//! | `unknown` | a call whose effects cannot be known: `allow`, `ask` or `deny` |
//! | `strict` | whether intents that cannot be used deny changes, and a ledger that cannot be written makes the gate ask |
//! | `select` | which intent a session works for if it has selected none: `explicit` (none), or `single` (the only one that is open) |
//! | `record` | whether calls that failed, and calls that the gate rejected, are entered in the ledger |
//! | `hooks` | limits of hooks, see [`HookSettings`] |
//! | `extensions` | which extensions are enabled, and the values of their settings, see [`extensions`] |
//! | `confine` | how shell commands are restricted to the scope by the kernel, see [`confine`] |
//! | `secretPatterns` | what is hidden, besides common secrets, in everything the gate says and writes down |
//! | `augment` | which sources are asked about the concepts that a call names, see [`settings`](crate::augment::settings) |
//!
//! `on_fault` and `unattended` are the user's alone and are ignored here. Other keys are not read here. If the file cannot be
//! used, the last good settings stay in force.

pub mod confine;
pub mod extensions;

use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};

use self::extensions::Choices;
use crate::augment::settings::Settings;
use crate::glob::Glob;
use crate::hooks::settings::{self, HookSettings};
use crate::json::document;
use crate::ports::{Facts, FileFault, FileKind, Ports, Root};
use crate::redact::Pattern;
use crate::state;

/// Path of the settings file.
pub const PATH: &str = ".tollgate/config.json";

/// Name under which the last good version is kept.
const COPY: &str = "config.json";

/// Maximum size of the file; a larger one is a mistake.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of patterns that the names of all tools together expand to: each is compared with every tool that is called.
const MAX_TOOL_PATTERNS: usize = 10_000;

/// What happens to a call that is neither clearly right nor clearly wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It does not run.
    Deny,
}

/// Which intent a session works for if it has selected none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    /// None.
    #[default]
    Explicit,
    /// The only one that is open.
    Single,
}

/// What a tool does, according to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolEffect {
    /// Reads its paths.
    Read,
    /// Writes to its paths.
    Write,
    /// Deletes its paths.
    Delete,
    /// Moves its first path to the second.
    Move,
    /// Runs a program.
    Execute,
    /// Runs a shell command.
    Shell,
    /// Has unknown effects.
    Unknown,
}

/// The rule for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolRule {
    /// What it does.
    pub effect: ToolEffect,
    /// The arguments that hold its paths; `None` means those whose names say that they do.
    pub paths: Option<Vec<String>>,
}

/// The workspace's settings.
#[derive(Debug, Clone)]
pub struct Config {
    tools: Vec<(String, Glob, ToolRule)>,
    /// What happens to programs whose effects cannot be seen.
    pub programs: Policy,
    /// What happens to calls whose effects cannot be known.
    pub unknown: Policy,
    /// Whether intents that cannot be used and a ledger that cannot be written stop changes.
    pub strict: bool,
    /// Which intent a session works for if it has selected none.
    pub select: Select,
    /// Whether a failed call is recorded in the ledger even if it changed nothing.
    pub record_failed: bool,
    /// Whether a rejected call is recorded in the ledger.
    pub record_rejected: bool,
    /// How concepts are looked up.
    pub augment: Settings,
    /// Limits of hooks.
    pub hooks: HookSettings,
    /// What is hidden in addition to common secrets.
    pub secrets: Rc<[Pattern]>,
    /// Which extensions are enabled, and the values of their settings.
    pub extensions: Rc<Choices>,
    /// How commands are confined, as far as a workspace may decide.
    pub confine: confine::ConfineSettings,
    /// A key in the file that only the user's own settings may set.
    oversteps: Option<&'static str>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            programs: Policy::Allow,
            unknown: Policy::Ask,
            strict: false,
            select: Select::Explicit,
            record_failed: true,
            record_rejected: false,
            augment: Settings::default(),
            hooks: HookSettings::default(),
            secrets: Rc::default(),
            extensions: Rc::default(),
            confine: confine::ConfineSettings::default(),
            oversteps: None,
        }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFault {
    /// The file cannot be read.
    #[error("`{PATH}` cannot be read: {0}")]
    Unreadable(FileFault),
    /// The file is not JSON, or a setting has an invalid value.
    #[error("`{PATH}` is invalid: {0}")]
    Json(#[from] serde_json::Error),
    /// A tool's entry is invalid.
    #[error("`{PATH}` is invalid: the tool `{tool}`: {why}")]
    Tool {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another part of the settings is invalid.
    #[error("`{PATH}` is invalid: {0}")]
    Other(String),
}

#[derive(Deserialize)]
struct ConfigFields {
    #[serde(default)]
    tools: Map<String, Value>,
    programs: Option<Policy>,
    unknown: Option<Policy>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    select: Select,
    #[serde(default)]
    record: WrittenRecord,
    augment: Option<Value>,
    hooks: Option<Value>,
    confine: Option<Value>,
    extensions: Option<Value>,
    #[serde(default, rename = "secretPatterns")]
    secret_patterns: Value,
    on_fault: Option<Value>,
    unattended: Option<Value>,
}

#[derive(Default, Deserialize)]
struct WrittenRecord {
    failed: Option<bool>,
    rejected: Option<bool>,
}

/// The effects that a tool's entry can name.
pub const EFFECTS: &[&str] = &["read", "write", "delete", "move", "execute", "shell", "unknown"];

/// What a tool's entry can be, for messages.
const ENTRY: &str =
    "use one of `read`, `write`, `delete`, `move`, `execute`, `shell`, `unknown`, or {\"effect\": …, \"paths\": […]}";

/// Parses a tool's entry: an effect, or an object with one.
fn rule(written: &Value) -> Result<ToolRule, serde_json::Error> {
    match written {
        Value::Object(_) => ToolRule::deserialize(written),
        effect => Ok(ToolRule { effect: ToolEffect::deserialize(effect)?, paths: None }),
    }
}

impl Config {
    /// Parses the JSON text.
    pub fn parse(text: &[u8]) -> Result<Self, ConfigFault> {
        let written: ConfigFields = document::read(text)?;
        let users = [("on_fault", &written.on_fault), ("unattended", &written.unattended)];
        let oversteps = users.iter().find(|(_, value)| value.is_some()).map(|(key, _)| *key);
        let mut config = Self { strict: written.strict, select: written.select, oversteps, ..Self::default() };
        config.programs = written.programs.unwrap_or(config.programs);
        config.unknown = written.unknown.unwrap_or(config.unknown);
        config.record_failed = written.record.failed.unwrap_or(config.record_failed);
        config.record_rejected = written.record.rejected.unwrap_or(config.record_rejected);
        if let Some(augment) = &written.augment {
            config.augment = Settings::parse(augment).map_err(ConfigFault::Other)?;
        }
        if let Some(hooks) = &written.hooks {
            config.hooks = HookSettings::parse(hooks).map_err(ConfigFault::Other)?;
        }
        if let Some(confine) = &written.confine {
            config.confine = confine::ConfineSettings::parse(confine).map_err(ConfigFault::Other)?;
        }
        if let Some(extensions) = &written.extensions {
            config.extensions = Choices::parse(extensions).map_err(ConfigFault::Other)?.into();
        }
        config.secrets = settings::patterns(&written.secret_patterns).map_err(ConfigFault::Other)?.into();
        let mut patterns = 0;
        for (tool, written) in written.tools {
            let glob = Glob::compile(&tool).map_err(|why| ConfigFault::Tool { tool: tool.clone(), why: why.to_string() })?;
            patterns += glob.size();
            if patterns > MAX_TOOL_PATTERNS {
                let why = format!(
                    "this name and those before it expand to more than {MAX_TOOL_PATTERNS} patterns; use fewer names or fewer braces"
                );
                return Err(ConfigFault::Tool { tool, why });
            }
            match rule(&written) {
                Ok(rule) => config.tools.push((tool, glob, rule)),
                Err(_) => return Err(ConfigFault::Tool { tool, why: ENTRY.to_owned() }),
            }
        }
        Ok(config)
    }

    /// What the workspace says about a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolRule> {
        let exact = self.tools.iter().find(|(written, ..)| written == name);
        exact.or_else(|| self.tools.iter().find(|(_, glob, _)| glob.matches(name))).map(|(.., rule)| rule)
    }
}

/// The settings, parsed once and kept until the file changes.
#[derive(Debug, Default)]
pub struct ConfigCache {
    stamp: u64,
    good: Rc<Config>,
}

impl ConfigCache {
    /// The settings as last seen.
    pub fn last(&self) -> Rc<Config> {
        self.good.clone()
    }

    /// Updates the settings from what the host saw of the file; returns whether they were read again.
    pub fn refresh(&mut self, file: &Facts, ports: &Ports) -> bool {
        // A file that cannot be inspected has no stamp, but that does not make it missing.
        let stamp = if file.kind == FileKind::Missing { 0 } else { file.stamp.max(1) };
        if self.stamp == stamp {
            return false;
        }
        let first = self.stamp == 0;
        self.stamp = stamp;
        if stamp == 0 {
            self.apply(Config::default(), ports);
            return true;
        }
        let text = ports.workspace.read(Root::Project, PATH, MAX_BYTES);
        match text.as_deref().map_err(|fault| ConfigFault::Unreadable(*fault)).and_then(Config::parse) {
            Ok(config) => {
                if let Some(key) = config.oversteps {
                    ports.warn(&format!("`{key}` in `{PATH}` is ignored: only `~/{PATH}`, the user's own settings, can set it"));
                }
                if let Some(path) = config.confine.paths_outside().next() {
                    ports.warn(&format!(
                        "`{path}` in `confine.writable` of `{PATH}` is ignored: it is outside the workspace, and only `~/{PATH}`, the user's own settings, can name it"
                    ));
                }
                self.apply(config, ports);
                state::keep_good(COPY, text.as_deref().unwrap_or_default(), ports);
            }
            Err(fault) => {
                ports.warn(&format!("{fault}; the last good settings stay in force"));
                // A process that has just started has no good settings yet.
                let kept = if first { state::last_good(COPY, ports).and_then(|text| Config::parse(&text).ok()) } else { None };
                let Some(config) = kept else { return false };
                self.apply(config, ports);
            }
        }
        true
    }

    fn apply(&mut self, config: Config, ports: &Ports) {
        ports.secrets.set_patterns(config.secrets.clone());
        self.good = Rc::new(config);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_name_goes_before_a_glob() {
        let config = Config::parse(
            br#"{/* ours */ "tools": {"a_*": "execute", "a_b": {"effect": "write", "paths": ["to"]}}, "later": 1}"#,
        )
        .unwrap();
        assert_eq!(config.tool("a_b").unwrap(), &ToolRule { effect: ToolEffect::Write, paths: Some(vec!["to".to_owned()]) });
        assert_eq!(config.tool("a_c").unwrap().effect, ToolEffect::Execute);
        assert_eq!(config.tool("b"), None);
        assert_eq!((config.programs, config.unknown, config.strict), (Policy::Allow, Policy::Ask, false));
    }

    #[test]
    fn faults_say_where() {
        for (text, said) in [
            ("{\n  \"programs\": \"maybe\"}", "line 2"),
            ("{", "line 1"),
            (r#"{"tools": {"x": "fly"}}"#, "the tool `x`: use one of `read`"),
            (r#"{"tools": {"x": {"paths": ["to"]}}}"#, "the tool `x`: use one of `read`"),
            (r#"{"tools": {"x": {"effect": "read", "paths": [1]}}}"#, "the tool `x`: use one of `read`"),
            (r#"{"tools": {"x[": "read"}}"#, "the tool `x[`"),
            (r#"{"hooks": {"timeout": "soon"}}"#, "`hooks.timeout`"),
            (r#"{"secretPatterns": ["a", "("]}"#, "`secretPatterns[1]`"),
            (r#"{"augment": {"sources": ["x"]}}"#, "the source \"x\" is invalid"),
        ] {
            let fault = Config::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains(said), "{text}: {fault}");
        }
    }
}

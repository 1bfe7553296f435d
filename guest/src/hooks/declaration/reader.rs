//! Reads hook declarations from JSON.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::fields::MAX_FAULTS;
use super::{ANY_CALL, Action, DeclarationFault, FieldReader, Hook, Retry};
use crate::glob::Glob;
use crate::hooks::claude::matcher::Matcher;
use crate::hooks::claude::{self, Declared};
use crate::hooks::components::approved;
use crate::hooks::components::grant::Allowed;
use crate::hooks::settings::{MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, patterns};
use crate::hooks::{bundle, event};
use crate::json::position::PathStep;
use crate::redact::Pattern;

/// The only version of the format so far.
const SCHEMA_VERSION: u64 = 1;

/// Maximum number of hooks in a file, and length of an id; more is a mistake.
const MAX_HOOKS: usize = 10_000;
const LONGEST_ID: usize = 128;
/// Maximum number of file patterns for one hook; more are a mistake.
const MAX_FILE_PATTERNS: usize = 32;
/// Maximum number of patterns that the braces of all patterns in a file may expand to.
const MAX_GLOBS_SIZE: usize = 20_000;
/// Maximum size of all secret patterns in a file together, in automaton states.
const MAX_PATTERNS_SIZE: usize = 200_000;

/// Reads a file of declarations: all hooks, or everything that is wrong with it.
pub fn read(document: &Value) -> Result<Vec<Hook>, Vec<DeclarationFault>> {
    let mut reader = FieldReader::default();
    let mut hooks: Vec<Hook> = Vec::new();
    if let Some(Value::Object(events)) = document.get("hooks") {
        return reader.claude_hooks(events);
    }
    let list = match document {
        Value::Array(list) => Some(list),
        Value::Object(fields) => reader.check_members(fields, |reader, key, value| match (key, value) {
            ("hooks", Value::Array(_)) | ("$schema" | "description", Value::String(_)) => {}
            ("hooks", _) => reader.fault("must be a list of hooks"),
            ("schemaVersion", version) if version.as_u64() == Some(SCHEMA_VERSION) => {}
            ("schemaVersion", _) => reader.fault("must be 1; newer files need a newer tollgate"),
            ("$schema" | "description", _) => reader.fault("must be a string"),
            _ => reader.fault("is not known; expected `hooks` or `schemaVersion`"),
        }),
        _ => None,
    };
    match list {
        None if reader.faults.is_empty() => {
            reader.fault("must be an object such as {\"hooks\": [{\"id\": …, \"trigger\": …, \"prompt\": …}]}")
        }
        Some(list) if list.len() > MAX_HOOKS => reader.fault("has more than 10,000 hooks"),
        Some(list) => {
            let mut known: HashMap<String, usize> = HashMap::new();
            for (at, written) in list.iter().enumerate() {
                reader.path = if document.is_array() { Vec::new() } else { vec![PathStep::Key("hooks".to_owned())] };
                reader.path.push(PathStep::At(at));
                if let Some(hook) = reader.hook(written) {
                    if known.insert(hook.id.clone(), at).is_some() {
                        reader.fault_at("id", &format!("`{}` is declared twice; give each hook a unique id", hook.id));
                    }
                    hooks.push(hook);
                }
            }
        }
        None => {}
    }
    if reader.faults.is_empty() { Ok(hooks) } else { Err(reader.faults) }
}

/// Reads one declaration that was not written in a file.
pub fn read_one(written: &Value) -> Result<Hook, Vec<DeclarationFault>> {
    let mut reader = FieldReader::default();
    let hook = reader.hook(written);
    hook.filter(|_| reader.faults.is_empty()).ok_or(reader.faults)
}

impl FieldReader {
    /// Checks every member of an object; returns the list of hooks if the object is the document.
    fn check_members<'v>(
        &mut self,
        fields: &'v Map<String, Value>,
        look: impl Fn(&mut Self, &str, &Value),
    ) -> Option<&'v Vec<Value>> {
        for (key, value) in fields {
            self.path.push(PathStep::Key(key.clone()));
            look(self, key, value);
            self.path.pop();
        }
        let list = fields.get("hooks").and_then(Value::as_array);
        if list.is_none() && self.path.is_empty() && !fields.contains_key("hooks") {
            self.fault("has no `hooks`; add a list");
        }
        list
    }

    /// The hooks of a file in Claude Code's format.
    fn claude_hooks(mut self, events: &Map<String, Value>) -> Result<Vec<Hook>, Vec<DeclarationFault>> {
        let mut hooks = Vec::new();
        for handler in claude::settings::handlers(events) {
            self.path = handler.path;
            match handler.taken {
                Ok(declared) => hooks.extend(self.hook(&declared)),
                Err(why) => self.fault(&why),
            }
        }
        if self.faults.is_empty() { Ok(hooks) } else { Err(self.faults) }
    }

    /// Reads the fields of a hook in Claude Code's format, and replaces its event by our name for it.
    fn claude(&mut self, fields: &Map<String, Value>, trigger: &mut String) -> Option<Declared> {
        let format = self.text(fields, "format");
        let matcher = self.text(fields, "matcher");
        let on_failure = self.text(fields, "onFailure");
        let from = self.text(fields, "from").map(str::to_owned);
        if format.is_none() {
            for key in ["matcher", "onFailure", "from"].into_iter().filter(|key| fields.contains_key(*key)) {
                self.fault_at(key, "is only allowed with `\"format\": \"claude-code\"`");
            }
            return None;
        }
        if format != Some(claude::FORMAT) {
            self.fault_at("format", "must be `claude-code`");
        }
        if on_failure.is_some_and(|said| !matches!(said, "block" | "continue")) {
            self.fault_at("onFailure", "must be `block` or `continue`");
        }
        let Some((event, ours)) = claude::event(trigger) else {
            self.fault(&format!(
                "waits for `{trigger}`, which is not a supported Claude Code event; use one of: {}",
                claude::events()
            ));
            return None;
        };
        ours.clone_into(trigger);
        match Matcher::compile(matcher.unwrap_or_default()) {
            Ok(matcher) => Some(Declared { event, matcher, from, blocks_on_failure: on_failure == Some("block") }),
            Err(why) => {
                self.fault_at("matcher", &why);
                None
            }
        }
    }

    pub(crate) fn hook(&mut self, written: &Value) -> Option<Hook> {
        let faults = self.faults.len();
        let Some(fields) = written.as_object() else {
            self.fault("must be an object with `id`, `trigger`, and `prompt`, `command` or `component`");
            return None;
        };
        let id = self.name(fields, "id", "name");
        let is_around_calls =
            fields.contains_key("component") && !fields.contains_key("trigger") && !fields.contains_key("event");
        let trigger = if is_around_calls { Some(ANY_CALL.to_owned()) } else { self.name(fields, "trigger", "event") };
        let pattern = self.text(fields, "pattern").and_then(|pattern| match Glob::compile(pattern) {
            Ok(glob) => {
                self.globs_size += glob.size();
                if self.globs_size > MAX_GLOBS_SIZE {
                    self.fault_at("pattern", "makes the patterns of this file expand to too many in total");
                }
                Some(glob)
            }
            Err(fault) => {
                self.fault_at("pattern", &format!("is not a pattern such as `src/**/*.ts`: {fault}"));
                None
            }
        });
        let action = self.action(fields);
        let mut hook = Hook {
            id: id.unwrap_or_default(),
            trigger: trigger.unwrap_or_default(),
            pattern,
            action: action.unwrap_or(Action::Prompt(String::new())),
            enabled: self.flag(fields, "enabled", true),
            concurrency: usize::try_from(self.number(fields, "concurrency", 1..=256).unwrap_or(4)).unwrap_or(4),
            timeout_ms: self.number(fields, "timeoutMs", MIN_TIMEOUT_MS..=MAX_TIMEOUT_MS),
            retry: self.retry(fields.get("retry")),
            debounce_ms: self.number(fields, "debounceMs", 0..=MAX_TIMEOUT_MS).unwrap_or(0),
            repo_root: self.text(fields, "repoRoot").map(str::to_owned),
            secrets: Vec::new(),
            files: self.files(fields),
            confine: self.flag(fields, "confine", false),
            claude: None,
            owner: None,
            allowed: Allowed::default(),
            settings: None,
            written: written.clone(),
        };
        match approved::read_declared_fields(fields) {
            Ok((allowed, settings)) => (hook.allowed, hook.settings) = (allowed, settings),
            Err((key, why)) => self.fault_at(key, &why),
        }
        if hook.confine && !matches!(hook.action, Action::Command { .. }) {
            self.fault_at("confine", "is only allowed with `command`");
        }
        hook.claude = self.claude(fields, &mut hook.trigger);
        if hook.claude.is_some() && !matches!(hook.action, Action::Command { .. }) {
            self.fault("is in Claude Code's format, so it must have a `command`");
        }
        match patterns(fields.get("secretPatterns").unwrap_or(&Value::Null)) {
            Ok(patterns) => {
                self.patterns_size += patterns.iter().map(Pattern::size).sum::<usize>();
                if self.patterns_size > MAX_PATTERNS_SIZE {
                    self.fault_at("secretPatterns", "make the patterns of this file too large in total");
                }
                hook.secrets = patterns;
            }
            Err(why) => self.fault_at("secretPatterns", &why),
        }
        let allow_git = self.flag(fields, "allowGit", false);
        if event::is_git(&hook.trigger) && (!allow_git || hook.repo_root.is_none()) {
            self.fault_at("trigger", "runs at commits, so `\"allowGit\": true` and a `repoRoot` such as `\".\"` are needed");
        }
        if fields.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
            self.fault_at("metadata", "must be an object");
        }
        if fields.get("schemaVersion").is_some_and(|version| version.as_u64() != Some(SCHEMA_VERSION)) {
            self.fault_at("schemaVersion", "must be 1; newer hooks need a newer tollgate");
        }
        for key in fields.keys() {
            if !KEYS.contains(&key.as_str()) {
                self.fault_at(key, &format!("is not known; expected one of: {}", KEYS.join(", ")));
            }
        }
        (self.faults.len() == faults && faults < MAX_FAULTS).then_some(hook)
    }

    /// Reads a required name, under either of two keys.
    fn name(&mut self, fields: &Map<String, Value>, key: &'static str, other: &'static str) -> Option<String> {
        let (key, value) = match (fields.get(key), fields.get(other)) {
            (Some(_), Some(_)) => {
                self.fault_at(other, &format!("means the same as `{key}`; use only one of them"));
                return None;
            }
            (Some(value), None) => (key, value),
            (None, Some(value)) => (other, value),
            (None, None) => {
                self.fault(&format!("has no `{key}` (or `{other}`)"));
                return None;
            }
        };
        match value.as_str() {
            Some(name) if !name.trim().is_empty() && name.len() <= LONGEST_ID && !name.contains(char::is_control) => {
                return Some(name.to_owned());
            }
            _ => self.fault_at(key, "must be a string of 1 to 128 characters"),
        }
        None
    }

    fn retry(&mut self, written: Option<&Value>) -> Retry {
        let mut retry = Retry { count: 0, backoff_ms: 1_000, factor_thousandths: 2_000, jitter: false };
        let Some(written) = written else { return retry };
        let Some(fields) = written.as_object() else {
            self.fault_at("retry", "must be an object such as {\"count\": 2}");
            return retry;
        };
        self.path.push(PathStep::Key("retry".to_owned()));
        retry.count = self.number(fields, "count", 0..=100).unwrap_or(0);
        retry.backoff_ms = self.number(fields, "backoffMs", 0..=MAX_TIMEOUT_MS).unwrap_or(retry.backoff_ms);
        retry.jitter = self.flag(fields, "jitter", false);
        if let Some(factor) = fields.get("backoffFactor") {
            match factor.as_f64().filter(|factor| (1.0..=100.0).contains(factor)) {
                Some(factor) => retry.factor_thousandths = (factor * 1_000.0) as u64,
                None => self.fault_at("backoffFactor", "must be a number from 1 to 100"),
            }
        }
        for key in fields.keys() {
            if !["count", "backoffMs", "backoffFactor", "jitter"].contains(&key.as_str()) {
                self.fault_at(key, "is not known; expected one of: count, backoffMs, backoffFactor, jitter");
            }
        }
        self.path.pop();
        retry
    }

    fn files(&mut self, fields: &Map<String, Value>) -> Option<Vec<bundle::FilePattern>> {
        let written = fields.get("files")?;
        if !fields.contains_key("command") {
            self.fault_at("files", "is only allowed with `command`");
        }
        let Some(list) = written.as_array().filter(|list| list.len() <= MAX_FILE_PATTERNS) else {
            self.fault_at("files", "must be a list of at most 32 patterns such as `hooks/lib/**`");
            return None;
        };
        let mut patterns = Vec::new();
        for pattern in list {
            let compiled =
                pattern.as_str().ok_or_else(|| "must be a list of strings".to_owned()).and_then(bundle::FilePattern::compile);
            match compiled {
                Ok(pattern) => patterns.push(pattern),
                Err(why) => self.fault_at("files", &why),
            }
        }
        Some(patterns)
    }

    fn action(&mut self, fields: &Map<String, Value>) -> Option<Action> {
        let shell = self.flag(fields, "shell", false);
        let named: Vec<&str> = ["prompt", "command", "component"].into_iter().filter(|key| fields.contains_key(*key)).collect();
        let [kind] = named.as_slice() else {
            self.fault("must have one of `prompt`, `command` and `component`");
            return None;
        };
        if *kind != "command" && (shell || fields.contains_key("args")) {
            self.fault("has `args` or `shell`, which are only allowed with `command`");
        }
        let value = fields.get(*kind)?;
        let text = value.as_str().filter(|text| !text.trim().is_empty());
        let action = match (*kind, text) {
            ("prompt", Some(text)) => Some(Action::Prompt(text.to_owned())),
            ("component", Some(text)) => is_component_path(text).then(|| Action::Component(text.to_owned())),
            ("command", text) => {
                let mut words: Vec<String> = text.map(str::to_owned).into_iter().collect();
                let listed = if words.is_empty() { value.as_array() } else { fields.get("args").and_then(Value::as_array) };
                let more = listed.into_iter().flatten();
                words.extend(more.filter_map(|word| word.as_str().map(str::to_owned)));
                let expected = usize::from(text.is_some()) + listed.map_or(0, Vec::len);
                let fits = !words.is_empty()
                    && words.len() == expected
                    && !words.iter().any(|word| word.contains('\0'))
                    && words.first().is_some_and(|word| !word.is_empty())
                    && fields.get("args").is_none_or(|args| args.is_array() && text.is_some())
                    && (!shell || words.len() == 1 && text.is_some());
                fits.then_some(Action::Command { words, shell })
            }
            _ => None,
        };
        if action.is_none() {
            self.fault_at(
                kind,
                match *kind {
                    "command" => {
                        "must be a list of words, or a string with `args`; a string for a shell needs `\"shell\": true` and no `args`"
                    }
                    "component" => {
                        "must be the path of a `.wasm` file below the folder of the workspace, such as `hooks/guard.wasm`"
                    }
                    _ => "must be a string",
                },
            );
        }
        action
    }
}

/// Whether a path can be that of a component: plain names only, downwards.
fn is_component_path(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains([':', '\\']);
    path.ends_with(".wasm") && path.split('/').all(is_name) && !path.contains(char::is_control)
}

/// All keys that a declaration may have.
const KEYS: &[&str] = &[
    "id",
    "name",
    "trigger",
    "event",
    "pattern",
    "prompt",
    "command",
    "args",
    "shell",
    "component",
    "allow",
    "settings",
    "files",
    "confine",
    "format",
    "matcher",
    "onFailure",
    "from",
    "enabled",
    "concurrency",
    "timeoutMs",
    "retry",
    "debounceMs",
    "allowGit",
    "repoRoot",
    "secretPatterns",
    "metadata",
    "schemaVersion",
    "description",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(document: &Value) -> Vec<String> {
        let shown = |fault: DeclarationFault| {
            let path: String = fault.path.iter().map(ToString::to_string).collect();
            format!("${path} {}", fault.message)
        };
        read(document).err().unwrap_or_default().into_iter().map(shown).collect()
    }

    #[test]
    fn every_fault_is_found_with_its_path() {
        let good = json!({"id": "a", "trigger": "before_tool", "command": ["x"]});
        let with = |key: &str, value: Value| {
            let mut hook = good.clone();
            hook[key] = value;
            json!({"hooks": [{"id": "first", "trigger": "t", "prompt": "p"}, hook]})
        };
        assert_eq!(faults(&with("enabled", json!(true))), Vec::<String>::new());
        for (document, said) in [
            (json!(3), "$ must be an object"),
            (json!({}), "$ has no `hooks`"),
            (json!({"hooks": 3}), "$.hooks must be a list"),
            (json!({"hooks": [], "schemaVersion": 2}), "$.schemaVersion must be 1"),
            (json!({"hooks": [], "hook": 1}), "$.hook is not known"),
            (json!({"hooks": [3]}), "$.hooks[0] must be an object"),
            (json!([{"id": "a"}]), "$[0] has no `trigger`"),
            (with("id", json!("first")), "$.hooks[1].id `first` is declared twice"),
            (with("id", json!("")), "$.hooks[1].id must be a string"),
            (with("name", json!("b")), "$.hooks[1].name means the same as `id`"),
            (with("trigger", json!("gitCommit")), "$.hooks[1].trigger runs at commits"),
            (with("pattern", json!("[")), "$.hooks[1].pattern is not a pattern"),
            (with("prompt", json!("p")), "$.hooks[1] must have one of"),
            (with("command", json!([])), "$.hooks[1].command must be a list"),
            (with("command", json!(["a", 1])), "$.hooks[1].command must be a list"),
            (with("args", json!(["x"])), "$.hooks[1].command must be a list"),
            (with("shell", json!(true)), "$.hooks[1].command must be a list"),
            (with("timeoutMs", json!(10)), "$.hooks[1].timeoutMs must be a whole number from 1000"),
            (with("concurrency", json!(0)), "$.hooks[1].concurrency must be a whole number from 1"),
            (with("retry", json!({"count": -1})), "$.hooks[1].retry.count must be"),
            (with("retry", json!({"backoffFactor": 0.5})), "$.hooks[1].retry.backoffFactor must be a number from 1"),
            (with("retry", json!({"tries": 1})), "$.hooks[1].retry.tries is not known"),
            (
                with("secretPatterns", json!(["("])),
                "$.hooks[1].secretPatterns `secretPatterns[0]` is not a valid regular expression",
            ),
            (with("metadata", json!(1)), "$.hooks[1].metadata must be an object"),
            (with("files", json!("a")), "$.hooks[1].files must be a list"),
            (with("files", json!([1])), "$.hooks[1].files must be a list of strings"),
            (with("files", json!(["../x"])), "$.hooks[1].files `../x` must be a path of the workspace"),
            (with("files", json!(["a["])), "$.hooks[1].files `a[` is not a pattern"),
            (with("files", json!(vec!["a"; 33])), "$.hooks[1].files must be a list of at most 32"),
            (json!([{"id": "a", "trigger": "t", "prompt": "p", "files": []}]), "$[0].files is only allowed with `command`"),
            (with("confine", json!("yes")), "$.hooks[1].confine must be true or false"),
            (json!([{"id": "a", "trigger": "t", "prompt": "p", "confine": true}]), "$[0].confine is only allowed with `command`"),
            (with("timoutMs", json!(1)), "$.hooks[1].timoutMs is not known"),
            (with("settings", json!({})), "$.hooks[1].settings is only allowed with `component`"),
            (with("allow", json!({})), "$.hooks[1].allow is only allowed with `component`"),
            (json!([{"id": "a", "component": "../x.wasm"}]), "$[0].component must be the path of a `.wasm` file"),
            (json!([{"id": "a", "component": "/x.wasm"}]), "$[0].component must be the path of a `.wasm` file"),
            (json!([{"id": "a", "component": "x.wat"}]), "$[0].component must be the path of a `.wasm` file"),
            (json!([{"id": "a", "component": "x.wasm", "allow": {"write": true}}]), "$[0].allow `write` is not known"),
            (json!([{"id": "a", "component": "x.wasm", "settings": []}]), "$[0].settings must be an object"),
        ] {
            let found = faults(&document);
            assert!(found.iter().any(|fault| fault.starts_with(said)), "{document}: {found:?}");
        }
        let many = faults(&json!({"hooks": [{"id": 1, "trigger": 2, "prompt": 3, "enabled": 4}]}));
        assert_eq!(many.len(), 4, "{many:?}");
    }
}

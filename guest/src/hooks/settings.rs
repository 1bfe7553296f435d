//! The limits of hooks: `hooks` in `.tollgate/config.json`.
//!
//! ```json
//! {"hooks": {"timeout": 30000, "concurrency": 8, "queue": 10000, "when_full": "refuse"}}
//! ```
//!
//! | setting | what it decides |
//! | --- | --- |
//! | `timeout` | how long a hook of the workspace may take if it does not say itself, in milliseconds; if not set, 30,000 for commands of lifecycle events and 60,000 for others |
//! | `concurrency` | how many runs may be under way at the same time, of all hooks together |
//! | `queue` | how many runs may wait |
//! | `when_full` | which run is left out if too many wait: the newest (`refuse`) or the oldest that waits (`drop_oldest`) |
//!
//! In the user's own `~/.tollgate/config.json`, `timeout` applies to the user's hooks, and to a workspace's if the workspace says
//! nothing. Only the user decides who answers prompts, so `prompt_runner` (the words of a command that reads the prompt from its
//! input) counts only there.

use serde_json::Value;

use crate::ports::{Ports, Root};
use crate::redact::Pattern;

/// Minimum timeout of a hook.
pub const MIN_TIMEOUT_MS: u64 = 1_000;

/// Maximum timeout of a hook: a day.
pub const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// Maximum number of patterns in a list; more are a mistake.
const MAX_PATTERNS: usize = 100;

/// Maximum number of automaton states of all patterns in a list, since they are built and kept together.
const MAX_PATTERNS_SIZE: usize = 100_000;

/// The user's own settings, below the home folder.
pub(super) const USER_CONFIG: &str = ".tollgate/config.json";

/// The limits of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookSettings {
    /// How long a hook may take if it does not say itself.
    pub timeout_ms: Option<u64>,
    /// How many runs may be under way.
    pub concurrency: usize,
    /// How many runs may wait.
    pub queue: usize,
    /// Whether the oldest run that waits gives way to the newest.
    pub drop_oldest: bool,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self { timeout_ms: None, concurrency: 8, queue: 10_000, drop_oldest: false }
    }
}

impl HookSettings {
    /// Reads the settings, or says what is wrong with them.
    pub fn parse(written: &Value) -> Result<Self, String> {
        let Some(written) = written.as_object() else { return Err("`hooks` must be an object".to_owned()) };
        let mut settings = Self::default();
        for (key, value) in written {
            let number = |range: std::ops::RangeInclusive<u64>| value.as_u64().filter(|number| range.contains(number));
            let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let fits = match key.as_str() {
                "timeout" => number(MIN_TIMEOUT_MS..=MAX_TIMEOUT_MS).map(|number| settings.timeout_ms = Some(number)),
                "concurrency" => number(1..=256).map(|number| settings.concurrency = small(number)),
                "queue" => number(1..=100_000).map(|number| settings.queue = small(number)),
                "when_full" => {
                    settings.drop_oldest = value.as_str() == Some("drop_oldest");
                    value.as_str().filter(|policy| ["refuse", "drop_oldest"].contains(policy)).map(drop)
                }
                // Read only from the user's own file.
                "prompt_runner" => Some(()),
                _ => None,
            };
            if fits.is_none() {
                return Err(format!(
                    "`hooks.{key}` cannot be {value}; expected `timeout` (milliseconds, at least 1000), `concurrency` (1 to 256), `queue` (1 to 100000) and `when_full` (`refuse` or `drop_oldest`)"
                ));
            }
        }
        Ok(settings)
    }
}

/// The user's settings for hooks, whatever the workspace.
#[derive(Debug, Clone, Default)]
pub struct UserHookSettings {
    /// How long a hook may take if it does not say itself.
    pub timeout_ms: Option<u64>,
    /// The words of the command that answers prompts.
    pub prompt_runner: Option<Value>,
}

impl UserHookSettings {
    /// Reads the settings; what is invalid counts as missing.
    pub(super) fn read(ports: &Ports) -> Self {
        let text = ports.workspace.read(Root::Home, USER_CONFIG, 1 << 20).unwrap_or_default();
        let settings: Value = serde_json::from_slice(&text).unwrap_or_default();
        let hooks = settings.get("hooks").unwrap_or(&Value::Null);
        let is_command =
            |words: &&Value| words.as_array().is_some_and(|words| !words.is_empty() && words.iter().all(Value::is_string));
        Self {
            timeout_ms: HookSettings::parse(hooks).ok().and_then(|settings| settings.timeout_ms),
            prompt_runner: hooks.get("prompt_runner").filter(is_command).cloned(),
        }
    }
}

/// Compiles patterns of secrets, or says what is wrong with them.
pub fn patterns(written: &Value) -> Result<Vec<Pattern>, String> {
    let written = match written {
        Value::Null => return Ok(Vec::new()),
        Value::Array(written) if written.len() <= MAX_PATTERNS => written,
        _ => return Err(format!("`secretPatterns` must be a list of at most {MAX_PATTERNS} regular expressions")),
    };
    let (mut patterns, mut size) = (Vec::new(), 0);
    for (at, pattern) in written.iter().enumerate() {
        let compiled = match pattern.as_str() {
            Some(text) => Pattern::compile(text).map_err(|fault| fault.to_string()),
            None => Err("it is not a string".to_owned()),
        };
        let compiled = compiled.and_then(|compiled| {
            size += compiled.size();
            if size > MAX_PATTERNS_SIZE {
                Err("this pattern and those before it are too large in total; remove some".to_owned())
            } else {
                Ok(compiled)
            }
        });
        let compiled = compiled.map_err(|why| format!("`secretPatterns[{at}]` is not a valid regular expression: {why}"));
        patterns.push(compiled?);
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_used_is_named() {
        for (written, said) in [
            (json!([]), "`hooks` must be"),
            (json!({"timeout": 10}), "`hooks.timeout` cannot be 10"),
            (json!({"concurrency": 0}), "`hooks.concurrency`"),
            (json!({"when_full": "wait"}), "`hooks.when_full`"),
            (json!({"slots": 3}), "`hooks.slots`"),
        ] {
            let fault = HookSettings::parse(&written).unwrap_err();
            assert!(fault.contains(said), "{written}: {fault}");
        }
        let read = HookSettings::parse(&json!({"timeout": 5000, "queue": 3, "when_full": "drop_oldest"})).unwrap();
        assert_eq!(read, HookSettings { timeout_ms: Some(5_000), concurrency: 8, queue: 3, drop_oldest: true });
    }
}

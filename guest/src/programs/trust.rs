//! Determines whether a program would run its hooks, by reading what a person has trusted from where the program stores it.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// Whether a program trusts a hook, or the folder whose hooks it would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    /// The hook runs.
    Trusted,
    /// No decision has been made, so the hook does not run.
    Undecided,
    /// It was trusted but has changed since, so the hook does not run.
    Changed,
    /// A person decided that the hook does not run.
    Refused,
}

/// The key under which Codex stores the state of a hook: the hooks file, the event, the index of the group and the index of the
/// hook.
pub fn hook_key(file: &str, event: &str, group: usize, hook: usize) -> String {
    format!("{file}:{}:{group}:{hook}", snake(event))
}

/// What Codex hashes when a person trusts a hook: the hook as Codex parsed it, not the text of its file. `None` if the entry has
/// no such hook, or if the hook is not a command.
pub fn hook_hash(event: &str, entry: &Value, hook: usize) -> Option<String> {
    let handler = entry.get("hooks")?.get(hook)?;
    if handler.get("type")?.as_str()? != "command" {
        return None;
    }
    let timeout = handler.get("timeout").and_then(Value::as_u64);
    let timeout = if event == "SessionEnd" { timeout.unwrap_or(1).clamp(1, 3) } else { timeout.unwrap_or(600).max(1) };
    let is_async = handler.get("async").and_then(Value::as_bool).unwrap_or(false);
    let mut normal = json!({"type": "command", "command": handler.get("command")?, "timeout": timeout, "async": is_async});
    if let (Some(fields), Some(message)) = (normal.as_object_mut(), handler.get("statusMessage").filter(|said| !said.is_null())) {
        fields.insert("statusMessage".to_owned(), message.clone());
    }
    let mut identity = Map::from_iter([("event_name".to_owned(), snake(event).into())]);
    // Codex ignores the matcher for the end of a turn and for prompts.
    let matcher = entry.get("matcher").filter(|matcher| !matcher.is_null());
    if let Some(matcher) = matcher.filter(|_| !matches!(event, "Stop" | "UserPromptSubmit")) {
        identity.insert("matcher".to_owned(), matcher.clone());
    }
    identity.insert("hooks".to_owned(), json!([normal]));
    let digest = Sha256::digest(super::payload::canonical(&identity.into()).to_string());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256:{hex}"))
}

/// Whether Codex runs a hook, according to its `config.toml`. If there is no hash to compare with, any stored hash counts.
pub fn hook_trust(config: &str, key: &str, hash: Option<&str>) -> TrustState {
    let (mut trusted, mut enabled, mut is_ours) = (None, None, false);
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let name = header.strip_suffix(']').unwrap_or(header).trim();
            let quoted = name.strip_prefix("hooks.state.").map(str::trim);
            is_ours = quoted.and_then(unquote).as_deref() == Some(key);
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_ours) {
            let value = value.split(" #").next().unwrap_or_default().trim();
            match name.trim() {
                "trusted_hash" => trusted = unquote(value),
                "enabled" => enabled = Some(value == "true"),
                _ => {}
            }
        }
    }
    match (enabled, trusted) {
        (Some(false), _) => TrustState::Refused,
        (_, None) => TrustState::Undecided,
        (_, Some(trusted)) if hash.is_some_and(|hash| hash != trusted) => TrustState::Changed,
        (_, Some(_)) => TrustState::Trusted,
    }
}

/// Whether Gemini CLI, or a fork of it, trusts a folder, according to its `trustedFolders.json`: the longest path that contains
/// the folder decides. Paths are absolute and real, separated by `/`.
pub fn folder_trust(trusted: &Value, folder: &str) -> TrustState {
    let rules = trusted.as_object().into_iter().flatten();
    let holding = rules.filter_map(|(path, level)| {
        let level = level.as_str()?;
        let path = path.trim_end_matches('/');
        let root = if level == "TRUST_PARENT" { path.rsplit_once('/').map_or("", |(parent, _)| parent) } else { path };
        let within = folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        within.then_some((path.len(), level))
    });
    match holding.max_by_key(|(length, _)| *length) {
        Some((_, "TRUST_FOLDER" | "TRUST_PARENT")) => TrustState::Trusted,
        Some((_, "DO_NOT_TRUST")) => TrustState::Refused,
        _ => TrustState::Undecided,
    }
}

/// Whether Copilot trusts a folder, according to its `config.json`, which lists trusted folders; folders below them are trusted
/// too.
pub fn listed_trust(config: &Value, folder: &str) -> TrustState {
    let lists = LISTS.iter().filter_map(|name| config.get(name)?.as_array());
    let mut listed = lists.flatten().filter_map(Value::as_str).map(|path| path.replace('\\', "/"));
    let holds = |path: String| {
        let below = folder.strip_prefix(path.trim_end_matches('/'));
        !path.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if listed.any(holds) { TrustState::Trusted } else { TrustState::Undecided }
}

/// Copilot's current name for the list, and its former name.
const LISTS: &[&str] = &["trustedFolders", "trusted_folders"];

/// Converts `PreToolUse` to `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for (at, character) in event.char_indices() {
        if character.is_ascii_uppercase() && at > 0 {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    name
}

/// The content of a quoted TOML key or value; `None` if it is written in another way.
fn unquote(text: &str) -> Option<String> {
    if let Some(literal) = text.strip_prefix('\'') {
        return literal.strip_suffix('\'').map(str::to_owned);
    }
    // Between double quotes, TOML escapes like JSON, as far as paths need it.
    serde_json::from_str::<String>(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks() {
        let key = hook_key("/home/u/.codex/hooks.json", "PreToolUse", 0, 0);
        assert_eq!(key, "/home/u/.codex/hooks.json:pre_tool_use:0:0");
        let header = format!("model = \"x\"\n[hooks.state.\"{key}\"]\n");
        for (config, hash, expected) in [
            (format!("{header}trusted_hash = \"sha256:a\"\n"), Some("sha256:a"), TrustState::Trusted),
            (format!("{header}trusted_hash = \"sha256:a\" # by hand\n"), None, TrustState::Trusted),
            (format!("{header}trusted_hash = \"sha256:a\"\n"), Some("sha256:b"), TrustState::Changed),
            (format!("{header}trusted_hash = \"sha256:a\"\nenabled = false\n"), None, TrustState::Refused),
            (format!("[hooks.state.'{key}']\ntrusted_hash = 'sha256:a'\n"), None, TrustState::Trusted),
            (format!("{header}[other]\ntrusted_hash = \"sha256:a\"\n"), None, TrustState::Undecided),
            (format!("[hooks.state.\"{key}0\"]\ntrusted_hash = \"sha256:a\"\n"), None, TrustState::Undecided),
            (String::new(), None, TrustState::Undecided),
        ] {
            assert_eq!(hook_trust(&config, &key, hash), expected, "{config}");
        }
    }

    /// What Codex 0.166 itself lists as `currentHash`.
    #[test]
    fn hashes_are_those_of_codex() {
        let hook = json!({"type": "command", "command": "tollgate hook codex", "timeout": 30});
        let plain = json!({"type": "command", "command": "tollgate hook codex"});
        let with_message = json!({"type": "command", "command": "tollgate hook codex", "timeout": 30, "statusMessage": "hi"});
        for (event, entry, expected) in [
            ("PreToolUse", json!({"hooks": [hook]}), "c690c93ffe45e29dd390d8114ab5dee036cd3558eb29556bfab2156d6f2b3ecd"),
            (
                "SessionStart",
                json!({"matcher": "startup", "hooks": [hook]}),
                "7551a9b271b655a276dbfa11a7d1ed138f22e1f4d3fad1c29d1d6f1445d076bc",
            ),
            (
                "UserPromptSubmit",
                json!({"matcher": "x", "hooks": [hook]}),
                "e0e69ef5688b89763becaf68a597262080b4dd0198771cba2b399b270fd1f17f",
            ),
            ("Stop", json!({"hooks": [plain]}), "b47b5c64e39d0ce5232ad06de5e46ba01f233f82ee56212b2c5b37857ff69c67"),
            ("SessionEnd", json!({"hooks": [with_message]}), "021f9f68bd75d11f39b62076cd30f06611bb1edf5b9f4c574b4fc2a7e9a446c0"),
        ] {
            assert_eq!(hook_hash(event, &entry, 0), Some(format!("sha256:{expected}")), "{event}");
        }
    }

    #[test]
    fn a_hash_is_of_what_the_hook_means() {
        let entry = json!({"hooks": [{"type": "command", "command": "tollgate hook codex", "timeout": 30}]});
        let same = json!({"hooks": [{"timeout": 30, "async": false, "command": "tollgate hook codex", "type": "command"}]});
        let other = json!({"hooks": [{"type": "command", "command": "tollgate hook codex", "timeout": 3}]});
        let hash = |event, entry| hook_hash(event, entry, 0);
        assert_eq!(hash("PreToolUse", &entry), hash("PreToolUse", &same));
        assert_ne!(hash("PreToolUse", &entry), hash("PreToolUse", &other));
        assert_ne!(hash("PreToolUse", &entry), hash("PostToolUse", &entry));
        // The timeout at the end of a session is three seconds at most.
        assert_eq!(hash("SessionEnd", &entry), hash("SessionEnd", &other));
        assert_eq!(hook_hash("PreToolUse", &entry, 1), None);
        assert_eq!(hash("PreToolUse", &json!({"hooks": [{"type": "prompt"}]})), None);
    }

    #[test]
    fn folders() {
        let trusted = json!({"/w": "TRUST_FOLDER", "/w/no": "DO_NOT_TRUST", "/p/a": "TRUST_PARENT", "/x": "?"});
        for (folder, expected) in [
            ("/w", TrustState::Trusted),
            ("/w/deep/er", TrustState::Trusted),
            ("/w/no", TrustState::Refused),
            ("/w/no/deep", TrustState::Refused),
            ("/w/nothing", TrustState::Trusted),
            ("/p/b", TrustState::Trusted),
            ("/wide", TrustState::Undecided),
            ("/x", TrustState::Undecided),
            ("/", TrustState::Undecided),
        ] {
            assert_eq!(folder_trust(&trusted, folder), expected, "{folder}");
        }
        assert_eq!(folder_trust(&Value::Null, "/w"), TrustState::Undecided);
    }

    #[test]
    fn listed_folders() {
        for (config, folder, expected) in [
            (json!({"trustedFolders": ["/x", "/w"]}), "/w", TrustState::Trusted),
            (json!({"trusted_folders": ["/w/"]}), "/w/deep/er", TrustState::Trusted),
            (json!({"trustedFolders": ["C:\\w"]}), "C:/w", TrustState::Trusted),
            (json!({"trustedFolders": ["/"]}), "/w", TrustState::Trusted),
            (json!({"trustedFolders": ["/w"]}), "/wide", TrustState::Undecided),
            (json!({"trustedFolders": ["/w/deep"]}), "/w", TrustState::Undecided),
            (json!({"trustedFolders": [""]}), "/w", TrustState::Undecided),
            (json!({"trustedFolders": "/w"}), "/w", TrustState::Undecided),
            (Value::Null, "/w", TrustState::Undecided),
        ] {
            assert_eq!(listed_trust(&config, folder), expected, "{config} {folder}");
        }
    }
}

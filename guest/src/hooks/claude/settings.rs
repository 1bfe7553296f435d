//! Converts hooks as Claude Code declares them into our declarations.
//!
//! ```json
//! {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…/check.sh", "timeout": 5}]}]}}
//! ```
//!
//! A command is text for a shell. If it consists of nothing but words, with the project's or the plugin's folder in front of
//! paths, it becomes a list of words, so that the script is checked and copied like any other. Otherwise a shell reads it, and an
//! import lists the files that it names, so that their changes are noticed.

use serde_json::{Map, Value};

use super::{FORMAT, TIMEOUT_MS, event, events, matcher::Matcher};
use crate::hooks::settings::{MAX_TIMEOUT_MS, MIN_TIMEOUT_MS};
use crate::json::document;
use crate::json::object;
use crate::json::position::PathStep;

/// Fields of a handler that do not change what it decides.
const HARMLESS: &[&str] = &["type", "command", "timeout", "statusMessage", "suppressOutput", "onFailure", "description", "shell"];

/// A handler in Claude Code's format.
#[derive(Debug)]
pub struct Handler {
    /// Where it is declared.
    pub path: Vec<PathStep>,
    /// The equivalent declaration, or why there is none.
    pub taken: Result<Value, String>,
}

/// Reads a settings file, which may have comments, or the `hooks/hooks.json` of a plugin.
pub fn read(text: &[u8]) -> Result<Vec<Handler>, String> {
    let document: Value = document::read(text).map_err(|fault| format!("is not valid JSON: {fault}"))?;
    match document.get("hooks") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(hooks)) => Ok(handlers(hooks)),
        Some(_) => Err("has `hooks` that are not an object with events such as `PreToolUse`".to_owned()),
    }
}

/// The handlers of all events, in order. Each gets a unique id.
pub fn handlers(hooks: &Map<String, Value>) -> Vec<Handler> {
    let mut found = Vec::new();
    for (name, groups) in hooks {
        let path = vec![PathStep::Key("hooks".to_owned()), PathStep::Key(name.clone())];
        let Some(groups) = groups.as_array() else {
            found.push(Handler { path, taken: Err("must be a list of objects with `hooks`".to_owned()) });
            continue;
        };
        for (at, group) in groups.iter().enumerate() {
            let mut path = path.clone();
            path.push(PathStep::At(at));
            let Some(listed) = group.get("hooks").and_then(Value::as_array) else {
                found.push(Handler { path, taken: Err("must be an object with a list `hooks`".to_owned()) });
                continue;
            };
            for (at, written) in listed.iter().enumerate() {
                let mut path = path.clone();
                path.extend([PathStep::Key("hooks".to_owned()), PathStep::At(at)]);
                let taken = declaration(name, group.get("matcher"), written);
                found.push(Handler { path, taken });
            }
        }
    }
    name_all(&mut found);
    found
}

/// The declaration that is equivalent to a handler.
fn declaration(name: &str, matcher: Option<&Value>, written: &Value) -> Result<Value, String> {
    let (name, _) =
        event(name).ok_or_else(|| format!("`{name}` is an event that only Claude Code has; expected one of: {}", events()))?;
    let fields = written.as_object().ok_or("must be an object with `type` and `command`")?;
    match fields.get("type").and_then(Value::as_str) {
        Some("command") => {}
        Some(other) => return Err(format!("has the type `{other}`, which only Claude Code runs; expected `command`")),
        None => return Err("has no `type`".to_owned()),
    }
    if let Some(strange) = fields.keys().find(|key| !HARMLESS.contains(&key.as_str())) {
        return Err(format!("has `{strange}`, which is not supported here, so it might run when it should not"));
    }
    let command = fields.get("command").and_then(Value::as_str).map(str::trim).filter(|command| !command.is_empty());
    let command = command.ok_or("has no `command`")?;
    if fields.get("shell").and_then(Value::as_str).is_some_and(|shell| !matches!(shell, "bash" | "sh")) {
        return Err("is for a shell other than `bash`".to_owned());
    }
    let matcher = match matcher {
        None | Some(Value::Null) => "",
        Some(matcher) => matcher.as_str().ok_or("has a `matcher` that is not a string")?,
    };
    Matcher::compile(matcher).map_err(|why| format!("has the matcher `{matcher}`, which {why}"))?;
    let timeout = match fields.get("timeout") {
        None => TIMEOUT_MS,
        Some(seconds) => {
            let seconds =
                seconds.as_f64().filter(|seconds| *seconds > 0.0).ok_or("has a `timeout` that is not a number of seconds")?;
            ((seconds * 1_000.0) as u64).clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS)
        }
    };
    let mut declared = vec![("id", Value::Null), ("trigger", name.into()), ("format", FORMAT.into())];
    if !matches!(matcher, "" | "*") {
        declared.push(("matcher", matcher.into()));
    }
    match words(command) {
        Some(words) => declared.push(("command", words.into())),
        None => declared.extend([("command", command.into()), ("shell", true.into())]),
    }
    declared.push(("timeoutMs", timeout.into()));
    if fields.get("onFailure").and_then(Value::as_str) == Some("block") {
        declared.push(("onFailure", "block".into()));
    }
    Ok(object(&mut declared))
}

/// Gives every declaration an id that says what it is: the event and the file that it runs.
fn name_all(found: &mut [Handler]) {
    let mut taken: Vec<String> = Vec::new();
    for declared in found.iter_mut().filter_map(|handler| handler.taken.as_mut().ok()) {
        let event = declared.get("trigger").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        let named = match declared.get("command") {
            Some(Value::Array(words)) => {
                let words = words.iter().filter_map(Value::as_str);
                words.clone().find(|word| word.contains('/')).or_else(|| words.clone().next()).unwrap_or_default()
            }
            command => command.and_then(Value::as_str).unwrap_or_default(),
        };
        let last = named.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let plain: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || "_-.".contains(*c)).take(40).collect();
        let first = if plain.is_empty() { event } else { format!("{event}-{plain}") };
        let id = (1..).map(|at| if at == 1 { first.clone() } else { format!("{first}-{at}") }).find(|id| !taken.contains(id));
        let id = id.unwrap_or(first);
        taken.push(id.clone());
        if let Some(slot) = declared.get_mut("id") {
            *slot = id.into();
        }
    }
}

/// The placeholder for an extension's own folder in its manifest.
pub const EXTENSION_PATH: &str = "${extensionPath}";

/// The placeholders for the project's folder and the plugin's.
const PROJECT: &[&str] = &["$CLAUDE_PROJECT_DIR", "${CLAUDE_PROJECT_DIR}"];
const PLUGIN: &[&str] = &["$CLAUDE_PLUGIN_ROOT", "${CLAUDE_PLUGIN_ROOT}"];

/// The words of a command that is nothing but words; `None` if a shell would do more than split it. The project's folder in
/// front of a path becomes `./`, since hooks run there; that of the plugin becomes `${extensionPath}`.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command;
    let mut quote: Option<char> = None;
    while let Some(c) = rest.chars().next() {
        let variable = |names: &[&str]| names.iter().find_map(|name| rest.strip_prefix(name));
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if quote != Some('\'') && c == '$' {
            let (folder, behind) = match (variable(PROJECT), variable(PLUGIN)) {
                (Some(behind), _) => (".", behind),
                (None, Some(behind)) => (EXTENSION_PATH, behind),
                (None, None) => return None,
            };
            // The path continues after the quote that may end here.
            let path = behind.strip_prefix('"').filter(|_| quote == Some('"'));
            if let Some(path) = path {
                quote = None;
                rest = path;
            } else {
                rest = behind;
            }
            if word.as_ref().is_some_and(|word| !word.is_empty()) || !rest.starts_with('/') {
                return None;
            }
            word = Some(folder.to_owned());
            continue;
        }
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\' | '`') => return None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_ascii_whitespace() => {
                if c == '\n' {
                    return None;
                }
                words.extend(word.take());
            }
            (None, c) if c.is_alphanumeric() || "_-./:=,@%+".contains(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
        rest = after;
    }
    words.extend(word);
    let first = words.first()?;
    // `NAME=value program` sets a variable, and builtins are not programs.
    let is_plain = !first.contains('=') && !BUILTINS.contains(&first.as_str()) && !first.is_empty();
    (quote.is_none() && is_plain).then_some(words)
}

/// Words that only a shell understands.
const BUILTINS: &[&str] = &[
    "cd", "source", ".", "exec", "eval", "export", "set", "if", "for", "while", "case", "exit", "test", "read", "true", "false",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commands_that_are_only_words() {
        for (command, expected) in [
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh", Some("./.claude/hooks/check.sh")),
            ("$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh a 'b c'", Some("./.claude/hooks/check.sh|a|b c")),
            ("\"${CLAUDE_PROJECT_DIR}/.claude/hooks/check.sh\"", Some("./.claude/hooks/check.sh")),
            ("python3 \"$CLAUDE_PROJECT_DIR/.claude/hooks/x.py\" --strict", Some("python3|./.claude/hooks/x.py|--strict")),
            ("node ${CLAUDE_PLUGIN_ROOT}/hooks/a.js", Some("node|${extensionPath}/hooks/a.js")),
            ("'${CLAUDE_PLUGIN_ROOT}/x'", Some("${CLAUDE_PLUGIN_ROOT}/x")),
            ("npx prettier --write", Some("npx|prettier|--write")),
            ("jq -r .x | grep y", None),
            ("a && b", None),
            ("echo $HOME", None),
            ("x=1 y", None),
            ("a$CLAUDE_PROJECT_DIR/x", None),
            ("$CLAUDE_PROJECT_DIRx/y", None),
            ("~/.claude/hooks/x.sh", None),
            ("cat *.txt", None),
            ("echo \"a`b`\"", None),
            ("a\nb", None),
            ("a 'b", None),
            ("cd x", None),
            ("", None),
        ] {
            assert_eq!(words(command).map(|words| words.join("|")).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn what_is_taken_and_what_is_left_out() {
        let handler = |command: &str| json!({"type": "command", "command": command});
        let settings = json!({"hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [handler("$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh"), {"type": "prompt", "prompt": "p"}]},
                {"matcher": "*", "hooks": [{"type": "command", "command": "jq . | cat", "timeout": 5, "onFailure": "block"}]},
                {"matcher": "(?!x)", "hooks": [handler("a")]},
                {"hooks": [{"type": "command", "command": "a", "if": "Bash(rm *)"}, handler("$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh")]},
            ],
            "Notification": [{"hooks": [handler("say")]}],
            "Stop": 3,
        }});
        let found = read(settings.to_string().as_bytes()).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|handler| {
                let path: String = handler.path.iter().map(ToString::to_string).collect();
                format!("{path} {}", handler.taken.as_ref().map_or_else(Clone::clone, ToString::to_string))
            })
            .collect();
        for (at, expected) in [
            r#".hooks.PreToolUse[0].hooks[0] {"id":"pretooluse-check.sh","trigger":"PreToolUse","format":"claude-code","matcher":"Bash","command":["./.claude/hooks/check.sh"],"timeoutMs":60000}"#,
            ".hooks.PreToolUse[0].hooks[1] has the type `prompt`",
            r#".hooks.PreToolUse[1].hooks[0] {"id":"pretooluse-jq","trigger":"PreToolUse","format":"claude-code","command":"jq . | cat","shell":true,"timeoutMs":5000,"onFailure":"block"}"#,
            ".hooks.PreToolUse[2].hooks[0] has the matcher `(?!x)`",
            ".hooks.PreToolUse[3].hooks[0] has `if`",
            r#".hooks.PreToolUse[3].hooks[1] {"id":"pretooluse-check.sh-2""#,
            ".hooks.Notification[0].hooks[0] `Notification` is an event that only Claude Code has",
            ".hooks.Stop must be a list",
        ]
        .iter()
        .enumerate()
        {
            assert!(shown[at].starts_with(expected), "{}\n{expected}", shown[at]);
        }
    }
}

//! Programs that the host runs for the gate: which it may, and what of the environment they are given.
//!
//! A repository runs nothing without consent: what the workspace's settings name is run only if the user's own have it.

use serde_json::Value;

use super::request::Program;
use crate::json::document;
use crate::ports::{Ports, Root};

/// The settings, in the workspace and, the user's own, below the home folder.
pub(super) const SETTINGS: &str = ".tollgate/config.json";

/// What a program inherits. Secrets in the rest of the environment are none of its business.
const INHERITED: [&str; 12] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "SystemRoot", "MAENIFOLD_ROOT"];

/// The variables that a program inherits, for a request.
pub(super) fn inherited() -> Vec<String> {
    INHERITED.map(str::to_owned).into()
}

/// Whether the user's own settings have a command, word by word: `{"augment": {"commands": [["wiki", "--about", "{concept}"]]}}`.
pub(super) fn is_allowed_by_user(words: &[String], ports: &Ports) -> bool {
    let settings = written(Root::Home, ports);
    let commands = settings.pointer("/augment/commands").and_then(Value::as_array);
    !is_of_workspace(words) && commands.is_some_and(|commands| commands.contains(&Value::from(words.to_vec())))
}

/// How an MCP server is started; none where nobody says. The user's own `mcpServers` count first. A server that only the
/// workspace names is a command like any other and must be allowed word by word; variables could make another of it.
pub(super) fn start(server: &str, ports: &Ports) -> Result<Option<Program>, String> {
    for root in [Root::Home, Root::Project] {
        let settings = written(root, ports);
        let Some(named) = settings.get("mcpServers").and_then(|servers| servers.get(server)) else { continue };
        let mut words = Vec::new();
        let args = named.get("args").and_then(Value::as_array);
        for word in named.get("command").into_iter().chain(args.into_iter().flatten()) {
            words.push(word.as_str().unwrap_or_default().to_owned());
        }
        let env = named.get("env").unwrap_or(&Value::Null);
        let allowed = match root {
            Root::Home => !words.is_empty() && !is_of_workspace(&words),
            Root::Project | Root::State => env.is_null() && is_allowed_by_user(&words, ports),
        };
        if !allowed {
            return Err(format!(
                "the MCP server `{server}` is not started: `mcpServers` in `~/{SETTINGS}` must name it, with a `command` outside the workspace"
            ));
        }
        let confine = match named.get("confine") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(confine)) => *confine,
            // Someone meant to confine it.
            Some(_) => return Err(format!("the MCP server `{server}` is not started: its `confine` must be true or false")),
        };
        let set = env.as_object().into_iter().flatten();
        let set = set.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        return Ok(Some(Program { argv: words, inherit: inherited(), set, confine }));
    }
    Ok(None)
}

fn written(root: Root, ports: &Ports) -> Value {
    let text = ports.workspace.read(root, SETTINGS, 1 << 20).unwrap_or_default();
    document::read(&text).unwrap_or_default()
}

/// A program that is named by a path relative to the workspace is the workspace's own, whatever the user allowed elsewhere.
fn is_of_workspace(words: &[String]) -> bool {
    let program = words.first().map_or("", String::as_str);
    program.contains(['/', '\\']) && !program.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;
    use serde_json::json;

    #[test]
    fn only_what_the_user_wants_is_started() {
        let entry = json!({"command": "npx", "args": ["-y", "x"]});
        let with_env = json!({"command": "npx", "args": ["-y", "x"], "env": {"KEY": "k"}});
        let own = |entry: &Value| json!({"mcpServers": {"graph": entry}});
        let allowing = json!({"augment": {"commands": [["npx", "-y", "x"], ["./x"]]}});
        let held = |confine: Value| json!({"command": "npx", "args": ["-y", "x"], "confine": confine});
        let started = |set: &[(&str, &str)]| {
            let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Program { argv: ["npx", "-y", "x"].map(str::to_owned).into(), inherit: inherited(), set, confine: false }
        };
        let confined = || Some(Some(Program { confine: true, ..started(&[]) }));
        let started = |set: &[(&str, &str)]| Some(Some(started(set)));
        for (users, workspaces, expected) in [
            (json!({}), json!({}), Some(None)),
            (own(&entry), json!({}), started(&[])),
            (own(&with_env), json!({}), started(&[("KEY", "k")])),
            // The user's words count, whatever the workspace says.
            (own(&with_env), own(&json!({"command": "evil"})), started(&[("KEY", "k")])),
            (own(&held(json!(true))), json!({}), confined()),
            (own(&held(json!(false))), json!({}), started(&[])),
            (own(&held(json!("true"))), json!({}), None),
            (json!({}), own(&entry), None),
            (allowing.clone(), own(&entry), started(&[])),
            (allowing.clone(), own(&held(json!(true))), confined()),
            (allowing.clone(), own(&with_env), None),
            (allowing.clone(), own(&json!({"command": "npx", "args": ["-y", "y"]})), None),
            (allowing.clone(), own(&json!({"command": "npx", "args": ["-y", "x", 1]})), None),
            (allowing, own(&json!({"command": "./x"})), None),
            (own(&json!({"command": "./x"})), json!({}), None),
            (own(&json!({"command": "bin/x"})), json!({}), None),
            (own(&json!({"url": "https://localhost"})), json!({}), None),
            (json!({"mcpServers": 3}), json!([]), Some(None)),
        ] {
            let world = Memory::new();
            world.write(&format!("{}/{SETTINGS}", crate::ports::memory::HOME), users.to_string());
            world.write(SETTINGS, workspaces.to_string());
            let start = start("graph", &world.ports());
            assert_eq!(start.as_ref().ok(), expected.as_ref(), "{users} {workspaces}");
            if let Err(why) = start {
                let names_remedy = why.contains("`~/.tollgate/config.json`") || why.contains("must be true or false");
                assert!(why.contains("`graph`") && names_remedy, "{why}");
            }
        }
    }
}

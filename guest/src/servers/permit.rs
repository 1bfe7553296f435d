//! Which servers may be connected to.
//!
//! A repository starts nothing unasked: a command in the workspace's settings is started only if the user's own settings allow
//! exactly that command. An extension's servers are declared only once the extension is enabled and approved.

use super::registry::ServerRegistry;
use super::spec::{ServerSource, ServerSpec, Transport};
use crate::augment::{Program, programs};
use crate::ports::Ports;

/// The variables that every server inherits.
pub(super) fn inherited_variables() -> Vec<String> {
    programs::inherited_variables()
}

/// Why a server may not be connected to, and what to do about it.
pub(super) fn check(spec: &ServerSpec, ports: &Ports) -> Result<(), String> {
    let ServerSpec { name, transport, source, .. } = spec;
    if spec.disabled {
        return Err("its declaration says `disabled`".to_owned());
    }
    match (source, transport) {
        (ServerSource::Extension(_), _) | (ServerSource::User, Transport::Http(_) | Transport::Sse(_)) => Ok(()),
        (ServerSource::User, Transport::Stdio { command, .. }) if programs::is_of_workspace(command) => Err(format!(
            "its `command` is a path in the workspace, whose files agents change; name a program outside of it in `~/{}`",
            crate::home::SETTINGS
        )),
        (ServerSource::User, Transport::Stdio { .. }) => Ok(()),
        (ServerSource::Workspace, Transport::Stdio { command, args, env, cwd: None }) if env.is_empty() => {
            let words: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
            if programs::is_allowed_by_user(&words, ports) { Ok(()) } else { Err(workspace_only_message(name)) }
        }
        (ServerSource::Workspace, _) => Err(workspace_only_message(name)),
    }
}

fn workspace_only_message(name: &str) -> String {
    format!(
        "only the workspace declares it, so it is not started; a person can add it to their own settings with `tollgate mcp add {name}`"
    )
}

/// How to start the program of a server that the user or the workspace declares; `None` if there is no such server, or it has no
/// program. Its settings are not resolved.
pub fn start(server: &str, ports: &Ports) -> Result<Option<Program>, String> {
    let registry = ServerRegistry::read(ports, |_| {});
    let Some(spec) = registry.get(server) else { return Ok(None) };
    check(spec, ports).map_err(|why| format!("the MCP server `{server}` is not started: {why}"))?;
    Ok(match &spec.transport {
        Transport::Stdio { command, args, env, .. } => {
            let argv = std::iter::once(command).chain(args).cloned().collect();
            Some(Program { argv, inherit: inherited_variables(), set: env.clone(), confine: spec.confine })
        }
        Transport::Http(_) | Transport::Sse(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::home::SETTINGS;
    use crate::ports::memory::Memory;
    use serde_json::{Value, json};

    #[test]
    fn only_what_the_user_wants_is_started() {
        let entry = json!({"command": "npx", "args": ["-y", "x"]});
        let with_env = json!({"command": "npx", "args": ["-y", "x"], "env": {"KEY": "k"}});
        let own = |entry: &Value| json!({"mcpServers": {"graph": entry}});
        let allowing = json!({"augment": {"commands": [["npx", "-y", "x"], ["./x"]]}});
        let held = |confine: Value| json!({"command": "npx", "args": ["-y", "x"], "confine": confine});
        let started = |set: &[(&str, &str)]| {
            let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Program { argv: ["npx", "-y", "x"].map(str::to_owned).into(), inherit: inherited_variables(), set, confine: false }
        };
        let confined = || Some(Some(Program { confine: true, ..started(&[]) }));
        let started = |set: &[(&str, &str)]| Some(Some(started(set)));
        for (users, workspaces, expected) in [
            (json!({}), json!({}), Some(None)),
            (own(&entry), json!({}), started(&[])),
            (own(&with_env), json!({}), started(&[("KEY", "k")])),
            // The user's settings count, whatever the workspace says.
            (own(&with_env), own(&json!({"command": "evil"})), started(&[("KEY", "k")])),
            (own(&held(json!(true))), json!({}), confined()),
            (own(&held(json!(false))), json!({}), started(&[])),
            // An entry that cannot be read is left out, with a warning.
            (own(&held(json!("true"))), json!({}), Some(None)),
            (json!({}), own(&entry), None),
            (allowing.clone(), own(&entry), started(&[])),
            (allowing.clone(), own(&held(json!(true))), confined()),
            (allowing.clone(), own(&with_env), None),
            (allowing.clone(), own(&json!({"command": "npx", "args": ["-y", "y"]})), None),
            (allowing.clone(), own(&json!({"command": "npx", "args": ["-y", "x"], "cwd": "sub"})), None),
            (allowing, own(&json!({"command": "./x"})), None),
            (json!({}), own(&json!({"url": "https://elsewhere.example/"})), None),
            (own(&json!({"command": "./x"})), json!({}), None),
            (own(&json!({"command": "bin/x"})), json!({}), None),
            (own(&json!({"command": "x", "disabled": true})), json!({}), None),
            // A server on the network has no program.
            (own(&json!({"url": "https://localhost"})), json!({}), Some(None)),
            (json!({"mcpServers": 3}), json!([]), Some(None)),
        ] {
            let world = Memory::new();
            world.write_home(SETTINGS, users.to_string());
            world.write(config::PATH, workspaces.to_string());
            let start = start("graph", &world.ports());
            assert_eq!(start.as_ref().ok(), expected.as_ref(), "{users} {workspaces}");
            if let Err(why) = start {
                assert!(why.contains("`graph`"), "{why}");
            }
        }
    }
}

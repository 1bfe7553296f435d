//! Measures how much time extensions add to a call in a running host: `cargo xtask bench`.
//!
//! One workspace has no extensions, the other has a hundred, each with a hook, a server, a setting and ten skills. Nothing
//! changes between two calls, so this measures how long it takes to find that out.

#![allow(clippy::unwrap_used, missing_docs)]

mod comparison;

use std::fs;
use std::time::Duration;

use serde_json::json;
use tollgate::{Limits, Runtime, Tollgate};

use comparison::{limit, measure_alternately, row};

const EXTENSIONS: usize = 100;

/// The most time that a hundred extensions may add to a call.
const MAX_ADDED: Duration = Duration::from_millis(5);

fn main() {
    discovery();
}

fn discovery() {
    let runtime = Runtime::new(Limits::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, extensions: usize| -> Tollgate {
        let (root, home) = (folder.path().join(name), folder.path().join(format!("{name}-home")));
        for path in [root.join(".orchestration"), root.join("src"), home.join(".tollgate")] {
            fs::create_dir_all(path).unwrap();
        }
        let intents = "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]";
        fs::write(root.join(".orchestration/active_intents.yaml"), intents).unwrap();
        fs::write(home.join(".tollgate/config.json"), r#"{"extensions": {"autoEnable": true}}"#).unwrap();
        for at in 0..extensions {
            let skill = |skill: usize| json!({"name": format!("s{skill}"), "description": "d", "prompt": "Do {{it}}.", "parameters": [{"name": "it"}]});
            let manifest = json!({
                "name": format!("e{at}"), "version": "1.0.0",
                "mcpServers": {"s": {"command": "node", "args": ["server.mjs"]}},
                "hooks": [{"name": "h", "event": "after_agent", "command": ["node", "hook.mjs"]}],
                "settings": [{"name": "t", "description": "d", "default": "x", "envVar": "T"}],
                "skills": (0..10).map(skill).collect::<Vec<_>>(),
            });
            let extension = home.join(format!(".tollgate/extensions/e{at}"));
            fs::create_dir_all(&extension).unwrap();
            fs::write(extension.join("manifest.json"), manifest.to_string()).unwrap();
        }
        let mut gate = Tollgate::builder().workspace(&root).home(&home).runtime(runtime.clone()).open().unwrap();
        gate.perform(br#"{"op":"select-intent","session":"s","intent":"I"}"#).unwrap();
        gate
    };
    let (mut without, mut with) = (open("without", 0), open("with", EXTENSIONS));
    let call = br#"{"op":"pre-tool","session":"s","call":"c","tool":"read","args":{"filePath":"src/a"}}"#;
    let event = br#"{"op":"event","event":"before_tool","session":"s","data":{"tool_name":"read"}}"#;
    for (what, line) in [("a ruling", call.as_slice()), ("an event before a tool", event.as_slice())] {
        let (one, other) =
            measure_alternately(200, &mut || drop(without.perform(line).unwrap()), &mut || drop(with.perform(line).unwrap()));
        row(&format!("{what}, with {EXTENSIONS} extensions"), &one, &other);
        limit(&format!("what {EXTENSIONS} extensions add to {what}"), other.median().saturating_sub(one.median()), MAX_ADDED);
    }
}

//! How often a check asks the host: crossings cost more than anything else.

use std::rc::Rc;

use crate::counting_host::{CountingHost, Request};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

/// A workspace whose only intent owns `src`, and a gate in which the session `s` works on that intent.
fn opened(prepare: impl FnOnce(&Memory)) -> (Rc<CountingHost>, Gate) {
    let host = CountingHost::new();
    host.world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    prepare(&host.world);
    let mut gate = Gate::new(host.ports());
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"I"}"#);
    (host, gate)
}

/// A second call of each kind, with everything that can be kept in memory.
#[test]
fn a_call_crosses_as_often_as_it_must() {
    let (host, mut gate) = opened(|world| {
        world.write(".tollgate/config.json", r#"{"unknown": "deny"}"#);
        world.write("src/a", "a");
        world.write("src/b", "b");
    });
    for (call, expected) in [
        // Inspect everything; read what the session saw and who holds the file; inspect again, now that nobody else may write;
        // read the current content.
        (r#""tool":"write","args":{"filePath":"src/a"}"#, &["inspect", "read", "read", "inspect", "read"][..]),
        // Inspect everything; hash what is read.
        (r#""tool":"read","args":{"filePath":"src/a"}"#, &["inspect", "inspect"]),
        // Check whether the user trusts the server; inspect everything.
        (r#""tool":"mcp__x__y","args":{}"#, &["inspect", "inspect"]),
        // The same, and whether Claude Code may call it without asking. A tool that belongs to no server is not looked up.
        (r#""tool":"mcp__x__y","args":{},"host":"claude-code""#, &["inspect", "inspect", "inspect"]),
        (r#""tool":"frobnicate","args":{}"#, &["inspect"]),
        (
            r#""tool":"apply_patch","args":{"patchText":"*** Begin Patch\n*** Delete File: src/a\n*** Delete File: src/b\n*** End Patch"}"#,
            &["inspect", "read", "read", "read", "inspect"],
        ),
        (r#""tool":"Delete","args":{"path":"src"}"#, &["inspect", "list", "read", "read", "read", "inspect"]),
    ] {
        let line = format!(r#"{{"op":"pre-tool","session":"s","call":"c",{call}}}"#);
        perform(&mut gate, line.as_bytes());
        host.take();
        perform(&mut gate, line.as_bytes());
        assert_eq!(host.names(), expected, "{call}");
    }
}

/// Without a folder of extensions nothing is read or listed for them; with a hundred of them, each manifest is read once, and a
/// call asks two more questions.
#[test]
fn extensions_are_read_once() {
    let (host, mut gate) = opened(|world| {
        world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
        world.write("src/a", "a");
    });
    let asked = |gate: &mut Gate| {
        host.take();
        perform(gate, br#"{"op":"pre-tool","session":"s","call":"c","tool":"read","args":{"filePath":"src/a"}}"#);
        host.counts(["inspect", "list", "read"])
    };
    asked(&mut gate);
    assert_eq!(asked(&mut gate), [2, 0, 0], "there are none");
    for at in 0..100 {
        let skills: Vec<_> =
            (0..10).map(|skill| serde_json::json!({"name": format!("s{skill}"), "description": "d", "prompt": "p"})).collect();
        let hooks = serde_json::json!([{"name": "h", "event": "after_agent", "prompt": "p"}]);
        let manifest = serde_json::json!({"name": format!("e{at}"), "version": "1", "skills": skills, "hooks": hooks});
        host.world.write_home(&format!(".tollgate/extensions/e{at}/manifest.json"), manifest.to_string());
    }
    let [_, listed, read] = asked(&mut gate);
    // The user's settings are read for them as well.
    assert_eq!((listed, read), (1, 101), "all are found");
    assert_eq!(asked(&mut gate), [3, 1, 0], "and kept");
    host.world.write_home(".tollgate/extensions/e7/manifest.json", r#"{"name": "e7", "version": "2"}"#);
    assert_eq!(asked(&mut gate)[2], 1, "what has changed is read again, alone");
}

/// A tree is listed once, however much is in it and however often it is written to, and its links are followed all at once.
#[test]
fn a_tree_is_listed_once() {
    let (host, mut gate) = opened(|world| {
        for number in 0..10_000 {
            world.write(&format!("src/{}/{number}", number % 100), "x");
        }
        for number in 0..100 {
            world.symlink("../1/1", &format!("src/links/{number}"));
        }
        world.write("new/x", "x");
    });
    for (command, listed, verdict) in [
        ("echo x > src/1/1", 0, "allow"),
        ("rm src/1/1", 0, "allow"),
        ("chmod u+x src/1", 0, "allow"),
        ("mv src/1/1 src/1/1b", 0, "allow"),
        ("tar xf x.tar -C src", 1, "allow"),
        ("rm -rf src/2; tar xf x.tar -C src/1; tar xf z.tar -C src/3; tar xf y.tar -C src", 1, "allow"),
        ("mv src/1 src/one", 1, "allow"),
        ("tar xf x.tar -C new", 0, "deny"),
    ] {
        let call =
            serde_json::json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "bash", "args": {"command": command}});
        host.take();
        let answer = perform(&mut gate, call.to_string().as_bytes());
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["verdict"], verdict, "{command}: {answer}");
        let requests = host.take();
        let below = |name: &str, folder: &str| {
            let reaches = |request: &&Request| request.name == name && request.paths.iter().any(|path| path.starts_with(folder));
            requests.iter().filter(reaches).count()
        };
        assert_eq!(below("list", "src"), listed, "{command}: {requests:?}");
        assert!(below("inspect", "src/links/") <= 1, "{command}");
    }
}

/// Settings that can no longer be parsed leave the last good ones in force, and this is reported; without the file there are
/// none.
#[test]
fn settings_change_between_calls() {
    let (host, mut gate) = opened(|_| {});
    let world = &host.world;
    let mut verdict = || {
        let answer = perform(&mut gate, br#"{"op":"pre-tool","session":"s","call":"c","tool":"mcp__x__y","args":{}}"#);
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(), "ask");
    world.write(".tollgate/config.json", r#"{"unknown": "deny"}"#);
    assert_eq!(verdict(), "deny");
    world.write(".tollgate/config.json", "{\n\"unknown\": }");
    assert_eq!(verdict(), "deny");
    assert!(world.logged().iter().any(|(_, line)| line.contains("`.tollgate/config.json`") && line.contains("line 2")));
    world.delete(".tollgate/config.json");
    assert_eq!(verdict(), "ask");
}

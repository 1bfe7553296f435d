//! What an agent, a program or a repository does to the gate's own records, and what follows from it.

#![allow(clippy::string_slice)]

use crate::project;
use crate::project::{LEDGER, Project};
use serde_json::{Value, json};
use tollgate_guest::call::ToolCall;
use tollgate_guest::gate::{CallOutcome, Settlement};
use tollgate_guest::ports::memory::{HOME, Memory, STATE};
use tollgate_guest::ports::{Expectation, Records, Root};

const INTENTS: &str = "
- {id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}
- {id: ALL, name: Everything, status: IN_PROGRESS, owned_scope: ['**']}
";

fn opened() -> Project {
    Project::with(INTENTS, &[("src/auth/a.ts", "one\n"), ("README.md", "read me\n")], &[("s", "LOGIN")])
}

impl Project {
    /// A call that changes a file, from the ruling to the ledger.
    fn write_login(&mut self, call: &str) -> Value {
        let args = json!({"filePath": "src/auth/a.ts", "content": call});
        assert_eq!(self.pre(("s", call), "write", args.clone())["verdict"], "allow");
        self.world.write("src/auth/a.ts", call);
        self.post(("s", call), "write", args)
    }
}

fn make() -> Value {
    json!({"command": "make"})
}

/// A program removes the records of its own call: everything that is kept, or only the call's.
#[test]
fn a_call_whose_record_is_gone_is_a_failure() {
    for removed in ["", "/calls"] {
        let mut project = opened();
        project.write_login("0");
        project.call("pre-tool", ("s", "1"), "bash", make());
        project.world.delete(&format!("{STATE}{removed}"));
        project.world.write("README.md", "overwritten\n");
        project.restart();
        let settled = project.call("post-tool", ("s", "1"), "bash", make());
        let entry = &settled["entries"][0];
        assert_eq!((&entry["scope_validation"], &entry["tool_name"]), (&json!("FAIL"), &json!("bash")), "{settled}");
        assert!(settled["notice"].as_str().unwrap().contains("no record of having allowed it"), "{settled}");
        assert!(project.ledger_text().contains("no record of having allowed it"));
        assert_eq!(project.verify()["ok"], true);
        // It is reported once.
        assert_eq!(project.call("post-tool", ("s", "1"), "bash", make()), json!({"entries": []}));
    }
}

/// Calls that have no record and need none.
#[test]
fn no_record_and_no_failure() {
    let mut project = opened();
    project.write_login("0");
    let before = project.ledger_text();
    for (tool, args) in [
        ("read", json!({"filePath": "README.md"})),
        ("bash", json!({"command": "ls -la && git status"})),
        ("select_active_intent", json!({"intent_id": "LOGIN"})),
        ("bash", json!({"command": "mkdir -p src/auth"})),
    ] {
        for op in ["pre-tool", "post-tool"] {
            project.restart();
            let answer = project.call(op, ("s", tool), tool, args.clone());
            assert!(op == "pre-tool" || answer == json!({"entries": []}), "{answer}");
        }
        // Nor if the host did not ask beforehand.
        assert_eq!(project.call("post-tool", ("s", &format!("{tool}-2")), tool, args), json!({"entries": []}));
    }
    // A call that a hook, a person or the host kept from running.
    project.call("pre-tool", ("s", "refused"), "bash", make());
    let call = ToolCall {
        session: "s".to_owned(),
        agent: None,
        call: "refused".to_owned(),
        host: None,
        tool: "bash".to_owned(),
        server: None,
        args: make(),
        cwd: None,
    };
    assert_eq!(project.gate.settle(&call, &CallOutcome::Refused("no".to_owned())), Settlement::default());
    assert_eq!(project.ledger_text(), before);
    // If it ran all the same, that is another matter.
    let settled = project.call("post-tool", ("s", "refused"), "bash", make());
    assert_eq!(settled["entries"][0]["error"], "it was denied (refused) and ran anyway", "{settled}");
}

/// A workspace that is set up by the very call that ends.
#[test]
fn a_call_that_began_before_anything_was_governed() {
    let world = Memory::new();
    let mut project = Project::over(world);
    assert_eq!(project.call("pre-tool", ("s", "1"), "bash", make())["code"], "ungoverned");
    project.world.write(".orchestration/active_intents.yaml", INTENTS);
    project.restart();
    assert_eq!(project.call("post-tool", ("s", "1"), "bash", make()), json!({"entries": []}));
    assert_eq!(project.ledger_text(), "");
    // The same while the intents could not be read.
    let mut project = opened();
    project.world.write(".orchestration/active_intents.yaml", "- {");
    project.world.delete(&format!("{STATE}/good"));
    project.restart();
    assert_eq!(project.call("pre-tool", ("s", "1"), "bash", make())["code"], "intents_unreadable");
    project.world.write(".orchestration/active_intents.yaml", INTENTS);
    assert_eq!(project.call("post-tool", ("s", "1"), "bash", make()), json!({"entries": []}));
}

/// A session's file in the workspace counts for nothing, wherever it comes from.
#[test]
fn a_shipped_session_is_not_believed() {
    let mut project = opened();
    let session = "{\"session\":\"s\",\"intent\":\"ALL\"}";
    for name in ["sessions/s.json", "sessions/04a5dd2ea4b8be5d2c2fc4be4af7b1a2.json"] {
        project.world.write(&format!(".tollgate/state/{name}"), session);
    }
    project.restart();
    let ruling = project.call("pre-tool", ("s", "1"), "write", json!({"filePath": "README.md"}));
    assert_eq!(ruling["code"], "out_of_scope", "{ruling}");
}

/// What happens to the ledger, and what is reported about it.
#[test]
fn a_replaced_ledger_is_reported_once_then_accepted() {
    type Tamper = fn(&Project);
    let ways: &[(&str, Tamper, &str)] = &[
        ("emptied", |project| project.world.write(LEDGER, ""), "it is 0 bytes long"),
        ("removed", |project| project.world.delete(LEDGER), "it is gone"),
        (
            "the last line cut off",
            |project| {
                let text = project.ledger_text();
                let end = text.trim_end().rfind('\n').unwrap() + 1;
                project.world.write(LEDGER, &text[..end]);
            },
            "bytes long, but was",
        ),
        (
            "the last line edited",
            |project| {
                let text = project.ledger_text();
                let at = text.rfind("PASS").unwrap();
                project.world.write(LEDGER, format!("{}FAIL{}", &text[..at], &text[at + 4..]));
            },
            "bytes have changed",
        ),
        (
            "replaced by a longer one",
            |project| project.world.write(LEDGER, "{\"id\":\"x\"}\n".repeat(1_000)),
            "bytes have changed",
        ),
    ];
    for (way, tamper, what) in ways {
        for op in ["pre-tool", "post-tool"] {
            let mut project = opened();
            (0..5).for_each(|call| drop(project.write_login(&call.to_string())));
            assert_eq!(project.verify()["ok"], true);
            tamper(&project);
            project.restart();
            let report = project.verify();
            assert_eq!(report["ok"], false, "{way}: {report}");
            assert!(report["faults"].to_string().contains("when this machine wrote to the ledger"), "{way}: {report}");
            let answer = project.call(op, ("s", "look"), "read", json!({"filePath": "README.md"}));
            let said = answer.get("notice").or(answer.get("reason")).and_then(Value::as_str).unwrap_or_default();
            assert!(said.contains("is not the ledger that this machine last wrote to") && said.contains(what), "{way}: {answer}");
            let entered = project.entries();
            let last = entered.last().unwrap();
            assert_eq!((&last["scope_validation"], &last["tool_name"]), (&json!("FAIL"), &json!("ledger")), "{way}");
            // Only once, even for a new process.
            let lines = project.ledger_text();
            project.restart();
            let again = project.call(op, ("s", "look"), "read", json!({"filePath": "README.md"}));
            assert!(!again.to_string().contains("is not the ledger"), "{way}: {again}");
            assert_eq!(project.ledger_text(), lines, "{way}");
            project.write_login("after");
            assert_eq!(project.verify()["ok"], true, "{way}");
        }
    }
}

/// Archiving a ledger, even by another process or half-way, raises no alarm.
#[test]
fn archiving_is_not_reported_as_tampering() {
    let mut project = opened();
    for round in 1..4 {
        project.write_login(&format!("{round}"));
        let text = project.ledger_text();
        project.world.delete(LEDGER);
        project.world.write(&format!(".orchestration/archive/agent_trace-000{round}.jsonl"), &text);
        // Before the new ledger names the part, and while it has nothing in it.
        project.restart();
        let ruling = project.call("pre-tool", ("s", "look"), "read", json!({"filePath": "README.md"}));
        assert_eq!(ruling["reason"], "", "{ruling}");
        if round % 2 == 1 {
            project.ask(json!({"op": "archive", "step": "tie"}));
        }
        project.restart();
        project.write_login(&format!("{round}-after"));
    }
    project.ask(json!({"op": "archive", "step": "tie"}));
    let report = project.verify();
    assert_eq!((&report["ok"], &report["entries"]), (&json!(true), &json!(6)), "{report}");
}

/// Two writers at once: the one that stores its checkpoint last saw less.
#[test]
fn a_checkpoint_lags_behind_and_never_runs_ahead() {
    let mut project = opened();
    project.write_login("1");
    let kept = project.world.content(&format!("{STATE}/ledger.jsonl")).unwrap();
    project.write_login("2");
    project.world.write(&format!("{STATE}/ledger.jsonl"), &kept);
    project.restart();
    let ruling = project.call("pre-tool", ("s", "look"), "read", json!({"filePath": "README.md"}));
    assert_eq!((&ruling["reason"], &project.verify()["ok"]), (&json!(""), &json!(true)));
    // Another process appends between our read and our write, and stores what it saw.
    project.world.before_append(LEDGER, b"{\"other\":1}\n");
    assert_eq!(project.write_login("3").get("notice"), None);
    project.restart();
    assert_eq!(project.write_login("4").get("notice"), None);
    assert_eq!(project.entries().iter().filter(|entry| entry["tool_name"] == "ledger").count(), 0);
}

/// A process that was killed while reporting is replaced; one that is still reporting is left alone.
#[test]
fn who_tells_of_another_ledger() {
    for (since, told) in [(0_u64, true), (1_767_225_600_000, false)] {
        let mut project = opened();
        project.write_login("1");
        project.world.write(LEDGER, "");
        project.world.replace(Root::State, "ledger-told.json", since.to_string().as_bytes(), Expectation::Anything).unwrap();
        let ruling = project.call("pre-tool", ("s", "look"), "read", json!({"filePath": "README.md"}));
        assert_eq!(ruling["reason"] != "", told, "{ruling}");
        assert_eq!(project.ledger_text().is_empty(), !told);
    }
}

/// If the home folder is the workspace, or inside it, the user's files are still the user's.
#[test]
fn agents_may_not_change_user_files_in_the_workspace() {
    let mut project = opened();
    project.ask(json!({"op": "select-intent", "session": "s", "intent": "ALL"}));
    project.world.write("dotfiles/tollgate/hooks.json", "{}");
    project.world.symlink("/workspace/dotfiles/tollgate", &format!("{HOME}/.tollgate"));
    for (tool, args) in [
        ("write", json!({"filePath": "dotfiles/tollgate/hooks.json"})),
        ("bash", json!({"command": "rm -rf dotfiles"})),
        ("bash", json!({"command": "echo x > dotfiles/tollgate/new"})),
    ] {
        let ruling = project.call("pre-tool", ("s", "1"), tool, args);
        assert_eq!(ruling["code"], "control_file", "{ruling}");
    }
    // What a program does there is entered as what it is.
    project.call("pre-tool", ("s", "2"), "bash", make());
    project.world.write("dotfiles/tollgate/hooks.json", "{\"hooks\": []}");
    project.world.write("dotfiles/other", "x");
    let settled = project.call("post-tool", ("s", "2"), "bash", make());
    assert_eq!(project::scopes(&settled), ["PASS dotfiles/other", "FAIL dotfiles/tollgate/hooks.json"]);
}

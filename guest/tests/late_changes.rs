//! Changes that calls make after they have ended, because their programs go on.

use std::rc::Rc;

use crate::failing_writes::FailingWrites;
use crate::project::{LEDGER, Project};
use serde_json::{Value, json};
use tollgate_guest::call::{ToolCall, reports_still_running};
use tollgate_guest::engine::Input;
use tollgate_guest::gate::{CallOutcome, Gate};
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{Clock, Expectation, FileFault, Records, Root};

const NONE: [&str; 0] = [];

#[test]
fn what_a_detached_command_changes_later_is_entered_with_it() {
    let mut project = Project::new();
    project.run(("s", "c1"), "nohup npm run dev > /dev/null 2>&1 &");
    assert_eq!(project.ledger(), NONE);
    project.world.write("README.md", "changed\n");
    project.world.write("src/auth/new.ts", "new\n");
    project.world.delete("src/auth/b.ts");
    project.restart();
    // Any call of any session in the workspace triggers the comparison, even one that only reads.
    let said = project.read("t");
    assert_eq!(project.ledger(), ["s README.md FAIL late", "s src/auth/b.ts PASS late", "s src/auth/new.ts PASS late"]);
    for part in ["`README.md`", "LOGIN", "`bash`", "may still be running", "FAIL", "tell the person"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("new.ts") && !said.contains("tollgate trace"), "{said}");
    let entry = &project.entries()[0];
    assert_eq!((&entry["intent_id"], &entry["tool_name"], &entry["success"]), (&json!("LOGIN"), &json!("bash"), &json!(true)));
    assert_eq!(entry["late"]["call_id"], "c1");
    assert!(entry["late"]["began"].as_str().unwrap() < entry["timestamp"].as_str().unwrap(), "{entry}");
    let classes: Vec<_> = project.entries().iter().map(|entry| entry["mutation_class"].clone()).collect();
    assert_eq!(classes, ["DOCUMENTATION", "FILE_DELETION", "FILE_CREATION"]);
    // It is entered once, and reported once.
    assert_eq!((project.read("t"), project.ledger().len()), (String::new(), 3));
    let verified = (0..9).map(|nth| project.ask(json!({"op": "verify", "more": nth > 0}))).find(|answer| answer["done"] == true);
    assert_eq!(verified.unwrap()["ok"], true);
}

/// The ways in which a program says that its command goes on.
#[test]
fn ways_to_go_on() {
    for (host, tool, args, goes_on) in [
        ("claude-code", "Bash", json!({"command": "npm run dev", "run_in_background": true}), true),
        ("claude-code", "Bash", json!({"command": "npm run dev", "run_in_background": false}), false),
        ("claude-code", "Bash", json!({"command": "npm run dev &"}), true),
        ("claude-code", "Bash", json!({"command": "npm run a & npm run b & wait"}), false),
        ("claude-code", "Bash", json!({"command": "setsid make"}), true),
        ("claude-code", "Bash", json!({"command": "make & disown"}), true),
        ("claude-code", "Bash", json!({"command": "tmux new-session -d make"}), true),
        ("claude-code", "Bash", json!({"command": "echo make | at now"}), true),
        ("gemini", "run_shell_command", json!({"command": "npm run dev", "is_background": true}), true),
        ("gemini", "run_shell_command", json!({"command": "npm run dev"}), false),
        ("copilot", "bash", json!({"command": "npm run dev", "mode": "async"}), true),
        ("copilot", "bash", json!({"command": "npm run dev", "mode": "sync"}), false),
        ("copilot", "write_bash", json!({"sessionId": "1", "input": "make"}), true),
        ("opencode", "bash", json!({"command": "npm run dev &"}), true),
        ("opencode", "bash", json!({"command": "npm test"}), false),
        ("codex", "Bash", json!({"command": "screen -dm make"}), true),
        ("cursor", "Shell", json!({"command": "npm run dev", "is_background": true}), true),
    ] {
        let mut project = Project::of(host);
        let ruling = project.pre(("s", "c1"), tool, args.clone());
        assert_eq!(ruling["verdict"], "allow", "{args} {ruling}");
        project.post(("s", "c1"), tool, args.clone());
        project.world.write("README.md", "changed\n");
        project.restart();
        project.read("t");
        let expected = if goes_on { vec!["s README.md FAIL late"] } else { Vec::new() };
        assert_eq!(project.ledger(), expected, "{host} {tool} {args}");
    }
}

#[test]
fn a_program_that_only_reads_is_not_watched() {
    let mut project = Project::new();
    project.run(("s", "c1"), "tail -f README.md &");
    project.world.write("README.md", "changed\n");
    project.read("t");
    assert_eq!(project.ledger(), NONE);
}

/// A command whose effects are known may have changed those files and no others.
#[test]
fn a_known_command_in_the_background_has_its_own_files_alone() {
    let mut project = Project::new();
    project.run(("s", "c1"), "sleep 60 && echo x > src/auth/a.ts &");
    project.world.write("README.md", "a person's\n");
    project.world.write("src/auth/b.ts", "a person's\n");
    project.world.write("src/auth/a.ts", "x\n");
    assert_eq!(project.read("t"), "");
    assert_eq!(project.ledger(), ["s src/auth/a.ts PASS late"]);
}

#[test]
fn what_other_calls_change_is_theirs() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    let write = |path: &str| json!({"filePath": path, "content": "new"});
    // A call of another session, and one of the same.
    for (session, path) in [("p", "src/pay/c.ts"), ("s", "src/auth/a.ts")] {
        project.pre((session, "w"), "write", write(path));
        project.world.write(path, format!("{session}\n"));
        project.post((session, "w"), "write", write(path));
    }
    // A call under way: its file has changed, and nobody has reported it yet.
    project.pre(("t", "w2"), "write", write("src/auth/b.ts"));
    project.world.write("src/auth/b.ts", "t\n");
    project.restart();
    assert_eq!(project.read("p"), "");
    assert_eq!(project.ledger(), ["p src/pay/c.ts PASS", "s src/auth/a.ts PASS"]);
    project.post(("t", "w2"), "write", write("src/auth/b.ts"));
    assert_eq!(project.read("p"), "");
    assert_eq!(project.ledger()[2..], ["t src/auth/b.ts PASS"]);
    // A further change after that is late again, and starts from where that change ended.
    project.world.write("src/auth/b.ts", "late\n");
    project.read("p");
    let entries = project.entries();
    assert_eq!(project.ledger()[3..], ["s src/auth/b.ts PASS late"]);
    assert_eq!(entries[3]["file"]["pre_hash"], entries[2]["file"]["post_hash"]);
}

#[test]
fn a_change_that_a_call_under_way_did_not_make_is_entered_once_it_is_over() {
    let mut project = Project::of("claude-code");
    let args = json!({"command": "npm run dev", "run_in_background": true});
    project.pre(("s", "bg"), "Bash", args.clone());
    project.post(("s", "bg"), "Bash", args);
    // Refused by a person, as it turns out.
    project.pre(("t", "w"), "Write", json!({"file_path": "src/auth/b.ts", "content": "new"}));
    project.world.write("src/auth/b.ts", "the server's\n");
    project.read("p");
    assert_eq!(project.ledger(), NONE, "the write may have done it");
    project.ask(json!({"op": "post-tool", "session": "t", "call": "w", "tool": "Write", "args": {"file_path": "src/auth/b.ts"},
                     "success": true}));
    assert_eq!(project.ledger(), ["t src/auth/b.ts PASS"], "who tells of the end takes it");
}

#[test]
fn what_changes_while_a_program_runs_is_that_programs() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    project.pre(("t", "test"), "bash", json!({"command": "npm test"}));
    project.world.write("README.md", "changed\n");
    project.restart();
    assert_eq!(
        (project.read("p"), project.ledger()),
        (String::new(), Vec::new()),
        "either may have done it, and one is still at it"
    );
    let settled = project.post(("t", "test"), "bash", json!({"command": "npm test"}));
    assert!(settled["notice"].as_str().unwrap().contains("`README.md`"), "{settled}");
    assert_eq!(project.ledger(), ["t README.md FAIL"]);
    project.read("p");
    assert_eq!(project.ledger().len(), 1);
    // A call whose end is never reported does not stand in the way forever.
    project.pre(("t", "test2"), "bash", json!({"command": "npm test"}));
    project.world.pass(3_600_000);
    project.world.write("README.md", "changed again\n");
    project.read("p");
    assert_eq!(project.ledger()[1..], ["s README.md FAIL late"]);
}

#[test]
fn turns_and_sessions_are_moments_to_compare() {
    for (event, session) in
        [("after_agent", "s"), ("before_agent", "s"), ("session_end", "s"), ("session_start", "new"), ("after_agent", "t")]
    {
        let mut project = Project::new();
        project.run(("s", "bg"), "npm run dev &");
        project.world.write("README.md", "changed\n");
        project.restart();
        let said = project.event(event, session);
        assert!(said.contains("`README.md`") && said.contains("may still be running"), "{event}: {said}");
        assert_eq!(project.ledger(), ["s README.md FAIL late"], "{event}");
        assert_eq!(project.event(event, session), "", "{event}");
    }
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    project.world.write("README.md", "changed\n");
    assert_eq!(project.event("before_model", "s"), "");
    project.ask(json!({"op": "select-intent", "session": "fresh", "intent": "PAY"}));
    assert_eq!(project.ledger(), ["s README.md FAIL late"], "a session begins");
}

#[test]
fn hooks_that_answer_first_do_not_swallow_what_is_to_be_said() {
    let mut project = Project::new();
    let hooks = json!({"hooks": [{"id": "h", "trigger": "after_agent", "prompt": "Sum up."}]});
    project.world.write_home(".tollgate/hooks.json", hooks.to_string());
    project.run(("s", "bg"), "npm run dev &");
    project.world.write("README.md", "changed\n");
    let machine = json!({"type": "machine", "workspace": "/workspace", "search_path": []});
    project.gate.step(0, &[Input::from_json(&machine)]);
    let waiting = project.ask(json!({"op": "event", "event": "after_agent", "session": "s", "data": {}}));
    assert!(waiting["waiting"].is_u64(), "{waiting}");
    let commands: Vec<_> = (1..20).flat_map(|now| project.gate.step(now * 1_000, &[]).commands).collect();
    let answer = commands.iter().map(|command| command.order.to_json()).find(|order| order["type"] == "reply").unwrap();
    assert!(answer["answer"]["system_message"].as_str().unwrap().contains("`README.md`"), "{answer}");
}

/// A growing log is not a line in the ledger at every call.
#[test]
fn a_file_that_keeps_changing_is_entered_once_in_a_turn() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev > src/auth/dev.log &");
    for round in 0..5 {
        project.world.write("src/auth/dev.log", format!("line {round}\n"));
        project.restart();
        project.read("t");
    }
    assert_eq!(project.ledger(), ["s src/auth/dev.log PASS late"]);
    project.event("after_agent", "s");
    assert_eq!(project.ledger().len(), 2);
    let entries = project.entries();
    assert_eq!(entries[1]["file"]["pre_hash"], entries[0]["file"]["post_hash"], "nothing is left out between");
    for _ in 0..3 {
        project.event("after_agent", "s");
    }
    assert_eq!(project.ledger().len(), 2);
    project.world.write("src/auth/dev.log", "more\n");
    project.read("t");
    assert_eq!(project.ledger().len(), 3);
}

#[test]
fn the_scope_is_the_one_in_force_when_the_call_began() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    project.world.write(
        ".orchestration/active_intents.yaml",
        "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['**']}, {id: PAY, name: P, status: IN_PROGRESS}]",
    );
    project.ask(json!({"op": "select-intent", "session": "s", "intent": "PAY"}));
    project.world.write("README.md", "changed\n");
    project.world.write("src/auth/a.ts", "changed\n");
    project.world.write(".claude/settings.json", "{}");
    project.read("t");
    let ledger = project.ledger();
    assert!(ledger.contains(&"s README.md FAIL late".to_owned()), "{ledger:?}");
    assert!(ledger.contains(&"s src/auth/a.ts PASS late".to_owned()), "{ledger:?}");
    assert!(ledger.contains(&"s .claude/settings.json FAIL late".to_owned()), "{ledger:?}");
    assert!(project.entries().iter().all(|entry| entry["intent_id"] == "LOGIN"));
}

#[test]
fn of_several_calls_the_one_that_owns_the_file_has_it() {
    let mut project = Project::new();
    project.run(("s", "bg1"), "npm run dev &");
    project.run(("p", "bg2"), "npm run pay &");
    project.run(("t", "bg3"), "npm run docs > src/auth/t.log &");
    for path in ["src/auth/a.ts", "src/pay/c.ts", "src/auth/t.log", "README.md"] {
        project.world.write(path, "changed\n");
    }
    project.read("t");
    let mut ledger = project.ledger();
    ledger.sort();
    let expected =
        ["p src/pay/c.ts PASS late", "t README.md FAIL late", "t src/auth/a.ts PASS late", "t src/auth/t.log PASS late"];
    assert_eq!(ledger, expected);
    assert!(project.entries().iter().all(|entry| entry["late"]["others"] == 2), "{:?}", project.entries());
}

/// Codex reports the end of a call only once the command has ended, and does not report what is typed into it.
#[test]
fn a_shell_that_was_left_open() {
    for command in ["bash", "python3 -i", "node", "psql mydb"] {
        let mut project = Project::of("codex");
        let args = json!({"command": command});
        let ruling = project.pre(("s", "call_1"), "Bash", args.clone());
        assert_eq!(ruling["verdict"], "allow", "{ruling}");
        project.world.write("README.md", "typed\n");
        project.restart();
        let said = project.read("s");
        assert!(said.contains("`README.md`"), "{command}: {said}");
        assert_eq!(project.ledger(), ["s README.md FAIL late"], "{command}");
        // The turn ends, and the shell stays open.
        project.event("after_agent", "s");
        project.world.write("README.md", "typed again\n");
        project.read("s");
        assert_eq!(project.ledger().len(), 2, "{command}: {:?}", project.ledger());
        // Then it ends, which is reported under the call's own id.
        project.world.write("src/auth/a.ts", "last\n");
        project.post(("s", "call_1"), "Bash", args);
        assert_eq!(project.ledger()[2..], ["s src/auth/a.ts PASS late"], "{command}");
        project.world.write("README.md", "a person's\n");
        assert_eq!((project.read("s"), project.ledger().len()), (String::new(), 3), "{command}");
    }
}

/// Its last changes are entered even if the ledger cannot be written when its end is reported.
#[test]
fn a_shell_that_ends_while_the_ledger_cannot_be_written() {
    let mut project = Project::of("codex");
    let args = json!({"command": "bash"});
    project.pre(("s", "call_1"), "Bash", args.clone());
    project.event("after_agent", "s");
    project.world.write("README.md", "last\n");
    let records = FailingWrites::under(&mut project);
    records.limit_ledger(Some(0));
    project.post(("s", "call_1"), "Bash", args);
    assert_eq!(project.ledger(), NONE);
    records.limit_ledger(None);
    project.read("t");
    assert_eq!(project.ledger(), ["s README.md FAIL late"]);
    project.world.write("README.md", "a person's\n");
    project.read("t");
    assert_eq!(project.ledger().len(), 1);
}

#[test]
fn a_session_that_begins_while_the_ledger_cannot_be_written() {
    let mut project = Project::of("claude-code");
    let args = json!({"command": "npm run dev", "run_in_background": true});
    project.pre(("s", "bg"), "Bash", args.clone());
    project.post(("s", "bg"), "Bash", args);
    project.event("session_end", "s");
    project.world.write("README.md", "before the next session\n");
    let records = FailingWrites::under(&mut project);
    records.limit_ledger(Some(0));
    project.event("session_start", "u");
    assert_eq!(project.ledger(), NONE);
    records.limit_ledger(None);
    project.read("t");
    assert_eq!(project.ledger(), ["s README.md FAIL late"]);
    project.event("after_agent", "u");
    project.world.write("README.md", "a person's\n");
    project.read("t");
    assert_eq!(project.ledger().len(), 1);
}

/// Another program's log, which is left for later, does not keep it watched.
#[test]
fn a_shell_that_has_ended_is_not_the_cause_of_what_another_program_changes() {
    let mut project = Project::of("codex");
    project.run(("s", "bg"), "npm run dev > src/auth/dev.log &");
    project.world.write("src/auth/dev.log", "1\n");
    project.read("s");
    project.world.write("src/auth/dev.log", "2\n");
    let args = json!({"command": "bash"});
    project.pre(("s", "c1"), "Bash", args.clone());
    project.post(("s", "c1"), "Bash", args);
    project.world.write("README.md", "served\n");
    project.read("s");
    let entries = project.entries();
    let last = entries.last().unwrap();
    assert_eq!((&last["file"]["relative_path"], &last["late"]["call_id"]), (&json!("README.md"), &json!("bg")), "{last:#}");
}

/// A file that it keeps changing is entered once until the turn ends, but its last change is entered in any case; more than one
/// comparison can enter, by the next ones.
#[test]
fn a_shell_that_ends_leaves_nothing_unentered() {
    let mut project = Project::of("codex");
    let args = json!({"command": "bash"});
    project.pre(("s", "call_1"), "Bash", args.clone());
    project.event("after_agent", "s");
    project.world.write("README.md", "typed\n");
    project.read("s");
    project.world.write("README.md", "last\n");
    (0..250).for_each(|number| project.world.write(&format!("src/auth/{number}"), "new"));
    project.post(("s", "call_1"), "Bash", args);
    project.read("s");
    assert_eq!(project.ledger().len(), 252);
    project.world.write("README.md", "a person's\n");
    project.read("s");
    assert_eq!(project.ledger().len(), 252);
}

#[test]
fn unknown_is_asked_about_before_it_goes_on() {
    let mut project = Project::of("codex");
    project.world.write(".tollgate/config.json", r#"{"unknown": "ask"}"#);
    for command in ["bash", "sh -i", "python3", "python3 -i", "python3 -i x.py", "node", "psql", "sqlite3 src/auth/x.db"] {
        let ruling = project.pre(("s", "c"), "Bash", json!({"command": command}));
        assert_eq!((&ruling["verdict"], &ruling["code"]), (&json!("ask"), &json!("unknown_effects")), "{command} {ruling}");
    }
}

#[test]
fn a_command_that_was_still_running_when_its_turn_ended() {
    let mut project = Project::of("codex");
    project.pre(("s", "call_1"), "Bash", json!({"command": "npm run dev"}));
    project.world.write("src/auth/a.ts", "built\n");
    assert_eq!(project.event("after_agent", "s"), "");
    assert_eq!(project.ledger(), ["s src/auth/a.ts PASS"], "this far it is its own, though how it ends is not known");
    project.world.write("README.md", "later\n");
    project.restart();
    project.read("t");
    assert_eq!(project.ledger()[1..], ["s README.md FAIL late"]);
}

/// Claude Code reports the end of every call that runs. A call of which nothing was heard was refused by a person.
#[test]
fn a_call_that_was_refused_is_not_blamed_for_what_a_person_does() {
    for command in ["npm run dev &", "npm test", "bash"] {
        let mut project = Project::of("claude-code");
        project.pre(("s", "c1"), "Bash", json!({"command": command}));
        project.restart();
        assert_eq!(project.event("before_agent", "s"), "");
        project.world.write("README.md", "a person's\n");
        project.restart();
        assert_eq!((project.read("s"), project.event("after_agent", "s")), (String::new(), String::new()), "{command}");
        assert_eq!(project.ledger(), NONE, "{command}");
        assert_eq!(project.world.count(&format!("{STATE}/calls")), 0, "{command}");
    }
    // The turn may end without another prompt.
    let mut project = Project::of("claude-code");
    project.pre(("s", "c1"), "Bash", json!({"command": "npm run dev &"}));
    project.event("after_agent", "s");
    project.world.write("README.md", "a person's\n");
    assert_eq!((project.read("s"), project.ledger()), (String::new(), Vec::new()));
}

#[test]
fn a_call_that_is_refused_is_not_watched() {
    let mut project = Project::new();
    let call = ToolCall {
        session: "s".to_owned(),
        agent: None,
        call: "c1".to_owned(),
        host: None,
        tool: "bash".to_owned(),
        server: None,
        args: json!({"command": "npm run dev &"}),
        cwd: None,
    };
    project.gate.check(&call);
    project.gate.settle(&call, &CallOutcome::Refused("a hook said no".to_owned()));
    project.world.write("README.md", "a person's\n");
    project.read("t");
    assert_eq!(project.ledger(), NONE);
    let watch = project.world.content(&format!("{STATE}/late/watch")).unwrap();
    assert!(watch.is_empty(), "nothing is compared any more");
}

/// A person sends a command to the background, or the program does when it takes too long.
#[test]
fn a_tool_may_say_that_its_command_goes_on() {
    for (command, late) in
        [("npm test", "s README.md FAIL late"), ("sleep 9; echo x > src/auth/a.ts", "s src/auth/a.ts PASS late")]
    {
        let mut project = Project::of("claude-code");
        let answer = json!({"stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": "b4f"});
        assert!(reports_still_running(&answer));
        let call = ToolCall {
            session: "s".to_owned(),
            agent: None,
            call: "c1".to_owned(),
            host: project.host.map(str::to_owned),
            tool: "Bash".to_owned(),
            server: None,
            args: json!({"command": command}),
            cwd: None,
        };
        project.gate.check(&call);
        project.world.write("src/auth/b.ts", "so far\n");
        let settled = project.gate.settle(&call, &CallOutcome::Running);
        let so_far = if command == "npm test" { 1 } else { 0 };
        assert_eq!(settled.lines.len(), so_far, "{settled:?}");
        project.world.write("README.md", "later\n");
        project.world.write("src/auth/a.ts", "later\n");
        project.restart();
        project.read("t");
        assert!(project.ledger().contains(&late.to_owned()), "{:?}", project.ledger());
        assert_eq!(project.entries().iter().filter(|entry| entry["success"] == false).count(), 0);
    }
}

#[test]
fn what_a_program_keeps_running_ends_with_its_session() {
    for (args, outlives) in [
        (json!({"command": "npm run dev", "run_in_background": true}), false),
        (json!({"command": "nohup npm run dev", "run_in_background": true}), true),
    ] {
        let mut project = Project::of("claude-code");
        project.pre(("s", "bg"), "Bash", args.clone());
        project.post(("s", "bg"), "Bash", args.clone());
        project.event("session_end", "s");
        project.world.write("README.md", "before the next session\n");
        project.restart();
        assert!(project.event("session_start", "u").contains("`README.md`"), "{args}");
        assert_eq!(project.ledger(), ["s README.md FAIL late"], "{args}");
        project.world.write("README.md", "in the next session\n");
        project.restart();
        project.event("after_agent", "u");
        assert_eq!(project.ledger().len(), 1 + usize::from(outlives), "{args}");
    }
}

#[test]
fn nothing_is_watched_for_ever() {
    let mut project = Project::new();
    for number in 0..40 {
        project.run(("s", &format!("bg{number}")), "npm run dev &");
    }
    let watch = project.world.content(&format!("{STATE}/late/watch")).unwrap();
    let head: Value = serde_json::from_slice(watch.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(head["calls"].as_array().unwrap().len(), 16);
    project.world.pass(86_400_000);
    project.world.write("README.md", "the last one\n");
    project.read("t");
    assert_eq!(project.ledger(), ["s README.md FAIL late"], "compared once more");
    project.world.write("README.md", "a person's\n");
    project.read("t");
    assert_eq!(project.ledger().len(), 1);
    assert!(project.world.content(&format!("{STATE}/late/watch")).unwrap().is_empty());
}

#[test]
fn a_workspace_that_is_too_large_says_so_once() {
    let mut project = Project::new();
    for number in 0..150_000 {
        project.world.write(&format!("data/{number}"), "");
    }
    let mut said = Vec::new();
    for number in 0..3 {
        let ruling = project.pre(("s", &format!("c{number}")), "bash", json!({"command": "npm run dev &"}));
        said.push(ruling["reason"].as_str().unwrap().contains("more than 150000 files"));
        project.restart();
    }
    assert_eq!((said, project.warned("more than 150000 files")), (vec![true, false, false], 1));
    project.world.write("README.md", "changed\n");
    assert_eq!((project.read("t"), project.ledger()), (String::new(), Vec::new()));
}

/// A program cannot end its own watch by making many files for a while.
#[test]
fn a_workspace_that_was_too_large_for_a_while_is_compared_again() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    for _ in 0..2 {
        for number in 0..150_000 {
            project.world.write(&format!("data/{number}"), "");
        }
        assert!(project.read("t").contains("more than 150000 files"));
        assert_eq!(project.read("t"), "", "it is said once");
        project.world.delete("data");
        project.world.write("README.md", "changed\n");
        project.event("after_agent", "t");
        assert_eq!(project.ledger(), ["s README.md FAIL late"]);
    }
}

/// A program cannot hide what it changed by making so many files that nobody can compare.
#[test]
fn what_cannot_be_compared_is_recorded_as_failed() {
    let mut project = Project::new();
    let args = json!({"command": "make"});
    project.pre(("s", "c"), "bash", args.clone());
    project.world.write("README.md", "changed\n");
    for number in 0..150_000 {
        project.world.write(&format!("data/{number}"), "");
    }
    let answer = project.post(("s", "c"), "bash", args);
    assert!(answer["notice"].as_str().unwrap().contains("what changed while `bash` ran is not known"), "{answer}");
    let entries = project.entries();
    assert_eq!((entries.len(), &entries[0]["scope_validation"]), (1, &json!("FAIL")), "{entries:?}");
}

#[test]
fn many_changes_are_entered_a_part_at_a_time() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    for number in 0..500 {
        project.world.write(&format!("data/{number:03}"), "x");
    }
    let mut counts = Vec::new();
    for _ in 0..4 {
        let said = project.read("t");
        assert!(said.len() < 1_000, "{said}");
        counts.push(project.ledger().len());
    }
    assert_eq!(counts, [200, 400, 500, 500]);
    let mut paths = project.ledger();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 500);
}

#[test]
fn one_compares_at_a_time_and_nothing_is_lost() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    project.world.write("README.md", "changed\n");
    // Another process is comparing, and is killed.
    let now = project.world.now().0;
    project.world.replace(Root::State, "late/comparing", now.to_string().as_bytes(), Expectation::Absent).unwrap();
    assert_eq!((project.read("t"), project.ledger()), (String::new(), Vec::new()));
    project.world.pass(10_000);
    project.read("t");
    assert_eq!(project.ledger(), ["s README.md FAIL late"]);
}

/// A world in which the ledger cannot be written, and everything else can.
struct WithoutLedger(Rc<Memory>);

impl Records for WithoutLedger {
    fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        if path == LEDGER { Err(FileFault::Full) } else { self.0.append(root, path, bytes) }
    }

    fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        self.0.replace(root, path, bytes, expected)
    }

    fn remove(&self, root: Root, path: &str) -> Result<(), FileFault> {
        self.0.remove(root, path)
    }
}

#[test]
fn a_ledger_that_cannot_be_written_is_caught_up_with() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    project.world.write("README.md", "changed\n");
    let mut ports = project.world.ports();
    ports.records = Rc::new(WithoutLedger(project.world.clone()));
    project.gate = Gate::new(ports);
    assert!(project.read("t").contains("cannot be written"));
    project.restart();
    project.read("t");
    assert_eq!(project.ledger(), ["s README.md FAIL late"]);
    // Nor does a state folder that cannot be written stop anybody from working.
    project.world.write("README.md", "changed again\n");
    project.world.refuse_writes(Some(FileFault::Full));
    project.read("t");
    project.event("after_agent", "s");
    project.world.refuse_writes(None);
    project.restart();
    project.event("after_agent", "s");
    assert_eq!(project.ledger(), ["s README.md FAIL late", "s README.md FAIL late"]);
}

#[test]
fn where_nothing_is_governed_any_more_nothing_is_written() {
    let mut project = Project::new();
    project.run(("s", "bg"), "npm run dev &");
    project.world.delete(".orchestration");
    project.world.write("README.md", "changed\n");
    project.restart();
    project.ask(json!({"op": "pre-tool", "session": "t", "call": "x", "tool": "read", "args": {"filePath": "README.md"}}));
    for event in ["after_agent", "session_end", "session_start", "before_agent"] {
        project.event(event, "s");
    }
    assert_eq!(project.world.content(LEDGER), None);
}

#[test]
fn who_overwrites_a_late_change_is_told_of_it() {
    let mut project = Project::new();
    project.pre(("t", "r"), "read", json!({"filePath": "src/auth/a.ts"}));
    project.run(("s", "bg"), "npm run dev &");
    project.world.write("src/auth/a.ts", "late\n");
    let ruling = project.pre(("t", "w"), "write", json!({"filePath": "src/auth/a.ts", "content": "mine"}));
    assert_eq!(ruling["code"], "stale_write", "{ruling}");
    let reason = ruling["reason"].as_str().unwrap();
    assert!(reason.contains("session `s` with `bash`") && reason.contains("in a command that is still running"), "{reason}");
}

#[test]
fn a_gate_without_anything_that_goes_on_looks_at_nothing() {
    let mut project = Project::new();
    project.run(("s", "c"), "npm test");
    project.gate = Gate::new(project.world.ports());
    let before = project.world.now().0;
    for event in ["before_agent", "after_agent"] {
        project.event(event, "s");
    }
    assert_eq!(project.world.now().0, before + 1_000, "not even the clock");
}

//! Calls that passed the gate and that a person then refused: they hold nothing beyond their turn.

use crate::project::Project;
use serde_json::{Value, json};
use tollgate_guest::ports::memory::STATE;

fn write(path: &str) -> Value {
    json!({"filePath": path, "content": "new"})
}

#[track_caller]
fn code(project: &mut Project, call: (&str, &str), path: &str) -> String {
    project.pre(call, "write", write(path))["code"].as_str().unwrap().to_owned()
}

#[test]
fn a_lease_ends_with_the_turn() {
    for (event, freed) in
        [("before_agent", true), ("after_agent", true), ("session_end", true), ("session_start", true), ("before_model", false)]
    {
        let mut project = Project::new();
        assert_eq!(code(&mut project, ("s", "1"), "src/auth/a.ts"), "in_scope");
        assert_eq!(code(&mut project, ("t", "2"), "src/auth/a.ts"), "write_in_flight");
        project.restart();
        assert_eq!(project.event(event, "t"), "", "another session's turn");
        assert_eq!(code(&mut project, ("t", "3"), "src/auth/a.ts"), "write_in_flight", "{event}");
        assert_eq!(project.event(event, "s"), "");
        let expected = if freed { "in_scope" } else { "write_in_flight" };
        assert_eq!(code(&mut project, ("t", "4"), "src/auth/a.ts"), expected, "{event}");
        assert!(project.ledger().is_empty(), "{event}: {:?}", project.ledger());
    }
}

#[test]
fn calls_of_one_turn_may_run_at_the_same_time() {
    let mut project = Project::new();
    code(&mut project, ("s", "1"), "src/auth/a.ts");
    // The next call of the session says nothing about the previous one.
    code(&mut project, ("s", "2"), "src/auth/b.ts");
    assert_eq!(code(&mut project, ("t", "3"), "src/auth/a.ts"), "write_in_flight");
    // A session that asks for the same file again may go on, and holds the file until both calls have ended.
    assert_eq!(code(&mut project, ("s", "4"), "src/auth/a.ts"), "in_scope");
    project.world.write("src/auth/a.ts", "new");
    project.post(("s", "4"), "write", write("src/auth/a.ts"));
    assert_eq!(code(&mut project, ("t", "5"), "src/auth/a.ts"), "write_in_flight");
    // The change is explained by the call that ran, so the first one is not entered.
    project.event("after_agent", "s");
    assert_eq!(code(&mut project, ("t", "6"), "src/auth/a.ts"), "in_scope");
    assert_eq!(project.ledger(), ["s src/auth/a.ts PASS"]);
}

/// A prompt may come in while calls are under way.
#[test]
fn a_call_that_runs_all_the_same_is_entered_as_usual() {
    for tool in ["write", "bash"] {
        let mut project = Project::new();
        let args = if tool == "bash" { json!({"command": "npm test"}) } else { write("src/auth/a.ts") };
        project.pre(("s", "1"), tool, args.clone());
        project.event("before_agent", "s");
        project.restart();
        project.world.write("src/auth/a.ts", "new");
        let settled = project.post(("s", "1"), tool, args);
        assert_eq!(settled["entries"].as_array().unwrap().len(), 1, "{settled}");
        assert!(settled.get("notice").is_none(), "{settled}");
        assert_eq!(project.ledger(), ["s src/auth/a.ts PASS"], "{tool}");
    }
}

#[test]
fn a_call_that_ends_after_its_turn_is_entered_all_the_same() {
    let mut project = Project::new();
    project.pre(("s", "1"), "write", write("src/auth/a.ts"));
    project.event("after_agent", "s");
    project.world.write("src/auth/a.ts", "new");
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(project.ledger(), ["s src/auth/a.ts PASS"]);
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(project.ledger().len(), 1, "once");
    // Nobody can tell any more what a program did in the meantime, and that is reported.
    let mut project = Project::of("claude-code");
    project.pre(("s", "1"), "Bash", json!({"command": "npm test"}));
    project.event("after_agent", "s");
    let settled = project.post(("s", "1"), "Bash", json!({"command": "npm test"}));
    assert_eq!(project.ledger(), ["s - FAIL"]);
    assert!(settled["notice"].as_str().unwrap().contains("not known"), "{settled}");
}

#[test]
fn what_changed_without_a_word_is_entered_when_the_turn_ends() {
    let mut project = Project::new();
    project.pre(("s", "1"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "new");
    project.event("before_agent", "s");
    assert!(project.ledger().is_empty(), "it may be under way");
    project.event("after_agent", "s");
    assert_eq!(project.ledger(), ["s src/auth/a.ts PASS"]);
    assert!(project.entries()[0]["error"].as_str().unwrap().contains("not known"));
    assert_eq!(project.world.count(&format!("{STATE}/calls")), 0);
}

/// Sub-agents of a session go on when the turn of its main agent ends.
#[test]
fn calls_of_sub_agents_are_their_own() {
    let mut project = Project::new();
    let call = json!({"op": "pre-tool", "session": "s", "agent": "helper", "call": "1", "tool": "write",
                      "args": {"filePath": "src/auth/a.ts", "content": "new"}});
    project.ask(call);
    for event in ["before_agent", "after_agent", "session_start"] {
        project.event(event, "s");
        assert_eq!(code(&mut project, ("t", "2"), "src/auth/a.ts"), "write_in_flight", "{event}");
    }
    project.event("session_end", "s");
    assert_eq!(code(&mut project, ("t", "3"), "src/auth/a.ts"), "in_scope");
}

/// Codex reports the end of a shell command only once the command has ended.
#[test]
fn a_command_that_may_still_run_is_not_taken_for_refused() {
    let mut project = Project::of("codex");
    let args = json!({"command": "sleep 60; echo x > src/auth/a.ts"});
    project.pre(("s", "1"), "Bash", args.clone());
    project.event("before_agent", "s");
    assert_eq!(code(&mut project, ("t", "2"), "src/auth/a.ts"), "write_in_flight");
    project.world.write("src/auth/a.ts", "x\n");
    let settled = project.post(("s", "1"), "Bash", args.clone());
    assert_eq!(settled["entries"].as_array().unwrap().len(), 1, "{settled}");
    assert_eq!(project.ledger(), ["s src/auth/a.ts PASS"]);
    // Nor when the turn ends.
    project.pre(("s", "3"), "Bash", args);
    project.event("before_agent", "s");
    project.event("after_agent", "s");
    project.world.write("src/auth/a.ts", "later\n");
    project.event("after_agent", "s");
    assert_eq!(project.ledger()[1..], ["s src/auth/a.ts PASS late"]);
}

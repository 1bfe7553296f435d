//! Sessions that share a workspace: stale writes, concurrent writes, settings, faults of the gate itself.

use crate::project::{LEDGER, Project, UNKNOWN, entered, expect, shared, write};
use serde_json::json;
use tollgate_guest::digest::Digest;
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{FileFault, LogLevel};

#[test]
fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let mut project = shared();
    expect(&project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"})), "allow", "read_only");
    project.world.write("src/auth/a.ts", "somebody else's\n");
    project.restart();
    let ruling = project.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    expect(&ruling, "deny", "stale_write");
    let reason = ruling["reason"].as_str().unwrap();
    for part in [
        &*Digest::of(b"one\n").brief(),
        &Digest::of(b"somebody else's\n").brief(),
        "`src/auth/a.ts`",
        "outside the gate",
        "read it again",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    // Any way to read it will do.
    project.call("pre-tool", ("s", "3"), "bash", json!({"command": "cat src/auth/a.ts"}));
    expect(&project.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

#[test]
fn who_changed_it_last_is_told_by_the_ledger() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}));
    project.call("pre-tool", ("t", "2"), "edit", json!({"filePath": "src/auth/a.ts", "oldString": "one", "newString": "1"}));
    project.world.write("src/auth/a.ts", "1\n");
    project.call("post-tool", ("t", "2"), "edit", json!({"filePath": "src/auth/a.ts"}));
    let ruling = project.call("pre-tool", ("s", "3"), "bash", json!({"command": "sed -i s/1/3/ src/auth/a.ts"}));
    expect(&ruling, "deny", "stale_write");
    assert!(ruling["reason"].as_str().unwrap().contains("session `t` with `edit` at 2026-"), "{ruling}");
    // The session that changed it goes on.
    expect(&project.call("pre-tool", ("t", "4"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// A session, what it knows, what happened to the file, and whether it may write.
#[test]
fn what_a_session_may_write_by_what_it_saw() {
    type Step = fn(&mut Project);
    let cases: &[(&str, Step, Step, &str)] = &[
        ("never looked", |_| {}, |project| project.world.write("src/auth/a.ts", "x"), "allow"),
        (
            "looked, unchanged",
            |project| drop(project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |_| {},
            "allow",
        ),
        (
            "looked, written again with the same content",
            |project| drop(project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |project| project.world.write("src/auth/a.ts", "one\n"),
            "allow",
        ),
        (
            "looked, removed since",
            |project| drop(project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |project| project.world.delete("src/auth/a.ts"),
            "deny",
        ),
        (
            "looked, removed since, looked again",
            |project| drop(project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |project| {
                project.world.delete("src/auth/a.ts");
                project.call("pre-tool", ("s", "2"), "read", json!({"filePath": "src/auth/a.ts"}));
            },
            "allow",
        ),
        (
            "a read that was denied is no look",
            |project| drop(project.call("pre-tool", ("s", "1"), "bash", json!({"command": "cat src/auth/a.ts > /etc/x"}))),
            |project| project.world.write("src/auth/a.ts", "x"),
            "allow",
        ),
        (
            "removed it itself, somebody made it anew",
            |project| {
                project.call("pre-tool", ("s", "1"), "bash", json!({"command": "rm src/auth/a.ts"}));
                project.world.delete("src/auth/a.ts");
                project.call("post-tool", ("s", "1"), "bash", json!({"command": "rm src/auth/a.ts"}));
            },
            |project| project.world.write("src/auth/a.ts", "another"),
            "deny",
        ),
    ];
    for (case, before, meanwhile, verdict) in cases {
        let mut project = shared();
        before(&mut project);
        meanwhile(&mut project);
        let ruling = project.call("pre-tool", ("s", "9"), "write", write("src/auth/a.ts"));
        assert_eq!(ruling["verdict"], *verdict, "{case}: {ruling}");
    }
}

#[test]
fn an_expected_hash_in_the_call_counts_more_than_what_was_seen() {
    let right = Digest::of(b"one\n").to_string();
    for (name, value, verdict) in [
        ("expected_hash", right.clone(), "allow"),
        ("expectedHash", right.replace("sha256:", ""), "allow"),
        ("expected_sha256", right.to_uppercase().replace("SHA256:", ""), "allow"),
        ("pre_hash", Digest::of(b"other").to_string(), "deny"),
        ("expected_hash", "W/\"an etag\"".to_owned(), "allow"),
    ] {
        let mut project = shared();
        let ruling =
            project.call("pre-tool", ("s", "1"), "write", json!({"filePath": "src/auth/a.ts", "content": "x", name: value}));
        assert_eq!(ruling["verdict"], verdict, "{name}: {ruling}");
    }
}

/// A hook command is a new process for every call: if files stopped being parsable before it started, the last good ones stay in
/// force all the same.
#[test]
fn the_last_good_files_outlive_the_process() {
    let mut project = shared();
    project.world.write(".tollgate/config.json", r#"{"programs": "deny"}"#);
    expect(&project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"})), "deny", "program");
    project.world.write(".tollgate/config.json", r#"{"programs": "deny""#);
    project.world.write(".orchestration/active_intents.yaml", "active_intents: [");
    project.restart();
    expect(&project.call("pre-tool", ("s", "2"), "bash", json!({"command": "make"})), "deny", "program");
    expect(&project.call("pre-tool", ("s", "3"), "write", write("README.md")), "deny", "out_of_scope");
    assert!(
        project.warned("the last good version stays in force") > 0 && project.warned("the last good settings stay in force") > 0
    );
    project.world.delete(".orchestration/active_intents.yaml");
    project.restart();
    expect(&project.call("pre-tool", ("s", "4"), "write", write("README.md")), "deny", "out_of_scope");
}

/// A tool that failed may have changed something before that.
#[test]
fn a_failed_call_is_no_reason_to_be_stale() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}));
    let command = json!({"command": "sed -i s/one/1/ src/auth/a.ts; false"});
    project.call("pre-tool", ("s", "2"), "bash", command.clone());
    project.world.write("src/auth/a.ts", "1\n");
    let op = json!({"op": "post-tool", "session": "s", "call": "2", "tool": "bash", "args": command, "success": false, "error": "exit 1"});
    assert_eq!(project.ask(op)["entries"].as_array().unwrap().len(), 1);
    expect(&project.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// Removing a file and creating it again is one change, and its lease is released.
#[test]
fn a_file_that_is_removed_and_made_again_changes_once() {
    let mut project = shared();
    let command = json!({"command": "rm src/auth/a.ts; echo 2 > src/auth/a.ts; ln -s b.ts src/auth/link"});
    expect(&project.call("pre-tool", ("s", "1"), "bash", command.clone()), "allow", "in_scope");
    project.world.write("src/auth/a.ts", "2\n");
    project.world.symlink("b.ts", "src/auth/link");
    let settled = project.call("post-tool", ("s", "1"), "bash", command);
    let classes: Vec<_> = settled["entries"].as_array().unwrap().iter().map(|entry| &entry["mutation_class"]).collect();
    assert_eq!(classes, ["INTENT_EVOLUTION", "FILE_CREATION"], "{settled}");
    expect(&project.call("pre-tool", ("t", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// Calls of one session that overlap: the second is ruled on when the first has run and has not been settled.
#[test]
fn a_session_is_not_stale_by_its_own_call_under_way() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}));
    project.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "new");
    expect(&project.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.call("post-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    project.call("post-tool", ("s", "3"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "somebody else's");
    expect(&project.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "deny", "stale_write");
}

#[test]
fn two_sessions_that_write_at_once() {
    let mut project = shared();
    expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.restart();
    let held = project.call("pre-tool", ("t", "2"), "bash", json!({"command": "echo 1 > src/auth/a.ts"}));
    expect(&held, "deny", "write_in_flight");
    assert!(held["reason"].as_str().unwrap().contains("session `s` is writing to `src/auth/a.ts` with `write`"), "{held}");
    expect(&project.call("pre-tool", ("t", "3"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    expect(&project.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.world.write("src/auth/a.ts", "new");
    project.call("post-tool", ("s", "4"), "write", write("src/auth/a.ts"));
    // The session still writes with its first call.
    expect(&project.call("pre-tool", ("t", "5"), "write", write("src/auth/a.ts")), "deny", "write_in_flight");
    project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    expect(&project.call("pre-tool", ("t", "6"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// A patch over two files, one of which is held: the denied call holds neither.
#[test]
fn a_call_that_is_held_back_holds_nobody() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "write", write("src/auth/b.ts"));
    let patch = "*** Begin Patch\n*** Delete File: src/auth/a.ts\n*** Delete File: src/auth/b.ts\n*** End Patch";
    expect(&project.call("pre-tool", ("t", "2"), "apply_patch", json!({"patchText": patch})), "deny", "write_in_flight");
    expect(&project.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// The session holds the file with an earlier call all the same.
#[test]
fn a_call_that_is_denied_releases_only_what_it_took_itself() {
    let mut project = shared();
    expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    expect(&project.call("pre-tool", ("t", "2"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    let patch = "*** Begin Patch\n*** Delete File: src/auth/a.ts\n*** Delete File: src/auth/b.ts\n*** End Patch";
    expect(&project.call("pre-tool", ("s", "3"), "apply_patch", json!({"patchText": patch})), "deny", "write_in_flight");
    expect(&project.call("pre-tool", ("t", "4"), "write", write("src/auth/a.ts")), "deny", "write_in_flight");
}

#[test]
fn a_session_that_died_holds_nobody_for_longer_than_a_minute() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    let mut denied = 0;
    while project.call("pre-tool", ("t", "2"), "write", write("src/auth/a.ts"))["verdict"] == "deny" {
        denied += 1;
        assert!(denied <= 31, "the clock goes on by a second with every look at it, and a call that is denied takes two");
    }
    assert!(denied > 25, "{denied}");
}

#[test]
fn changes_of_two_calls_at_once_are_flagged() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    // The other session came when the lease had expired, and finished first.
    let is_held =
        |project: &mut Project| project.call("pre-tool", ("t", "2"), "write", write("src/auth/a.ts"))["verdict"] == "deny";
    assert!((0..100).any(|_| !is_held(&mut project)), "the lease never runs out");
    project.world.write("src/auth/a.ts", "theirs");
    let theirs = project.call("post-tool", ("t", "2"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "ours");
    let ours = project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    let flag = &ours["entries"][0]["concurrent"];
    assert_eq!(flag, &json!({"session_id": "t", "entry_id": theirs["entries"][0]["id"]}));
    assert_eq!(theirs["entries"][0].get("concurrent"), None);
}

#[test]
fn a_change_can_be_taken_back() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    project.world.write("README.md", "overwritten\n");
    project.world.write("made.txt", "made");
    let settled = project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    let (readme, made) = (settled["entries"][0]["id"].clone(), settled["entries"][1]["id"].clone());
    let plan = project.ask(json!({"op": "revert", "step": "plan", "entry": readme}));
    assert_eq!((&plan["action"], &plan["path"]), (&json!("restore"), &json!("README.md")), "{plan}");
    assert_eq!(plan["want"], json!(Digest::of(b"read me\n").to_string()));
    assert_eq!(project.world.content(&format!("{STATE}/{}", plan["image"].as_str().unwrap())).unwrap(), b"read me\n");
    project.world.write("README.md", "read me\n");
    let entry = &project.ask(json!({"op": "revert", "step": "record", "entry": readme}))["entries"][0];
    assert_eq!((&entry["reverts"], &entry["success"], &entry["scope_validation"]), (&readme, &json!(true), &json!("EXEMPT")));
    let again = project.ask(json!({"op": "revert", "step": "plan", "entry": readme}));
    assert!(again["error"]["message"].as_str().unwrap().contains("already"), "{again}");
    assert_eq!(project.ask(json!({"op": "revert", "step": "plan", "entry": made}))["action"], "remove");
    project.world.write("made.txt", "worked on");
    let changed = project.ask(json!({"op": "revert", "step": "plan", "entry": made}));
    assert!(changed["error"]["message"].as_str().unwrap().contains("has changed again since"), "{changed}");
    let unknown = project.ask(json!({"op": "revert", "step": "plan", "entry": "nonsense"}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("`nonsense`"), "{unknown}");
}

#[test]
fn a_ledger_that_cannot_be_written_is_tried_again_and_never_blocks() {
    let mut project = shared();
    expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.world.refuse_writes(Some(FileFault::Full));
    project.world.write("src/auth/a.ts", "new");
    let settled = project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(settled["entries"], json!([]));
    assert!(settled["notice"].as_str().unwrap().contains("the disk is full"), "{settled}");
    assert!(project.gate.retry_due_in().is_some());
    project.world.refuse_writes(None);
    project.gate.retry_ledger();
    assert_eq!(project.gate.retry_due_in(), None);
    assert_eq!(String::from_utf8(project.world.content(LEDGER).unwrap()).unwrap().lines().count(), 1);
    // The second time it does not come back soon.
    project.call("pre-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    project.world.write("src/auth/b.ts", "new");
    project.world.refuse_writes(Some(FileFault::Busy));
    project.call("post-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    project.gate.retry_ledger();
    assert_eq!(project.gate.retry_due_in(), None);
    assert!(
        project
            .world
            .logged()
            .iter()
            .any(|(level, line)| *level == LogLevel::Error && line.contains("`write` on `src/auth/b.ts`"))
    );
    project.world.refuse_writes(None);
    expect(&project.call("pre-tool", ("s", "3"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    assert_eq!(entered(&project).len(), 1);
    // Nothing is lost all the same.
    project.restart();
    project.ask(json!({"op": "event", "event": "session_end", "session": "s"}));
    assert_eq!(entered(&project)[1..], [(json!("src/auth/b.ts"), json!(false), json!(UNKNOWN), json!("PASS"))]);
}

/// If a call cannot be remembered, a person decides, unless the user said otherwise. A workspace cannot say so.
#[test]
fn a_fault_before_a_tool_asks_unless_the_user_lets_it_pass() {
    let allows = r#"{"on_fault": "allow"}"#;
    for (of_user, of_workspace, verdict, code) in [
        (None, None, "ask", "gate_fault"),
        (None, Some(allows), "ask", "gate_fault"),
        (Some(r#"{"on_fault": "ask"}"#), Some(allows), "ask", "gate_fault"),
        (Some(r#"{"on_fault": "#), None, "ask", "gate_fault"),
        (Some(allows), None, "allow", "in_scope"),
        // The stricter of the two wins.
        (Some(allows), Some(r#"{"strict": true}"#), "ask", "gate_fault"),
    ] {
        let mut project = shared();
        if let Some(text) = of_user {
            project.world.write_home(".tollgate/config.json", text);
        }
        if let Some(text) = of_workspace {
            project.world.write(".tollgate/config.json", text);
        }
        project.world.refuse_writes(Some(FileFault::Full));
        let ruling = project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
        expect(&ruling, verdict, code);
        expect(&project.call("pre-tool", ("s", "2"), "read", json!({"filePath": "src/auth/a.ts"})), "allow", "read_only");
        expect(&project.call("pre-tool", ("s", "3"), "write", write("README.md")), "deny", "out_of_scope");
        assert_eq!(project.warned("`on_fault` in `.tollgate/config.json` is ignored") > 0, of_workspace == Some(allows));
    }
}

/// Intents that exist but cannot be inspected may say anything. Missing or broken ones say nothing.
#[test]
fn intents_that_cannot_be_looked_at_ask() {
    type Make = fn(&Memory);
    const PATH: &str = ".orchestration/active_intents.yaml";
    let cases: &[(&str, Make, &str)] = &[
        ("missing", |_| {}, "allow"),
        ("broken", |world| world.write(PATH, "active_intents: [unclosed"), "allow"),
        ("a folder", |world| world.mkdir(PATH), "ask"),
        ("too large", |world| world.write(PATH, " ".repeat((8 << 20) + 1)), "ask"),
        ("a loop", |world| world.symlink("active_intents.yaml", PATH), "ask"),
        ("outside", |world| world.symlink("/home/user/intents.yaml", PATH), "ask"),
    ];
    for (name, make, verdict) in cases {
        let world = Memory::new();
        world.mkdir(".orchestration");
        make(&world);
        let mut project = Project::over(world);
        let ruling = project.call("pre-tool", ("s", "1"), "write", write("a"));
        assert_eq!((&ruling["verdict"], &ruling["code"]), (&json!(verdict), &json!("intents_unreadable")), "{name}: {ruling}");
        expect(&project.call("pre-tool", ("s", "2"), "read", json!({"filePath": "a"})), "allow", "intents_unreadable");
        expect(&project.call("pre-tool", ("s", "3"), "write", json!({})), verdict, "intents_unreadable");
        project.world.write_home(".tollgate/config.json", r#"{"on_fault": "allow"}"#);
        expect(&project.call("pre-tool", ("s", "4"), "write", write("a")), "allow", "intents_unreadable");
        project.world.write(".tollgate/config.json", r#"{"strict": true}"#);
        expect(&project.call("pre-tool", ("s", "5"), "write", write("a")), "deny", "intents_unreadable");
    }
}

#[test]
fn strict_settings_turn_faults_into_a_question() {
    let mut project = shared();
    project.world.write(".tollgate/config.json", r#"{"strict": true}"#);
    expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.world.refuse_writes(Some(FileFault::Full));
    let ruling = project.call("pre-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    expect(&ruling, "ask", "gate_fault");
    assert!(ruling["reason"].as_str().unwrap().contains("the disk is full"), "{ruling}");
    expect(&project.call("pre-tool", ("s", "3"), "read", json!({"filePath": "src/auth/a.ts"})), "allow", "read_only");
    // The person let it run; it is entered as soon as the ledger can be written, and then nobody is asked any more.
    project.world.write("src/auth/b.ts", "new");
    project.call("post-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    project.gate.retry_ledger();
    expect(&project.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    project.world.refuse_writes(None);
    project.world.write("src/auth/a.ts", "new");
    assert_eq!(project.call("post-tool", ("s", "4"), "write", write("src/auth/a.ts"))["entries"].as_array().unwrap().len(), 1);
    expect(&project.call("pre-tool", ("s", "5"), "write", write("src/auth/b.ts")), "allow", "in_scope");
}

/// Failed calls are entered unless the settings say no, rejected ones only if they say so; secrets never.
#[test]
fn failed_and_rejected_calls() {
    let failed = |project: &mut Project| {
        project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
        let error = "401: password=hunter22secret was wrong";
        let op = json!({"op": "post-tool", "session": "s", "call": "1", "tool": "write", "args": {}, "success": false, "error": error});
        project.ask(op)["entries"].clone()
    };
    let mut project = shared();
    let entries = failed(&mut project);
    assert_eq!((&entries[0]["success"], &entries[0]["error"]), (&json!(false), &json!("401: password=[REDACTED] was wrong")));
    expect(&project.call("pre-tool", ("s", "2"), "write", write("README.md")), "deny", "out_of_scope");
    assert_eq!(String::from_utf8(project.world.content(LEDGER).unwrap()).unwrap().lines().count(), 1);

    let mut project = shared();
    project.world.write(".tollgate/config.json", r#"{"record": {"failed": false, "rejected": true}}"#);
    assert_eq!(failed(&mut project), json!([]));
    project.call("pre-tool", ("s", "2"), "write", write("README.md"));
    project.call("pre-tool", ("s", "3"), "write", json!({}));
    let entries = project.ask(json!({"op": "trace"}))["entries"].clone();
    assert_eq!(entries[0]["file"]["relative_path"], "README.md");
    assert_eq!((&entries[0]["scope_validation"], &entries[0]["success"]), (&json!("FAIL"), &json!(false)));
    assert!(entries[0]["error"].as_str().unwrap().starts_with("out_of_scope: "), "{entries}");
    assert_eq!(entries[1]["file"], json!(null));
}

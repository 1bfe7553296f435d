//! Sessions that share a workspace: stale writes, concurrent writes, settings, faults of the gate itself.

use crate::house::{House, LEDGER, UNKNOWN, entered, expect, shared, write};
use serde_json::json;
use tollgate_guest::digest::Digest;
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{FileFault, LogLevel};

#[test]
fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let mut house = shared();
    expect(&house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"})), "allow", "read_only");
    house.world.write("src/auth/a.ts", "somebody else's\n");
    house.restart();
    let ruling = house.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts"));
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
    house.call("pre-tool", ("s", "3"), "bash", json!({"command": "cat src/auth/a.ts"}));
    expect(&house.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

#[test]
fn who_changed_it_last_is_told_by_the_ledger() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}));
    house.call("pre-tool", ("t", "2"), "edit", json!({"filePath": "src/auth/a.ts", "oldString": "one", "newString": "1"}));
    house.world.write("src/auth/a.ts", "1\n");
    house.call("post-tool", ("t", "2"), "edit", json!({"filePath": "src/auth/a.ts"}));
    let ruling = house.call("pre-tool", ("s", "3"), "bash", json!({"command": "sed -i s/1/3/ src/auth/a.ts"}));
    expect(&ruling, "deny", "stale_write");
    assert!(ruling["reason"].as_str().unwrap().contains("session `t` with `edit` at 2026-"), "{ruling}");
    // The session that changed it goes on.
    expect(&house.call("pre-tool", ("t", "4"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// A session, what it knows, what happened to the file, and whether it may write.
#[test]
fn what_a_session_may_write_by_what_it_saw() {
    type Step = fn(&mut House);
    let cases: &[(&str, Step, Step, &str)] = &[
        ("never looked", |_| {}, |house| house.world.write("src/auth/a.ts", "x"), "allow"),
        (
            "looked, unchanged",
            |house| drop(house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |_| {},
            "allow",
        ),
        (
            "looked, written again with the same content",
            |house| drop(house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |house| house.world.write("src/auth/a.ts", "one\n"),
            "allow",
        ),
        (
            "looked, removed since",
            |house| drop(house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |house| house.world.delete("src/auth/a.ts"),
            "deny",
        ),
        (
            "looked, removed since, looked again",
            |house| drop(house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}))),
            |house| {
                house.world.delete("src/auth/a.ts");
                house.call("pre-tool", ("s", "2"), "read", json!({"filePath": "src/auth/a.ts"}));
            },
            "allow",
        ),
        (
            "a read that was denied is no look",
            |house| drop(house.call("pre-tool", ("s", "1"), "bash", json!({"command": "cat src/auth/a.ts > /etc/x"}))),
            |house| house.world.write("src/auth/a.ts", "x"),
            "allow",
        ),
        (
            "removed it itself, somebody made it anew",
            |house| {
                house.call("pre-tool", ("s", "1"), "bash", json!({"command": "rm src/auth/a.ts"}));
                house.world.delete("src/auth/a.ts");
                house.call("post-tool", ("s", "1"), "bash", json!({"command": "rm src/auth/a.ts"}));
            },
            |house| house.world.write("src/auth/a.ts", "another"),
            "deny",
        ),
    ];
    for (case, before, meanwhile, verdict) in cases {
        let mut house = shared();
        before(&mut house);
        meanwhile(&mut house);
        let ruling = house.call("pre-tool", ("s", "9"), "write", write("src/auth/a.ts"));
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
        let mut house = shared();
        let ruling =
            house.call("pre-tool", ("s", "1"), "write", json!({"filePath": "src/auth/a.ts", "content": "x", name: value}));
        assert_eq!(ruling["verdict"], verdict, "{name}: {ruling}");
    }
}

/// A hook command is a new process for every call: if files stopped being parsable before it started, the last good ones stay in
/// force all the same.
#[test]
fn the_last_good_files_outlive_the_process() {
    let mut house = shared();
    house.world.write(".tollgate/config.json", r#"{"programs": "deny"}"#);
    expect(&house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"})), "deny", "program");
    house.world.write(".tollgate/config.json", r#"{"programs": "deny""#);
    house.world.write(".orchestration/active_intents.yaml", "active_intents: [");
    house.restart();
    expect(&house.call("pre-tool", ("s", "2"), "bash", json!({"command": "make"})), "deny", "program");
    expect(&house.call("pre-tool", ("s", "3"), "write", write("README.md")), "deny", "out_of_scope");
    assert!(house.warned("the last good version stays in force") > 0 && house.warned("the last good settings stay in force") > 0);
    house.world.delete(".orchestration/active_intents.yaml");
    house.restart();
    expect(&house.call("pre-tool", ("s", "4"), "write", write("README.md")), "deny", "out_of_scope");
}

/// A tool that failed may have changed something before that.
#[test]
fn a_failed_call_is_no_reason_to_be_stale() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}));
    let command = json!({"command": "sed -i s/one/1/ src/auth/a.ts; false"});
    house.call("pre-tool", ("s", "2"), "bash", command.clone());
    house.world.write("src/auth/a.ts", "1\n");
    let op = json!({"op": "post-tool", "session": "s", "call": "2", "tool": "bash", "args": command, "success": false, "error": "exit 1"});
    assert_eq!(house.ask(op)["entries"].as_array().unwrap().len(), 1);
    expect(&house.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// Removing a file and creating it again is one change, and its lease is released.
#[test]
fn a_file_that_is_removed_and_made_again_changes_once() {
    let mut house = shared();
    let command = json!({"command": "rm src/auth/a.ts; echo 2 > src/auth/a.ts; ln -s b.ts src/auth/link"});
    expect(&house.call("pre-tool", ("s", "1"), "bash", command.clone()), "allow", "in_scope");
    house.world.write("src/auth/a.ts", "2\n");
    house.world.symlink("b.ts", "src/auth/link");
    let settled = house.call("post-tool", ("s", "1"), "bash", command);
    let classes: Vec<_> = settled["entries"].as_array().unwrap().iter().map(|entry| &entry["mutation_class"]).collect();
    assert_eq!(classes, ["INTENT_EVOLUTION", "FILE_CREATION"], "{settled}");
    expect(&house.call("pre-tool", ("t", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// Calls of one session that overlap: the second is ruled on when the first has run and has not been settled.
#[test]
fn a_session_is_not_stale_by_its_own_call_under_way() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "read", json!({"filePath": "src/auth/a.ts"}));
    house.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "new");
    expect(&house.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.call("post-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    house.call("post-tool", ("s", "3"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "somebody else's");
    expect(&house.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "deny", "stale_write");
}

#[test]
fn two_sessions_that_write_at_once() {
    let mut house = shared();
    expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.restart();
    let held = house.call("pre-tool", ("t", "2"), "bash", json!({"command": "echo 1 > src/auth/a.ts"}));
    expect(&held, "deny", "write_in_flight");
    assert!(held["reason"].as_str().unwrap().contains("session `s` is writing to `src/auth/a.ts` with `write`"), "{held}");
    expect(&house.call("pre-tool", ("t", "3"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    expect(&house.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.world.write("src/auth/a.ts", "new");
    house.call("post-tool", ("s", "4"), "write", write("src/auth/a.ts"));
    // The session still writes with its first call.
    expect(&house.call("pre-tool", ("t", "5"), "write", write("src/auth/a.ts")), "deny", "write_in_flight");
    house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    expect(&house.call("pre-tool", ("t", "6"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// A patch over two files, one of which is held: the denied call holds neither.
#[test]
fn a_call_that_is_held_back_holds_nobody() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/b.ts"));
    let patch = "*** Begin Patch\n*** Delete File: src/auth/a.ts\n*** Delete File: src/auth/b.ts\n*** End Patch";
    expect(&house.call("pre-tool", ("t", "2"), "apply_patch", json!({"patchText": patch})), "deny", "write_in_flight");
    expect(&house.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// The session holds the file with an earlier call all the same.
#[test]
fn a_call_that_is_denied_releases_only_what_it_took_itself() {
    let mut house = shared();
    expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    expect(&house.call("pre-tool", ("t", "2"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    let patch = "*** Begin Patch\n*** Delete File: src/auth/a.ts\n*** Delete File: src/auth/b.ts\n*** End Patch";
    expect(&house.call("pre-tool", ("s", "3"), "apply_patch", json!({"patchText": patch})), "deny", "write_in_flight");
    expect(&house.call("pre-tool", ("t", "4"), "write", write("src/auth/a.ts")), "deny", "write_in_flight");
}

#[test]
fn a_session_that_died_holds_nobody_for_longer_than_a_minute() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    let mut denied = 0;
    while house.call("pre-tool", ("t", "2"), "write", write("src/auth/a.ts"))["verdict"] == "deny" {
        denied += 1;
        assert!(denied <= 31, "the clock goes on by a second with every look at it, and a call that is denied takes two");
    }
    assert!(denied > 25, "{denied}");
}

#[test]
fn changes_of_two_calls_at_once_are_flagged() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    // The other session came when the lease had expired, and finished first.
    let is_held = |house: &mut House| house.call("pre-tool", ("t", "2"), "write", write("src/auth/a.ts"))["verdict"] == "deny";
    assert!((0..100).any(|_| !is_held(&mut house)), "the lease never runs out");
    house.world.write("src/auth/a.ts", "theirs");
    let theirs = house.call("post-tool", ("t", "2"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "ours");
    let ours = house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    let flag = &ours["entries"][0]["concurrent"];
    assert_eq!(flag, &json!({"session_id": "t", "entry_id": theirs["entries"][0]["id"]}));
    assert_eq!(theirs["entries"][0].get("concurrent"), None);
}

#[test]
fn a_change_can_be_taken_back() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    house.world.write("README.md", "overwritten\n");
    house.world.write("made.txt", "made");
    let settled = house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    let (readme, made) = (settled["entries"][0]["id"].clone(), settled["entries"][1]["id"].clone());
    let plan = house.ask(json!({"op": "revert", "step": "plan", "entry": readme}));
    assert_eq!((&plan["action"], &plan["path"]), (&json!("restore"), &json!("README.md")), "{plan}");
    assert_eq!(plan["want"], json!(Digest::of(b"read me\n").to_string()));
    assert_eq!(house.world.content(&format!("{STATE}/{}", plan["image"].as_str().unwrap())).unwrap(), b"read me\n");
    house.world.write("README.md", "read me\n");
    let entry = &house.ask(json!({"op": "revert", "step": "record", "entry": readme}))["entries"][0];
    assert_eq!((&entry["reverts"], &entry["success"], &entry["scope_validation"]), (&readme, &json!(true), &json!("EXEMPT")));
    let again = house.ask(json!({"op": "revert", "step": "plan", "entry": readme}));
    assert!(again["error"]["message"].as_str().unwrap().contains("already"), "{again}");
    assert_eq!(house.ask(json!({"op": "revert", "step": "plan", "entry": made}))["action"], "remove");
    house.world.write("made.txt", "worked on");
    let changed = house.ask(json!({"op": "revert", "step": "plan", "entry": made}));
    assert!(changed["error"]["message"].as_str().unwrap().contains("has changed again since"), "{changed}");
    let unknown = house.ask(json!({"op": "revert", "step": "plan", "entry": "nonsense"}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("`nonsense`"), "{unknown}");
}

#[test]
fn a_ledger_that_cannot_be_written_is_tried_again_and_never_blocks() {
    let mut house = shared();
    expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.world.refuse_writes(Some(FileFault::Full));
    house.world.write("src/auth/a.ts", "new");
    let settled = house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(settled["entries"], json!([]));
    assert!(settled["notice"].as_str().unwrap().contains("the disk is full"), "{settled}");
    assert!(house.gate.retry_due_in().is_some());
    house.world.refuse_writes(None);
    house.gate.retry_ledger();
    assert_eq!(house.gate.retry_due_in(), None);
    assert_eq!(String::from_utf8(house.world.content(LEDGER).unwrap()).unwrap().lines().count(), 1);
    // The second time it does not come back soon.
    house.call("pre-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    house.world.write("src/auth/b.ts", "new");
    house.world.refuse_writes(Some(FileFault::Busy));
    house.call("post-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    house.gate.retry_ledger();
    assert_eq!(house.gate.retry_due_in(), None);
    assert!(
        house.world.logged().iter().any(|(level, line)| *level == LogLevel::Error && line.contains("`write` on `src/auth/b.ts`"))
    );
    house.world.refuse_writes(None);
    expect(&house.call("pre-tool", ("s", "3"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    assert_eq!(entered(&house).len(), 1);
    // Nothing is lost all the same.
    house.restart();
    house.ask(json!({"op": "event", "event": "session_end", "session": "s"}));
    assert_eq!(entered(&house)[1..], [(json!("src/auth/b.ts"), json!(false), json!(UNKNOWN), json!("PASS"))]);
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
        let mut house = shared();
        if let Some(text) = of_user {
            house.world.write_home(".tollgate/config.json", text);
        }
        if let Some(text) = of_workspace {
            house.world.write(".tollgate/config.json", text);
        }
        house.world.refuse_writes(Some(FileFault::Full));
        let ruling = house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
        expect(&ruling, verdict, code);
        expect(&house.call("pre-tool", ("s", "2"), "read", json!({"filePath": "src/auth/a.ts"})), "allow", "read_only");
        expect(&house.call("pre-tool", ("s", "3"), "write", write("README.md")), "deny", "out_of_scope");
        assert_eq!(house.warned("`on_fault` in `.tollgate/config.json` is ignored") > 0, of_workspace == Some(allows));
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
        let mut house = House::over(world);
        let ruling = house.call("pre-tool", ("s", "1"), "write", write("a"));
        assert_eq!((&ruling["verdict"], &ruling["code"]), (&json!(verdict), &json!("intents_unreadable")), "{name}: {ruling}");
        expect(&house.call("pre-tool", ("s", "2"), "read", json!({"filePath": "a"})), "allow", "intents_unreadable");
        expect(&house.call("pre-tool", ("s", "3"), "write", json!({})), verdict, "intents_unreadable");
        house.world.write_home(".tollgate/config.json", r#"{"on_fault": "allow"}"#);
        expect(&house.call("pre-tool", ("s", "4"), "write", write("a")), "allow", "intents_unreadable");
        house.world.write(".tollgate/config.json", r#"{"strict": true}"#);
        expect(&house.call("pre-tool", ("s", "5"), "write", write("a")), "deny", "intents_unreadable");
    }
}

#[test]
fn strict_settings_turn_faults_into_a_question() {
    let mut house = shared();
    house.world.write(".tollgate/config.json", r#"{"strict": true}"#);
    expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.world.refuse_writes(Some(FileFault::Full));
    let ruling = house.call("pre-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    expect(&ruling, "ask", "gate_fault");
    assert!(ruling["reason"].as_str().unwrap().contains("the disk is full"), "{ruling}");
    expect(&house.call("pre-tool", ("s", "3"), "read", json!({"filePath": "src/auth/a.ts"})), "allow", "read_only");
    // The person let it run; it is entered as soon as the ledger can be written, and then nobody is asked any more.
    house.world.write("src/auth/b.ts", "new");
    house.call("post-tool", ("s", "2"), "write", write("src/auth/b.ts"));
    house.gate.retry_ledger();
    expect(&house.call("pre-tool", ("s", "4"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    house.world.refuse_writes(None);
    house.world.write("src/auth/a.ts", "new");
    assert_eq!(house.call("post-tool", ("s", "4"), "write", write("src/auth/a.ts"))["entries"].as_array().unwrap().len(), 1);
    expect(&house.call("pre-tool", ("s", "5"), "write", write("src/auth/b.ts")), "allow", "in_scope");
}

/// Failed calls are entered unless the settings say no, rejected ones only if they say so; secrets never.
#[test]
fn failed_and_rejected_calls() {
    let failed = |house: &mut House| {
        house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
        let error = "401: password=hunter22secret was wrong";
        let op = json!({"op": "post-tool", "session": "s", "call": "1", "tool": "write", "args": {}, "success": false, "error": error});
        house.ask(op)["entries"].clone()
    };
    let mut house = shared();
    let entries = failed(&mut house);
    assert_eq!((&entries[0]["success"], &entries[0]["error"]), (&json!(false), &json!("401: password=[REDACTED] was wrong")));
    expect(&house.call("pre-tool", ("s", "2"), "write", write("README.md")), "deny", "out_of_scope");
    assert_eq!(String::from_utf8(house.world.content(LEDGER).unwrap()).unwrap().lines().count(), 1);

    let mut house = shared();
    house.world.write(".tollgate/config.json", r#"{"record": {"failed": false, "rejected": true}}"#);
    assert_eq!(failed(&mut house), json!([]));
    house.call("pre-tool", ("s", "2"), "write", write("README.md"));
    house.call("pre-tool", ("s", "3"), "write", json!({}));
    let entries = house.ask(json!({"op": "trace"}))["entries"].clone();
    assert_eq!(entries[0]["file"]["relative_path"], "README.md");
    assert_eq!((&entries[0]["scope_validation"], &entries[0]["success"]), (&json!("FAIL"), &json!(false)));
    assert!(entries[0]["error"].as_str().unwrap().starts_with("out_of_scope: "), "{entries}");
    assert_eq!(entries[1]["file"], json!(null));
}

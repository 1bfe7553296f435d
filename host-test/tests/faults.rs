//! Failures that must not crash the host.

use std::fs;
use std::time::Duration;

use tollgate::{Error, Limits, Runtime, Tollgate, ToolCall, Verdict};

const INTENTS: &str = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]";

fn governed_workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".orchestration")).unwrap();
    fs::write(folder.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    folder
}

fn write(path: &str) -> ToolCall {
    ToolCall::new("s", "c", "write", &serde_json::json!({"path": path})).unwrap()
}

/// A list of numbers takes ten times as much memory as its text in the line.
fn a_line_that_exhausts_memory() -> Vec<u8> {
    let numbers = "0,".repeat(15 << 20);
    format!(r#"{{"op":"augment","session":"s","tool":"x","args":[{numbers}0]}}"#).into_bytes()
}

#[test]
fn a_trap_fails_one_call_and_loses_nothing() {
    let folder = governed_workspace();
    let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).open().unwrap();
    gate.select_intent("s", "INT-1").unwrap();

    let fault = gate.perform(&a_line_that_exhausts_memory()).unwrap_err();
    assert_eq!(fault.code(), "guest_trap", "{fault}");

    let ruling = gate.pre_tool(&write("src/a")).unwrap();
    assert_eq!(ruling.verdict, Verdict::Allow, "the selection is still there: {ruling:?}");
}

#[test]
fn a_call_that_takes_too_long_is_stopped() {
    let folder = governed_workspace();
    let mut limits = Limits::default();
    limits.call = Duration::ZERO;
    let runtime = Runtime::new(limits).unwrap();
    let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).runtime(runtime).open().unwrap();
    // Far more work than fits into one tick.
    let line = format!(r#"{{"op":"augment","session":"s","tool":"x","args":"{}"}}"#, "[[a] ".repeat(6 << 20));
    let fault = gate.perform(line.as_bytes()).unwrap_err();
    assert!(matches!(fault, Error::Trap(_)), "{fault}");
    assert!(fault.to_string().contains("interrupt"), "{fault}");
}

#[test]
fn memory_is_limited() {
    let folder = governed_workspace();
    let mut limits = Limits::default();
    limits.memory_bytes = 16 << 20;
    let runtime = Runtime::new(limits).unwrap();
    let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).runtime(runtime).open().unwrap();
    assert_eq!(gate.pre_tool(&write("src/a")).unwrap().verdict, Verdict::Deny);
    let large = format!(r#"{{"op":"context","session":"{}"}}"#, "x".repeat(20 << 20));
    assert_eq!(gate.perform(large.as_bytes()).unwrap_err().code(), "guest_trap");
    assert_eq!(gate.pre_tool(&write("src/a")).unwrap().verdict, Verdict::Deny);
}

#[test]
fn twenty_megabytes_are_judged_like_anything_else() {
    let folder = governed_workspace();
    let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).open().unwrap();
    gate.select_intent("s", "INT-1").unwrap();
    let mut call = write("src/a");
    call.args = format!(r#"{{"path":"src/a","content":"{}"}}"#, "x".repeat(20 << 20)).into_bytes();
    assert_eq!(gate.pre_tool(&call).unwrap().verdict, Verdict::Allow);
}

#[test]
fn many_workspaces_share_one_runtime() {
    let mut limits = Limits::default();
    limits.instances = 4;
    let runtime = Runtime::new(limits).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let runtime = runtime.clone();
            std::thread::spawn(move || {
                let folder = governed_workspace();
                let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).runtime(runtime).open().unwrap();
                gate.select_intent("s", "INT-1").unwrap();
                (0..50).all(|_| gate.pre_tool(&write("src/a")).unwrap().verdict == Verdict::Allow)
            })
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap());
    }
}

#[test]
fn a_workspace_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere");
    let Err(fault) = Tollgate::builder().workspace(&missing).open() else { panic!("it opened") };
    assert_eq!(fault.code(), "workspace_missing");
    assert!(fault.to_string().contains("nowhere"), "{fault}");
}

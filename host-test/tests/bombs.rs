//! Commands that take long to analyse: answered in wasmtime, never silently allowed, and answered in Node with the same bytes.

#[path = "../../fixtures/bombs.rs"]
mod payloads;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::skip::report_skip;
use serde_json::Value;

const INTENTS: &str = "active_intents:\n  - id: INT-001\n    name: Login hardening\n    status: IN_PROGRESS\n    \
                       owned_scope: [src/auth/**, docs/auth.md]\n";

/// The answers of a program to all of them, one line each.
fn answers(mut command: Command) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let (workspace, home) = (place.path().join("repo"), place.path().join("home"));
    for (path, text) in [
        (".orchestration/active_intents.yaml", INTENTS),
        ("src/auth/a.ts", "a\n"),
        ("src/auth/login.ts", "a\n"),
        ("src/billing/pay.ts", "a\n"),
        ("src/billing/tax.ts", "a\n"),
    ] {
        let path = workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir(&home).unwrap();
    let mut child = command
        .args(["--workspace".as_ref(), workspace.as_os_str(), "--home".as_ref(), home.as_os_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = String::from("{\"op\":\"select-intent\",\"session\":\"s\",\"intent\":\"INT-001\"}\n");
    payloads::bombs().iter().for_each(|bomb| input.push_str(&format!("{}\n", payloads::line(bomb))));
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let mut lines = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(lines.remove(0).contains("INT-001"));
    lines
}

fn tollgate_answers() -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.arg("eval");
    answers(command)
}

#[test]
fn bombs_are_not_allowed() {
    let bombs = payloads::bombs();
    let ours = tollgate_answers();
    assert_eq!(ours.len(), bombs.len());
    for (bomb, line) in bombs.iter().zip(&ours) {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert!(answer["verdict"] == "ask" || answer["verdict"] == "deny", "{}: {answer}", bomb.name);
    }
}

/// Needs `npm-wrapper/dist/`; `cargo xtask test` builds it first and sets `TOLLGATE_NODE`.
#[test]
fn node_answers_bombs_with_the_same_bytes() {
    let eval = Path::new(env!("CARGO_MANIFEST_DIR")).join("../npm-wrapper/dist/eval.js");
    let program = std::env::var("TOLLGATE_NODE");
    if !eval.exists() && program.is_err() {
        report_skip("npm-wrapper/dist/ is not built; `cargo xtask build` makes it");
        return;
    }
    let mut node = Command::new(program.as_deref().unwrap_or("node"));
    node.arg(eval);
    let theirs = answers(node);
    for (bomb, (ours, theirs)) in payloads::bombs().iter().zip(tollgate_answers().iter().zip(&theirs)) {
        assert_eq!(ours, theirs, "{}", bomb.name);
    }
    assert_eq!(theirs.len(), payloads::bombs().len());
}

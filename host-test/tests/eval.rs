//! `tollgate eval`, as a program sees it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn tollgate() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tollgate"))
}

#[test]
fn a_missing_workspace_is_exit_2_and_named() {
    let output = tollgate().args(["eval", "--workspace", "/no/such/folder"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`/no/such/folder`") && said.contains("--workspace"), "{said}");
}

#[test]
fn empty_input_is_exit_0() {
    let folder = tempfile::tempdir().unwrap();
    let output = tollgate().args(["eval", "--workspace"]).arg(folder.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
}

#[test]
fn every_answer_comes_before_the_next_line_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tollgate();
    command.args(["eval", "--workspace"]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in [r#"{"op":"context","session":"s"}"#, "nonsense", "\u{1}", r#"{"op":"context","session":"s"}"#] {
        writeln!(input, "{line}").unwrap();
        let answer = output.next().unwrap().unwrap();
        assert!(answer.starts_with('{') && answer.ends_with('}'), "{answer}");
    }
    // Blank lines are not answered, and the last line needs no line break.
    write!(input, "\n  \n{{\"op\":\"context\",\"session\":\"s\"}}").unwrap();
    drop(input);
    assert_eq!(output.next().unwrap().unwrap(), r#"{"text":""}"#);
    assert!(output.next().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_line_that_is_too_long_is_answered_and_the_next_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tollgate();
    command.args(["eval", "--workspace"]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let piece = vec![b'x'; 1 << 20];
        (0..40).for_each(|_| input.write_all(&piece).unwrap());
        input.write_all(b"\n{\"op\":\"context\",\"session\":\"s\"}\n").unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = answers.lines().collect();
    assert!(matches!(lines.as_slice(), [first, r#"{"text":""}"#] if first.contains("too_long")), "{answers}");
}

/// Whoever takes steps runs the hooks. Nothing is run behind their back.
#[test]
fn a_caller_that_takes_steps_is_told_what_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let workspace = folder.path().join("work");
    fs::create_dir_all(home.join(".tollgate")).unwrap();
    fs::create_dir_all(&workspace).unwrap();
    let hook = json!({"id": "h", "trigger": "before_tool", "command": ["/bin/sh", "-c", "echo > ran"]});
    fs::write(home.join(".tollgate/hooks.json"), json!({"hooks": [hook]}).to_string()).unwrap();
    let machine = json!({"type": "machine", "workspace": workspace, "search_path": []});
    let mut command = tollgate();
    command.args(["eval", "--workspace"]).arg(&workspace).arg("--home").arg(&home);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answers: Vec<Value> = Vec::new();
    for line in [
        json!({"op": "hooks", "do": "list"}),
        json!({"op": "step", "now_ms": 0, "inputs": [machine]}),
        json!({"op": "event", "event": "before_tool", "session": "s", "data": {}}),
        json!({"op": "list-intents"}),
        json!({"op": "step", "now_ms": 10}),
    ] {
        writeln!(input, "{line}").unwrap();
        answers.push(serde_json::from_str(&output.next().unwrap().unwrap()).unwrap());
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(answers[2]["waiting"].is_u64(), "{answers:#?}");
    let commands = answers[4]["commands"].as_array().unwrap();
    assert!(commands.iter().any(|command| command.to_string().contains("echo > ran")), "{commands:#?}");
    assert!(!workspace.join("ran").exists());
}

#[test]
fn the_version_names_the_component() {
    let output = tollgate().arg("--version").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("tollgate {} (component {})\n", tollgate::VERSION, tollgate::DIGEST));
}

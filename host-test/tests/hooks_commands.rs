//! `tollgate hooks`, and hooks through `tollgate eval`, as seen in a shell.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::place::{LONG, Place, sh, wait_for_exit, with_fields};

struct Eval {
    child: Child,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Eval {
    fn new(place: &Place) -> Self {
        let mut child = place.tollgate(&["eval"]).stdin(Stdio::piped()).spawn().unwrap();
        let (input, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, answers }
    }

    fn ask(&mut self, line: &Value) -> Value {
        writeln!(self.input, "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{line}: {answer:?}"))
    }

    fn end(mut self) -> i32 {
        drop(self.input);
        self.child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn every_command_explains_itself() {
    let place = Place::new(&[]);
    for (command, mentions) in [
        (vec!["hooks"], &["list", "show", "approve", "revoke", "run", "history"] as &[_]),
        (vec!["hooks", "list"], &["exits with 1"]),
        (vec!["hooks", "show"], &["<ID>"]),
        (vec!["hooks", "approve"], &["<ID>", "--yes", "terminal"]),
        (vec!["hooks", "revoke"], &["<ID>"]),
        (vec!["hooks", "run"], &["<ID>", "--data", "exits with 1"]),
        (vec!["hooks", "history"], &["[ID]", "--limit"]),
        (vec!["watch"], &["--json", "Ctrl-C"]),
    ] {
        let (code, out, err) = place.run(&[&command as &[_], &["--help"]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{command:?}");
        for mention in mentions.iter().chain(&["--workspace <DIR>", "--home <DIR>"]) {
            assert!(out.contains(mention), "{command:?} does not mention {mention}:\n{out}");
        }
        let longest = out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= 140, "{command:?} has a line of {longest}");
    }
}

/// The preview lists what is checked, and never claims more.
#[test]
fn what_is_not_checked_is_shown_as_such() {
    let hook = |id: &str, command: Value| json!({"id": id, "trigger": "before_tool", "command": command});
    let place = Place::new(&[
        hook("script", json!(["sh", "hooks/a.sh"])),
        hook("make", json!(["make", "-f", "hooks/Makefile"])),
        hook("env", json!(["env", "PYTHONPATH=hooks", "python3", "hooks/a.py"])),
        with_fields(hook("shell", json!("sh hooks/a.sh")), &json!({"shell": true})),
    ]);
    for (path, text) in [("a.sh", "echo a\n"), ("a.py", "import lib\n"), ("Makefile", "all:\n"), ("lib.py", "")] {
        place.write(&format!("hooks/{path}"), text);
    }
    for (id, row) in [
        ("script", "  checked      only these files are checked"),
        ("make", "  not checked  `make` decides by itself"),
        ("env", "  not checked  `env` decides by itself"),
        ("shell", "  not checked  a shell interprets the text"),
    ] {
        let (code, out, _) = place.run(&["hooks", "show", id]);
        assert!(code == 0 && out.lines().any(|line| line.starts_with(row)), "{id}: {out}");
        assert_eq!(out.contains("  checked "), id == "script", "{out}");
    }
    let (_, out, _) = place.run(&["hooks", "show", "script"]);
    assert!(out.contains("  file         hooks/lib.py sha256:") && out.contains("  | echo a\n"), "{out}");
}

#[test]
fn from_declared_to_approved_to_run_to_revoked() {
    let place = Place::new(&[sh("lint", "onDidSaveTextDocument", "cat >seen; echo checked; test ! -e bad")]);
    let listed = |trust: &str| {
        let (code, out, _) = place.run(&["hooks", "list"]);
        assert_eq!(code, 0);
        assert!(out.lines().any(|line| line.starts_with("lint ") && line.contains(trust)), "{trust}: {out}");
    };
    listed("new");
    let (code, out, _) = place.run(&["hooks", "run", "lint"]);
    assert!(code == 1 && out.contains("skipped") && out.contains("tollgate hooks approve lint"), "{out}");
    let (code, out, err) = place.run(&["hooks", "approve", "lint"]);
    assert!(code == 2 && out.is_empty() && err.contains("there is no terminal"), "{out}{err}");
    let (code, out, _) = place.run(&["hooks", "approve", "lint", "--yes"]);
    assert!(code == 0 && out.contains("| cat >seen") && out.ends_with("lint may run as it is now\n"), "{out}");
    listed("approved");
    let (code, out, _) = place.run(&["hooks", "run", "lint", "--data", r#"{"file":"src/a.ts"}"#]);
    assert!(code == 0 && out.contains("success") && out.contains("src/a.ts") && out.ends_with("\nchecked\n"), "{out}");
    assert!(place.read("seen").unwrap().contains("src/a.ts"));
    place.write("bad", "");
    assert_eq!(place.run(&["hooks", "run", "lint"]).0, 1);
    let (code, out, _) = place.run(&["hooks", "history", "--limit", "2", "lint"]);
    let statuses: Vec<&str> = out.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!((code, statuses), (0, vec!["success", "failed"]), "{out}");

    place.write("hooks/lint.sh", "echo evil\n");
    listed("changed");
    let (_, out, _) = place.run(&["hooks", "show", "lint"]);
    assert!(out.contains("- cat >seen") && out.contains("+ echo evil"), "{out}");
    place.run(&["hooks", "approve", "lint", "--yes"]);
    listed("approved");
    let (code, out, _) = place.run(&["hooks", "revoke", "lint", "--yes"]);
    assert_eq!((code, out.as_str()), (0, "lint may no longer run\n"));
    listed("new");
    assert_eq!(place.run(&["hooks", "revoke", "lint", "--yes"]).0, 1);
}

#[test]
fn what_is_wrong_is_named() {
    let place = Place::new(&[sh("lint", "before_tool", "true")]);
    for (arguments, said) in [
        (vec!["hooks", "show", "lnt"], &["`lnt`", "lint"] as &[_]),
        (vec!["hooks", "approve", "lnt", "--yes"], &["`lnt`", "lint"]),
        (vec!["hooks", "run", "lnt"], &["`lnt`", "lint"]),
        (vec!["hooks", "run", "lint", "--data", "[1]"], &["`[1]`", "--data"]),
        (vec!["hooks", "history", "--limit", "0"], &["'0'"]),
    ] {
        let (code, out, err) = place.run(&arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(said.iter().all(|said| err.contains(said)), "{arguments:?}: {err}");
    }
    place
        .write(".tollgate/hooks.json", "{\"hooks\": [\n  {\"id\": \"lint\", \"trigger\": \"before_tool\", \"command\": [1]}\n]}");
    let (code, out, _) = place.run(&["hooks", "list"]);
    assert_eq!(code, 1);
    assert!(out.contains(".tollgate/hooks.json:2:") && out.contains("`$.hooks[0].command`"), "{out}");
}

#[test]
fn programs_get_one_object() {
    let place = Place::new(&[sh("a", "before_tool", "echo out")]);
    for (arguments, field) in [
        (&["hooks", "list"] as &[_], "/hooks/0/id"),
        (&["hooks", "show", "a"], "/shows/runs/0"),
        (&["hooks", "approve", "a", "--yes"], "/digest"),
        (&["hooks", "run", "a"], "/record/status"),
        (&["hooks", "history"], "/records/0/hook"),
        (&["hooks", "revoke", "a", "--yes"], "/id"),
        (&["hooks", "show", "b"], "/error/code"),
    ] {
        let (_, out, _) = place.run(&[arguments, &["--json"]].concat());
        let answer: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{arguments:?}: {out}"));
        assert!(answer.pointer(field).is_some_and(Value::is_string), "{arguments:?}: {answer}");
    }
}

#[test]
fn eval_gives_the_answer_in_place_of_the_waiting() {
    let place = Place::new(&[sh("a", "before_tool", "echo '{\"systemMessage\":\"hi\",\"number\":1.10}'")]);
    assert_eq!(place.run(&["hooks", "approve", "a", "--yes"]).0, 0);
    let mut eval = Eval::new(&place);
    let event = json!({"op": "event", "event": "before_tool", "session": "s", "data": {"x": 1}});
    assert_eq!(eval.ask(&event), json!({"continue": true, "system_message": "hi", "data": {"x": 1, "number": 1.1}}));
    assert_eq!(eval.ask(&json!({"op": "context", "session": "s"})), json!({"text": ""}));
    let ran = eval.ask(&json!({"op": "hooks", "do": "run", "id": "a"}));
    assert_eq!(ran["record"]["status"], "success");
    let other = json!({"op": "event", "event": "before_model", "session": "s", "data": {}});
    assert_eq!(eval.ask(&other), json!({"continue": true, "system_message": null, "data": {}}));
    assert_eq!(eval.ask(&json!({"op": "hooks", "do": "dance"}))["error"]["code"], "invalid_field");
    assert_eq!(eval.end(), 0);
}

#[test]
fn eval_keeps_the_clock() {
    let hook = with_fields(sh("a", "before_tool", "sleep 300 & echo $! >child; sleep 300"), &json!({"timeoutMs": 5000}));
    let place = Place::new(&[hook]);
    assert_eq!(place.run(&["hooks", "approve", "a", "--yes"]).0, 0);
    let mut eval = Eval::new(&place);
    let start = Instant::now();
    let answer = eval.ask(&json!({"op": "hooks", "do": "run", "id": "a"}));
    assert_eq!(answer["record"]["status"], "timeout", "{answer}");
    assert!(start.elapsed() < LONG);
    wait_for_exit(&place.wait_for("child"));
    assert_eq!(eval.end(), 0);
}

#[test]
fn what_eval_has_started_does_not_outlive_it() {
    for signal in ["INT", "TERM"] {
        let place = Place::new(&[sh("a", "before_tool", "echo $$ >child; exec sleep 300")]);
        assert_eq!(place.run(&["hooks", "approve", "a", "--yes"]).0, 0);
        let mut eval = Eval::new(&place);
        writeln!(eval.input, "{}", json!({"op": "hooks", "do": "run", "id": "a"})).unwrap();
        let child = place.wait_for("child");
        let killed =
            std::process::Command::new("kill").args([&format!("-{signal}"), &eval.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(eval.child.wait().unwrap().code(), Some(130), "{signal}");
        wait_for_exit(&child);
    }
}

#[test]
fn ctrl_c_ends_eval_also_while_it_waits_for_a_line() {
    let place = Place::new(&[]);
    let mut eval = Eval::new(&place);
    assert_eq!(eval.ask(&json!({"op": "hooks", "do": "list"})), json!({"hooks": [], "faults": []}));
    std::process::Command::new("kill").args(["-INT", &eval.child.id().to_string()]).status().unwrap();
    assert_eq!(eval.child.wait().unwrap().code(), Some(130));
}

#[test]
fn ctrl_c_ends_a_run_by_hand() {
    let place = Place::new(&[sh("a", "before_tool", "echo $$ >child; exec sleep 300")]);
    assert_eq!(place.run(&["hooks", "approve", "a", "--yes"]).0, 0);
    let running = place.tollgate(&["hooks", "run", "a"]).spawn().unwrap();
    let child = place.wait_for("child");
    std::process::Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    let output = running.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && out.contains("canceled"), "{out}");
    wait_for_exit(&child);
}

//! `tollgate intents` and `tollgate trace`, as seen in a shell.

use crate::terminal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INTENTS: &str = "\
- {id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}
- {id: INT-2, name: Old, status: COMPLETED, owned_scope: ['old/**']}
";

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".orchestration")).unwrap();
    fs::create_dir_all(folder.path().join("src/auth")).unwrap();
    fs::write(folder.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    folder
}

/// A home folder with nothing but the gate's state.
fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("home")
}

/// The exit code, standard output and standard error of a run in a folder, with that home; with `--yes`, run by a person at a
/// terminal.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    if terminal::has_yes_flag(arguments) {
        return terminal::PersonCommand::new(folder, arguments).with_variable("HOME", home()).at_terminal();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.current_dir(folder).args(arguments).env("HOME", home()).env_remove("XDG_STATE_HOME").stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn every_command_explains_itself() {
    for (command, mentions) in [
        (vec![], &["eval", "intents", "trace", "hook", "init", "doctor", "Exit codes"] as &[_]),
        (vec!["init"], &["--host", "--undo", "--yes", "claude-code"]),
        (vec!["doctor"], &["--json"]),
        (vec!["intents"], &["list", "check", "select", "sessions"]),
        (vec!["intents", "list"], &["--json"]),
        (vec!["intents", "check"], &["exits with 1"]),
        (vec!["intents", "select"], &["[ID]", "--session", "--none", "terminal"]),
        (vec!["tools"], &["allow"]),
        (vec!["tools", "allow"], &["<PATTERN>", "<KIND>", "mcp__github__*"]),
        (vec!["trace"], &["list", "verify", "export", "map", "archive", "revert", "--intent", "FAIL"]),
        (vec!["trace", "list"], &["--intent", "--file", "--session", "--since", "--until", "--limit", "FAIL"]),
        (vec!["trace", "verify"], &["--expect"]),
        (vec!["trace", "export"], &["agent-trace", "--file", "--output"]),
        (vec!["trace", "map"], &["intent_map.md"]),
        (vec!["trace", "archive"], &[".orchestration/archive/"]),
        (vec!["trace", "revert"], &["<ENTRY>", "--yes"]),
    ] {
        let mut arguments = command.clone();
        arguments.push("--help");
        let (code, out, err) = run(Path::new("/"), &arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{command:?}");
        for mention in
            mentions.iter().chain(if command.is_empty() { &[] } else { &["--workspace <DIR>", "--home <DIR>"] as &[_] })
        {
            assert!(out.contains(mention), "{command:?} does not mention {mention}:\n{out}");
        }
        let longest = out.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(longest.chars().count() <= 140, "{command:?} has a line of {}:\n{longest}", longest.chars().count());
    }
}

#[test]
fn what_is_misspelt_is_exit_2_and_named() {
    let folder = workspace();
    let hash = "a".repeat(63);
    for (arguments, said) in [
        (vec!["intents"], "Usage: tollgate intents"),
        (vec!["intents", "select"], "<ID>"),
        (vec!["intents", "lst"], "'list'"),
        (vec!["trace", "--limit", "0"], "'0'"),
        (vec!["trace", "--limit", "many"], "'many'"),
        (vec!["trace", "export", "--format", "xml"], "agent-trace"),
        (vec!["trace", "export", "--limit", "3"], "'--limit'"),
        (vec!["trace", "verify", "--expect", &hash], "64 hex digits"),
        (vec!["trace", "revert"], "<ENTRY>"),
        (vec!["trace", "revert", "abc", "--yes"], "at least 4 characters"),
        (vec!["trace", "--intent", "INT-1", "verify"], "tollgate trace verify …"),
        (vec!["trace", "--file", "../x"], "`../x` is not in the workspace"),
        (vec!["trace", "export", "--file", "/etc/hosts"], "`/etc/hosts` is not in the workspace"),
    ] {
        let (code, out, err) = run(folder.path(), &arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(said), "{arguments:?}: {err}");
    }
}

#[test]
fn without_a_workspace_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [vec!["intents", "list"], vec!["trace"], vec!["trace", "archive"], vec!["trace", "revert", "1234"]] {
        let (code, out, err) = run(Path::new("/"), &arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.starts_with("tollgate: neither `/`") && err.contains("--workspace DIR"), "{err}");
        let mut elsewhere = arguments.clone();
        elsewhere.extend(["--workspace", "no/such"]);
        let (code, _, err) = run(folder.path(), &elsewhere);
        assert!(code == 2 && err.contains("`no/such`") && err.contains("--workspace"), "{err}");
    }
}

#[test]
fn a_folder_that_is_not_governed_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    let (code, out, err) = run(folder.path(), &["intents", "list"]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert_eq!(
        err,
        "tollgate: there is no .orchestration/ in the workspace, so nothing is governed; a person can set it up with `tollgate init`\n"
    );
    let (code, out, err) = run(folder.path(), &["intents", "list", "--json"]);
    assert!(code == 0 && out.starts_with("{\"governed\":false") && err.is_empty(), "{out}{err}");
}

#[test]
fn the_workspace_is_found_from_below_and_named_from_anywhere() {
    let folder = workspace();
    let named = folder.path().to_str().unwrap();
    for (here, arguments) in [
        (folder.path().join("src/auth"), vec!["intents", "select", "INT-1", "--session", "s", "--yes"]),
        ("/".into(), vec!["intents", "select", "INT-1", "--session", "s", "--yes", "--workspace", named]),
        ("/".into(), vec!["intents", "--workspace", named, "select", "--session", "s", "INT-1", "--yes"]),
    ] {
        let (code, out, err) = run(&here, &arguments);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "session s now works for INT-1 (Login)\n", ""), "{arguments:?}");
        let kept = tollgate::state_folder(folder.path(), Some(&home()), None).unwrap();
        assert!(kept.join("sessions").is_dir());
        fs::remove_dir_all(kept).unwrap();
    }
    assert!(!folder.path().join(".tollgate").exists() && !folder.path().join("src/auth/.tollgate").exists());
}

#[test]
fn a_refusal_is_exit_2_and_the_gates_own_words() {
    let folder = workspace();
    for (intent, code, says) in [("INT-9", "unknown_intent", "INT-9"), ("INT-2", "intent_closed", "INT-2")] {
        let arguments = ["intents", "select", intent, "--session", "s", "--yes"];
        let (exit, out, err) = run(folder.path(), &arguments);
        assert_eq!((exit, out.as_str()), (2, ""));
        assert!(err.starts_with("tollgate: ") && err.contains(says), "{err}");
        let (exit, out, _) = run(folder.path(), &[&arguments as &[_], &["--json"]].concat());
        let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((exit, answer.pointer("/error/code").unwrap().as_str()), (2, Some(code)));
    }
}

#[test]
fn programs_get_the_gates_answer() {
    let folder = workspace();
    let (code, out, err) = run(folder.path(), &["intents", "select", "INT-1", "--session", "s", "--yes", "--json"]);
    let expected = "{\"intent\":{\"id\":\"INT-1\",\"name\":\"Login\",\"status\":\"IN_PROGRESS\"}}\n";
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
}

#[test]
fn a_home_that_is_not_there_is_mentioned() {
    let folder = workspace();
    let words = ["intents", "select", "INT-1", "--session", "s", "--yes", "--home", "no/such", "--state", "state"];
    let (code, _, err) = run(folder.path(), &words);
    assert!(code == 0 && err.contains("`no/such`"), "{err}");
    assert!(folder.path().join("state").is_dir() && !folder.path().join("no").exists());
}

#[test]
fn a_closed_output_is_not_an_error() {
    let folder = workspace();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.current_dir(folder.path()).args(["trace", "map", "--state", "state"]);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
    assert!(folder.path().join(".orchestration/intent_map.md").is_file());
}

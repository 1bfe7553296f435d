//! Commands that only a person may run: a person at a terminal can run each of them, and an agent none, whatever it does to look
//! like a person.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program_copy::copy_program;
use crate::terminal::PersonCommand;
use serde_json::{Value, json};
use tollgate::Tollgate;

const INTENTS: &str = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]\n";

/// A governed workspace with a hook and an entry that can be reverted, a home folder, and agent programs.
struct Place {
    temp: tempfile::TempDir,
    entry: String,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let mut place = Self { temp, entry: String::new() };
        for (path, text) in [
            (".orchestration/active_intents.yaml", INTENTS),
            (
                ".tollgate/hooks.json",
                r#"{"hooks": [{"id": "lint", "trigger": "before_tool", "command": ["sh", "hooks/lint.sh"]}]}"#,
            ),
            ("hooks/lint.sh", "true\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".claude/settings.json", "{}\n"),
        ] {
            let path = place.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(place.root().join("src")).unwrap();
        fs::create_dir_all(place.home()).unwrap();
        let mut gate = place.gate();
        let mut ask =
            |line: Value| -> Value { serde_json::from_slice(&gate.perform(line.to_string().as_bytes()).unwrap()).unwrap() };
        // The gate remembers the last valid declarations.
        ask(json!({"op": "hooks", "do": "list"}));
        ask(json!({"op": "select-intent", "session": "s", "intent": "INT-1"}));
        let call = |op: &str| json!({"op": op, "session": "s", "call": "c", "tool": "write", "args": {"filePath": "src/a"}, "success": true});
        assert_eq!(ask(call("pre-tool"))["verdict"], "allow");
        fs::write(place.root().join("src/a"), "agent's\n").unwrap();
        place.entry = ask(call("post-tool"))["entries"][0]["id"].as_str().unwrap().to_owned();
        place
    }

    fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("workspace")
    }

    fn home(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("home")
    }

    fn gate(&self) -> Tollgate {
        Tollgate::builder().workspace(self.root()).home(self.home()).open().unwrap()
    }

    fn command(&self, words: &[&str]) -> PersonCommand {
        let home = self.home();
        let words: Vec<&str> = words.iter().copied().chain(["--home", home.to_str().unwrap()]).collect();
        PersonCommand::new(&self.root(), &words).with_variable("HOME", &home)
    }

    /// A program with the name of an agent program.
    fn agent(&self, name: &str, program: &str) -> PathBuf {
        let path = self.temp.path().canonicalize().unwrap().join(name);
        if !path.exists() {
            copy_program(Path::new(program), &path);
        }
        path
    }

    /// All files.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.root(), self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    files.insert(entry.clone(), fs::read(&entry).unwrap());
                }
            }
        }
        files
    }

    fn ledger(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.root().join(".orchestration/agent_trace.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every command that only a person may run, with its name in the ledger.
    fn commands(&self) -> Vec<(Vec<&str>, &'static str)> {
        vec![
            (vec!["hooks", "approve", "lint", "--yes"], "hooks approve"),
            (vec!["hooks", "revoke", "lint", "--yes"], "hooks revoke"),
            (vec!["intents", "select", "INT-1", "--yes"], "intents select"),
            (vec!["intents", "select", "INT-1", "--session", "s", "--yes"], "intents select"),
            (vec!["tools", "allow", "mcp__x__*", "read", "--yes"], "tools allow"),
            (vec!["trace", "revert", &self.entry, "--yes"], "trace revert"),
            (vec!["trace", "archive", "--yes"], "trace archive"),
            (vec!["init", "--host", "claude-code", "--yes"], "init"),
            (vec!["init", "--undo", "--yes"], "init"),
        ]
    }
}

/// The command without `--yes`.
fn without_yes<'w>(words: &[&'w str]) -> Vec<&'w str> {
    words.iter().copied().filter(|word| *word != "--yes").collect()
}

#[test]
fn a_person_at_a_terminal_can_give_each_and_it_is_entered() {
    for typed in ["y\n", "n\n"] {
        let place = Place::new();
        // In order: what is revoked was approved before, what is undone was set up.
        for (words, name) in place.commands() {
            // With `--yes`, nobody is asked.
            let words = if typed == "y\n" { without_yes(&words) } else { words };
            assert_recorded(&place, &place.command(&words).with_input(typed), name);
        }
        let (code, out, _) = place.command(&["trace", "list"]).without_terminal();
        assert!(code == 0 && out.contains(": init") && out.contains("by "), "{out}");
    }
}

/// Runs a command, and asserts that it changed something and is in the ledger.
fn assert_recorded(place: &Place, given: &PersonCommand, name: &str) {
    let words = &given.words;
    let before = place.files();
    let (code, out, err) = given.at_terminal();
    assert_eq!(code, 0, "{words:?}: {out}{err}");
    assert_ne!(place.files(), before, "{words:?}");
    let ledger = place.ledger();
    let entry = ledger.last().unwrap();
    assert_eq!((&entry["tool_name"], &entry["scope_validation"]), (&json!(name), &json!("EXEMPT")), "{words:?}: {entry}");
    let person = &entry["person"];
    assert!(!person["user"].as_str().unwrap().is_empty(), "{entry}");
    let given: Vec<&str> = person["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(given.join(" ").starts_with(name) && !person["changed"].as_array().unwrap().is_empty(), "{entry}");
    let (code, out, _) = place.command(&["trace", "verify"]).without_terminal();
    assert_eq!(code, 0, "{words:?}: {out}");
}

#[test]
fn who_says_no_changes_nothing() {
    let place = Place::new();
    for (words, _) in place.commands() {
        // Nothing was set up that could be undone.
        if words.contains(&"--undo") {
            continue;
        }
        let before = place.files();
        for typed in ["n\n", "\n", "yesterday\n"] {
            let (code, out, err) = place.command(&without_yes(&words)).with_input(typed).at_terminal();
            assert_eq!(code, 1, "{words:?} {typed:?}: {out}{err}");
            assert_eq!(place.files(), before, "{words:?} {typed:?}");
        }
    }
}

#[test]
fn yes_is_not_a_person() {
    let place = Place::new();
    for (words, name) in place.commands() {
        let before = place.files();
        let (code, out, err) = place.command(&words).without_terminal();
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.contains(&format!("`tollgate {name}")) && err.contains("there is no terminal"), "{words:?}: {err}");
        assert_eq!(place.files(), before, "{words:?}");
    }
    // Neither a variable nor an option can say that nobody is there: an agent can set both.
    fs::create_dir_all(place.home().join(".tollgate")).unwrap();
    fs::write(place.home().join(".tollgate/config.json"), r#"{"unattended": true}"#).unwrap();
    fs::write(place.root().join(".tollgate/config.json"), r#"{"unattended": true}"#).unwrap();
    let before = place.files();
    let (code, _, err) = place.command(&["trace", "archive", "--yes"]).without_terminal();
    assert!(code == 2 && err.contains("there is no terminal"), "{err}");
    assert_eq!(place.files(), before);
}

#[test]
fn below_an_agent_program_nobody_is_a_person() {
    let place = Place::new();
    let approved = place.command(&["hooks", "approve", "lint"]).at_terminal();
    assert_eq!(approved.0, 0, "{approved:?}");
    let shell = place.agent("claude", "/bin/sh");
    let shell = shell.to_str().unwrap();
    // The shell must not replace itself with the command.
    let through = [shell, "-c", "\"$@\"; exit $?", "sh"];
    for (words, name) in place.commands() {
        let before = place.files();
        let mut ways = vec![place.command(&words).with_wrapper(&through), place.command(&words).with_variable("CLAUDECODE", "1")];
        // Who counts as an agent program does not depend on the command.
        if name == "trace archive" {
            ways.push(place.command(&words).with_wrapper(&[&through[..], &["env", "-i", "timeout", "60"]].concat()));
            ways.extend(
                ["GEMINI_CLI", "OPENCODE", "CODEX_THREAD_ID"].map(|variable| place.command(&words).with_variable(variable, "x")),
            );
        }
        for given in ways {
            for (code, out, err) in [given.at_terminal(), given.without_terminal()] {
                assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
                assert!(err.contains(&format!("`tollgate {name}")) && err.contains("was started by"), "{words:?}: {err}");
            }
        }
        assert_eq!(place.files(), before, "{words:?}");
    }
    let (code, out, _) = place.command(&["trace", "archive", "--yes", "--json"]).with_wrapper(&through).at_terminal();
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["error"]["code"]), (2, &json!("needs_person")));
}

/// Agents may run commands that only read.
#[test]
fn an_agent_may_look() {
    let place = Place::new();
    let shell = place.agent("codex", "/bin/sh");
    let through = [shell.to_str().unwrap(), "-c", "\"$@\"; exit $?", "sh"];
    for words in [
        vec!["trace"],
        vec!["trace", "verify"],
        vec!["trace", "export"],
        vec!["trace", "map"],
        vec!["intents", "list"],
        vec!["intents", "check"],
        vec!["intents", "sessions"],
        vec!["hooks", "list"],
        vec!["hooks", "show", "lint"],
        vec!["hooks", "history"],
        vec!["concepts"],
    ] {
        let (code, out, err) =
            place.command(&words).with_wrapper(&through).with_variable("CODEX_THREAD_ID", "x").without_terminal();
        assert_eq!(code, 0, "{words:?}: {out}{err}");
    }
}

/// A process that has left its parents is still on an agent's terminal.
#[test]
fn a_terminal_that_an_agent_program_plays_is_not_a_persons() {
    let place = Place::new();
    let done = place.temp.path().join("done");
    // Two shells in between: the inner one exits, and what it started becomes an orphan.
    let orphaned = "mkfifo \"$DONE\"; ( (\"$@\"; echo $? >\"$DONE\") & ); exit $(cat \"$DONE\")";
    let words = ["trace", "archive"];
    let before = place.files();
    let mut given = place.command(&words).with_wrapper(&["/bin/sh", "-c", orphaned, "sh"]).with_variable("DONE", &done);
    given.terminal = place.agent("gemini", "/usr/bin/script");
    let (code, _, err) = given.at_terminal();
    assert!(code == 2 && err.contains("started by Gemini CLI"), "{err}");
    assert_eq!(place.files(), before);
}

#[test]
fn eval_refuses_what_only_a_person_may_send_below_an_agent_program() {
    let place = Place::new();
    let home = place.home();
    let eval = |through: Option<&Path>| {
        let own = env!("CARGO_BIN_EXE_tollgate");
        let root = place.root();
        let words = [own, "eval", "--workspace", root.to_str().unwrap(), "--home", home.to_str().unwrap()];
        let mut command = match through {
            None => Command::new("env"),
            Some(shell) => {
                let mut command = Command::new(shell);
                command.args(["-c", "\"$@\"; exit $?", "sh"]);
                command
            }
        };
        command.args(words).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        for line in [
            // Whoever sends the lines cannot say that no agent program started it.
            json!({"op": "person", "step": "look", "above": [], "variables": []}),
            json!({"op": "hooks", "do": "approve", "id": "lint"}),
            json!({"op": "select-default", "intent": "INT-1"}),
            json!({"op": "archive", "step": "plan"}),
            json!({"op": "select-intent", "session": "s", "intent": "INT-1"}),
        ] {
            writeln!(child.stdin.as_ref().unwrap(), "{line}").unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let answers = String::from_utf8(output.stdout).unwrap();
        answers.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["error"]["code"].clone()).collect::<Vec<_>>()
    };
    let agent = place.agent("opencode", "/bin/sh");
    let refused = json!("needs_person");
    assert_eq!(eval(Some(&agent)), [Value::Null, refused.clone(), refused.clone(), refused, Value::Null]);
    let trusted = home.join(".tollgate/trusted-hooks.json");
    assert!(!trusted.exists());
    // Unless the tests themselves were started by an agent program.
    if eval(None).iter().all(Value::is_null) {
        assert!(trusted.exists());
    }
}

/// The gate keeps a list of what it reverts by itself; the option for that does not replace a person.
#[test]
fn a_change_that_the_gate_does_not_take_back_needs_a_person() {
    let place = Place::new();
    let before = place.files();
    let given = || place.command(&["trace", "revert", &place.entry, "--restoring"]);
    for (code, out, err) in [given().without_terminal(), given().with_input("y\n").at_terminal()] {
        assert_eq!(code, 2, "{out}{err}");
        assert!(format!("{out}{err}").contains("the gate has not decided to revert entry"), "{out}{err}");
    }
    assert_eq!(place.files(), before);
}

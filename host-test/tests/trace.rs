//! `tollgate trace` in a real workspace with git: what a program changed is listed, verified, reverted, archived.

#![cfg(unix)]

use crate::terminal;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tollgate::Tollgate;

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

struct TestWorkspace {
    folder: tempfile::TempDir,
    gate: Tollgate,
}

impl TestWorkspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            (
                ".orchestration/active_intents.yaml",
                "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]\n",
            ),
            ("src/auth/a.ts", "one\n"),
            ("README.md", "committed\n"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        git(root, &["init", "--quiet"]);
        git(root, &["add", "."]);
        git(root, &["-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--message", "first"]);
        let gate = Tollgate::builder().workspace(root).home(root.join("home")).open().unwrap();
        let mut workspace = Self { gate, folder };
        workspace.ask(&json!({"op": "select-intent", "session": "s", "intent": "INT-1"}));
        workspace
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn ask(&mut self, line: &Value) -> Value {
        serde_json::from_slice(&self.gate.perform(line.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// A program that an agent runs, and its entries.
    fn program(&mut self, call: &str, changes: impl FnOnce(&Path)) -> Value {
        let line = |op: &str| json!({"op": op, "session": "s", "call": call, "tool": "bash", "args": {"command": "make"}, "success": true});
        assert_eq!(self.ask(&line("pre-tool"))["verdict"], "allow");
        changes(self.root());
        self.ask(&line("post-tool"))
    }

    /// The output of `tollgate trace`; with `--yes`, run by a person at a terminal.
    fn trace(&self, words: &[&str]) -> (i32, String, String) {
        if terminal::has_yes_flag(words) {
            let home = self.root().join("home");
            let words = [&["trace"], words, &["--home", home.to_str().unwrap()]].concat();
            return terminal::PersonCommand::new(&self.root().join("src"), &words).at_terminal();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.arg("trace").args(words).current_dir(self.root().join("src")).stdin(Stdio::null());
        command.arg("--home").arg(self.root().join("home"));
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn content(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }
}

fn git(root: &Path, words: &[&str]) {
    assert!(Command::new("git").arg("-C").arg(root).args(words).status().unwrap().success());
}

fn id_of<'a>(settled: &'a Value, path: &str) -> &'a str {
    let entries = settled["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["file"]["relative_path"] == path);
    entry.unwrap_or_else(|| panic!("{path}: {settled}"))["id"].as_str().unwrap()
}

#[test]
fn what_a_program_changed_is_listed_and_verified() {
    let mut workspace = TestWorkspace::new();
    workspace.program("1", |root| {
        fs::write(root.join("src/auth/a.ts"), "two\n").unwrap();
        fs::write(root.join("README.md"), "overwritten\n").unwrap();
    });
    let (code, out, err) = workspace.trace(&[]);
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 2), "{out}");
    assert!(out.lines().any(|line| line.contains("README.md") && line.ends_with("FAIL")), "{out}");
    let (_, out, _) = workspace.trace(&["--json", "--file", "README.md"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["entries"].as_array().unwrap().len(), 1);
    let (code, out, _) = workspace.trace(&["verify"]);
    assert!(code == 0 && out.starts_with("ok: 1 file, 2 lines, 2 entries"), "{out}");
    let head = out.split("sha256:").nth(1).unwrap().trim();
    assert_eq!(workspace.trace(&["verify", "--expect", &format!("sha256:{head}")]).0, 0);
    let ledger = workspace.content(LEDGER).unwrap();
    fs::write(workspace.root().join(LEDGER), ledger.replace("README.md", "LICENSE")).unwrap();
    let (code, out, _) = workspace.trace(&["verify"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("agent_trace.jsonl:1"), "{out}");
    let (code, out, _) = workspace.trace(&["export", "--format", "agent-trace"]);
    assert_eq!((code, out.lines().count()), (0, 2));
}

#[test]
fn changes_are_taken_back_from_git_and_from_the_kept_content() {
    let mut workspace = TestWorkspace::new();
    fs::write(workspace.root().join("notes.txt"), "never committed\n").unwrap();
    let settled = workspace.program("1", |root| {
        fs::write(root.join("README.md"), "overwritten\n").unwrap();
        fs::write(root.join("notes.txt"), "overwritten too\n").unwrap();
        fs::write(root.join("stray.txt"), "stray\n").unwrap();
    });
    // A copy of a file may contain what only its owner should read.
    for copy in fs::read_dir(workspace.gate.state_folder().unwrap().join("images")).unwrap() {
        assert_eq!(copy.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (code, _, err) = workspace.trace(&["revert", id_of(&settled, "README.md")]);
    assert!(code == 2 && err.contains("--yes"), "{err}");
    assert_eq!(workspace.content("README.md").unwrap(), "overwritten\n");
    for (path, content) in [("README.md", "committed\n"), ("notes.txt", "never committed\n")] {
        let (code, out, err) = workspace.trace(&["revert", "--yes", id_of(&settled, path)]);
        assert_eq!(code, 0, "{out}{err}");
        assert_eq!(workspace.content(path).unwrap(), content);
    }
    assert_eq!(workspace.trace(&["revert", "--yes", id_of(&settled, "stray.txt")]).0, 0);
    assert_eq!(workspace.content("stray.txt"), None);

    // Content that neither git nor the gate has is reported as lost, and nothing is changed.
    let images = workspace.gate.state_folder().unwrap().join("images");
    let lost = workspace.program("2", |root| {
        fs::remove_dir_all(&images).unwrap();
        fs::write(root.join("notes.txt"), "once more\n").unwrap();
    });
    let (code, _, err) = workspace.trace(&["revert", "--yes", id_of(&lost, "notes.txt")]);
    assert!(code == 2 && workspace.content("notes.txt").unwrap() == "once more\n", "{err}");
    let (code, out, _) = workspace.trace(&["list", "--json"]);
    assert_eq!(code, 0);
    let entries: Value = serde_json::from_str(&out).unwrap();
    let last = entries["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["scope_validation"], "FAIL");
    let reverts: Vec<_> = entries["entries"].as_array().unwrap().iter().filter(|entry| entry["reverts"].is_string()).collect();
    assert_eq!(reverts.len(), 3);
    assert!(reverts.iter().all(|entry| entry["scope_validation"] == "EXEMPT" && entry["success"] == true));
    assert!(reverts.iter().all(|entry| entry["person"]["command"][1] == "revert"));
    let (code, _, err) = workspace.trace(&["revert", "--yes", id_of(&settled, "README.md")]);
    assert!(code == 2 && err.contains("already"), "{err}");
    assert_eq!(workspace.trace(&["verify"]).0, 0);
}

#[test]
fn a_ledger_is_put_aside_and_goes_on() {
    let mut workspace = TestWorkspace::new();
    workspace.program("1", |root| fs::write(root.join("src/auth/a.ts"), "two\n").unwrap());
    let (code, out, _) = workspace.trace(&["archive", "--yes"]);
    assert!(code == 0 && out.contains(".orchestration/archive/agent_trace-0001.jsonl"), "{out}");
    workspace.program("2", |root| fs::write(root.join("src/auth/a.ts"), "three\n").unwrap());
    let (code, out, _) = workspace.trace(&["verify"]);
    assert!(code == 0 && out.starts_with("ok: 2 files"), "{out}");
    // Interrupted between moving and linking: the next run links.
    fs::rename(workspace.root().join(LEDGER), workspace.root().join(".orchestration/archive/agent_trace-0002.jsonl")).unwrap();
    assert_eq!(workspace.trace(&["archive", "--yes"]).0, 0);
    let (_, out, err) = workspace.trace(&["verify"]);
    assert!(out.starts_with("ok: 3 files") && !err.contains("link it"), "{out}{err}");
    let (_, out, _) = workspace.trace(&["map"]);
    assert!(out.contains("1 intent, 1 file"), "{out}");
}

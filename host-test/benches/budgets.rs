//! The rows of `cargo xtask bench` that are measured in one process: the gate in wasmtime compared with the same logic run
//! natively, with the minimum of work, and with `git status`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod comparison;
mod gates;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tollgate::Tollgate;
use tollgate::native::NativeGate;

use comparison::{Times, measure_alternately, print, row};
use gates::Folders;

fn main() {
    measure_checks();
    measure_settling();
    sessions();
    memory();
    programs();
}

/// A workspace with ten intents.
struct TestWorkspace(Folders);

impl TestWorkspace {
    fn new() -> Self {
        let folders = Folders::new(&["workspace/.orchestration", "workspace/src/auth", "workspace/src/billing"]);
        let scope = |number: usize| if number == 0 { "src/auth".to_owned() } else { format!("src/part{number}") };
        let intent = |number: usize| {
            format!("- id: INT-{number}\n  name: Number {number}\n  status: IN_PROGRESS\n  owned_scope: [{}/**]\n", scope(number))
        };
        fs::write(folders.root().join(".orchestration/active_intents.yaml"), (0..10).map(intent).collect::<String>()).unwrap();
        fs::write(folders.root().join("src/auth/login.ts"), "export const login = () => 1;\n").unwrap();
        fs::write(folders.root().join("src/billing/pay.ts"), "export const pay = () => 2;\n").unwrap();
        Self(folders)
    }

    fn root(&self) -> std::path::PathBuf {
        self.0.root()
    }

    /// A native gate with a session that has selected the first intent.
    fn native(&self) -> NativeGate {
        let gate = self.0.native();
        gate.perform(select("s").as_bytes());
        gate
    }

    /// The same, with the component.
    fn component(&self) -> Tollgate {
        let mut gate = self.0.component();
        gate.perform(select("s").as_bytes()).unwrap();
        gate
    }
}

fn select(session: &str) -> String {
    json!({"op": "select-intent", "session": session, "intent": "INT-0"}).to_string()
}

fn line(op: &str, session: &str, call: &str, tool: &str, args: &Value) -> Vec<u8> {
    let line = json!({"op": op, "session": session, "call": call, "tool": tool, "args": args, "success": true});
    line.to_string().into_bytes()
}

/// Measures checks, each side in its own workspace. A write in scope is settled outside of the measurement, so that no call waits
/// for another.
fn measure_checks() {
    for (name, tool, args, verdict) in [
        ("in-scope", "write", json!({"path": "src/auth/login.ts"}), "allow"),
        ("out-of-scope", "write", json!({"path": "src/billing/pay.ts"}), "deny"),
        ("shell", "bash", json!({"command": "cd src && sed -i s/2/3/ billing/pay.ts"}), "deny"),
    ] {
        let (one, other) = (TestWorkspace::new(), TestWorkspace::new());
        let (native, mut component) = (one.native(), other.component());
        let check = line("pre-tool", "s", "c", tool, &args);
        let settle = line("post-tool", "s", "c", tool, &args);
        assert!(native.perform(&check).contains(&format!("\"verdict\":\"{verdict}\"")), "{name}");
        let (mut natives, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..1_000 {
            let began = Instant::now();
            std::hint::black_box(native.perform(&check));
            natives.push(began.elapsed());
            let began = Instant::now();
            std::hint::black_box(component.perform(&check).unwrap());
            ours.push(began.elapsed());
            if verdict == "allow" {
                native.perform(&settle);
                component.perform(&settle).unwrap();
            }
        }
        row(&format!("wasmtime/check/{name}"), &Times::new(natives), &Times::new(ours));
    }
}

/// One stat, one hash, one append: the minimum for checking a write and recording it.
fn do_unavoidable_work(file: &Path, ledger: &Path, entry: &str) {
    std::hint::black_box(fs::symlink_metadata(file).unwrap());
    let mut content = Vec::new();
    fs::File::open(file).unwrap().read_to_end(&mut content).unwrap();
    std::hint::black_box(Sha256::digest(&content));
    let mut ledger = fs::OpenOptions::new().append(true).create(true).open(ledger).unwrap();
    ledger.write_all(entry.as_bytes()).unwrap();
}

fn measure_settling() {
    let workspace = TestWorkspace::new();
    let mut gate = workspace.component();
    let native = TestWorkspace::new();
    let native_gate = native.native();
    let ledger = native.0.path("ledger");
    let file = workspace.root().join("src/auth/login.ts");
    let entry = format!("{}\n", "x".repeat(600));
    let args = json!({"path": "src/auth/login.ts"});
    let mut count = 0;
    let mut calls = || {
        count += 1;
        ["pre-tool", "post-tool"].map(|op| line(op, "s", &format!("c{count}"), "write", &args))
    };
    let mut lines = calls();
    let mut least = || do_unavoidable_work(&file, &ledger, &entry);
    let mut whole = || {
        lines.iter().for_each(|line| drop(std::hint::black_box(gate.perform(line).unwrap())));
        lines = calls();
    };
    let (least, whole) = measure_alternately(1_000, &mut least, &mut whole);
    row("wasmtime/settle/unavoidable", &least, &whole);
    let lines = ["pre-tool", "post-tool"].map(|op| line(op, "s", "c", "write", &args));
    let mut least = || do_unavoidable_work(&file, &ledger, &entry);
    let mut natively = || lines.iter().for_each(|line| drop(std::hint::black_box(native_gate.perform(line))));
    let (least, natively) = measure_alternately(1_000, &mut least, &mut natively);
    row("native: check and settle of a write / stat, hash and append", &least, &natively);
}

const SESSIONS: usize = 10_000;

/// Measures calls of many sessions in turn, compared with calls of one session.
fn sessions() {
    let (one, many) = (TestWorkspace::new(), TestWorkspace::new());
    let (mut single, mut several) = (one.component(), many.component());
    let check = |session: &str| line("pre-tool", session, "c", "write", &json!({"path": "src/billing/pay.ts"}));
    let names: Vec<String> = (0..SESSIONS).map(|number| format!("session-{number}")).collect();
    for name in &names {
        several.perform(select(name).as_bytes()).unwrap();
        several.perform(&check(name)).unwrap();
    }
    single.perform(select("session-0").as_bytes()).unwrap();
    let lines: Vec<Vec<u8>> = names.iter().map(|name| check(name)).collect();
    let mut next = lines.iter().cycle();
    let mut first = || drop(std::hint::black_box(single.perform(&lines[0]).unwrap()));
    let mut second = || drop(std::hint::black_box(several.perform(next.next().unwrap()).unwrap()));
    let (alone, robin) = measure_alternately(SESSIONS, &mut first, &mut second);
    row("wasmtime/sessions", &alone, &robin);
}

/// The resident memory of this process, in bytes.
fn resident_bytes() -> f64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or_default();
    pages * 4_096.0
}

/// Measures the memory of one more session: its own gate on the same engine, after a few calls.
fn memory() {
    const MORE: usize = 8;
    let workspace = TestWorkspace::new();
    let open = || {
        let mut gate = workspace.component();
        for args in [json!({"path": "src/auth/login.ts"}), json!({"path": "src/billing/pay.ts"})] {
            gate.perform(&line("pre-tool", "s", "c", "write", &args)).unwrap();
            gate.perform(&line("post-tool", "s", "c", "write", &args)).unwrap();
        }
        gate
    };
    let first: Vec<Tollgate> = (0..2).map(|_| open()).collect();
    let before = resident_bytes();
    let more: Vec<Tollgate> = (0..MORE).map(|_| open()).collect();
    let each = (resident_bytes() - before) / MORE as f64 / 1e6;
    drop((first, more));
    print("wasmtime/session/memory", each, 0.0, "MB");
}

/// Measures a program call in a git work tree in which nothing changes.
fn programs() {
    let small = program(15_000);
    let large = program(100_000);
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    print("wasmtime/program/15000", millis(small.0), millis(small.1), "ms");
    print("wasmtime: a program call in 100,000 files / git status", millis(large.0), millis(large.1), "ms");
    let growth = |large: Duration, small: Duration| large.as_secs_f64() / small.as_secs_f64();
    print("wasmtime/program/growth", growth(large.0, small.0), growth(large.1, small.1), "×");
}

/// The time of a program call, check and settle together, from the second one on, and the time of `git status`.
fn program(files: usize) -> (Duration, Duration) {
    let workspace = TestWorkspace::new();
    let root = workspace.root();
    fs::write(root.join(".gitignore"), ".orchestration/agent_trace.jsonl\n.orchestration/intent_map.md\n").unwrap();
    for number in 0..files {
        let folder = root.join(format!("src/auth/{}/{}", number / 1_000, number / 50));
        if number % 50 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(folder.join(format!("file{number}.ts")), format!("export const number = {number};\n")).unwrap();
    }
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&root).args(words).env("GIT_OPTIONAL_LOCKS", "0").stdout(Stdio::null());
        assert!(git.status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    git(&["-c", "core.autocrlf=false", "add", "."]);
    git(&["-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "--quiet", "--message", "all"]);
    let mut gate = workspace.component();
    let args = json!({"command": "make"});
    let lines = ["pre-tool", "post-tool"].map(|op| line(op, "s", "c", "bash", &args));
    let answer = gate.perform(&lines[0]).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains("\"verdict\":\"allow\"") || answer.contains("\"verdict\":\"ask\""), "{answer}");
    gate.perform(&lines[1]).unwrap();
    let mut status = || git(&["status", "--porcelain"]);
    let mut call = || lines.iter().for_each(|line| drop(std::hint::black_box(gate.perform(line).unwrap())));
    let (status, call) = measure_alternately(20, &mut status, &mut call);
    (call.tenth_percentile(), status.tenth_percentile())
}

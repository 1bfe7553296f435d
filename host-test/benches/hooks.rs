//! How long the scheduling of hooks takes, natively and in wasmtime, in one run: `cargo xtask bench`.
//!
//! Nothing is run: both gates are told the same and say what to run, and are told that it ended. What programs take comes on
//! top, and is the same for everybody.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod race;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate::native::NativeGate;
use tollgate::{Limits, Runtime, Tollgate, Turn};

use race::{race, row};

const HOOKS: usize = 1_000;
const RUNS: usize = 10_000;
const BATCH: usize = 100;

fn main() {
    println!("{:<52} {:>12} {:>12} {:>7}", "", "native", "wasmtime", "ratio");
    let house = House::new(HOOKS);
    house.declarations();
    house.events();
    house.queue();
    House::new(2).runs();
}

/// Whoever steps.
trait Gate {
    fn take(&mut self, now_ms: u64, inputs: &[Vec<u8>]) -> Turn;
}

impl Gate for NativeGate {
    fn take(&mut self, now_ms: u64, inputs: &[Vec<u8>]) -> Turn {
        self.step(now_ms, inputs)
    }
}

impl Gate for Tollgate {
    fn take(&mut self, now_ms: u64, inputs: &[Vec<u8>]) -> Turn {
        self.step(now_ms, inputs).unwrap()
    }
}

/// A workspace with a user's hooks, and both gates onto it.
struct House {
    folder: tempfile::TempDir,
    runtime: Runtime,
}

impl House {
    fn new(hooks: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for part in ["workspace/.tollgate", "home/.tollgate"] {
            fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        let house = Self { folder, runtime: Runtime::new(Limits::default()).unwrap() };
        // One of them waits for files to come to rest, one runs at once, and all others wait for other files.
        let hook = |number: usize| {
            json!({"id": format!("hook-{number}"), "trigger": "onDidSaveTextDocument", "pattern": format!("src/{number}/**/*.ts"),
                   "command": ["true"], "debounceMs": if number == 0 { 60_000 } else { 0 }, "concurrency": 256})
        };
        let hooks: Vec<Value> = (0..hooks).map(hook).collect();
        fs::write(house.home().join(".tollgate/hooks.json"), json!({"hooks": hooks}).to_string()).unwrap();
        house
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("workspace")
    }

    fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    fn native(&self) -> NativeGate {
        NativeGate::open(&self.root(), &self.home()).unwrap()
    }

    fn component(&self) -> Tollgate {
        Tollgate::builder().workspace(self.root()).home(self.home()).runtime(self.runtime.clone()).open().unwrap()
    }

    fn both(&self) -> (NativeGate, Tollgate) {
        let (mut native, mut component) = (self.native(), self.component());
        native.take(0, &[hello(&self.root())]);
        component.take(0, &[hello(&self.root())]);
        (native, component)
    }

    fn declarations(&self) {
        let mut ours = || drop(std::hint::black_box(self.native().take(0, &[hello(&self.root())])));
        let mut theirs = || drop(std::hint::black_box(self.component().take(0, &[hello(&self.root())])));
        let (native, wasmtime) = race(10, &mut ours, &mut theirs);
        row("1,000 hooks, read for the first time", native, wasmtime);
    }

    fn events(&self) {
        let (mut native, mut component) = self.both();
        for (what, event) in [
            ("1,000 hooks: an event that one waits for, enqueued", saved(0, 0)),
            ("1,000 hooks: an event that nobody waits for", saved(HOOKS, 0)),
        ] {
            let inputs = [event];
            let mut ours = || drop(std::hint::black_box(native.take(1, &inputs)));
            let mut theirs = || drop(std::hint::black_box(component.take(1, &inputs)));
            let (native, wasmtime) = race(200, &mut ours, &mut theirs);
            row(what, native, wasmtime);
        }
    }

    fn queue(&self) {
        let events: Vec<Vec<u8>> = (0..RUNS).map(|file| saved(0, file)).collect();
        let (mut native, mut component) = self.both();
        // A step has as little time as any other call, so hosts do not tell it everything at once.
        for some in events.chunks(BATCH) {
            native.take(1, some);
            component.take(1, some);
        }
        let mut ours = || drop(std::hint::black_box(native.take(2, &[])));
        let mut theirs = || drop(std::hint::black_box(component.take(2, &[])));
        let (native, wasmtime) = race(200, &mut ours, &mut theirs);
        row("10,000 runs wait: a step in which nothing is due", native, wasmtime);
    }

    fn runs(&self) {
        let (mut native, mut component) = self.both();
        let mut ours = || to_the_end(&mut native);
        let mut theirs = || to_the_end(&mut component);
        let (native, wasmtime) = race(3, &mut ours, &mut theirs);
        row("2 hooks: 10,000 runs from the event to the record", native, wasmtime);
    }
}

/// Enqueues runs, and reports each as ended as soon as it is to begin.
fn to_the_end(gate: &mut dyn Gate) {
    let mut ended = 0;
    let mut inputs: Vec<Vec<u8>> = Vec::new();
    for first in (0..RUNS).step_by(BATCH) {
        inputs.extend((first..first + BATCH).map(|file| saved(1, file)));
        loop {
            let turn = gate.take(1, &inputs);
            inputs.clear();
            for command in turn.commands {
                let body: Value = serde_json::from_slice(&command.body).unwrap();
                if body["type"] == "run" {
                    ended += 1;
                    let done =
                        json!({"type": "done", "id": command.id, "exit": 0, "stdout": "", "stderr": "", "truncated": false});
                    inputs.push(done.to_string().into_bytes());
                }
            }
            if inputs.is_empty() {
                break;
            }
        }
    }
    assert_eq!(ended, RUNS);
}

fn hello(root: &Path) -> Vec<u8> {
    json!({"type": "hello", "workspace": root, "path": ["/usr/bin", "/bin"], "prompts": false}).to_string().into_bytes()
}

fn saved(folder: usize, file: usize) -> Vec<u8> {
    let data = json!({"file": format!("src/{folder}/{file}.ts")});
    json!({"type": "event", "event": "onDidSaveTextDocument", "session": null, "data": data}).to_string().into_bytes()
}

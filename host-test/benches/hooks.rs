//! Measures the scheduling of hooks natively and in wasmtime, in one run: `cargo xtask bench`.
//!
//! Nothing is run: both gates get the same inputs, return what to run, and are told that it ended. The time of the programs would
//! be the same for both.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod comparison;
mod gates;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::native::NativeGate;

use comparison::{measure_alternately, row};
use gates::Folders;

const HOOKS: usize = 1_000;
const RUNS: usize = 10_000;
const BATCH: usize = 100;

fn main() {
    let workspace = TestWorkspace::new(HOOKS);
    workspace.declarations();
    workspace.events();
    workspace.queue();
    TestWorkspace::new(2).runs();
}

/// A gate that takes steps, in the JSON format on both sides.
trait Gate {
    fn answer(&mut self, line: &[u8]) -> Value;

    fn take_step(&mut self, now_ms: u64, inputs: &[Value]) -> Value {
        self.answer(json!({"op": "step", "now_ms": now_ms, "inputs": inputs}).to_string().as_bytes())
    }
}

impl Gate for NativeGate {
    fn answer(&mut self, line: &[u8]) -> Value {
        serde_json::from_str(&self.perform(line)).unwrap()
    }
}

impl Gate for Tollgate {
    fn answer(&mut self, line: &[u8]) -> Value {
        serde_json::from_slice(&self.perform(line).unwrap()).unwrap()
    }
}

/// A workspace with hooks of a user.
struct TestWorkspace(Folders);

impl TestWorkspace {
    fn new(hooks: usize) -> Self {
        let folders = Folders::new(&["workspace/.tollgate", "home/.tollgate"]);
        // One of them is debounced, one runs immediately, and all others wait for other files.
        let hook = |number: usize| {
            json!({"id": format!("hook-{number}"), "trigger": "onDidSaveTextDocument", "pattern": format!("src/{number}/**/*.ts"),
                   "command": ["true"], "debounceMs": if number == 0 { 60_000 } else { 0 }, "concurrency": 256})
        };
        let hooks: Vec<Value> = (0..hooks).map(hook).collect();
        fs::write(folders.home().join(".tollgate/hooks.json"), json!({"hooks": hooks}).to_string()).unwrap();
        Self(folders)
    }

    fn open_both(&self) -> (NativeGate, Tollgate) {
        let (mut native, mut component) = (self.0.native(), self.0.component());
        native.take_step(0, &[machine(&self.0.root())]);
        component.take_step(0, &[machine(&self.0.root())]);
        (native, component)
    }

    fn declarations(&self) {
        let mut ours = || drop(std::hint::black_box(self.0.native().take_step(0, &[machine(&self.0.root())])));
        let mut theirs = || drop(std::hint::black_box(self.0.component().take_step(0, &[machine(&self.0.root())])));
        let (native, wasmtime) = measure_alternately(10, &mut ours, &mut theirs);
        row("wasmtime / native: 1,000 hooks, read for the first time", &native, &wasmtime);
    }

    fn events(&self) {
        let (mut native, mut component) = self.open_both();
        for (what, event) in [
            ("1,000 hooks: an event that one waits for, enqueued", save_event(0, 0)),
            ("1,000 hooks: an event that nobody waits for", save_event(HOOKS, 0)),
        ] {
            let inputs = [event];
            let mut ours = || drop(std::hint::black_box(native.take_step(1, &inputs)));
            let mut theirs = || drop(std::hint::black_box(component.take_step(1, &inputs)));
            let (native, wasmtime) = measure_alternately(200, &mut ours, &mut theirs);
            row(&format!("wasmtime / native: {what}"), &native, &wasmtime);
        }
    }

    fn queue(&self) {
        let events: Vec<Value> = (0..RUNS).map(|file| save_event(0, file)).collect();
        let (mut native, mut component) = self.open_both();
        // A step has the same time limit as any other call, so hosts do not pass everything at once.
        for some in events.chunks(BATCH) {
            native.take_step(1, some);
            component.take_step(1, some);
        }
        let mut ours = || drop(std::hint::black_box(native.take_step(2, &[])));
        let mut theirs = || drop(std::hint::black_box(component.take_step(2, &[])));
        let (native, wasmtime) = measure_alternately(200, &mut ours, &mut theirs);
        row("wasmtime / native: 10,000 runs wait: a step in which nothing is due", &native, &wasmtime);
    }

    fn runs(&self) {
        let (mut native, mut component) = self.open_both();
        let mut ours = || run_to_end(&mut native);
        let mut theirs = || run_to_end(&mut component);
        let (native, wasmtime) = measure_alternately(3, &mut ours, &mut theirs);
        row("wasmtime / native: 2 hooks: 10,000 runs from the event to the record", &native, &wasmtime);
    }
}

/// Enqueues runs, and reports each as ended when it is to be started.
fn run_to_end(gate: &mut dyn Gate) {
    let mut ended = 0;
    let mut inputs: Vec<Value> = Vec::new();
    for first in (0..RUNS).step_by(BATCH) {
        inputs.extend((first..first + BATCH).map(|file| save_event(1, file)));
        loop {
            let turn = gate.take_step(1, &inputs);
            inputs.clear();
            for command in turn["commands"].as_array().unwrap() {
                if command[1]["type"] == "run" {
                    ended += 1;
                    inputs.push(json!({"type": "ended", "command": command[0], "exit": 0, "stdout": "", "stderr": ""}));
                }
            }
            if inputs.is_empty() {
                break;
            }
        }
    }
    assert_eq!(ended, RUNS);
}

fn machine(root: &Path) -> Value {
    json!({"type": "machine", "workspace": root, "search_path": ["/usr/bin", "/bin"]})
}

fn save_event(folder: usize, file: usize) -> Value {
    let data = json!({"file": format!("src/{folder}/{file}.ts")});
    json!({"type": "event", "event": "onDidSaveTextDocument", "session": null, "data": data})
}

//! What `cargo xtask guard` counts: one hot path, natively, repeated.
//!
//! `hot_paths ROW COUNT FOLDER` sets up a workspace in an empty folder, repeats what the row describes, and prints the number of
//! calls to the host. The difference between two runs with different counts is the cost of the repetitions alone.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate::native::NativeGate;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [row, count, folder] = words.as_slice() else { panic!("hot_paths ROW COUNT FOLDER") };
    let place = Place { folder: PathBuf::from(folder) };
    let count: usize = count.parse().unwrap();
    let crossings = match row.as_str() {
        "check-in-scope" => place.checks(count, "write", &json!({"path": "src/auth/login.ts"}), true),
        "check-out-of-scope" => place.checks(count, "write", &json!({"path": "src/billing/pay.ts"}), false),
        "check-read" => place.checks(count, "read", &json!({"path": "src/auth/login.ts"}), false),
        "check-shell" => place.checks(count, "bash", &json!({"command": "cd src && sed -i s/2/3/ billing/pay.ts"}), false),
        "check-shell-reading" => {
            place.checks(count, "bash", &json!({"command": "grep -rn 'export' src | sort | head -20"}), false)
        }
        "first-check-1000-intents" => place.first_checks(count),
        "first-event-1000-hooks" => place.first_events(count),
        "program-call-1000-files" => place.program_calls(count),
        other => panic!("`{other}` is not a row"),
    };
    println!("{}", json!({ "crossings": crossings }));
}

struct Place {
    folder: PathBuf,
}

impl Place {
    fn root(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.root().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Creates a workspace with this many intents.
    fn set_up(&self, intents: usize) {
        let intent = |number: usize| {
            let scope = if number == 0 { "src/auth".to_owned() } else { format!("src/part{number}") };
            format!("- id: INT-{number}\n  name: Number {number}\n  status: IN_PROGRESS\n  owned_scope:\n    - {scope}/**\n")
        };
        self.write(".orchestration/active_intents.yaml", &(0..intents).map(intent).collect::<String>());
        self.write("src/auth/login.ts", "export const login = () => 1;\n");
        self.write("src/billing/pay.ts", "export const pay = () => 2;\n");
        fs::create_dir_all(self.folder.join("home")).unwrap();
    }

    fn open(&self) -> NativeGate {
        let gate = NativeGate::open(&self.root(), &self.folder.join("home")).unwrap();
        // Which parsed files are stored must not depend on the speed of the machine.
        gate.set_ahead(Duration::from_secs(60));
        gate
    }

    /// A gate whose session has selected the first intent.
    fn open_ready(&self, intents: usize) -> NativeGate {
        self.set_up(intents);
        let gate = self.open();
        gate.perform(json!({"op": "select-intent", "session": "s", "intent": "INT-0"}).to_string().as_bytes());
        gate
    }

    /// Checks a call repeatedly, and settles it if it is allowed to change something.
    fn checks(&self, count: usize, tool: &str, args: &Value, settles: bool) -> u64 {
        let gate = self.open_ready(10);
        let call = |number: usize| {
            gate.perform(&line("pre-tool", number, tool, args));
            if settles {
                gate.perform(&line("post-tool", number, tool, args));
            }
        };
        // The first calls fill the in-memory caches.
        (0..3).for_each(call);
        let before = gate.crossings();
        (3..3 + count).for_each(call);
        gate.crossings() - before
    }

    /// The first check of a new process.
    fn first_checks(&self, count: usize) -> u64 {
        self.open_ready(1_000);
        let check = line("pre-tool", 0, "write", &json!({"path": "src/billing/pay.ts"}));
        let first = || {
            let gate = self.open();
            gate.perform(&check);
            gate.crossings()
        };
        first();
        (0..count).map(|_| first()).sum()
    }

    /// The first event of a new process, with many hooks of which none is declared for the event.
    fn first_events(&self, count: usize) -> u64 {
        self.open_ready(10);
        let hook = |number: usize| {
            json!({"id": format!("hook-{number}"), "trigger": "onDidSaveTextDocument", "pattern": format!("src/{number}/**/*.ts"),
                   "command": ["true"]})
        };
        fs::create_dir_all(self.folder.join("home/.tollgate")).unwrap();
        let hooks = json!({ "hooks": (0..1_000).map(hook).collect::<Vec<_>>() });
        fs::write(self.folder.join("home/.tollgate/hooks.json"), hooks.to_string()).unwrap();
        let event = json!({"op": "event", "event": "before_tool", "session": "s", "data": {"tool_name": "x"}}).to_string();
        let first = || {
            let gate = self.open();
            gate.perform(event.as_bytes());
            gate.crossings()
        };
        first();
        (0..count).map(|_| first()).sum()
    }

    fn program_calls(&self, count: usize) -> u64 {
        for number in 0..1_000 {
            self.write(&format!("src/auth/{}/file{number}.ts", number / 50), &format!("export const number = {number};\n"));
        }
        self.checks(count, "bash", &json!({"command": "make"}), true)
    }
}

fn line(op: &str, call: usize, tool: &str, args: &Value) -> Vec<u8> {
    // The same length for every number, so that every call costs the same.
    let call = format!("call-{call:06}");
    json!({"op": op, "session": "s", "call": call, "tool": tool, "args": args, "success": true}).to_string().into_bytes()
}

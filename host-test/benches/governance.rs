//! Measures governance natively and in wasmtime, in one run: `cargo xtask bench`.
//!
//! Both use the same host code and the same real files, so their ratio is the overhead of the component. Where noted, two sizes of
//! the same work in wasmtime are compared instead, to show what must not grow.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod comparison;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate::native::NativeGate;
use tollgate::{Limits, Runtime, Tollgate};

use comparison::{limit, measure_alternately, row};

fn main() {
    intents();
    scopes();
    hashes();
    appends();
    recent_entries();
}

/// A workspace with both gates.
struct TestWorkspace {
    folder: tempfile::TempDir,
    runtime: Runtime,
}

impl TestWorkspace {
    fn new(intents: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".orchestration")).unwrap();
        fs::create_dir_all(folder.path().join("src")).unwrap();
        fs::write(folder.path().join(".orchestration/active_intents.yaml"), intents).unwrap();
        Self { folder, runtime: Runtime::new(Limits::default()).unwrap() }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn native(&self) -> NativeGate {
        NativeGate::open(self.root(), self.root()).unwrap()
    }

    fn component(&self) -> Tollgate {
        Tollgate::builder().workspace(self.root()).home(self.root()).runtime(self.runtime.clone()).open().unwrap()
    }

    /// The same line through both, repeatedly. Returns the median in wasmtime.
    fn row(&self, what: &str, line: &Value) -> Duration {
        let (native, mut component) = (self.native(), self.component());
        let line = line.to_string().into_bytes();
        let mut ours = || drop(std::hint::black_box(native.perform(&line)));
        let mut theirs = || drop(std::hint::black_box(component.perform(&line).unwrap()));
        let (native, wasmtime) = measure_alternately(200, &mut ours, &mut theirs);
        row(&format!("wasmtime / native: {what}"), &native, &wasmtime);
        wasmtime.median()
    }
}

/// SC-004, a hash of 1 MB.
const HASH: Duration = Duration::from_millis(50);
/// SC-008, a scope check; SC-010 allows a whole refusal fifty times as much.
const SCOPE: Duration = Duration::from_millis(10);
/// SC-006 and SC-007, context after a selection and after changing it: the shorter of the two.
const CONTEXT_WITHIN: Duration = Duration::from_millis(100);

const CONTEXT: &str = r#"{"op":"context","session":"s"}"#;

fn select(workspace: &TestWorkspace) {
    workspace.native().perform(br#"{"op":"select-intent","session":"s","intent":"INT-0"}"#);
}

fn intents() {
    let intent = |number: usize| {
        format!("- id: INT-{number}\n  name: Number {number}\n  status: IN_PROGRESS\n  owned_scope: [src/{number}/**]\n")
    };
    let workspace = TestWorkspace::new(&(0..1_000).map(intent).collect::<String>());
    let mut ours = || drop(std::hint::black_box(workspace.native().perform(CONTEXT.as_bytes())));
    let mut theirs = || drop(std::hint::black_box(workspace.component().perform(CONTEXT.as_bytes()).unwrap()));
    let (native, wasmtime) = measure_alternately(20, &mut ours, &mut theirs);
    row("wasmtime / native: 1,000 intents, read for the first time", &native, &wasmtime);
    let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "write", "args": {"path": "src/x"}});
    workspace.row("1,000 intents, kept in memory: a denied write", &call);
}

fn scopes() {
    for count in [1, 100, 10_000] {
        let patterns: String = (0..count).map(|number| format!("  - src/folder{number}/**\n")).collect();
        let workspace =
            TestWorkspace::new(&format!("- id: INT-0\n  name: Scope\n  status: IN_PROGRESS\n  owned_scope:\n{patterns}"));
        select(&workspace);
        let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "write", "args": {"path": "elsewhere/x"}});
        let what = format!("scope of {count} patterns, none matches");
        limit(&what, workspace.row(&what, &call), SCOPE);
    }
}

fn hashes() {
    let workspace = TestWorkspace::new("[{id: INT-0, name: Hash, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    select(&workspace);
    fs::write(workspace.root().join("src/large"), vec![b'x'; 1 << 20]).unwrap();
    let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "write", "args": {"path": "src/large"}});
    let what = "check of a write to a file of 1 MiB";
    limit(what, workspace.row(what, &call), HASH);
}

fn appends() {
    let workspace = TestWorkspace::new("[{id: INT-0, name: Append, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    select(&workspace);
    let (native, mut component) = (workspace.native(), workspace.component());
    let lines = ["pre-tool", "post-tool"].map(|op| {
        let line = json!({"op": op, "session": "s", "call": "c", "tool": "write", "args": {"path": "src/a"}, "success": true});
        line.to_string().into_bytes()
    });
    let mut ours = || lines.iter().for_each(|line| drop(std::hint::black_box(native.perform(line))));
    let mut theirs = || lines.iter().for_each(|line| drop(std::hint::black_box(component.perform(line).unwrap())));
    let (native, wasmtime) = measure_alternately(500, &mut ours, &mut theirs);
    row("wasmtime / native: a whole call, checked and recorded", &native, &wasmtime);
}

fn recent_entries() {
    let workspace = |lines: usize| {
        let workspace = TestWorkspace::new("[{id: INT-0, name: Recent, status: IN_PROGRESS, owned_scope: ['src/**']}]");
        select(&workspace);
        let ledger = fs::File::create(workspace.root().join(".orchestration/agent_trace.jsonl")).unwrap();
        let mut ledger = std::io::BufWriter::new(ledger);
        let hash = "0".repeat(64);
        for number in 0..lines {
            writeln!(
                ledger,
                r#"{{"id":"{number:032}","timestamp":"2026-01-01T00:00:00.000Z","intent_id":"INT-{}","session_id":"s","tool_name":"write","mutation_class":"BUG_FIX","file":{{"relative_path":"src/{number}","pre_hash":"sha256:{hash}","post_hash":"sha256:{hash}","line_ranges":[]}},"content_hash":"sha256:{hash}","scope_validation":"PASS","success":true,"error":null,"saw":[]}}"#,
                number % 3
            )
            .unwrap();
        }
        workspace
    };
    let (short, long) = (workspace(1_000), workspace(1_000_000));
    let (mut one, mut other) = (short.component(), long.component());
    for (what, line) in [
        ("the last 20 entries of an intent", r#"{"op":"trace","intent":"INT-0","limit":20}"#),
        ("the context for the prompt", CONTEXT),
        (
            "a write, refused as stale by who was last",
            r#"{"op":"pre-tool","session":"s","call":"c","tool":"write","args":{"path":"src/x","expected_hash":"0000000000000000000000000000000000000000000000000000000000000000"}}"#,
        ),
    ] {
        let mut first = || drop(std::hint::black_box(one.perform(line.as_bytes()).unwrap()));
        let mut second = || drop(std::hint::black_box(other.perform(line.as_bytes()).unwrap()));
        let (small, large) = measure_alternately(100, &mut first, &mut second);
        row(&format!("wasmtime, a ledger of a million lines / of 1,000: {what}"), &small, &large);
        limit(what, small.median().max(large.median()), CONTEXT_WITHIN);
    }
}

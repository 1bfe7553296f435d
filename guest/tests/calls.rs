//! Tool calls and what the gate says about them, a row each: `cases/*.jsonl`.
//!
//! A row has `id`, `tool`, `args`, `verdict`, `code` and, optionally, `effects` (all of them, in order, as `operation
//! path`), `host`, `cwd`, `intent` (else `LOGIN`; null selects none) and `setup` (steps that change the workspace first:
//! `write`, `symlink`, `hardlink`, `mkdir`). `{root}` is the workspace's path.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, PROJECT};

const INTENTS: &str = "
active_intents:
  - {id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', docs/auth.md]}
  - {id: BILLING, name: Billing, status: IN_PROGRESS, owned_scope: ['src/billing/**', 'tests/billing/*.ts', 'tests/export/*.ts']}
  - {id: ALL, name: Everything, status: IN_PROGRESS, owned_scope: ['**']}
  - id: CONTROL
    name: The gate itself
    status: IN_PROGRESS
    owned_scope: [.orchestration/active_intents.yaml, .claude/settings.json, sub/.git/config, '.codex/**', '.github/hooks/*.json', '.gemini/**', '*/config']
";

fn world(setup: &Value) -> Rc<Memory> {
    let world = Memory::new();
    for (path, content) in [
        (".orchestration/active_intents.yaml", INTENTS),
        (".git/config", "[core]\n"),
        ("src/auth/login.ts", "export const login = () => 1;\n"),
        ("src/auth/a.ts", "export const a = 1;\n"),
        ("src/billing/pay.ts", "export const pay = () => 2;\n"),
        ("tests/billing/pay.ts", "test\n"),
        ("docs/auth.md", "# Auth\n"),
        ("README.md", "# Fixture\n"),
    ] {
        world.write(path, content);
    }
    for step in setup.as_array().into_iter().flatten() {
        let (kind, value) = step.as_object().unwrap().iter().next().unwrap();
        let text = |at: usize| value[at].as_str().unwrap();
        match kind.as_str() {
            "write" => world.write(text(0), text(1)),
            "symlink" => world.symlink(text(0), text(1)),
            "hardlink" => world.hardlink(text(0), text(1)),
            "mkdir" => world.mkdir(value.as_str().unwrap()),
            other => panic!("no such step: {other}"),
        }
    }
    world
}

fn filled(value: &Value) -> Value {
    serde_json::from_str(&value.to_string().replace("{root}", PROJECT)).unwrap()
}

fn ask(gate: &mut Gate, op: &Value) -> Value {
    serde_json::from_str(&perform(gate, op.to_string().as_bytes())).unwrap()
}

/// What is wrong with the answer to a row.
fn fault(row: &Value) -> Option<String> {
    let mut gate = Gate::new(world(&row["setup"]).ports());
    let intent = row.get("intent").cloned().unwrap_or_else(|| "LOGIN".into());
    if !intent.is_null() {
        let answer = ask(&mut gate, &json!({"op": "select-intent", "session": "s", "intent": intent}));
        assert!(answer.get("intent").is_some(), "{answer}");
    }
    let mut op = json!({"op": "pre-tool", "session": "s", "call": "c"});
    for field in ["tool", "args", "host", "cwd"] {
        if let Some(value) = row.get(field) {
            op[field] = filled(value);
        }
    }
    // The second time everything is asked in one look, and the answer must be the same.
    let answer = ask(&mut gate, &op);
    let again = ask(&mut gate, &op);
    if answer != again {
        return Some(format!("{answer} and then {again}"));
    }
    if (&answer["verdict"], &answer["code"]) != (&row["verdict"], &row["code"]) {
        return Some(format!("expected {} {}: {answer}", row["verdict"], row["code"]));
    }
    if answer["verdict"] != "allow" && answer["reason"].as_str().unwrap().is_empty() {
        return Some("no reason".to_owned());
    }
    let effects: Vec<Value> = answer["effects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|effect| format!("{} {}", effect["operation"].as_str().unwrap(), effect["path"].as_str().unwrap()).into())
        .collect();
    match &row["effects"] {
        Value::Array(expected) if *expected != effects => Some(format!("expected {expected:?}: {effects:?}")),
        _ => None,
    }
}

fn run(rows: &str) {
    let faults: Vec<String> = rows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line))
        .filter_map(|row| fault(&row).map(|fault| format!("{}: {fault}", row["id"])))
        .collect();
    assert!(faults.is_empty(), "{} rows fail\n{}", faults.len(), faults.join("\n"));
}

macro_rules! tables {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(include_str!(concat!("cases/", stringify!($name), ".jsonl")));
        })*
    };
}

tables! { tools paths patches control mcp config }

//! False alarms: what developers type all day runs without a question, in almost every case.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../../fixtures/ordinary.rs"]
mod ordinary;

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

/// So many of a hundred may be asked about or denied.
const MAX_PER_CENT: usize = 5;
/// Fewer would say little.
const MIN_COMMANDS: usize = 350;

const INTENTS: &str = "active_intents:\n  - id: INT-001\n    name: Login hardening\n    status: IN_PROGRESS\n    \
                       owned_scope: [src/auth/**, docs/auth.md]\n";

const FILES: &[&str] = &[
    "src/auth/login.ts",
    "src/auth/session.ts",
    "src/auth/limit.ts",
    "src/auth/a.ts",
    "src/auth/a.json",
    "src/auth/a.js",
    "src/auth/list.txt",
    "src/auth/check.sh",
    "src/auth/sub/x.ts",
    "src/auth/m.c",
    "src/billing/pay.ts",
    "tests/billing/pay.ts",
    "docs/auth.md",
    "README.md",
    ".env",
    ".gitignore",
    "package.json",
    "gradlew",
    ".git/HEAD",
    ".git/config",
    ".git/hooks/pre-commit.sample",
    "/tmp/out.txt",
];

fn world() -> Rc<Memory> {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", INTENTS);
    FILES.iter().for_each(|path| world.write(path, "one\n"));
    world
}

#[test]
fn ordinary_commands_run_without_a_question() {
    let commands = ordinary::commands(include_str!("../../fixtures/ordinary_commands.txt"));
    let different: BTreeSet<&String> = commands.iter().collect();
    assert!(different.len() == commands.len() && commands.len() >= MIN_COMMANDS, "{} commands", commands.len());
    let mut alarms = Vec::new();
    for command in &commands {
        let mut gate = Gate::new(world().ports());
        let selected = perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"INT-001"}"#);
        assert!(selected.contains("INT-001"), "{selected}");
        let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "bash", "args": {"command": command}});
        let answer: Value = serde_json::from_str(&perform(&mut gate, call.to_string().as_bytes())).unwrap();
        if answer["verdict"] != "allow" {
            alarms.push(format!("{} {} | {command}\n    {}", answer["verdict"], answer["code"], answer["reason"]));
        }
    }
    println!("{} of {} ordinary commands are asked about or denied:", alarms.len(), commands.len());
    alarms.iter().for_each(|alarm| println!("{alarm}"));
    assert!(alarms.len() * 100 <= commands.len() * MAX_PER_CENT, "{} of {} are false alarms", alarms.len(), commands.len());
}

//! Commands that are slow to analyse are answered, and never with a silent allow.

#[path = "../../fixtures/bombs.rs"]
mod payloads;

use std::time::Instant;

use serde_json::Value;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

const INTENTS: &str = "active_intents:\n  - id: INT-001\n    name: Login hardening\n    status: IN_PROGRESS\n    \
                       owned_scope: [src/auth/**, docs/auth.md]\n";

#[test]
fn bombs_are_not_allowed() {
    let mut allowed = Vec::new();
    for bomb in payloads::bombs() {
        let world = Memory::new();
        world.write(".orchestration/active_intents.yaml", INTENTS);
        for file in ["src/auth/a.ts", "src/auth/login.ts", "src/billing/pay.ts", "src/billing/tax.ts"] {
            world.write(file, "a\n");
        }
        let mut gate = Gate::new(world.ports());
        perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"INT-001"}"#);
        let line = payloads::line(&bomb);
        let since = Instant::now();
        let answer = perform(&mut gate, line.as_bytes());
        // Only printed: how long it takes depends on the machine, and this is not the release profile.
        let shown = since.elapsed().as_micros();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        println!("{shown:>9} µs {:>7} bytes {} {} {}", line.len(), answer["verdict"], bomb.name, answer["reason"]);
        if answer["verdict"] != "ask" && answer["verdict"] != "deny" {
            allowed.push(format!("{}: {answer}", bomb.name));
        }
    }
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
}

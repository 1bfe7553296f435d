// A gate on a small in-memory workspace, for all targets.

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

/// The answer of a new gate to a call with an intent that owns `src/auth/**`.
pub fn ask(tool: &str, args: Value) -> Value {
    let world = Memory::new();
    world
        .write(".orchestration/active_intents.yaml", "[{id: I, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]");
    world.write("src/auth/a.ts", "a\n");
    world.write("src/billing/pay.ts", "b\n");
    world.symlink("../billing", "src/auth/out");
    let mut gate = Gate::new(world.ports());
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"I"}"#);
    let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": tool, "args": args});
    let answer = perform(&mut gate, call.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|fault| panic!("{fault}: {answer}"));
    assert!(answer["verdict"].is_string(), "{call} is answered with {answer}");
    answer
}

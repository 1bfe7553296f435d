//! No ledger makes the gate panic: it can be read, verified and appended to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

fuzz_target!(|text: &str| {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    world.write(".orchestration/agent_trace.jsonl", text);
    let mut gate = Gate::new(world.ports());
    let mut ask = |line: Value| -> Value {
        let answer = perform(&mut gate, line.to_string().as_bytes());
        serde_json::from_str(&answer).unwrap_or_else(|fault| panic!("{fault}: {answer}"))
    };
    let mut report = ask(json!({"op": "verify"}));
    for _ in 0..1_000 {
        if report["done"] != false {
            break;
        }
        report = ask(json!({"op": "verify", "more": true}));
    }
    assert_ne!(report["done"], false, "{report}");
    ask(json!({"op": "trace", "limit": 5}));
    ask(json!({"op": "select-intent", "session": "s", "intent": "I"}));
    let call =
        |op: &str| json!({"op": op, "session": "s", "call": "c", "tool": "write", "args": {"path": "src/a"}, "success": true});
    assert_eq!(ask(call("pre-tool"))["verdict"], "allow");
    world.write("src/a", "new");
    let settled = ask(call("post-tool"));
    assert_eq!(settled["entries"].as_array().map(Vec::len), Some(1), "{settled}");
});

//! No intents file makes the gate panic, and if it is invalid, the ruling says so.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::intents::file::Intents;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

fuzz_target!(|text: &str| {
    let parsed = Intents::parse(text.as_bytes());
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", text);
    let mut gate = Gate::new(world.ports());
    let mut ask = |line: Value| -> Value {
        let answer = perform(&mut gate, line.to_string().as_bytes());
        serde_json::from_str(&answer).unwrap_or_else(|fault| panic!("{fault}: {answer}"))
    };
    ask(json!({"op": "context", "session": "s"}));
    let ruling = ask(json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "write", "args": {"path": "src/a"}}));
    if parsed.is_err() {
        // An invalid file never allows anything; the ruling says why.
        assert_eq!(ruling["code"], "intents_unreadable", "{ruling}");
    }
});

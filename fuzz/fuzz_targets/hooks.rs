//! No hook declaration makes the gate panic, and no hook of a workspace runs without approval.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate_guest::engine::Input;
use tollgate_guest::gate::Gate;
use tollgate_guest::hooks::declaration;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

fuzz_target!(|text: &str| {
    if let Ok(document) = serde_json::from_str::<Value>(text) {
        let first = declaration::read(&document);
        assert_eq!(first.is_ok(), declaration::read(&document).is_ok());
    }
    let world = Memory::new();
    world.write(".tollgate/hooks.json", text);
    let mut gate = Gate::new(world.ports());
    let machine = json!({"type": "machine", "workspace": "/workspace", "search_path": ["/usr/bin"]});
    gate.step(1_000, &[Input::from_json(&machine)]);
    let list = perform(&mut gate, br#"{"op":"hooks","do":"list"}"#);
    assert!(serde_json::from_str::<Value>(&list).is_ok(), "{list}");
    for event in ["before_tool", "session_start", "onDidSaveTextDocument"] {
        perform(&mut gate, json!({"op": "event", "event": event, "session": "s", "data": {}}).to_string().as_bytes());
        let turn = gate.step(2_000, &[]);
        for command in turn.commands {
            let order = command.order.to_json();
            assert!(order["type"] != "run" && order["type"] != "prompt", "{order}");
        }
    }
});

//! No manifest, and no hooks file in Claude Code's format, makes the gate panic, and nothing that a workspace contains takes
//! effect without approval.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate_guest::engine::Input;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

fuzz_target!(|text: &str| {
    let world = Memory::new();
    world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    world.write_home(".tollgate/extensions/mine/manifest.json", text);
    world.write(".tollgate/extensions/x/manifest.json", text);
    world.write(".tollgate/extensions/y/manifest.json", r#"{"name": "y", "version": "1", "hooks": "hooks.json"}"#);
    world.write(".tollgate/extensions/y/hooks.json", text);
    world.write(".claude/settings.json", text);
    world.write(".claude/skills/x/SKILL.md", text);
    let mut gate = Gate::new(world.ports());
    let machine = json!({"type": "machine", "workspace": "/workspace", "search_path": ["/usr/bin"]});
    gate.step(1_000, &[Input::from_json(&machine)]);
    for line in [r#"{"op":"extensions","do":"list"}"#, r#"{"op":"skills","do":"list"}"#, r#"{"op":"hooks","do":"import"}"#] {
        let answer = perform(&mut gate, line.as_bytes());
        assert!(serde_json::from_str::<Value>(&answer).is_ok(), "{answer}");
    }
    let listed: Value = serde_json::from_str(&perform(&mut gate, br#"{"op":"extensions","do":"list"}"#)).unwrap_or_default();
    for extension in listed["extensions"].as_array().into_iter().flatten() {
        assert!(extension["source"] != "workspace" || extension["state"] != "active", "{extension}");
    }
});

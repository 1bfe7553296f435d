//! Nothing that an MCP server sends makes the gate panic, and a schema that is read and written again is unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::servers::outcome::ToolResult;
use tollgate_guest::servers::schema::Schema;

fuzz_target!(|text: &str| {
    if let Ok(written) = serde_json::from_str::<Value>(text)
        && let Ok(schema) = Schema::read(&written)
    {
        assert_eq!(schema.to_json_schema(), written);
        schema.misfit(&written);
        schema.parameters();
    }
    if let Ok(answer) = ToolResult::read(text) {
        answer.text();
        answer.to_json();
    }
    let world = Memory::new();
    world.write_home(".tollgate/config.json", r#"{"mcpServers": {"s": {"command": "x"}}}"#);
    let mut gate = Gate::new(world.ports());
    let turn = gate.step_servers(1_000, &[json!({"type": "request", "number": 1, "method": "tools"})]);
    let connection = turn.commands[0]["connection"].clone();
    let info = serde_json::from_str(text).unwrap_or(json!({"capabilities": {"tools": {}}}));
    gate.step_servers(1_001, &[json!({"type": "connected", "connection": connection, "info": info})]);
    let turn = gate.step_servers(1_002, &[json!({"type": "listed", "connection": connection, "tools": [text, text]})]);
    let is_answered = |command: &Value| command["type"] == "reply" && command["number"] == 1;
    let has_answered = turn.commands.iter().any(is_answered);
    let later = gate.step_servers(60_000, &[]);
    assert!(has_answered || later.commands.iter().any(is_answered) || info.pointer("/capabilities/tools").is_none());
});

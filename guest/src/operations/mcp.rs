//! The operations behind MCP servers: `tollgate mcp`, `tollgate mcp-proxy`, and whatever else talks to servers.
//!
//! | op | answer |
//! | --- | --- |
//! | `mcp` `{do: "step", now_ms, inputs}` | `{commands, next_deadline_ms}`, see [`hub`](crate::servers::hub) |
//! | `mcp` `{do: "open"}` | `{session, server, instructions}`: a name for the session of a client, and what to tell it |
//! | `mcp` `{do: "add", server, declaration?, settings?}` | `{path, server, declaration, target, settings}`: the user's settings as they have to be to declare a server; the host writes them. Without a declaration, the workspace's is used |

use serde_json::{Map, Value, json};

use super::{OperationFault, check_fields, own_tools};
use crate::gate::Gate;
use crate::home;
use crate::json;
use crate::json::document::Document;
use crate::programs::own_tools::{INSTRUCTIONS, OWN_TOOLS, SERVER};
use crate::servers::{ServerSource, ServerSpec, workspace_entry};

pub(super) fn answer(gate: &mut Gate, op: &str, fields: &Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields(op, &["do"], fields)?;
    match fields.get("do").and_then(Value::as_str) {
        Some("step") => {
            check_fields(op, &["now_ms"], fields)?;
            step(gate, fields)
        }
        Some("open") => {
            let hex: String = gate.ports().random.random_bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            Ok(json!({"session": format!("mcp-{hex}"), "server": SERVER, "instructions": INSTRUCTIONS}))
        }
        Some("add") => {
            check_fields(op, &["server"], fields)?;
            add(gate, fields)
        }
        _ => Err(OperationFault::InvalidField { op: op.to_owned(), field: "do", expected: "one of step, open, add" }),
    }
}

fn step(gate: &mut Gate, fields: &Map<String, Value>) -> Result<Value, OperationFault> {
    let now_ms = fields.get("now_ms").and_then(Value::as_u64).unwrap_or_default();
    let mut inputs = fields.get("inputs").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut commands = Vec::new();
    // The gate's own tools are answered here; everything else is about servers.
    inputs.retain(|input| match own_call(gate, input) {
        Some(reply) => {
            commands.push(reply);
            false
        }
        None => true,
    });
    let turn = gate.step_servers(now_ms, &inputs);
    commands.extend(turn.commands);
    Ok(json!({"commands": commands, "next_deadline_ms": turn.next_deadline_ms}))
}

/// The answer to a request for one of Tollgate's own tools. A fault that a model can correct is the tool's own error: programs do
/// not show the model the protocol's errors.
fn own_call(gate: &mut Gate, input: &Value) -> Option<Value> {
    let name = input.pointer("/params/name")?.as_str()?;
    let is_own = json::text(input, "method") == Some("tools/call") && OWN_TOOLS.iter().any(|tool| tool.name == name);
    if !is_own {
        return None;
    }
    let of = |path: &str| input.pointer(path).cloned().unwrap_or_default();
    let asked = [("session", of("/params/session")), ("tool", name.into()), ("args", of("/params/arguments"))];
    let asked: Map<String, Value> = asked.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let result = match own_tools::answer(gate, "own-tool", &asked)? {
        Ok(answer) => {
            let mut result = json!({"content": [{"type": "text", "text": answer.get("text")}]});
            if let (Some(data), Some(result)) = (answer.get("data"), result.as_object_mut()) {
                result.insert("structuredContent".to_owned(), data.clone());
            }
            result
        }
        Err(why) => json!({"content": [{"type": "text", "text": why.to_string()}], "isError": true}),
    };
    Some(json!({"type": "reply", "number": of("/number"), "result": result}))
}

/// The user's settings with one more server.
fn add(gate: &Gate, fields: &Map<String, Value>) -> Result<Value, OperationFault> {
    let invalid = |field, why| OperationFault::InvalidValue { op: "mcp".to_owned(), field, why };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("server");
    let entry = match fields.get("declaration").filter(|entry| !entry.is_null()) {
        Some(entry) => entry.clone(),
        None => workspace_entry(name, gate.ports()).ok_or_else(|| {
            invalid("server", format!("the workspace declares no MCP server `{name}`; specify how to reach it"))
        })?,
    };
    let spec = ServerSpec::parse(name, &entry, ServerSource::User).map_err(|why| invalid("declaration", why))?;
    let unusable = |why: String| invalid("settings", why);
    let document = Document::parse(text("settings")).map_err(|why| unusable(why.to_string()))?;
    if document.value().pointer("/mcpServers").and_then(|servers| servers.get(name)).is_some() {
        return Err(OperationFault::NotDone(format!(
            "`~/{}` already declares an MCP server `{name}`; remove that entry first",
            home::SETTINGS
        )));
    }
    document.put("mcpServers", name, &entry).map_err(|why| unusable(why.to_string()))?;
    Ok(
        json!({"path": home::SETTINGS, "server": name, "declaration": entry, "target": spec.target(), "settings": document.text()}),
    )
}

//! The operations behind Tollgate's own tools, so that every host offers the same tools with the same wording.
//!
//! | op | answer |
//! | --- | --- |
//! | `own-tools` | `{server, instructions, tools: [{name, title, description, schema, changes}]}` |
//! | `own-tool` `{session, tool, args?}` | `{text}`, which the model reads, and `data` if that is the text of a JSON object |

use serde_json::{Map, Value, json};

use super::{CONTEXT_CHARS, OperationFault, check_fields, intents, trace};
use crate::gate::Gate;
use crate::programs::own_tools::{self, INSTRUCTIONS, OWN_TOOLS, OwnTool, SERVER};

/// Answers one of the ops above; `None` if it is another.
pub(super) fn answer(gate: &mut Gate, op: &str, fields: &Map<String, Value>) -> Option<Result<Value, OperationFault>> {
    match op {
        "own-tools" => Some(Ok(list())),
        "own-tool" => Some(check_fields(op, &["session", "tool"], fields).and_then(|()| call(gate, fields))),
        _ => None,
    }
}

fn list() -> Value {
    let tool = |tool: &OwnTool| {
        let OwnTool { name, title, description, changes, .. } = tool;
        json!({"name": name, "title": title, "description": description, "schema": tool.schema(), "changes": changes})
    };
    json!({"server": SERVER, "instructions": INSTRUCTIONS, "tools": OWN_TOOLS.iter().map(tool).collect::<Vec<_>>()})
}

fn call(gate: &mut Gate, fields: &Map<String, Value>) -> Result<Value, OperationFault> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (session, name) = (text("session"), text("tool"));
    let Some(own) = own_tools::call(name, fields.get("args").unwrap_or(&Value::Null)) else {
        let known: Vec<&str> = OWN_TOOLS.iter().map(|tool| tool.name).collect();
        return Err(OperationFault::NotDone(format!("`{name}` is not a tool of Tollgate; use one of: {}", known.join(", "))));
    };
    let nothing = Map::new();
    let args = own.args.as_object().unwrap_or(&nothing);
    let given = own.tool.fields(args).map_err(OperationFault::NotDone)?;
    let intent = given.get("intent").and_then(Value::as_str);
    let said = |text: String| Ok(json!({"text": text}));
    let structured = |data: Value| Ok(json!({"text": format!("{data:#}"), "data": data}));
    match own.tool.name {
        own_tools::SELECT => {
            let chosen = gate.select(session, intent.unwrap_or_default())?;
            let context = gate.context(session, CONTEXT_CHARS);
            said(format!("The active intent is {} ({}, {}).\n\n{context}", chosen.id, chosen.name, chosen.status))
        }
        own_tools::CLEAR => {
            gate.clear(session)?;
            said("No intent is active now.".to_owned())
        }
        own_tools::CONTEXT => {
            let context = match intent {
                Some(intent) => gate.context_of(intent, CONTEXT_CHARS)?,
                None => gate.context(session, CONTEXT_CHARS),
            };
            if context.is_empty() {
                let remedy = "call `select_active_intent` first, or give `intent_id`";
                return Err(OperationFault::NotDone(format!("no intent is active; {remedy}")));
            }
            said(context)
        }
        own_tools::LIST => {
            let mut listed = intents::answer(gate, "list-intents", &Map::new()).transpose()?.unwrap_or_default();
            if let Some(listed) = listed.as_object_mut() {
                listed.insert("active".to_owned(), gate.current(session).map(|intent| intent.id.to_string()).into());
            }
            structured(listed)
        }
        _ => trace::answer(gate, "trace", given).unwrap_or_else(|| Ok(Value::Null)).and_then(structured),
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::Gate;
    use crate::operations::perform;
    use crate::ports::memory::Memory;

    /// Setting up a workspace changes what governs an agent, so no agent is told to do it.
    #[test]
    fn an_agent_is_not_told_to_run_what_only_a_person_may_run() {
        let mut gate = Gate::new(Memory::new().ports());
        let answer = perform(&mut gate, br#"{"op": "own-tool", "session": "s", "tool": "list_intents"}"#);
        assert!(answer.contains("a person can set it up with `tollgate init`"), "{answer}");
    }
}

//! The gate's own tools, whatever a host puts before their names.

use serde_json::Value;
use tollgate::{Error, Tollgate};

/// What hosts put before the name of a tool of the server `tollgate`; Cursor does not name the server.
const PREFIXES: [&str; 9] =
    ["", "mcp__tollgate__", "mcp_tollgate_", "tollgate__", "tollgate_", "tollgate-", "tollgate.", "tollgate/", "MCP:"];

const NAMES: [&str; 2] = ["select_active_intent", "clear_active_intent"];

/// A call of one of them.
pub(super) struct Own<'a> {
    pub(super) name: &'static str,
    args: &'a Value,
}

/// Whether a call is one.
pub(super) fn own<'a>(tool: &str, args: &'a Value) -> Option<Own<'a>> {
    // One tool of Roo Code's passes all calls on to servers.
    if tool == "use_mcp_tool" && args.get("server_name").and_then(Value::as_str) == Some("tollgate") {
        let called = args.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let name = NAMES.into_iter().find(|name| *name == called)?;
        return Some(Own { name, args: args.get("arguments").unwrap_or(&Value::Null) });
    }
    let name = NAMES.into_iter().find(|name| tool.strip_suffix(name).is_some_and(|before| PREFIXES.contains(&before)))?;
    Some(Own { name, args })
}

impl Own<'_> {
    /// Does for the session what the tool is called for.
    pub(super) fn perform(&self, gate: &mut Tollgate, session: &str) -> Result<(), Error> {
        if self.name == "clear_active_intent" {
            return gate.clear_intent(session);
        }
        // Without one the refusal lists those there are.
        let parsed = self.args.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let args = parsed.as_ref().unwrap_or(self.args);
        let intent = ["intent_id", "intentId", "intent", "id"].iter().find_map(|name| args.get(*name)?.as_str());
        gate.select_intent(session, intent.unwrap_or_default()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names() {
        for (tool, found) in [
            ("select_active_intent", Some("select_active_intent")),
            ("mcp__tollgate__select_active_intent", Some("select_active_intent")),
            ("mcp_tollgate_clear_active_intent", Some("clear_active_intent")),
            ("tollgate_select_active_intent", Some("select_active_intent")),
            ("tollgate-select_active_intent", Some("select_active_intent")),
            ("MCP:select_active_intent", Some("select_active_intent")),
            ("mcp__other__select_active_intent", None),
            ("deselect_active_intent", None),
            ("Write", None),
        ] {
            assert_eq!(own(tool, &Value::Null).map(|own| own.name), found, "{tool}");
        }
        let passed = json!({"server_name": "tollgate", "tool_name": "select_active_intent", "arguments": "{}"});
        assert_eq!(own("use_mcp_tool", &passed).map(|own| own.name), Some("select_active_intent"));
        assert!(own("use_mcp_tool", &json!({"server_name": "other", "tool_name": "select_active_intent"})).is_none());
    }
}

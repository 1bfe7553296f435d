//! The gate's own tools, the same in every program, by themselves or through the gate's own MCP server.

use super::{Act, Kind, Tool};

static OWN: Tool = Tool {
    names: &["select_active_intent", "clear_active_intent", "intent_context", "recent_trace"],
    act: Act::Inert,
    args: &[
        ("intent_id", Kind::Text),
        ("intent", Kind::Text),
        ("limit", Kind::Number),
        ("path", Kind::Text),
        ("file", Kind::Text),
    ],
};

/// What programs put before the name of a tool of the server `tollgate`.
const PREFIXES: [&str; 6] = ["mcp__tollgate__", "mcp_tollgate_", "tollgate_", "tollgate:", "tollgate.", "MCP:tollgate:"];

/// The gate's own tool of that name.
pub(super) fn tool(name: &str) -> Option<&'static Tool> {
    let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    OWN.names.contains(&bare).then_some(&OWN)
}

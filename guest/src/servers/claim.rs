//! What a server says about its own tools.
//!
//! Our own MCP client asks a server for its tools when it talks to it, and the host passes the list on. The list is kept in the
//! state folder, because the process that asks is seldom the one that rules on a call.

use serde_json::{Map, Value};

use crate::json::{self, object};
use crate::ports::{Expectation, FileFault, Ports};
use crate::state;

/// Maximum number of a server's tools that are remembered.
const MAX_TOOLS: usize = 1_000;

/// Maximum length of a name; longer ones are left out.
const MAX_NAME: usize = 256;

const READ_ONLY: &str = "readOnlyHint";
const DESTRUCTIVE: &str = "destructiveHint";

/// What a server says about one of its tools, in the annotations of the Model Context Protocol. It is unverified and counts only if
/// a person trusts the server. What a person says is a [`Permission`](super::Permission).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claim {
    /// `readOnlyHint`: whether the tool leaves everything as it is.
    pub read_only: Option<bool>,
    /// `destructiveHint`: whether it may destroy something. The protocol assumes that it may if nothing is said; here only what
    /// the server itself says counts.
    pub destructive: Option<bool>,
}

impl Claim {
    /// Reads the annotations of a tool.
    fn of_annotations(annotations: &Value) -> Self {
        let hint = |name: &str| annotations.get(name)?.as_bool();
        Self { read_only: hint(READ_ONLY), destructive: hint(DESTRUCTIVE) }
    }

    /// The annotations that say the same.
    fn annotations(self) -> Value {
        let hints = [(READ_ONLY, self.read_only), (DESTRUCTIVE, self.destructive)];
        let said = hints.into_iter().filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())));
        Value::Object(said.collect())
    }

    /// Whether the tool is said to do nothing but read.
    pub fn reads(self) -> bool {
        self.read_only == Some(true) && !self.destroys()
    }

    /// Whether the tool is said to destroy something.
    pub fn destroys(self) -> bool {
        self.destructive == Some(true)
    }
}

/// Stores what a server says about its tools: a list as the protocol's `tools/list` answers it. It replaces what the server said
/// before. Returns how many tools there are.
pub fn keep(server: &str, tools: &[Value], ports: &Ports) -> Result<usize, FileFault> {
    let mut claims = Map::new();
    for tool in tools.iter().take(MAX_TOOLS) {
        let claim = tool.get("annotations").map(Claim::of_annotations).unwrap_or_default();
        if let Some(name) = json::text(tool, "name").filter(|name| name.len() <= MAX_NAME) {
            claims.insert(name.to_owned(), claim.annotations());
        }
    }
    let count = claims.len();
    let text = object(&mut [("server", server.into()), ("tools", claims.into())]).to_string();
    let path = path(server);
    if state::read(&path, state::MAX_BYTES, ports).is_ok_and(|before| before == text.as_bytes()) {
        return Ok(count);
    }
    state::replace(&path, text.as_bytes(), Expectation::Anything, ports)?;
    Ok(count)
}

/// What a server said about a tool when it was last asked.
pub(super) fn of(server: &str, tool: &str, ports: &Ports) -> Claim {
    let text = state::read(&path(server), state::MAX_BYTES, ports).unwrap_or_default();
    let kept: Value = serde_json::from_slice(&text).unwrap_or_default();
    let claim = kept.get("tools").and_then(|tools| tools.get(tool)).filter(|_| json::text(&kept, "server") == Some(server));
    claim.map(Claim::of_annotations).unwrap_or_default()
}

fn path(server: &str) -> String {
    state::path("servers", &[server])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;
    use serde_json::json;

    #[test]
    fn a_list_replaces_the_one_before() {
        let world = Memory::new();
        let ports = world.ports();
        let tools = [
            json!({"name": "look", "annotations": {"readOnlyHint": true, "title": "Look"}}),
            json!({"name": "drop", "annotations": {"readOnlyHint": false, "destructiveHint": true}}),
            json!({"name": "plain", "inputSchema": {}}),
            json!({"name": "odd", "annotations": {"readOnlyHint": "true"}}),
            json!({"annotations": {"readOnlyHint": true}}),
        ];
        assert_eq!(keep("s", &tools, &ports), Ok(4));
        assert!(of("s", "look", &ports).reads());
        assert!(of("s", "drop", &ports).destroys());
        for (server, tool) in [("s", "plain"), ("s", "odd"), ("s", "none"), ("t", "look")] {
            assert_eq!(of(server, tool, &ports), Claim::default(), "{server} {tool}");
        }
        assert_eq!(keep("s", &[], &ports), Ok(0));
        assert_eq!(of("s", "look", &ports), Claim::default());
    }

    #[test]
    fn claiming_both_hints_counts_as_destructive() {
        let both = Claim { read_only: Some(true), destructive: Some(true) };
        assert!(!both.reads() && both.destroys());
    }
}

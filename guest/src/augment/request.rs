//! Requests to sources outside the gate.

use serde_json::Value;

use crate::json::object;

/// A program that the host runs for the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The variables it inherits.
    pub inherit: Vec<String>,
    /// The variables it is given.
    pub set: Vec<(String, String)>,
    /// Whether it is to run confined. The gate writes that into `argv`, so hosts do not need to know.
    pub confine: bool,
}

/// A request to a source outside the gate.
#[derive(Debug, Clone, PartialEq)]
pub enum LookupRequest {
    /// Run a program; what it prints is the answer.
    Run(Program),
    /// Call a tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
        /// The tool's arguments.
        arguments: Value,
        /// How the server is started; `None` if only the embedder can know it.
        start: Option<Program>,
    },
    /// Call the function that the embedder provided under the source's name.
    Function {
        /// The source.
        name: String,
        /// What to ask about.
        concept: String,
    },
}

impl LookupRequest {
    /// The request as JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Run(Program { argv, inherit, .. }) => {
                let inherit = inherit.clone().into();
                object(&mut [("run", object(&mut [("argv", argv.clone().into()), ("stdin", Value::Null), ("inherit", inherit)]))])
            }
            Self::Mcp { server, tool, arguments, start } => {
                let start = start.as_ref().map(Program::to_json).unwrap_or_default();
                let [server, tool] = [server, tool].map(|name| Value::from(name.as_str()));
                let arguments = arguments.clone();
                let asked = [("server", server), ("tool", tool), ("arguments", arguments), ("start", start)];
                object(&mut [("mcp", object(&mut { asked }))])
            }
            Self::Function { name, concept } => {
                let [name, concept] = [name, concept].map(|text| Value::from(text.as_str()));
                object(&mut [("function", object(&mut [("name", name), ("concept", concept)]))])
            }
        }
    }
}

impl Program {
    fn to_json(&self) -> Value {
        let set: serde_json::Map<_, _> = self.set.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let env = if set.is_empty() { Value::Null } else { Value::Object(set) };
        object(&mut [("argv", self.argv.clone().into()), ("env", env), ("inherit", self.inherit.clone().into())])
    }
}

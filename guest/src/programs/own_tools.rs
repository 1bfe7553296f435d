//! Tollgate's own tools, the same in every program: called directly, or through Tollgate's MCP server with whatever prefix a
//! program puts before their names.

use serde_json::{Map, Value, json};

use super::{Act, ArgumentMeaning, PROGRAMS, Tool, table};

/// The name of Tollgate's MCP server.
pub const SERVER: &str = "tollgate";

/// The tool that selects an intent, and the argument that names the intent.
pub const SELECT: &str = "select_active_intent";
/// See [`SELECT`].
pub const INTENT_ID: &str = "intent_id";
/// The tool that deselects the session's intent.
pub const CLEAR: &str = "clear_active_intent";
/// The tool that lists the intents.
pub const LIST: &str = "list_intents";
/// The tool that describes what an intent owns and requires.
pub const CONTEXT: &str = "intent_context";

/// The instructions that an MCP server with these tools gives to a model.
pub const INSTRUCTIONS: &str = "Every change in this workspace belongs to an intent. Call list_intents, then \
    select_active_intent before you change files; intent_context says what the intent owns and requires.";

/// The most ledger entries in the answer to one call.
pub const MAX_ENTRIES: u64 = 100;

/// One of Tollgate's own tools.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnTool {
    /// Its name, without any prefix.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its description for a model.
    pub description: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Whether it changes something.
    pub changes: bool,
}

/// An argument of an own tool.
#[derive(Debug, PartialEq, Eq)]
pub struct Argument {
    /// The name of the argument.
    pub name: &'static str,
    /// Other names that models use for it.
    pub aliases: &'static [&'static str],
    /// The corresponding field of the gate's operation.
    pub field: &'static str,
    /// Its description for a model.
    pub description: &'static str,
    /// The kind of its value.
    pub holds: ArgumentKind,
    /// Whether the tool needs it.
    pub required: bool,
}

/// The kind of value of an own tool's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A text that is not empty.
    Text,
    /// A whole number from 1 to [`MAX_ENTRIES`].
    Count,
}

/// Every own tool.
pub static OWN_TOOLS: &[OwnTool] = &[
    OwnTool {
        name: SELECT,
        title: "Select the active intent",
        description: "Selects the intent that the following work is for, and returns what it owns and requires. Call it \
            before any tool that changes files: only files in the intent's scope can be changed. Selecting another one replaces it.",
        arguments: &[Argument {
            name: INTENT_ID,
            aliases: &["intentId", "intent", "id"],
            field: "intent",
            description: "The id of an open intent, such as INT-001; list_intents shows them.",
            holds: ArgumentKind::Text,
            required: true,
        }],
        changes: true,
    },
    OwnTool {
        name: CLEAR,
        title: "Clear the active intent",
        description: "Clears the active intent. Nothing can be changed until another one is selected.",
        arguments: &[],
        changes: true,
    },
    OwnTool {
        name: LIST,
        title: "List the intents",
        description: "Lists the intents of this workspace with their status, scope, constraints and acceptance criteria, and \
            the one that is active.",
        arguments: &[],
        changes: false,
    },
    OwnTool {
        name: CONTEXT,
        title: "Show an intent's context",
        description: "Shows what an intent owns and requires, its files and its latest changes.",
        arguments: &[Argument {
            name: INTENT_ID,
            aliases: &["intentId", "intent", "id"],
            field: "intent",
            description: "The id of an intent; without it, the active one.",
            holds: ArgumentKind::Text,
            required: false,
        }],
        changes: false,
    },
    OwnTool {
        name: "recent_trace",
        title: "Show recent changes",
        description: "Shows the latest changes, oldest first: which files, for which intent.",
        arguments: &[
            Argument {
                name: "limit",
                aliases: &[],
                field: "limit",
                description: "At most this many entries; the default is 20.",
                holds: ArgumentKind::Count,
                required: false,
            },
            Argument {
                name: "file",
                aliases: &["path"],
                field: "file",
                description: "Only changes to this file, relative to the workspace.",
                holds: ArgumentKind::Text,
                required: false,
            },
        ],
        changes: false,
    },
];

/// The same tools in the form of a program's tool: none of them touches a file of the work.
static RECORD: Tool = Tool {
    names: &["select_active_intent", "clear_active_intent", "list_intents", "intent_context", "recent_trace"],
    act: Act::Inert,
    args: &[
        ("intent_id", ArgumentMeaning::Text),
        ("intentId", ArgumentMeaning::Text),
        ("intent", ArgumentMeaning::Text),
        ("id", ArgumentMeaning::Text),
        ("limit", ArgumentMeaning::Number),
        ("file", ArgumentMeaning::Text),
        ("path", ArgumentMeaning::Text),
    ],
};

/// A call of an own tool.
#[derive(Debug)]
pub struct OwnCall {
    /// The tool.
    pub tool: &'static OwnTool,
    /// The arguments.
    pub args: Value,
}

/// The own tool with this name, without a prefix.
pub fn find(name: &str) -> Option<&'static OwnTool> {
    OWN_TOOLS.iter().find(|tool| tool.name == name)
}

/// The own tool with this name, with any prefix that a program puts before it.
pub fn recognize(name: &str) -> Option<&'static OwnTool> {
    let prefixed = || {
        let spellings = PROGRAMS.iter().flat_map(|program| program.mcp_prefixes);
        spellings.filter_map(|spelling| tool_of_server(spelling, name)).find_map(find)
    };
    // Most names are those of other tools, and there are many spellings.
    let may_be_own = OWN_TOOLS.iter().any(|tool| name.ends_with(tool.name));
    find(name).or_else(|| may_be_own.then(prefixed).flatten())
}

/// A call of an own tool, made under its own name, with a prefix, or through a program's tool for all servers; `None` for other
/// calls.
pub fn call(tool: &str, args: &Value) -> Option<OwnCall> {
    if let Some(tool) = recognize(tool) {
        return Some(OwnCall { tool, args: unpack(args) });
    }
    let passes = table::tools(None, tool).into_iter().filter(|tool| tool.act == Act::CallsServer);
    passes.into_iter().find_map(|passes| {
        let text = |kind| passes.arguments(kind).find_map(|name| args.get(name)?.as_str());
        let tool = find(text(ArgumentMeaning::ServerTool).filter(|_| text(ArgumentMeaning::Server) == Some(SERVER))?)?;
        let given = passes.arguments(ArgumentMeaning::ServerArguments).find_map(|name| args.get(name));
        Some(OwnCall { tool, args: given.map(unpack).unwrap_or_default() })
    })
}

/// The record of an own tool, for code that analyses calls.
pub(super) fn record(name: &str) -> Option<&'static Tool> {
    recognize(name).map(|_| &RECORD)
}

/// Extracts the tool's own name from a name spelled according to `spelling`, if the server is Tollgate's. If a program's spelling
/// does not include the server, the name alone has to decide.
fn tool_of_server<'a>(spelling: &str, name: &'a str) -> Option<&'a str> {
    let before_tool = spelling.strip_suffix("TOOL")?;
    match before_tool.split_once("SERVER") {
        Some((before, between)) => name.strip_prefix(before)?.strip_prefix(SERVER)?.strip_prefix(between),
        None => name.strip_prefix(before_tool),
    }
}

/// Parses arguments that were given as the text of a JSON object.
fn unpack(args: &Value) -> Value {
    let parsed = args.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    parsed.unwrap_or_else(|| args.clone())
}

impl OwnCall {
    /// The text of an argument, under any of its names.
    pub fn text(&self, argument: &str) -> Option<&str> {
        let argument = self.tool.arguments.iter().find(|known| known.name == argument)?;
        let mut names = std::iter::once(&argument.name).chain(argument.aliases);
        names.find_map(|name| self.args.get(*name)?.as_str())
    }
}

impl OwnTool {
    /// The JSON Schema of its arguments.
    pub fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.arguments.iter().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
        let required: Vec<&str> =
            self.arguments.iter().filter(|argument| argument.required).map(|argument| argument.name).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    /// The fields of the gate's operation, or what is wrong with the arguments.
    pub fn fields(&self, arguments: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut fields = Map::new();
        for (name, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
            let is_meant = |argument: &&Argument| argument.name == name || argument.aliases.contains(&name.as_str());
            let Some(argument) = self.arguments.iter().find(is_meant) else {
                let known: Vec<&str> = self.arguments.iter().map(|argument| argument.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { format!("`{}`", known.join("`, `")) };
                return Err(format!("`{}` has no argument `{name}`; it takes: {known}", self.name));
            };
            if let Some(expected) = argument.holds.rejects(value) {
                return Err(format!("`{name}` of `{}` cannot be {value}; give {expected}", self.name));
            }
            fields.insert(argument.field.to_owned(), value.clone());
        }
        match self.arguments.iter().find(|argument| argument.required && !fields.contains_key(argument.field)) {
            Some(missing) => Err(format!("`{}` needs `{}`: {}", self.name, missing.name, missing.description)),
            None => Ok(fields),
        }
    }
}

impl Argument {
    fn schema(&self) -> Value {
        match self.holds {
            ArgumentKind::Text => json!({"type": "string", "minLength": 1, "description": self.description}),
            ArgumentKind::Count => {
                json!({"type": "integer", "minimum": 1, "maximum": MAX_ENTRIES, "description": self.description})
            }
        }
    }
}

impl ArgumentKind {
    /// What is expected instead of a value; `None` if the value is valid.
    fn rejects(self, value: &Value) -> Option<String> {
        match self {
            Self::Text if value.as_str().is_some_and(|text| !text.is_empty()) => None,
            Self::Text => Some("a non-empty string".to_owned()),
            Self::Count if value.as_u64().is_some_and(|count| (1..=MAX_ENTRIES).contains(&count)) => None,
            Self::Count => Some(format!("a whole number from 1 to {MAX_ENTRIES}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (tool, found) in [
            ("select_active_intent", Some("select_active_intent")),
            ("mcp__tollgate__select_active_intent", Some("select_active_intent")),
            ("mcp_tollgate_clear_active_intent", Some("clear_active_intent")),
            ("tollgate_select_active_intent", Some("select_active_intent")),
            ("tollgate__list_intents", Some("list_intents")),
            ("tollgate.recent_trace", Some("recent_trace")),
            ("tollgate/recent_trace", Some("recent_trace")),
            ("tollgate:recent_trace", Some("recent_trace")),
            ("tollgate-intent_context", Some("intent_context")),
            ("mcp--tollgate--intent_context", Some("intent_context")),
            ("MCP:select_active_intent", Some("select_active_intent")),
            ("MCP:tollgate:select_active_intent", Some("select_active_intent")),
            ("mcp__other__select_active_intent", None),
            ("mcp__tollgate__evil__select_active_intent", None),
            ("tollgate_evil_select_active_intent", None),
            ("deselect_active_intent", None),
            ("Write", None),
            ("", None),
        ] {
            assert_eq!(recognize(tool).map(|tool| tool.name), found, "{tool}");
        }
    }

    #[test]
    fn calls() {
        for (tool, args, expected) in [
            ("select_active_intent", json!({"intent_id": "A"}), Some("A")),
            ("select_active_intent", json!({"id": "A"}), Some("A")),
            ("select_active_intent", json!("{\"intentId\": \"A\"}"), Some("A")),
            ("select_active_intent", json!({"intent_id": 1}), None),
            (
                "use_mcp_tool",
                json!({"server_name": "tollgate", "tool_name": "select_active_intent", "arguments": "{\"intent_id\": \"A\"}"}),
                Some("A"),
            ),
            (
                "CallMcpTool",
                json!({"server": "tollgate", "toolName": "select_active_intent", "arguments": {"intent": "A"}}),
                Some("A"),
            ),
        ] {
            let call = call(tool, &args).unwrap();
            assert_eq!((call.tool.name, call.text("intent_id")), ("select_active_intent", expected), "{tool} {args}");
        }
        for (tool, args) in [
            ("use_mcp_tool", json!({"server_name": "other", "tool_name": "select_active_intent"})),
            ("use_mcp_tool", json!({"server_name": "tollgate", "tool_name": "write"})),
            ("use_mcp_tool", json!(null)),
            ("Write", json!({})),
        ] {
            assert!(call(tool, &args).is_none(), "{tool} {args}");
        }
    }

    #[test]
    fn the_record_is_that_of_the_tools() {
        let names: Vec<&str> = OWN_TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(RECORD.names, names);
        for argument in OWN_TOOLS.iter().flat_map(|tool| tool.arguments) {
            for name in std::iter::once(&argument.name).chain(argument.aliases) {
                assert!(RECORD.meaning_of(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn arguments() {
        let trace = find("recent_trace").unwrap();
        assert_eq!(trace.schema()["properties"]["limit"]["maximum"], 100);
        for (tool, args, expected) in [
            ("recent_trace", json!({"limit": 5, "path": "a"}), Ok(json!({"limit": 5, "file": "a"}))),
            ("recent_trace", json!({"limit": null}), Ok(json!({}))),
            ("recent_trace", json!({"limit": 101}), Err("a whole number from 1 to 100")),
            ("recent_trace", json!({"files": "a"}), Err("it takes: `limit`, `file`")),
            ("list_intents", json!({"x": 1}), Err("it takes: none")),
            ("select_active_intent", json!({}), Err("`select_active_intent` needs `intent_id`")),
            ("select_active_intent", json!({"intent_id": ""}), Err("a non-empty string")),
        ] {
            let fields = find(tool).unwrap().fields(args.as_object().unwrap()).map(Value::Object);
            match expected {
                Ok(expected) => assert_eq!(fields, Ok(expected), "{tool} {args}"),
                Err(expected) => assert!(fields.clone().unwrap_err().contains(expected), "{fields:?}"),
            }
        }
    }
}

//! A tool of an MCP server, in our own form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::schema::Schema;
use crate::json::object;

/// Maximum length of a tool's name.
const MAX_NAME: usize = 128;

/// The keys under which a tool's metadata says where it comes from.
const META: [&str; 2] = ["tollgate/server", "tollgate/tool"];

/// The key under which structured content holds what the model is told alongside an answer: some programs show it nothing else.
pub(super) const NOTES: &str = "_tollgate";

/// One tool of a server that is connected.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The server.
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// What it does, for the model.
    pub description: String,
    /// The schema of its arguments.
    pub input: Schema,
    /// The schema of its structured content, if it has one.
    pub output: Option<Schema>,
    /// Everything else that the server says about it, unchanged: title, annotations, icons, metadata.
    rest: Map<String, Value>,
}

impl McpTool {
    /// Reads one entry of a `tools/list`, or says what is wrong with it.
    pub fn read(server: &str, text: &str) -> Result<Self, String> {
        let listed = serde_json::from_slice(text.as_bytes()).map_err(|why| format!("a tool cannot be read: {why}"))?;
        let Value::Object(mut rest) = listed else { return Err("a tool is not an object".to_owned()) };
        let name = match rest.shift_remove("name") {
            Some(Value::String(name)) if is_name(&name) => name,
            Some(Value::String(name)) => {
                let shown: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
                return Err(format!("a tool has an invalid name: `{shown}`"));
            }
            _ => return Err("a tool has no name".to_owned()),
        };
        let schema = |word: &str, written: &Value| {
            Schema::read(written).map_err(|fault| format!("the tool `{name}` is left out: in its `{word}`, {fault}"))
        };
        let Some(written) = rest.shift_remove("inputSchema") else {
            return Err(format!("the tool `{name}` is left out: it has no `inputSchema`"));
        };
        let input = schema("inputSchema", &written)?;
        let output = rest.shift_remove("outputSchema").map(|written| schema("outputSchema", &written)).transpose()?;
        let description = match rest.shift_remove("description") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        Ok(Self { server: server.to_owned(), tool: name, description, input, output, rest })
    }

    /// The tool as an entry of `tools/list`, under another name.
    pub fn to_mcp(&self, name: &str) -> Value {
        let mut told = Map::from_iter([("name".to_owned(), Value::from(name))]);
        if !self.description.is_empty() {
            told.insert("description".to_owned(), self.description.as_str().into());
        }
        told.insert("inputSchema".to_owned(), self.input.to_json_schema());
        told.extend(self.output.as_ref().map(|output| ("outputSchema".to_owned(), output.to_json_schema())));
        told.extend(self.rest.clone());
        let meta = told.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        if let Some(meta) = meta.as_object_mut() {
            let [server, tool] = META;
            meta.insert(server.to_owned(), self.server.as_str().into());
            meta.insert(tool.to_owned(), self.tool.as_str().into());
        }
        Value::Object(told)
    }

    /// The same for a client of ours, whose answers may have [`NOTES`] in them.
    pub(super) fn to_client_json(&self, name: &str) -> Value {
        let mut offered = self.to_mcp(name);
        if let Some(output) = offered.get_mut("outputSchema").and_then(Value::as_object_mut)
            && let Some(properties) = output.entry("properties").or_insert_with(|| Value::Object(Map::new())).as_object_mut()
        {
            let notes = [("type", "string".into()), ("description", "What Tollgate adds to the answer".into())];
            properties.entry(NOTES).or_insert_with(|| object(&mut { notes }));
        }
        offered
    }

    /// The tool in our own form, under a name.
    pub fn to_json(&self, name: &str) -> Value {
        let other = |key: &str| self.rest.get(key).cloned().unwrap_or_default();
        object(&mut [
            ("name", name.into()),
            ("server", self.server.as_str().into()),
            ("tool", self.tool.as_str().into()),
            ("title", other("title")),
            ("description", self.description.as_str().into()),
            ("parameters", self.input.parameters()),
            ("output", self.output.as_ref().map(Schema::parameters).unwrap_or_default()),
            ("annotations", other("annotations")),
            ("schema", self.input.to_json_schema()),
        ])
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && !name.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// The names under which tools are offered: their own, or `SERVER__TOOL` if several have that name or it is reserved.
pub(super) fn names<'t>(tools: impl Iterator<Item = &'t McpTool> + Clone, reserved: &[&str]) -> Vec<String> {
    let mut bearers: BTreeMap<&str, usize> = reserved.iter().map(|name| (*name, 1)).collect();
    for tool in tools.clone() {
        *bearers.entry(&tool.tool).or_default() += 1;
    }
    let (mut names, mut taken) = (Vec::new(), BTreeSet::new());
    for tool in tools {
        let is_alone = bearers.get(tool.tool.as_str()) == Some(&1);
        let mut name = if is_alone { tool.tool.clone() } else { qualified_name(&tool.server, &tool.tool) };
        // Another tool may happen to have exactly that name.
        while reserved.contains(&name.as_str()) || !taken.insert(name.clone()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// The name of a tool with its server's name in front. Programs accept letters, digits, `_` and `-` in names of tools.
pub(super) fn qualified_name(server: &str, tool: &str) -> String {
    let server: String = server.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("{server}__{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(server: &str, name: &str) -> McpTool {
        McpTool::read(server, &json!({"name": name, "inputSchema": {"type": "object"}}).to_string()).unwrap()
    }

    #[test]
    fn a_tool_is_passed_on_as_it_is() {
        let listed = json!({
            "name": "echo", "title": "Echo", "description": "Says it again", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"m": {"type": "string"}}}, "outputSchema": {"type": "object"},
            "_meta": {"a": 1}, "icons": [{"src": "x"}],
        });
        let tool = McpTool::read("s", &listed.to_string()).unwrap();
        let mut expected = listed.clone();
        expected["_meta"] = json!({"a": 1, "tollgate/server": "s", "tollgate/tool": "echo"});
        assert_eq!(tool.to_mcp("echo"), expected);
        let output = &tool.to_client_json("echo")["outputSchema"];
        assert_eq!((&output["type"], &output["properties"][NOTES]["type"]), (&json!("object"), &json!("string")));
        let own = tool.to_json("s__echo");
        assert_eq!([&own["name"], &own["server"], &own["tool"]], ["s__echo", "s", "echo"]);
        assert_eq!(own["parameters"], json!([{"name": "m", "type": "string", "required": false}]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let schema = json!({"type": "object"});
        let deep = format!("{{\"name\":\"x\",\"inputSchema\":{}{}}}", "{\"a\":".repeat(200), "1".to_owned() + &"}".repeat(200));
        for (listed, said) in [
            ("3".to_owned(), "is not an object"),
            ("{".to_owned(), "cannot be read"),
            (deep, "cannot be read"),
            (json!({"inputSchema": schema}).to_string(), "has no name"),
            (json!({"name": "a\u{7}b", "inputSchema": schema}).to_string(), "has an invalid name: `ab`"),
            (json!({"name": "x"}).to_string(), "the tool `x` is left out: it has no `inputSchema`"),
            (json!({"name": "x", "inputSchema": {"type": "list"}}).to_string(), "in its `inputSchema`, `type` must be"),
            (json!({"name": "x", "inputSchema": schema, "outputSchema": 1}).to_string(), "in its `outputSchema`"),
        ] {
            let why = McpTool::read("s", &listed).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn clashes_are_named_by_server() {
        let tools = [tool("a", "x"), tool("b.c", "x"), tool("b_c", "x"), tool("a", "y"), tool("a", "own"), tool("z", "a__x")];
        assert_eq!(names(tools.iter(), &["own"]), ["a__x", "b_c__x", "b_c__x_", "y", "a__own", "a__x_"]);
    }
}

//! The outcome of calling an MCP server's tool.

use serde_json::{Map, Value};

use super::schema::Schema;
use super::tool::NOTES;
use crate::json::{self, object};

/// Maximum number of characters passed on of what a server says about a fault.
const MAX_WORDS: usize = 2_000;

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The blocks of its content, as the server sent them.
    pub content: Vec<Value>,
    /// Its structured content, for programs.
    pub structured: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// Everything else.
    rest: Map<String, Value>,
}

impl ToolResult {
    /// Reads the result of `tools/call`.
    pub fn read(text: &str) -> Result<Self, ServerFault> {
        let wrong = |why: &str| ServerFault::Unreadable(why.to_owned());
        let read = serde_json::from_slice(text.as_bytes()).map_err(|why| ServerFault::Unreadable(why.to_string()))?;
        let Value::Object(mut rest) = read else { return Err(wrong("it is not an object")) };
        let content = match rest.shift_remove("content") {
            Some(Value::Array(content)) => content,
            None | Some(Value::Null) => Vec::new(),
            Some(_) => return Err(wrong("its `content` is not a list")),
        };
        let structured = rest.shift_remove("structuredContent").filter(|value| !value.is_null());
        let is_error = rest.shift_remove("isError") == Some(Value::Bool(true));
        Ok(Self { content, structured, is_error, rest })
    }

    /// A result of our own.
    pub fn of_text(text: &str, is_error: bool) -> Self {
        let mut answer = Self { is_error, ..Self::default() };
        answer.append_text(text);
        answer
    }

    /// Adds something for the model to read.
    pub fn append_text(&mut self, text: &str) {
        self.content.push(object(&mut [("type", "text".into()), ("text", text.into())]));
    }

    /// Adds what the model should read alongside the answer: as texts, and in the structured content, because some programs show
    /// the model nothing else.
    pub(super) fn append_notes(&mut self, notes: &[String]) {
        notes.iter().for_each(|note| self.append_text(note));
        if let Some(Value::Object(structured)) = self.structured.as_mut().filter(|_| !notes.is_empty()) {
            structured.insert(NOTES.to_owned(), notes.join("\n\n").into());
        }
    }

    /// What is wrong with the structured content, according to the tool's output schema.
    pub fn schema_mismatch(&self, output: &Schema) -> Option<String> {
        match &self.structured {
            Some(structured) => output.misfit(structured),
            None if self.is_error => None,
            None => Some("there is none".to_owned()),
        }
    }

    /// The result as `tools/call` gives it.
    pub fn to_mcp(&self) -> Value {
        let mut told = Map::from_iter([("content".to_owned(), Value::from(self.content.clone()))]);
        told.extend(self.structured.clone().map(|structured| ("structuredContent".to_owned(), structured)));
        if self.is_error {
            told.insert("isError".to_owned(), true.into());
        }
        told.extend(self.rest.clone());
        Value::Object(told)
    }

    /// The result in our own form.
    pub fn to_json(&self) -> Value {
        object(&mut [
            ("success", (!self.is_error).into()),
            ("text", self.text().into()),
            ("parts", self.content.iter().map(part).collect()),
            ("structured", self.structured.clone().unwrap_or_default()),
        ])
    }

    /// All of it as text, for clients that read nothing else.
    pub fn text(&self) -> String {
        let said: Vec<String> = self.content.iter().map(words_of).collect();
        match &self.structured {
            Some(structured) if said.is_empty() => format!("{structured:#}"),
            _ => said.join("\n"),
        }
    }
}

/// One block of content in our own form; an unknown block is kept as it is.
fn part(block: &Value) -> Value {
    let of = |source: &Value, key: &str| source.get(key).cloned().unwrap_or_default();
    let resource = block.get("resource").unwrap_or(&Value::Null);
    let kind = json::text(block, "type").unwrap_or_default();
    match kind {
        "text" => object(&mut [("type", kind.into()), ("text", of(block, "text"))]),
        "image" | "audio" => object(&mut [("type", kind.into()), ("mime", of(block, "mimeType")), ("data", of(block, "data"))]),
        "resource" => object(&mut [
            ("type", kind.into()),
            ("uri", of(resource, "uri")),
            ("mime", of(resource, "mimeType")),
            ("text", of(resource, "text")),
            ("data", of(resource, "blob")),
        ]),
        "resource_link" => object(&mut [
            ("type", "link".into()),
            ("uri", of(block, "uri")),
            ("name", of(block, "name")),
            ("description", of(block, "description")),
            ("mime", of(block, "mimeType")),
        ]),
        _ => object(&mut [("type", "other".into()), ("verbatim", block.clone())]),
    }
}

fn words_of(block: &Value) -> String {
    let text = |source: &Value, key: &str| json::text(source, key).unwrap_or_default().to_owned();
    // Base64 has four characters for three bytes.
    let bytes = |data: &str| data.trim_end_matches('=').len() * 3 / 4;
    match json::text(block, "type").unwrap_or_default() {
        "text" => text(block, "text"),
        kind @ ("image" | "audio") => format!("[{kind}, {}, {} bytes]", text(block, "mimeType"), bytes(&text(block, "data"))),
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            match resource.get("text").and_then(Value::as_str) {
                Some(content) => format!("[resource {}]\n{content}", text(resource, "uri")),
                None => format!("[resource {}, {} bytes]", text(resource, "uri"), bytes(&text(resource, "blob"))),
            }
        }
        "resource_link" => format!("[resource {} {}]", text(block, "name"), text(block, "uri")),
        kind => format!("[content of the type `{}`]", kind.chars().filter(|c| !c.is_control()).take(64).collect::<String>()),
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerFault {
    /// The server answered with an error of the protocol.
    Protocol {
        /// The protocol's code.
        code: i64,
        /// The server's words.
        message: String,
    },
    /// The connection ended before the answer.
    Closed(String),
    /// It exceeded its time limit.
    Late(u32),
    /// The answer cannot be understood.
    Unreadable(String),
}

impl ServerFault {
    /// What happened, for a person or a model.
    pub fn words(&self, server: &str, tool: &str) -> String {
        let (code, message) = match self {
            Self::Protocol { code, message } => (*code, message.chars().take(MAX_WORDS).collect::<String>()),
            Self::Closed(why) => return format!("the MCP server `{server}` ended before `{tool}` had answered: {why}"),
            Self::Late(ms) => {
                let seconds = f64::from(*ms) / 1_000.0;
                return format!("`{tool}` of the MCP server `{server}` did not answer within {seconds} s and was canceled");
            }
            Self::Unreadable(why) => {
                return format!("the MCP server `{server}` answered `{tool}` with something that cannot be read: {why}");
            }
        };
        let meaning = match code {
            -32_700 => "the server could not read the request",
            -32_600 => "the server considers the request invalid",
            -32_601 => "the server does not know this request; it may have been updated, so reconnect to it",
            -32_602 => "the server does not accept these arguments, or no longer has this tool",
            -32_603 => "the server had an internal error",
            -32_001 => "the server did not answer in time",
            -32_002 => "the server cannot find what was requested",
            -32_042 => "the server wants a person to open a web page first, which cannot be done here",
            -32_800 => "the request was canceled",
            -32_099..=-32_000 => "the server reports a server-specific error",
            _ => "the server reports an error",
        };
        let said = if message.trim().is_empty() { String::new() } else { format!(": {}", message.trim()) };
        format!("`{tool}` of the MCP server `{server}` failed: {meaning}{said} (MCP error {code})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_of_content() {
        let result = json!({
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAAAA=="}},
                {"type": "resource_link", "uri": "file:///c", "name": "c"},
                {"type": "hologram", "x": 1},
            ],
            "structuredContent": {"n": 1}, "_meta": {"m": 2},
        });
        let answer = ToolResult::read(&result.to_string()).unwrap();
        assert_eq!(answer.to_mcp(), result);
        let own = answer.to_json();
        assert_eq!(own["success"], true);
        assert_eq!(own["structured"], json!({"n": 1}));
        assert_eq!(own["parts"][1], json!({"type": "image", "mime": "image/png", "data": "AAAA"}));
        assert_eq!(own["parts"][5], json!({"type": "other", "verbatim": {"type": "hologram", "x": 1}}));
        assert_eq!(
            answer.text(),
            "hi\n[image, image/png, 3 bytes]\n[resource file:///a]\ninside\n[resource file:///b, 4 bytes]\n[resource c file:///c]\n[content of the type `hologram`]"
        );
        let mut noted = answer.clone();
        noted.append_notes(&["one".to_owned(), "two".to_owned()]);
        assert_eq!(noted.to_mcp()["structuredContent"], json!({"n": 1, "_tollgate": "one\n\ntwo"}));
        assert_eq!(noted.content.last(), Some(&json!({"type": "text", "text": "two"})));
        noted.clone_from(&answer);
        noted.append_notes(&[]);
        assert_eq!(noted, answer);
        assert_eq!(ToolResult::read(r#"{"structuredContent":{"a":1}}"#).unwrap().text(), "{\n  \"a\": 1\n}");
        for wrong in ["1", "{", r#"{"content":1}"#] {
            assert!(matches!(ToolResult::read(wrong), Err(ServerFault::Unreadable(_))), "{wrong}");
        }
    }

    #[test]
    fn structured_content_is_compared_with_what_the_tool_says() {
        let output =
            Schema::read(&json!({"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]})).unwrap();
        for (result, expected) in [
            (json!({"structuredContent": {"t": 1}}), None),
            (json!({"structuredContent": {"t": "warm"}}), Some("`t` must be number, not string")),
            (json!({"content": []}), Some("there is none")),
            (json!({"isError": true}), None),
        ] {
            assert_eq!(ToolResult::read(&result.to_string()).unwrap().schema_mismatch(&output).as_deref(), expected, "{result}");
        }
    }

    #[test]
    fn codes_become_words() {
        for (fault, said) in [
            (
                ServerFault::Protocol { code: -32_602, message: "bad".to_owned() },
                "does not accept these arguments, or no longer has this tool: bad (MCP error -32602)",
            ),
            (ServerFault::Protocol { code: -32_601, message: String::new() }, "so reconnect to it (MCP error -32601)"),
            (ServerFault::Protocol { code: -32_050, message: "x".to_owned() }, "a server-specific error: x"),
            (ServerFault::Protocol { code: 7, message: "x".to_owned() }, "the server reports an error: x (MCP error 7)"),
            (ServerFault::Late(1_500), "did not answer within 1.5 s"),
            (ServerFault::Closed("it was killed".to_owned()), "ended before `t` had answered: it was killed"),
        ] {
            let words = fault.words("s", "t");
            assert!(words.contains(said) && words.contains("`s`"), "{words}");
        }
    }
}

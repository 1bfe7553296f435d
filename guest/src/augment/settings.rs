//! The workspace's settings for augmentation: `augment` in `.tollgate/config.json`.
//!
//! ```json
//! {
//!   "augment": {
//!     "sources": [
//!       "notes",
//!       {"name": "vault", "notes": "docs/wiki"},
//!       "maenifold",
//!       {"name": "wiki", "command": ["wiki", "--about", "{concept}"]},
//!       {"name": "graph", "mcp": {"server": "graph", "tool": "about", "arguments": {"name": "{concept}"}}},
//!       {"name": "mine", "function": true}
//!     ],
//!     "literal": false,
//!     "budget_chars": 8000
//!   },
//!   "mcpServers": {"graph": {"command": "graph-server", "args": ["--stdio"], "env": {"GRAPH": "main"}}}
//! }
//! ```

use serde_json::{Map, Value};

use super::programs::inherited_variables;
use super::request::{LookupRequest, Program};
use crate::json::object;

/// The folder of the built-in source.
const FOLDER: &str = ".tollgate/concepts";

/// The command of a knowledge graph.
const MAENIFOLD: &str = "maenifold";

/// The allowed range of `budget_chars`.
const BUDGET: std::ops::RangeInclusive<u64> = 500..=100_000;

/// Maximum number of sources; more are a mistake.
const MAX_SOURCES: usize = 16;

/// How concepts are looked up, and how what is known is added.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The sources, in the order in which they are asked; the first that knows a concept wins.
    pub sources: Vec<KnowledgeSource>,
    /// Whether context is also put before `content`, even if the content is written to a file.
    pub literal: bool,
    /// Maximum number of characters added to a call.
    pub budget_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let mut sources = Vec::new();
        sources.extend(KnowledgeSource::built_in("notes"));
        sources.extend(KnowledgeSource::built_in(MAENIFOLD));
        Self { sources, literal: false, budget_chars: 8_000 }
    }
}

/// A source that may know a concept.
#[derive(Debug, Clone, PartialEq)]
pub struct KnowledgeSource {
    /// The name that the model is told.
    pub name: String,
    /// What kind of source it is.
    pub kind: SourceKind,
}

/// The kinds of sources.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// A folder of notes in the workspace.
    Notes(String),
    /// A command; `{concept}` and `{payload}` in its words are replaced by what is asked.
    Command(Vec<String>),
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
        /// The tool's arguments; `{concept}` in a text is replaced by the concept.
        arguments: Map<String, Value>,
    },
    /// A function that the embedder provides under the source's name.
    Function,
}

/// The payload for [`MAENIFOLD`]: the concept, its direct neighbours with their content, and no more than five of them.
fn payload(concept: &str) -> Value {
    object(&mut [
        ("conceptName", concept.into()),
        ("depth", 1.into()),
        ("includeContent", true.into()),
        ("maxEntities", 5.into()),
    ])
}

impl KnowledgeSource {
    fn built_in(name: &str) -> Option<Self> {
        let kind = match name {
            "notes" => SourceKind::Notes(FOLDER.to_owned()),
            MAENIFOLD => SourceKind::Command([MAENIFOLD, "--tool", "buildcontext"].map(str::to_owned).to_vec()),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), kind })
    }

    /// The words of a command that the workspace's settings name; `None` if the source is of another kind, or is the built-in
    /// one.
    pub(super) fn command_of_workspace(&self) -> Option<&[String]> {
        match &self.kind {
            SourceKind::Command(words) if Self::built_in(&self.name).as_ref() != Some(self) => Some(words),
            _ => None,
        }
    }

    /// The request about a concept; `None` if the source is the gate's own. `start` is how the server of an MCP source is
    /// started.
    pub(super) fn request(&self, concept: &str, start: Option<Program>) -> Option<LookupRequest> {
        Some(match &self.kind {
            SourceKind::Notes(_) => return None,
            SourceKind::Command(words) => {
                let argv = fill_command(words, concept);
                LookupRequest::Run(Program { argv, inherit: inherited_variables(), set: Vec::new(), confine: false })
            }
            SourceKind::Mcp { server, tool, arguments } => {
                let mut given = arguments.clone();
                for value in given.values_mut() {
                    if let Value::String(text) = value {
                        *text = text.replace("{concept}", concept);
                    }
                }
                let arguments = if given.is_empty() { payload(concept) } else { Value::Object(given) };
                LookupRequest::Mcp { server: server.clone(), tool: tool.clone(), arguments, start }
            }
            SourceKind::Function => LookupRequest::Function { name: self.name.clone(), concept: concept.to_owned() },
        })
    }

    /// Interprets an answer: text, nothing known, or an error. `maenifold` exits successfully whatever it has to say.
    pub(super) fn interpret_answer<'t>(&self, text: &'t str) -> Result<Option<&'t str>, &'t str> {
        let text = text.trim();
        if matches!(&self.kind, SourceKind::Command(words) if is_maenifold(words)) {
            if text.starts_with("Error invoking") || text.starts_with("Unknown tool:") || text.starts_with("maenifold CLI") {
                return Err(text.lines().next().unwrap_or_default());
            }
            if text.contains("(0 CONCEPTS)") {
                return Ok(None);
            }
        }
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}

/// A command's words for a concept. If none of them has a placeholder, the concept becomes the last word.
fn fill_command(words: &[String], concept: &str) -> Vec<String> {
    let payload = payload(concept).to_string();
    let (mut argv, mut placed) = (Vec::new(), false);
    for word in words {
        let held = if word.contains("{payload}") { ("{payload}", payload.as_str()) } else { ("{concept}", concept) };
        let filled = word.replace(held.0, held.1);
        placed |= filled != *word;
        argv.push(filled);
    }
    match placed {
        true => {}
        false if is_maenifold(words) => argv.extend(["--payload".to_owned(), payload]),
        false => argv.push(concept.to_owned()),
    }
    argv
}

fn is_maenifold(words: &[String]) -> bool {
    let program = words.first().map_or("", |word| word.rsplit(['/', '\\']).next().unwrap_or(word));
    program.strip_suffix(".exe").unwrap_or(program) == MAENIFOLD
}

impl Settings {
    /// Reads the settings, or says what is wrong with them.
    pub fn parse(written: &Value) -> Result<Self, String> {
        let Some(written) = written.as_object() else { return Err("`augment` must be an object".to_owned()) };
        let mut settings = Self::default();
        for (key, value) in written {
            match (key.as_str(), value) {
                ("sources", Value::Array(sources)) if sources.len() <= MAX_SOURCES => {
                    settings.sources.clear();
                    for written in sources {
                        let source = source(written)?;
                        if settings.sources.iter().any(|other| other.name == source.name) {
                            return Err(format!("two sources are named `{}`; give each a unique name", source.name));
                        }
                        settings.sources.push(source);
                    }
                }
                ("literal", Value::Bool(literal)) => settings.literal = *literal,
                ("budget_chars", Value::Number(number)) if number.as_u64().is_some_and(|chars| BUDGET.contains(&chars)) => {
                    settings.budget_chars = number.as_u64().and_then(|chars| usize::try_from(chars).ok()).unwrap_or_default();
                }
                _ => {
                    return Err(format!(
                        "`augment.{key}` cannot be {value}; expected `sources` (at most {MAX_SOURCES}), `literal` (true or false) and `budget_chars` ({} to {})",
                        BUDGET.start(),
                        BUDGET.end()
                    ));
                }
            }
        }
        Ok(settings)
    }
}

fn source(written: &Value) -> Result<KnowledgeSource, String> {
    let wrong = || {
        format!(
            "the source {written} is invalid; use `\"notes\"`, `\"maenifold\"`, or {{\"name\": …}} with `notes` (a folder of the workspace), `command` (a list of words), `mcp` (with `server` and `tool`) or `function` (true)"
        )
    };
    if let Some(name) = written.as_str() {
        return KnowledgeSource::built_in(name).ok_or_else(wrong);
    }
    let name = written.get("name").and_then(Value::as_str).unwrap_or_default();
    // The name is told to the model and becomes part of an argument's name.
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.is_empty() || name.len() > 32 || !name.bytes().all(fit) {
        return Err(format!("a source cannot be named `{name}`; use at most 32 letters, digits, `_` and `-`"));
    }
    let kind = if let Some(folder) = written.get("notes") {
        folder.as_str().and_then(in_workspace).map(SourceKind::Notes)
    } else if let Some(words) = written.get("command") {
        command(words).map(SourceKind::Command)
    } else if let Some(mcp) = written.get("mcp") {
        let text = |key: &str| Some(mcp.get(key)?.as_str()?.to_owned());
        let arguments = mcp.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
        text("server").zip(text("tool")).map(|(server, tool)| SourceKind::Mcp { server, tool, arguments })
    } else {
        (written.get("function") == Some(&Value::Bool(true))).then_some(SourceKind::Function)
    };
    kind.map(|kind| KnowledgeSource { name: name.to_owned(), kind }).ok_or_else(wrong)
}

fn command(written: &Value) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for word in written.as_array()? {
        words.push(word.as_str()?.to_owned());
    }
    (!words.is_empty()).then_some(words)
}

/// Normalizes the path of a folder, if it stays in the workspace.
fn in_workspace(folder: &str) -> Option<String> {
    let names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    let strays = folder.starts_with(['/', '~']) || folder.contains(['\\', ':']) || folder.contains(char::is_control);
    (!strays && !names.contains(&"..")).then(|| if names.is_empty() { ".".to_owned() } else { names.join("/") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(written: Value) -> Result<Settings, String> {
        Settings::parse(&written)
    }

    #[test]
    fn requests() {
        let settings = parse(json!({"sources": [
            "notes",
            "maenifold",
            {"name": "vault", "notes": "./docs//wiki/"},
            {"name": "own", "command": ["/opt/maenifold.exe", "--tool", "x", "--payload={payload}"]},
            {"name": "wiki", "command": ["wiki", "--about={concept}", "-q"]},
            {"name": "man", "command": ["man"]},
            {"name": "graph", "mcp": {"server": "s", "tool": "t"}},
            {"name": "graph2", "mcp": {"server": "s", "tool": "t", "arguments": {"q": "about {concept}", "n": 3}}},
            {"name": "mine", "function": true},
        ]}))
        .unwrap();
        let payload = r#"{"conceptName":"A \"b\"","depth":1,"includeContent":true,"maxEntities":5}"#;
        let run = |argv: &[&str]| json!({"run": {"argv": argv, "stdin": null, "inherit": inherited_variables()}});
        let mcp = |arguments: Value| json!({"mcp": {"server": "s", "tool": "t", "arguments": arguments, "start": {"argv": ["x"], "env": null, "inherit": []}}});
        for (name, expected) in [
            ("notes", Value::Null),
            ("vault", Value::Null),
            ("maenifold", run(&["maenifold", "--tool", "buildcontext", "--payload", payload])),
            ("own", run(&["/opt/maenifold.exe", "--tool", "x", &format!("--payload={payload}")])),
            ("wiki", run(&["wiki", "--about=A \"b\"", "-q"])),
            ("man", run(&["man", "A \"b\""])),
            ("graph", mcp(serde_json::from_str(payload).unwrap())),
            ("graph2", mcp(json!({"q": "about A \"b\"", "n": 3}))),
            ("mine", json!({"function": {"name": "mine", "concept": "A \"b\""}})),
        ] {
            let source = settings.sources.iter().find(|source| source.name == name).unwrap();
            let start = Program { argv: vec!["x".to_owned()], inherit: Vec::new(), set: Vec::new(), confine: false };
            let request = source.request("A \"b\"", Some(start)).map(|request| request.to_json()).unwrap_or_default();
            assert_eq!(request, expected, "{name}");
        }
        assert_eq!(settings.sources[2].kind, SourceKind::Notes("docs/wiki".to_owned()));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (written, said) in [
            (json!(true), "`augment` must be"),
            (json!({"source": []}), "`augment.source`"),
            (json!({"literal": "yes"}), "`augment.literal`"),
            (json!({"budget_chars": 3}), "`augment.budget_chars` cannot be 3"),
            (json!({"sources": ["nobody"]}), "the source \"nobody\""),
            (json!({"sources": [{"notes": "docs"}]}), "cannot be named ``"),
            (json!({"sources": [{"name": "a b", "notes": "docs"}]}), "cannot be named `a b`"),
            (json!({"sources": [{"name": "a", "notes": "../docs"}]}), "a folder of the workspace"),
            (json!({"sources": [{"name": "a", "notes": "/etc"}]}), "a folder of the workspace"),
            (json!({"sources": [{"name": "a", "command": []}]}), "a list of words"),
            (json!({"sources": [{"name": "a", "command": ["x", 1]}]}), "a list of words"),
            (json!({"sources": [{"name": "a", "mcp": {"server": "s"}}]}), "with `server` and `tool`"),
            (json!({"sources": [{"name": "a", "function": false}]}), "`function` (true)"),
            (json!({"sources": ["notes", {"name": "notes", "function": true}]}), "two sources are named `notes`"),
        ] {
            let fault = parse(written.clone()).unwrap_err();
            assert!(fault.contains(said), "{written}: {fault}");
        }
        assert_eq!(parse(json!({"sources": [], "budget_chars": 500})).unwrap().budget_chars, 500);
    }

    #[test]
    fn maenifold_says_nothing_in_many_words() {
        let maenifold = KnowledgeSource::built_in(MAENIFOLD).unwrap();
        assert_eq!(maenifold.interpret_answer("Context for CONCEPT: x\n\nDirect relations (0 CONCEPTS):\n"), Ok(None));
        assert_eq!(maenifold.interpret_answer("Error invoking buildcontext: no\nmore"), Err("Error invoking buildcontext: no"));
        assert_eq!(
            maenifold.interpret_answer(" Direct relations (2 CONCEPTS): …\n"),
            Ok(Some("Direct relations (2 CONCEPTS): …"))
        );
        assert_eq!(
            KnowledgeSource { kind: SourceKind::Function, ..maenifold }.interpret_answer("(0 CONCEPTS)"),
            Ok(Some("(0 CONCEPTS)"))
        );
    }
}

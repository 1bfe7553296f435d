//! OpenCode 1.18 and Kilo, by the schemas of its tools.
//!
//! Its hooks are functions of a plugin; for a plugin in another language, this is one call of them as JSON. In:
//! `{"hook", "input", "output"}` as the function gets them, and `directory` as the plugin got it. Out: `{"throw": message}`
//! for what the function should throw, else `{"output": …}` with the fields to set in `output`, in place. There is no *ask*, so
//! it becomes a block. OpenCode looks at its own permissions when the tool runs, whatever its arguments are by then.

use serde_json::{Map, Value, json};

use super::Act::{Inert, Opaque, Patches, Reads, Shell, Writes};
use super::Kind::{Command, Flag, Folder, List, Number, Patch, Path, Text};
use super::payload::{self, first};
use super::speech::find_moment;
use super::wiring::{Canary, Form, Holds, Place, Reach, Settings, Timeout};
use super::{Answer, Call, Dialect, Ending, Event, Limit, Moment, Program, Speech, Tool, Wiring};

pub(super) static PROGRAM: Program = Program {
    names: &["opencode", "kilo", "kilocode"],
    title: "OpenCode",
    dialect: Dialect::OpenCode,
    tools: TOOLS,
    mcp_prefixes: &["SERVER_TOOL"],
    speech: Some(Speech {
        moments: MOMENTS,
        project_variables: &[],
        read,
        answer,
        limit: |moment| matches!(moment, Moment::AfterTool | Moment::Prompt).then_some(Limit::Utf16(16_000)),
        asks: |_| false,
        rewrites: |_| true,
        silence: "{}",
    }),
    wiring: Some(Wiring {
        form: Form::Plugin(PLUGIN),
        signs: &[
            Place::Workspace(".opencode"),
            Place::Workspace("opencode.json"),
            Place::Workspace("opencode.jsonc"),
            Place::Home(".config/opencode"),
        ],
        commands: &["opencode"],
        settings: &[
            Settings { place: Place::Workspace(".opencode/plugin/tollgate.js"), holds: Holds::Plugin, reach: Reach::Project },
            Settings { place: Place::Workspace(".opencode/plugin"), holds: Holds::Plugins, reach: Reach::Project },
            Settings { place: Place::Workspace(".opencode/plugins"), holds: Holds::Plugins, reach: Reach::Project },
            Settings { place: Place::Workspace("opencode.json"), holds: Holds::PluginList, reach: Reach::Project },
            Settings { place: Place::Workspace("opencode.jsonc"), holds: Holds::PluginList, reach: Reach::Project },
            Settings { place: Place::Workspace(".opencode/opencode.json"), holds: Holds::PluginList, reach: Reach::Project },
            Settings { place: Place::Workspace(".opencode/opencode.jsonc"), holds: Holds::PluginList, reach: Reach::Project },
            Settings { place: Place::Home(".config/opencode/plugin"), holds: Holds::Plugins, reach: Reach::Everywhere },
            Settings { place: Place::Home(".config/opencode/plugins"), holds: Holds::Plugins, reach: Reach::Everywhere },
            Settings { place: Place::Home(".config/opencode/opencode.json"), holds: Holds::PluginList, reach: Reach::Everywhere },
            Settings {
                place: Place::Home(".config/opencode/opencode.jsonc"),
                holds: Holds::PluginList,
                reach: Reach::Everywhere,
            },
        ],
        events: &["tool.execute.before"],
        every: None,
        timeout: Timeout { seconds: 0, ..Timeout::SECONDS },
        switches: &[],
        trust: None,
        servers: None,
        note: Some("OpenCode finds the plugin in the npm package `tollgate`: run `npm install --prefix .opencode tollgate`"),
        canary: Canary::Script(SCRIPT),
    }),
    controls: &[
        Place::Workspace(".opencode"),
        Place::Workspace("opencode.json"),
        Place::Workspace("opencode.jsonc"),
        Place::Home(".config/opencode"),
    ],
    processes: &["opencode", "opencode-ai", "kilo"],
    variables: &["OPENCODE", "OPENCODE_PID"],
};

const MOMENTS: &[(&str, Moment)] = &[
    ("tool.execute.before", Moment::BeforeTool),
    ("tool.execute.after", Moment::AfterTool),
    ("chat.message", Moment::BeforeAgent),
    ("experimental.chat.system.transform", Moment::Prompt),
    ("session.created", Moment::SessionStart),
    ("session.idle", Moment::AfterAgent),
    ("session.deleted", Moment::SessionEnd),
];

/// What the plugin's file says. Every export must be a plugin, so there is one.
const PLUGIN: &str = "// Lets every tool call of OpenCode pass Tollgate. Made by `tollgate init`; `tollgate init --undo` takes it away.\n\
                      export { default } from 'tollgate/opencode';\n";

/// Loads a plugin as OpenCode does and lets it see the call: whoever denies, throws.
const SCRIPT: &str = include_str!("opencode_canary.mjs");

fn read(payload: Value, named: Option<&str>) -> Event {
    let Value::Object(mut fields) = payload else {
        return Event { fault: Some(payload::NOT_AN_OBJECT.to_owned()), ..Event::default() };
    };
    let take = |fields: &mut Map<String, Value>, name: &str| fields.remove(name).unwrap_or_default();
    let (mut input, mut output) = (take(&mut fields, "input"), take(&mut fields, "output"));
    let hook = named.or_else(|| first(&fields, &["hook"])).unwrap_or_default();
    // What happened is told by one hook for everything.
    let happened = (hook == "event").then(|| input.pointer("/event/type").and_then(Value::as_str)).flatten();
    let properties = input.pointer("/event/properties").cloned().unwrap_or_default();
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut event = Event {
        session: text(&input, "/sessionID").or_else(|| text(&properties, "/sessionID")).unwrap_or_default(),
        parent: text(&properties, "/info/parentID"),
        cwd: first(&fields, &["directory", "worktree"]).map(str::to_owned),
        ..Event::default()
    };
    match find_moment(MOMENTS, happened.unwrap_or(hook)) {
        Some((name, moment)) => (event.name, event.moment) = (name, Some(moment)),
        None if hook.is_empty() => event.fault = Some("the payload has no `hook`".to_owned()),
        None => return event,
    }
    if event.session.is_empty() && event.moment != Some(Moment::Prompt) {
        event.fault.get_or_insert_with(|| "the payload has no `input.sessionID`".to_owned());
    }
    match event.moment() {
        Moment::BeforeTool | Moment::AfterTool => {
            let before = event.moment == Some(Moment::BeforeTool);
            let args = if before { output.get_mut("args") } else { input.get_mut("args") };
            let args = args.map(Value::take).unwrap_or_default();
            match text(&input, "/tool") {
                Some(tool) => {
                    let id = text(&input, "/callID").unwrap_or_else(|| payload::derived_id(&event.session, &tool, &args));
                    let result = if before { None } else { result(&output) };
                    event.call = Some(Call { id, tool, args, ending: Ending::Done, result });
                }
                None => drop(event.fault.get_or_insert_with(|| "the payload has no `input.tool`".to_owned())),
            }
        }
        Moment::BeforeAgent => event.prompt = prompt(&output),
        _ => {}
    }
    event.rest = output;
    event
}

/// What a tool said: a text of OpenCode's own tools, a list of pieces of a server's.
fn result(output: &Value) -> Option<Value> {
    output.get("content").or_else(|| output.get("output")).filter(|said| !said.is_null()).cloned()
}

/// What a person said: the texts of a message that are not OpenCode's own.
fn prompt(output: &Value) -> Option<String> {
    let parts = output.get("parts")?.as_array()?;
    let is_persons = |part: &&Value| {
        part.get("type").and_then(Value::as_str) == Some("text") && part.get("synthetic") != Some(&Value::Bool(true))
    };
    let texts: Vec<&str> = parts.iter().filter(is_persons).filter_map(|part| part.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn answer(event: &Event, answer: Answer) -> Option<Value> {
    match answer {
        Answer::Ask(reason) | Answer::Deny(reason) | Answer::Stop(reason) => Some(json!({"throw": reason})),
        Answer::Allow { args, .. } => args.map(|args| json!({"output": {"args": args}})),
        Answer::Tell(told) if told.is_empty() => None,
        Answer::Tell(told) => match event.moment() {
            Moment::AfterTool => Some(json!({"output": beside_result(&event.rest, &told)})),
            Moment::Prompt => {
                let mut system = event.rest.get("system").and_then(Value::as_array).cloned().unwrap_or_default();
                system.push(told.into());
                Some(json!({"output": {"system": system}}))
            }
            _ => None,
        },
    }
}

/// A tool's result with something said behind it.
fn beside_result(result: &Value, told: &str) -> Value {
    if let Some(pieces) = result.get("content").and_then(Value::as_array) {
        let mut pieces = pieces.clone();
        pieces.push(json!({"type": "text", "text": told}));
        return json!({"content": pieces});
    }
    let said = result.get("output").and_then(Value::as_str).unwrap_or_default();
    json!({"output": if said.is_empty() { told.to_owned() } else { format!("{said}\n\n{told}") }})
}

static TOOLS: &[Tool] = &[
    Tool { names: &["write"], act: Writes, args: &[("filePath", Path), ("content", Text)] },
    Tool {
        names: &["edit"],
        act: Writes,
        args: &[("filePath", Path), ("oldString", Text), ("newString", Text), ("replaceAll", Flag)],
    },
    Tool { names: &["multiedit"], act: Writes, args: &[("filePath", Path), ("edits", List)] },
    Tool { names: &["patch", "apply_patch"], act: Patches, args: &[("patchText", Patch)] },
    Tool {
        names: &["bash", "shell"],
        act: Shell,
        args: &[("command", Command), ("timeout", Number), ("workdir", Folder), ("description", Text)],
    },
    Tool { names: &["read"], act: Reads, args: &[("filePath", Path), ("offset", Number), ("limit", Number)] },
    Tool {
        names: &["glob", "grep", "list", "codesearch"],
        act: Reads,
        args: &[("pattern", Text), ("path", Path), ("include", Text), ("ignore", List), ("query", Text), ("tokensNum", Number)],
    },
    Tool {
        names: &["lsp", "lsp_hover", "lsp_diagnostics"],
        act: Reads,
        args: &[
            ("operation", Text),
            ("filePath", Path),
            ("path", Path),
            ("file", Path),
            ("line", Number),
            ("character", Number),
            ("query", Text),
        ],
    },
    Tool {
        names: &[
            "task",
            "todowrite",
            "todoread",
            "webfetch",
            "websearch",
            "skill",
            "question",
            "invalid",
            "plan_enter",
            "plan_exit",
            "list_mcp_resources",
            "list_mcp_resource_templates",
            "read_mcp_resource",
        ],
        act: Inert,
        // The slash command from which a task came, which nobody runs.
        args: &[("command", Text)],
    },
    // A script in the program's own interpreter, which may call the tools of MCP servers.
    Tool { names: &["execute"], act: Opaque, args: &[("code", Text)] },
];

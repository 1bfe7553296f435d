//! OpenCode 1.18 and Kilo: their tools, from the schemas.
//!
//! Its hooks are functions of a plugin; for a plugin in another language, a call of such a function is written as JSON. In:
//! `{"hook", "input", "output"}` as the function gets them, `directory` as the plugin got it, and `"lasting": true` if the plugin
//! keeps running and reports everything to one gate. Out: `{"throw": message}` for an error that the function should throw,
//! otherwise `{"output": …}` with the fields to set in `output`, in place. There is no *ask*, so it becomes a block. OpenCode
//! checks its own permissions when the tool runs, with the arguments as they are by then.

use serde_json::{Map, Value, json};

use super::Act::{Inert, Opaque, Patches, Reads, Shell, Writes};
use super::ArgumentMeaning::{Command, Flag, Folder, List, Number, Patch, Path, Text};
use super::hook_protocol::find_event;
use super::payload::{self, first_text};
use super::wiring::{Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, SourceContent, Timeout};
use super::{
    AgentProgram, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, PatchDialect, ProgramEvent, ReportedCall, Tool, Wiring,
};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["opencode", "kilo", "kilocode"],
    title: "OpenCode",
    dialect: PatchDialect::OpenCode,
    tools: TOOLS,
    mcp_prefixes: &["SERVER_TOOL"],
    speech: Some(HookProtocol {
        limit: |kind| matches!(kind, EventKind::AfterTool | EventKind::Prompt).then_some(Limit::Utf16(16_000)),
        silence: "{}",
        person: Some("notice"),
        ..HookProtocol::new(EVENTS, read, answer)
    }),
    wiring: Some(Wiring {
        signs: &[
            SettingsPlace::Workspace(".opencode"),
            SettingsPlace::Workspace("opencode.json"),
            SettingsPlace::Workspace("opencode.jsonc"),
            config("opencode"),
        ],
        commands: &["opencode"],
        settings: &[
            SettingsSource {
                place: SettingsPlace::Workspace(".opencode/plugin/tollgate.js"),
                content: SourceContent::Plugin,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace(".opencode/plugin"),
                content: SourceContent::Plugins,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace(".opencode/plugins"),
                content: SourceContent::Plugins,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace("opencode.json"),
                content: SourceContent::PluginList,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace("opencode.jsonc"),
                content: SourceContent::PluginList,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace(".opencode/opencode.json"),
                content: SourceContent::PluginList,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace(".opencode/opencode.jsonc"),
                content: SourceContent::PluginList,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: config("opencode/plugin"),
                content: SourceContent::Plugins,
                reach: SettingsReach::Everywhere,
            },
            SettingsSource {
                place: config("opencode/plugins"),
                content: SourceContent::Plugins,
                reach: SettingsReach::Everywhere,
            },
            SettingsSource {
                place: config("opencode/opencode.json"),
                content: SourceContent::PluginList,
                reach: SettingsReach::Everywhere,
            },
            SettingsSource {
                place: config("opencode/opencode.jsonc"),
                content: SourceContent::PluginList,
                reach: SettingsReach::Everywhere,
            },
        ],
        events: &["tool.execute.before"],
        timeout: Timeout { seconds: 0, ..Timeout::SECONDS },
        note: Some("it finds the plugin in the npm package `tollgate`: run `npm install --prefix .opencode tollgate`"),
        ..Wiring::new(HooksFormat::Plugin(PLUGIN), Canary::Script(SCRIPT))
    }),
    controls: &[
        SettingsPlace::Workspace(".opencode"),
        SettingsPlace::Workspace("opencode.json"),
        SettingsPlace::Workspace("opencode.jsonc"),
        SettingsPlace::Home(".config/opencode"),
    ],
    processes: &["opencode", "opencode-ai", "kilo"],
    variables: &["OPENCODE", "OPENCODE_PID"],
    ..AgentProgram::BARE
};

/// A path in the folder where all programs keep their settings.
const fn config(path: &'static str) -> SettingsPlace {
    SettingsPlace::Own { variable: "XDG_CONFIG_HOME", folder: ".config", path }
}

const EVENTS: &[(&str, EventKind)] = &[
    ("tool.execute.before", EventKind::BeforeTool),
    ("tool.execute.after", EventKind::AfterTool),
    ("chat.message", EventKind::BeforeAgent),
    ("experimental.chat.system.transform", EventKind::Prompt),
    ("chat.params", EventKind::BeforeModel),
    ("experimental.text.complete", EventKind::AfterModel),
    ("session.created", EventKind::SessionStart),
    ("session.idle", EventKind::AfterAgent),
    ("session.deleted", EventKind::SessionEnd),
    ("message.part.updated", EventKind::AfterTool),
    ("dispose", EventKind::ProgramEnd),
];

/// Agents that OpenCode uses for its own purposes, with the session's prompt and another model: for a title, for a summary.
const OWN_AGENTS: &[&str] = &["title", "summary", "compaction"];

/// How OpenCode's message begins if a person, or a rule of theirs, did not let a call run.
const REFUSALS: &[&str] = &["The user rejected permission", "The user has specified a rule which prevents"];

/// The text of the plugin file. Every export must be a plugin, so there is only one export.
const PLUGIN: &str = "// Sends every tool call of OpenCode through Tollgate. Created by `tollgate init`; `tollgate init --undo` removes it.\n\
                      export { default } from 'tollgate/opencode';\n";

/// Loads a plugin as OpenCode does and passes it the call: a denial is thrown.
const SCRIPT: &str = include_str!("opencode_canary.mjs");

fn read(payload: Value, named: Option<&str>) -> ProgramEvent {
    let Value::Object(mut fields) = payload else {
        return ProgramEvent { fault: Some(payload::NOT_AN_OBJECT.to_owned()), ..ProgramEvent::default() };
    };
    let take = |fields: &mut Map<String, Value>, name: &str| fields.remove(name).unwrap_or_default();
    let (mut input, mut output) = (take(&mut fields, "input"), take(&mut fields, "output"));
    let hook = named.or_else(|| first_text(&fields, &["hook"])).unwrap_or_default();
    // One hook reports everything that happened.
    let happened = (hook == "event").then(|| text(&input, "/event/type").unwrap_or_default());
    let properties = input.pointer_mut("/event/properties").map(Value::take).unwrap_or_default();
    let session = ["/sessionID", "/part/sessionID", "/info/id"].iter().find_map(|pointer| text(&properties, pointer));
    let mut event = ProgramEvent {
        session: text(&input, "/sessionID").or(session).unwrap_or_default(),
        parent: text(&properties, "/info/parentID"),
        cwd: first_text(&fields, &["directory", "worktree"]).map(str::to_owned),
        lasting: fields.get("lasting") == Some(&Value::Bool(true)),
        unheard: happened.is_some(),
        ..ProgramEvent::default()
    };
    match find_event(EVENTS, happened.as_deref().unwrap_or(hook)) {
        Some((name, kind)) => (event.name, event.kind) = (name, Some(kind)),
        None if hook.is_empty() => event.fault = Some("the payload has no `hook`".to_owned()),
        None => return event,
    }
    let needs_session = !matches!(event.kind(), EventKind::Prompt | EventKind::ProgramEnd);
    if event.session.is_empty() && needs_session {
        event.fault.get_or_insert_with(|| "the payload has no `input.sessionID`".to_owned());
    }
    match event.kind() {
        EventKind::AfterTool if happened.is_some() => read_failure(properties, &mut event),
        EventKind::BeforeTool | EventKind::AfterTool => read_call(&mut input, &mut output, &mut event),
        EventKind::SessionStart => {
            event.source = Some(if event.parent.is_none() { "startup" } else { "subagent" }.to_owned());
        }
        EventKind::BeforeAgent => event.prompt = prompt(&output),
        EventKind::BeforeModel => {
            // Earlier versions pass the whole agent.
            let agent = text(&input, "/agent").or_else(|| text(&input, "/agent/name"));
            if agent.as_deref().is_some_and(|agent| OWN_AGENTS.contains(&agent)) {
                event.kind = Some(EventKind::Other);
            }
            let (model, provider) = (text(&input, "/model/id"), text(&input, "/model/providerID"));
            event.data = json!({"request": {"agent": agent, "model": model, "provider": provider}});
        }
        EventKind::AfterModel => {
            event.response = text(&output, "/text");
            event.data = json!({"reply": {"text": event.response}});
        }
        _ => {}
    }
    event.rest = output;
    event
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// Reads a call that is about to run, or has run.
fn read_call(input: &mut Value, output: &mut Value, event: &mut ProgramEvent) {
    let before = event.kind == Some(EventKind::BeforeTool);
    let args = if before { output.get_mut("args") } else { input.get_mut("args") };
    let args = args.map(Value::take).unwrap_or_default();
    let Some(tool) = text(input, "/tool") else {
        event.fault.get_or_insert_with(|| "the payload has no `input.tool`".to_owned());
        return;
    };
    let id = text(input, "/callID").unwrap_or_else(|| payload::derived_id(&event.session, &tool, &args));
    let (ending, result) = if before { (CallEnding::Done, None) } else { (ending(output), result(output)) };
    // Nothing can be appended to images and the like.
    event.unheard =
        !before && !output.get("output").is_some_and(Value::is_string) && !output.get("content").is_some_and(Value::is_array);
    event.call = Some(ReportedCall { id, other_id: None, tool, server: None, args, ending, result });
}

/// Reads a call that failed, or that OpenCode or a person prevented: such a call is reported only as a changed part of a message.
fn read_failure(mut properties: Value, event: &mut ProgramEvent) {
    let mut part = properties.get_mut("part").map(Value::take).unwrap_or_default();
    let is_failure = text(&part, "/type").as_deref() == Some("tool") && text(&part, "/state/status").as_deref() == Some("error");
    let (Some(tool), Some(id), true) = (text(&part, "/tool"), text(&part, "/callID"), is_failure) else {
        event.kind = Some(EventKind::Other);
        return;
    };
    let said = text(&part, "/state/error").unwrap_or_else(|| payload::NO_REASON_GIVEN.to_owned());
    let is_refusal = REFUSALS.iter().any(|refusal| said.starts_with(refusal));
    let ending = if is_refusal { CallEnding::Refused(said) } else { CallEnding::Failed(said) };
    let args = part.pointer_mut("/state/input").map(Value::take).unwrap_or_default();
    event.repeats = true;
    // A sub-agent that a person calls by a command is announced under the id of its part.
    event.call = Some(ReportedCall { id, other_id: text(&part, "/id"), tool, server: None, args, ending, result: None });
}

/// How a call ended. A command that exits with an error counts as done: its error concerns only the model. An MCP tool reports
/// its failure itself, and a sub-agent that fails ends without a result.
fn ending(output: &Value) -> CallEnding {
    if output.is_null() {
        return CallEnding::Failed(payload::NO_REASON_GIVEN.to_owned());
    }
    match output.get("content").and_then(Value::as_array) {
        Some(pieces) if output.get("isError") == Some(&Value::Bool(true)) => {
            let said: Vec<&str> = pieces.iter().filter_map(|piece| piece.get("text")?.as_str()).collect();
            CallEnding::Failed(if said.is_empty() { payload::NO_REASON_GIVEN.to_owned() } else { said.join("\n") })
        }
        _ => CallEnding::Done,
    }
}

/// The result of a tool: the text of one of OpenCode's own tools, the texts of an MCP tool.
fn result(output: &Value) -> Option<Value> {
    match output.get("content") {
        Some(Value::Array(pieces)) => Some(pieces.iter().filter(|piece| piece.get("text").is_some()).cloned().collect()),
        content => content.or_else(|| output.get("output")).filter(|said| !said.is_null()).cloned(),
    }
}

/// The prompt of a person: the texts of a message that do not come from OpenCode itself.
fn prompt(output: &Value) -> Option<String> {
    let parts = output.get("parts")?.as_array()?;
    let is_persons = |part: &&Value| {
        part.get("type").and_then(Value::as_str) == Some("text") && part.get("synthetic") != Some(&Value::Bool(true))
    };
    let texts: Vec<&str> = parts.iter().filter(is_persons).filter_map(|part| part.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn answer(event: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    match answer {
        HookAnswer::Ask(reason) | HookAnswer::Deny(reason) | HookAnswer::Stop(reason) => Some(json!({"throw": reason})),
        HookAnswer::Allow { args, .. } => args.map(|args| json!({"output": {"args": args}})),
        HookAnswer::Withhold(told) if event.rest.get("content").is_some() => {
            Some(json!({"output": {"content": [{"type": "text", "text": told}]}}))
        }
        HookAnswer::Withhold(told) => Some(json!({"output": {"output": told}})),
        HookAnswer::Tell(told) if told.is_empty() => None,
        HookAnswer::Tell(told) => match event.kind() {
            EventKind::AfterTool => Some(json!({"output": append_to_result(&event.rest, &told)})),
            EventKind::Prompt => {
                let mut system = event.rest.get("system").and_then(Value::as_array).cloned().unwrap_or_default();
                system.push(told.into());
                Some(json!({"output": {"system": system}}))
            }
            _ => None,
        },
    }
}

/// A tool's result with a text appended.
fn append_to_result(result: &Value, told: &str) -> Value {
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
        // The slash command from which a task came; it is never run.
        args: &[("command", Text)],
    },
    // A script in the program's own interpreter, which may call the tools of MCP servers.
    Tool { names: &["execute"], act: Opaque, args: &[("code", Text)] },
];

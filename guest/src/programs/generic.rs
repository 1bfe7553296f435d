//! Any program that speaks JSON lines with the gate's own event names, for authors of agents that have no record here.
//!
//! In: `{"event", "session", "call", "tool", "args", "cwd", "result", "error", "prompt", "response"}`, as far as they apply to
//! the event, with `agent` and `parent` for sub-agents, `roots` for open folders, `source` and `reason` for sessions, `request`
//! and `reply` for models, and `"unattended": true` if no one can be asked. Out: `{"verdict", "reason", "code"?, "args"?,
//! "context"?}`, where the verdict is `allow`, `ask` or `deny`.

use serde_json::{Map, Value, json};

use super::payload::{self, Spelling};
use super::permissions::ServerTool;
use super::{AgentProgram, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, ProgramEvent};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["generic"],
    title: "a program that speaks JSON lines",
    mcp_prefixes: &["SERVER__TOOL", "SERVER_TOOL", "SERVER.TOOL", "SERVER/TOOL", "SERVER:TOOL", "MCP:SERVER:TOOL"],
    speech: Some(HookProtocol {
        limit: |_| Some(Limit::Utf16(16_000)),
        asks: |event| !event.asks_nobody,
        silence: r#"{"verdict":"allow","reason":""}"#,
        person: Some("notice"),
        ..HookProtocol::new(EVENTS, read, answer)
    }),
    ..AgentProgram::BARE
};

const SPELLING: Spelling = Spelling {
    event: &["event"],
    session: &["session"],
    agent: &["agent"],
    parent: &["parent"],
    cwd: &["cwd"],
    roots: &["roots"],
    tool: &["tool"],
    args: &["args"],
    call: &["call"],
    result: &["result"],
    prompt: &["prompt"],
    response: &["response"],
    source: &["source"],
    reason: &["reason"],
    data: &["request", "reply"],
};

const EVENTS: &[(&str, EventKind)] = &[
    ("before_tool", EventKind::BeforeTool),
    ("after_tool", EventKind::AfterTool),
    ("session_start", EventKind::SessionStart),
    ("before_agent", EventKind::BeforeAgent),
    ("subagent_start", EventKind::SubagentStart),
    ("prompt", EventKind::Prompt),
    ("before_model", EventKind::BeforeModel),
    ("after_model", EventKind::AfterModel),
    ("before_tool_selection", EventKind::BeforeToolSelection),
    ("after_agent", EventKind::AfterAgent),
    ("session_end", EventKind::SessionEnd),
];

fn read(payload: Value, named: Option<&str>) -> ProgramEvent {
    let asks_nobody = payload.get("unattended") == Some(&Value::Bool(true));
    let text = |key: &str| payload.get(key).and_then(Value::as_str);
    let server = text("server").zip(text("server_tool")).and_then(|(server, tool)| ServerTool::new(server, tool));
    let mut event = ProgramEvent { asks_nobody, ..payload::read(&SPELLING, EVENTS, payload, named, ending) };
    if let Some(call) = &mut event.call {
        call.server = server;
    }
    event
}

fn answer(_: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    let decided = |verdict: &str, reason: String| {
        let mut fields = Map::from_iter([("verdict".to_owned(), verdict.into())]);
        let (reason, code) = split_code(reason);
        fields.extend(code.map(|code| ("code".to_owned(), code.into())));
        fields.insert("reason".to_owned(), reason.into());
        Some(Value::Object(fields))
    };
    match answer {
        HookAnswer::Ask(reason) => decided("ask", reason),
        HookAnswer::Deny(reason) | HookAnswer::Stop(reason) => decided("deny", reason),
        HookAnswer::Allow { args: None, told } | HookAnswer::Tell(told) if told.is_empty() => None,
        HookAnswer::Allow { args, told } => {
            let mut fields = Map::from_iter([("verdict".to_owned(), "allow".into()), ("reason".to_owned(), "".into())]);
            fields.extend(args.map(|args| ("args".to_owned(), args)));
            if !told.is_empty() {
                fields.insert("context".to_owned(), told.into());
            }
            Some(fields.into())
        }
        HookAnswer::Withhold(told) => Some(json!({"verdict": "allow", "reason": "", "context": told, "withheld": true})),
        HookAnswer::Tell(told) => Some(json!({"verdict": "allow", "reason": "", "context": told})),
    }
}

/// Splits a reason into its text and the code in parentheses at its end.
fn split_code(mut reason: String) -> (String, Option<String>) {
    let code = reason.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).map(|(before, code)| (before.len(), code));
    let is_code = |code: &str| {
        // The code of a workspace's hook follows the hook's name.
        let (hook, code) = code.rsplit_once('/').map_or((None, code), |(hook, code)| (Some(hook), code));
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || hook.is_some() && byte.is_ascii_digit();
        !code.is_empty() && hook != Some("") && code.bytes().all(fits)
    };
    match code.filter(|(_, code)| is_code(code)).map(|(end, code)| (end, code.to_owned())) {
        Some((end, code)) => {
            reason.truncate(end);
            (reason, Some(code))
        }
        None => (reason, None),
    }
}

fn ending(_: &str, payload: &Map<String, Value>) -> CallEnding {
    match (payload.get("error"), payload.get("refused").and_then(Value::as_str)) {
        (_, Some(why)) => CallEnding::Refused(why.to_owned()),
        (Some(error), None) if !error.is_null() => payload::failed_ending(Some(error)),
        _ => CallEnding::Done,
    }
}

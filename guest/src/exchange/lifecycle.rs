//! The session events that hooks receive, and the data of each, the same for every program.
//!
//! `docs/events.md` is the same table for hook authors. A field is left out if the program does not report it.

use serde_json::{Map, Value};

use crate::hooks::claude::answer;
use crate::programs::{AgentProgram, CallEnding, EventKind, ProgramEvent, ReportedCall};

/// The name that hooks use for a kind of event; `None` if they do not receive it.
pub(super) fn name(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::SessionStart => Some("session_start"),
        EventKind::SessionEnd => Some("session_end"),
        EventKind::BeforeAgent => Some("before_agent"),
        EventKind::AfterAgent => Some("after_agent"),
        EventKind::BeforeModel => Some("before_model"),
        EventKind::AfterModel => Some("after_model"),
        EventKind::BeforeToolSelection => Some("before_tool_selection"),
        EventKind::BeforeTool => Some("before_tool"),
        EventKind::AfterTool => Some("after_tool"),
        EventKind::SubagentStart | EventKind::Prompt | EventKind::ProgramEnd | EventKind::Other => None,
    }
}

/// The data that an event carries.
pub(super) fn data(program: &AgentProgram, event: &ProgramEvent) -> Value {
    // Fields that a program sends under our own names come first, so they cannot replace what is read from its payload.
    let mut data = match &event.data {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            data.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    put("session_id", Some(event.session.as_str().into()));
    put("program", Some(program.name().into()));
    put("agent", text(&event.agent));
    put("cwd", text(&event.cwd));
    match event.kind() {
        EventKind::BeforeAgent => put("prompt", text(&event.prompt)),
        EventKind::AfterAgent => put("response", text(&event.response)),
        EventKind::SessionStart => put("source", text(&event.source)),
        EventKind::SessionEnd => put("reason", text(&event.reason)),
        _ => {}
    }
    if let Some(call) = &event.call {
        let ReportedCall { id, tool, args, ending, result, .. } = call;
        put("tool_name", Some(tool.as_str().into()));
        put("call_id", Some(id.as_str().into()));
        put("args", Some(args.clone()));
        if event.kind() == EventKind::AfterTool {
            let (status, error) = match ending {
                CallEnding::Done => ("done", None),
                CallEnding::Failed(error) => ("failed", Some(error)),
                CallEnding::Refused(why) => ("refused", Some(why)),
            };
            put("status", Some(status.into()));
            put("success", Some((status == "done").into()));
            put("result", result.clone());
            put("error", error.map(|error| error.as_str().into()));
        }
    }
    Value::Object(data)
}

/// The combined answer of hooks to an event.
#[derive(Debug)]
pub(super) struct HooksReply {
    /// Whether to continue.
    pub(super) goes_on: bool,
    /// What the model or the person is told.
    pub(super) message: Option<String>,
    /// Why a person should decide.
    pub(super) asks: Option<String>,
    /// The arguments that the call should run with instead.
    pub(super) args: Option<Value>,
    /// Arguments that a hook wants and that cannot be passed to the program.
    pub(super) wanted: Option<Value>,
}

impl HooksReply {
    /// No hook answered.
    pub(super) const NONE: Self = Self { goes_on: true, message: None, asks: None, args: None, wanted: None };

    /// Reads the answer of a chain of hooks.
    pub(super) fn read(answer: &Value) -> Self {
        let message = answer.get("system_message").and_then(Value::as_str);
        let said = |key: &str| answer.get("data").and_then(|data| data.get(key)).filter(|said| !said.is_null());
        Self {
            goes_on: answer.get("continue") != Some(&Value::Bool(false)),
            message: message.filter(|message| !message.is_empty()).map(str::to_owned),
            asks: said(answer::ASKS).and_then(Value::as_str).map(str::to_owned),
            args: said(answer::UPDATED).filter(|args| args.is_object()).cloned(),
            wanted: said(answer::WANTED).cloned(),
        }
    }
}

//! Requests that clients make about servers.
//!
//! | `method` | `params` | answer |
//! | --- | --- | --- |
//! | `declared` | | `{servers, warnings}` at once, without connecting |
//! | `status` | `{server?}` | the same, once the state of every server, or of that one, is known |
//! | `tools` | `{server?}` | the same with `tools`, in our own form |
//! | `tools/list` | | `{tools}` as the protocol has it, Tollgate's own among them |
//! | `tools/call` | `{name, arguments, session, call, attended}` | a result as the protocol has it |
//! | `call` | `{server, tool, arguments, session, call, attended}` | `{outcome, text, parts, structured, …}` in our own form |
//! | `lookup` | `{server, tool, arguments, timeout_ms}` | an answer for a lookup: `{"text":…}`, `{"failed":…}`, `"unknown"`, `"unavailable"` or `"late"` |

use serde_json::Value;

use super::call::{AnswerForm, ServerCall};
use super::hub::{Hub, Step};
use crate::json::{self, object};
use crate::programs::own_tools::{OWN_TOOLS, OwnTool};

#[derive(Debug)]
enum RequestKind {
    Declared,
    Status,
    Tools,
    List,
    Call(Box<ServerCall>),
}

/// One request of a client.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) number: u64,
    has_demanded: bool,
    /// The only server that it is about, if it names one.
    server: Option<String>,
    kind: RequestKind,
}

impl Request {
    pub(super) fn read(number: u64, input: &Value) -> Result<Self, String> {
        let params = input.get("params").unwrap_or(&Value::Null);
        let call = |style| Ok::<_, String>(RequestKind::Call(Box::new(ServerCall::read(number, style, params)?)));
        let kind = match json::text(input, "method").unwrap_or_default() {
            "declared" => RequestKind::Declared,
            "status" => RequestKind::Status,
            "tools" => RequestKind::Tools,
            "tools/list" => RequestKind::List,
            "tools/call" => call(AnswerForm::Protocol)?,
            "call" => call(AnswerForm::Own)?,
            "lookup" => call(AnswerForm::Lookup)?,
            other => return Err(format!("`{other}` is not a request about MCP servers")),
        };
        let server = json::text(params, "server").map(str::to_owned);
        Ok(Self { number, has_demanded: false, server, kind })
    }

    /// The call that it makes, if it is one.
    pub(super) fn call(&self) -> Option<&ServerCall> {
        match &self.kind {
            RequestKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The same, mutable.
    pub(super) fn call_mut(&mut self) -> Option<&mut ServerCall> {
        match &mut self.kind {
            RequestKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Advances as far as possible.
    pub(super) fn advance(&mut self, hub: &mut Hub, step: &mut Step<'_>) {
        let demands = !std::mem::replace(&mut self.has_demanded, true);
        if let RequestKind::Call(call) = &mut self.kind {
            return call.advance(demands, hub, step);
        }
        if demands && !matches!(self.kind, RequestKind::Declared) {
            hub.demand(self.server.as_deref(), step);
        }
    }

    /// Answers it if it can be answered by now; returns whether it is over.
    pub(super) fn finish(&mut self, hub: &mut Hub, step: &mut Step<'_>) -> bool {
        if let RequestKind::Call(call) = &self.kind {
            return call.is_over();
        }
        if !matches!(self.kind, RequestKind::Declared) && !hub.is_settled(self.server.as_deref()) {
            return false;
        }
        let mut result = hub.status(step.now);
        match self.kind {
            RequestKind::Tools => {
                let tools: Vec<Value> = hub.tools().map(|(name, tool)| tool.to_json(name)).collect();
                result.as_object_mut().map(|result| result.insert("tools".to_owned(), tools.into()));
            }
            RequestKind::List => {
                hub.mark_names_announced();
                let others = hub.tools().map(|(name, tool)| tool.to_client_json(name));
                result = object(&mut [("tools", OWN_TOOLS.iter().map(own).chain(others).collect())]);
            }
            RequestKind::Declared | RequestKind::Status | RequestKind::Call(_) => {}
        }
        step.commands.push(reply(self.number, result));
        true
    }
}

/// One of Tollgate's own tools, as the protocol has it.
fn own(tool: &OwnTool) -> Value {
    let hints = object(&mut [("readOnlyHint", (!tool.changes).into()), ("openWorldHint", false.into())]);
    object(&mut [
        ("name", tool.name.into()),
        ("title", tool.title.into()),
        ("description", tool.description.into()),
        ("inputSchema", tool.schema()),
        ("annotations", hints),
    ])
}

/// The answer to a request.
pub(super) fn reply(number: u64, result: Value) -> Value {
    object(&mut [("type", "reply".into()), ("number", number.into()), ("result", result)])
}

/// The answer to a request that cannot be understood.
pub(super) fn refusal(number: u64, why: &str) -> Value {
    object(&mut [("type", "reply".into()), ("number", number.into()), ("error", why.into())])
}

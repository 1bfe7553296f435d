//! One call of a server's tool, from the request to the answer.
//!
//! The order of steps: the server is connected to, the arguments are compared with the tool's schema, the gate rules, a person
//! decides if the gate wants that, the tool runs, the gate records the outcome. A lookup is not a call of an agent: it goes
//! straight to the server and back.

use serde_json::{Map, Value};

use super::hub::{Hub, Step};
use super::outcome::{ServerFault, ToolResult};
use super::request::{refusal, reply};
use super::spec::Transport;
use crate::json::{self, object};

/// Maximum number of characters of a tool's answer that hooks get.
const MAX_ANSWER_CHARS: usize = 100_000;

/// The code of a ruling that says that an intent is missing.
const NO_ACTIVE_INTENT: &str = "no_active_intent";

/// Who makes the call, and so how it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// The gate itself, for what is known about a concept.
    Lookup,
    /// A client that is answered in our own form.
    Own,
    /// A client that is answered in the protocol's form.
    Protocol,
}

/// How far a call has come.
#[derive(Debug)]
enum CallStage {
    /// Its server is being connected to.
    Server,
    /// The gate rules on it.
    Before {
        command: u64,
    },
    /// A person decides.
    Person {
        command: u64,
    },
    /// The tool runs.
    Sent {
        command: u64,
        connection: u64,
        until: u64,
    },
    /// The gate records the outcome.
    After {
        command: u64,
        ending: CallEnd,
    },
    Over,
}

/// How a call ended.
#[derive(Debug)]
struct CallEnd {
    /// `done`, `failed`, `refused`, `unavailable` or `late`.
    outcome: &'static str,
    answer: ToolResult,
}

impl CallEnd {
    fn of(outcome: &'static str, why: &str) -> Self {
        Self { outcome, answer: ToolResult::of_text(why, true) }
    }
}

#[derive(Debug)]
pub(super) struct ServerCall {
    pub(super) number: u64,
    style: AnswerForm,
    /// Empty until the tool's name has been resolved.
    server: String,
    tool: String,
    arguments: Value,
    session: String,
    id: String,
    is_attended: bool,
    /// How long the caller waits, connecting included, and when that time is up.
    patience_ms: Option<u64>,
    give_up: Option<u64>,
    stage: CallStage,
    /// What the model is told alongside the answer.
    told: Vec<String>,
}

impl ServerCall {
    pub(super) fn read(number: u64, style: AnswerForm, params: &Value) -> Result<Self, String> {
        let text = |key: &str| match json::text(params, key) {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(format!("`{key}` is missing")),
        };
        let unless = |is_given: bool, key: &str| if is_given { Ok(String::new()) } else { text(key) };
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(arguments @ Value::Object(_)) => arguments.clone(),
            Some(_) => return Err("`arguments` must be an object".to_owned()),
        };
        Ok(Self {
            number,
            style,
            server: unless(style == AnswerForm::Protocol, "server")?,
            tool: text(if style == AnswerForm::Protocol { "name" } else { "tool" })?,
            arguments,
            session: unless(style == AnswerForm::Lookup, "session")?,
            id: unless(style == AnswerForm::Lookup, "call")?,
            is_attended: params.get("attended") == Some(&Value::Bool(true)),
            patience_ms: params.get("timeout_ms").and_then(Value::as_u64).filter(|_| style == AnswerForm::Lookup),
            give_up: None,
            stage: CallStage::Server,
            told: Vec::new(),
        })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, CallStage::Over)
    }

    pub(super) fn deadline(&self) -> Option<u64> {
        let sent = if let CallStage::Sent { until, .. } = self.stage { Some(until) } else { None };
        sent.into_iter().chain(self.give_up).min()
    }

    /// The command whose result it waits for.
    pub(super) fn waits_for(&self) -> Option<u64> {
        match self.stage {
            CallStage::Before { command }
            | CallStage::Person { command }
            | CallStage::Sent { command, .. }
            | CallStage::After { command, .. } => Some(command),
            CallStage::Server | CallStage::Over => None,
        }
    }

    /// The connection over which the answer is expected.
    pub(super) fn connection(&self) -> Option<u64> {
        if let CallStage::Sent { connection, .. } = self.stage { Some(connection) } else { None }
    }

    /// Advances as far as possible without an input.
    pub(super) fn advance(&mut self, demands: bool, hub: &mut Hub, step: &mut Step<'_>) {
        if demands {
            self.give_up = self.patience_ms.map(|patience| step.now.saturating_add(patience));
        }
        if self.give_up.is_some_and(|until| until <= step.now) && !self.is_over() {
            self.withdraw(step);
            return self.answer_caller(CallEnd::of("late", ""), step);
        }
        match self.stage {
            CallStage::Server => self.find_server(demands, hub, step),
            CallStage::Sent { until, .. } if until <= step.now => {
                let may = hub.link(&self.server).map_or(0, |link| link.spec.call_timeout_ms);
                self.withdraw(step);
                self.fail(&ServerFault::Late(may), hub, step);
            }
            _ => {}
        }
    }

    fn find_server(&mut self, demands: bool, hub: &mut Hub, step: &mut Step<'_>) {
        if self.style == AnswerForm::Protocol
            && let Some(tool) = hub.tool(&self.tool)
        {
            (self.server, self.tool) = (tool.server.clone(), tool.tool.clone());
        }
        if demands {
            hub.demand(Some(&self.server).filter(|server| !server.is_empty()).map(String::as_str), step);
        }
        if self.server.is_empty() {
            if hub.is_settled(None) {
                let gone = hub.links.iter().filter_map(|link| Some(format!("`{}`: {}", link.spec.name, link.why_unavailable()?)));
                let gone: Vec<String> = gone.collect();
                let hint = if gone.is_empty() { String::new() } else { format!("; not connected: {}", gone.join("; ")) };
                step.commands.push(refusal(self.number, &format!("no MCP server has a tool `{}`{hint}", self.tool)));
                self.stage = CallStage::Over;
            }
            return;
        }
        let Some(link) = hub.link(&self.server) else {
            let known: Vec<&str> = hub.links.iter().map(|link| link.spec.name.as_str()).collect();
            let known = if known.is_empty() { "none is declared".to_owned() } else { format!("declared: {}", known.join(", ")) };
            let why = format!("there is no MCP server `{}`; {known}", self.server);
            return self.answer_caller(CallEnd::of("unavailable", &why), step);
        };
        if !link.is_settled() {
            return;
        }
        if let Some(why) = link.why_unavailable() {
            let why = format!("the MCP server `{}` is not available: {why}", self.server);
            // Lookups distinguish a source that is absent from one that is broken.
            let is_broken = self.style == AnswerForm::Lookup && !link.is_absent();
            return self.answer_caller(CallEnd::of(if is_broken { "failed" } else { "unavailable" }, &why), step);
        }
        if self.style == AnswerForm::Lookup {
            return self.send(hub, step);
        }
        let Some(tool) = link.tools.iter().find(|tool| tool.tool == self.tool) else {
            let known: Vec<&str> = link.tools.iter().map(|tool| tool.tool.as_str()).collect();
            let why = format!("the MCP server `{}` has no tool `{}`; it has {}", self.server, self.tool, known.join(", "));
            return self.answer_caller(CallEnd::of("unavailable", &why), step);
        };
        if let Some(misfit) = tool.input.misfit(&self.arguments) {
            let why = format!("the arguments do not fit `{}` of the MCP server `{}`: {misfit}", self.tool, self.server);
            return self.answer_caller(CallEnd::of("failed", &why), step);
        }
        let command = hub.next();
        step.commands.push(exchange_command(command, self.event("before_tool", &[], hub)));
        self.stage = CallStage::Before { command };
    }

    /// Takes in the result of its command.
    pub(super) fn take(&mut self, input: &Value, hub: &mut Hub, step: &mut Step<'_>) {
        match std::mem::replace(&mut self.stage, CallStage::Over) {
            CallStage::Before { .. } => self.take_ruling(input, hub, step),
            CallStage::Person { .. } => match input.get("accepted") {
                Some(Value::Bool(true)) => self.send(hub, step),
                decided => {
                    let nobody = "no one could be asked whether it may run";
                    let why = if decided == Some(&Value::Bool(false)) { "a person did not allow it to run" } else { nobody };
                    self.told.clear();
                    self.settle(CallEnd::of("refused", why), hub, step);
                }
            },
            CallStage::Sent { .. } => self.take_result(input, hub, step),
            CallStage::After { ending, .. } => {
                self.add_notices(&answer_of(input));
                self.answer_caller(ending, step);
            }
            other @ (CallStage::Server | CallStage::Over) => self.stage = other,
        }
    }

    /// Takes in the gate's ruling. An unreadable ruling does not permit the call.
    fn take_ruling(&mut self, input: &Value, hub: &mut Hub, step: &mut Step<'_>) {
        let mut answer = answer_of(input);
        let reason =
            json::text(&answer, "reason").or(json::text(input, "refused")).unwrap_or("the gate did not answer").to_owned();
        match json::text(&answer, "verdict") {
            Some("allow") => {
                if let Some(arguments @ Value::Object(_)) = answer.get_mut("args").map(Value::take) {
                    self.arguments = arguments;
                }
                self.add_notices(&answer);
                self.send(hub, step);
            }
            Some("ask") if self.is_attended => {
                self.add_notices(&answer);
                let command = hub.next();
                let message = format!("May `{}` of the MCP server `{}` run? {reason}", self.tool, self.server);
                let fields = [
                    ("type", "ask".into()),
                    ("command", command.into()),
                    ("number", self.number.into()),
                    ("message", message.into()),
                ];
                step.commands.push(object(&mut { fields }));
                self.stage = CallStage::Person { command };
            }
            _ => {
                let reason = self.reason_for_person(&answer, &reason).unwrap_or(reason);
                self.answer_caller(CallEnd::of("refused", &reason), step);
            }
        }
    }

    /// The reason of a refusal for `tollgate mcp call`, whose session has no tool that selects an intent; `None` if the reason
    /// stays as it is.
    fn reason_for_person(&self, answer: &Value, reason: &str) -> Option<String> {
        if self.style != AnswerForm::Own || json::text(answer, "code") != Some(NO_ACTIVE_INTENT) {
            return None;
        }
        let (_, open) = reason.split_once("one of: ").unwrap_or_default();
        let selected = format!("`tollgate intents select ID --session {}`", self.session);
        Some(format!("no intent is active in the session `{}`; select one with {selected}: {open}", self.session))
    }

    fn add_notices(&mut self, answer: &Value) {
        let context = ["context", "notice"].into_iter().filter_map(|key| json::text(answer, key));
        self.told.extend(context.map(str::to_owned));
    }

    fn send(&mut self, hub: &mut Hub, step: &mut Step<'_>) {
        // A connection that has ended in the meantime does not come back for this call.
        let Some((connection, may)) = hub.link(&self.server).and_then(|link| Some((link.ready()?, link.spec.call_timeout_ms)))
        else {
            return self.fail(&ServerFault::Closed("the connection was lost".to_owned()), hub, step);
        };
        let command = hub.next();
        step.commands.push(object(&mut [
            ("type", "call".into()),
            ("connection", connection.into()),
            ("command", command.into()),
            ("tool", self.tool.as_str().into()),
            ("arguments", self.arguments.clone()),
        ]));
        self.stage = CallStage::Sent { command, connection, until: step.now.saturating_add(may.into()) };
    }

    fn take_result(&mut self, input: &Value, hub: &mut Hub, step: &mut Step<'_>) {
        let read = match json::text(input, "result") {
            Some(result) => ToolResult::read(result),
            None => Err(ServerFault::Protocol {
                code: input.get("code").and_then(Value::as_i64).unwrap_or_default(),
                message: json::text(input, "message").unwrap_or_default().to_owned(),
            }),
        };
        let answer = match read {
            Ok(answer) => answer,
            Err(fault) => return self.fail(&fault, hub, step),
        };
        let tool = hub.link(&self.server).and_then(|link| link.tools.iter().find(|tool| tool.tool == self.tool));
        if let Some(misfit) = tool.and_then(|tool| answer.schema_mismatch(tool.output.as_ref()?)) {
            self.told.push(format!(
                "Note: the structured content of this answer does not match what the MCP server `{}` declares for `{}`: {misfit}.",
                self.server, self.tool
            ));
        }
        self.settle(CallEnd { outcome: if answer.is_error { "failed" } else { "done" }, answer }, hub, step);
    }

    fn fail(&mut self, fault: &ServerFault, hub: &mut Hub, step: &mut Step<'_>) {
        let why = fault.words(&self.server, &self.tool);
        self.settle(CallEnd::of("failed", &why), hub, step);
    }

    /// Ends the call, because its connection was lost.
    pub(super) fn on_connection_lost(&mut self, why: &str, hub: &mut Hub, step: &mut Step<'_>) {
        self.fail(&ServerFault::Closed(why.to_owned()), hub, step);
    }

    /// Ends the call, because the caller no longer waits. What the tool has done by now is recorded all the same.
    pub(super) fn abandon(&mut self, hub: &mut Hub, step: &mut Step<'_>) {
        match self.stage {
            CallStage::Sent { .. } => {
                self.withdraw(step);
                self.settle(CallEnd::of("failed", "the caller canceled it"), hub, step);
            }
            CallStage::After { .. } => {}
            CallStage::Server | CallStage::Before { .. } | CallStage::Person { .. } | CallStage::Over => {
                self.stage = CallStage::Over
            }
        }
    }

    /// Tells the host that the tool's answer is no longer needed.
    fn withdraw(&self, step: &mut Step<'_>) {
        if let CallStage::Sent { command, connection, .. } = self.stage {
            let fields = [("type", "cancel".into()), ("connection", connection.into()), ("command", command.into())];
            step.commands.push(object(&mut { fields }));
        }
    }

    /// Lets the gate record the outcome of the call.
    fn settle(&mut self, ending: CallEnd, hub: &mut Hub, step: &mut Step<'_>) {
        if self.style == AnswerForm::Lookup {
            return self.answer_caller(ending, step);
        }
        let text: String = ending.answer.text().chars().take(MAX_ANSWER_CHARS).collect();
        let key = match ending.outcome {
            "done" => "result",
            "refused" => "refused",
            _ => "error",
        };
        let command = hub.next();
        step.commands.push(exchange_command(command, self.event("after_tool", &[(key, text.into())], hub)));
        self.stage = CallStage::After { command, ending };
    }

    /// Answers the caller.
    fn answer_caller(&mut self, CallEnd { outcome, mut answer }: CallEnd, step: &mut Step<'_>) {
        let told = std::mem::take(&mut self.told);
        let result = match self.style {
            AnswerForm::Lookup => {
                let texts: Vec<&str> = answer.content.iter().filter_map(|block| json::text(block, "text")).collect();
                let text = texts.join("\n");
                match outcome {
                    "unavailable" | "late" => outcome.into(),
                    "done" if text.is_empty() => "unknown".into(),
                    "done" => object(&mut [("text", text.into())]),
                    _ => object(&mut [("failed", text.into())]),
                }
            }
            AnswerForm::Protocol => {
                answer.append_notes(&told);
                answer.to_mcp()
            }
            AnswerForm::Own => {
                let mut result = answer.to_json();
                if let Some(result) = result.as_object_mut() {
                    result.insert("outcome".to_owned(), outcome.into());
                    result.insert("server".to_owned(), self.server.as_str().into());
                    result.insert("tool".to_owned(), self.tool.as_str().into());
                    result.insert("notes".to_owned(), told.into());
                }
                result
            }
        };
        step.commands.push(reply(self.number, result));
        self.stage = CallStage::Over;
    }

    /// The event for the gate, in the format of the program `generic`.
    fn event(&self, name: &str, more: &[(&str, Value)], hub: &Hub) -> Value {
        let cwd = hub.link(&self.server).and_then(|link| match &link.spec.transport {
            Transport::Stdio { cwd, .. } => cwd.clone(),
            Transport::Http(_) | Transport::Sse(_) => None,
        });
        let mut fields = vec![
            ("event", name.into()),
            ("session", self.session.as_str().into()),
            ("call", self.id.as_str().into()),
            ("tool", format!("mcp__{}__{}", self.server, self.tool).into()),
            ("server", self.server.as_str().into()),
            ("server_tool", self.tool.as_str().into()),
            ("args", self.arguments.clone()),
            ("unattended", (!self.is_attended).into()),
        ];
        fields.extend(cwd.map(|cwd| ("cwd", cwd.into())));
        fields.extend(more.iter().cloned());
        object(&mut fields)
    }
}

fn exchange_command(command: u64, payload: Value) -> Value {
    object(&mut [("type", "exchange".into()), ("command", command.into()), ("payload", payload)])
}

/// The gate's answer, in the format of the program `generic`; null if it cannot be read.
fn answer_of(input: &Value) -> Value {
    json::text(input, "text").and_then(|text| json::value(text).ok()).unwrap_or_default()
}

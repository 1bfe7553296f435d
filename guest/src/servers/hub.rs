//! All connections to MCP servers, as a state machine without sockets or a clock: takes events, returns commands.
//!
//! A host carries messages. It connects, lists, calls and disconnects as instructed, and reports the results; which servers
//! are connected, how long anything may take, when a server is tried again, what its tools are called and what becomes of a call
//! is decided here.
//!
//! # Inputs
//!
//! | `type` | what happened |
//! | --- | --- |
//! | `want` `{servers?}` | these servers should stay connected; without `servers`, all |
//! | `connected` `{connection, info}` | a connection is made; the result of `initialize` |
//! | `listed` `{connection, tools}` | the entries of `tools/list`, each as a text of its own |
//! | `changed` `{connection}` | the server says that its tools have changed |
//! | `closed` `{connection, kind, why}` | a connection has ended or could not be made; `kind` is `missing`, `denied`, `redirect`, `flood` or `ended` |
//! | `answered` `{command, result}` or `{command, code, message}` | what a call brought: the result as a text, or an error of the protocol |
//! | `exchanged` `{command, text, refused?}` | what the gate answered to a payload |
//! | `decided` `{command, accepted}` | what a person decided; null if no one could be asked |
//! | `request` `{number, method, params}` | a client makes a request; the module `request` lists them |
//! | `cancel` `{number}` | the client withdraws that request |
//! | `reload` | declarations may have changed |
//! | `shutdown` | everything ends |
//!
//! # Commands
//!
//! | `type` | what to do |
//! | --- | --- |
//! | `connect` `{connection, server, transport}` | make a connection; report `connected` or `closed` |
//! | `list` `{connection}` | ask for all tools; report `listed` |
//! | `call` `{connection, command, tool, arguments}` | call a tool; report `answered` |
//! | `cancel` `{connection, command}` | that answer is no longer needed |
//! | `disconnect` `{connection}` | end the connection, and the server with it; nothing is reported |
//! | `exchange` `{command, payload}` | tell the gate of an event, as the program `generic` would; report `exchanged` |
//! | `ask` `{command, number, message}` | ask the person behind that request; report `decided` |
//! | `reply` `{number, result}` or `{number, error}` | answer a request |
//! | `tools_changed` | the tools differ from those that were listed last |
//! | `stopped` | everything is disconnected |

use serde_json::Value;

use super::call::ServerCall;
use super::extension_servers::ExtensionServers;
use super::link::{LinkState, ServerLink};
use super::registry::ServerRegistry;
use super::request::{Request, refusal};
use super::tool::{self, McpTool};
use super::{ServerSource, secret, settings};
use crate::config;
use crate::home;
use crate::json::{self, object};
use crate::ports::{Ports, Question, Root};
use crate::programs::own_tools::OWN_TOOLS;

/// Maximum number of requests under way.
const MAX_REQUESTS: usize = 1_024;

/// Which servers should stay connected.
#[derive(Debug, Default)]
enum WantedServers {
    /// Only those that requests are about.
    #[default]
    None,
    Some(Vec<String>),
    All,
}

/// All connections.
#[derive(Debug, Default)]
pub struct Hub {
    pub(super) links: Vec<ServerLink>,
    wants: WantedServers,
    requests: Vec<Request>,
    warnings: Vec<String>,
    /// The stamps of the files that declare servers when these were read, and the revision of the extensions.
    stamps: Option<Vec<u64>>,
    /// Values of settings that were sent in orders: they are hidden wherever else they occur.
    secrets: Vec<String>,
    /// Whether servers were added or removed since their tools were named.
    has_other_links: bool,
    /// The names of all tools, in the order of the servers and theirs.
    pub(super) names: Vec<String>,
    /// The names that were last listed to a client; `None` if no client has asked.
    told: Option<Vec<String>>,
    last: u64,
    is_stopping: bool,
}

/// The context of a step.
pub(super) struct Step<'s> {
    pub(super) now: u64,
    pub(super) ports: &'s Ports,
    extensions: &'s dyn ExtensionServers,
    pub(super) commands: Vec<Value>,
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HubTurn {
    /// The commands to carry out, in this order.
    pub commands: Vec<Value>,
    /// When to step again even if nothing happens.
    pub next_deadline_ms: Option<u64>,
}

impl Hub {
    /// Processes inputs; returns the commands that follow.
    pub fn step(&mut self, now: u64, inputs: &[Value], extensions: &dyn ExtensionServers, ports: &Ports) -> HubTurn {
        let mut step = Step { now, ports, extensions, commands: Vec::new() };
        for input in inputs {
            self.take(input, &mut step);
        }
        self.expire(&mut step);
        self.connect_wanted(&mut step);
        self.name_tools();
        self.advance(&mut step);
        self.report_tool_changes(&mut step);
        let wanted = |link: &ServerLink| self.is_wanted(&link.spec.name);
        let links = self.links.iter().filter_map(|link| link.deadline(wanted(link)));
        let next_deadline_ms = links.chain(self.requests.iter().filter_map(|request| request.call()?.deadline())).min();
        if self.is_stopping && self.requests.is_empty() {
            step.commands.push(object(&mut [("type", "stopped".into())]));
            self.is_stopping = false;
        }
        self.hide_secrets(&mut step.commands);
        HubTurn { commands: step.commands, next_deadline_ms }
    }

    /// A number that has not been given before.
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn take(&mut self, input: &Value, step: &mut Step<'_>) {
        let number = |key: &str| input.get(key).and_then(Value::as_u64);
        let text = |key: &str| json::text(input, key).unwrap_or_default();
        let (now, ports) = (step.now, step.ports);
        match text("type") {
            "want" => {
                self.refresh(step);
                self.wants = match input.get("servers").and_then(Value::as_array) {
                    Some(names) => WantedServers::Some(names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect()),
                    None => WantedServers::All,
                };
            }
            "connected" => {
                let asked = self.link_of_connection(number("connection")).and_then(|link| link.on_connected(input, now, ports));
                step.commands.extend(asked);
            }
            "listed" => {
                if let Some(link) = self.link_of_connection(number("connection")) {
                    link.on_listed(input, now, ports);
                }
            }
            "changed" => {
                if let Some(connection) = number("connection").filter(|_| self.link_of_connection(number("connection")).is_some())
                {
                    step.commands.push(object(&mut [("type", "list".into()), ("connection", connection.into())]));
                }
            }
            "closed" => self.close(number("connection"), text("kind"), text("why"), step),
            "answered" | "exchanged" | "decided" => {
                let of = number("command");
                let waiting = self.requests.iter().filter_map(Request::call).find(|call| of.is_some() && call.waits_for() == of);
                if let Some(link) = self.link_of_connection(waiting.and_then(ServerCall::connection)) {
                    link.has_served = true;
                }
                self.with_calls(|call| of.is_some() && call.waits_for() == of, |call, hub| call.take(input, hub, step));
            }
            "request" => {
                self.refresh(step);
                self.begin(input, step);
            }
            "cancel" => {
                let of = number("number");
                self.requests.retain(|request| Some(request.number) != of || request.call().is_some());
                self.with_calls(|call| Some(call.number) == of, |call, hub| call.abandon(hub, step));
            }
            "reload" => {
                self.stamps = None;
                self.refresh(step);
            }
            "shutdown" => {
                self.is_stopping = true;
                self.wants = WantedServers::None;
                for request in std::mem::take(&mut self.requests) {
                    step.commands.push(refusal(request.number, "connections to MCP servers are being shut down"));
                }
                self.has_other_links = true;
                for link in std::mem::take(&mut self.links) {
                    disconnect(&link, step);
                }
                self.stamps = None;
            }
            _ => {}
        }
    }

    fn link_of_connection(&mut self, connection: Option<u64>) -> Option<&mut ServerLink> {
        self.links.iter_mut().find(|link| connection.is_some() && link.connection() == connection)
    }

    pub(super) fn link(&self, server: &str) -> Option<&ServerLink> {
        self.links.iter().find(|link| link.spec.name == server)
    }

    fn is_wanted(&self, server: &str) -> bool {
        match &self.wants {
            WantedServers::None => false,
            WantedServers::Some(names) => names.iter().any(|name| name == server),
            WantedServers::All => true,
        }
    }

    /// Handles the end of a connection.
    fn close(&mut self, connection: Option<u64>, kind: &str, why: &str, step: &mut Step<'_>) {
        let secrets = std::mem::take(&mut self.secrets);
        let why = masked_text(why, &secrets);
        self.secrets = secrets;
        let Some(link) = self.link_of_connection(connection) else { return };
        link.on_closed(kind, &why, step.now, step.ports);
        let why = link.why_unavailable().unwrap_or_default().to_owned();
        self.fail_calls(connection, &why, step);
    }

    /// Ends all calls that wait for an answer over a connection.
    fn fail_calls(&mut self, connection: Option<u64>, why: &str, step: &mut Step<'_>) {
        self.with_calls(
            |call| connection.is_some() && call.connection() == connection,
            |call, hub| call.on_connection_lost(why, hub, step),
        );
    }

    /// Continues some of the calls under way.
    fn with_calls(&mut self, which: impl Fn(&ServerCall) -> bool, mut work: impl FnMut(&mut ServerCall, &mut Self)) {
        for mut request in std::mem::take(&mut self.requests) {
            if let Some(call) = request.call_mut().filter(|call| which(call)) {
                work(call, self);
            }
            self.requests.push(request);
        }
    }

    /// Ends what exceeds its time limit.
    fn expire(&mut self, step: &mut Step<'_>) {
        let late = |link: &ServerLink| link.connection().filter(|_| link.deadline(false).is_some_and(|until| until <= step.now));
        let late: Vec<u64> = self.links.iter().filter_map(late).collect();
        for connection in late {
            let seconds =
                self.link_of_connection(Some(connection)).map_or(0.0, |link| f64::from(link.spec.connect_timeout_ms) / 1_000.0);
            step.commands.push(object(&mut [("type", "disconnect".into()), ("connection", connection.into())]));
            self.close(Some(connection), "late", &format!("it may take {seconds} s"), step);
        }
    }

    fn connect_wanted(&mut self, step: &mut Step<'_>) {
        for at in 0..self.links.len() {
            let is_due = |link: &ServerLink| match link.state {
                LinkState::Idle => true,
                LinkState::Waiting { until, .. } => until <= step.now,
                _ => false,
            };
            if self.links.get(at).is_some_and(|link| self.is_wanted(&link.spec.name) && is_due(link)) {
                self.connect(at, step);
            }
        }
    }

    /// Whether it is known for now which of the servers can be used, or whether one of them can.
    pub(super) fn is_settled(&self, server: Option<&str>) -> bool {
        let is_meant = |link: &&ServerLink| server.is_none_or(|server| link.spec.name == server);
        self.links.iter().filter(is_meant).all(|link| link.is_settled() || link.state == LinkState::Idle)
    }

    /// Connects to a server that is needed, if it is due, or to all that may be needed.
    pub(super) fn demand(&mut self, server: Option<&str>, step: &mut Step<'_>) {
        for at in 0..self.links.len() {
            let is_meant = |link: &ServerLink| match (server, &self.wants) {
                (Some(server), _) => link.spec.name == server,
                (None, WantedServers::Some(names)) => names.contains(&link.spec.name),
                (None, WantedServers::None | WantedServers::All) => true,
            };
            if self.links.get(at).is_some_and(|link| is_meant(link) && link.is_due(step.now)) {
                self.connect(at, step);
            }
        }
    }

    fn connect(&mut self, at: usize, step: &mut Step<'_>) {
        let connection = self.next();
        if let Some(link) = self.links.get_mut(at)
            && let ServerSource::Extension(extension) = &link.spec.source
            && let Err(why) = step.extensions.verify(extension)
        {
            return link.on_closed("unapproved", &why, step.now, step.ports);
        }
        let resolved = std::cell::RefCell::new(Vec::new());
        let value = |source: &ServerSource, key: &str| {
            let value = settings::value(source, key, step.extensions, step.ports)?;
            resolved.borrow_mut().push(value.clone());
            Some(value)
        };
        let ordered = self.links.get_mut(at).and_then(|link| link.connect(connection, step.now, &value));
        step.commands.extend(ordered);
        for value in resolved.into_inner() {
            // A short secret is part of too many words to be replaced everywhere.
            if value.len() >= secret::MIN_HIDDEN && !self.secrets.contains(&value) {
                self.secrets.push(value);
            }
        }
    }

    /// Reads the declarations of servers again if they have changed.
    fn refresh(&mut self, step: &mut Step<'_>) {
        let ports = step.ports;
        let question = |root, path: &str| Question { root, path: path.to_owned(), digest: false };
        let files = [question(Root::Home, home::SETTINGS), question(Root::Project, config::PATH)];
        let stamps = ports.workspace.inspect(&files).into_iter().map(|facts| facts.stamp);
        let stamps: Vec<u64> = stamps.chain([step.extensions.revision()]).collect();
        if self.stamps.as_ref() == Some(&stamps) {
            return;
        }
        self.stamps = Some(stamps);
        let registry = ServerRegistry::read_declared(step.extensions, ports);
        for why in registry.warnings().iter().filter(|why| !self.warnings.contains(why)) {
            ports.warn(why);
        }
        self.warnings = registry.warnings().to_vec();
        self.has_other_links = true;
        let mut before = std::mem::take(&mut self.links);
        for spec in registry.servers() {
            match before.iter().position(|link| link.spec == *spec) {
                // A server that was refused may be allowed by now.
                Some(at) if !matches!(before.get(at).map(|link| &link.state), Some(LinkState::Refused(_))) => {
                    self.links.push(before.swap_remove(at));
                }
                _ => self.links.push(ServerLink::new(spec.clone(), ports)),
            }
        }
        for link in before {
            if let connection @ Some(_) = link.connection() {
                disconnect(&link, step);
                self.fail_calls(connection, "it is no longer declared", step);
            }
        }
    }

    /// Names the tools again if they have changed: there may be a thousand.
    fn name_tools(&mut self) {
        let has_others = self.links.iter_mut().fold(false, |any, link| any | std::mem::take(&mut link.has_other_tools));
        if !std::mem::take(&mut self.has_other_links) && !has_others {
            return;
        }
        let reserved: Vec<&str> = OWN_TOOLS.iter().map(|tool| tool.name).collect();
        self.names = tool::names(self.links.iter().flat_map(|link| &link.tools), &reserved);
    }

    /// Every tool with its name.
    pub(super) fn tools(&self) -> impl Iterator<Item = (&str, &McpTool)> {
        self.names.iter().map(String::as_str).zip(self.links.iter().flat_map(|link| &link.tools))
    }

    /// The tool with this name: the name under which it is offered, or `SERVER__TOOL`.
    pub(super) fn tool(&self, name: &str) -> Option<&McpTool> {
        let offered = self.tools().find(|(offered, _)| *offered == name).map(|(_, tool)| tool);
        offered.or_else(|| {
            self.tools().find(|(_, tool)| tool::qualified_name(&tool.server, &tool.tool) == name).map(|(_, tool)| tool)
        })
    }

    fn begin(&mut self, input: &Value, step: &mut Step<'_>) {
        let number = input.get("number").and_then(Value::as_u64).unwrap_or_default();
        match Request::read(number, input) {
            Ok(_) if self.requests.len() >= MAX_REQUESTS || self.is_stopping => {
                step.commands.push(refusal(number, "too many calls to MCP servers are in progress; try again later"));
            }
            Ok(request) => self.requests.push(request),
            Err(why) => step.commands.push(refusal(number, &why)),
        }
    }

    /// Advances every request as far as possible.
    fn advance(&mut self, step: &mut Step<'_>) {
        for mut request in std::mem::take(&mut self.requests) {
            request.advance(self, step);
            if !request.finish(self, step) {
                self.requests.push(request);
            }
        }
    }

    /// Remembers the tool names that were announced to a client.
    pub(super) fn mark_names_announced(&mut self) {
        self.told = Some(self.names.clone());
    }

    fn report_tool_changes(&mut self, step: &mut Step<'_>) {
        if self.told.as_ref().is_some_and(|told| *told != self.names) {
            self.told = Some(self.names.clone());
            step.commands.push(object(&mut [("type", "tools_changed".into())]));
        }
    }

    /// The state of every server.
    pub(super) fn status(&self, now: u64) -> Value {
        object(&mut [
            ("servers", self.links.iter().map(|link| link.status(now)).collect()),
            ("warnings", self.warnings.clone().into()),
        ])
    }

    /// Hides secrets in commands: a server that prints its environment prints its token too.
    fn hide_secrets(&self, commands: &mut [Value]) {
        if self.secrets.is_empty() {
            return;
        }
        for command in commands.iter_mut().filter(|command| json::text(command, "type") != Some("connect")) {
            mask_secrets(command, &self.secrets);
        }
    }
}

fn mask_secrets(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) if secrets.iter().any(|secret| text.contains(secret)) => *text = masked_text(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_secrets(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|field| mask_secrets(field, secrets)),
        _ => {}
    }
}

fn masked_text(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), crate::redact::MARK))
}

fn disconnect(link: &ServerLink, step: &mut Step<'_>) {
    if let Some(connection) = link.connection() {
        step.commands.push(object(&mut [("type", "disconnect".into()), ("connection", connection.into())]));
    }
}

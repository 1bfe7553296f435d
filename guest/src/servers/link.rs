//! One server and the connection to it: when it is made, when it is tried again, which tools it has.

use serde_json::Value;

use super::claim;
use super::permit;
use super::secret::{self, SettingLookup};
use super::spec::{Endpoint, ServerSpec, Transport};
use super::tool::McpTool;
use crate::json::{self, object};
use crate::ports::Ports;

/// The first wait before a server is retried; it doubles with every failure.
const FIRST_WAIT_MS: u64 = 1_000;

/// Maximum wait before a server is retried.
const MAX_WAIT_MS: u64 = 60_000;

/// A connection that lasted this long, or that served a call, was a good one: earlier failures no longer count.
const STEADY_MS: u64 = 60_000;

/// Maximum number of a server's tools.
const MAX_TOOLS: usize = 1_000;

/// How much is kept of what the host or the server says about a fault.
const MAX_WHY: usize = 500;

/// Maximum size of what a server may send: in one message, and in all its tools together.
const MAX_MESSAGE_BYTES: u64 = 10 << 20;

/// Maximum size of what it may send that is not a message.
const MAX_GARBAGE_BYTES: u64 = 1 << 20;

/// Maximum size of messages that it may send unasked between two answers.
const MAX_UNASKED_BYTES: u64 = 64 << 20;

/// Maximum number of pages of a list of tools.
const MAX_PAGES: u64 = 20;

/// The limits that the host applies while it reads.
fn limits() -> Value {
    object(&mut [
        ("message_bytes", MAX_MESSAGE_BYTES.into()),
        ("garbage_bytes", MAX_GARBAGE_BYTES.into()),
        ("unasked_bytes", MAX_UNASKED_BYTES.into()),
        ("pages", MAX_PAGES.into()),
    ])
}

/// The state of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkState {
    /// It has not been asked for yet.
    Idle,
    /// It may not be started, or cannot be; the reason. This lasts until its declaration changes.
    Refused(String),
    /// The connection is being made.
    Connecting { connection: u64, until: u64 },
    /// The connection is made, and the tools are being listed.
    Listing { connection: u64, until: u64 },
    /// It can be used.
    Ready { connection: u64, since: u64 },
    /// It failed, and will be retried.
    Waiting { until: u64, why: String },
}

/// A server and its connection.
#[derive(Debug)]
pub(super) struct ServerLink {
    pub(super) spec: ServerSpec,
    pub(super) state: LinkState,
    /// How often it failed in a row.
    failures: u32,
    /// Whether the last connection was ready before it ended.
    had_worked: bool,
    /// Whether its program was missing when it was last started.
    is_missing: bool,
    /// Whether a call was answered over this connection.
    pub(super) has_served: bool,
    /// What the server calls itself, and its version.
    pub(super) identity: Option<(String, String)>,
    pub(super) tools: Vec<McpTool>,
    /// Whether its tools differ from those that were last named.
    pub(super) has_other_tools: bool,
    /// What was left out of its tools, and why.
    pub(super) warnings: Vec<String>,
}

impl ServerLink {
    pub(super) fn new(spec: ServerSpec, ports: &Ports) -> Self {
        let state = match permit::check(&spec, ports) {
            Ok(()) => LinkState::Idle,
            Err(why) => LinkState::Refused(why),
        };
        Self {
            spec,
            state,
            failures: 0,
            had_worked: false,
            is_missing: false,
            has_served: false,
            identity: None,
            tools: Vec::new(),
            has_other_tools: false,
            warnings: Vec::new(),
        }
    }

    /// The connection's number, if there is one.
    pub(super) fn connection(&self) -> Option<u64> {
        match self.state {
            LinkState::Connecting { connection, .. }
            | LinkState::Listing { connection, .. }
            | LinkState::Ready { connection, .. } => Some(connection),
            LinkState::Idle | LinkState::Refused(_) | LinkState::Waiting { .. } => None,
        }
    }

    /// The connection, if it can be used.
    pub(super) fn ready(&self) -> Option<u64> {
        if let LinkState::Ready { connection, .. } = self.state { Some(connection) } else { None }
    }

    /// Whether there is nothing to connect to, or connecting is not allowed.
    pub(super) fn is_absent(&self) -> bool {
        self.is_missing || matches!(self.state, LinkState::Refused(_))
    }

    /// Whether it is known for now whether it can be used.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, LinkState::Refused(_) | LinkState::Ready { .. } | LinkState::Waiting { .. })
    }

    /// When something has to be done even if nothing happens.
    pub(super) fn deadline(&self, is_wanted: bool) -> Option<u64> {
        match self.state {
            LinkState::Connecting { until, .. } | LinkState::Listing { until, .. } => Some(until),
            LinkState::Waiting { until, .. } => is_wanted.then_some(until),
            LinkState::Idle | LinkState::Refused(_) | LinkState::Ready { .. } => None,
        }
    }

    /// Whether a request should make it connect now. A server that worked before gets its first retry without delay.
    pub(super) fn is_due(&self, now: u64) -> bool {
        match &self.state {
            LinkState::Idle => true,
            LinkState::Waiting { until, .. } => now >= *until || (self.had_worked && self.failures <= 1),
            _ => false,
        }
    }

    /// Orders the connection. Its settings are resolved now and appear only in the order.
    pub(super) fn connect(&mut self, connection: u64, now: u64, settings: &SettingLookup<'_>) -> Option<Value> {
        match self.transport(settings) {
            Ok(transport) => {
                let until = now.saturating_add(self.spec.connect_timeout_ms.into());
                self.state = LinkState::Connecting { connection, until };
                Some(object(&mut [
                    ("type", "connect".into()),
                    ("connection", connection.into()),
                    ("server", self.spec.name.as_str().into()),
                    ("transport", transport),
                ]))
            }
            Err(key) => {
                let why = format!("the setting `{key}`, which it needs, is not set");
                self.state = LinkState::Refused(why);
                None
            }
        }
    }

    /// How it is reached, or the setting that is missing.
    fn transport(&self, settings: &SettingLookup<'_>) -> Result<Value, String> {
        let resolved = |pairs: &[(String, String)]| {
            let pair = |(name, value): &(String, String)| {
                Ok((name.clone(), Value::from(secret::resolve(value, &self.spec.source, settings)?)))
            };
            pairs.iter().map(pair).collect::<Result<_, String>>().map(Value::Object)
        };
        let endpoint = |Endpoint { address, headers }: &Endpoint| {
            Ok(object(&mut [
                ("type", self.spec.kind().into()),
                ("url", address.to_string().into()),
                ("headers", resolved(headers)?),
                ("limits", limits()),
            ]))
        };
        match &self.spec.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let mut fields = vec![
                    ("type", "stdio".into()),
                    ("argv", std::iter::once(command).chain(args).map(String::as_str).collect()),
                    ("inherit", permit::inherited_variables().into()),
                    ("set", resolved(env)?),
                    ("cwd", cwd.clone().into()),
                    ("limits", limits()),
                ];
                // For the gate, which writes it into `argv`.
                fields.extend(self.spec.confine.then_some(("confine", true.into())));
                Ok(object(&mut fields))
            }
            Transport::Http(at) | Transport::Sse(at) => endpoint(at),
        }
    }

    /// Takes in the server's introduction; its tools are asked for next.
    pub(super) fn on_connected(&mut self, input: &Value, now: u64, ports: &Ports) -> Option<Value> {
        let LinkState::Connecting { connection, until } = self.state else { return None };
        let info = input.pointer("/info/serverInfo").unwrap_or(&Value::Null);
        let word = |key: &str| json::text(info, key).unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect();
        self.identity = Some((word("name"), word("version")));
        if input.pointer("/info/capabilities/tools").is_none() {
            self.on_listed(&Value::Null, now, ports);
            return None;
        }
        self.state = LinkState::Listing { connection, until };
        Some(object(&mut [("type", "list".into()), ("connection", connection.into())]))
    }

    /// Takes in the server's tools: each is a text of its own, so that one that cannot be read does not hide the others.
    pub(super) fn on_listed(&mut self, input: &Value, now: u64, ports: &Ports) {
        let Some(connection) = self.connection() else { return };
        (self.tools, self.warnings, self.has_other_tools) = (Vec::new(), Vec::new(), true);
        self.warnings.extend(json::text(input, "failed").map(|why| format!("its tools cannot be listed: {why}")));
        let listed = input.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if listed.len() > MAX_TOOLS {
            self.warnings.push(format!("of {} tools only the first {MAX_TOOLS} are used", listed.len()));
        }
        for text in listed.iter().take(MAX_TOOLS) {
            match McpTool::read(&self.spec.name, text.as_str().unwrap_or_default()) {
                Ok(tool) if self.tools.iter().any(|other| other.tool == tool.tool) => {
                    self.warnings.push(format!("the tool `{}` is listed twice; the first one counts", tool.tool));
                }
                Ok(tool) => self.tools.push(tool),
                Err(why) => self.warnings.push(why),
            }
        }
        for why in &self.warnings {
            ports.warn(&format!("the MCP server `{}`: {why}", self.spec.name));
        }
        let claims: Vec<Value> = self.tools.iter().map(|tool| tool.to_mcp(&tool.tool)).collect();
        // Best effort: a claim that is not stored simply does not count.
        let _ = claim::keep(&self.spec.name, &claims, ports);
        if !matches!(self.state, LinkState::Ready { .. }) {
            self.state = LinkState::Ready { connection, since: now };
        }
    }

    /// Handles the end of a connection, or a failure to connect.
    pub(super) fn on_closed(&mut self, kind: &str, why: &str, now: u64, ports: &Ports) {
        let since = match self.state {
            LinkState::Ready { since, .. } => Some(since),
            _ => None,
        };
        let detail: String = why.trim().chars().filter(|c| !c.is_control()).take(MAX_WHY).collect();
        let missing = match &self.spec.transport {
            Transport::Stdio { command, .. } => {
                format!("its program `{command}` cannot be found; install it, or correct `command`")
            }
            Transport::Http(_) | Transport::Sse(_) => "it does not exist".to_owned(),
        };
        let what = match (kind, since) {
            ("missing", _) => missing.as_str(),
            ("denied", _) => "it does not accept the credentials",
            ("redirect", _) => "it redirects to another host, which is refused",
            ("flood", _) => "it sent more than it may and was cut off",
            ("late", _) => "it was not ready in time",
            ("unapproved", _) => "its extension may not start it",
            ("unconfined", _) => "it was not started",
            (_, Some(_)) => "it ended",
            (_, None) => "it could not be connected to",
        };
        let why = if detail.is_empty() { what.to_owned() } else { format!("{what}: {detail}") };
        ports.warn(&format!("the MCP server `{}` is not available: {why}", self.spec.name));
        if std::mem::take(&mut self.has_served) || since.is_some_and(|since| now.saturating_sub(since) >= STEADY_MS) {
            self.failures = 0;
        }
        (self.had_worked, self.is_missing) = (since.is_some(), kind == "missing");
        self.failures = self.failures.saturating_add(1);
        (self.identity, self.tools, self.has_other_tools) = (None, Vec::new(), true);
        // A problem that a person has to fix is not retried every second.
        let wait = match kind {
            "missing" | "denied" | "redirect" | "unapproved" | "unconfined" => MAX_WAIT_MS,
            _ => (FIRST_WAIT_MS << (self.failures - 1).min(6)).min(MAX_WAIT_MS),
        };
        self.state = LinkState::Waiting { until: now.saturating_add(wait), why };
    }

    /// Why it cannot be used now; `None` if it can.
    pub(super) fn why_unavailable(&self) -> Option<&str> {
        match &self.state {
            LinkState::Ready { .. } => None,
            LinkState::Refused(why) | LinkState::Waiting { why, .. } => Some(why),
            LinkState::Idle | LinkState::Connecting { .. } | LinkState::Listing { .. } => Some("it is not connected yet"),
        }
    }

    /// Its state, for people and programs.
    pub(super) fn status(&self, now: u64) -> Value {
        let (word, retry) = match &self.state {
            LinkState::Idle => ("idle", None),
            LinkState::Refused(_) if self.spec.disabled => ("disabled", None),
            LinkState::Refused(_) => ("refused", None),
            LinkState::Connecting { .. } | LinkState::Listing { .. } => ("connecting", None),
            LinkState::Ready { .. } => ("connected", None),
            LinkState::Waiting { until, .. } => ("unavailable", Some(until.saturating_sub(now))),
        };
        let why = match &self.state {
            LinkState::Refused(why) | LinkState::Waiting { why, .. } => Value::from(why.as_str()),
            _ => Value::Null,
        };
        let identity = self
            .identity
            .as_ref()
            .map(|(name, version)| object(&mut [("name", name.as_str().into()), ("version", version.as_str().into())]));
        object(&mut [
            ("name", self.spec.name.as_str().into()),
            ("state", word.into()),
            ("why", why),
            ("retry_ms", retry.map(Value::from).unwrap_or_default()),
            ("transport", self.spec.kind().into()),
            ("target", self.spec.target().into()),
            ("source", self.spec.source.to_string().into()),
            ("tools", self.tools.len().into()),
            ("server", identity.unwrap_or_default()),
            ("settings", self.spec.settings().into()),
            ("warnings", self.warnings.clone().into()),
        ])
    }
}

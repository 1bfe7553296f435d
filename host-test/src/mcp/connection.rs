//! Runs one connection to one MCP server, as ordered by the gate.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, Uri};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientRequest,
    CustomRequest, Implementation, ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, QuitReason, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError, ServiceExt as _};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::bounds::Bounds;
use super::http::{HttpClient, parse_headers};
use super::sse::SseTransport;
use super::stdio::ServerProcess;

/// Reports an input to the gate.
pub(super) type Report = Arc<dyn Fn(Value) + Send + Sync>;

/// Orders to a connection. Dropping the sender ends the connection.
pub(super) enum Order {
    List,
    Call { command: u64, tool: String, arguments: Value },
    Cancel { command: u64 },
}

/// Why a connection ended, as reported to the gate.
struct CloseReason {
    kind: &'static str,
    why: String,
}

impl CloseReason {
    fn ended(why: impl ToString) -> Self {
        Self { kind: "ended", why: why.to_string() }
    }
}

/// Handles requests and notifications from a server. Servers cannot request anything; they can only report that their tools have
/// changed.
struct Handler {
    connection: u64,
    report: Report,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("tollgate", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        (self.report)(json!({"type": "changed", "connection": self.connection}));
    }
}

/// Makes a connection, keeps it open, and ends it with everything that belongs to it. The end is reported to the gate, unless the
/// gate ordered it.
pub(super) async fn run(connection: u64, transport: Value, folder: &Path, report: Report, mut orders: UnboundedReceiver<Order>) {
    let bounds = Arc::new(Bounds::new(&transport));
    let handler = Handler { connection, report: Arc::clone(&report) };
    let relay = Relay { connection, report: Arc::clone(&report), bounds: Arc::clone(&bounds) };
    let closed = match transport.get("type").and_then(Value::as_str) {
        Some("stdio") => run_over_pipes(handler, &relay, &transport, folder, &mut orders).await,
        Some(kind @ ("http" | "sse")) => run_over_http(handler, &relay, &transport, kind == "sse", &mut orders).await,
        _ => Some(CloseReason::ended("this host does not support the transport")),
    };
    if let Some(CloseReason { kind, why }) = closed {
        let kind = if bounds.are_exceeded() { "flood" } else { kind };
        report(json!({"type": "closed", "connection": connection, "kind": kind, "why": why}));
    }
}

async fn run_over_pipes(
    handler: Handler,
    relay: &Relay,
    transport: &Value,
    folder: &Path,
    orders: &mut UnboundedReceiver<Order>,
) -> Option<CloseReason> {
    let (process, pipes) = match ServerProcess::start(transport, folder, &relay.bounds) {
        Ok(started) => started,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            return Some(CloseReason { kind: "missing", why: String::new() });
        }
        Err(fault) => return Some(CloseReason::ended(fault)),
    };
    let closed = tokio::select! {
        served = handler.serve(pipes) => match served {
            Ok(service) => relay.run(service, orders).await,
            Err(fault) => Some(CloseReason::ended(fault)),
        },
        () = wait_until_dropped(orders) => None,
    };
    let stderr = process.end().await;
    closed.map(|closed| if stderr.is_empty() { closed } else { CloseReason { why: stderr, ..closed } })
}

async fn run_over_http(
    handler: Handler,
    relay: &Relay,
    transport: &Value,
    is_sse: bool,
    orders: &mut UnboundedReceiver<Order>,
) -> Option<CloseReason> {
    let url = transport.get("url").and_then(Value::as_str).unwrap_or_default();
    let Ok(address) = url.parse::<Uri>() else { return Some(CloseReason::ended("its address cannot be read")) };
    let client = match HttpClient::new(&address, Arc::clone(&relay.bounds)) {
        Ok(client) => client,
        Err(fault) => return Some(CloseReason::ended(fault)),
    };
    let headers = parse_headers(transport.get("headers").and_then(Value::as_object));
    let closed = tokio::select! {
        served = serve_http(handler, client.clone(), url, &address, headers, is_sse) => match served {
            Ok(service) => tokio::select! {
                closed = relay.run(service, orders) => closed,
                fault = client.wait_for_fault() => Some(CloseReason { kind: fault.kind, why: fault.why }),
            },
            Err(closed) => Some(closed),
        },
        () = wait_until_dropped(orders) => None,
    };
    // The first fault is more informative than the errors that followed from it.
    closed.map(|closed| client.fault().map_or(closed, |fault| CloseReason { kind: fault.kind, why: fault.why }))
}

async fn serve_http(
    handler: Handler,
    client: HttpClient,
    url: &str,
    address: &Uri,
    headers: HeaderMap,
    is_sse: bool,
) -> Result<RunningService<RoleClient, Handler>, CloseReason> {
    if is_sse {
        let transport = SseTransport::connect(client, address, headers).await;
        let transport = transport.map_err(|fault| CloseReason { kind: fault.kind, why: fault.why })?;
        return handler.serve(transport).await.map_err(CloseReason::ended);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.custom_headers = headers.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
    config.max_sse_event_size = client.max_message_bytes();
    handler.serve(StreamableHttpClientTransport::with_client(client, config)).await.map_err(CloseReason::ended)
}

/// Waits until the connection is no longer needed. Before a connection is made, its end is the only possible order.
async fn wait_until_dropped(orders: &mut UnboundedReceiver<Order>) {
    while orders.recv().await.is_some() {}
}

/// Passes orders on to a server, and its answers to the gate.
struct Relay {
    connection: u64,
    report: Report,
    bounds: Arc<Bounds>,
}

impl Relay {
    /// Runs until the connection breaks or is no longer needed.
    async fn run(
        &self,
        service: RunningService<RoleClient, Handler>,
        orders: &mut UnboundedReceiver<Order>,
    ) -> Option<CloseReason> {
        let peer = service.peer().clone();
        let info = peer.peer_info().and_then(|info| serde_json::to_value(&*info).ok()).unwrap_or_default();
        (self.report)(json!({"type": "connected", "connection": self.connection, "info": info}));
        let mut calls: HashMap<u64, oneshot::Sender<()>> = HashMap::new();
        let waiting = service.waiting();
        tokio::pin!(waiting);
        loop {
            tokio::select! {
                quit = &mut waiting => return Some(CloseReason::ended(match quit {
                    Ok(QuitReason::Closed) | Err(_) => "",
                    Ok(_) => "its connection was canceled",
                })),
                order = orders.recv() => match order? {
                    Order::List => drop(tokio::spawn(list_tools(peer.clone(), self.connection, Arc::clone(&self.report), Arc::clone(&self.bounds)))),
                    Order::Call { command, tool, arguments } => {
                        let (cancel, canceled) = oneshot::channel();
                        calls.retain(|_, cancel| !cancel.is_closed());
                        calls.insert(command, cancel);
                        tokio::spawn(call_tool(peer.clone(), command, tool, arguments, canceled, Arc::clone(&self.report), Arc::clone(&self.bounds)));
                    }
                    Order::Cancel { command } => drop(calls.remove(&command)),
                },
            }
        }
    }
}

/// Lists all tools of a server. Each entry is passed on as JSON text without being checked: the gate decides which parts are
/// usable.
async fn list_tools(peer: Peer<RoleClient>, connection: u64, report: Report, bounds: Arc<Bounds>) {
    let (mut tools, mut size, mut cursor): (Vec<String>, usize, Option<Value>) = (Vec::new(), 0, None);
    for _ in 0..bounds.limits.pages {
        let params = cursor.take().map(|cursor| json!({"cursor": cursor}));
        let listed = peer.send_request(ClientRequest::CustomRequest(CustomRequest::new("tools/list", params))).await;
        bounds.reset_unsolicited();
        let page = match listed {
            Ok(result) => result_json(&result),
            Err(fault) => {
                let why = match fault {
                    ServiceError::McpError(fault) => fault.message.into_owned(),
                    fault => fault.to_string(),
                };
                return report(json!({"type": "listed", "connection": connection, "tools": tools, "failed": why}));
            }
        };
        for tool in page.get("tools").and_then(Value::as_array).into_iter().flatten().map(Value::to_string) {
            size += tool.len();
            tools.push(tool);
        }
        cursor = page.get("nextCursor").filter(|cursor| cursor.is_string() && size < bounds.limits.message_bytes).cloned();
        if cursor.is_none() {
            break;
        }
    }
    report(json!({"type": "listed", "connection": connection, "tools": tools}));
}

async fn call_tool(
    peer: Peer<RoleClient>,
    command: u64,
    tool: String,
    arguments: Value,
    canceled: oneshot::Receiver<()>,
    report: Report,
    bounds: Arc<Bounds>,
) {
    let arguments: Map<String, Value> = if let Value::Object(arguments) = arguments { arguments } else { Map::new() };
    let request = CallToolRequest::new(CallToolRequestParams::new(tool).with_arguments(arguments));
    let handle =
        match peer.send_request_with_option(ClientRequest::CallToolRequest(request), PeerRequestOptions::no_options()).await {
            Ok(handle) => handle,
            Err(fault) => return report(failure_report(command, &fault)),
        };
    let id = handle.id.clone();
    tokio::select! {
        answer = handle.await_response() => {
            bounds.reset_unsolicited();
            report(match answer {
                Ok(result) => json!({"type": "answered", "command": command, "result": result_json(&result).to_string()}),
                // The end of the connection is reported separately, with the reason.
                Err(ServiceError::TransportClosed) => return,
                Err(fault) => failure_report(command, &fault),
            });
        }
        // The answer is no longer needed, so the server can stop working on it.
        _ = canceled => {
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some("it took too long, or was canceled".to_owned()))).await;
        }
    }
}

/// A result as the server sent it.
fn result_json(result: &ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

fn failure_report(command: u64, fault: &ServiceError) -> Value {
    let (code, message) = match fault {
        ServiceError::McpError(fault) => (fault.code.0, fault.message.to_string()),
        // The code that libraries of the protocol use for it.
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => (-32_000, "the connection is closed".to_owned()),
        fault => (-32_000, fault.to_string()),
    };
    json!({"type": "answered", "command": command, "code": code, "message": message})
}

//! `tollgate mcp-proxy`: an MCP server in front of other MCP servers, on standard input and output.
//!
//! Any MCP client can use it, even one without hooks. It offers the tools of the declared servers and Tollgate's own tools. Every
//! call goes through the gate before it is sent and after it has ended: it is checked, recorded in the ledger, and may be
//! augmented. If the gate needs a person's decision, the client is asked by elicitation; a client that does not support that gets
//! a refusal.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, ServerRequest, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, ServerInitializeError};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tollgate::Tollgate;
use tollgate::hooks::{Hooks, Options as HookOptions, Question, Remote};

use crate::cli::client::{ask, text};
use crate::cli::interrupt::on_interrupt;
use crate::cli::workspace::WorkspaceArgs;
use crate::cli::{CommandError, print_message};

/// The options of `tollgate mcp-proxy`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these servers [default: all that are declared]
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// The session that calls belong to [default: a new one]
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Serves until the input ends.
pub(crate) fn run(options: &Options) -> ExitCode {
    match options.workspace.open().and_then(|opened| serve(opened.gate, options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.exit(),
    }
}

fn serve(mut gate: Tollgate, options: &Options) -> Result<(), CommandError> {
    let opening = ask(&mut gate, &json!({"op": "mcp", "do": "open"}))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|why| CommandError::Failed(format!("the server cannot be started: {why}")))?;
    let client = Client { peer: Arc::default(), handle: runtime.handle().clone() };
    let mut hooks = {
        let (asking, telling) = (client.clone(), client.clone());
        let told = HookOptions::new().on_question(move |question| asking.ask(question));
        Hooks::new(gate, told.on_tools_changed(move || telling.tell_tools_changed()))
    };
    let remote = hooks.remote();
    remote.want_servers((!options.servers.is_empty()).then_some(options.servers.as_slice()));
    let is_over = Arc::new(AtomicBool::new(false));
    let end = {
        let (is_over, remote) = (Arc::clone(&is_over), remote.clone());
        move || {
            is_over.store(true, Ordering::Relaxed);
            remote.wake();
        }
    };
    let on_signal = end.clone();
    on_interrupt(move |_| on_signal());
    let server = ProxyServer {
        name: text(&opening, "/server").to_owned(),
        instructions: text(&opening, "/instructions").to_owned(),
        session: options.session.clone().unwrap_or_else(|| text(&opening, "/session").to_owned()),
        calls: AtomicU64::new(0),
        client,
        remote,
    };
    // This thread drives the gate, so another thread serves the client.
    let serving = thread::spawn(move || {
        let served = runtime.block_on(async {
            match server.serve((tokio::io::stdin(), tokio::io::stdout())).await {
                Ok(service) => service.waiting().await.map(drop).map_err(|fault| fault.to_string()),
                // No client connected.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(fault) => Err(format!("the MCP client sent an invalid message: {fault}")),
            }
        });
        // Reading standard input cannot be interrupted, so that task is abandoned.
        runtime.shutdown_background();
        end();
        served
    });
    while !is_over.load(Ordering::Relaxed) {
        // A gate that fails is restarted by the next call, and waiting callers have already received an error.
        if let Err(fault) = hooks.work(Duration::from_secs(60)) {
            print_message(&format!("error: {fault}"));
        }
    }
    match serving.is_finished().then(|| serving.join()) {
        Some(Ok(Err(why))) => Err(CommandError::Failed(why)),
        _ => Ok(()),
    }
}

/// The connected client, once it has introduced itself.
#[derive(Clone)]
struct Client {
    peer: Arc<OnceLock<Peer<RoleServer>>>,
    handle: Handle,
}

impl Client {
    /// Whether the client can ask a person.
    fn can_elicit(&self) -> bool {
        let info = self.peer.get().and_then(Peer::peer_info);
        info.is_some_and(|info| info.capabilities.elicitation.is_some())
    }

    /// Asks the person. Any answer but yes drops the question, and then the call does not run.
    fn ask(&self, question: Question) {
        let Some(peer) = self.peer.get().cloned() else { return };
        self.handle.spawn(async move {
            let form = json!({"type": "object", "properties": {}});
            let params = json!({"mode": "form", "message": question.message, "requestedSchema": form});
            let asked = CustomRequest::new("elicitation/create", Some(params));
            let answer = peer.send_request(ServerRequest::CustomRequest(asked)).await;
            let answer = answer.ok().and_then(|answer| serde_json::to_value(answer).ok()).unwrap_or_default();
            match answer.get("action").and_then(Value::as_str) {
                Some("accept") => question.decide(true),
                Some("decline") => question.decide(false),
                _ => {}
            }
        });
    }

    fn tell_tools_changed(&self) {
        if let Some(peer) = self.peer.get().cloned() {
            self.handle.spawn(async move { peer.notify_tool_list_changed().await });
        }
    }
}

/// The MCP server that the client talks to.
struct ProxyServer {
    name: String,
    instructions: String,
    session: String,
    calls: AtomicU64,
    client: Client,
    remote: Remote,
}

impl ProxyServer {
    /// Sends a request to the gate and waits for the answer, unless the client cancels the request.
    async fn request(&self, method: &str, params: Value, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
        let (sender, answer) = oneshot::channel();
        let number = self.remote.request(method, params, move |result| drop(sender.send(result)));
        tokio::select! {
            answer = answer => match answer {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(why)) => Err(ErrorData::invalid_params(why, None)),
                Err(_) => Err(ErrorData::internal_error("the gate does not answer", None)),
            },
            () = context.ct.cancelled() => {
                self.remote.cancel_request(number);
                Err(ErrorData::internal_error("the request was canceled", None))
            }
        }
    }
}

impl ServerHandler for ProxyServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(self.name.clone(), env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions.clone())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let _ = self.client.peer.set(context.peer);
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.request("tools/list", json!({}), &context).await?;
        let tools = listed.get_mut("tools").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
        let read = |tool: Value| {
            let name = text(&tool, "/name").to_owned();
            serde_json::from_value::<Tool>(tool)
                .inspect_err(|why| print_message(&format!("warn: the tool `{name}` is left out: {why}")))
                .ok()
        };
        Ok(ListToolsResult::with_all_items(tools.into_iter().filter_map(read).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // A client that makes a call before it reports that it is ready has introduced itself, too.
        let _ = self.client.peer.set(context.peer.clone());
        let call = format!("{}-{}", self.session, self.calls.fetch_add(1, Ordering::Relaxed) + 1);
        let params = json!({
            "name": request.name, "arguments": request.arguments, "session": self.session, "call": call, "attended": self.client.can_elicit(),
        });
        let result = self.request("tools/call", params, &context).await?;
        let result: CallToolResult = serde_json::from_value(result)
            .map_err(|why| ErrorData::internal_error(format!("the server's answer cannot be passed on: {why}"), None))?;
        Ok(result.into())
    }
}

//! `tollgate mcp-serve`: Tollgate's own tools as an MCP server on standard input and output.
//!
//! Which tools there are, what they take and what they answer is the gate's to say. Such a server does not learn which session
//! of its host calls. The command hook does: where one is installed, a call of `select_active_intent` takes effect for the
//! session in which the hook sees it pass. For hosts without hooks, the intent is also selected for the session `mcp`.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};

use crate::cli::Stop;
use crate::cli::client::{Gate, ask, is, list, text};
use crate::cli::workspace::Place;

/// The session of whoever calls without a hook.
const SESSION: &str = "mcp";

/// The options of `tollgate mcp-serve`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

/// Serves until the input ends.
pub(crate) fn run(options: &Options) -> ExitCode {
    let served = options.place.open().and_then(|opened| Server::new(Box::new(opened.gate))).and_then(serve);
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.exit(),
    }
}

fn serve(server: Server) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|why| Stop::Fault(format!("the server cannot be started: {why}")))?;
    let served = runtime.block_on(async {
        match server.serve((tokio::io::stdin(), tokio::io::stdout())).await {
            Ok(service) => service.waiting().await.map(drop).map_err(Stop::fault),
            // Nobody wanted anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(fault) => Err(Stop::Fault(format!("the MCP client cannot be understood: {fault}"))),
        }
    });
    runtime.shutdown_background();
    served
}

/// What the gate offers, and the gate, for one caller at a time.
struct Server {
    name: String,
    instructions: String,
    tools: Vec<Tool>,
    gate: Mutex<Box<dyn Gate + Send>>,
}

impl Server {
    fn new(mut gate: Box<dyn Gate + Send>) -> Result<Self, Stop> {
        let offer = ask(gate.as_mut(), &json!({"op": "own-tools"}))?;
        let tools = list(&offer, "tools").iter().map(tool).collect();
        let [name, instructions] = ["/server", "/instructions"].map(|field| text(&offer, field).to_owned());
        Ok(Self { name, instructions, tools, gate: Mutex::new(gate) })
    }

    /// What the gate answers to a call, or what is wrong with the call.
    fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<CallToolResult, String> {
        let question = json!({"op": "own-tool", "session": SESSION, "tool": name, "args": arguments});
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = ask(gate.as_mut(), &question).map_err(|stop| match stop {
            Stop::Fault(why) | Stop::Refused { message: why, .. } => why,
            Stop::Unread => "the gate does not answer".to_owned(),
        })?;
        let mut result = CallToolResult::success(vec![ContentBlock::text(text(&answer, "/text"))]);
        result.structured_content = answer.get_mut("data").map(Value::take);
        Ok(result)
    }
}

/// One of the gate's tools in the words of the protocol.
fn tool(tool: &Value) -> Tool {
    let [name, title, description] = ["/name", "/title", "/description"].map(|field| text(tool, field).to_owned());
    let schema = tool.get("schema").and_then(Value::as_object).cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(!is(tool, "changes")).open_world(false);
    Tool::new(name, description, Arc::new(schema)).with_title(title).with_annotations(hints)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.name.clone(), env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    /// What a model can put right comes back as the tool's own error: hosts do not show it the protocol's.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_offered = self.tools.iter().any(|tool| tool.name == request.name);
        match self.call(&request.name, request.arguments.unwrap_or_default()) {
            Err(why) if !is_offered => Err(ErrorData::invalid_params(why, None)),
            result => Ok(result.unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(why)])).into()),
        }
    }
}

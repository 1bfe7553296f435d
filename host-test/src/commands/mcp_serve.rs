//! `tollgate mcp-serve`: Tollgate's own tools as an MCP server on standard input and output, and the skills as its prompts.
//!
//! The gate defines the tools, their arguments and their answers. An MCP server does not know which session of the agent program
//! calls it, but the command hook does: if it is installed, `select_active_intent` applies to the session in which the hook sees
//! the call. For programs without hooks, the intent is also selected for the session `mcp`.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, ListPromptsResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument,
    PromptMessage, Role, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};

use crate::cli::CommandError;
use crate::cli::client::{Gate, ask, flag, list, text};
use crate::cli::workspace::WorkspaceArgs;

/// The session of calls that no hook has seen.
const SESSION: &str = "mcp";

/// The options of `tollgate mcp-serve`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Serves until the input ends.
pub(crate) fn run(options: &Options) -> ExitCode {
    let served = options.workspace.open().and_then(|mut opened| {
        // Approvals of extensions depend on the workspace's path.
        let machine = json!({"type": "machine", "workspace": opened.root.to_str(), "search_path": []});
        ask(&mut opened.gate, &json!({"op": "step", "now_ms": 0, "inputs": [machine]}))?;
        serve(OwnToolsServer::new(Box::new(opened.gate))?)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.exit(),
    }
}

fn serve(server: OwnToolsServer) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|why| CommandError::Failed(format!("the server cannot be started: {why}")))?;
    let served = runtime.block_on(async {
        match server.serve((tokio::io::stdin(), tokio::io::stdout())).await {
            Ok(service) => service.waiting().await.map(drop).map_err(CommandError::failed),
            // The client disconnected before it sent a request.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(fault) => Err(CommandError::Failed(format!("the MCP client sent an invalid message: {fault}"))),
        }
    });
    runtime.shutdown_background();
    served
}

/// The gate and the tools it offers; one call at a time.
struct OwnToolsServer {
    name: String,
    instructions: String,
    tools: Vec<Tool>,
    gate: Mutex<Box<dyn Gate + Send>>,
}

impl OwnToolsServer {
    fn new(mut gate: Box<dyn Gate + Send>) -> Result<Self, CommandError> {
        let offer = ask(gate.as_mut(), &json!({"op": "own-tools"}))?;
        let tools = list(&offer, "tools").iter().map(tool).collect();
        let [name, instructions] = ["/server", "/instructions"].map(|field| text(&offer, field).to_owned());
        Ok(Self { name, instructions, tools, gate: Mutex::new(gate) })
    }

    /// The gate's answer to a call, or why the call is invalid.
    fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<CallToolResult, String> {
        let question = json!({"op": "own-tool", "session": SESSION, "tool": name, "args": arguments});
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = ask(gate.as_mut(), &question).map_err(|stop| match stop {
            CommandError::Failed(why) | CommandError::Refused { message: why, .. } => why,
            CommandError::OutputClosed => "the gate does not answer".to_owned(),
        })?;
        let mut result = CallToolResult::success(vec![ContentBlock::text(text(&answer, "/text"))]);
        result.structured_content = answer.get_mut("data").map(Value::take);
        Ok(result)
    }
}

impl OwnToolsServer {
    /// Asks the gate, and converts an error for the protocol.
    fn ask(&self, question: &Value) -> Result<Value, ErrorData> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        ask(gate.as_mut(), question).map_err(|stop| match stop {
            CommandError::Failed(why) | CommandError::Refused { message: why, .. } => ErrorData::invalid_params(why, None),
            CommandError::OutputClosed => ErrorData::internal_error("the gate does not answer", None),
        })
    }
}

/// A skill as a prompt of the protocol.
fn prompt(skill: &Value) -> Prompt {
    let argument = |parameter: &Value| {
        let argument = PromptArgument::new(text(parameter, "/name")).with_required(flag(parameter, "required"));
        match text(parameter, "/description") {
            "" => argument,
            description => argument.with_description(description),
        }
    };
    let arguments: Vec<PromptArgument> = list(skill, "parameters").iter().map(argument).collect();
    let arguments = if arguments.is_empty() { None } else { Some(arguments) };
    Prompt::new(text(skill, "/name"), Some(text(skill, "/description")), arguments)
}

/// A tool of the gate in the terms of the protocol.
fn tool(tool: &Value) -> Tool {
    let [name, title, description] = ["/name", "/title", "/description"].map(|field| text(tool, field).to_owned());
    let schema = tool.get("schema").and_then(Value::as_object).cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(!flag(tool, "changes")).open_world(false);
    Tool::new(name, description, Arc::new(schema)).with_title(title).with_annotations(hints)
}

impl ServerHandler for OwnToolsServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_prompts().build())
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

    /// The skills at the time of the request.
    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = self.ask(&json!({"op": "skills", "do": "list"}))?;
        Ok(ListPromptsResult::with_all_items(list(&listed, "skills").iter().map(prompt).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        let invoked = self.ask(&json!({"op": "skills", "do": "invoke", "id": request.name, "args": given}))?;
        let message = PromptMessage::new_text(Role::User, text(&invoked, "/prompt"));
        Ok(GetPromptResult::new(vec![message]).with_description(text(&invoked, "/description")).into())
    }

    /// An error that the model can fix is returned as a tool result, because programs do not show protocol errors to the model.
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

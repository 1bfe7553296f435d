//! `tollgate mcp-serve`: intents and ledger as tools of an MCP server on standard input and output.
//!
//! Such a server does not learn which session of its host calls. The command hook does: where one is installed, a call of
//! `select_active_intent` takes effect for the session in which the hook sees it pass. For hosts without hooks, the intent is
//! also selected for the session `mcp`.

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

use super::Stop;
use super::ask::{Gate, ask, text};
use super::place::Place;

/// The session of whoever calls without a hook.
const SESSION: &str = "mcp";

/// The most entries that one call is answered with.
const MOST_ENTRIES: u64 = 100;

const INSTRUCTIONS: &str = "Every change in this workspace belongs to an intent. Call list_intents, then \
    select_active_intent before you change files; intent_context says what the intent owns and demands.";

/// The options of `tollgate mcp-serve`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

/// Serves until the input ends.
pub(crate) fn run(options: &Options) -> ExitCode {
    let gate = match options.place.open() {
        Ok(opened) => opened.gate,
        Err(stop) => return stop.exit(),
    };
    match serve(Server { gate: Mutex::new(Box::new(gate)) }) {
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

/// A tool: what it is called, what it does, what it takes.
struct Offer {
    name: &'static str,
    about: &'static str,
    takes: &'static [Argument],
    changes: bool,
}

/// An argument of a tool, and the field of the gate's operation that it becomes.
struct Argument {
    name: &'static str,
    field: &'static str,
    about: &'static str,
    kind: Kind,
    required: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Count,
}

const OFFERS: &[Offer] = &[
    Offer {
        name: "select_active_intent",
        about: "Selects the intent that you work for from now on, and tells what it owns and demands.",
        takes: &[Argument {
            name: "intent_id",
            field: "intent",
            about: "The id of an open intent, as list_intents tells it.",
            kind: Kind::Text,
            required: true,
        }],
        changes: true,
    },
    Offer { name: "list_intents", about: "Lists the intents of this workspace.", takes: &[], changes: false },
    Offer {
        name: "intent_context",
        about: "Tells what an intent owns and demands, its files and its last changes.",
        takes: &[Argument {
            name: "intent_id",
            field: "intent",
            about: "The id of an intent; without it, the one that was selected here.",
            kind: Kind::Text,
            required: false,
        }],
        changes: false,
    },
    Offer {
        name: "recent_trace",
        about: "Tells what was changed last, oldest first: which files, for which intent.",
        takes: &[
            Argument {
                name: "limit",
                field: "limit",
                about: "At most so many entries; 20 without it.",
                kind: Kind::Count,
                required: false,
            },
            Argument {
                name: "file",
                field: "file",
                about: "Only changes of this file, relative to the workspace.",
                kind: Kind::Text,
                required: false,
            },
        ],
        changes: false,
    },
];

impl Offer {
    fn tool(&self) -> Tool {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for argument in self.takes {
            let schema = match argument.kind {
                Kind::Text => json!({"type": "string", "minLength": 1, "description": argument.about}),
                Kind::Count => json!({"type": "integer", "minimum": 1, "maximum": MOST_ENTRIES, "description": argument.about}),
            };
            properties.insert(argument.name.to_owned(), schema);
            required.extend(argument.required.then_some(argument.name));
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), properties.into());
        schema.insert("required".to_owned(), required.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        let hints = ToolAnnotations::new().read_only(!self.changes).open_world(false);
        Tool::new(self.name, self.about, Arc::new(schema)).with_annotations(hints)
    }

    /// The gate's fields, or what is wrong with the arguments.
    fn fields(&self, arguments: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut fields = Map::new();
        for (name, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
            let Some(argument) = self.takes.iter().find(|argument| argument.name == name) else {
                let known: Vec<&str> = self.takes.iter().map(|argument| argument.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { format!("`{}`", known.join("`, `")) };
                return Err(format!("`{}` has no argument `{name}`; it takes: {known}", self.name));
            };
            let expected = match argument.kind {
                Kind::Text if value.as_str().is_some_and(|text| !text.is_empty()) => None,
                Kind::Text => Some("a text that is not empty".to_owned()),
                Kind::Count if value.as_u64().is_some_and(|count| (1..=MOST_ENTRIES).contains(&count)) => None,
                Kind::Count => Some(format!("a whole number from 1 to {MOST_ENTRIES}")),
            };
            if let Some(expected) = expected {
                return Err(format!("`{name}` of `{}` cannot be {value}; give {expected}", self.name));
            }
            fields.insert(argument.field.to_owned(), value.clone());
        }
        match self.takes.iter().find(|argument| argument.required && !fields.contains_key(argument.field)) {
            Some(missing) => Err(format!("`{}` needs `{}`: {}", self.name, missing.name, missing.about)),
            None => Ok(fields),
        }
    }
}

/// The gate, for one caller at a time.
struct Server {
    gate: Mutex<Box<dyn Gate + Send>>,
}

impl Server {
    fn perform(&self, offer: &Offer, arguments: &Map<String, Value>) -> Result<CallToolResult, String> {
        let mut fields = offer.fields(arguments)?;
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let mut asked = |op: &str, fields: Map<String, Value>| {
            let mut question = Map::from_iter([("op".to_owned(), op.into())]);
            question.extend(fields);
            ask(gate.as_mut(), &question.into()).map_err(|stop| match stop {
                Stop::Fault(why) | Stop::Refused { message: why, .. } => why,
                Stop::Unread => "the gate does not answer".to_owned(),
            })
        };
        let session = || Map::from_iter([("session".to_owned(), SESSION.into())]);
        let said = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        match offer.name {
            "select_active_intent" => {
                fields.extend(session());
                let chosen = asked("select-intent", fields)?;
                let context = asked("context", session())?;
                let [id, name, status] = ["/intent/id", "/intent/name", "/intent/status"].map(|field| text(&chosen, field));
                Ok(said(format!("The active intent is {id} ({name}, {status}).\n\n{}", text(&context, "/text"))))
            }
            "intent_context" => {
                let answer = asked("context", if fields.is_empty() { session() } else { fields })?;
                match text(&answer, "/text") {
                    "" => {
                        Err("no intent has been selected here; call `select_active_intent` first, or give `intent_id`".to_owned())
                    }
                    context => Ok(said(context.to_owned())),
                }
            }
            "list_intents" => asked("list-intents", fields).map(CallToolResult::structured),
            _ => asked("trace", fields).map(CallToolResult::structured),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tollgate", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(OFFERS.iter().map(Offer::tool).collect()))
    }

    /// What a model can put right comes back as the tool's own error: hosts do not show it the protocol's.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offer) = OFFERS.iter().find(|offer| offer.name == request.name) else {
            let known: Vec<&str> = OFFERS.iter().map(|offer| offer.name).collect();
            let why = format!("the tool `{}` is not known; known are: {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        };
        let result = self.perform(offer, &request.arguments.unwrap_or_default());
        Ok(result.unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(why)])).into())
    }
}

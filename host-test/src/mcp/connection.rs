//! One connection to one MCP server, over the pipes of a process.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::ClientInitializeError;
use rmcp::{Peer, RoleClient, ServiceError, ServiceExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ToolLists;
use crate::bindings::exports::tollgate::hooks::augment::{Answer, Program};
use crate::confine::Launch;
use crate::process;

/// Give up if a server is not ready after this time. A package may have to be downloaded first.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take to exit after its input has ended.
const EXIT_GRACE: Duration = Duration::from_millis(200);

/// At most this much of a server's error output is kept.
const MAX_STDERR_BYTES: usize = 4 << 10;

/// How to start a server.
#[derive(Clone)]
pub(super) struct Start {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    inherit: Vec<String>,
    folder: PathBuf,
}

impl Start {
    /// As the gate specifies it.
    pub(super) fn new(start: &Program, folder: &Path) -> Self {
        let Program { argv, inherit, set, .. } = start.clone();
        Self { argv, env: set, inherit, folder: folder.to_owned() }
    }

    fn spawn(&self) -> io::Result<Box<dyn ChildWrapper>> {
        let spawn = |mut command: std::process::Command| {
            command.envs(self.env.iter().map(|(name, value)| (name, value)));
            process::wrap_tokio(command).spawn()
        };
        let Launch { argv, plan } = Launch::read(self.argv.clone()).map_err(io::Error::other)?;
        let Some(plan) = plan else { return spawn(process::command(&argv, &self.inherit, &self.folder)?) };
        let runtime = Handle::current();
        plan.start(&argv, |mut command, temporary| {
            let _entered = runtime.enter();
            process::surround(&mut command, &self.inherit, &self.folder);
            command.envs(temporary.map(|folder| ("TMPDIR", folder)));
            spawn(command)
        })
    }
}

/// Where a server's tool list is stored.
pub(super) struct ToolListTarget {
    pub(super) server: String,
    pub(super) lists: ToolLists,
}

impl ToolListTarget {
    /// Requests the tool list. Errors are ignored: without a list, nothing is claimed about the tools.
    async fn fetch(self, peer: Peer<RoleClient>) {
        let Ok(Ok(tools)) = timeout(STARTUP_TIMEOUT, peer.list_all_tools()).await else { return };
        if let Ok(tools) = serde_json::to_value(tools) {
            self.lists.lock().unwrap_or_else(PoisonError::into_inner).push((self.server, tools));
        }
    }
}

/// The state of a connection.
enum State {
    Starting,
    Ready(Peer<RoleClient>),
    /// The answer to every request.
    Closed(Answer),
}

/// A connection that is being established, in use, or closed.
pub(super) struct Connection {
    state: watch::Receiver<State>,
    task: JoinHandle<()>,
    /// Dropping it ends the server.
    end: oneshot::Sender<()>,
}

impl Connection {
    /// Starts a server; the connection is established in the background.
    pub(super) fn begin(start: Start, list: ToolListTarget) -> Self {
        let (state_sender, state) = watch::channel(State::Starting);
        let (end, shutdown) = oneshot::channel();
        let task = tokio::spawn(async move {
            let over = run(&start, list, &state_sender, shutdown).await;
            state_sender.send_replace(State::Closed(over));
        });
        Self { state, task, end }
    }

    pub(super) fn is_closed(&self) -> bool {
        match &*self.state.borrow() {
            State::Starting => false,
            State::Ready(peer) => peer.is_transport_closed(),
            State::Closed(_) => true,
        }
    }

    /// Calls a tool as soon as the connection is established.
    pub(super) fn ask(&self, tool: String, arguments: Value) -> impl Future<Output = Answer> + Send + 'static {
        let mut state = self.state.clone();
        async move {
            let ready = match state.wait_for(|state| !matches!(state, State::Starting)).await.as_deref() {
                Ok(State::Ready(peer)) => Ok(peer.clone()),
                Ok(State::Closed(answer)) => Err(answer.clone()),
                Ok(State::Starting) | Err(_) => Err(ended()),
            };
            match ready {
                Ok(peer) => call(&peer, tool, arguments).await,
                Err(answer) => answer,
            }
        }
    }

    /// Ends the server; the returned task finishes when it is gone.
    pub(super) fn end(self) -> JoinHandle<()> {
        drop(self.end);
        self.task
    }
}

/// A server with its children. They are ended on drop, whatever happens to the task.
struct ServerProcess(Box<dyn ChildWrapper>);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.start_kill();
    }
}

/// Starts a server, keeps it until it exits or is ended, and returns the answer to all later requests.
async fn run(
    start: &Start,
    list: ToolListTarget,
    state_sender: &watch::Sender<State>,
    shutdown: oneshot::Receiver<()>,
) -> Answer {
    let mut child = match start.spawn() {
        Ok(child) => child,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Answer::Unavailable,
        Err(fault) => return Answer::Failed(fault.to_string()),
    };
    let (stdin, stdout, stderr) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let mut process = ServerProcess(child);
    let stderr_text = tokio::spawn(drain(stderr));
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return ended() };
    let client = ClientConfig::new(ClientCapabilities::default(), Implementation::new("tollgate", env!("CARGO_PKG_VERSION")));
    let over = tokio::select! {
        over = serve(client, (stdout, stdin), list, state_sender) => over,
        _ = shutdown => ended(),
    };
    // Its input has ended, so it should exit; otherwise it is killed.
    if timeout(EXIT_GRACE, process.0.inner_mut().wait()).await.is_err() {
        let _ = process.0.start_kill();
        let _ = timeout(EXIT_GRACE, process.0.inner_mut().wait()).await;
    }
    drop(process);
    match over {
        Answer::Failed(why) => {
            let stderr_text = timeout(EXIT_GRACE, stderr_text).await.ok().and_then(Result::ok).unwrap_or_default();
            let first = stderr_text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let first: String = first.chars().take(200).collect();
            Answer::Failed(if first.is_empty() { why } else { format!("{why}: {first}") })
        }
        over => over,
    }
}

/// Establishes the connection, and waits until it is closed.
async fn serve(
    client: ClientConfig,
    pipes: (tokio::process::ChildStdout, tokio::process::ChildStdin),
    list: ToolListTarget,
    state_sender: &watch::Sender<State>,
) -> Answer {
    match timeout(STARTUP_TIMEOUT, client.serve(pipes)).await {
        Ok(Ok(service)) => {
            // Before the first call, so that a server that answers requests in order has answered this one first.
            tokio::spawn(list.fetch(service.peer().clone()));
            state_sender.send_replace(State::Ready(service.peer().clone()));
            let _ = service.waiting().await;
            // Immediately, because the process is given time to exit.
            state_sender.send_replace(State::Closed(ended()));
            ended()
        }
        // It may exit before anything is written to it.
        Ok(Err(ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. })) => {
            Answer::Failed("the server ended before it was ready".to_owned())
        }
        Ok(Err(fault)) => Answer::Failed(format!("communication with the server failed: {fault}")),
        Err(_) => Answer::Failed(format!("the server was not ready after {} s", STARTUP_TIMEOUT.as_secs())),
    }
}

/// The answer after a server has ended; the next request starts it again.
fn ended() -> Answer {
    Answer::Failed("the server ended".to_owned())
}

async fn call(peer: &Peer<RoleClient>, tool: String, arguments: Value) -> Answer {
    let mut asked = CallToolRequestParams::new(tool);
    if let Value::Object(arguments) = arguments {
        asked = asked.with_arguments(arguments);
    }
    match peer.call_tool_once(asked).await {
        Ok(CallToolResponse::Complete(result)) => result_text(&result),
        Ok(_) => Answer::Failed("the server asks for input, which is not supported".to_owned()),
        Err(ServiceError::McpError(fault)) => Answer::Failed(fault.message.into_owned()),
        Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => ended(),
        Err(fault) => Answer::Failed(fault.to_string()),
    }
}

/// The text of a result.
fn result_text(result: &CallToolResult) -> Answer {
    let texts: Vec<&str> = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect();
    let text = texts.join("\n");
    match (result.is_error, text.is_empty()) {
        (Some(true), _) => Answer::Failed(text),
        (_, true) => Answer::Unknown,
        (_, false) => Answer::Text(text),
    }
}

/// Reads a stream to its end and keeps the beginning.
async fn drain(from: Option<impl AsyncRead + Unpin>) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 1 << 10]);
    if let Some(mut from) = from {
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let room = MAX_STDERR_BYTES.saturating_sub(kept.len());
            kept.extend(piece.iter().take(length.min(room)));
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

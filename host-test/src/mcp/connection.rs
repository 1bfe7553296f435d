//! One connection to one MCP server, over the pipes of a process.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::ClientInitializeError;
use rmcp::{Peer, RoleClient, ServiceError, ServiceExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Lists;
use crate::bindings::exports::tollgate::hooks::augment::{Answer, Program};
use crate::confine::Launch;
use crate::process;

/// A server that is not ready after so long is given up. A package may have to be fetched first.
const GET_READY: Duration = Duration::from_secs(60);

/// So long a server may take to end by itself once its input has ended.
const GRACE: Duration = Duration::from_millis(200);

/// Of what a server complains about, so much is kept.
const MOST_COMPLAINT: usize = 4 << 10;

/// How a server is started.
#[derive(Clone)]
pub(super) struct Start {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    inherit: Vec<String>,
    folder: PathBuf,
}

impl Start {
    /// As the gate says it.
    pub(super) fn new(start: &Program, folder: &Path) -> Self {
        let Program { argv, inherit, set, .. } = start.clone();
        Self { argv, env: set, inherit, folder: folder.to_owned() }
    }

    fn spawn(&self) -> io::Result<Child> {
        let spawn = |mut command: std::process::Command| {
            command.envs(self.env.iter().map(|(name, value)| (name, value)));
            tokio::process::Command::from(command).kill_on_drop(true).spawn()
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

/// Where a server's list of tools goes.
pub(super) struct List {
    pub(super) server: String,
    pub(super) lists: Lists,
}

impl List {
    /// Asks for the list. What a server does not tell, it does not claim.
    async fn fetch(self, peer: Peer<RoleClient>) {
        let Ok(Ok(tools)) = timeout(GET_READY, peer.list_all_tools()).await else { return };
        if let Ok(tools) = serde_json::to_value(tools) {
            self.lists.lock().unwrap_or_else(PoisonError::into_inner).push((self.server, tools));
        }
    }
}

/// How far a connection has come.
enum State {
    Starting,
    Ready(Peer<RoleClient>),
    /// What every question gets.
    Over(Answer),
}

/// A connection, being made, in use, or over.
pub(super) struct Connection {
    state: watch::Receiver<State>,
    task: JoinHandle<()>,
    /// Dropped, it ends the server.
    end: oneshot::Sender<()>,
}

impl Connection {
    /// Starts a server; the connection is made while others go on.
    pub(super) fn begin(start: Start, list: List) -> Self {
        let (told, state) = watch::channel(State::Starting);
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            let over = run(&start, list, &told, ended).await;
            told.send_replace(State::Over(over));
        });
        Self { state, task, end }
    }

    pub(super) fn is_over(&self) -> bool {
        match &*self.state.borrow() {
            State::Starting => false,
            State::Ready(peer) => peer.is_transport_closed(),
            State::Over(_) => true,
        }
    }

    /// Calls a tool as soon as the connection is made.
    pub(super) fn ask(&self, tool: String, arguments: Value) -> impl Future<Output = Answer> + Send + 'static {
        let mut state = self.state.clone();
        async move {
            let ready = match state.wait_for(|state| !matches!(state, State::Starting)).await.as_deref() {
                Ok(State::Ready(peer)) => Ok(peer.clone()),
                Ok(State::Over(answer)) => Err(answer.clone()),
                Ok(State::Starting) | Err(_) => Err(gone()),
            };
            match ready {
                Ok(peer) => call(&peer, tool, arguments).await,
                Err(answer) => answer,
            }
        }
    }

    /// Ends the server; what is returned is done when it is gone.
    pub(super) fn end(self) -> JoinHandle<()> {
        drop(self.end);
        self.task
    }
}

/// The processes of a server, which go together, whatever becomes of the task that has them.
struct Group {
    child: Child,
    id: u32,
}

impl Drop for Group {
    fn drop(&mut self) {
        process::kill(self.id);
        let _ = self.child.start_kill();
    }
}

/// Starts a server, keeps it until it ends or is ended, and says what is answered from then on.
async fn run(start: &Start, list: List, told: &watch::Sender<State>, ended: oneshot::Receiver<()>) -> Answer {
    let mut child = match start.spawn() {
        Ok(child) => child,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Answer::Unavailable,
        Err(fault) => return Answer::Failed(fault.to_string()),
    };
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut group = Group { id: child.id().unwrap_or_default(), child };
    let complaint = tokio::spawn(drain(stderr));
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return gone() };
    let client = ClientConfig::new(ClientCapabilities::default(), Implementation::new("tollgate", env!("CARGO_PKG_VERSION")));
    let over = tokio::select! {
        over = serve(client, (stdout, stdin), list, told) => over,
        _ = ended => gone(),
    };
    // Its input has ended, so it ends too, or is ended.
    if timeout(GRACE, group.child.wait()).await.is_err() {
        process::kill(group.id);
        let _ = timeout(GRACE, group.child.wait()).await;
    }
    drop(group);
    match over {
        Answer::Failed(why) => {
            let complaint = timeout(GRACE, complaint).await.ok().and_then(Result::ok).unwrap_or_default();
            let first = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let first: String = first.chars().take(200).collect();
            Answer::Failed(if first.is_empty() { why } else { format!("{why}: {first}") })
        }
        over => over,
    }
}

/// Makes the connection, and waits until it breaks.
async fn serve(
    client: ClientConfig,
    pipes: (tokio::process::ChildStdout, tokio::process::ChildStdin),
    list: List,
    told: &watch::Sender<State>,
) -> Answer {
    match timeout(GET_READY, client.serve(pipes)).await {
        Ok(Ok(service)) => {
            // Before the first call, so that a server that answers one thing after the other has answered this when it answers that.
            tokio::spawn(list.fetch(service.peer().clone()));
            told.send_replace(State::Ready(service.peer().clone()));
            let _ = service.waiting().await;
            // At once, because the process is given its time to end.
            told.send_replace(State::Over(gone()));
            gone()
        }
        // It may be gone before anything is written to it.
        Ok(Err(ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. })) => {
            Answer::Failed("the server ended before it was ready".to_owned())
        }
        Ok(Err(fault)) => Answer::Failed(format!("the server cannot be talked to: {fault}")),
        Err(_) => Answer::Failed(format!("the server was not ready after {} s", GET_READY.as_secs())),
    }
}

/// The next question starts it anew.
fn gone() -> Answer {
    Answer::Failed("the server ended".to_owned())
}

async fn call(peer: &Peer<RoleClient>, tool: String, arguments: Value) -> Answer {
    let mut asked = CallToolRequestParams::new(tool);
    if let Value::Object(arguments) = arguments {
        asked = asked.with_arguments(arguments);
    }
    match peer.call_tool_once(asked).await {
        Ok(CallToolResponse::Complete(result)) => said(&result),
        Ok(_) => Answer::Failed("the server asks back, and nobody is there to answer".to_owned()),
        Err(ServiceError::McpError(fault)) => Answer::Failed(fault.message.into_owned()),
        Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => gone(),
        Err(fault) => Answer::Failed(fault.to_string()),
    }
}

/// The text of a result.
fn said(result: &CallToolResult) -> Answer {
    let texts: Vec<&str> = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect();
    let text = texts.join("\n");
    match (result.is_error, text.is_empty()) {
        (Some(true), _) => Answer::Failed(text),
        (_, true) => Answer::Unknown,
        (_, false) => Answer::Text(text),
    }
}

/// Reads to the end and keeps the beginning.
async fn drain(from: Option<impl AsyncRead + Unpin>) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 1 << 10]);
    if let Some(mut from) = from {
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let room = MOST_COMPLAINT.saturating_sub(kept.len());
            kept.extend(piece.iter().take(length.min(room)));
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

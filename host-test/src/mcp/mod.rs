//! MCP servers that lookups ask. A server is started when it is first needed and kept; a connection that takes longer than a
//! lookup may goes on being made for the next one.

mod connection;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::bindings::exports::tollgate::hooks::augment::{Answer, McpTool};
use connection::{Connection, List, Start};

/// After its time, an answer may be so long on its way here.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// The servers that were needed so far. Dropping it ends them.
#[derive(Default)]
pub(crate) struct Servers {
    keeper: Mutex<Option<Keeper>>,
    lists: Lists,
}

/// What servers said of their tools, by the names of the servers, until somebody takes it.
type Lists = Arc<Mutex<Vec<(String, Value)>>>;

/// The thread that talks to the servers.
struct Keeper {
    questions: UnboundedSender<Question>,
    thread: JoinHandle<()>,
}

struct Question {
    /// The server's name.
    server: String,
    /// The name and how it is started: another start means another server.
    key: String,
    start: Start,
    tool: String,
    arguments: Value,
    deadline: Instant,
    reply: mpsc::Sender<Answer>,
}

impl Servers {
    /// Calls a tool as the gate asks for it, and waits at most so long. Where the gate does not say how the server is started,
    /// it is not there.
    pub(crate) fn ask(&self, asked: &McpTool, folder: &Path, most: Duration) -> Answer {
        let Some(start) = &asked.start else { return Answer::Unavailable };
        let (reply, answer) = mpsc::channel();
        let question = Question {
            server: asked.server.clone(),
            key: format!("{}\0{start:?}", asked.server),
            start: Start::new(start, folder),
            tool: asked.tool.clone(),
            arguments: serde_json::from_slice(&asked.arguments).unwrap_or_default(),
            deadline: Instant::now() + most,
            reply,
        };
        if let Err(fault) = self.send(question) {
            return Answer::Failed(fault);
        }
        match answer.recv_timeout(most + ON_ITS_WAY) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => Answer::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) => Answer::Failed("nobody is left to ask MCP servers".to_owned()),
        }
    }

    /// The lists of tools that have come since they were last taken. A server is asked once, as soon as it is ready, and nobody
    /// waits for it.
    pub(crate) fn take_lists(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send(&self, question: Question) -> Result<(), String> {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            let (questions, asked) = unbounded_channel();
            let thread = thread::Builder::new().name("tollgate-mcp".to_owned()).spawn({
                let lists = Arc::clone(&self.lists);
                move || keep(asked, &lists)
            });
            let thread = thread.map_err(|fault| format!("no thread can be started: {fault}"))?;
            *keeper = Some(Keeper { questions, thread });
        }
        // Where the thread has ended, the question is dropped, and whoever waits for the answer learns of it.
        if let Some(keeper) = keeper.as_ref() {
            let _ = keeper.questions.send(question);
        }
        Ok(())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let keeper = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Keeper { questions, thread }) = keeper {
            drop(questions);
            let _ = thread.join();
        }
    }
}

fn keep(mut questions: UnboundedReceiver<Question>, lists: &Lists) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() else { return };
    runtime.block_on(async {
        let mut connections: HashMap<String, Connection> = HashMap::new();
        while let Some(Question { server, key, start, tool, arguments, deadline, reply }) = questions.recv().await {
            if connections.get(&key).is_none_or(Connection::is_over) {
                connections.insert(key.clone(), Connection::begin(start, List { server, lists: Arc::clone(lists) }));
            }
            let Some(answer) = connections.get(&key).map(|connection| connection.ask(tool, arguments)) else { continue };
            tokio::spawn(async move {
                let answer = tokio::time::timeout_at(deadline.into(), answer).await;
                let _ = reply.send(answer.unwrap_or(Answer::Late));
            });
        }
        let ending: Vec<_> = connections.into_values().map(Connection::end).collect();
        for server in ending {
            let _ = server.await;
        }
    });
}

//! MCP servers for lookups. A server is started when it is first needed and kept running; if it takes longer to start than a
//! lookup may take, it is ready for the next one.

mod connection;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::bindings::exports::tollgate::hooks::augment::{Answer, McpTool};
use connection::{Connection, Start, ToolListTarget};

/// How much longer than its time limit to wait for an answer from the worker thread.
const REPLY_MARGIN: Duration = Duration::from_millis(50);

/// The servers started so far. They are ended on drop.
#[derive(Default)]
pub(crate) struct Servers {
    worker: Mutex<Option<Worker>>,
    lists: ToolLists,
}

/// The tool lists of servers, by server name, until they are taken.
type ToolLists = Arc<Mutex<Vec<(String, Value)>>>;

/// The thread that communicates with the servers.
struct Worker {
    questions: UnboundedSender<Question>,
    thread: JoinHandle<()>,
}

struct Question {
    /// The server's name.
    server: String,
    /// The name and the start command: a different command means a different server.
    key: String,
    start: Start,
    tool: String,
    arguments: Value,
    deadline: Instant,
    reply: mpsc::Sender<Answer>,
}

impl Servers {
    /// Calls a tool of a server and waits at most this long. The server is unavailable if the gate does not say how to start it.
    pub(crate) fn ask(&self, asked: &McpTool, folder: &Path, timeout: Duration) -> Answer {
        let Some(start) = &asked.start else { return Answer::Unavailable };
        let (reply, answer) = mpsc::channel();
        let question = Question {
            server: asked.server.clone(),
            key: format!("{}\0{start:?}", asked.server),
            start: Start::new(start, folder),
            tool: asked.tool.clone(),
            arguments: serde_json::from_slice(&asked.arguments).unwrap_or_default(),
            deadline: Instant::now() + timeout,
            reply,
        };
        if let Err(fault) = self.send(question) {
            return Answer::Failed(fault);
        }
        match answer.recv_timeout(timeout + REPLY_MARGIN) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => Answer::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) => Answer::Failed("the MCP worker thread has ended".to_owned()),
        }
    }

    /// The tool lists that have arrived since the last call. Each server is asked once, as soon as it is ready, and no lookup
    /// waits for it.
    pub(crate) fn take_lists(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send(&self, question: Question) -> Result<(), String> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            let (questions, asked) = unbounded_channel();
            let thread = thread::Builder::new().name("tollgate-mcp".to_owned()).spawn({
                let lists = Arc::clone(&self.lists);
                move || run_worker(asked, &lists)
            });
            let thread = thread.map_err(|fault| format!("no thread can be started: {fault}"))?;
            *worker = Some(Worker { questions, thread });
        }
        // If the thread has ended, the question is dropped, and the receiver of the answer notices.
        if let Some(worker) = worker.as_ref() {
            let _ = worker.questions.send(question);
        }
        Ok(())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let worker = self.worker.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Worker { questions, thread }) = worker {
            drop(questions);
            let _ = thread.join();
        }
    }
}

fn run_worker(mut questions: UnboundedReceiver<Question>, lists: &ToolLists) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() else { return };
    runtime.block_on(async {
        let mut connections: HashMap<String, Connection> = HashMap::new();
        while let Some(Question { server, key, start, tool, arguments, deadline, reply }) = questions.recv().await {
            if connections.get(&key).is_none_or(Connection::is_closed) {
                connections.insert(key.clone(), Connection::begin(start, ToolListTarget { server, lists: Arc::clone(lists) }));
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

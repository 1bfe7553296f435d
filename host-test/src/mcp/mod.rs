//! Connections to MCP servers: executes what the gate decides about them, and reports the results.
//!
//! The gate decides which servers are connected, when and for how long, how their tools are named and what happens to a call
//! (`tollgate_guest::servers::hub` documents its inputs and commands). [`Servers`] belongs to one gate and has one connection per
//! server, shared by lookups, `tollgate mcp` and `tollgate mcp-proxy`.

mod bounds;
mod connection;
mod depth;
mod http;
mod pool;
mod sse;
mod stdio;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Instant;

use serde_json::{Value, json};

use connection::{Order, Report};
use pool::Pool;

/// At most this many bytes are passed to the gate in one line; its limit is 32 MiB.
const MAX_LINE: usize = 24 << 20;

/// Receives the answer to a request.
pub(crate) type AnswerCallback = Box<dyn FnOnce(Result<Value, String>) + Send>;

/// Identifies a request. Unique in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestNumber(u64);

impl RequestNumber {
    /// The next unused number.
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A command of the gate that is not about a connection.
#[derive(Debug)]
pub(crate) enum Task {
    /// Report an event to the gate, in the format of the program `generic`.
    Exchange { command: u64, payload: Value },
    /// Ask the person who made a request.
    Ask { command: u64, message: String },
    /// The tools have changed since they were last listed.
    ToolsChanged,
}

type Waker = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

/// The connections of one gate.
pub(crate) struct Servers {
    folder: PathBuf,
    pool: Option<Pool>,
    inputs: Vec<Value>,
    events: mpsc::Receiver<Value>,
    report: Report,
    waker: Waker,
    waiting: HashMap<u64, AnswerCallback>,
    tasks: Vec<Task>,
    start: Instant,
    deadline_ms: Option<u64>,
}

impl Servers {
    /// Creates the connections without starting anything. Programs will run in this folder, usually the workspace.
    pub(crate) fn new(folder: PathBuf) -> Self {
        let (sender, events) = mpsc::channel();
        let waker = Waker::default();
        let report: Report = Arc::new({
            let (sender, waker) = (Mutex::new(sender), Arc::clone(&waker));
            move |event| {
                let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(event);
                if let Some(wake) = waker.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                    wake();
                }
            }
        });
        let (inputs, waiting, tasks, start) = (Vec::new(), HashMap::new(), Vec::new(), Instant::now());
        Self { folder, pool: None, inputs, events, report, waker, waiting, tasks, start, deadline_ms: None }
    }

    /// Sets what to call when something has happened.
    pub(crate) fn wake_with(&self, wake: impl Fn() + Send + 'static) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(wake));
    }

    /// Adds an input for the next step.
    pub(crate) fn push_input(&mut self, input: Value) {
        self.inputs.push(input);
    }

    /// Adds a request; `answered` receives its result.
    pub(crate) fn request(&mut self, number: RequestNumber, method: &str, params: Value, answered: AnswerCallback) {
        self.waiting.insert(number.0, answered);
        self.push_input(json!({"type": "request", "number": number.0, "method": method, "params": params}));
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, number: RequestNumber) {
        if self.waiting.remove(&number.0).is_some() {
            self.push_input(json!({"type": "cancel", "number": number.0}));
        }
    }

    /// The milliseconds until the next step is due, if one is.
    pub(crate) fn due_in_ms(&self) -> Option<u64> {
        self.deadline_ms.map(|deadline| deadline.saturating_sub(self.elapsed_ms()))
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The line for the next step; `None` if there are no inputs and nothing is due.
    pub(crate) fn line(&mut self) -> Option<String> {
        self.inputs.extend(self.events.try_iter());
        if self.inputs.is_empty() && self.due_in_ms() != Some(0) {
            return None;
        }
        let (mut inputs, mut taken) = (String::new(), 0);
        for input in &self.inputs {
            let input = input.to_string();
            if taken > 0 && inputs.len() + input.len() > MAX_LINE {
                break;
            }
            inputs.push_str(if taken > 0 { "," } else { "" });
            inputs.push_str(&input);
            taken += 1;
        }
        self.inputs.drain(..taken);
        Some(format!(r#"{{"op":"mcp","do":"step","now_ms":{},"inputs":[{inputs}]}}"#, self.elapsed_ms()))
    }

    /// Executes the commands that are about connections. The others are left for [`take_tasks`](Self::take_tasks).
    pub(crate) fn execute(&mut self, turn: &Value) {
        self.deadline_ms = turn.get("next_deadline_ms").and_then(Value::as_u64);
        for command in turn.get("commands").and_then(Value::as_array).into_iter().flatten() {
            let task = self.execute_command(command);
            self.tasks.extend(task);
        }
    }

    /// The commands that are not about a connection.
    pub(crate) fn take_tasks(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.tasks)
    }

    fn execute_command(&mut self, order: &Value) -> Option<Task> {
        let number = |key: &str| order.get(key).and_then(Value::as_u64).unwrap_or_default();
        let text = |key: &str| order.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = |key: &str| order.get(key).cloned().unwrap_or_default();
        let (connection, command) = (number("connection"), number("command"));
        match order.get("type").and_then(Value::as_str).unwrap_or_default() {
            "connect" => self.connect(connection, value("transport")),
            "list" => self.send_order(connection, Order::List),
            "call" => self.send_order(connection, Order::Call { command, tool: text("tool"), arguments: value("arguments") }),
            "cancel" => self.send_order(connection, Order::Cancel { command }),
            "disconnect" => drop(self.pool.as_ref().map(|pool| pool.disconnect(connection))),
            "reply" => {
                if let Some(answered) = self.waiting.remove(&number("number")) {
                    answered(match order.get("error").and_then(Value::as_str) {
                        Some(why) => Err(why.to_owned()),
                        None => Ok(value("result")),
                    });
                }
            }
            "exchange" => return Some(Task::Exchange { command, payload: value("payload") }),
            "ask" => return Some(Task::Ask { command, message: text("message") }),
            "tools_changed" => return Some(Task::ToolsChanged),
            // Connections end when the pool does.
            _ => {}
        }
        None
    }

    fn connect(&mut self, connection: u64, transport: Value) {
        if self.pool.is_none() {
            match Pool::start(self.folder.clone(), Arc::clone(&self.report)) {
                Ok(pool) => self.pool = Some(pool),
                Err(fault) => {
                    let why = format!("no thread can be started: {fault}");
                    return self.push_input(json!({"type": "closed", "connection": connection, "kind": "ended", "why": why}));
                }
            }
        }
        if let Some(pool) = &self.pool {
            pool.connect(connection, transport);
        }
    }

    fn send_order(&self, connection: u64, order: Order) {
        if let Some(pool) = &self.pool {
            pool.send_order(connection, order);
        }
    }

    /// Ends all connections and requests, because the instance of the gate that knew them has failed.
    pub(crate) fn forget(&mut self, why: &str) {
        self.pool = None;
        self.inputs.clear();
        self.tasks.clear();
        for _ in self.events.try_iter() {}
        self.deadline_ms = None;
        for (_, answered) in self.waiting.drain() {
            answered(Err(why.to_owned()));
        }
    }
}

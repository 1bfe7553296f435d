//! MCP servers: carries out what the gate decides about connections to them, and tells it what came of that.
//!
//! Which servers are connected to, when, for how long, what their tools are called and what becomes of a call, the gate decides
//! (`tollgate_guest::servers::hub` has its inputs and commands). [`Servers`] belongs to one gate and has one connection for each
//! server, whoever needs it: lookups, `tollgate mcp`, `tollgate mcp-proxy`.

mod bounds;
mod connection;
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

/// The gate is told at most this much at once, in bytes; it takes lines of 32 MiB.
const MAX_LINE: usize = 24 << 20;

/// Whoever waits for the answer to a request.
pub(crate) type Answered = Box<dyn FnOnce(Result<Value, String>) + Send>;

/// By what a request is known. No two in this process have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestNumber(u64);

impl RequestNumber {
    /// One that was not given before.
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Something that the gate wants and that is not about a connection.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Tell the gate of an event, as the program `generic` would.
    Exchange { command: u64, payload: Value },
    /// Ask the person behind a request.
    Ask { command: u64, message: String },
    /// The tools are not those that were listed last.
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
    waiting: HashMap<u64, Answered>,
    wishes: Vec<Wish>,
    start: Instant,
    deadline_ms: Option<u64>,
}

impl Servers {
    /// Nothing is started yet. Programs will run in a folder, usually the workspace.
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
        let (inputs, waiting, wishes, start) = (Vec::new(), HashMap::new(), Vec::new(), Instant::now());
        Self { folder, pool: None, inputs, events, report, waker, waiting, wishes, start, deadline_ms: None }
    }

    /// Who is woken when something happened.
    pub(crate) fn wake_with(&self, wake: impl Fn() + Send + 'static) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(wake));
    }

    /// Puts in what the gate is told with the next step.
    pub(crate) fn tell(&mut self, input: Value) {
        self.inputs.push(input);
    }

    /// Puts in a request under a number of its own; what it is answered with goes to whoever waits.
    pub(crate) fn request(&mut self, number: RequestNumber, method: &str, params: Value, answered: Answered) {
        self.waiting.insert(number.0, answered);
        self.tell(json!({"type": "request", "number": number.0, "method": method, "params": params}));
    }

    /// Nobody waits for a request any more.
    pub(crate) fn cancel(&mut self, number: RequestNumber) {
        if self.waiting.remove(&number.0).is_some() {
            self.tell(json!({"type": "cancel", "number": number.0}));
        }
    }

    /// How many milliseconds are left until the gate has to be asked again; none where nothing is due.
    pub(crate) fn due_in_ms(&self) -> Option<u64> {
        self.deadline_ms.map(|deadline| deadline.saturating_sub(self.now()))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The line to ask the gate with; none where there is nothing to tell and nothing is due.
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
        Some(format!(r#"{{"op":"mcp","do":"step","now_ms":{},"inputs":[{inputs}]}}"#, self.now()))
    }

    /// Does what the gate answered, as far as it is about connections. What is left is for whoever drives the gate's hooks.
    pub(crate) fn carry_out(&mut self, turn: &Value) {
        self.deadline_ms = turn.get("next_deadline_ms").and_then(Value::as_u64);
        for command in turn.get("commands").and_then(Value::as_array).into_iter().flatten() {
            let wish = self.obey(command);
            self.wishes.extend(wish);
        }
    }

    /// What the gate wants that is not about a connection.
    pub(crate) fn take_wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    fn obey(&mut self, order: &Value) -> Option<Wish> {
        let number = |key: &str| order.get(key).and_then(Value::as_u64).unwrap_or_default();
        let text = |key: &str| order.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = |key: &str| order.get(key).cloned().unwrap_or_default();
        let (connection, command) = (number("connection"), number("command"));
        match order.get("type").and_then(Value::as_str).unwrap_or_default() {
            "connect" => self.connect(connection, value("transport")),
            "list" => self.order(connection, Order::List),
            "call" => self.order(connection, Order::Call { command, tool: text("tool"), arguments: value("arguments") }),
            "cancel" => self.order(connection, Order::Cancel { command }),
            "disconnect" => drop(self.pool.as_ref().map(|pool| pool.disconnect(connection))),
            "reply" => {
                if let Some(answered) = self.waiting.remove(&number("number")) {
                    answered(match order.get("error").and_then(Value::as_str) {
                        Some(why) => Err(why.to_owned()),
                        None => Ok(value("result")),
                    });
                }
            }
            "exchange" => return Some(Wish::Exchange { command, payload: value("payload") }),
            "ask" => return Some(Wish::Ask { command, message: text("message") }),
            "tools_changed" => return Some(Wish::ToolsChanged),
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
                    return self.tell(json!({"type": "closed", "connection": connection, "kind": "ended", "why": why}));
                }
            }
        }
        if let Some(pool) = &self.pool {
            pool.connect(connection, transport);
        }
    }

    fn order(&self, connection: u64, order: Order) {
        if let Some(pool) = &self.pool {
            pool.order(connection, order);
        }
    }

    /// The instance of the gate that knew of the connections is gone: they end, and whoever waits learns it.
    pub(crate) fn forget(&mut self, why: &str) {
        self.pool = None;
        self.inputs.clear();
        self.wishes.clear();
        for _ in self.events.try_iter() {}
        self.deadline_ms = None;
        for (_, answered) in self.waiting.drain() {
            answered(Err(why.to_owned()));
        }
    }
}

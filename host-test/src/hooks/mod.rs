//! Hooks: programs and prompts that run when something happens.
//!
//! The gate decides which run, when, how often and how long. [`Hooks`] does what it is told: it starts programs, ends them,
//! keeps the clock and carries answers. It has no thread of its own for the gate: somebody calls [`Hooks::event`], which
//! waits for an answer, or [`Hooks::work`], which lets everything in the background go on. Between those calls programs
//! run, but none is begun and none is ended.
//!
//! ```no_run
//! use serde_json::json;
//! use tollgate::Tollgate;
//! use tollgate::hooks::{Options, Hooks};
//!
//! let gate = Tollgate::builder().workspace(".").open()?;
//! let mut hooks = Hooks::new(gate, Options::new().on_record(|record| println!("{record}")));
//! let answer = hooks.event("before_tool", "session-1", &json!({"tool": "bash", "args": {"command": "ls"}}))?;
//! if !answer.go_on {
//!     println!("stopped: {}", answer.system_message.unwrap_or_default());
//! }
//! hooks.shutdown(true)?;
//! # Ok::<(), tollgate::Error>(())
//! ```
//!
//! Where the component fails, everything under way is ended and forgotten, and the next call begins anew.

mod options;
mod remote;
mod running;
mod script;

use std::borrow::BorrowMut;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use options::Told;
pub use options::{Options, Prompt, Said};
use remote::Message;
pub use remote::Remote;
use running::{Report, Running};

use crate::error::Error;
use crate::gate::Tollgate;

/// One step takes in so much at most: it has as little time and memory as any other call.
const MOST_INPUTS: usize = 100;
const MOST_BYTES: usize = 8 << 20;

/// What comes of an event that somebody waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whether what was to happen may happen.
    pub go_on: bool,
    /// What the model or the person should be told.
    pub system_message: Option<String>,
    /// The event's data as the hooks leave it: with theirs instead of what was passed in.
    pub data: Value,
}

/// Drives the hooks of one workspace. See the [module's page](self) for an example.
pub struct Hooks<G: BorrowMut<Tollgate> = Tollgate> {
    gate: G,
    options: Options,
    remote: Remote,
    inbox: mpsc::Receiver<Message>,
    start: Instant,
    /// The instance that knows of this host.
    greeted: Option<u64>,
    running: HashMap<u64, Running>,
    /// Events whose answer somebody waits for.
    awaited: HashSet<u64>,
    answers: HashMap<u64, Vec<u8>>,
    deadline_ms: Option<u64>,
    stopped: bool,
}

impl<G: BorrowMut<Tollgate>> Hooks<G> {
    /// Over a gate, its own or a borrowed one. Nothing happens yet.
    pub fn new(gate: G, options: Options) -> Self {
        let (sender, inbox) = mpsc::channel();
        Self {
            gate,
            options,
            remote: Remote(sender),
            inbox,
            start: Instant::now(),
            greeted: None,
            running: HashMap::new(),
            awaited: HashSet::new(),
            answers: HashMap::new(),
            deadline_ms: None,
            stopped: false,
        }
    }

    /// The gate, for everything that has nothing to do with hooks.
    pub fn gate(&mut self) -> &mut Tollgate {
        self.gate.borrow_mut()
    }

    /// What tells these hooks from other threads what happened.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Something is about to happen, or happened: asks the hooks that are declared for it and waits for their answer.
    pub fn event(&mut self, event: &str, session: &str, data: &Value) -> Result<Answer, Error> {
        let answer = self.ask(&json!({"op": "event", "event": event, "session": session, "data": data}))?;
        Ok(Answer {
            go_on: answer.get("continue").and_then(Value::as_bool).unwrap_or(true),
            system_message: answer.get("system_message").and_then(Value::as_str).map(str::to_owned),
            data: answer.get("data").cloned().unwrap_or_default(),
        })
    }

    /// Something happened; nobody waits for what comes of it. The gate learns it at once, and begins what it begins at once.
    pub fn notify(&mut self, event: &str, session: Option<&str>, data: &Value) -> Result<(), Error> {
        self.remote.notify(event, session, data);
        self.work(Duration::ZERO)
    }

    /// Runs a hook by its id, whatever its trigger, and waits for the record of it.
    pub fn run(&mut self, id: &str, data: Option<&Value>) -> Result<Value, Error> {
        let mut answer = self.ask(&json!({"op": "hooks", "do": "run", "id": id, "data": data}))?;
        Ok(answer.get_mut("record").map(Value::take).unwrap_or_default())
    }

    /// Cancels a run, which is known by its record's id.
    pub fn cancel(&mut self, run: &str) -> Result<(), Error> {
        self.remote.cancel(run);
        self.work(Duration::ZERO)
    }

    /// Answers one JSON line, as [`Tollgate::perform`] does, and waits where that says `waiting`.
    pub fn perform(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        if self.greeted.is_none() || self.greeted != self.gate.borrow_mut().alive() {
            self.step(Vec::new())?;
        }
        let answer = self.gate.borrow_mut().perform(line).inspect_err(|_| self.forget())?;
        let Some(event) = waiting(&answer) else {
            // It may have put something into the queue.
            self.step(Vec::new())?;
            return Ok(answer);
        };
        self.awaited.insert(event);
        self.step(Vec::new())?;
        loop {
            if let Some(answer) = self.answers.remove(&event) {
                return Ok(answer);
            }
            if self.running.is_empty() && self.deadline_ms.is_none() {
                // The inbox may still have what makes it go on; an idle gate with an empty one never answers.
                match self.inbox.try_recv() {
                    Ok(message) => self.take_in(Some(message))?,
                    Err(_) => return Err(Error::Internal("the gate has forgotten an event; please report it".to_owned())),
                }
            } else {
                self.work(Duration::from_secs(60))?;
            }
        }
    }

    /// Waits until something happened or is due, at most so long, and does what follows from it.
    pub fn work(&mut self, most: Duration) -> Result<(), Error> {
        let due = self.deadline_ms.map(|due| Duration::from_millis(due.saturating_sub(self.now())));
        let wait = due.map_or(most, |due| due.min(most));
        let first = self.inbox.recv_timeout(wait).ok();
        self.take_in(first)
    }

    /// Whether nothing is running, and nothing is due.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.deadline_ms.is_none()
    }

    /// Whether a shutdown has come to its end.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Begins nothing more, waits for what is under way or cancels it, and returns when nothing is left.
    pub fn shutdown(&mut self, drain: bool) -> Result<(), Error> {
        self.remote.shutdown(drain);
        while !self.stopped {
            self.work(Duration::from_secs(60))?;
        }
        Ok(())
    }

    fn ask(&mut self, question: &Value) -> Result<Value, Error> {
        let answer = self.perform(question.to_string().as_bytes())?;
        let answer: Value = serde_json::from_slice(&answer)
            .map_err(|fault| Error::Internal(format!("the gate's answer is no JSON: {fault}; please report it")))?;
        match answer.pointer("/error/message").and_then(Value::as_str) {
            Some(message) => Err(Error::InvalidInput(message.to_owned())),
            None => Ok(answer),
        }
    }

    /// Gives the gate a message and whatever else has come by now.
    fn take_in(&mut self, first: Option<Message>) -> Result<(), Error> {
        let (mut inputs, mut bytes) = (Vec::new(), 0);
        let mut next = first;
        // What is left over is there at once the next time.
        while inputs.len() < MOST_INPUTS
            && bytes < MOST_BYTES
            && let Some(message) = next.or_else(|| self.inbox.try_recv().ok())
        {
            next = None;
            let input = match message {
                Message::Input(input) => input,
                // What was canceled has been reported, and an earlier instance's run is nobody's.
                Message::Ended { instance, command, ending } => {
                    if self.greeted != Some(instance) || self.running.remove(&command).is_none() {
                        continue;
                    }
                    done(command, ending)
                }
                Message::Wake => continue,
            };
            let input = input.to_string().into_bytes();
            bytes += input.len();
            inputs.push(input);
        }
        self.step(inputs)
    }

    fn step(&mut self, mut inputs: Vec<Vec<u8>>) -> Result<(), Error> {
        let alive = self.gate.borrow_mut().alive();
        if self.greeted.is_none() || self.greeted != alive {
            self.forget();
            inputs.insert(0, self.hello().to_string().into_bytes());
        }
        let now = self.now();
        let turn = self.gate.borrow_mut().step(now, &inputs).inspect_err(|_| self.forget())?;
        self.greeted = self.gate.borrow_mut().alive();
        self.deadline_ms = turn.next_deadline_ms;
        for command in turn.commands {
            self.carry_out(command.id, &command.body);
        }
        Ok(())
    }

    fn carry_out(&mut self, id: u64, bytes: &[u8]) {
        let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| body.get(name).and_then(Value::as_u64);
        match text("type") {
            "run" | "prompt" => {
                let report = Report::new(self.remote.clone(), self.greeted.unwrap_or_default(), id);
                let files = Arc::clone(self.gate.borrow_mut().files());
                self.running.insert(id, running::start(body, &files, &self.options, report));
            }
            "cancel" => {
                let Some(run) = number("id") else { return };
                if self.running.get(&run).is_some_and(|running| !running.cancel()) {
                    self.running.remove(&run);
                    self.remote.send(Message::Input(done(run, json!({"canceled": true}))));
                }
            }
            "answer" => {
                if let Some(event) = number("event").filter(|event| self.awaited.remove(event)) {
                    self.answers.insert(event, as_written(bytes, "answer"));
                }
            }
            "record" => tell(&mut self.options.on_record, body.get("record")),
            "approval" => tell(&mut self.options.on_approval, Some(&body)),
            kind @ ("listen" | "unlisten") => {
                let (trigger, on) = (text("trigger"), kind == "listen");
                let failed = self.options.on_listen.as_mut().and_then(|listen| listen(trigger, on).err());
                if on {
                    self.remote.listening(trigger, failed.as_deref());
                }
            }
            "stopped" => self.stopped = true,
            // A later component may say more than this host knows of.
            _ => {}
        }
    }

    /// The folders in which programs are looked for. A relative one means another folder to everybody who reads it.
    fn hello(&mut self) -> Value {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        let folders: Vec<String> = folders.filter_map(|folder| folder.into_os_string().into_string().ok()).collect();
        let workspace = self.gate.borrow_mut().files().workspace().to_string_lossy().into_owned();
        let temp = std::env::temp_dir().to_string_lossy().into_owned();
        json!({"type": "hello", "workspace": workspace, "path": folders, "temp": temp, "prompts": self.options.prompt.is_some()})
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Ends what nobody knows of any more.
    fn forget(&mut self) {
        for running in self.running.values() {
            running.cancel();
        }
        self.running.clear();
        self.awaited.clear();
        self.answers.clear();
        self.greeted = None;
        self.deadline_ms = None;
    }
}

/// No program outlives whoever wanted it.
impl<G: BorrowMut<Tollgate>> Drop for Hooks<G> {
    fn drop(&mut self) {
        // Whoever ends the process next must not be faster than the threads that kill.
        let until = Instant::now() + Duration::from_secs(2);
        let mut left = self.running.values().filter(|running| running.cancel()).count();
        while left > 0 {
            match self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Ended { .. }) => left -= 1,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

fn tell(whom: &mut Option<Box<Told>>, what: Option<&Value>) {
    if let (Some(tell), Some(what)) = (whom, what) {
        tell(what);
    }
}

fn done(command: u64, ending: Value) -> Value {
    let mut input = Map::from_iter([("type".to_owned(), "done".into()), ("id".to_owned(), command.into())]);
    if let Value::Object(ending) = ending {
        input.extend(ending);
    }
    Value::Object(input)
}

/// A field as it was written: a number may not survive being read.
fn as_written(object: &[u8], field: &str) -> Vec<u8> {
    let fields: HashMap<String, &RawValue> = serde_json::from_slice(object).unwrap_or_default();
    fields.get(field).map_or_else(|| b"{}".to_vec(), |value| value.get().as_bytes().to_vec())
}

/// The event that is waited for, where an answer says so.
fn waiting(answer: &[u8]) -> Option<u64> {
    let number = answer.strip_prefix(br#"{"waiting":"#)?.strip_suffix(b"}")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

//! Hooks: programs and prompts that run on events.
//!
//! The gate decides which hooks run, when, how often and for how long. [`Hooks`] executes its commands: it starts and ends
//! programs, keeps time and passes results on. It does not run the gate in a thread of its own: call [`Hooks::event`], which
//! waits for an answer, or [`Hooks::work`], which lets background hooks progress. Between these calls programs keep running, but
//! none is started or ended.
//!
//! ```no_run
//! use serde_json::json;
//! use tollgate::Tollgate;
//! use tollgate::hooks::{Options, Hooks};
//!
//! let gate = Tollgate::builder().workspace(".").open()?;
//! let mut hooks = Hooks::new(gate, Options::new().on_record(|record| println!("{record:?}")));
//! let answer = hooks.event("before_tool", "session-1", &json!({"tool_name": "bash", "args": {"command": "ls"}}))?;
//! if !answer.proceed {
//!     println!("stopped: {}", answer.system_message.unwrap_or_default());
//! }
//! hooks.shutdown(true)?;
//! # Ok::<(), tollgate::Error>(())
//! ```
//!
//! If the component fails, all running hooks are ended, and the next call starts over.

mod mcp;
mod options;
mod record;
mod remote;
mod running;
mod script;

use std::borrow::BorrowMut;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use crate::mcp::RequestNumber;
pub use mcp::Question;
pub use options::{Options, Prompt, PromptOutput};
pub use record::{HookApproval, HookRecord, RunStatus};
use remote::HooksMessage;
pub use remote::Remote;
use running::{Report, Running};

use crate::bindings::exports::tollgate::hooks::engine::{Command, Ended, Ending, Found, Input, Machine, Order};
use crate::bindings::exports::tollgate::hooks::programs::{Answer as Reply, Progress};
use crate::components::Components;
use crate::confine::Capability;
use crate::error::Error;
use crate::gate::Tollgate;
use crate::lookups::Lookups;

/// At most this many inputs per step, because a step has the same time and memory limits as any other call; as many as in Node.
const MAX_INPUTS: usize = 100;

/// The answer of the hooks to an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whether the operation may continue.
    pub proceed: bool,
    /// A message for the model or the person.
    pub system_message: Option<String>,
    /// The event's data, as changed by the hooks.
    pub data: Value,
}

/// Runs the hooks of one workspace. See the [module documentation](self) for an example.
pub struct Hooks<G: BorrowMut<Tollgate> = Tollgate> {
    gate: G,
    options: Options,
    remote: Remote,
    inbox: mpsc::Receiver<HooksMessage>,
    start: Instant,
    /// The instance that has been told about this host.
    announced_to: Option<u64>,
    running: HashMap<u64, Running>,
    /// Lookups in progress.
    looking_up: HashSet<u64>,
    /// Requests whose answer a caller waits for.
    awaited: HashSet<u64>,
    answers: HashMap<u64, Reply>,
    /// Events of MCP calls that the gate has reported to itself: the command to answer, by the number of the request.
    exchanging: HashMap<u64, u64>,
    deadline_ms: Option<u64>,
    stopped: bool,
    /// Created when the first third-party hook is called.
    components: Option<Components>,
}

impl<G: BorrowMut<Tollgate>> Hooks<G> {
    /// Creates hooks for an owned or borrowed gate. Nothing is started yet.
    pub fn new(gate: G, options: Options) -> Self {
        let (sender, inbox) = mpsc::channel();
        Self {
            gate,
            options,
            remote: Remote(sender),
            inbox,
            start: Instant::now(),
            announced_to: None,
            running: HashMap::new(),
            looking_up: HashSet::new(),
            awaited: HashSet::new(),
            answers: HashMap::new(),
            exchanging: HashMap::new(),
            deadline_ms: None,
            stopped: false,
            components: None,
        }
    }

    /// The gate, for everything that does not involve hooks.
    pub fn gate(&mut self) -> &mut Tollgate {
        self.gate.borrow_mut()
    }

    /// A handle for reporting events from other threads.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Asks the hooks that are declared for an event and waits for their answer.
    pub fn event(&mut self, event: &str, session: &str, data: &Value) -> Result<Answer, Error> {
        let answer = self.ask(&json!({"op": "event", "event": event, "session": session, "data": data}))?;
        Ok(Answer {
            proceed: answer.get("continue").and_then(Value::as_bool).unwrap_or(true),
            system_message: answer.get("system_message").and_then(Value::as_str).map(str::to_owned),
            data: answer.get("data").cloned().unwrap_or_default(),
        })
    }

    /// Reports an event without waiting for its hooks. Those that are due are started immediately.
    pub fn notify(&mut self, event: &str, session: Option<&str>, data: &Value) -> Result<(), Error> {
        self.remote.notify(event, session, data);
        self.work(Duration::ZERO)
    }

    /// Runs a hook by its id, whatever its trigger, and waits for its record.
    pub fn run(&mut self, id: &str, data: Option<&Value>) -> Result<HookRecord, Error> {
        let mut answer = self.ask(&json!({"op": "hooks", "do": "run", "id": id, "data": data}))?;
        let record = answer.get_mut("record").map(Value::take).unwrap_or_default();
        serde_json::from_value(record).map_err(|why| Error::Internal(format!("the gate's record cannot be read: {why}")))
    }

    /// Handles a hook payload of an agent program, and waits for hooks and lookups. The answer is in the format of the program.
    /// If the gate fails, a fresh instance decides what happens to the call.
    pub fn respond(&mut self, program: &str, event: Option<&str>, payload: &[u8]) -> Result<Reply, Error> {
        let responded = self.describe_host().and_then(|()| {
            match self.gate.borrow_mut().respond(program, event, payload).inspect_err(|_| self.abandon_all())? {
                Progress::Answered(reply) => Ok(reply),
                Progress::Waiting(number) => self.wait_for(number),
            }
        });
        responded.or_else(|fault| self.gate.borrow_mut().respond_to_fault(program, event, payload, &fault.to_string()))
    }

    /// Waits until the gate has retried what it could not do at first, such as writing to the ledger.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.step(Vec::new())?;
        while !self.is_idle() {
            self.work(Duration::from_secs(60))?;
        }
        Ok(())
    }

    /// Cancels a run by the id of its record.
    pub fn cancel(&mut self, run: &str) -> Result<(), Error> {
        self.remote.cancel(run);
        self.work(Duration::ZERO)
    }

    /// Answers one JSON line like [`Tollgate::perform`], and waits if the answer is `waiting`.
    pub fn perform(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        self.describe_host()?;
        let answer = self.gate.borrow_mut().perform(line).inspect_err(|_| self.abandon_all())?;
        let Some(number) = waiting(&answer) else {
            // The request may have queued a hook.
            self.step(Vec::new())?;
            return Ok(answer);
        };
        self.wait_for(number).map(|reply| reply.text)
    }

    /// Describes this host to the gate, unless its instance has been told before.
    fn describe_host(&mut self) -> Result<(), Error> {
        if self.announced_to.is_none() || self.announced_to != self.gate.borrow_mut().running_instance() {
            self.step(Vec::new())?;
        }
        Ok(())
    }

    fn wait_for(&mut self, number: u64) -> Result<Reply, Error> {
        self.awaited.insert(number);
        self.step(Vec::new())?;
        loop {
            if let Some(answer) = self.answers.remove(&number) {
                return Ok(answer);
            }
            if self.is_idle() {
                // The inbox may still contain a message; an idle gate with an empty inbox will never answer.
                match self.inbox.try_recv() {
                    Ok(message) => self.receive(Some(message))?,
                    Err(_) => return Err(Error::Internal("the gate lost an event; please report it".to_owned())),
                }
            } else {
                self.work(Duration::from_secs(60))?;
            }
        }
    }

    /// Waits until something happens or is due, at most for `timeout`, and processes it.
    pub fn work(&mut self, timeout: Duration) -> Result<(), Error> {
        self.drive_servers()?;
        let due = self.deadline_ms.map(|due| due.saturating_sub(self.now()));
        let due = due.into_iter().chain(self.gate.borrow_mut().servers().due_in_ms()).min().map(Duration::from_millis);
        let wait = due.map_or(timeout, |due| due.min(timeout));
        let first = self.inbox.recv_timeout(wait).ok();
        self.receive(first)?;
        self.drive_servers()
    }

    /// Whether nothing is running and nothing is due.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.looking_up.is_empty() && self.deadline_ms.is_none()
    }

    /// Whether a shutdown has finished.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Starts nothing more, waits for running hooks or cancels them, and returns when all have ended.
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
            .map_err(|fault| Error::Internal(format!("the gate's answer is not valid JSON: {fault}; please report it")))?;
        match answer.pointer("/error/message").and_then(Value::as_str) {
            Some(message) => Err(Error::InvalidInput(message.to_owned())),
            None => Ok(answer),
        }
    }

    /// Passes a message and everything else in the inbox to the gate.
    fn receive(&mut self, first: Option<HooksMessage>) -> Result<(), Error> {
        let mut inputs = Vec::new();
        let mut next = first;
        // The rest is processed in the next step.
        while inputs.len() < MAX_INPUTS
            && let Some(message) = next.or_else(|| self.inbox.try_recv().ok())
        {
            next = None;
            inputs.extend(match message {
                HooksMessage::Input(input) => Some(input),
                // A canceled run has been reported already, and runs of an earlier instance are unknown to this one.
                HooksMessage::Ended { instance, command, ending } => {
                    let is_ours = self.announced_to == Some(instance) && self.running.remove(&command).is_some();
                    is_ours.then_some(Input::Ended(Ended { command, ending }))
                }
                HooksMessage::Found { instance, command, answer } => {
                    let is_ours = self.announced_to == Some(instance) && self.looking_up.remove(&command);
                    is_ours.then_some(Input::Found(Found { command, answer }))
                }
                HooksMessage::Request { number, method, params, answered } => {
                    self.gate.borrow_mut().servers().request(number, &method, params, answered);
                    None
                }
                HooksMessage::CancelRequest(number) => {
                    self.gate.borrow_mut().servers().cancel(number);
                    None
                }
                HooksMessage::Servers(input) => {
                    self.gate.borrow_mut().servers().push_input(input);
                    None
                }
                HooksMessage::Wake => None,
            });
        }
        self.step(inputs)
    }

    /// Runs a step of the gate, then calls third-party hooks for as long as the gate asks for calls.
    fn step(&mut self, inputs: Vec<Input>) -> Result<(), Error> {
        self.step_once(inputs)?;
        loop {
            let asks = self.gate.borrow_mut().due().inspect_err(|_| self.abandon_all())?;
            if asks.is_empty() {
                return Ok(());
            }
            for ask in asks {
                let files = Arc::clone(self.gate.borrow_mut().files());
                let compiler = self.options.compiler.clone();
                let components = self.components.get_or_insert_with(|| Components::new(files, compiler));
                let answers = components.call(&ask.round);
                self.gate.borrow_mut().report(ask.number, &answers).inspect_err(|_| self.abandon_all())?;
            }
            self.step_once(Vec::new())?;
        }
    }

    fn step_once(&mut self, mut inputs: Vec<Input>) -> Result<(), Error> {
        let alive = self.gate.borrow_mut().running_instance();
        if self.announced_to.is_none() || self.announced_to != alive {
            self.abandon_all();
            let info = host_info(self.gate.borrow_mut().files().workspace(), self.options.prompt.is_some());
            inputs.insert(0, info);
        }
        let now = self.now();
        let turn = self.gate.borrow_mut().step(now, &inputs).inspect_err(|_| self.abandon_all())?;
        self.announced_to = self.gate.borrow_mut().running_instance();
        self.deadline_ms = turn.next_deadline_ms;
        turn.commands.into_iter().for_each(|command| self.execute(command));
        Ok(())
    }

    fn execute(&mut self, Command { id, order }: Command) {
        let report = |hooks: &Self| Report::new(hooks.remote.clone(), hooks.announced_to.unwrap_or_default(), id);
        match order {
            Order::Run(ordered) => {
                let files = Arc::clone(self.gate.borrow_mut().files());
                let running = running::run(ordered, &files, report(self));
                self.running.insert(id, running);
            }
            Order::Prompt(ordered) => {
                let files = Arc::clone(self.gate.borrow_mut().files());
                let running = running::prompt(ordered, &files, &self.options, report(self));
                self.running.insert(id, running);
            }
            Order::LookUp(lookup) => {
                let folder = self.gate.borrow_mut().files().workspace().to_owned();
                let lookups = self.options.lookups.get_or_insert_with(|| Lookups::new(folder));
                let (remote, instance) = (self.remote.clone(), self.announced_to.unwrap_or_default());
                self.looking_up.insert(id);
                let found = move |answer| remote.send(HooksMessage::Found { instance, command: id, answer });
                lookups.begin(self.gate.borrow_mut(), lookup, found);
            }
            Order::Cancel(run) => {
                if self.running.get(&run).is_some_and(|running| !running.cancel()) {
                    self.running.remove(&run);
                    self.remote.send(HooksMessage::Input(Input::Ended(Ended { command: run, ending: Ending::Canceled })));
                }
            }
            Order::Reply(reply) => {
                if let Some(command) = self.exchanging.remove(&reply.number) {
                    let input = mcp::exchange_input(command, &reply.answer, reply.refused.as_deref());
                    self.gate.borrow_mut().servers().push_input(input);
                } else if self.awaited.remove(&reply.number) {
                    self.answers.insert(reply.number, Reply { text: reply.answer, refused: reply.refused });
                }
            }
            Order::Record(record) => {
                if let (Some(callback), Ok(record)) = (&mut self.options.on_record, serde_json::from_slice(&record)) {
                    callback(&record);
                }
            }
            Order::Approval(approval) => {
                if let Some(callback) = &mut self.options.on_approval {
                    callback(&HookApproval::from_gate(approval));
                }
            }
            Order::Listen(trigger) => {
                let failed = self.options.on_listen.as_mut().and_then(|listen| listen(&trigger, true).err());
                self.remote.listening(&trigger, failed.as_deref());
            }
            Order::Unlisten(trigger) => {
                if let Some(listen) = &mut self.options.on_listen {
                    let _ = listen(&trigger, false);
                }
            }
            Order::Stopped => self.stopped = true,
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Cancels everything that the failed instance had started.
    fn abandon_all(&mut self) {
        for running in self.running.values() {
            running.cancel();
        }
        self.running.clear();
        self.looking_up.clear();
        self.awaited.clear();
        self.answers.clear();
        self.exchanging.clear();
        self.announced_to = None;
        self.deadline_ms = None;
    }
}

/// Hook programs never outlive the host.
impl<G: BorrowMut<Tollgate>> Drop for Hooks<G> {
    fn drop(&mut self) {
        // Wait for the threads that kill programs, because the process may exit right after this.
        let until = Instant::now() + Duration::from_secs(2);
        let mut left = self.running.values().filter(|running| running.cancel()).count();
        while left > 0 {
            match self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(HooksMessage::Ended { .. }) => left -= 1,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Describes this host. Relative folders of the search path are left out, because they mean a different folder to each process.
pub(crate) fn host_info(workspace: &Path, runs_prompts: bool) -> Input {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    Input::Machine(Machine {
        workspace: workspace.to_string_lossy().into_owned(),
        search_path: folders.filter_map(|folder| folder.into_os_string().into_string().ok()).collect(),
        temporary: Some(std::env::temp_dir().to_string_lossy().into_owned()),
        runs_prompts,
        confines: !Capability::of_this_system().is_none(),
    })
}

/// The request to wait for, if an answer says so.
fn waiting(answer: &[u8]) -> Option<u64> {
    let number = answer.strip_prefix(br#"{"waiting":"#)?.strip_suffix(b"}")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

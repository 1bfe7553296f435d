//! The hook engine: takes inputs, returns commands.

mod asking;
mod chain;
mod records;
mod running;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use serde_json::Value;

use self::asking::Round;
use self::chain::Chain;
use self::records::Counts;
use super::components::Ask;
use super::components::approved::Approved;
use super::components::faults::Faults;
use super::components::feedback::HookFeedback;
use super::declaration::{Action, Hook};
use super::event::{self, Event};
use super::journal;
use super::machine::Machine;
use super::outcome::RunOutcome;
use super::registry::{NeededHooks, RegisteredHook, Registry, Source};
use super::run::{Run, RunStage, RunStatus};
use super::schedule::{AddOutcome, DueRun, RunKey, Schedule};
use super::settings::HookSettings;
use super::trust::{self, Approvals, Fingerprint, Trust};
use crate::engine::{Command, Input, Order, Turn};
use crate::json::object;
use crate::ports::Ports;

/// Who waits for the answer of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The host, under the number of its question.
    Host(u64),
    /// The gate itself, under a number of its own: [`Hooks::take_answers`] gives the answer.
    Gate(u64),
    /// No one.
    Nobody,
}

/// The stamps of approvals and of a component's file.
type Stamps = (u64, u64);

/// The hooks of one workspace.
#[derive(Default)]
pub struct Hooks {
    machine: Machine,
    prompts_by_host: bool,
    /// All hooks, declared and registered.
    pub registry: Registry,
    approvals: Approvals,
    schedule: Schedule,
    settings: HookSettings,
    chains: HashMap<u64, Chain>,
    /// The events that operations have queued since the last step.
    inbox: Vec<(Event, VecDeque<RegisteredHook>, Asker, bool)>,
    /// The answers of hooks to the gate's own questions.
    answers: Vec<(u64, Value)>,
    listening: Vec<String>,
    /// How many runs of hooks without approval were examined in this step.
    examined: usize,
    /// Calls of components: those that the host has to make, those in progress, and their results.
    due: Vec<Ask>,
    rounds: Vec<Round>,
    said: Vec<(u64, HookFeedback)>,
    /// Approved components, by declaration.
    approved: Vec<(Rc<Hook>, Stamps, Rc<Approved>)>,
    /// Components that a person was asked about.
    refused: Vec<(String, Stamps)>,
    faults: Faults,
    /// Approvals that were asked for, once for each hook and digest.
    asked: Vec<(String, String)>,
    counts: Counts,
    /// Whether the engine is finishing its runs, or canceling them.
    closing: Option<bool>,
    commands: Vec<Command>,
    lines: String,
    numbers: u64,
    name: String,
    now: u64,
}

impl Hooks {
    /// Refreshes declarations, as far as they are needed, and applies the settings.
    pub fn refresh(&mut self, needed: NeededHooks<'_>, settings: HookSettings, ports: &Ports) {
        self.settings = settings;
        self.schedule.set_limits(settings);
        self.registry.refresh(needed, &self.machine, ports);
    }

    /// Queues an event whose answer the host waits for; `None` if no hook waits for it.
    pub fn queue_event(&mut self, event: Event) -> Option<u64> {
        let left = self.registry.waiting_for(&event);
        if left.is_empty() {
            return None;
        }
        self.numbers += 1;
        self.inbox.push((event, left, Asker::Host(self.numbers), false));
        Some(self.numbers)
    }

    /// Queues an event whose answer the gate itself waits for, under this number; false if no hook waits for it.
    pub fn queue_for_gate(&mut self, event: Event, number: u64) -> bool {
        let left = self.registry.waiting_for(&event);
        let waits = !left.is_empty();
        if waits {
            self.inbox.push((event, left, Asker::Gate(number), false));
        }
        waits
    }

    /// The answers of hooks to the gate's own questions since the last time.
    pub fn take_answers(&mut self) -> Vec<(u64, Value)> {
        std::mem::take(&mut self.answers)
    }

    /// A number that is unique within this instance.
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Queues one run of one hook, regardless of its trigger.
    pub fn queue_manual_run(&mut self, hook: RegisteredHook, data: Value) -> u64 {
        let event = Event { name: hook.hook.trigger.as_str().into(), session: None, data: Rc::new(data) };
        self.numbers += 1;
        self.inbox.push((event, VecDeque::from([hook]), Asker::Host(self.numbers), true));
        self.numbers
    }

    /// What a hook would run now, and whether it may.
    pub fn examine(&mut self, registered: &RegisteredHook, ports: &Ports) -> Result<(Fingerprint, Option<Trust>), String> {
        let asks = needs_approval(registered);
        let fingerprint = trust::fingerprint(registered, !asks, &self.machine, ports)?;
        let is_component = fingerprint.component.is_some();
        if let Some(owner) = registered.hook.owner.as_deref().filter(|_| asks && !is_component) {
            let trust = trust::of_owner(owner, &fingerprint, &self.machine, ports)?;
            return Ok((fingerprint, Some(trust)));
        }
        let trust = asks.then(|| self.approvals.trust(&registered.hook, &fingerprint, &self.machine, ports));
        Ok((fingerprint, trust))
    }

    /// The machine that hooks run on.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Stores or withdraws an approval.
    pub fn approve(&mut self, id: &str, fingerprint: Option<&Fingerprint>, ports: &Ports) -> Result<bool, String> {
        if self.machine.workspace.is_empty() {
            return Err("the host did not say where the workspace is".to_owned());
        }
        self.refused.retain(|(refused, _)| refused != id);
        trust::keep(id, fingerprint, &self.machine, ports)
    }

    /// Processes what happened. Returns what to do, and when to step again even if nothing happens.
    pub fn step(&mut self, now: u64, inputs: &[Input], ports: &Ports) -> Turn {
        // Otherwise everything would wait until a clock that was set back catches up.
        self.now = self.now.max(now);
        self.examined = 0;
        for input in inputs {
            self.process_input(input, ports);
        }
        // A host that introduces itself again listens to nothing yet.
        let is_introduced = inputs.iter().any(|input| matches!(input, Input::Machine(_)));
        if is_introduced {
            self.listening.clear();
        }
        if self.registry.take_changed() || is_introduced {
            self.update_listeners();
        }
        for (event, left, asker, by_hand) in std::mem::take(&mut self.inbox) {
            self.open_chain(event, left, asker, by_hand, ports);
        }
        for due in self.schedule.due(self.now) {
            match due {
                DueRun::Late(key) => self.stop(key, RunStatus::Timeout),
                DueRun::Unconfirmed(key) => self.confirm_end(key, ports),
            }
        }
        while let Some(key) = self.schedule.begin() {
            self.begin(key, ports);
        }
        if !self.lines.is_empty() {
            journal::write(&std::mem::take(&mut self.lines), ports);
        }
        if self.closing.is_some() && self.schedule.load() == (0, 0) {
            self.closing = None;
            self.command(Order::Stopped);
        }
        Turn { commands: std::mem::take(&mut self.commands), next_deadline_ms: self.schedule.next_time() }
    }

    fn process_input(&mut self, input: &Input, ports: &Ports) {
        match input {
            Input::Machine(told) => {
                self.machine = Machine::new(&told.workspace, told.search_path.iter().cloned());
                self.machine.temp = told.temporary.clone();
                self.prompts_by_host = told.runs_prompts;
            }
            // The caller has already refreshed the declarations.
            Input::Reload => {}
            Input::Event { name, session, data } => {
                let session = session.as_deref().map(Rc::<str>::from);
                let event = Event { name: name.as_str().into(), session, data: Rc::new(data.clone()) };
                self.handle_event(event, Asker::Nobody, ports);
            }
            Input::Ended { command, ending } => {
                if let Some(key) = self.schedule.of_command(*command) {
                    self.finish_run(key, ending, ports);
                }
            }
            Input::Cancel(run) => {
                let is_it = |key: &RunKey| self.schedule.get(*key).is_some_and(|found| self.run_id(found) == *run);
                if let Some(key) = self.schedule.keys().into_iter().find(is_it) {
                    self.cancel_run(key, "it was canceled", ports);
                }
            }
            Input::Listening { trigger, failed } => {
                if let Some(why) = failed {
                    self.disable_unobservable(trigger, why, ports);
                }
            }
            Input::Shutdown(drain) => {
                self.closing = Some(*drain);
                if *drain {
                    self.schedule.end_waits(self.now);
                } else {
                    for key in self.schedule.keys() {
                        self.cancel_run(key, "all runs were canceled", ports);
                    }
                }
            }
            // Hooks look nothing up.
            Input::Found { .. } => {}
            Input::Unknown(other) => {
                ports.warn(&format!("the host reported `{other}`, which is not known; its version may be newer"));
            }
        }
    }

    /// Tells the host which events to listen to, and which ones it can stop listening to.
    fn update_listeners(&mut self) {
        let wanted = self.registry.triggers();
        let before = std::mem::replace(&mut self.listening, wanted.clone());
        for trigger in wanted.iter().filter(|trigger| !before.contains(trigger)) {
            self.command(Order::Listen(trigger.clone()));
        }
        for trigger in before.iter().filter(|trigger| !wanted.contains(trigger)) {
            self.command(Order::Unlisten(trigger.clone()));
        }
    }

    fn disable_unobservable(&mut self, trigger: &str, why: &str, ports: &Ports) {
        let reason = format!("`{trigger}` cannot be observed here: {why}");
        self.registry.load_for(trigger, ports);
        let of_trigger = |registered: &&RegisteredHook| registered.hook.trigger == trigger && registered.disabled.is_none();
        let ids: Vec<String> =
            self.registry.all().iter().filter(of_trigger).map(|registered| registered.hook.id.clone()).collect();
        for id in ids {
            ports.fail(&format!("the hook `{id}` does not run: {reason}; `tollgate hooks list` shows its state"));
            self.registry.set_enabled(&id, Some(reason.clone()));
        }
        self.listening.retain(|other| other != trigger);
    }

    fn handle_event(&mut self, event: Event, asker: Asker, ports: &Ports) {
        self.registry.load_for(&event.name, ports);
        let matching = self.registry.waiting_for(&event);
        if self.closing.is_some() {
            for registered in matching {
                let run = self.new_run(&registered, event.clone(), None);
                self.record_end(&run, RunOutcome::of(RunStatus::Skipped, "the host is shutting down"), ports);
            }
            self.answer(asker, empty_answer(&event));
        } else if asker != Asker::Nobody || !event::is_background(&event.name) {
            self.open_chain(event, matching, asker, false, ports);
        } else {
            for registered in matching {
                let run = self.new_run(&registered, event.clone(), None);
                self.add(run, ports);
            }
        }
    }

    fn new_run(&mut self, registered: &RegisteredHook, event: Event, chain: Option<u64>) -> Run {
        self.numbers += 1;
        Run {
            number: self.numbers,
            hook: registered.hook.clone(),
            source: registered.source,
            event,
            part: registered.part,
            events: 1,
            chain,
            attempts: 0,
            queued: self.now,
            began: None,
            stage: RunStage::Ready,
        }
    }

    fn add(&mut self, run: Run, ports: &Ports) {
        let (key, left_out) = match self.schedule.add(run, self.now) {
            AddOutcome::Joined => return,
            AddOutcome::Waits(key) => (Some(key), None),
            AddOutcome::Refused(run) => (None, Some(run)),
            AddOutcome::Replaced(key, oldest) => (Some(key), Some(oldest)),
        };
        if let Some(key) = key {
            self.report_status(key, RunStatus::Queued, ports);
        }
        if let Some(run) = left_out {
            let why = format!("more than {} runs were waiting; see `hooks.queue` in the settings", self.settings.queue);
            ports.warn(&format!("the hook `{}` does not run: {why}", run.hook.id));
            self.record_end(&run, RunOutcome::of(RunStatus::Skipped, &why), ports);
        }
    }

    fn command(&mut self, order: Order) -> u64 {
        self.numbers += 1;
        self.commands.push(Command { id: self.numbers, order });
        self.numbers
    }
}

/// Whether a person has to approve a hook: those of a workspace, and all components, because a person has to see what they are
/// granted.
pub fn needs_approval(registered: &RegisteredHook) -> bool {
    registered.source == Source::Workspace || matches!(registered.hook.action, Action::Component(_))
}

fn empty_answer(event: &Event) -> Value {
    object(&mut [("continue", true.into()), ("system_message", Value::Null), ("data", (*event.data).clone())])
}

//! The engine: takes in what happened, says what to do.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::declaration::{Action, Hook};
use super::event::{self, Event};
use super::journal;
use super::outcome::Outcome;
use super::program::{Machine, Program};
use super::registry::{Registered, Registry, Source};
use super::run::{Run, Stage, Status};
use super::schedule::{Added, Due, Key, Schedule};
use super::settings::{self, HookSettings};
use super::trust::{self, Approvals, Deed, Trust};
use crate::json::{self, object};
use crate::ports::Ports;
use crate::redact;

/// What a program inherits of the environment. Secrets in the rest are none of its business.
const ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "SystemRoot"];

/// Of a program's output the host keeps so much.
const OUTPUT_BYTES: u64 = 1 << 20;

/// How long commands of lifecycle events may take, and everything else.
const LIFECYCLE_MS: u64 = 30_000;
const BACKGROUND_MS: u64 = 60_000;

/// Something that the host shall do.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Under which its result is reported.
    pub id: u64,
    /// What to do.
    pub body: Value,
}

/// What somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// An answer, under the number of a question that was put through an operation.
    Number(u64),
    /// An answer, under a name that the host chose.
    Reply(String),
    /// Nobody waits.
    Nobody,
}

/// Hooks that run one after the other, and somebody who waits for what they say together.
#[derive(Debug)]
struct Chain {
    ask: Ask,
    /// Whether a person asked for one run and wants its record.
    by_hand: bool,
    event: Event,
    left: VecDeque<Registered>,
    data: Map<String, Value>,
    messages: Vec<String>,
    goes_on: bool,
    record: Value,
}

/// How runs ended, and how long they took.
#[derive(Debug, Default)]
struct Counts {
    ended: [u64; 5],
    attempts: u64,
    waited_ms: u64,
    took_ms: u64,
    longest_ms: u64,
    began: u64,
}

const ENDINGS: [Status; 5] = [Status::Success, Status::Failed, Status::Timeout, Status::Canceled, Status::Skipped];

/// The hooks of one workspace.
#[derive(Default)]
pub struct Hooks {
    machine: Machine,
    prompts_by_host: bool,
    /// Declared and registered ones.
    pub registry: Registry,
    approvals: Approvals,
    schedule: Schedule,
    settings: HookSettings,
    chains: HashMap<u64, Chain>,
    /// What operations have put in since the last step.
    inbox: Vec<(Event, VecDeque<Registered>, Ask, bool)>,
    listening: Vec<String>,
    /// Approvals that were asked for: once for each hook and digest.
    asked: Vec<String>,
    counts: Counts,
    /// Draining, or calling everything off.
    closing: Option<bool>,
    commands: Vec<Command>,
    lines: String,
    numbers: u64,
    name: String,
    now: u64,
}

impl Hooks {
    /// Looks for changed declarations, and takes in the settings.
    pub fn refresh(&mut self, settings: HookSettings, ports: &Ports) {
        self.settings = settings;
        self.schedule.limit(settings);
        self.registry.refresh(ports);
    }

    /// Puts in an event whose answer somebody waits for; none where no hook waits for it.
    pub fn put(&mut self, event: Event) -> Option<u64> {
        let left: VecDeque<Registered> = self.registry.waiting_for(&event).cloned().collect();
        if left.is_empty() || self.closing.is_some() {
            return None;
        }
        self.numbers += 1;
        self.inbox.push((event, left, Ask::Number(self.numbers), false));
        Some(self.numbers)
    }

    /// Puts in one run of one hook, whatever it waits for.
    pub fn put_by_hand(&mut self, hook: Registered, data: Value) -> u64 {
        let event = Event { name: hook.hook.trigger.as_str().into(), session: None, data: Rc::new(data) };
        self.numbers += 1;
        self.inbox.push((event, VecDeque::from([hook]), Ask::Number(self.numbers), true));
        self.numbers
    }

    /// What a hook would run now, and whether it may.
    pub fn examine(&mut self, registered: &Registered, ports: &Ports) -> Result<(Deed, Option<Trust>), String> {
        let deed = trust::deed(&registered.hook, &self.machine, ports)?;
        let asks = registered.source == Source::Workspace;
        let trust = asks.then(|| self.approvals.trust(&registered.hook, &deed, &self.machine, ports));
        Ok((deed, trust))
    }

    /// Keeps or takes back an approval.
    pub fn approve(&mut self, id: &str, deed: Option<&Deed>, ports: &Ports) -> Result<bool, String> {
        if self.machine.workspace.is_empty() {
            return Err("the host did not say where the workspace is".to_owned());
        }
        trust::keep(id, deed, &self.machine, ports)
    }

    /// How runs ended so far, and how things stand.
    pub fn stats(&self) -> Value {
        let Counts { ended, attempts, waited_ms, took_ms, longest_ms, began } = &self.counts;
        let ended_all: Vec<(&str, Value)> =
            ENDINGS.iter().zip(ended).map(|(status, count)| (status.as_str(), (*count).into())).collect();
        let mut fields = ended_all;
        let (waiting, active) = self.schedule.load();
        let average = |sum: u64| sum.checked_div(*began).unwrap_or(0);
        fields.extend([
            ("queued", waiting.into()),
            ("running", active.into()),
            ("attempts", (*attempts).into()),
            ("average_wait_ms", average(*waited_ms).into()),
            ("average_ms", average(*took_ms).into()),
            ("longest_ms", (*longest_ms).into()),
        ]);
        object(&mut fields)
    }

    /// Takes in what happened and says what to do, and when to step again though nothing happens.
    pub fn step(&mut self, now: u64, inputs: &[Value], ports: &Ports) -> (Vec<Command>, Option<u64>) {
        // A clock that is set back would let everything wait for it.
        self.now = self.now.max(now);
        for input in inputs {
            self.take_in(input, ports);
        }
        for (event, left, ask, by_hand) in std::mem::take(&mut self.inbox) {
            self.open_chain(event, left, ask, by_hand, ports);
        }
        for due in self.schedule.due(self.now) {
            match due {
                Due::Late(key) => self.stop(key, Status::Timeout),
                Due::Unconfirmed(key) => self.confirmed(key, ports),
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
            self.command(&mut [("type", "stopped".into())]);
        }
        (std::mem::take(&mut self.commands), self.schedule.next_time())
    }

    fn take_in(&mut self, input: &Value, ports: &Ports) {
        match json::text(input, "type").unwrap_or_default() {
            "hello" => {
                let folders = input.get("path").and_then(Value::as_array).into_iter().flatten();
                self.machine = Machine {
                    workspace: json::text(input, "workspace").unwrap_or_default().to_owned(),
                    path: folders.filter_map(|folder| folder.as_str().map(str::to_owned)).collect(),
                };
                self.prompts_by_host = input.get("prompts") == Some(&Value::Bool(true));
                self.listen();
            }
            "reload" => self.listen(),
            "event" => {
                self.listen();
                let text = |key: &str| json::text(input, key).map(Rc::<str>::from);
                let data = input.get("data").cloned().unwrap_or_default();
                let event = Event { name: text("event").unwrap_or_default(), session: text("session"), data: Rc::new(data) };
                let ask = json::text(input, "reply").map_or(Ask::Nobody, |reply| Ask::Reply(reply.to_owned()));
                self.happened(event, ask, ports);
            }
            "done" => {
                let command = input.get("id").and_then(Value::as_u64).unwrap_or_default();
                if let Some(key) = self.schedule.of_command(command) {
                    self.done(key, input, ports);
                }
            }
            "cancel" => {
                let run = json::text(input, "run").unwrap_or_default();
                let found = self
                    .schedule
                    .keys()
                    .into_iter()
                    .find(|key| self.schedule.get(*key).is_some_and(|found| self.run_id(found) == run));
                if let Some(key) = found {
                    self.call_off(key, "somebody called it off", ports);
                }
            }
            "listening" => {
                let (trigger, why) = (json::text(input, "trigger").unwrap_or_default(), json::text(input, "failed"));
                if let Some(why) = why {
                    self.not_listening(trigger, why, ports);
                }
            }
            "shutdown" => {
                let drain = input.get("drain") == Some(&Value::Bool(true));
                self.closing = Some(drain);
                if drain {
                    self.schedule.hurry(self.now);
                } else {
                    for key in self.schedule.keys() {
                        self.call_off(key, "everything was called off", ports);
                    }
                }
            }
            other => ports.warn(&format!("the host reported `{other}`, which is not known; its version may be newer")),
        }
    }

    /// Tells the host which events to listen to, and which no more.
    fn listen(&mut self) {
        let wanted = self.registry.triggers();
        let before = std::mem::replace(&mut self.listening, wanted.clone());
        for trigger in wanted.iter().filter(|trigger| !before.contains(trigger)) {
            self.command(&mut [("type", "listen".into()), ("trigger", trigger.as_str().into())]);
        }
        for trigger in before.iter().filter(|trigger| !wanted.contains(trigger)) {
            self.command(&mut [("type", "unlisten".into()), ("trigger", trigger.as_str().into())]);
        }
    }

    fn not_listening(&mut self, trigger: &str, why: &str, ports: &Ports) {
        let reason = format!("nobody can listen to `{trigger}`: {why}");
        let of_trigger = |registered: &&Registered| registered.hook.trigger == trigger && registered.disabled.is_none();
        let ids: Vec<String> =
            self.registry.all().iter().filter(of_trigger).map(|registered| registered.hook.id.clone()).collect();
        for id in ids {
            ports.fail(&format!("the hook `{id}` does not run: {reason}; `tollgate hooks` says how it stands"));
            self.registry.set_enabled(&id, Some(reason.clone()));
        }
        self.listening.retain(|other| other != trigger);
    }

    fn happened(&mut self, event: Event, ask: Ask, ports: &Ports) {
        let matching: VecDeque<Registered> = self.registry.waiting_for(&event).cloned().collect();
        if self.closing.is_some() {
            for registered in matching {
                let run = self.new_run(&registered, event.clone(), None);
                self.ended(&run, Outcome::of(Status::Skipped, "the host is shutting down"), ports);
            }
            self.answer(&ask, empty_answer(&event));
        } else if ask != Ask::Nobody || !event::is_background(&event.name) {
            self.open_chain(event, matching, ask, false, ports);
        } else {
            for registered in matching {
                let run = self.new_run(&registered, event.clone(), None);
                self.add(run, ports);
            }
        }
    }

    fn open_chain(&mut self, event: Event, left: VecDeque<Registered>, ask: Ask, by_hand: bool, ports: &Ports) {
        self.numbers += 1;
        let number = self.numbers;
        let data = event.data.as_object().cloned().unwrap_or_default();
        let chain = Chain { ask, by_hand, event, left, data, messages: Vec::new(), goes_on: true, record: Value::Null };
        self.chains.insert(number, chain);
        self.advance(number, ports);
    }

    /// Begins the next hook of a chain, or answers.
    fn advance(&mut self, number: u64, ports: &Ports) {
        while let Some(chain) = self.chains.get_mut(&number)
            && let Some(next) = chain.left.pop_front()
        {
            let event = Event { data: Rc::new(Value::Object(chain.data.clone())), ..chain.event.clone() };
            let goes_on = chain.goes_on;
            let run = self.new_run(&next, event, Some(number));
            if goes_on {
                return self.add(run, ports);
            }
            self.ended(&run, Outcome::of(Status::Skipped, "a hook before it called the operation off"), ports);
        }
        let Some(chain) = self.chains.remove(&number) else { return };
        let answer = if chain.by_hand {
            object(&mut [("record", chain.record)])
        } else {
            let message = if chain.messages.is_empty() { Value::Null } else { chain.messages.join("\n").into() };
            object(&mut [("continue", chain.goes_on.into()), ("system_message", message), ("data", Value::Object(chain.data))])
        };
        self.answer(&chain.ask, answer);
    }

    fn answer(&mut self, ask: &Ask, answer: Value) {
        let (event, reply) = match ask {
            Ask::Number(number) => (Value::from(*number), Value::Null),
            Ask::Reply(reply) => (Value::Null, Value::from(reply.as_str())),
            Ask::Nobody => return,
        };
        self.command(&mut [("type", "answer".into()), ("event", event), ("reply", reply), ("answer", answer)]);
    }

    fn new_run(&mut self, registered: &Registered, event: Event, chain: Option<u64>) -> Run {
        self.numbers += 1;
        Run {
            number: self.numbers,
            hook: registered.hook.clone(),
            source: registered.source,
            event,
            events: 1,
            chain,
            attempts: 0,
            queued: self.now,
            began: None,
            stage: Stage::Ready,
        }
    }

    fn add(&mut self, run: Run, ports: &Ports) {
        let (key, left_out) = match self.schedule.add(run, self.now) {
            Added::Joined => return,
            Added::Waits(key) => (Some(key), None),
            Added::Refused(run) => (None, Some(run)),
            Added::Instead(key, oldest) => (Some(key), Some(oldest)),
        };
        if let Some(key) = key {
            self.show(key, Status::Queued, ports);
        }
        if let Some(run) = left_out {
            let why = format!("more than {} runs were waiting; see `hooks.queue` in the settings", self.settings.queue);
            ports.warn(&format!("the hook `{}` does not run: {why}", run.hook.id));
            self.ended(&run, Outcome::of(Status::Skipped, &why), ports);
        }
    }

    /// Gives a run that has its slot to the host, unless it may not run.
    fn begin(&mut self, key: Key, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        let (hook, source) = (run.hook.clone(), run.source);
        let program = match self.permitted(&hook, source, ports) {
            Ok(program) => program,
            Err(outcome) => return self.finish(key, outcome, ports),
        };
        let now = (self.now, ports.clock.now());
        let Some(run) = self.schedule.get_mut(key) else { return };
        run.began.get_or_insert(now);
        let run = run.clone();
        let mut body = match self.errand(&run, program, ports) {
            Ok(body) => body,
            Err(outcome) => return self.finish(key, outcome, ports),
        };
        body.extend([
            ("run", self.run_id(&run).into()),
            ("hook", hook.id.as_str().into()),
            ("cwd", "".into()),
            ("env", ENVIRONMENT.to_vec().into()),
            ("set", object(&mut [("TOLLGATE_EVENT", (*run.event.name).into()), ("TOLLGATE_HOOK", hook.id.as_str().into())])),
            ("output_bytes", OUTPUT_BYTES.into()),
        ]);
        let is_lifecycle = matches!(hook.action, Action::Command { .. }) && !event::is_background(&run.event.name);
        let usual = self.settings.timeout_ms.unwrap_or(if is_lifecycle { LIFECYCLE_MS } else { BACKGROUND_MS });
        let command = self.command(&mut body);
        self.schedule.began(key, command, self.now.saturating_add(hook.timeout_ms.unwrap_or(usual)));
        self.show(key, Status::Running, ports);
    }

    /// What may run, where it may. A workspace's hook is looked at each time, so that what runs is what was approved.
    fn permitted(&mut self, hook: &Rc<Hook>, source: Source, ports: &Ports) -> Result<Option<Program>, Outcome> {
        if source != Source::Workspace {
            return Ok(None);
        }
        let deed = trust::deed(hook, &self.machine, ports).map_err(|why| Outcome::of(Status::Failed, &why))?;
        let trust = self.approvals.trust(hook, &deed, &self.machine, ports);
        let (why, before) = match trust {
            Trust::Approved => return Ok(deed.program),
            Trust::New => ("nobody has approved it yet", Value::Null),
            Trust::Changed(before) => ("it is no longer what was approved", before),
        };
        let id = &hook.id;
        let outcome = Outcome::of(
            Status::Skipped,
            &format!("{why}; look at it with `tollgate hooks show {id}`, then `tollgate hooks approve {id}`"),
        );
        let mark = format!("{id}\n{}", deed.digest);
        if !self.asked.contains(&mark) {
            self.asked.push(mark);
            ports.warn(&format!("the hook `{id}` of this workspace does not run: {why}; `tollgate hooks show {id}` shows it"));
            let name = if before.is_null() { "new" } else { "changed" };
            let mut shows = deed.shows;
            if let Some(fields) = shows.as_object_mut() {
                fields.insert("before".to_owned(), before);
            }
            self.command(&mut [
                ("type", "approval".into()),
                ("hook", id.as_str().into()),
                ("digest", deed.digest.to_string().into()),
                ("why", name.into()),
                ("shows", shows),
            ]);
        }
        Err(outcome)
    }

    /// What the host shall do for a run.
    fn errand(&self, run: &Run, program: Option<Program>, ports: &Ports) -> Result<Vec<(&'static str, Value)>, Outcome> {
        let mut event = vec![("event", Value::from(&*run.event.name)), ("hook", run.hook.id.as_str().into())];
        event.push(("session_id", run.event.session.as_deref().map(Value::from).unwrap_or_default()));
        event.push(("data", (*run.event.data).clone()));
        let event = object(&mut event).to_string();
        match &run.hook.action {
            Action::Command { words, shell } => {
                let script = program.as_ref().and_then(|program| program.script.clone()).map(|(arg, path, digest)| {
                    object(&mut [("arg", arg.into()), ("path", path.into()), ("digest", digest.to_string().into())])
                });
                let argv = match program {
                    Some(program) => program.argv,
                    None if *shell => ["sh", "-c"].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect(),
                    None => words.clone(),
                };
                Ok(vec![
                    ("type", "run".into()),
                    ("argv", argv.into()),
                    ("stdin", event.into()),
                    ("script", script.unwrap_or_default()),
                ])
            }
            Action::Prompt(prompt) => {
                let runner = if self.prompts_by_host { None } else { settings::prompt_runner(ports) };
                if runner.is_none() && !self.prompts_by_host {
                    let why =
                        "there is nobody to run prompts; name a command in `hooks.prompt_runner` of `~/.tollgate/config.json`";
                    return Err(Outcome::of(Status::Failed, why));
                }
                let prompt = format!("{prompt}\n\nThis was set off by the event:\n{event}\n");
                let prompt = ports.secrets.redact(&redact::without(&prompt, &run.hook.secrets)).into_owned();
                Ok(vec![("type", "prompt".into()), ("prompt", prompt.into()), ("argv", runner.unwrap_or_default())])
            }
            Action::Component(_) => Err(Outcome::of(Status::Skipped, "hooks that are components do not run in this version")),
        }
    }

    fn stop(&mut self, key: Key, status: Status) {
        if let Some(command) = self.schedule.stop(key, status, self.now) {
            self.command(&mut [("type", "cancel".into()), ("id", command.into())]);
        }
    }

    fn call_off(&mut self, key: Key, why: &str, ports: &Ports) {
        match self.schedule.get(key).map(|run| run.stage) {
            Some(Stage::Running { .. }) => self.stop(key, Status::Canceled),
            Some(stage) if !stage.is_active() => self.finish(key, Outcome::of(Status::Canceled, why), ports),
            _ => {}
        }
    }

    fn done(&mut self, key: Key, done: &Value, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        if matches!(run.stage, Stage::Ending { .. }) {
            return self.confirmed(key, ports);
        }
        let outcome = Outcome::read(done, &run.hook.secrets, ports);
        self.settle(key, outcome, ports);
    }

    /// A run that was told to end has ended, or nobody knows whether it has.
    fn confirmed(&mut self, key: Key, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        let Stage::Ending { status, .. } = run.stage else { return };
        let reason = if status == Status::Timeout { self.time_is_up(run) } else { "it was called off".to_owned() };
        if status == Status::Timeout {
            ports.warn(&format!("the hook `{}` was ended: {reason}", run.hook.id));
        }
        self.settle(key, Outcome::of(status, &reason), ports);
    }

    fn time_is_up(&self, run: &Run) -> String {
        let is_lifecycle = matches!(run.hook.action, Action::Command { .. }) && !event::is_background(&run.event.name);
        let usual = self.settings.timeout_ms.unwrap_or(if is_lifecycle { LIFECYCLE_MS } else { BACKGROUND_MS });
        format!("it took longer than {} ms", run.hook.timeout_ms.unwrap_or(usual))
    }

    /// Ends a run, or lets it rest before it is tried again.
    fn settle(&mut self, key: Key, outcome: Outcome, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        let again = matches!(outcome.status, Some(Status::Failed | Status::Timeout))
            && run.attempts <= run.hook.retry.count
            && self.closing != Some(false);
        if again {
            let chance = if run.hook.retry.jitter {
                ports.random.sixteen().iter().fold(0, |sum, byte| sum << 4 ^ u64::from(*byte))
            } else {
                0
            };
            let wait = run.hook.retry.wait_ms(run.attempts, chance);
            self.schedule.rest(key, self.now.saturating_add(wait));
            self.show(key, Status::Queued, ports);
        } else {
            self.finish(key, outcome, ports);
        }
    }

    fn finish(&mut self, key: Key, outcome: Outcome, ports: &Ports) {
        let Some(run) = self.schedule.end(key) else { return };
        let record = self.ended(&run, outcome, ports);
        let Some(chain) = run.chain else { return };
        if let Some(chain) = self.chains.get_mut(&chain) {
            chain.record = record;
        }
        self.advance(chain, ports);
    }

    /// Counts, shows and writes down how a run ended, and lets its chain know.
    fn ended(&mut self, run: &Run, outcome: Outcome, ports: &Ports) -> Value {
        let status = outcome.status.unwrap_or(Status::Failed);
        let took = run.began.map_or(0, |(began, _)| self.now.saturating_sub(began));
        if let Some(count) = ENDINGS.iter().position(|ending| *ending == status).and_then(|at| self.counts.ended.get_mut(at)) {
            *count += 1;
        }
        self.counts.attempts += run.attempts;
        if let Some((began, _)) = run.began {
            self.counts.began += 1;
            self.counts.waited_ms += began.saturating_sub(run.queued);
            self.counts.took_ms += took;
            self.counts.longest_ms = self.counts.longest_ms.max(took);
        }
        if outcome.is_malformed && run.chain.is_some() && matches!(run.hook.action, Action::Command { .. }) {
            ports.fail(&format!("the hook `{}` printed something that is no JSON object; it counts as `continue`", run.hook.id));
        }
        if status == Status::Failed {
            let why = outcome.reason.as_deref().unwrap_or("it failed");
            ports.warn(&format!("the hook `{}` failed: {why}", run.hook.id));
        }
        if let (Some(answer), Some(chain)) = (outcome.answer, run.chain.and_then(|chain| self.chains.get_mut(&chain))) {
            for (key, value) in answer {
                match key.as_str() {
                    "continue" => chain.goes_on &= value != Value::Bool(false),
                    "systemMessage" => chain.messages.extend(
                        value
                            .as_str()
                            .map(|message| ports.secrets.redact(&redact::without(message, &run.hook.secrets)).into_owned()),
                    ),
                    _ => drop(chain.data.insert(key, value)),
                }
            }
        }
        let mut fields = self.fields(run, status, ports);
        fields.push(("ended", ports.clock.now().to_string().into()));
        fields.push(("duration_ms", took.into()));
        let optional = [
            ("exit_code", outcome.exit_code.map(Value::from)),
            ("reason", outcome.reason.map(Value::from)),
            ("output", outcome.output.map(Value::from)),
        ];
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
        let record = object(&mut fields);
        self.lines.push_str(&record.to_string());
        self.lines.push('\n');
        self.command(&mut [("type", "record".into()), ("record", record.clone())]);
        record
    }

    /// Tells whoever watches how a run stands.
    fn show(&mut self, key: Key, status: Status, ports: &Ports) {
        if let Some(run) = self.schedule.get(key).cloned() {
            let record = object(&mut self.fields(&run, status, ports));
            self.command(&mut [("type", "record".into()), ("record", record)]);
        }
    }

    fn fields(&mut self, run: &Run, status: Status, ports: &Ports) -> Vec<(&'static str, Value)> {
        if self.name.is_empty() {
            // Runs of other processes are in the same log.
            self.name = ports.random.sixteen().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        }
        let mut fields = vec![
            ("id", self.run_id(run).into()),
            ("hook", run.hook.id.as_str().into()),
            ("trigger", (*run.event.name).into()),
            ("status", status.as_str().into()),
            ("attempts", run.attempts.into()),
        ];
        let optional = [
            ("file", run.event.file().map(Value::from)),
            ("session", run.event.session.as_deref().map(Value::from)),
            ("events", (run.events > 1).then(|| run.events.into())),
            ("started", run.began.map(|(_, began)| began.to_string().into())),
        ];
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
        fields
    }

    fn run_id(&self, run: &Run) -> String {
        format!("{}-{}", self.name, run.number)
    }

    fn command(&mut self, body: &mut [(&str, Value)]) -> u64 {
        self.numbers += 1;
        self.commands.push(Command { id: self.numbers, body: object(body) });
        self.numbers
    }
}

fn empty_answer(event: &Event) -> Value {
    object(&mut [("continue", true.into()), ("system_message", Value::Null), ("data", (*event.data).clone())])
}

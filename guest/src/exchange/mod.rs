//! One event of an agent program, from its payload to the answer in the program's own format.
//!
//! The order of steps around a call is defined here and nowhere else:
//!
//! | event | what happens, in this order |
//! | --- | --- |
//! | before a tool | third-party hooks add to the call; the gate rules; third-party hooks object; hooks receive `before_tool` and can stop the call; what is known about its concepts is looked up and added |
//! | after a tool | the ledger; the intent that the tool selected; third-party hooks remark; hooks receive `after_tool`; what could not be told before |
//! | everything else | hooks receive the event; the model is told the session's intent |
//!
//! An exchange never blocks: if hooks run or something is looked up, [`Exchanges::respond`] returns a number, and a later step
//! returns the answer. An event before a tool that cannot be understood is denied; if the gate fails, a person is asked
//! ([`Exchanges::fail`]).

mod in_progress;
mod lifecycle;
mod memory;
mod restoring;
mod wording;
pub mod workspace_search;

use serde_json::{Map, Value};

use self::in_progress::{Exchange, ExchangeStage};
use self::memory::{EventHandling, SessionMemory};
use crate::augment::{LookupAnswer as Found, LookupFinding, TOTAL_MS};
use crate::confine::wrapping;
use crate::engine::{Command, Input, Order, Turn};
use crate::gate::Gate;
use crate::programs::{self, AgentProgram, EventKind, HookAnswer, HookProtocol, ProgramEvent, derived_id, recover_event};

/// Maximum length of a payload; a longer one counts as not understood.
pub const MAX_PAYLOAD: usize = 48 << 20;

/// Maximum number of exchanges that wait at the same time; no program has more calls under way.
const MAX_WAITING: usize = 1_024;

/// An answer in a program's own format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// What the host passes on; may be empty.
    pub text: String,
    /// Why the tool must not run, if it must not.
    pub refused: Option<String>,
}

/// The result of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The answer.
    Answered(Reply),
    /// A later step returns the answer, under this number.
    Waiting(u64),
}

/// The exchanges that wait for hooks or lookups, in order of arrival, and what is known about their sessions.
#[derive(Default)]
pub struct Exchanges {
    waiting: Vec<Exchange>,
    memory: SessionMemory,
}

impl Exchanges {
    /// Handles the event of a payload: rules on a call, settles it, or reports it to hooks.
    pub fn respond(&mut self, gate: &mut Gate, program: &str, named: Option<&str>, payload: &[u8]) -> Progress {
        let Some((program, speech)) = program_with_hooks(program) else { return Progress::Answered(unknown_program(program)) };
        let mut event = read(speech, named, payload);
        if event.kind() == EventKind::Other {
            return Progress::Answered(empty_reply(speech));
        }
        if let Some(why) = &event.fault {
            gate.ports().fail(why);
            let refused = (event.kind() == EventKind::BeforeTool).then(|| HookAnswer::Deny(wording::not_understood(why)));
            return Progress::Answered(
                refused.map_or_else(|| empty_reply(speech), |answer| encode_reply(speech, &event, answer)),
            );
        }
        if self.waiting.len() >= MAX_WAITING {
            let why = format!("more than {MAX_WAITING} calls are waiting");
            gate.ports().fail(&why);
            return Progress::Answered(reply_to_fault(speech, &event, &why, gate.allows_on_fault()));
        }
        if event.repeats && !self.memory.is_open(&event) && !is_under_way(gate, &event) {
            return Progress::Answered(empty_reply(speech));
        }
        let before = match self.memory.take(&mut event, speech) {
            EventHandling::Ignored => return Progress::Answered(empty_reply(speech)),
            EventHandling::After(before) => before,
        };
        let resumes = before.iter().any(|event| event.kind() == EventKind::SessionStart);
        for event in before {
            let mut asked = Exchange::new(program, speech, event, gate.next_number());
            asked.is_implied = true;
            self.begin(gate, asked);
        }
        // The memory may have found that there is nothing to report.
        if event.kind() == EventKind::Other {
            return Progress::Answered(empty_reply(speech));
        }
        let mut asked = Exchange::new(program, speech, event, gate.next_number());
        asked.resumes = resumes;
        self.begin(gate, asked)
    }

    /// Begins an exchange, unless an earlier one has to end first.
    fn begin(&mut self, gate: &mut Gate, mut asked: Exchange) -> Progress {
        if !self.waiting.iter().any(|earlier| asked.waits_for(earlier))
            && let Some(answer) = self.start(gate, &mut asked)
        {
            return Progress::Answered(self.end(asked, answer));
        }
        let number = asked.number;
        self.waiting.push(asked);
        Progress::Waiting(number)
    }

    fn start(&mut self, gate: &mut Gate, asked: &mut Exchange) -> Option<HookAnswer> {
        let kind = asked.event.kind();
        if kind == EventKind::Prompt {
            asked.told.extend(self.memory.messages(&asked.event.session));
        }
        // A prompt that is being built may still go to another model, if the program reports when a model is asked.
        let asks_model = !asked.speech.name_of(EventKind::BeforeModel).is_empty();
        if kind == (if asks_model { EventKind::BeforeModel } else { EventKind::Prompt }) {
            self.memory.mark_told(&asked.event.session);
        }
        asked.begin(gate)
    }

    /// The answer of an exchange, in the program's own format.
    fn end(&mut self, mut asked: Exchange, answer: HookAnswer) -> Reply {
        let session = &asked.event.session;
        if let (HookAnswer::Deny(_), Some(call)) = (&answer, &asked.event.call) {
            self.memory.withdraw(session, &call.id);
        }
        self.memory.keep(session, std::mem::take(&mut asked.kept));
        encode_with_notice(asked.speech, &asked.event, answer, &asked.for_person)
    }

    /// The answer to a payload on which an earlier instance failed.
    pub fn fail(gate: &mut Gate, program: &str, named: Option<&str>, payload: &[u8], why: &str) -> Reply {
        gate.ports().fail(why);
        fault_reply(program, named, payload, why, gate.allows_on_fault())
    }

    /// Processes inputs; returns the commands that follow.
    pub fn step(&mut self, gate: &mut Gate, now_ms: u64, inputs: &[Input]) -> Turn {
        let mut turn = gate.step(now_ms, inputs);
        for input in inputs {
            self.waiting.iter_mut().for_each(|asked| asked.take_ended(input));
            if let Input::Found { command, answer } = input {
                self.waiting.iter_mut().for_each(|asked| asked.take_found(*command, answer));
            }
        }
        while self.advance(gate, now_ms, &mut turn.commands) {
            // Events that were just reported to hooks are processed in a step.
            let more = gate.step(now_ms, &[]);
            turn.commands.extend(more.commands);
            turn.next_deadline_ms = more.next_deadline_ms;
        }
        let deadlines = self.waiting.iter().filter_map(Exchange::deadline);
        turn.next_deadline_ms = deadlines.chain(turn.next_deadline_ms).min();
        turn
    }
}

impl Exchanges {
    /// Advances every exchange as far as possible. Returns whether any moved on, so that another step has to follow.
    fn advance(&mut self, gate: &mut Gate, now_ms: u64, commands: &mut Vec<Command>) -> bool {
        let said = gate.take_hook_answers();
        let mut of_components = gate.take_feedback();
        let mut has_begun = false;
        for mut asked in std::mem::take(&mut self.waiting) {
            let answer = if matches!(asked.stage, ExchangeStage::Queue) {
                if self.waiting.iter().any(|earlier| asked.waits_for(earlier)) {
                    None
                } else {
                    has_begun = true;
                    self.start(gate, &mut asked)
                }
            } else if matches!(asked.stage, ExchangeStage::Restore(_)) {
                let answer = asked.restore(gate, now_ms, commands);
                has_begun |= !matches!(asked.stage, ExchangeStage::Restore(_));
                answer
            } else if let ExchangeStage::Components(function) = asked.stage {
                match of_components.iter().position(|(number, _)| *number == asked.number) {
                    Some(at) => {
                        let (_, feedback) = of_components.swap_remove(at);
                        has_begun = true;
                        asked.continue_with_feedback(gate, function, feedback)
                    }
                    None => None,
                }
            } else {
                let hooks = said.iter().find(|(number, _)| *number == asked.number).map(|(_, answer)| answer);
                asked.advance(gate, now_ms, hooks, commands)
            };
            let Some(answer) = answer else {
                self.waiting.push(asked);
                continue;
            };
            let (number, is_implied) = (asked.number, asked.is_implied);
            let Reply { text, refused } = self.end(asked, answer);
            if !is_implied {
                let order = Order::Reply { number, answer: text.into_bytes(), refused };
                commands.push(Command { id: gate.next_number(), order });
            }
        }
        has_begun
    }
}

impl Exchange {
    /// Takes in the answer to one of its lookups.
    fn take_found(&mut self, command: u64, answer: &Found) {
        if let ExchangeStage::Lookups { open, found, .. } = &mut self.stage
            && let Some(at) = open.iter().position(|(id, _)| *id == Some(command))
        {
            let (_, lookup) = open.remove(at);
            found.push(LookupFinding { concept: lookup.concept, source: lookup.source, answer: answer.clone() });
        }
    }

    /// Takes in how one of its commands ended.
    fn take_ended(&mut self, input: &Input) {
        if let ExchangeStage::Restore(restoring) = &mut self.stage {
            restoring.take(input);
        }
    }

    /// Continues with what is being reverted, and then with the hooks.
    fn restore(&mut self, gate: &mut Gate, now_ms: u64, commands: &mut Vec<Command>) -> Option<HookAnswer> {
        let ExchangeStage::Restore(restoring) = &mut self.stage else { return None };
        if !restoring.advance(gate, now_ms, commands) {
            return None;
        }
        if let ExchangeStage::Restore(restoring) = std::mem::replace(&mut self.stage, ExchangeStage::Hooks) {
            self.told.extend(restoring.into_faults());
        }
        self.remark(gate)
    }

    /// Advances as far as possible; gives the answer once there is one.
    fn advance(
        &mut self,
        gate: &mut Gate,
        now_ms: u64,
        hooks: Option<&Value>,
        commands: &mut Vec<Command>,
    ) -> Option<HookAnswer> {
        if let (ExchangeStage::Hooks, Some(said)) = (&self.stage, hooks)
            && let Some(answer) = self.take_hooks_answer(gate, said)
        {
            return Some(answer);
        }
        let ExchangeStage::Lookups { open, found, until } = &mut self.stage else { return None };
        let due = *until.get_or_insert_with(|| now_ms.saturating_add(u64::from(TOTAL_MS)));
        for (id, lookup) in open.iter_mut().filter(|(id, _)| id.is_none()) {
            let command = gate.next_number();
            *id = Some(command);
            commands.push(Command { id: command, order: Order::LookUp(lookup.clone()) });
        }
        if now_ms >= due {
            let late = |(_, lookup): (Option<u64>, crate::augment::Lookup)| LookupFinding {
                concept: lookup.concept,
                source: lookup.source,
                answer: Found::Late,
            };
            found.extend(open.drain(..).map(late));
        }
        if !open.is_empty() {
            return None;
        }
        let found = std::mem::take(found);
        Some(self.finish(gate, Some(&found)))
    }

    fn deadline(&self) -> Option<u64> {
        match &self.stage {
            ExchangeStage::Lookups { until, .. } => *until,
            ExchangeStage::Restore(restoring) => restoring.deadline(),
            ExchangeStage::Queue | ExchangeStage::Hooks | ExchangeStage::Components(_) => None,
        }
    }
}

/// Whether the gate remembers the call of an event as one that may be running.
fn is_under_way(gate: &Gate, event: &ProgramEvent) -> bool {
    event.call.as_ref().is_some_and(|call| gate.is_under_way(&event.session, &call.id))
}

/// The program with this name, if it supports hooks.
fn program_with_hooks(name: &str) -> Option<(&'static AgentProgram, &'static HookProtocol)> {
    let program = programs::find(name)?;
    Some((program, program.speech.as_ref()?))
}

/// Reads a payload, even one that cannot be parsed.
pub(crate) fn read(speech: &HookProtocol, named: Option<&str>, payload: &[u8]) -> ProgramEvent {
    let mut event = match serde_json::from_slice(payload) {
        Ok(payload) => (speech.read)(payload, named),
        Err(why) => recover_event(speech, payload, named, &why),
    };
    if payload.len() > MAX_PAYLOAD {
        event.fault = Some(format!("the payload is longer than {} MiB", MAX_PAYLOAD >> 20));
    }
    if event.kind == Some(EventKind::AfterTool) {
        restore_command(&mut event);
    }
    // An event that does not even say what it is may be a call.
    if event.fault.is_some() && event.kind.is_none() {
        (event.name, event.kind) = (speech.name_of(EventKind::BeforeTool), Some(EventKind::BeforeTool));
    }
    event
}

/// Restores the original command of a call, if the program reports the one that ran it confined.
fn restore_command(event: &mut ProgramEvent) {
    let ProgramEvent { session, call: Some(call), .. } = event else { return };
    let is_derived = call.id == derived_id(session, &call.tool, &call.args);
    let Some(fields) = call.args.as_object_mut() else { return };
    let mut is_changed = false;
    for value in fields.values_mut() {
        let command = match &*value {
            Value::String(text) => {
                wrapping::unwrap(text).filter(|found| found.session == *session).map(|found| found.command.into())
            }
            Value::Array(words) => {
                let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                words.and_then(|words| Some(Value::from(wrapping::unwrap_words(&words).filter(|(of, _)| of == session)?.1)))
            }
            _ => None,
        };
        if let Some(command) = command {
            *value = command;
            is_changed = true;
        }
    }
    if is_changed && is_derived {
        call.id = derived_id(session, &call.tool, &call.args);
    }
}

/// The names of all programs that support hooks.
pub fn programs_with_hooks() -> impl Iterator<Item = &'static str> {
    programs::PROGRAMS.iter().filter(|program| program.speech.is_some()).map(|program| program.name())
}

/// The answer that a program reads if there is nothing to say.
pub fn empty_answer(program: &str) -> &'static str {
    program_with_hooks(program).map_or("", |(_, speech)| speech.silence)
}

/// The answer of a host that cannot start the component and so has no gate to ask.
pub fn fault_reply(program: &str, named: Option<&str>, payload: &[u8], why: &str, lets_pass: bool) -> Reply {
    let Some((_, speech)) = program_with_hooks(program) else { return unknown_program(program) };
    reply_to_fault(speech, &read(speech, named, payload), why, lets_pass)
}

/// The answer if the gate has not answered: before a tool runs a person decides, unless the user lets faults pass.
fn reply_to_fault(speech: &HookProtocol, event: &ProgramEvent, why: &str, lets_pass: bool) -> Reply {
    if event.kind() != EventKind::BeforeTool || lets_pass {
        return empty_reply(speech);
    }
    let answer = if (speech.asks)(event) {
        HookAnswer::Ask(wording::fault(why))
    } else {
        HookAnswer::Deny(wording::fault_without_person(why))
    };
    encode_reply(speech, event, answer)
}

/// The answer to an unknown program. It would understand no text, and the person who wired it wrongly should notice that no call
/// passes.
fn unknown_program(name: &str) -> Reply {
    let known: Vec<&str> = programs_with_hooks().collect();
    let why = format!("`{name}` is not a program that Tollgate supports; use one of: {}", known.join(", "));
    Reply { text: String::new(), refused: Some(why) }
}

fn empty_reply(speech: &HookProtocol) -> Reply {
    Reply { text: speech.silence.to_owned(), refused: None }
}

/// An answer in the program's own format.
fn encode_reply(speech: &HookProtocol, event: &ProgramEvent, answer: HookAnswer) -> Reply {
    let refused = match &answer {
        HookAnswer::Deny(reason) | HookAnswer::Ask(reason) | HookAnswer::Stop(reason) => Some(reason.clone()),
        HookAnswer::Allow { .. } | HookAnswer::Tell(_) | HookAnswer::Withhold(_) => None,
    };
    let text = (speech.answer)(event, answer).map_or_else(|| speech.silence.to_owned(), |answer| answer.to_string());
    Reply { text, refused }
}

/// An answer with a notice for the person, if the program can show them one.
fn encode_with_notice(speech: &HookProtocol, event: &ProgramEvent, answer: HookAnswer, known: &str) -> Reply {
    let mut reply = encode_reply(speech, event, answer);
    if let Some(field) = speech.person.filter(|_| !known.is_empty()) {
        let mut fields = match serde_json::from_str(&reply.text) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        fields.insert(field.to_owned(), format!("Tollgate: {known}").into());
        reply.text = Value::Object(fields).to_string();
    }
    reply
}

//! Third-party hooks around a call: what they are told, and the effect of their answers.

use serde_json::Value;

use super::guard::is_open_ended;
use super::{CallOutcome, Gate};
use crate::call::resolve;
use crate::call::{self, ToolCall};
use crate::engine::{Command, Order};
use crate::hooks::components::feedback::{HookFeedback, Objection};
use crate::hooks::components::{self, Ask, ComponentAnswer, Function, ObjectionSeverity, Subject};
use crate::hooks::registry::NeededHooks;
use crate::json::object;
use crate::ruling::{Ruling, Verdict};

/// At most this many effects of a call are passed to a hook.
const MAX_EFFECTS: usize = 1_000;
/// At most this many commands of a call are passed to a hook.
const MAX_COMMANDS: usize = 200;
/// At most this many bytes of a result are passed to a hook.
const MAX_RESULT: usize = 256 << 10;

/// An operation whose answer waits for hooks.
pub(super) struct PendingAnswer {
    number: u64,
    call: ToolCall,
    answer: Value,
    is_ruling: bool,
}

impl Gate {
    /// Refreshes settings, extensions and declarations, before hooks are asked about a call in this event.
    pub(crate) fn refresh_hooks(&mut self, event: &str) {
        self.hooks_needed(NeededHooks::For(event));
    }

    /// The same for operations, which hosts send by the thousand: only if there are components at all. New ones are noticed at
    /// the next event, and when a host starts.
    fn refresh_if_components(&mut self) {
        if self.hooks.has_any_component() {
            self.hooks();
        }
    }

    /// Asks hooks to add to a call; false if there are none. Their feedback comes from [`take_feedback`](Self::take_feedback),
    /// under this number.
    pub(crate) fn ask_to_augment(&mut self, call: &ToolCall, number: u64) -> bool {
        if !self.hooks.has_components(Function::Augment, &call.tool) {
            return false;
        }
        let subject = Subject::Augment(self.describe_call(call, None, None));
        self.hooks.ask(number, subject, &self.ports)
    }

    /// Asks hooks whether they object to a call that was ruled on.
    pub(crate) fn ask_to_check(&mut self, call: &ToolCall, ruling: &Ruling, number: u64) -> bool {
        if !self.hooks.has_components(Function::PreTool, &call.tool) {
            return false;
        }
        let subject = Subject::PreTool(self.describe_call(call, Some(ruling), None));
        self.hooks.ask(number, subject, &self.ports)
    }

    /// Asks hooks to remark on how a call ended. `result` is the tool's output, if it is known.
    pub(crate) fn ask_to_settle(&mut self, call: &ToolCall, outcome: &CallOutcome, result: Option<&str>, number: u64) -> bool {
        if !self.hooks.has_components(Function::PostTool, &call.tool) {
            return false;
        }
        let outcome = match outcome {
            CallOutcome::Done => {
                let shown = |text: &str| text.get(..text.floor_char_boundary(MAX_RESULT)).unwrap_or_default().to_owned();
                components::ToolOutcome::Done(result.map(shown))
            }
            CallOutcome::Failed(error) => components::ToolOutcome::Failed(error.clone()),
            CallOutcome::Refused(why) => components::ToolOutcome::Refused(why.clone()),
            // It has not ended, or how it ended is not known.
            CallOutcome::Running | CallOutcome::Unknown => return false,
        };
        let subject = Subject::PostTool(self.describe_call(call, None, result.map(str::len)), outcome);
        self.hooks.ask(number, subject, &self.ports)
    }

    /// The hooks that the host is to call now.
    pub fn due(&mut self) -> Vec<Ask> {
        self.hooks.take_due()
    }

    /// Takes in what hooks answered; a step brings what follows from it.
    pub fn report(&mut self, number: u64, answers: &[ComponentAnswer]) {
        self.hooks.report(number, answers, &self.ports);
    }

    /// The feedback of hooks to the questions above.
    pub(crate) fn take_feedback(&mut self) -> Vec<(u64, HookFeedback)> {
        std::mem::take(&mut self.hook_feedback)
    }

    /// The objection to a call that follows from the feedback of hooks.
    pub(crate) fn objection(&mut self, said: &HookFeedback) -> Option<Objection> {
        let is_strict = !said.faults.is_empty() && self.settings().strict;
        said.strictest(is_strict)
    }

    /// Lets hooks object to a ruling that is answered as JSON. Returns the number under which the answer comes, if a hook is
    /// asked.
    pub(crate) fn ask_about_ruling(&mut self, call: &ToolCall, ruling: &Ruling, answer: &Value) -> Option<u64> {
        if ruling.verdict == Verdict::Deny {
            return None;
        }
        self.refresh_if_components();
        let number = self.next_number();
        self.ask_to_check(call, ruling, number).then(|| self.wait(number, call, answer, true))
    }

    /// Lets hooks remark on a call whose settlement is answered as JSON.
    pub(crate) fn ask_about_settlement(
        &mut self,
        call: &ToolCall,
        outcome: &CallOutcome,
        result: Option<&str>,
        answer: &Value,
    ) -> Option<u64> {
        self.refresh_if_components();
        let number = self.next_number();
        self.ask_to_settle(call, outcome, result, number).then(|| self.wait(number, call, answer, false))
    }

    fn wait(&mut self, number: u64, call: &ToolCall, answer: &Value, is_ruling: bool) -> u64 {
        self.waiting_for_hooks.push(PendingAnswer { number, call: call.clone(), answer: answer.clone(), is_ruling });
        number
    }

    /// Answers the operations whose hooks have answered. Feedback for others is kept for them.
    pub(super) fn answer_waiting_operations(&mut self, commands: &mut Vec<Command>) {
        for (number, said) in self.hooks.take_feedback() {
            let Some(at) = self.waiting_for_hooks.iter().position(|waiting| waiting.number == number) else {
                self.hook_feedback.push((number, said));
                continue;
            };
            let waiting = self.waiting_for_hooks.remove(at);
            let answer = self.apply_feedback(waiting, said);
            let order = Order::Reply { number, answer: answer.to_string().into_bytes(), refused: None };
            commands.push(Command { id: self.next_number(), order });
        }
    }

    fn apply_feedback(&mut self, waiting: PendingAnswer, mut said: HookFeedback) -> Value {
        let PendingAnswer { call, mut answer, is_ruling, .. } = waiting;
        let objection = if is_ruling { self.objection(&said) } else { None };
        let Some(fields) = answer.as_object_mut() else { return answer };
        if let Some(objection) = objection {
            let was_asked = fields.get("verdict").and_then(Value::as_str) == Some("ask");
            if objection.severity == ObjectionSeverity::Deny || !was_asked {
                fields.insert("verdict".to_owned(), objection.severity.as_str().into());
                fields.insert("code".to_owned(), objection.code.into());
                fields.insert("reason".to_owned(), objection.reason.as_str().into());
            }
            if objection.severity == ObjectionSeverity::Deny {
                self.settle(&call, &CallOutcome::Refused(objection.reason));
            }
        }
        let mut told = std::mem::take(&mut said.notes);
        if let Some(why) = said.withheld {
            if let Some(fields) = answer.as_object_mut() {
                fields.insert("withheld".to_owned(), true.into());
            }
            told.insert(0, why);
        }
        told.extend(said.notices);
        let Some(fields) = answer.as_object_mut() else { return answer };
        if !told.is_empty() {
            let before = fields.get("notice").and_then(Value::as_str).map(str::to_owned);
            let notice: Vec<String> = before.into_iter().chain(told).collect();
            fields.insert("notice".to_owned(), notice.join("\n").into());
        }
        if !said.summary.is_empty() {
            fields.insert("hooks".to_owned(), said.summary.into());
        }
        answer
    }

    /// A call as hooks see it.
    fn describe_call(&mut self, call: &ToolCall, ruling: Option<&Ruling>, result_bytes: Option<usize>) -> components::Call {
        let config = self.settings();
        let footprint = self.footprint(call, &config);
        // Digests are not needed here.
        let touches = footprint.as_ref().map_or(&[][..], |footprint| &footprint.touches);
        let questions: Vec<_> = touches.iter().map(resolve::question_at_touch).collect();
        let facts = if questions.is_empty() { Vec::new() } else { self.look(&questions) };
        let found = footprint
            .ok()
            .and_then(|footprint| resolve::effects(call, &footprint, &facts, &*self.ports.workspace, &|_, _| false).ok());
        let (effects, complete) = match found {
            None => (Vec::new(), false),
            Some(found) => {
                let complete = found.known.len() <= MAX_EFFECTS && !is_open_ended(&found.known, !found.unknowns.is_empty());
                (found.known, complete)
            }
        };
        let effects =
            effects.iter().take(MAX_EFFECTS).map(|effect| (effect.location.as_str().to_owned(), effect.operation)).collect();
        let mut facts: Vec<(&str, Value)> = Vec::new();
        for (name, text) in [("host", &call.host), ("agent", &call.agent), ("cwd", &call.cwd)] {
            facts.extend(text.as_deref().map(|text| (name, text.into())));
        }
        if let Some(intent) = self.current(&call.session) {
            let intent = object(&mut [
                ("id", intent.id.as_str().into()),
                ("name", intent.name.as_str().into()),
                ("status", intent.status.to_string().into()),
                ("owned_scope", intent.owned_scope.patterns().to_vec().into()),
            ]);
            facts.push(("intent", intent));
        }
        if let Some(ruling) = ruling {
            let verdict = crate::json::value_of(&ruling.verdict);
            facts.push(("gate", object(&mut [("verdict", verdict), ("code", ruling.code.as_str().into())])));
        }
        let commands = call::commands(call, &config, &*self.ports.workspace);
        if !commands.is_empty() {
            let command = |command: call::SimpleCommand| {
                let words = command.words.into_iter().map(|word| word.map(Value::from).unwrap_or_default()).collect();
                let cwd = command.cwd.map(|cwd| if cwd.is_empty() { ".".to_owned() } else { cwd });
                object(&mut [("words", Value::Array(words)), ("cwd", cwd.map(Value::from).unwrap_or_default())])
            };
            facts.push(("commands", commands.into_iter().take(MAX_COMMANDS).map(command).collect()));
        }
        facts.extend(result_bytes.map(|bytes| ("result_bytes", bytes.into())));
        components::Call {
            session: call.session.clone(),
            id: call.call.clone(),
            tool: call.tool.clone(),
            args: call.args.to_string(),
            effects,
            complete,
            facts: object(&mut facts).to_string(),
        }
    }
}

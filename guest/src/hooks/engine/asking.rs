//! Calls of hooks that are components: who is called, and what follows from the answers.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::components::approved::{Approved, place};
use super::super::components::feedback::{HookFailure, HookFeedback};
use super::super::components::sanitize::{MAX_NOTE, attribute_to_hook, clean};
use super::super::components::{Ask, ComponentAnswer, ComponentReply, Function, MAX_COMPONENT_BYTES, Subject};
use super::super::declaration::{Action, Hook};
use super::super::outcome::RunOutcome;
use super::super::registry::RegisteredHook;
use super::super::run::RunStatus;
use super::super::schedule::RunKey;
use super::super::trust::{self, Trust};
use super::Hooks;
use super::running::skipped_outcome;
use crate::digest::Digest;
use crate::engine::Order;
use crate::json::{self, object};
use crate::ports::{Facts, FileKind, Ports, Question, Root};

/// Maximum size of one hook's log in a record: lines, and characters of each.
const MAX_LINES: usize = 100;
const MAX_LINE: usize = 1_000;

/// How long an answer may take to arrive beyond the run's own limits.
const SLACK_MS: u64 = 5_000;

/// A round of calls that is under way.
pub(super) struct Round {
    number: u64,
    /// Who gets the answer; `None` if it is the run of an event.
    asker: Option<u64>,
    function: Function,
    session: Option<String>,
    call: Option<String>,
    called: Vec<(Rc<Hook>, Rc<Approved>)>,
    said: HookFeedback,
}

impl Hooks {
    /// Whether any hook is called for a function about a tool, going by the declarations as last refreshed.
    pub fn has_components(&self, function: Function, tool: &str) -> bool {
        self.registry.all().iter().any(|registered| is_called(registered, function, tool))
    }

    /// Whether any hook is a component.
    pub fn has_any_component(&self) -> bool {
        self.registry.all().iter().any(|registered| matches!(registered.hook.action, Action::Component(_)))
    }

    /// Asks hooks about a tool call; false if there is none to call. [`Hooks::take_feedback`] gives the answer.
    pub fn ask(&mut self, asker: u64, subject: Subject, ports: &Ports) -> bool {
        let function = subject.function();
        let call = match &subject {
            Subject::Augment(call) | Subject::PreTool(call) | Subject::PostTool(call, _) => call,
            Subject::Event { .. } => return false,
        };
        let fitting: Vec<RegisteredHook> =
            self.registry.all().iter().filter(|registered| is_called(registered, function, &call.tool)).cloned().collect();
        let (mut called, mut said) = (Vec::new(), HookFeedback::default());
        // All files are inspected in one crossing, and the approvals once.
        let questions: Vec<Question> = fitting.iter().filter_map(file_question).collect();
        let files = if questions.is_empty() { Vec::new() } else { ports.workspace.inspect(&questions) };
        self.approvals.refresh(ports);
        for (registered, file) in fitting.into_iter().zip(files) {
            // A hook that is not approved in its current form is not called; a person has been told.
            let Ok(approved) = self.approved_component(&registered, &file, ports) else { continue };
            if !approved.functions.contains(&function) {
                continue;
            }
            let hook = registered.hook;
            match self.faults.disabled_reason(&hook.id, &approved.approval, ports) {
                Some(why) => said.faults.push((hook.id.clone(), disabled_message(&why))),
                None => called.push((hook, approved)),
            }
        }
        if called.is_empty() {
            // That a hook cannot be asked matters only if it could object.
            let waits = function == Function::PreTool && !said.faults.is_empty();
            if waits {
                self.said.push((asker, said));
            }
            return waits;
        }
        self.numbers += 1;
        let number = self.numbers;
        let questions = called.iter().map(|(hook, approved)| approved.question(&hook.id)).collect();
        let (session, call) = (Some(call.session.clone()), Some(call.id.clone()));
        self.rounds.push(Round { number, asker: Some(asker), function, session, call, called, said });
        self.due.push(Ask { number, subject, questions });
        true
    }

    /// The calls that the host has to make now.
    pub fn take_due(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.due)
    }

    /// The answers of hooks to [`Hooks::ask`], by the caller's number.
    pub fn take_feedback(&mut self) -> Vec<(u64, HookFeedback)> {
        std::mem::take(&mut self.said)
    }

    /// Processes the answers of hooks.
    pub fn report(&mut self, number: u64, answers: &[ComponentAnswer], ports: &Ports) {
        let Some(at) = self.rounds.iter().position(|round| round.number == number) else { return };
        let mut round = self.rounds.remove(at);
        for (hook, approved) in std::mem::take(&mut round.called) {
            let missing = ComponentAnswer {
                hook: hook.id.clone(),
                reply: ComponentReply::Absent("the host did not call it".to_owned()),
                took_us: 0,
                log: Vec::new(),
            };
            let answer = answers.iter().find(|answer| answer.hook == hook.id).unwrap_or(&missing);
            if round.asker.is_none() {
                self.finish_event(number, &hook, &approved, answer, ports);
            } else {
                self.take_answer(&mut round, &hook, &approved, answer, ports);
            }
        }
        if let Some(asker) = round.asker {
            self.said.push((asker, round.said));
        }
    }

    fn take_answer(&mut self, round: &mut Round, hook: &Hook, approved: &Approved, answer: &ComponentAnswer, ports: &Ports) {
        let taken = round.said.take(&hook.id, approved, round.function, &answer.reply);
        let mut summary = vec![("hook", Value::from(hook.id.as_str()))];
        let (status, word) = match taken {
            Ok(word) => {
                self.faults.record_answer(&hook.id, &approved.approval, ports);
                summary.extend(["severity", "code"].into_iter().filter_map(|key| Some((key, word.get(key)?.clone()))));
                (RunStatus::Success, ("said", word))
            }
            Err(fault) => {
                round.said.notices.extend(self.count_fault(hook, approved, &fault, ports));
                round.said.faults.push((hook.id.clone(), fault.why.clone()));
                summary.push(("fault", fault.why.as_str().into()));
                (fault_status(&fault), ("reason", fault.why.into()))
            }
        };
        round.said.summary.push(object(&mut summary));
        self.record_call(round, hook, answer, status, word, ports);
    }

    /// Counts a fault of the hook itself. Returns a notice if the hook is no longer called because of it.
    fn count_fault(&mut self, hook: &Hook, approved: &Approved, fault: &HookFailure, ports: &Ports) -> Option<String> {
        let id = clean(&hook.id, 128);
        ports.warn(&format!("the hook `{id}` did not answer: {}", fault.why));
        if !fault.counts || !self.faults.record_fault(&hook.id, &approved.approval, &fault.why, fault.for_good, ports) {
            return None;
        }
        let remedy = format!("a person can have it called again with `tollgate hooks approve {id}`");
        let often = if fault.for_good { "" } else { " three times in a row" };
        let notice = format!("the hook `{id}` has failed{often} and is no longer called: {}; {remedy}", fault.why);
        ports.fail(&notice);
        Some(format!("Tollgate: {notice}"))
    }

    fn record_call(
        &mut self,
        round: &Round,
        hook: &Hook,
        answer: &ComponentAnswer,
        status: RunStatus,
        word: (&'static str, Value),
        ports: &Ports,
    ) {
        self.numbers += 1;
        let number = self.numbers;
        let id = self.record_id(number, ports);
        let clean_text = |text: &str| Value::from(ports.secrets.redact_with(text, &hook.secrets));
        let mut fields = vec![
            ("id", Value::from(id)),
            ("hook", hook.id.as_str().into()),
            ("trigger", round.function.trigger().unwrap_or_default().into()),
            ("function", round.function.as_str().into()),
            ("status", status.as_str().into()),
        ];
        fields.extend(round.session.as_deref().map(|session| ("session", clean_text(session))));
        fields.extend(round.call.as_deref().map(|call| ("call", clean_text(call))));
        fields.push(("ended", ports.clock.now().to_string().into()));
        fields.push(("duration_us", answer.took_us.into()));
        fields.push(word);
        fields.extend(log_lines(answer).map(|log| ("log", log)));
        let mut record = object(&mut fields);
        ports.secrets.redact_value(&mut record, &hook.secrets);
        self.lines.push_str(&record.to_string());
        self.lines.push('\n');
        self.command(Order::Record(record));
    }

    /// Starts the run of a component's hook for an event.
    pub(super) fn begin_component(&mut self, key: RunKey, ports: &Ports) {
        let Some(run) = self.schedule.get(key).cloned() else { return };
        let hook = run.hook.clone();
        let Some(registered) = self.registry.find(&hook.id).cloned() else {
            return self.finish(key, RunOutcome::of(RunStatus::Skipped, "it is no longer declared"), ports);
        };
        let file = file_question(&registered).and_then(|question| ports.workspace.inspect(&[question]).pop());
        let Some(file) = file else {
            return self.finish(key, RunOutcome::of(RunStatus::Failed, "the host did not inspect its component"), ports);
        };
        self.approvals.refresh(ports);
        let approved = match self.approved_component(&registered, &file, ports) {
            Ok(approved) => approved,
            Err(outcome) => return self.finish(key, *outcome, ports),
        };
        if !approved.functions.contains(&Function::Events) {
            let why = "its component exports no `events`, so there is nothing to call";
            return self.finish(key, RunOutcome::of(RunStatus::Skipped, why), ports);
        }
        if let Some(why) = self.faults.disabled_reason(&hook.id, &approved.approval, ports) {
            return self.finish(key, RunOutcome::of(RunStatus::Skipped, &disabled_message(&why)), ports);
        }
        let now = (self.now, ports.clock.now());
        if let Some(run) = self.schedule.get_mut(key) {
            run.began.get_or_insert(now);
            run.attempts += 1;
        }
        self.numbers += 1;
        let number = self.numbers;
        let subject = Subject::Event {
            name: (*run.event.name).to_owned(),
            session: run.event.session.as_deref().map(str::to_owned),
            data: run.event.data.to_string(),
        };
        let limits = approved.grant.limits;
        let longest = u64::from(limits.start_ms) + u64::from(limits.wall_ms) + SLACK_MS;
        self.due.push(Ask { number, subject, questions: vec![approved.question(&hook.id)] });
        let (session, called) = (run.event.session.as_deref().map(str::to_owned), vec![(hook, approved)]);
        let (function, said) = (Function::Events, HookFeedback::default());
        self.rounds.push(Round { number, asker: None, function, session, call: None, called, said });
        self.schedule.mark_running(key, number, self.now.saturating_add(longest));
        self.report_status(key, RunStatus::Running, ports);
    }

    fn finish_event(&mut self, number: u64, hook: &Hook, approved: &Approved, answer: &ComponentAnswer, ports: &Ports) {
        let Some(key) = self.schedule.of_command(number) else { return };
        let mut outcome = match &answer.reply {
            ComponentReply::Reaction { stop, message } => {
                let mut said = Map::new();
                said.insert("continue".to_owned(), (!stop).into());
                if let Some(message) = message {
                    said.insert("systemMessage".to_owned(), attribute_to_hook(&hook.id, message, MAX_NOTE).into());
                }
                RunOutcome { status: Some(RunStatus::Success), answer: Some(said), ..RunOutcome::default() }
            }
            reply => match HookFeedback::default().take(&hook.id, approved, Function::Events, reply) {
                Ok(_) => RunOutcome { status: Some(RunStatus::Success), ..RunOutcome::default() },
                Err(fault) => {
                    self.count_fault(hook, approved, &fault, ports);
                    RunOutcome::of(fault_status(&fault), &fault.why)
                }
            },
        };
        if outcome.status == Some(RunStatus::Success) {
            self.faults.record_answer(&hook.id, &approved.approval, ports);
        }
        let lines: Vec<String> = answer.log.iter().take(MAX_LINES).map(|(_, text)| clean(text, MAX_LINE)).collect();
        if !lines.is_empty() {
            outcome.output = Some(ports.secrets.redact_with(&lines.join("\n"), &hook.secrets).into_owned());
        }
        self.settle(key, outcome, ports);
    }

    /// Finds the component of a hook as it was approved; otherwise returns how the run ends, and a person is asked.
    ///
    /// The caller has just refreshed the approvals and inspected the component's file.
    fn approved_component(
        &mut self,
        registered: &RegisteredHook,
        file: &Facts,
        ports: &Ports,
    ) -> Result<Rc<Approved>, Box<RunOutcome>> {
        let hook = &registered.hook;
        let stamp = (self.approvals.stamp(), file.stamp);
        let known = self.approved.iter().find(|(known, at, _)| Rc::ptr_eq(known, hook) && *at == stamp);
        if let Some((_, _, approved)) = known {
            return Ok(approved.clone());
        }
        let approval = self.approvals.find(&hook.id, &self.machine).cloned();
        if let Some(approval) = &approval
            && is_as_approved(registered, approval, file, ports)
            && let Some(approved) = Approved::read(hook, approval).map(Rc::new)
        {
            self.approved.retain(|(known, (at, _), _)| known.id != hook.id && *at == stamp.0);
            self.approved.push((hook.clone(), stamp, approved.clone()));
            return Ok(approved);
        }
        if approval.is_none() {
            self.examined += 1;
            if self.examined > super::running::MAX_EXAMINED {
                return Err(skipped_outcome(&hook.id, Trust::New.reason()));
            }
        }
        // Remembered, so that the same file is not read and refused again at every call.
        if self.refused.iter().any(|(id, at)| *id == hook.id && *at == stamp) {
            return Err(skipped_outcome(&hook.id, "its current version is not approved"));
        }
        self.refused.retain(|(id, _)| *id != hook.id);
        self.refused.push((hook.id.clone(), stamp));
        match trust::fingerprint(registered, false, &self.machine, ports) {
            Err(why) => {
                ports.warn(&format!("the hook `{}` is not called: {why}", hook.id));
                Err(RunOutcome::boxed(RunStatus::Failed, &ports.secrets.redact_with(&why, &hook.secrets)))
            }
            Ok(fingerprint) => {
                let trust = self.approvals.trust(hook, &fingerprint, &self.machine, ports);
                Err(self.request_approval(&hook.id, &fingerprint, trust, ports))
            }
        }
    }
}

/// Whether the declaration and the file are what was approved. The bytes that run are the stored ones in any case.
fn is_as_approved(registered: &RegisteredHook, approval: &Value, file: &Facts, ports: &Ports) -> bool {
    let shows = approval.get("shows");
    if shows.and_then(|shows| shows.get("declaration")) != Some(&trust::declaration(&registered.hook)) {
        return false;
    }
    let digest = shows.and_then(|shows| json::text(shows.get("component")?, "digest")?.parse::<Digest>().ok());
    let (Some(digest), Some((root, path))) = (digest, place(registered)) else { return false };
    if file.kind != FileKind::File || file.link.is_some() {
        return false;
    }
    if approval.get("stamp").and_then(Value::as_u64) == Some(file.stamp) {
        return true;
    }
    let found = match root {
        // The host hashes faster.
        Root::Project => ports.workspace.inspect(&[Question { root, path, digest: true }]).pop().and_then(|facts| facts.digest),
        _ => ports.workspace.read(root, &path, MAX_COMPONENT_BYTES).ok().map(|bytes| Digest::of(&bytes)),
    };
    found == Some(digest)
}

fn is_called(registered: &RegisteredHook, function: Function, tool: &str) -> bool {
    registered.disabled.is_none() && registered.hook.is_called_for(function, tool)
}

fn disabled_message(why: &str) -> String {
    format!("it has failed before and is no longer called: {why}")
}

fn fault_status(fault: &HookFailure) -> RunStatus {
    match fault {
        HookFailure { counts: false, .. } => RunStatus::Skipped,
        HookFailure { is_late: true, .. } => RunStatus::Timeout,
        _ => RunStatus::Failed,
    }
}

/// The question for the host about the file of a component.
fn file_question(registered: &RegisteredHook) -> Option<Question> {
    let (root, path) = place(registered)?;
    Some(Question { root, path, digest: false })
}

fn log_lines(answer: &ComponentAnswer) -> Option<Value> {
    let line = |(level, text): &(String, String)| {
        object(&mut [("level", clean(level, 10).into()), ("text", clean(text, MAX_LINE).into())])
    };
    (!answer.log.is_empty()).then(|| answer.log.iter().take(MAX_LINES).map(line).collect())
}

impl Hook {
    /// Whether its component is called for a function about a tool.
    fn is_called_for(&self, function: Function, tool: &str) -> bool {
        matches!(self.action, Action::Component(_))
            && function
                .trigger()
                .is_some_and(|trigger| self.trigger == trigger || self.trigger == super::super::declaration::ANY_CALL)
            && self.is_about(tool)
    }
}

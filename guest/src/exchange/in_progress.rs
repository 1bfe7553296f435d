//! One exchange in progress, from an agent program's event to its answer.

mod third_party;

use std::rc::Rc;

use serde_json::Value;

use super::lifecycle::{self, HooksReply};
use super::restoring::Restoring;
use super::wording;
use crate::augment::{Augmentation, Lookup, LookupFinding, Plan};
use crate::call::ToolCall;
use crate::config::confine::Capability;
use crate::gate::condition::Condition;
use crate::gate::{CallOutcome, Gate};
use crate::hooks::components::Function;
use crate::hooks::components::sanitize::{MAX_NOTE, clean};
use crate::hooks::event::Event as HookEvent;
use crate::programs::own_tools::{self, OwnCall};
use crate::programs::{
    self, Act, AgentProgram, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, ProgramEvent, ReportedCall, cut, derived_id,
};
use crate::ruling::{Ruling, Verdict};

/// What an exchange waits for.
pub(super) enum ExchangeStage {
    /// Earlier events of its session that hooks have not received yet.
    Queue,
    /// Changes that are being reverted.
    Restore(Restoring),
    /// Third-party hooks that add to a call, object to it, or remark on its end.
    Components(Function),
    /// Hooks.
    Hooks,
    /// Lookups: those that are open, with their commands once these were given, and the findings of the others.
    Lookups { open: Vec<(Option<u64>, Lookup)>, found: Vec<LookupFinding>, until: Option<u64> },
}

/// One event and the progress of its answer.
pub(super) struct Exchange {
    pub(super) number: u64,
    program: &'static AgentProgram,
    pub(super) speech: &'static HookProtocol,
    pub(super) event: ProgramEvent,
    pub(super) stage: ExchangeStage,
    /// The ruling on a call that may run or that a person decides on.
    ruling: Option<Ruling>,
    /// The objection of a hook to a call that a person decides on: the reason and the code.
    objection: Option<(String, String)>,
    /// Whether a hook has changed the call's arguments.
    is_rewritten: bool,
    /// The answer of hooks that are programs, kept while third-party hooks check the arguments that it asks for.
    reply: Option<HooksReply>,
    /// Why the result is withheld from the model.
    withheld: Option<String>,
    /// How the call ended, as the gate recorded it.
    settled: Option<(CallOutcome, Option<String>)>,
    /// Ledger entries whose changes are to be reverted.
    restore: Vec<String>,
    /// What the model is told, in this order.
    pub(super) told: Vec<String>,
    /// What the model is told with the next prompt, because it cannot be told anything now.
    pub(super) kept: Vec<String>,
    /// Whether it continues a session, although the program did not say so.
    pub(super) resumes: bool,
    /// What the person should know, at the beginning of a session.
    pub(super) for_person: String,
    /// Whether it follows from another event, so that nothing waits for the answer.
    pub(super) is_implied: bool,
}

impl Exchange {
    pub(super) fn new(program: &'static AgentProgram, speech: &'static HookProtocol, event: ProgramEvent, number: u64) -> Self {
        let (restore, told, kept, for_person) = (Vec::new(), Vec::new(), Vec::new(), String::new());
        let (stage, ruling, is_implied, resumes) = (ExchangeStage::Queue, None, false, false);
        Self {
            number,
            program,
            speech,
            event,
            stage,
            ruling,
            objection: None,
            is_rewritten: false,
            reply: None,
            withheld: None,
            settled: None,
            restore,
            told,
            kept,
            for_person,
            is_implied,
            resumes,
        }
    }

    /// Whether an earlier exchange has to end first, so that hooks get the events of a session in order.
    pub(super) fn waits_for(&self, earlier: &Self) -> bool {
        let is_same = self.event.session == earlier.event.session;
        match self.event.kind() {
            EventKind::BeforeAgent => is_same && earlier.event.kind() == EventKind::SessionStart,
            EventKind::AfterAgent | EventKind::SessionEnd => is_same,
            EventKind::ProgramEnd => true,
            _ => false,
        }
    }

    /// Does what can be done at once; gives the answer if that is all.
    pub(super) fn begin(&mut self, gate: &mut Gate) -> Option<HookAnswer> {
        self.stage = ExchangeStage::Hooks;
        self.inherit(gate);
        match self.event.kind() {
            EventKind::BeforeTool => {
                gate.refresh_hooks(lifecycle::name(self.event.kind()).unwrap_or_default());
                // Hooks that may change the arguments come first, so that the gate rules on what will run.
                if self.ask_to_augment(gate) {
                    return None;
                }
                return self.judge(gate);
            }
            EventKind::AfterTool => {
                self.settle(gate);
                if let Some(restoring) = Restoring::new(gate, std::mem::take(&mut self.restore)) {
                    self.stage = ExchangeStage::Restore(restoring);
                    return None;
                }
                return self.remark(gate);
            }
            _ => {}
        }
        let begins = self.event.kind() == EventKind::SessionStart || self.resumes;
        // No person watches a sub-agent's session, and if nothing is governed, there is nothing to say.
        if begins && self.speech.person.is_some() && self.event.parent.is_none() && gate.is_governed() {
            let Condition { faults, notes, .. } = Condition::of(gate);
            self.for_person = faults.into_iter().chain(notes).collect::<Vec<_>>().join("\n");
        }
        self.announce(gate)
    }

    /// Rules on the call and asks third-party hooks for objections; gives the answer if the call does not run.
    fn judge(&mut self, gate: &mut Gate) -> Option<HookAnswer> {
        if let Some(refused) = self.rule(gate) {
            return Some(refused);
        }
        if self.ask_to_check(gate) {
            return None;
        }
        self.announce(gate)
    }

    /// Replaces the call's arguments. If the program gives calls no ids, the id is derived from the arguments and changes with
    /// them.
    fn replace_args(&mut self, args: Value) {
        let Some(call) = &mut self.event.call else { return };
        let is_derived = call.id == derived_id(&self.event.session, &call.tool, &call.args);
        (call.args, self.is_rewritten) = (args, true);
        if is_derived {
            call.id = derived_id(&self.event.session, &call.tool, &call.args);
        }
    }

    /// Reports the event to hooks; gives the answer if there are none and nothing else is left to do.
    pub(super) fn announce(&mut self, gate: &mut Gate) -> Option<HookAnswer> {
        self.stage = ExchangeStage::Hooks;
        let Some(name) = lifecycle::name(self.event.kind()) else { return Some(self.finish(gate, None)) };
        let session = Some(Rc::from(self.event.session.as_str()));
        self.told.extend(gate.observe_event(name, Some(&self.event.session)));
        let event = HookEvent { name: name.into(), session, data: Rc::new(lifecycle::data(self.program, &self.event)) };
        // Around a call, declarations have been refreshed already.
        let is_call = matches!(self.event.kind(), EventKind::BeforeTool | EventKind::AfterTool);
        let hears = if is_call { gate.tell_hooks_again(event, self.number) } else { gate.tell_hooks(event, self.number) };
        if hears { None } else { self.continue_after(gate, HooksReply::NONE) }
    }

    /// Continues with the answer of the hooks.
    pub(super) fn take_hooks_answer(&mut self, gate: &mut Gate, answer: &Value) -> Option<HookAnswer> {
        self.continue_after(gate, HooksReply::read(answer))
    }

    /// A sub-agent with a session of its own works for its parent's intent until it selects one.
    fn inherit(&self, gate: &mut Gate) {
        let ProgramEvent { session, parent, .. } = &self.event;
        let Some(parent) = parent.as_ref().filter(|parent| *parent != session) else { return };
        if gate.current(session).is_none()
            && let Err(fault) = gate.inherit(session, parent)
        {
            gate.ports().warn(&format!("the sub-agent's session could not inherit its parent's intent: {fault}"));
        }
    }

    /// Rules on the call; gives the answer if it does not run.
    fn rule(&mut self, gate: &mut Gate) -> Option<HookAnswer> {
        let call = self.tool_call()?;
        let runs_command = || programs::tools(Some(self.program.name()), &call.tool).iter().any(|tool| tool.act == Act::Shell);
        let confines = self.wraps(gate) || runs_command() && gate.has_shell_prefix(self.program);
        let ruling = gate.check_on(&call, if confines { Capability::Trees } else { Capability::None });
        let code = ruling.code.as_str();
        match ruling.verdict {
            Verdict::Deny => return Some(HookAnswer::Deny(wording::reason(&ruling.reason, code))),
            Verdict::Ask if !(self.speech.asks)(&self.event) => {
                let reason = wording::reason(&wording::without_person(&ruling.reason), code);
                return Some(withdraw(gate, &call, reason));
            }
            Verdict::Allow | Verdict::Ask => {}
        }
        // An intent that cannot be selected is refused now, while the model can still be told as the tool's answer.
        if let Some(intent) = self.selects()
            && let Err(refusal) = gate.selectable(&intent)
        {
            return Some(withdraw(gate, &call, wording::reason(&refusal.to_string(), refusal.code())));
        }
        self.ruling = Some(ruling);
        None
    }

    /// Records what the call changed, and carries out what a tool of ours was called for: only now is it certain that nobody
    /// refused the call.
    fn settle(&mut self, gate: &mut Gate) {
        let (Some(call), Some(told)) = (self.tool_call(), &self.event.call) else { return };
        let outcome = match &told.ending {
            CallEnding::Done => CallOutcome::Done,
            CallEnding::Failed(error) => CallOutcome::Failed(error.clone()),
            CallEnding::Refused(why) => CallOutcome::Refused(why.clone()),
        };
        let done = outcome == CallOutcome::Done;
        let output = told.result.as_ref().map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned));
        let settled = gate.settle_with(&call, &outcome, output.as_deref());
        self.told.extend(settled.notice);
        self.restore = settled.restore;
        self.settled = Some((outcome, output));
        let session = self.event.session.clone();
        let failed = match self.own_call().filter(|_| done) {
            Some(own) if own.tool.name == own_tools::SELECT => {
                let intent = own.text(own_tools::INTENT_ID).unwrap_or_default();
                gate.select(&session, intent).err().map(|refusal| refusal.to_string())
            }
            Some(own) if own.tool.name == own_tools::CLEAR => gate.clear(&session).err().map(|fault| fault.to_string()),
            _ => None,
        };
        self.told.extend(failed.map(|why| format!("Tollgate: {why}")));
    }

    /// Gives the call the arguments that a hook wants, and rules on it again; gives the answer if the call does not run.
    fn rewrite(&mut self, gate: &mut Gate, word: &HooksReply) -> Option<HookAnswer> {
        let call = self.tool_call()?;
        let wanted = word.args.as_ref().filter(|args| **args != call.args);
        let can_rewrite = (self.speech.rewrites)(&self.event);
        if let Some(args) = word.wanted.as_ref().or(wanted.filter(|_| !can_rewrite)) {
            let reason = wording::other_arguments("a hook", self.program.title, &gate.ports().secrets.redact(&args.to_string()));
            return Some(withdraw(gate, &call, wording::reason(&reason, "hook")));
        }
        let args = wanted?.clone();
        // The call that was ruled on does not run, and the one that runs instead has not been ruled on.
        gate.settle(&call, &CallOutcome::Refused(wording::REWRITTEN.to_owned()));
        self.replace_args(args);
        self.objection = None;
        self.rule(gate)
    }

    fn continue_after(&mut self, gate: &mut Gate, word: HooksReply) -> Option<HookAnswer> {
        match self.event.kind() {
            EventKind::BeforeTool => {
                let call = self.tool_call()?;
                if !word.goes_on {
                    let reason = word.message.unwrap_or_else(|| wording::HOOK_STOPPED.to_owned());
                    return Some(withdraw(gate, &call, wording::reason(&reason, "hook")));
                }
                if let Some(refused) = self.rewrite(gate, &word) {
                    return Some(refused);
                }
                let is_other = self.tool_call()?.args != call.args;
                // Third-party hooks have not seen these arguments.
                if is_other && self.ask_to_check(gate) {
                    self.reply = Some(word);
                    return None;
                }
                self.conclude(gate, word)
            }
            EventKind::AfterTool => {
                self.told.extend(word.message);
                // If the program takes no context before a tool runs, it gets it now.
                let tells_now = self.limit(EventKind::BeforeTool).is_none() && self.limit(EventKind::AfterTool).is_some();
                let call = self.tool_call().filter(|_| tells_now);
                match call {
                    Some(call) => self.look_up(gate, &call),
                    None => Some(self.finish(gate, None)),
                }
            }
            EventKind::BeforeAgent | EventKind::BeforeModel if !word.goes_on => {
                let reason = word.message.unwrap_or_else(|| wording::HOOK_STOPPED.to_owned());
                Some(HookAnswer::Stop(wording::reason(&reason, "hook")))
            }
            kind => {
                self.told.extend(word.message);
                let tells = kind == EventKind::BeforeAgent && (self.speech.limit)(kind).is_some();
                match self.event.prompt.as_deref().filter(|_| tells) {
                    Some(prompt) => {
                        let plan = gate.plan_lookups_for_text(&self.event.session, prompt);
                        self.carry_out(gate, plan)
                    }
                    None => Some(self.finish(gate, None)),
                }
            }
        }
    }

    /// Concludes a call that is not denied, once all hooks have answered.
    fn conclude(&mut self, gate: &mut Gate, word: HooksReply) -> Option<HookAnswer> {
        let call = self.tool_call()?;
        let ruling = self.ruling.as_ref()?;
        let of_gate = (ruling.verdict == Verdict::Ask).then(|| (ruling.reason.clone(), ruling.code.as_str().to_owned()));
        let asks = match (of_gate, self.objection.clone()) {
            (Some((reason, code)), Some((objection, _))) => Some((format!("{reason}; {objection}"), code)),
            (of_gate, objection) => of_gate.or(objection),
        };
        if let Some((reason, code)) = asks {
            return Some(self.ask(gate, &call, wording::reason(&reason, &code)));
        }
        if let Some(why) = &word.asks {
            let reason = wording::reason(why, "hook");
            let can_ask = (self.speech.asks)(&self.event);
            return Some(if can_ask {
                self.ask(gate, &call, reason)
            } else {
                withdraw(gate, &call, wording::without_person(&reason))
            });
        }
        self.told.extend(word.message);
        // A call can be allowed with a warning, which the person and the model should see.
        if !ruling.reason.is_empty() {
            gate.ports().warn(&ruling.reason);
            self.told.push(format!("Tollgate: {}", ruling.reason));
        }
        self.look_up(gate, &call)
    }

    /// Asks a person to decide. A call whose arguments were changed is denied instead: the program would run the original ones.
    fn ask(&self, gate: &mut Gate, call: &ToolCall, reason: String) -> HookAnswer {
        if !self.is_rewritten {
            return HookAnswer::Ask(reason);
        }
        let wanted = clean(&gate.ports().secrets.redact(&call.args.to_string()), MAX_NOTE);
        withdraw(gate, call, wording::asks_for_others(&wanted, &reason))
    }

    /// Looks up what is known about the concepts that the call names; gives the answer if that takes no time.
    fn look_up(&mut self, gate: &mut Gate, call: &ToolCall) -> Option<HookAnswer> {
        // If nothing is governed, the call is left as it is.
        if !gate.is_governed() {
            return Some(self.finish(gate, None));
        }
        let plan = gate.plan_lookups(call);
        self.carry_out(gate, plan)
    }

    fn carry_out(&mut self, gate: &mut Gate, plan: Plan) -> Option<HookAnswer> {
        if plan.skipped.is_some() {
            return Some(self.finish(gate, None));
        }
        if plan.lookups.is_empty() {
            return Some(self.finish(gate, Some(&[])));
        }
        let open = plan.lookups.into_iter().map(|lookup| (None, lookup)).collect();
        self.stage = ExchangeStage::Lookups { open, found: Vec::new(), until: None };
        None
    }

    /// The answer, now that everything is known. `found` is what the lookups brought, if the call names concepts.
    pub(super) fn finish(&mut self, gate: &mut Gate, found: Option<&[LookupFinding]>) -> HookAnswer {
        let kind = self.event.kind();
        let augmentation = match (found, self.tool_call()) {
            (Some(found), Some(call)) => gate.augment(&call, found),
            _ => Augmentation::default(),
        };
        let rewrites = augmentation.args.is_some() && (self.speech.rewrites)(&self.event);
        let known = augmentation.added.or(augmentation.text);
        let rewritten = self.event.call.as_ref().filter(|_| self.is_rewritten).map(|call| call.args.clone());
        let needs_own_shell = || self.tool_call().is_some_and(|call| gate.needs_own_shell(&call));
        let is_wrapped =
            kind == EventKind::BeforeTool && (self.ruling.as_ref().is_some_and(|ruling| ruling.confined) || needs_own_shell());
        match kind {
            EventKind::BeforeTool if is_wrapped && self.wraps(gate) => self.confine(gate, augmentation.args.filter(|_| rewrites)),
            EventKind::BeforeTool if rewrites => HookAnswer::Allow { args: augmentation.args, told: self.fit(gate) },
            EventKind::BeforeTool => {
                // If the program takes no context now, it gets it after the tool has run.
                self.told.extend(known.filter(|_| self.limit(kind).is_some()));
                HookAnswer::Allow { args: rewritten, told: self.fit(gate) }
            }
            EventKind::AfterTool => {
                self.told.extend(known.filter(|_| !rewrites));
                match self.withheld.take() {
                    Some(why) => {
                        self.told.insert(0, format!("Tollgate: the result is withheld; {why}"));
                        HookAnswer::Withhold(self.fit(gate))
                    }
                    None => HookAnswer::Tell(self.fit(gate)),
                }
            }
            _ => {
                if let (Some(found), Some(prompt)) = (found, self.event.prompt.as_deref()) {
                    self.told.extend(gate.augment_text(&self.event.session, prompt, found));
                }
                self.tell_intent(gate);
                HookAnswer::Tell(self.fit(gate))
            }
        }
    }

    /// Whether a command can be replaced by one that runs it confined.
    fn wraps(&self, gate: &Gate) -> bool {
        (self.speech.rewrites)(&self.event) && gate.confiner().is_some()
    }

    /// Allows the call with its command confined. `args` replace those that the program sent, if there are any.
    fn confine(&mut self, gate: &mut Gate, args: Option<Value>) -> HookAnswer {
        let Some(mut call) = self.tool_call() else { return HookAnswer::Deny(wording::NOT_CONFINED.to_owned()) };
        call.args = args.unwrap_or(call.args);
        match gate.confined_args(&call) {
            Some(args) => HookAnswer::Allow { args: Some(args), told: self.fit(gate) },
            None => withdraw(gate, &call, wording::NOT_CONFINED.to_owned()),
        }
    }

    /// Puts the session's intent in front of everything else, within the space that is left.
    fn tell_intent(&mut self, gate: &mut Gate) {
        let (session, kind) = (&self.event.session, self.event.kind());
        let tells =
            matches!(kind, EventKind::SessionStart | EventKind::BeforeAgent | EventKind::SubagentStart | EventKind::Prompt);
        let Some(limit) = self.limit(kind).filter(|_| tells && !session.is_empty()) else { return };
        let taken: usize = self.told.iter().map(|text| text.len() + 2).sum();
        let room = limit.max().saturating_sub(taken);
        // A session is told once, and again when it may have forgotten: when it starts over, and with each prompt if the program
        // needs that.
        let again = matches!(kind, EventKind::SessionStart | EventKind::SubagentStart | EventKind::Prompt);
        let context = gate.context_if_new(session, room, again);
        self.told.insert(0, context);
    }

    /// How much the model can be told at this moment of the exchange.
    fn limit(&self, kind: EventKind) -> Option<Limit> {
        (self.speech.limit)(kind).filter(|_| !self.event.unheard)
    }

    /// The context, cut to what the program takes at this moment. If it takes nothing, the text waits for the next
    /// prompt, or is logged for the person who runs the host.
    fn fit(&mut self, gate: &Gate) -> String {
        let told: Vec<&str> = self.told.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty()).collect();
        let told = told.join("\n\n");
        let kind = self.event.kind();
        let prompts = self.event.lasting && (self.speech.limit)(EventKind::Prompt).is_some();
        match self.limit(kind) {
            None if prompts => {
                self.kept.extend(Some(told).filter(|told| !told.is_empty()));
                String::new()
            }
            Some(limit) => cut(&told, limit),
            None if matches!(kind, EventKind::AfterAgent | EventKind::SessionEnd) => told,
            None => {
                if !told.is_empty() {
                    gate.ports().warn(&told);
                }
                String::new()
            }
        }
    }

    fn own_call(&self) -> Option<OwnCall> {
        let ReportedCall { tool, args, .. } = self.event.call.as_ref()?;
        own_tools::call(tool, args)
    }

    /// The intent that the call selects; empty if it does not say which.
    fn selects(&self) -> Option<String> {
        let own = self.own_call().filter(|own| own.tool.name == own_tools::SELECT)?;
        Some(own.text(own_tools::INTENT_ID).unwrap_or_default().to_owned())
    }

    /// The call as the gate knows it.
    fn tool_call(&self) -> Option<ToolCall> {
        let ProgramEvent { session, agent, cwd, call, .. } = &self.event;
        let call = call.as_ref()?;
        Some(ToolCall {
            session: session.clone(),
            agent: agent.clone(),
            call: call.id.clone(),
            host: Some(self.program.name().to_owned()),
            tool: call.tool.clone(),
            server: call.server.clone(),
            args: call.args.clone(),
            cwd: cwd.clone(),
        })
    }
}

/// Denies a call that was allowed before: it is settled as refused, so that the ledger does not show it as run.
fn withdraw(gate: &mut Gate, call: &ToolCall, reason: String) -> HookAnswer {
    gate.settle(call, &CallOutcome::Refused(reason.clone()));
    HookAnswer::Deny(reason)
}

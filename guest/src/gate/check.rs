//! Rules on a call before the tool runs.

use super::confined::ConfinementPlan;
use super::guard::is_open_ended;
use super::late::ComparisonTime;
use super::on_fault::OnFault;
use super::scratch::Scratch;
use super::settle::{RememberedFacts, join};
use super::unrecorded::{call_key, may_change};
use super::{Gate, governance_questions, ledger_questions};
use crate::call::resolve::{self, Effects};
use crate::call::{self, CallFault, ToolCall};
use crate::config::confine::Capability;
use crate::config::{self, Config, Policy};
use crate::effects::path::{Location, WorkspacePath};
use crate::effects::{Effect, Extent, Footprint, Operation, Persistence};
use crate::extensions::{self, store};
use crate::inflight::late;
use crate::inflight::rulings::{self, CallFate};
use crate::intents::file::{self, Governance, Intents};
use crate::intents::guarded::{self, GuardedFiles};
use crate::intents::intent::{Intent, IntentId};
use crate::intents::scope::Reach;
use crate::intents::selection;
use crate::ports::{Ports, Question};
use crate::ruling::{Code, Ruling, Verdict};
use crate::servers::Treatment;

/// Maximum number of effects that a ruling reports; all of them are judged.
const MAX_REPORTED: usize = 1_000;

impl Gate {
    /// Rules on one call. What the call is allowed to change is remembered until it is settled.
    pub fn check(&mut self, call: &ToolCall) -> Ruling {
        self.check_on(call, Capability::None)
    }

    /// The same, on a host that can hold a command to its scope.
    pub fn check_on(&mut self, call: &ToolCall, capability: Capability) -> Ruling {
        self.retry_ledger();
        let mut questions: Vec<Question> = governance_questions().into();
        questions.extend(ledger_questions());
        questions.extend([late::question(), selection::question(&call.session)]);
        let extensions = questions.len();
        questions.extend(extensions::questions());
        let own = questions.len();
        // What the call does is worked out beforehand, so that one request answers everything, unless it is not needed.
        let mut config = self.config.last();
        let mut footprint = self.governed.then(|| self.footprint(call, &config));
        questions.extend(questions_about(footprint.as_ref(), capability));
        let mut facts = self.look(&questions);
        let governance = self.governance_by(&facts);
        let is_governed = !matches!(governance, Governance::None);
        let notice = self.recorder.watch(is_governed, facts.get(3..5).unwrap_or_default(), &self.ports);
        if !is_governed {
            return with_notice(Ruling::allow(Code::Ungoverned, Vec::new()), notice);
        }
        let anew = facts.get(2).is_some_and(|file| self.config.refresh(file, &self.ports));
        self.refresh_extensions(facts.get(extensions..own).unwrap_or_default(), &self.config.last());
        if anew || footprint.is_none() {
            config = self.config.last();
            footprint = Some(self.footprint(call, &config));
            facts.truncate(own);
            let questions = questions_about(footprint.as_ref(), capability);
            if !questions.is_empty() {
                facts.extend(self.look(&questions));
            }
        }
        if facts.get(5).is_some_and(late::is_open) {
            self.compare_late(ComparisonTime::Call);
        }
        let selected = match (&governance, facts.get(6)) {
            (Governance::By(intents), Some(selection)) => self.intent_of(&call.session, selection, intents, &config),
            (_, Some(selection)) => self.selections.current(&call.session, selection.stamp, &self.ports),
            _ => None,
        };
        let mut facts = facts.get(own..).unwrap_or_default();
        if needs_guarded(footprint.as_ref(), capability)
            && let Some((home, others)) = facts.split_first()
        {
            self.guarded.refresh(home, &self.ports);
            facts = others;
        }
        let footprint = footprint.unwrap_or_else(|| Ok(Footprint::default()));
        let scope = match (&governance, selected.as_ref()) {
            (Governance::By(intents), Some(selected)) => intents.find(selected).map(|intent| &intent.owned_scope),
            _ => None,
        };
        let owns =
            |path: &WorkspacePath, extent: Extent| scope.is_some_and(|scope| scope.reach_of(path, extent) == Reach::Within);
        let effects = footprint
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|footprint| resolve::effects(call, footprint, facts, &*self.ports.workspace, &owns));
        let plan = match (&governance, &footprint) {
            (Governance::By(_), Ok(footprint)) => self.plan_confinement(call, capability, footprint, &config),
            _ => None,
        };
        let is_ruled = matches!(governance, Governance::By(_));
        let owner = match (&governance, selected.as_ref()) {
            (Governance::By(intents), Some(selected)) if plan.is_some() => intents.find(selected).cloned(),
            _ => None,
        };
        let changes = effects.as_ref().map_or(true, is_change);
        let mut ruling = match (governance, effects) {
            (_, effects) if let Some(command) = footprint.as_ref().ok().and_then(|footprint| footprint.controls.first()) => {
                deny_person_only(command, effects)
            }
            (_, Ok(effects)) if effects.known.iter().any(|effect| store::is_at(effect.location.as_str())) => {
                let reason =
                    "the file contains the user's secrets for extensions, and an agent may not read it; continue without it";
                Ruling::deny(Code::ControlFile, reason, effects.known)
            }
            (Governance::By(intents), Ok(effects)) => {
                let persistence = footprint.as_ref().map_or(Persistence::Ends, |footprint| footprint.persistence);
                self.rule(call, &intents, selected.as_ref(), (effects, persistence), &config, plan.as_ref())
            }
            (Governance::By(_), Err(fault)) => refusal(&fault),
            (Governance::Unreadable(why), effects) => rule_ungoverned(&why, effects, &config),
            (Governance::Inaccessible(why), effects) => self.rule_uninspected(&why, effects, &config),
            (Governance::None, _) => Ruling::allow(Code::Ungoverned, Vec::new()),
        };
        if let Some(plan) = plan.as_ref().filter(|_| ruling.verdict != Verdict::Deny) {
            self.prepare(owner.as_ref().filter(|intent| intent.status.is_open()), plan, ruling.confined);
        }
        if let (Verdict::Allow | Verdict::Ask, Ok(footprint)) = (ruling.verdict, &footprint) {
            self.note_reads(call, footprint, facts);
        }
        if ruling.verdict == Verdict::Deny {
            self.note_denial(call, selected.as_ref(), ruling.code.as_str(), &ruling.effects);
            if config.record_rejected {
                self.enter_rejection(call, selected.as_ref(), &ruling);
            }
        } else if changes && !is_ruled {
            rulings::note(call_key(call), CallFate::Passed, self.ports.clock.now(), &self.ports);
        }
        ruling.effects.truncate(MAX_REPORTED);
        with_notice(ruling, notice.into_iter().chain(self.notices.take()).reduce(join))
    }

    /// What a call does. An unknown tool of an MCP server is looked up in the user's own settings: few calls use such a tool, so
    /// only those pay for it.
    pub(super) fn footprint(&self, call: &ToolCall, config: &Config) -> Result<Footprint, CallFault> {
        let workspace = &*self.ports.workspace;
        let found = call::footprint(call, Treatment::Unknown, config, workspace)?;
        if !found.unfamiliar {
            return Ok(found);
        }
        let asked = call::server_tool(call);
        let treatment = asked.map_or(Treatment::Unknown, |asked| Treatment::of(&asked, call.host.as_deref(), &self.ports));
        match treatment {
            Treatment::Unknown => Ok(found),
            treatment => call::footprint(call, treatment, config, workspace),
        }
    }

    /// Runs all checks: scope, what the session has seen, who else is writing. A call that passes is remembered.
    fn rule(
        &mut self,
        call: &ToolCall,
        intents: &Intents,
        selected: Option<&IntentId>,
        (effects, persistence): (Effects, Persistence),
        config: &Config,
        plan: Option<&ConfinementPlan<'_>>,
    ) -> Ruling {
        let (unknown, conditional) = (!effects.unknowns.is_empty(), effects.conditional);
        let changes = is_change(&effects);
        let scratch = Scratch::new(&call.session, &effects.known, &self.ports);
        let inputs = RuleInputs { guarded: &self.guarded, scratch: &scratch, plan, ports: &self.ports };
        let ruling = judge(intents, selected, effects, config, &inputs, |effects| self.stale_reason(call, effects));
        let (true, Verdict::Allow | Verdict::Ask, Some(intent)) =
            (changes, ruling.verdict, selected.and_then(|id| intents.find(id)))
        else {
            return ruling;
        };
        scratch.keep(&call.session, &self.ports);
        let now = self.ports.clock.now();
        self.intents.keep_parsed(now, &self.ports);
        let mut fault = self.recorder.strict_fault(config);
        // A person may take longer to decide than a lease lasts.
        let mut leased = ruling.verdict == Verdict::Allow && fault.is_none();
        if leased && let Err(denied) = self.lease(call, &ruling.effects, now) {
            leased = false;
            match denied.ruling(ruling.effects.clone()) {
                Ok(denial) => return denial,
                Err((why, _)) => {
                    self.ports.warn(&format!("the files that the call `{}` changes cannot be locked: {why}", call.call));
                    fault = Some(format!("the gate cannot tell whether another session is writing to the same files: {why}"));
                }
            }
        }
        // The call is remembered in any case: a person may let it run, and then it is entered.
        let open_ended = is_open_ended(&ruling.effects, unknown);
        let (since, certain, confined) = (now.0, !conditional, ruling.confined);
        let how = RememberedFacts { since, certain, open_ended, persistence, confined, leased };
        if let Err(why) = self.remember(call, intent, &ruling.effects, how) {
            fault = Some(format!("the call cannot be tracked, because its record cannot be saved: {why}"));
        }
        match fault {
            Some(why) if config.strict || self.asks_on_fault() => {
                let reason = format!("{why}; a person has to decide whether the call may run");
                Ruling { verdict: Verdict::Ask, code: Code::GateFault, reason, ..ruling }
            }
            _ => ruling,
        }
    }

    /// Whether a person decides if the gate itself fails.
    fn asks_on_fault(&self) -> bool {
        OnFault::of_user(&self.ports) == OnFault::Ask
    }

    /// Intents that cannot be inspected may say anything, so a person decides on every change.
    fn rule_uninspected(&self, why: &str, effects: Result<Effects, CallFault>, config: &Config) -> Ruling {
        let harmless = effects.as_ref().is_ok_and(|effects| !is_change(effects));
        if config.strict || harmless || !self.asks_on_fault() {
            return rule_ungoverned(why, effects, config);
        }
        let reason = format!("{why}; until that is fixed, a person has to decide whether the call may run");
        let effects = effects.map(|effects| effects.known).unwrap_or_default();
        Ruling { verdict: Verdict::Ask, code: Code::IntentsUnreadable, reason, effects, confined: false }
    }
}

/// Adds a notice to a ruling.
fn with_notice(ruling: Ruling, notice: Option<String>) -> Ruling {
    let Some(notice) = notice else { return ruling };
    let reason = if ruling.reason.is_empty() { notice } else { format!("{}; besides, {notice}", ruling.reason) };
    Ruling { reason, ..ruling }
}

/// The questions about a call's own paths, preceded by the one about guarded files if that is needed.
fn questions_about(footprint: Option<&Result<Footprint, CallFault>>, capability: Capability) -> Vec<Question> {
    let touches = footprint.and_then(|footprint| footprint.as_ref().ok()).map_or(&[][..], |footprint| &footprint.touches);
    let guarded = needs_guarded(footprint, capability).then(guarded::question);
    guarded.into_iter().chain(touches.iter().map(resolve::question)).collect()
}

/// Whether the guarded files have to be known: a call that only reads and cannot be confined does not need them.
fn needs_guarded(footprint: Option<&Result<Footprint, CallFault>>, capability: Capability) -> bool {
    let may_change = |footprint: &Result<Footprint, CallFault>| footprint.as_ref().is_ok_and(may_change);
    footprint.is_some_and(|footprint| capability != Capability::None || may_change(footprint))
}

/// Denies a call that cannot be understood.
fn refusal(fault: &CallFault) -> Ruling {
    let code = match fault {
        CallFault::Path(_) | CallFault::Nowhere { .. } => Code::InvalidPath,
        CallFault::Patch(_) => Code::InvalidPatch,
        CallFault::NoObject { .. } | CallFault::Argument { .. } | CallFault::NoPath { .. } => Code::InvalidArguments,
    };
    Ruling::deny(code, fault.to_string(), Vec::new())
}

/// Denies a command that changes the gate, its approvals, its wiring or its ledger, whatever an intent owns and whether or not
/// the intents can be read. The reason is read by an agent, and must not sound as if it should run the command.
fn deny_person_only(command: &str, effects: Result<Effects, CallFault>) -> Ruling {
    let reason = format!(
        "`{command}` changes what governs this session, which only a person may do; it was not run, and there is no way around \
         that. Continue without it; if you cannot continue, tell the person you work for"
    );
    Ruling::deny(Code::ControlFile, reason, effects.map(|effects| effects.known).unwrap_or_default())
}

/// The ruling if the intents cannot be used: nothing is governed, unless the settings are strict.
fn rule_ungoverned(why: &str, effects: Result<Effects, CallFault>, config: &Config) -> Ruling {
    let harmless = effects.as_ref().is_ok_and(|effects| !is_change(effects));
    if config.strict && !harmless {
        let reason = format!("{why}; the settings are strict, so nothing may change until a person has fixed it");
        return Ruling::deny(Code::IntentsUnreadable, reason, effects.map(|effects| effects.known).unwrap_or_default());
    }
    let reason = format!("governance is off: {why}");
    Ruling { reason, ..Ruling::allow(Code::IntentsUnreadable, Vec::new()) }
}

fn is_change(effects: &Effects) -> bool {
    !effects.unknowns.is_empty() || effects.known.iter().any(Effect::mutates)
}

/// What is judged by rules other than the intent's scope.
pub(super) struct RuleInputs<'g> {
    /// The files that govern the gate.
    pub(super) guarded: &'g GuardedFiles,
    /// What the session created in temporary folders.
    scratch: &'g Scratch,
    /// How the kernel would hold the command.
    plan: Option<&'g ConfinementPlan<'g>>,
    /// The host's ports.
    pub(super) ports: &'g Ports,
}

/// Runs the checks in order, stopping at the first that fails.
fn judge(
    intents: &Intents,
    selected: Option<&IntentId>,
    effects: Effects,
    config: &Config,
    inputs: &RuleInputs<'_>,
    stale: impl FnOnce(&[Effect]) -> Option<String>,
) -> Ruling {
    if !is_change(&effects) {
        let confined = inputs.plan.is_some_and(ConfinementPlan::confines_all);
        return Ruling { confined, ..Ruling::allow(Code::ReadOnly, effects.known) };
    }
    let Effects { known: effects, unknowns, .. } = effects;
    let Some(selected) = selected else {
        let reason = format!("no intent is active; call select_active_intent first, with one of: {}", intents.open_ones());
        return Ruling::deny(Code::NoActiveIntent, reason, effects);
    };
    let Some(intent) = intents.find(selected) else {
        let reason =
            format!("the active intent `{selected}` is no longer in `{}`; select one of: {}", file::PATH, intents.open_ones());
        return Ruling::deny(Code::UnknownIntent, reason, effects);
    };
    if !intent.status.is_open() {
        let reason = format!("the active intent {intent} is {}; select one of: {}", intent.status, intents.open_ones());
        return Ruling::deny(Code::IntentClosed, reason, effects);
    }
    if let Some((code, reason)) =
        effects.iter().filter(|effect| effect.mutates()).find_map(|effect| scope_violation(intent, effect, inputs))
    {
        return Ruling::deny(code, reason, effects);
    }
    if let Some(reason) = stale(&effects) {
        return Ruling::deny(Code::StaleWrite, reason, effects);
    }
    let program = effects.iter().find(|effect| effect.operation == Operation::Execute);
    if let Some(plan) = inputs.plan
        && let Some(ruling) = plan.rule(&intent.owned_scope, &effects, &unknowns, config, inputs)
    {
        return Ruling { effects, ..ruling };
    }
    let elsewhere = inputs.plan.and_then(|plan| plan.why_done_elsewhere());
    let doubts = [
        elsewhere.or(unknowns.first()).map(|why| (config.unknown, Code::UnknownEffects, why.clone())),
        program.map(|_| (config.programs, Code::Program, "what the program changes cannot be seen beforehand".to_owned())),
    ];
    // The stricter policy wins.
    for (policy, verdict) in [(Policy::Deny, Verdict::Deny), (Policy::Ask, Verdict::Ask)] {
        if let Some((_, code, why)) = doubts.iter().flatten().find(|(decided, ..)| *decided == policy) {
            let reason = match verdict {
                Verdict::Deny => format!("{why}, and `{}` denies that; find another way", config::PATH),
                _ => format!("{why}; a person has to decide whether it may run under {intent}"),
            };
            return Ruling { verdict, code: *code, reason, effects, confined: false };
        }
    }
    Ruling::allow(Code::InScope, effects)
}

/// Why an effect is outside the intent's scope.
fn scope_violation(intent: &Intent, effect: &Effect, inputs: &RuleInputs<'_>) -> Option<(Code, String)> {
    // A program is not a file in scope; what it changes is detected afterwards.
    if effect.operation == Operation::Execute {
        return None;
    }
    let path = effect.location.as_str();
    let what = match (&effect.via, effect.extent) {
        (Some(via), Extent::Tree) => format!("`{via}` leads to `{path}` (anything in it may change), which"),
        (Some(via), _) => format!("`{via}` is another way to `{path}`, which"),
        (None, Extent::Tree) => format!("anything in `{path}` may change, and it"),
        (None, _) => format!("`{path}`"),
    };
    let scope = || file::join_first(intent.owned_scope.patterns());
    let reach = match &effect.location {
        location if inputs.guarded.covers(location, effect.extent, intent.owned_scope.usable()) => Reach::Control,
        Location::Inside(path) => intent.owned_scope.reach_of(path, effect.extent),
        Location::Outside(_) if inputs.scratch.owns(effect) => Reach::Within,
        Location::Outside(_) => Reach::Beyond,
    };
    match reach {
        Reach::Within => None,
        Reach::Beyond => {
            let reason = format!(
                "{what} is not in the scope of {intent}, which owns: {}; keep to these files, or select the intent that owns it",
                scope()
            );
            Some((Code::OutOfScope, reason))
        }
        Reach::Control if effect.extent == Extent::Tree => {
            let reason = format!(
                "anything in `{path}` may change, including what governs the gate itself, which an agent may not change; name the files, or let a person do it"
            );
            Some((Code::ControlFile, reason))
        }
        Reach::Control => {
            let who = match &effect.location {
                Location::Inside(_) => {
                    "a person can change it, and so can an agent if the scope of its intent names the file literally"
                }
                Location::Outside(_) => "a person can change it",
            };
            let reason = format!("`{path}` governs the gate itself, and an agent may not {} it; {who}", effect.operation);
            Some((Code::ControlFile, reason))
        }
    }
}

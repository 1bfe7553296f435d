//! Before a tool runs: may it?

use super::{Gate, bearings};
use crate::call::effect::{Effect, Footprint};
use crate::call::path::Location;
use crate::call::{self, CallFault, ToolCall};
use crate::intents::file::{self, Governance, Intents};
use crate::intents::intent::{Intent, IntentId};
use crate::intents::scope::Reach;
use crate::intents::selection;
use crate::ledger::pending::{self, Change, Pending};
use crate::ports::{Facts, Question};
use crate::ruling::{Code, Ruling, Verdict};

impl Gate {
    /// Rules on one call. What it allows to change is remembered until the call is settled.
    pub fn check(&mut self, call: &ToolCall) -> Ruling {
        let footprint = call::footprint(call);
        let touches = footprint.as_ref().map_or(&[][..], |footprint| &footprint.touches);
        let about_touches: Vec<Question> = touches.iter().map(call::question).collect();
        let mut questions: Vec<Question> = bearings().into();
        questions.push(selection::question(&call.session));
        let own = questions.len();
        if self.governed {
            questions.extend_from_slice(&about_touches);
        }
        let mut facts = self.look(&questions);
        let governance = self.governance_by(&facts);
        let intents = match governance {
            Governance::None => return Ruling::allow(Code::Ungoverned, Vec::new()),
            Governance::Unreadable(why) => {
                return Ruling {
                    verdict: Verdict::Allow,
                    code: Code::IntentsUnreadable,
                    reason: format!("governance is off: {why}"),
                    effects: Vec::new(),
                };
            }
            Governance::By(intents) => intents,
        };
        if facts.len() == own && !about_touches.is_empty() {
            facts.extend(self.look(&about_touches));
        }
        let stamp = facts.get(own - 1).map_or(0, |facts| facts.stamp);
        let selected = self.selections.current(&call.session, stamp, &self.ports);
        let ruling = match effects(footprint, facts.get(own..).unwrap_or_default()) {
            Ok((effects, unknowns)) => judge(&intents, selected.as_ref(), effects, &unknowns),
            Err(refusal) => refusal,
        };
        if let (Verdict::Allow, Some(intent)) = (ruling.verdict, selected) {
            self.remember(call, intent, &ruling.effects);
        }
        ruling
    }

    fn remember(&self, call: &ToolCall, intent: IntentId, effects: &[Effect]) {
        let change = |effect: &Effect| Change {
            path: effect.location.as_str().to_owned(),
            operation: effect.operation,
            pre_hash: effect.pre_hash,
        };
        let changes: Vec<_> = effects.iter().filter(|effect| effect.mutates()).map(change).collect();
        if changes.is_empty() {
            return;
        }
        let pending = Pending { intent, changes };
        if let Err(fault) = pending::keep(&call.session, &call.call, &pending, &self.ports) {
            // A fault of our own never blocks work: the entry will lack its pre-hash.
            self.ports.warn(&format!("the call `{}` cannot be remembered: {fault}", call.call));
        }
    }
}

/// What the call does, and why some of it cannot be known; or the refusal of what cannot be understood.
fn effects(footprint: Result<Footprint, CallFault>, facts: &[Facts]) -> Result<(Vec<Effect>, Vec<String>), Ruling> {
    let footprint = footprint.map_err(|fault| {
        let code = if matches!(fault, CallFault::Path(_)) { Code::InvalidPath } else { Code::InvalidArguments };
        Ruling::deny(code, fault.to_string(), Vec::new())
    })?;
    let mut effects = Vec::new();
    for (touch, facts) in footprint.touches.iter().zip(facts) {
        match call::effect(touch, facts) {
            Some(effect) if effects.contains(&effect) => {}
            Some(effect) => effects.push(effect),
            None => {
                let reason = format!("the path `{}` leads nowhere: its links run in a circle, or go through a file", touch.path);
                return Err(Ruling::deny(Code::InvalidPath, reason, effects));
            }
        }
    }
    Ok((effects, footprint.unknowns))
}

/// The chain, in order, stopping at the first failure.
fn judge(intents: &Intents, selected: Option<&IntentId>, effects: Vec<Effect>, unknowns: &[String]) -> Ruling {
    if unknowns.is_empty() && !effects.iter().any(Effect::mutates) {
        return Ruling::allow(Code::ReadOnly, effects);
    }
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
    if let Some((code, reason)) = effects.iter().filter(|effect| effect.mutates()).find_map(|effect| stray(intent, effect)) {
        return Ruling::deny(code, reason, effects);
    }
    if let Some(why) = unknowns.first() {
        let reason = format!("{why}; a person has to decide whether it may run under {intent}");
        return Ruling { verdict: Verdict::Ask, code: Code::UnknownEffects, reason, effects };
    }
    Ruling::allow(Code::InScope, effects)
}

/// Why an effect is none of the intent's business.
fn stray(intent: &Intent, effect: &Effect) -> Option<(Code, String)> {
    let path = effect.location.as_str();
    let scope = || intent.owned_scope.patterns().join(", ");
    let reach = match &effect.location {
        Location::Inside(path) => intent.owned_scope.reach(path),
        Location::Outside(_) => Reach::Beyond,
    };
    match reach {
        Reach::Within => None,
        Reach::Beyond => {
            let reason = format!(
                "`{path}` is not in the scope of {intent}, which owns: {}; keep to these files, or select the intent that owns it",
                scope()
            );
            Some((Code::OutOfScope, reason))
        }
        Reach::Control => {
            let reason = format!(
                "`{path}` governs the gate itself and is no agent's to {}; a person can change it, or an intent whose scope names it literally",
                effect.operation
            );
            Some((Code::ControlFile, reason))
        }
    }
}

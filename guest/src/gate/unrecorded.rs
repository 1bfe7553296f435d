//! Calls that ended without a pending record: they were denied and ran anyway, or their record is gone.
//!
//! Either is recorded as FAIL and reported, by one of the processes that are told of the end of the call. Calls that only read, that
//! were settled before or that nothing governed have no record either, as they should.

use super::recorder::{Entered, Unentered};
use super::settle::{CallOutcome, Settlement, claimed_class, digest_question, join, redacted};
use super::{Gate, governance_questions, ledger_questions};
use crate::call::{CallFault, ToolCall, resolve};
use crate::effects::path::WorkspacePath;
use crate::effects::{Access, Effect, Extent, Footprint, Operation};
use crate::inflight::late;
use crate::inflight::pending::{self, AllowedChange, Pending};
use crate::inflight::rulings::{self, CallFate, CallKey, DeniedCall, Unheard};
use crate::intents::file::Governance;
use crate::intents::intent::IntentId;
use crate::ledger::entry::{Entry, FileChange, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ports::{Facts, FileKind, Question};

/// Maximum number of entries for one call.
const MAX_ENTRIES: usize = 50;

/// Maximum number of paths that a notice names.
const MAX_NAMED: usize = 10;

/// The state of governance when a call ended.
pub(super) struct GovernanceFacts {
    pub(super) governance: Governance,
    /// Whether calls were ruled on here before, so that a call without a record is suspicious.
    is_known: bool,
    /// A notice about the ledger.
    pub(super) notice: Option<String>,
    /// Whether calls that may still be running are watched.
    pub(super) is_watching: bool,
}

impl Gate {
    /// Inspects the governance and the ledger.
    pub(super) fn inspect_governance(&mut self) -> GovernanceFacts {
        let mut questions: Vec<Question> = governance_questions().into();
        questions.extend(ledger_questions());
        questions.push(late::question());
        let facts = self.look(&questions);
        let governance = self.governance_by(&facts);
        if let Some(file) = facts.get(2) {
            self.config.refresh(file, &self.ports);
        }
        // A checkpoint is made before a call is ruled on, and a ledger with lines in it is older than this call.
        let is_known = self.recorder.has_compared()
            || facts.get(3).is_some_and(|kept| kept.kind != FileKind::Missing)
            || facts.get(4).is_some_and(|ledger| ledger.size > 0);
        let governed = !matches!(governance, Governance::None);
        let notice = self.recorder.watch(governed, facts.get(3..5).unwrap_or_default(), &self.ports);
        let is_watching = governed && facts.get(5).is_some_and(late::is_open);
        GovernanceFacts { governance, is_known, notice, is_watching }
    }

    /// Remembers a denied call, in case it runs anyway.
    pub(super) fn note_denial(&mut self, call: &ToolCall, intent: Option<&IntentId>, code: &str, effects: &[Effect]) {
        let effects: Vec<Effect> = effects.iter().filter(|effect| effect.mutates()).take(MAX_ENTRIES).cloned().collect();
        let denial = DeniedCall { code: code.to_owned(), intent: intent.cloned(), changes: self.changes(&effects) };
        let now = self.ports.clock.now();
        self.intents.keep_parsed(now, &self.ports);
        self.recorder.separate_earlier_call(&pending::key(&call.session, &call.call), &self.ports);
        rulings::note(call_key(call), CallFate::Denied(denial), now, &self.ports);
    }

    /// The same for a call that was allowed, or asked about, but that someone else kept from running.
    pub(super) fn note_refusal(&self, call: &ToolCall, pending: &Pending) {
        let mut changes: Vec<AllowedChange> = pending.changes.iter().take(MAX_ENTRIES).cloned().collect();
        changes.iter_mut().for_each(|change| change.before = None);
        let denial = DeniedCall { code: "refused".to_owned(), intent: Some(pending.intent.clone()), changes };
        rulings::note(call_key(call), CallFate::Denied(denial), self.ports.clock.now(), &self.ports);
    }

    /// Remembers an allowed call of which nothing was heard, in case it ends after all.
    pub(super) fn note_unheard(&self, call: &ToolCall, pending: &Pending) {
        let mut changes: Vec<AllowedChange> = pending.changes.iter().take(MAX_ENTRIES).cloned().collect();
        changes.iter_mut().for_each(|change| change.before = None);
        let (intent, open_ended) = (pending.intent.clone(), pending.open_ended.is_some());
        let fate = CallFate::Unheard(Unheard { intent, changes, open_ended, since: pending.since });
        rulings::note(call_key(call), fate, self.ports.clock.now(), &self.ports);
    }

    /// Enters a call without a record if it should not have run.
    pub(super) fn settle_unrecorded(&mut self, call: &ToolCall, outcome: &CallOutcome, facts: &GovernanceFacts) -> Settlement {
        let (Governance::By(intents), true, false) =
            (&facts.governance, facts.is_known, matches!(outcome, CallOutcome::Refused(_)))
        else {
            return Settlement::default();
        };
        let config = self.config.last();
        let footprint = self.footprint(call, &config);
        if !footprint.as_ref().map_or(true, may_change) {
            return Settlement::default();
        }
        let (why, intent, entries) = match rulings::last(&call.session, &call.call, &self.ports) {
            Some(CallFate::Passed) => return Settlement::default(),
            Some(CallFate::Settled) => {
                // What could not be entered then may be entered now.
                let is_left = || pending::is_any_under_way(&self.ports) || self.recorder.unsaved_calls().next().is_some();
                if *outcome != CallOutcome::Unknown && is_left() {
                    self.retry_left_behind(self.ports.clock.now());
                }
                return Settlement::default();
            }
            Some(CallFate::Unheard(unheard)) => return self.settle_unheard(call, outcome, &unheard),
            Some(CallFate::Denied(denial)) => {
                let why = format!("it was denied ({}) and ran anyway", denial.code);
                let changed = self.changed_since(&denial.changes);
                // A host may report a call that it kept from running as one that failed.
                if changed.is_empty() && !outcome.is_success() {
                    return Settlement::default();
                }
                let entries = self.unrecorded_entries(call, outcome, denial.intent.as_ref(), changed, &why);
                (why, denial.intent, entries)
            }
            // An existing folder does not have to be created, so the call may have been ruled to change nothing.
            None if footprint.as_ref().is_ok_and(only_makes_folders) => return Settlement::default(),
            None => {
                let why =
                    "the gate has no record of having allowed it: the record was removed, or the gate was not asked".to_owned();
                let selected = self.selected_intent(&call.session, intents).map(|intent| intent.id);
                let changed = self.touched_files(call, footprint);
                let entries = self.unrecorded_entries(call, outcome, selected.as_ref(), changed, &why);
                (why, selected, entries)
            }
        };
        let notice = notice(&call.tool, &why, &entries);
        let Some(entered) = self.enter_unrecorded(call, intent.as_ref(), entries) else { return Settlement::default() };
        self.ports.warn(&notice);
        match entered {
            Ok(Entered { lines, notice: about_ledger }) => {
                let notice = about_ledger.map_or(notice.clone(), |about_ledger| format!("{about_ledger}\n{notice}"));
                Settlement { lines, notice: Some(notice), ..Settlement::default() }
            }
            Err(Unentered { lines, why }) => {
                Settlement { lines, notice: Some(format!("{notice}\n{why}")), ..Settlement::default() }
            }
        }
    }

    /// Enters a call that was presumed refused.
    pub(super) fn settle_unheard(&mut self, call: &ToolCall, outcome: &CallOutcome, unheard: &Unheard) -> Settlement {
        // Nothing has been heard of it yet.
        if matches!(outcome, CallOutcome::Unknown | CallOutcome::Refused(_)) {
            return Settlement::default();
        }
        let now = self.ports.clock.now();
        let mut notice = None;
        let changed = self.changed_since(&unheard.changes);
        let (success, error) = match outcome {
            CallOutcome::Failed(error) => (false, Some(redacted(error, &self.ports))),
            outcome => (outcome.is_success(), None),
        };
        let mut entries: Vec<Entry> = Vec::new();
        for (operation, file) in changed {
            let class = MutationClass::of(operation, &file.relative_path, claimed_class(call));
            let entry = self.entry(call, Some(&unheard.intent), now, Some(file), class);
            entries.push(Entry { success, error: error.clone(), ..entry });
        }
        if unheard.open_ended {
            let why = format!("what changed while `{}` ran is not known: the agent's turn ended before the call did", call.tool);
            let class = claimed_class(call).unwrap_or(MutationClass::IntentEvolution);
            let entry = self.entry(call, Some(&unheard.intent), now, None, class);
            entries.push(Entry { success, error: Some(why.clone()), scope_validation: ScopeValidation::Fail, ..entry });
            notice = Some(format!("{why}; it is recorded as FAIL; check the workspace yourself"));
        }
        if entries.is_empty() {
            rulings::note(call_key(call), CallFate::Settled, now, &self.ports);
            return Settlement::default();
        }
        match self.enter_unrecorded(call, Some(&unheard.intent), entries) {
            None => Settlement::default(),
            Some(Ok(Entered { lines, notice: about_ledger })) => {
                let notice = [about_ledger, notice].into_iter().flatten().reduce(join);
                Settlement { lines, notice, ..Settlement::default() }
            }
            Some(Err(Unentered { lines, why })) => {
                let notice = [Some(why), notice].into_iter().flatten().reduce(join);
                Settlement { lines, notice, ..Settlement::default() }
            }
        }
    }

    /// The files of a denied call that are not what they were when it was denied.
    fn changed_since(&self, changes: &[AllowedChange]) -> Vec<(Operation, FileChange)> {
        let questions: Vec<Question> = changes.iter().map(|change| digest_question(&change.path)).collect();
        let facts = if questions.is_empty() { Vec::new() } else { self.look(&questions) };
        let differs = |(change, facts): (&AllowedChange, &Facts)| {
            let stood = change.operation != Operation::Create;
            let differs = stood != (facts.kind != FileKind::Missing) || change.pre_hash != facts.digest;
            let operation = if facts.kind == FileKind::Missing { Operation::Delete } else { change.operation };
            let (relative_path, pre_hash, post_hash) = (change.path.clone(), change.pre_hash, facts.digest);
            differs.then(|| (operation, FileChange { relative_path, pre_hash, post_hash, line_ranges: Vec::new() }))
        };
        changes.iter().zip(&facts).filter_map(differs).collect()
    }

    /// The files that a call without a record says it changes, as they are now.
    fn touched_files(&self, call: &ToolCall, footprint: Result<Footprint, CallFault>) -> Vec<(Operation, FileChange)> {
        let Ok(footprint) = footprint else { return Vec::new() };
        let questions: Vec<Question> = footprint.touches.iter().map(resolve::question).collect();
        let facts = self.look(&questions);
        // Nothing is searched: what the call did to files that it does not name can no longer be found out.
        let owns_nothing = |_: &WorkspacePath, _: Extent| false;
        let effects = resolve::effects(call, &footprint, &facts, &*self.ports.workspace, &owns_nothing);
        let Ok(effects) = effects else { return Vec::new() };
        let file = |effect: &Effect| {
            let relative_path = effect.changed_file()?.as_str().to_owned();
            // What was there before, if anything, is not known.
            let operation = if effect.operation == Operation::Delete { Operation::Delete } else { Operation::Modify };
            Some((operation, FileChange { relative_path, pre_hash: None, post_hash: effect.pre_hash, line_ranges: Vec::new() }))
        };
        effects.known.iter().filter_map(file).take(MAX_ENTRIES).collect()
    }

    fn unrecorded_entries(
        &self,
        call: &ToolCall,
        outcome: &CallOutcome,
        intent: Option<&IntentId>,
        changed: Vec<(Operation, FileChange)>,
        why: &str,
    ) -> Vec<Entry> {
        let now = self.ports.clock.now();
        let entry = |file: Option<FileChange>, class: MutationClass| Entry {
            scope_validation: ScopeValidation::Fail,
            success: outcome.is_success(),
            error: Some(why.to_owned()),
            ..self.entry(call, intent, now, file, class)
        };
        if changed.is_empty() {
            return vec![entry(None, claimed_class(call).unwrap_or(MutationClass::IntentEvolution))];
        }
        let of_file = |(operation, file): (Operation, FileChange)| {
            let class = MutationClass::of(operation, &file.relative_path, claimed_class(call));
            entry(Some(file), class)
        };
        changed.into_iter().map(of_file).collect()
    }
}

/// The key of a call in the journal of rulings.
pub(super) fn call_key(call: &ToolCall) -> CallKey<'_> {
    CallKey { session: &call.session, call: &call.call, program: call.host.as_deref(), tool: &call.tool }
}

/// Whether a call may change anything, judging by its arguments.
pub(super) fn may_change(footprint: &Footprint) -> bool {
    !footprint.unknowns.is_empty() || footprint.touches.iter().any(|touch| touch.access.mutates())
}

fn only_makes_folders(footprint: &Footprint) -> bool {
    let folder = |access: Access| matches!(access, Access::Read | Access::MakeFolder);
    footprint.unknowns.is_empty() && footprint.touches.iter().all(|touch| folder(touch.access))
}

fn notice(tool: &str, why: &str, entries: &[Entry]) -> String {
    let mut names: Vec<String> = entries.iter().take(MAX_NAMED).filter_map(Entry::path).map(|path| format!("`{path}`")).collect();
    if entries.len() > MAX_NAMED {
        names.push(format!("and {} more", entries.len() - MAX_NAMED));
    }
    let files = if names.is_empty() { String::new() } else { format!(", with {}", names.join(", ")) };
    format!("`{tool}` ended, and {why}; it is recorded as FAIL{files}; tell the person you work for")
}

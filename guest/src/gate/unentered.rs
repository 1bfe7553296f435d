//! Entries about calls that were never allowed, and entries that could not be appended to the ledger at first.
//!
//! Both are kept in a record of the call until they are in the ledger, so that any process can enter them later, and only one does.

use super::Gate;
use super::recorder::{CallRecord, Entered, Unentered};
use super::settle::{CallOutcome, RECENTLY_BYTES, Settlement, claimed_class, entries_since_filter, redacted};
use super::unrecorded::call_key;
use crate::call::ToolCall;
use crate::inflight::pending::{self, CallOrigin, Ended, Pending};
use crate::inflight::rulings::{self, CallFate};
use crate::intents::intent::IntentId;
use crate::ledger::entry::{Entry, FileChange, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ledger::reading;
use crate::ports::Timestamp;
use crate::ruling::Ruling;

/// Maximum number of entries for one rejected call.
const MAX_REJECTED: usize = 50;

impl Gate {
    /// Enters a call that has no record, unless another process that was told of its end does so.
    pub(super) fn enter_unrecorded(
        &mut self,
        call: &ToolCall,
        intent: Option<&IntentId>,
        entries: Vec<Entry>,
    ) -> Option<Result<Entered, Unentered>> {
        let now = self.ports.clock.now();
        let (key, pending) = record_of(call, intent, &entries);
        match pending::keep(&key, &pending, &self.ports) {
            Ok(()) => {
                pending::claim(&key, &pending, now, &self.ports)?;
                // Another process may have settled the call and removed its record before ours was written.
                let is_settled = rulings::is_settled(&call.session, &call.call, Timestamp(pending.since), &self.ports);
                if is_settled && pending::is_only_record(&key, &self.ports) {
                    pending::forget(&key, &self.ports);
                    return None;
                }
            }
            // Then at least this process keeps it until it is entered.
            Err(_) => self.recorder.keep_unsaved(key.clone(), pending.clone(), &self.ports),
        }
        rulings::note(call_key(call), CallFate::Settled, now, &self.ports);
        self.recorder.mark_settled(&key);
        Some(self.recorder.enter(CallRecord { key, pending: &pending }, entries, &self.ports))
    }

    /// Enters what could not be entered when a call was settled.
    pub(super) fn settle_unentered(
        &mut self,
        call: &ToolCall,
        outcome: &CallOutcome,
        record: CallRecord<'_>,
        rest: &[Entry],
    ) -> Settlement {
        let now = self.ports.clock.now();
        let since = record.pending.since;
        // Whoever kept the entries may have stopped after they were entered, or before the call was noted as settled.
        let entered = reading::newest(&entries_since_filter(since), usize::MAX, None, RECENTLY_BYTES, &self.ports);
        let entered = entered.map(|page| page.entries).unwrap_or_default();
        let entries = rest.iter().filter(|entry| entered.iter().all(|known| known.id != entry.id)).cloned().collect();
        if !record.pending.has_own_id {
            let is_noted = match rulings::last(&call.session, &call.call, &self.ports) {
                // A call that was allowed and refused by someone else stays refused.
                Some(CallFate::Denied(_) | CallFate::Unheard(_)) => since > 0,
                fate => fate.is_some(),
            };
            if !is_noted {
                rulings::note(call_key(call), CallFate::Settled, now, &self.ports);
            }
        }
        self.recorder.mark_settled(&record.key);
        let (lines, notice) = match self.recorder.enter(record, entries, &self.ports) {
            Ok(Entered { lines, notice }) => (lines, notice),
            Err(Unentered { lines, why }) => (lines, Some(why)),
        };
        if *outcome != CallOutcome::Unknown {
            self.settle_left_behind(Ended::Nothing, now);
        }
        Settlement { lines, notice, ..Settlement::default() }
    }

    /// Enters a rejected call, if the settings ask for that.
    pub(super) fn enter_rejection(&mut self, call: &ToolCall, intent: Option<&IntentId>, ruling: &Ruling) {
        let now = self.ports.clock.now();
        let error = format!("{}: {}", ruling.code.as_str(), ruling.reason);
        let entry = |file: Option<FileChange>, class: MutationClass| Entry {
            success: false,
            error: Some(redacted(&error, &self.ports)),
            scope_validation: ScopeValidation::Fail,
            content_hash: file.as_ref().and_then(|file| file.post_hash),
            ..self.entry(call, intent, now, file, class)
        };
        let mut entries: Vec<Entry> = Vec::new();
        for effect in ruling.effects.iter().filter(|effect| effect.mutates()).take(MAX_REJECTED) {
            let path = effect.location.as_str().to_owned();
            let class = MutationClass::of(effect.operation, &path, claimed_class(call));
            let (pre_hash, post_hash) = (effect.pre_hash, effect.pre_hash);
            entries.push(entry(Some(FileChange { relative_path: path, pre_hash, post_hash, line_ranges: Vec::new() }), class));
        }
        if entries.is_empty() {
            entries.push(entry(None, claimed_class(call).unwrap_or(MutationClass::IntentEvolution)));
        }
        if let Err(Unentered { lines, .. }) = self.recorder.append(&entries, &self.ports) {
            let rest: Vec<Entry> = entries.into_iter().skip(lines.len()).collect();
            if self.recorder.is_memory_full() || pending::are_too_many(&self.ports) {
                let (tool, code) = (&call.tool, ruling.code.as_str());
                self.ports
                    .fail(&format!("that `{tool}` was rejected ({code}) will not be recorded: too much waits for the ledger"));
                return;
            }
            // The call may be made again, or run all the same, which is recorded separately.
            let pending = record_of(call, intent, &rest).1.of_unentered(&rest);
            self.recorder.keep_for_later(CallRecord { key: pending.key(), pending: &pending }, rest, &self.ports);
        }
    }
}

/// The record of a call that was never allowed, and its key.
fn record_of(call: &ToolCall, intent: Option<&IntentId>, entries: &[Entry]) -> (String, Pending) {
    let intent = intent.cloned().unwrap_or_else(IntentId::none);
    (pending::key(&call.session, &call.call), Pending::never_allowed(CallOrigin::of(call), intent, entries))
}

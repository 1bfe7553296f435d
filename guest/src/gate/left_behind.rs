//! Calls whose end is never reported: the gate failed, the host died, a person refused, or the session is over.
//!
//! The record of such a call still exists, in the state folder or, if it could not be saved, in memory, so that what it changed is
//! still entered: when the next call has ended, when its turn or its session ends, or after a day at the latest. How the call
//! ended is not known, and the entry says so. Files that are unchanged, or as someone else's entry left them, are not entered; if
//! there are no others, the call is over, and so is its lease.

use super::Gate;
use super::late::differs;
use super::recorder::CallRecord;
use super::settle::{CallOutcome, Settlement, digest_question, leased_files};
use super::unrecorded::call_key;
use crate::call::{ToolCall, omits_end_while_running};
use crate::digest::Digest;
use crate::effects::Persistence;
use crate::inflight::pending::{self, Ended, Pending, snapshot_of};
use crate::inflight::rulings::{self, CallFate};
use crate::inflight::snapshot::{Ignored, Snapshot};
use crate::ledger::entry::{Entry, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ports::{FileKind, Question, Timestamp};

/// The error in an entry for a call whose end was never reported.
pub(super) const UNKNOWN: &str = "how the call ended is not known; this is what changed since it was allowed";

/// Maximum number of calls settled at once: others wait for the answer.
const MAX_AT_ONCE: usize = 1_000;

impl Gate {
    /// Enters what was changed by calls that will never be settled; if a turn or session is over, by all of its calls.
    pub(super) fn settle_left_behind(&mut self, ended: Ended<'_>, now: Timestamp) {
        // What has ended is reported only once. Otherwise the next call finds the rest as well.
        let may_wait = ended == Ended::Nothing;
        self.settle_each_left_behind(ended, now, |gate| may_wait && gate.recorder.has_fault());
    }

    /// The same after the end of a call was reported again, which may be the last that is heard: the ledger is tried once more.
    pub(super) fn retry_left_behind(&mut self, now: Timestamp) {
        let mut is_first = true;
        self.settle_each_left_behind(Ended::Nothing, now, |gate| !std::mem::take(&mut is_first) && gate.recorder.has_fault());
    }

    /// Settles calls until `has_to_wait`.
    fn settle_each_left_behind(&mut self, ended: Ended<'_>, now: Timestamp, mut has_to_wait: impl FnMut(&Self) -> bool) {
        let left = pending::left_behind(ended, now, &self.ports);
        for (key, pending) in left.into_iter().take(MAX_AT_ONCE) {
            if self.recorder.is_waiting(&key) {
                continue;
            }
            if has_to_wait(self) {
                return;
            }
            let call = pending.caller.call();
            // A record from an earlier version does not say whose it is.
            if pending::key(&call.session, &call.call) != key {
                pending::forget(&key, &self.ports);
            } else if pending.is_presumed_refused {
                // Its end may have been reported to another process just now, or it may have been made again.
                let is_still = || {
                    let record = pending::recall(&key, &self.ports);
                    record.is_some_and(|record| record.is_presumed_refused && record.since == pending.since)
                };
                if !is_still() {
                    continue;
                }
                if !rulings::is_settled(&call.session, &call.call, Timestamp(pending.since), &self.ports) {
                    self.note_unheard(&call, &pending);
                }
                if !is_still() {
                    continue;
                }
                self.recorder.forget(&key, pending.open_ended.is_some(), &self.ports);
            } else {
                self.settle_unreported(&call);
            }
        }
        for pending in self.recorder.unsaved_left_behind(ended) {
            if has_to_wait(self) {
                return;
            }
            self.settle_unreported(&pending.caller.call());
        }
    }

    fn settle_unreported(&mut self, call: &ToolCall) {
        let settled = self.settle(call, &CallOutcome::Unknown);
        self.notices.add(settled.notice);
    }

    /// Presumes that calls that were allowed and left no trace were refused by a person, now that the session is given something
    /// new to do, and releases what they hold. A call that is still under way ends as usual.
    pub(super) fn presume_refused(&mut self, session: &str, now: Timestamp) {
        let left = pending::left_behind(Ended::Turn(session), now, &self.ports);
        for (key, pending) in left.into_iter().take(MAX_AT_ONCE) {
            let host = pending.caller.host.as_deref();
            let may_run_untold = !pending.certain && host.is_some() && omits_end_while_running(host);
            let is_own = pending.caller.session == session && !pending.is_presumed_refused;
            let has_ended = pending.unentered.is_some();
            if !is_own || has_ended || may_run_untold || !self.is_without_trace(&key, &pending) {
                continue;
            }
            if pending::presume_refused(&key, pending.since, &self.ports).is_err() {
                continue;
            }
            let call = pending.caller.call();
            self.release_leases(&call, leased_files(&pending));
            if pending.persistence != Persistence::Ends && !omits_end_while_running(call.host.as_deref()) {
                self.unwatch(&call.session, &call.call);
            }
        }
    }

    /// Whether everything is as it was before a call, or as someone else left it.
    fn is_without_trace(&self, key: &str, pending: &Pending) -> bool {
        let entered = self.entered_since(pending.since);
        if let Some(open) = &pending.open_ended {
            let Some(before) = Snapshot::load(&snapshot_of(key), &self.ports) else { return false };
            let Ok(mut after) = Snapshot::take(&before, &Ignored::parse(&open.ignored), &self.ports) else { return false };
            let suspects = after.possibly_changed(&before);
            after.hash(Some(&suspects), &self.ports);
            let digest = |path: &str| after.file_at(path).and_then(|look| look.digest);
            return suspects.iter().all(|path| {
                !differs(before.file_at(path), after.file_at(path))
                    || explains(&entered, path, digest(path), after.file_at(path).is_some())
            });
        }
        let questions: Vec<Question> = pending.changes.iter().map(|change| digest_question(&change.path)).collect();
        let facts = if questions.is_empty() { Vec::new() } else { self.look(&questions) };
        pending.changes.iter().zip(&facts).all(|(change, facts)| {
            let is_same = match facts.kind {
                FileKind::Missing => change.pre_hash.is_none(),
                _ => facts.digest.is_some() && facts.digest == change.pre_hash,
            };
            is_same || explains(&entered, &change.path, facts.digest, facts.kind != FileKind::Missing)
        })
    }

    /// Enters only that a call cannot be inspected: the gate failed on it again and again, and would fail on every call after it.
    pub(super) fn give_up(&mut self, call: &ToolCall, key: String, pending: &Pending, now: Timestamp) -> Settlement {
        let why =
            format!("what `{}` changed is not known: the gate failed {} times while comparing", call.tool, pending::MAX_ATTEMPTS);
        self.ports.fail(&why);
        let entry = self.entry(call, Some(&pending.intent), now, None, MutationClass::IntentEvolution);
        let entry = Entry { success: false, error: Some(why.clone()), scope_validation: ScopeValidation::Fail, ..entry };
        rulings::note(call_key(call), CallFate::Settled, now, &self.ports);
        self.recorder.mark_settled(&key);
        let lines = match self.recorder.enter(CallRecord { key, pending }, vec![entry], &self.ports) {
            Ok(entered) => entered.lines,
            Err(unentered) => unentered.lines,
        };
        self.release_leases(call, leased_files(pending));
        Settlement { lines, notice: Some(why), ..Settlement::default() }
    }
}

/// Whether one of these entries accounts for the state that a file is in now. Without a digest, that can only be known of a
/// deleted file.
pub(super) fn explains(entered: &[Entry], path: &str, digest: Option<Digest>, exists: bool) -> bool {
    let is_same = |entry: &Entry| entry.file.as_ref().is_some_and(|file| file.relative_path == path && file.post_hash == digest);
    exists == digest.is_some() && entered.iter().any(is_same)
}

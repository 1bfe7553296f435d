//! After a confined command: which changes are reverted, and what the model is told if the kernel denied something.

use super::Gate;
use super::confined::evidence_key;
use super::settle::{CallOutcome, Work};
use super::unrecorded::GovernanceFacts;
use crate::call::{self, ToolCall};
use crate::confine::evidence::{self, Evidence, EvidenceKey};
use crate::confine::permit;
use crate::confine::refusal::{advice, mentions_refusal};
use crate::inflight::pending::Pending;
use crate::intents::file::{self, Governance};
use crate::ledger::entry::{Entry, ScopeValidation};
use crate::ports::Timestamp;
use crate::programs;

impl Gate {
    fn evidence(&self, call: &ToolCall) -> Option<Evidence> {
        evidence::find(&self.evidence_key(call), &self.ports)
    }

    fn evidence_key(&self, call: &ToolCall) -> EvidenceKey {
        evidence_key(call, call::shell_command(call, &self.config.last()).as_ref())
    }

    /// Forgets that a call ran confined.
    pub(super) fn forget_evidence(&self, call: &ToolCall) {
        evidence::forget(&self.evidence_key(call), &self.ports);
    }

    /// The changes of a confined command that are to be reverted: those out of scope in folders that had to be opened further
    /// than the scope goes. Elsewhere the command could change nothing, so what changed there is someone else's. Reverting these
    /// needs no person.
    pub(super) fn changes_to_restore(&mut self, work: &Work<'_>, entries: &[Entry]) -> Vec<String> {
        let Some(evidence) = work.pending.confined.then(|| self.evidence(work.call)).flatten() else { return Vec::new() };
        let config = self.config.last();
        if evidence.widened.is_empty() || !self.confinement(&config).restore {
            return Vec::new();
        }
        let is_stray = |entry: &&Entry| entry.scope_validation == ScopeValidation::Fail;
        let is_reached = |entry: &&Entry| entry.path().is_some_and(|path| evidence.reaches(path));
        entries.iter().filter(is_stray).filter(is_reached).map(|entry| entry.id.clone()).collect()
    }

    /// Permits the restoration of changes, now that they are in the ledger.
    pub(super) fn permit_restoring(&self, ids: &[String], now: Timestamp) {
        ids.iter().take(permit::MAX_ENTRIES).for_each(|id| permit::issue(id, now, &self.ports));
    }

    /// The entry and the notice for a command that had to run confined and did not.
    pub(super) fn entry_if_unconfined(&self, work: &Work<'_>) -> Option<(Entry, String)> {
        let wiring = work.call.host.as_deref().and_then(programs::find).and_then(|program| program.wiring.as_ref());
        let is_told = !wiring.is_some_and(|wiring| wiring.sandboxes);
        let is_meant = work.pending.confined && work.pending.open_ended.is_some() && is_told;
        if !is_meant
            || matches!(work.outcome, CallOutcome::Refused(_) | CallOutcome::Unknown)
            || self.evidence(work.call).is_some()
        {
            return None;
        }
        let why = format!(
            "`{}` had to run confined and did not: the agent program ran the original command instead; run `tollgate doctor`",
            work.call.tool
        );
        self.ports.warn(&why);
        Some((self.failure_entry(work, &why), why))
    }

    /// What to tell a model if the kernel seems to have denied its confined command something.
    pub(super) fn kernel_refusal(
        &mut self,
        call: &ToolCall,
        outcome: &CallOutcome,
        output: Option<&str>,
        pending: Option<&Pending>,
        facts: &GovernanceFacts,
    ) -> Option<String> {
        let said = match outcome {
            CallOutcome::Failed(error) => mentions_refusal(error) || output.is_some_and(mentions_refusal),
            CallOutcome::Done => output.is_some_and(mentions_refusal),
            CallOutcome::Running | CallOutcome::Refused(_) | CallOutcome::Unknown => false,
        };
        if !said || !self.evidence(call)?.held {
            return None;
        }
        let Governance::By(intents) = &facts.governance else { return None };
        let intent = match pending {
            Some(pending) => intents.find(&pending.intent).cloned(),
            None => self.selected_intent(&call.session, intents),
        };
        Some(match intent {
            Some(intent) => advice(&call.tool, &intent.to_string(), &file::join_first(intent.owned_scope.patterns())),
            None => format!(
                "`{}` ran confined, and no intent is active, so it could not change anything in the workspace; call select_active_intent first, with one of: {}",
                call.tool,
                intents.open_ones()
            ),
        })
    }
}

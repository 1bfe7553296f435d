//! After a tool ran: what is there to enter in the ledger?

use serde_json::Value;

use super::Gate;
use crate::call::ToolCall;
use crate::call::effect::Operation;
use crate::ledger;
use crate::ledger::entry::{self, Entry, FileChange, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ledger::pending::{self, Change, Pending};
use crate::ports::{Facts, Kind, Question, Root};

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It ran.
    Done,
    /// It ran and failed; the tool's own words.
    Failed(String),
    /// It did not run; why.
    Refused(String),
}

impl Gate {
    /// Enters what a call changed and returns the lines as they were entered.
    ///
    /// Nothing is entered for a call that was not allowed to change anything.
    pub fn settle(&mut self, call: &ToolCall, outcome: &Outcome) -> Vec<String> {
        let Some(pending) = pending::recall(&call.session, &call.call, &self.ports) else { return Vec::new() };
        let entries = self.entries(call, &pending, outcome);
        match ledger::enter(&entries, &self.ports) {
            Ok(lines) => {
                pending::forget(&call.session, &call.call, &self.ports);
                lines
            }
            Err(fault) => {
                // A gap in the ledger is bad; blocked work is worse. The call stays pending, so it can be settled again.
                self.ports.warn(&format!("the call `{}` cannot be entered in `{}`: {fault}", call.call, ledger::PATH));
                Vec::new()
            }
        }
    }

    fn entries(&self, call: &ToolCall, pending: &Pending, outcome: &Outcome) -> Vec<Entry> {
        if matches!(outcome, Outcome::Refused(_)) {
            return Vec::new();
        }
        let question = |change: &Change| Question { root: Root::Project, path: change.path.clone(), digest: true };
        let questions: Vec<_> = pending.changes.iter().map(question).collect();
        let claim = call.args.get("mutation_class").and_then(claimed);
        let timestamp = self.ports.clock.now().to_string();
        let entry = |(change, facts): (&Change, &Facts)| {
            let gone = facts.kind == Kind::Missing && change.pre_hash.is_some();
            let operation = if gone { Operation::Delete } else { change.operation };
            Entry {
                id: entry::new_id(&self.ports),
                timestamp: timestamp.clone(),
                intent_id: Some(pending.intent.clone()),
                session_id: call.session.clone(),
                agent: call.agent.clone(),
                tool_name: call.tool.clone(),
                mutation_class: MutationClass::of(operation, &change.path, claim),
                file: Some(FileChange { relative_path: change.path.clone(), pre_hash: change.pre_hash, post_hash: facts.digest }),
                content_hash: facts.digest,
                scope_validation: ScopeValidation::Pass,
                success: *outcome == Outcome::Done,
                error: match outcome {
                    Outcome::Failed(error) => Some(error.clone()),
                    _ => None,
                },
            }
        };
        pending.changes.iter().zip(&self.look(&questions)).map(entry).collect()
    }
}

/// What the agent says its change is, where it says something we know.
fn claimed(claim: &Value) -> Option<MutationClass> {
    serde_json::from_value(claim.clone()).ok()
}

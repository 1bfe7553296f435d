//! Calls whose end nobody will tell: the gate failed when it was told, the host died, or the session is over.
//!
//! What is remembered about such a call still stands, so that what it changed is entered all the same: when the next call has ended,
//! when the session ends, at the latest after a day. How the call ended is not known, and the entry says so. Files that are as they
//! were, or as somebody else's entry left them, are not entered.

use serde_json::Value;

use super::Gate;
use super::settle::{Outcome, Settlement};
use crate::call::ToolCall;
use crate::digest::Digest;
use crate::ledger::entry::{Entry, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ledger::pending::{self, Pending};
use crate::ports::Timestamp;

/// What an entry says about a call of which nobody told how it ended.
pub(super) const UNKNOWN: &str = "how the call ended is not known; this is what changed since it was allowed";

/// No more are entered at once: others wait for the answer.
const MAX_AT_ONCE: usize = 1_000;

impl Gate {
    /// Enters what calls changed that nobody will settle any more; of a session that is over, all of its calls.
    pub(super) fn settle_left_behind(&mut self, over: Option<&str>, now: Timestamp) {
        let left = pending::left_behind(over, now, &self.ports);
        for (key, Pending { caller, .. }) in left.into_iter().take(MAX_AT_ONCE) {
            let call = ToolCall {
                session: caller.session,
                agent: caller.agent,
                call: caller.call,
                host: None,
                tool: caller.tool,
                args: Value::Null,
                cwd: None,
            };
            // What an earlier version remembered does not say whose it is.
            if pending::key(&call.session, &call.call) == key {
                self.settle(&call, &Outcome::Unknown);
            } else {
                pending::forget(&key, &self.ports);
            }
        }
    }

    /// Enters of a call only that it cannot be looked at: the gate failed on it again and again, and would fail on every call after it.
    pub(super) fn give_up(&mut self, call: &ToolCall, key: String, pending: &Pending, now: Timestamp) -> Settlement {
        let why =
            format!("what `{}` changed is not known: the gate failed {} times when it looked", call.tool, pending::MAX_ATTEMPTS);
        self.ports.fail(&why);
        let entry = self.entry(call, Some(&pending.intent), now, None, MutationClass::IntentEvolution);
        let entry = Entry { success: false, error: Some(why.clone()), scope_validation: ScopeValidation::Fail, ..entry };
        let lines = match self.enter(Some(key), vec![entry]) {
            Ok(entered) => entered.lines,
            Err(unentered) => unentered.lines,
        };
        Settlement { lines, notice: Some(why), ..Settlement::default() }
    }
}

/// Whether one of these entries says that a file is what it is now.
pub(super) fn explains(entered: &[Entry], path: &str, digest: Option<Digest>) -> bool {
    let is_same = |entry: &Entry| entry.file.as_ref().is_some_and(|file| file.relative_path == path && file.post_hash == digest);
    entered.iter().any(is_same)
}

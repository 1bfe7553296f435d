//! Entering lines though the ledger may be out of reach for a moment.
//!
//! A gap in the ledger is bad; blocked work is worse. What cannot be entered is tried once more after a moment: at the next
//! call, or when the host's timer says so. Nobody waits for it. What cannot be entered then either is not forgotten: see `left_behind`.

use super::Gate;
use crate::config::Config;
use crate::inflight::pending::{self, Pending};
use crate::ledger::entry::Entry;
use crate::ledger::{self, map, writing};

/// After so long.
const AGAIN_MS: u64 = 100;

/// Calls that could not be remembered anywhere but here.
const MAX_UNSAVED: usize = 64;

/// Entries that wait for a second try.
pub(super) struct Waiting {
    key: Option<String>,
    entries: Vec<Entry>,
    due: u64,
}

/// Entries that were entered.
pub(super) struct Entered {
    /// Their lines.
    pub(super) lines: Vec<String>,
    /// What there is to say about the ledger itself.
    pub(super) notice: Option<String>,
}

/// Entries that could not be entered yet.
pub(super) struct Unentered {
    /// Those that could.
    pub(super) lines: Vec<String>,
    /// Why not the others.
    pub(super) why: String,
}

impl Gate {
    /// Enters what belongs to a call, and forgets the call once that is done.
    pub(super) fn enter(&mut self, key: Option<String>, entries: Vec<Entry>) -> Result<Entered, Unentered> {
        let mut lines = Vec::new();
        match writing::enter(&entries, &mut lines, &self.ports) {
            Ok(notice) => {
                self.ledger_fault = None;
                self.entered(key, &entries);
                Ok(Entered { lines, notice })
            }
            Err(fault) => {
                let why =
                    format!("`{}` cannot be written: {fault}; what the call changed is tried again in a moment", ledger::PATH);
                self.ports.warn(&why);
                self.ledger_fault = Some(fault);
                let due = self.ports.clock.now().0 + AGAIN_MS;
                let entries = entries.into_iter().skip(lines.len()).collect();
                self.waiting.push(Waiting { key, entries, due });
                Err(Unentered { lines, why })
            }
        }
    }

    /// Tries once more what could not be entered.
    pub fn enter_again(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let now = self.ports.clock.now().0;
        // What is due later than that was put off before the clock was set back.
        let is_due = |waiting: &Waiting| waiting.due <= now || waiting.due > now + AGAIN_MS;
        let (due, later) = std::mem::take(&mut self.waiting).into_iter().partition(is_due);
        self.waiting = later;
        for Waiting { key, entries, .. } in due {
            let mut lines = Vec::new();
            match writing::enter(&entries, &mut lines, &self.ports) {
                Ok(_) => {
                    self.ledger_fault = None;
                    self.entered(key, &entries);
                }
                Err(fault) => {
                    self.ledger_fault = Some(fault);
                    for entry in entries.iter().skip(lines.len()) {
                        let (tool, path) = (&entry.tool_name, entry.path().unwrap_or("no file"));
                        let why = format!(
                            "`{}` still cannot be written: {fault}; `{tool}` on `{path}` is not in it yet, and is entered later",
                            ledger::PATH
                        );
                        self.ports.fail(&why);
                    }
                    if let Some(key) = key {
                        pending::release(&key, &self.ports);
                    }
                }
            }
        }
    }

    /// What to say about a call that has been settled and only waits to be entered.
    pub(super) fn is_waiting(&self, key: &str) -> Option<String> {
        let waiting = self.waiting.iter().any(|waiting| waiting.key.as_deref() == Some(key));
        waiting.then(|| format!("`{}` could not be written; what the call changed is tried again in a moment", ledger::PATH))
    }

    /// How many milliseconds from now something is to be tried again.
    pub fn due_in(&self) -> Option<u64> {
        let due = self.waiting.iter().map(|waiting| waiting.due).min()?;
        Some(due.saturating_sub(self.ports.clock.now().0).min(AGAIN_MS))
    }

    /// Why no more changes should be made though the settings are strict about it.
    pub(super) fn own_fault(&self, config: &Config) -> Option<String> {
        let fault = self.ledger_fault.filter(|_| config.strict)?;
        let path = ledger::PATH;
        Some(format!("`{path}` cannot be written: {fault}"))
    }

    fn entered(&mut self, key: Option<String>, entries: &[Entry]) {
        map::update(entries, &self.ports);
        if let Some(key) = key {
            self.forget(&key);
        }
    }

    /// Forgets a call that is settled.
    pub(super) fn forget(&mut self, key: &str) {
        self.unsaved_calls.retain(|(known, _)| known != key);
        pending::forget(key, &self.ports);
        pending::forget(&pending::snapshot_of(key), &self.ports);
        pending::unclaim(key, &self.ports);
    }

    pub(super) fn keep_unsaved(&mut self, key: String, pending: Pending) {
        if self.unsaved_calls.len() == MAX_UNSAVED {
            self.unsaved_calls.remove(0);
        }
        self.unsaved_calls.push((key, pending));
    }

    /// Whether a call that may change something was allowed, and nobody has told how it ended.
    pub(crate) fn is_under_way(&self, session: &str, call: &str) -> bool {
        self.recall(&pending::key(session, call)).is_some()
    }

    pub(super) fn recall(&self, key: &str) -> Option<Pending> {
        let here = self.unsaved_calls.iter().find(|(known, _)| known == key).map(|(_, pending)| pending.clone());
        here.or_else(|| pending::recall(key, &self.ports))
    }
}

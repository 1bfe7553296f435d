//! Appending to the ledger, with one retry when it is briefly unwritable, and the calls that could not be saved meanwhile.
//!
//! A gap in the ledger is bad; blocked work is worse. What cannot be appended is tried once more after a moment: at the next
//! call, or when the host's timer fires. Nothing waits for it. What still cannot be appended then is not lost: see `left_behind`.

use crate::config::Config;
use crate::inflight::pending::{self, Pending};
use crate::ledger::entry::Entry;
use crate::ledger::reading::LedgerPosition;
use crate::ledger::{self, checkpoint, map, writing};
use crate::ports::{Facts, FileFault, FileKind, Ports};

/// The delay before the single retry.
const RETRY_MS: u64 = 100;

/// At most this many calls are kept in memory because the state folder cannot be written.
const MAX_UNSAVED: usize = 64;

/// Writes the ledger for the gate.
#[derive(Default)]
pub(super) struct Recorder {
    /// Entries that could not be appended yet.
    waiting: Vec<PendingEntries>,
    /// Why the last attempt to append failed.
    fault: Option<FileFault>,
    /// Calls under way that could not be kept in the state folder.
    unsaved_calls: Vec<(String, Pending)>,
    /// The stamps of the checkpoint and of the ledger when they were last compared.
    compared: Option<(u64, u64)>,
    /// Where the ledger ended when it was last looked at.
    position: Option<LedgerPosition>,
}

/// What is kept of a call until it is settled.
pub(super) struct CallRecord {
    key: String,
    /// Whether a snapshot was taken before it.
    has_snapshot: bool,
}

impl CallRecord {
    pub(super) fn new(key: String, pending: &Pending) -> Self {
        Self { key, has_snapshot: pending.open_ended.is_some() }
    }
}

/// Entries that wait for the retry.
pub(super) struct PendingEntries {
    call: Option<CallRecord>,
    entries: Vec<Entry>,
    due: u64,
}

/// Entries that were appended.
pub(super) struct Entered {
    /// Their lines.
    pub(super) lines: Vec<String>,
    /// What there is to say about the ledger itself.
    pub(super) notice: Option<String>,
}

/// Entries that could not be appended yet.
pub(super) struct Unentered {
    /// Those that could.
    pub(super) lines: Vec<String>,
    /// Why not the others.
    pub(super) why: String,
}

impl Recorder {
    /// Appends the entries of a call, and forgets the call once that is done.
    pub(super) fn enter(&mut self, call: Option<CallRecord>, entries: Vec<Entry>, ports: &Ports) -> Result<Entered, Unentered> {
        let mut lines = Vec::new();
        match writing::enter(&entries, &mut lines, ports) {
            Ok(notice) => {
                self.fault = None;
                self.finish(call, &entries, ports);
                Ok(Entered { lines, notice })
            }
            Err(fault) => {
                let why = format!(
                    "`{}` cannot be written: {fault}; recording what the call changed is retried in a moment",
                    ledger::PATH
                );
                ports.warn(&why);
                self.fault = Some(fault);
                let due = ports.clock.now().0 + RETRY_MS;
                let entries = entries.into_iter().skip(lines.len()).collect();
                self.waiting.push(PendingEntries { call, entries, due });
                Err(Unentered { lines, why })
            }
        }
    }

    /// Retries what could not be appended, once its delay is over.
    pub(super) fn retry(&mut self, ports: &Ports) {
        if self.waiting.is_empty() {
            return;
        }
        let now = ports.clock.now().0;
        // What is due later than that was put off before the clock was set back.
        let is_due = |waiting: &PendingEntries| waiting.due <= now || waiting.due > now + RETRY_MS;
        let (due, later) = std::mem::take(&mut self.waiting).into_iter().partition(is_due);
        self.waiting = later;
        for PendingEntries { call, entries, .. } in due {
            let mut lines = Vec::new();
            match writing::enter(&entries, &mut lines, ports) {
                Ok(_) => {
                    self.fault = None;
                    self.finish(call, &entries, ports);
                }
                Err(fault) => {
                    self.fault = Some(fault);
                    for entry in entries.iter().skip(lines.len()) {
                        let (tool, path) = (&entry.tool_name, entry.path().unwrap_or("no file"));
                        let why = format!(
                            "`{}` still cannot be written: {fault}; `{tool}` on `{path}` is not recorded yet and will be recorded later",
                            ledger::PATH
                        );
                        ports.fail(&why);
                    }
                    if let Some(call) = call {
                        pending::release(&call.key, ports);
                    }
                }
            }
        }
    }

    /// What to say about a call that is settled and whose entries still wait for the retry.
    pub(super) fn waiting_notice(&self, key: &str) -> Option<String> {
        let waiting = self.waiting.iter().any(|waiting| waiting.call.as_ref().is_some_and(|call| call.key == key));
        waiting
            .then(|| format!("`{}` could not be written; recording what the call changed is retried in a moment", ledger::PATH))
    }

    /// How many milliseconds from now the next retry is due.
    pub(super) fn due_in(&self, ports: &Ports) -> Option<u64> {
        let due = self.waiting.iter().map(|waiting| waiting.due).min()?;
        Some(due.saturating_sub(ports.clock.now().0).min(RETRY_MS))
    }

    /// Why no more changes may be made, where the settings are strict about a ledger that cannot be written.
    pub(super) fn strict_fault(&self, config: &Config) -> Option<String> {
        let fault = self.fault.filter(|_| config.strict)?;
        let path = ledger::PATH;
        Some(format!("`{path}` cannot be written: {fault}"))
    }

    fn finish(&mut self, call: Option<CallRecord>, entries: &[Entry], ports: &Ports) {
        map::update(entries, ports);
        if let Some(call) = call {
            self.forget(&call, ports);
        }
    }

    /// Forgets a call that is settled.
    pub(super) fn forget(&mut self, CallRecord { key, has_snapshot }: &CallRecord, ports: &Ports) {
        self.forget_unsaved(key);
        pending::forget(key, ports);
        if *has_snapshot {
            pending::forget(&pending::snapshot_of(key), ports);
        }
    }

    /// Forgets what is kept of a call in memory alone.
    pub(super) fn forget_unsaved(&mut self, key: &str) {
        self.unsaved_calls.retain(|(known, _)| known != key);
    }

    /// Keeps a call in memory that could not be saved; the oldest one goes where there are too many.
    pub(super) fn keep_unsaved(&mut self, key: String, pending: Pending) {
        if self.unsaved_calls.len() == MAX_UNSAVED {
            self.unsaved_calls.remove(0);
        }
        self.unsaved_calls.push((key, pending));
    }

    /// The calls that are kept in memory alone.
    pub(super) fn unsaved_calls(&self) -> impl Iterator<Item = &Pending> {
        self.unsaved_calls.iter().map(|(_, pending)| pending)
    }

    /// Whether the call under way with this key is kept in memory alone.
    pub(super) fn is_unsaved(&self, key: &str) -> bool {
        self.unsaved_calls.iter().any(|(known, _)| known == key)
    }

    /// The call under way with this key.
    pub(super) fn recall(&self, key: &str, ports: &Ports) -> Option<Pending> {
        let here = self.unsaved_calls.iter().find(|(known, _)| known == key).map(|(_, pending)| pending.clone());
        here.or_else(|| pending::recall(key, ports))
    }

    /// Notices a ledger that is not the one this machine last wrote to, given what the host saw of `ledger_questions`.
    /// Returns what to say.
    pub(super) fn watch(&mut self, governed: bool, facts: &[Facts], ports: &Ports) -> Option<String> {
        let [kept, ledger] = facts else { return None };
        self.position = LedgerPosition::of(ledger);
        if !governed {
            self.compared = None;
            return if kept.kind == FileKind::Missing { None } else { checkpoint::forget(ports) };
        }
        let stamps = (kept.stamp, ledger.stamp);
        if kept.kind != FileKind::Missing && self.compared == Some(stamps) {
            return None;
        }
        self.compared = Some(stamps);
        checkpoint::check(ports)
    }

    /// Where the ledger ended when it was last looked at.
    pub(super) fn position(&self) -> Option<LedgerPosition> {
        self.position
    }

    /// Whether the ledger has been compared with its checkpoint since the workspace is governed.
    pub(super) fn has_compared(&self) -> bool {
        self.compared.is_some()
    }
}

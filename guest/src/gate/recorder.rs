//! Appends to the ledger, with one retry if it is briefly unwritable, and keeps the calls that could not be saved meanwhile.
//!
//! A gap in the ledger is bad; blocked work is worse. An entry that cannot be appended is retried once after a moment: at the
//! next call, or when the host's timer fires. Nothing waits for it. If it still cannot be appended then, it is not lost: see
//! `left_behind`.

use crate::config::Config;
use crate::inflight::pending::{self, Pending};
use crate::ledger::entry::Entry;
use crate::ledger::reading::LedgerPosition;
use crate::ledger::{self, checkpoint, map, writing};
use crate::ports::{Facts, FileFault, FileKind, Ports};

/// The delay before the single retry.
const RETRY_MS: u64 = 100;

/// Maximum number of calls kept in memory because the state folder cannot be written.
const MAX_UNSAVED: usize = 64;

/// Writes the ledger for the gate.
#[derive(Default)]
pub(super) struct Recorder {
    /// Entries that could not be appended yet.
    waiting: Vec<PendingEntries>,
    /// Why the last attempt to append failed.
    fault: Option<FileFault>,
    /// Calls under way that could not be saved in the state folder.
    unsaved_calls: Vec<UnsavedCall>,
    /// The stamps of the checkpoint and of the ledger when they were last compared.
    compared: Option<(u64, u64)>,
    /// Where the ledger ended when it was last inspected.
    position: Option<LedgerPosition>,
}

/// A call under way that could not be saved in the state folder.
struct UnsavedCall {
    key: String,
    pending: Pending,
    /// Whether this process has noted it as settled. Its entries may still wait for the ledger.
    is_settled_here: bool,
}

/// What is kept of a call until it is settled.
pub(super) struct CallRecord {
    key: String,
    /// Whether a snapshot was taken before the call.
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
    /// A notice about the ledger itself.
    pub(super) notice: Option<String>,
}

/// Entries that could not be appended yet.
pub(super) struct Unentered {
    /// The lines of those that could be appended.
    pub(super) lines: Vec<String>,
    /// Why the others could not be appended.
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
                    "`{}` cannot be written: {fault}; recording what the call changed will be retried shortly",
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
        // An entry that is due later than that was postponed before the clock was set back.
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

    /// The notice about a call that is settled but whose entries still wait for the retry.
    pub(super) fn waiting_notice(&self, key: &str) -> Option<String> {
        let waiting = self.waiting.iter().any(|waiting| waiting.call.as_ref().is_some_and(|call| call.key == key));
        waiting
            .then(|| format!("`{}` could not be written; recording what the call changed will be retried shortly", ledger::PATH))
    }

    /// How many milliseconds from now the next retry is due.
    pub(super) fn due_in(&self, ports: &Ports) -> Option<u64> {
        let due = self.waiting.iter().map(|waiting| waiting.due).min()?;
        Some(due.saturating_sub(ports.clock.now().0).min(RETRY_MS))
    }

    /// Why no more changes may be made, if the settings are strict about a ledger that cannot be written.
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

    /// Forgets what is kept of a call only in memory.
    pub(super) fn forget_unsaved(&mut self, key: &str) {
        self.unsaved_calls.retain(|call| call.key != key);
    }

    /// Keeps a call in memory that could not be saved; drops the oldest if there are too many.
    pub(super) fn keep_unsaved(&mut self, key: String, pending: Pending) {
        if self.unsaved_calls.len() == MAX_UNSAVED {
            self.unsaved_calls.remove(0);
        }
        self.unsaved_calls.push(UnsavedCall { key, pending, is_settled_here: false });
    }

    /// The calls that are kept only in memory.
    pub(super) fn unsaved_calls(&self) -> impl Iterator<Item = &Pending> {
        self.unsaved_calls.iter().map(|call| &call.pending)
    }

    /// Whether the call under way with this key is kept only in memory.
    pub(super) fn is_unsaved(&self, key: &str) -> bool {
        self.unsaved_calls.iter().any(|call| call.key == key)
    }

    /// Notes that this process has settled a call that is kept only in memory.
    pub(super) fn mark_settled(&mut self, key: &str) {
        self.unsaved_calls.iter_mut().filter(|call| call.key == key).for_each(|call| call.is_settled_here = true);
    }

    /// Whether this process has settled the call with this key, which is kept only in memory.
    pub(super) fn is_settled_here(&self, key: &str) -> bool {
        self.unsaved_calls.iter().any(|call| call.key == key && call.is_settled_here)
    }

    /// The call under way with this key.
    pub(super) fn recall(&self, key: &str, ports: &Ports) -> Option<Pending> {
        let here = self.unsaved_calls.iter().find(|call| call.key == key).map(|call| call.pending.clone());
        here.or_else(|| pending::recall(key, ports))
    }

    /// Detects a ledger that is not the one this machine last wrote to, given what the host saw of `ledger_questions`. Returns
    /// the notice about it.
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

    /// Where the ledger ended when it was last inspected.
    pub(super) fn position(&self) -> Option<LedgerPosition> {
        self.position
    }

    /// Whether the ledger has been compared with its checkpoint since the workspace became governed.
    pub(super) fn has_compared(&self) -> bool {
        self.compared.is_some()
    }
}

//! Appends to the ledger, with one retry if it is briefly unwritable, and keeps the calls that could not be saved meanwhile.
//!
//! A gap in the ledger is bad; blocked work is worse. An entry that cannot be appended is retried once after a moment: at the
//! next call, or when the host's timer fires. Nothing waits for it. If it still cannot be appended then, it is not lost: it is in
//! the record of its call, and whoever settles the next call enters it, see `left_behind`.

use crate::config::Config;
use crate::inflight::pending::{self, CallOrigin, Ended, Pending};
use crate::ledger::entry::Entry;
use crate::ledger::reading::LedgerPosition;
use crate::ledger::{self, checkpoint, map, writing};
use crate::ports::{Facts, FileFault, FileKind, Ports};

/// The delay before the single retry.
const RETRY_MS: u64 = 100;

/// Maximum number of calls kept in memory because the state folder cannot be written.
const MAX_UNSAVED: usize = 64;

/// Processes that are told of the same call are told within this time. A record that is older is that of an earlier call with the
/// same id.
const SAME_CALL_MS: u64 = 60_000;

/// Writes the ledger for the gate.
#[derive(Default)]
pub(super) struct Recorder {
    /// Entries that could not be appended yet.
    waiting: Vec<WaitingEntries>,
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
    /// Whether there is a saved record, so that only the entries that are still to be entered could not be saved.
    is_saved: bool,
}

/// What is kept of a call until it is settled.
pub(super) struct CallRecord<'p> {
    pub(super) key: String,
    pub(super) pending: &'p Pending,
}

impl CallRecord<'_> {
    /// Whether a snapshot was taken before the call.
    fn has_snapshot(&self) -> bool {
        self.pending.open_ended.is_some()
    }
}

/// Entries that wait for the retry.
struct WaitingEntries {
    /// The record of these entries.
    key: String,
    /// The record of their call.
    call_key: String,
    /// Whether the record is in the state folder, where other processes find it.
    is_saved: bool,
    has_snapshot: bool,
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
    pub(super) fn enter(&mut self, call: CallRecord<'_>, entries: Vec<Entry>, ports: &Ports) -> Result<Entered, Unentered> {
        let entered = self.append(&entries, ports);
        match &entered {
            Ok(_) => self.forget(&call.key, call.has_snapshot(), ports),
            Err(unentered) => {
                let rest = entries.into_iter().skip(unentered.lines.len()).collect();
                self.keep_for_later(call, rest, ports);
            }
        }
        entered
    }

    /// Appends entries. If that fails, they are the caller's to keep.
    pub(super) fn append(&mut self, entries: &[Entry], ports: &Ports) -> Result<Entered, Unentered> {
        let mut lines = Vec::new();
        match writing::enter(entries, &mut lines, ports) {
            Ok(notice) => {
                self.fault = None;
                map::update(entries, ports);
                Ok(Entered { lines, notice })
            }
            Err(fault) => {
                let why = format!(
                    "`{}` cannot be written: {fault}; recording what the call changed will be retried shortly",
                    ledger::PATH
                );
                ports.warn(&why);
                self.fault = Some(fault);
                Err(Unentered { lines, why })
            }
        }
    }

    /// Keeps entries until the retry, and in a record, in case that fails too or comes to nothing.
    pub(super) fn keep_for_later(&mut self, call: CallRecord<'_>, entries: Vec<Entry>, ports: &Ports) {
        let now = ports.clock.now();
        let due = now.0 + RETRY_MS;
        let has_snapshot = call.has_snapshot();
        let CallRecord { key: call_key, pending } = call;
        let saved = pending::recall(&call_key, ports).filter(|saved| saved.since == pending.since);
        let rest = pending.of_unentered(&entries);
        let key = rest.key();
        // A ledger that cannot be written for a long time must not make the record longer and longer.
        let is_kept = saved.as_ref().is_some_and(|saved| saved.has_own_id && saved.unentered.as_ref() == Some(&entries));
        let record = || Pending { unentered: Some(entries.clone()), ..pending.clone() };
        if saved.as_ref().is_some_and(|saved| !saved.has_own_id) {
            // If this process dies before the call's record is removed below, the same entries are found in both.
            let _ = pending::keep(&call_key, &record(), ports);
        }
        if !is_kept && pending::keep(&key, &rest, ports).is_err() {
            let (is_saved, record) = (saved.is_some(), record());
            self.forget_unsaved(&call_key);
            self.add_unsaved(UnsavedCall { key: call_key.clone(), pending: record, is_settled_here: true, is_saved }, ports);
            self.waiting.push(WaitingEntries { key: call_key.clone(), call_key, is_saved, has_snapshot, entries, due });
            return;
        }
        if key != call_key || saved.is_none() {
            // Nobody else settles it while the retry is due.
            pending::claim(&key, &rest, now, ports);
        }
        if key != call_key {
            self.forget(&call_key, has_snapshot, ports);
        }
        self.waiting.push(WaitingEntries { key, call_key, is_saved: true, has_snapshot: false, entries, due });
    }

    /// Moves what is kept here of an earlier call with the same id to a record with an id of its own.
    pub(super) fn separate_earlier_call(&mut self, key: &str, ports: &Ports) {
        for call in self.unsaved_calls.iter_mut().filter(|call| call.key == key) {
            let Some(entries) = &call.pending.unentered else { continue };
            let since = call.pending.since;
            call.pending = call.pending.of_unentered(entries);
            call.key = call.pending.key();
            let was_saved = call.is_saved;
            call.is_saved = pending::keep(&call.key, &call.pending, ports).is_ok();
            if call.is_saved {
                pending::claim(&call.key, &call.pending, ports.clock.now(), ports);
            }
            if was_saved && pending::recall(key, ports).is_some_and(|saved| saved.since == since) {
                pending::forget(key, ports);
                pending::forget(&pending::snapshot_of(key), ports);
            }
            let mut waits = false;
            for waiting in self.waiting.iter_mut().filter(|waiting| waiting.key == key) {
                waits = true;
                waiting.key.clone_from(&call.key);
                waiting.is_saved = call.is_saved;
                waiting.has_snapshot = false;
            }
            if call.is_saved && !waits {
                pending::release(&call.key, ports);
            }
        }
        self.waiting.iter_mut().filter(|waiting| waiting.call_key == key).for_each(|waiting| waiting.call_key.clear());
    }

    /// Retries what could not be appended, once its delay is over.
    pub(super) fn retry(&mut self, ports: &Ports) {
        if self.waiting.is_empty() {
            return;
        }
        let now = ports.clock.now().0;
        // An entry that is due later than that was postponed before the clock was set back.
        let is_due = |waiting: &WaitingEntries| waiting.due <= now || waiting.due > now + RETRY_MS;
        let (due, later) = std::mem::take(&mut self.waiting).into_iter().partition(is_due);
        self.waiting = later;
        for WaitingEntries { key, is_saved, has_snapshot, entries, due, .. } in due {
            // Without a timer, the next call may come so late that others may enter them as well. Whoever settles it does.
            if is_saved && pending::recall(&key, ports).is_none() {
                self.forget_unsaved(&key);
                continue;
            }
            if is_saved && now > due + pending::CLAIM_MS - 2 * RETRY_MS {
                continue;
            }
            let mut lines = Vec::new();
            match writing::enter(&entries, &mut lines, ports) {
                Ok(_) => {
                    self.fault = None;
                    map::update(&entries, ports);
                    self.forget(&key, has_snapshot, ports);
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
                    pending::release(&key, ports);
                }
            }
        }
    }

    /// Whether the ledger could not be written the last time.
    pub(super) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// Whether the entries in the record with this key wait for the retry.
    pub(super) fn is_waiting(&self, key: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting.key == key)
    }

    /// The notice about a call that is settled but whose entries still wait for the retry.
    pub(super) fn waiting_notice(&self, call_key: &str) -> Option<String> {
        (self.waiting.iter().any(|waiting| waiting.call_key == call_key))
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

    /// Forgets a call that is settled.
    pub(super) fn forget(&mut self, key: &str, has_snapshot: bool, ports: &Ports) {
        self.forget_unsaved(key);
        pending::forget(key, ports);
        if has_snapshot {
            pending::forget(&pending::snapshot_of(key), ports);
        }
    }

    /// Forgets what is kept of a call only in memory.
    pub(super) fn forget_unsaved(&mut self, key: &str) {
        self.unsaved_calls.retain(|call| call.key != key);
    }

    /// Keeps a call in memory that could not be saved.
    pub(super) fn keep_unsaved(&mut self, key: String, pending: Pending, ports: &Ports) {
        self.add_unsaved(UnsavedCall { key, pending, is_settled_here: false, is_saved: false }, ports);
    }

    /// Drops the oldest if there are too many. One that is still to be compared may have changed nothing, and goes first.
    fn add_unsaved(&mut self, call: UnsavedCall, ports: &Ports) {
        if self.unsaved_calls.len() == MAX_UNSAVED {
            let at = self.unsaved_calls.iter().position(|call| call.pending.unentered.is_none()).unwrap_or_default();
            let dropped = self.unsaved_calls.remove(at);
            let CallOrigin { session, tool, .. } = &dropped.pending.caller;
            ports.fail(&format!(
                "what `{tool}` of session `{session}` changed may not be recorded: neither the ledger nor the state folder can be \
                 written, and {MAX_UNSAVED} other calls are kept in memory; free some space"
            ));
        }
        self.unsaved_calls.push(call);
    }

    /// Whether no more calls can be kept in memory without dropping one.
    pub(super) fn is_memory_full(&self) -> bool {
        self.unsaved_calls.len() >= MAX_UNSAVED
    }

    /// The calls that are kept only in memory.
    pub(super) fn unsaved_calls(&self) -> impl Iterator<Item = &Pending> {
        self.unsaved_calls.iter().map(|call| &call.pending)
    }

    /// The calls kept only in memory whose end will not be reported any more: those of what has ended, and those that ended and
    /// could not be entered.
    pub(super) fn unsaved_left_behind(&self, ended: Ended<'_>) -> Vec<Pending> {
        let is_left = |call: &&UnsavedCall| {
            !call.is_saved && !self.is_waiting(&call.key) && (call.is_settled_here || ended.covers(&call.pending.caller))
        };
        self.unsaved_calls.iter().filter(is_left).map(|call| call.pending.clone()).collect()
    }

    /// Whether no other process knows of the call with this key.
    pub(super) fn is_known_only_here(&self, key: &str) -> bool {
        self.unsaved_calls.iter().any(|call| call.key == key && !call.is_saved)
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
        let saved = pending::recall(key, ports);
        match self.find_unsaved_call(key, saved.as_ref()) {
            Some(here) => Some(here.pending.clone()),
            None => saved,
        }
    }

    /// The same, for a call that is about to be settled: what is kept of it here and no longer counts is forgotten.
    pub(super) fn recall_to_settle(&mut self, key: &str, ports: &Ports) -> Option<Pending> {
        let saved = pending::recall(key, ports);
        if let Some(here) = self.find_unsaved_call(key, saved.as_ref()) {
            return Some(here.pending.clone());
        }
        self.forget_unsaved(key);
        saved
    }

    /// What is kept of a call in memory, if that counts and not the saved record.
    fn find_unsaved_call(&self, key: &str, saved: Option<&Pending>) -> Option<&UnsavedCall> {
        let here = self.unsaved_calls.iter().find(|call| call.key == key)?;
        let counts = match saved {
            // Without the record, someone else has entered the call.
            _ if here.is_saved => saved.is_some_and(|saved| saved.since == here.pending.since),
            // Another process was told of the same call and saved it, unless its record is that of an earlier call.
            Some(saved) => saved.since.saturating_add(SAME_CALL_MS) < here.pending.since,
            None => true,
        };
        counts.then_some(here)
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

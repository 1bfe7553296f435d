//! Changes made after a call has ended, by programs that it left running: in the background, detached, or in an open shell.
//!
//! Such a call is watched from the moment it is allowed. At every later call of any session, when a turn or a session ends and
//! when a session begins, the workspace is compared with its state at the last comparison. A change that no other call explains
//! is entered with the call that may have made it, marked as late, and judged by the scope that was in force when that call
//! began. The gate cannot see into a machine's processes, so a person's own change looks the same; the entry and the notice say
//! *may*.

use std::collections::BTreeSet;

use super::Gate;
use super::left_behind::explains;
use super::reconcile::{is_in_scope, operation_between};
use super::settle::{CallOutcome, Work, truncate};
use crate::call::{ToolCall, omits_end_while_running};
use crate::effects::path::{Location, printable};
use crate::effects::{Extent, Persistence};
use crate::inflight::late::{self, Ongoing, Watch};
use crate::inflight::pending::{self, CallOrigin, Pending, snapshot_of};
use crate::inflight::snapshot::{Ignored, Snapshot, SnapshotFault, SnapshotFile};
use crate::intents::scope::Scope;
use crate::ledger::entry::{Entry, FileChange, Late, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ports::Timestamp;

/// Maximum number of entries for one comparison.
const MAX_ENTRIES: usize = 200;

/// Maximum number of paths that a notice names.
const MAX_NAMED: usize = 10;

/// How long a program that is under way keeps others from being compared.
const MAX_UNDER_WAY_MS: u64 = 3_600_000;

/// Margin between the time in an entry, which is when its call was settled, and its arrival in the ledger.
const MARGIN_MS: u64 = 60_000;

/// When a comparison is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonTime {
    /// At a call. A file that a call keeps changing, such as a log, is entered once until the turn ends.
    Call,
    /// When a turn or a session ends, or a session begins.
    Turn,
}

/// The inputs of a comparison.
struct SnapshotComparison<'w> {
    watch: &'w Watch,
    /// The scope of each call.
    scopes: Vec<Scope>,
    now: Timestamp,
}

impl SnapshotComparison<'_> {
    /// The call that may have changed a file, and how many others may have: the one that declares the file, else the latest whose
    /// intent owns it, else the latest.
    fn likely_cause(&self, path: &str) -> Option<(usize, &Ongoing, u64)> {
        let may: Vec<(usize, &Ongoing)> = self.watch.calls.iter().enumerate().filter(|(_, call)| call.may_change(path)).collect();
        let owns = |(nth, _): &&(usize, &Ongoing)| self.scopes.get(*nth).is_some_and(|scope| is_in_scope(scope, path));
        let declares = |(_, call): &&(usize, &Ongoing)| call.declares(path);
        let (nth, call) = may.iter().rfind(declares).or_else(|| may.iter().rfind(owns)).or_else(|| may.last())?;
        Some((*nth, call, may.len() as u64 - 1))
    }
}

impl Gate {
    /// Starts watching a call. `after` is the state of the workspace, if it is known already.
    pub(super) fn watch(&mut self, pending: &Pending, persistence: Persistence, key: &str, after: Option<Snapshot>) {
        let open_ended = pending.open_ended.as_ref();
        let call = Ongoing {
            caller: pending.caller.clone(),
            intent: pending.intent.clone(),
            began: pending.since,
            persistence,
            scope: open_ended.map_or_else(Vec::new, |open| open.scope.clone()),
            paths: pending.changes.iter().map(|change| change.path.clone()).collect(),
            open_ended: open_ended.is_some(),
            entered: Vec::new(),
            is_over: false,
            has_ended: false,
        };
        let ports = &self.ports;
        let ignored = || open_ended.map_or_else(|| Ignored::text(ports), |open| open.ignored.clone());
        let begin = || {
            let ignored = ignored();
            match after.clone().or_else(|| Snapshot::load(&snapshot_of(key), ports)) {
                Some(files) => Ok((files, ignored)),
                None => {
                    let mut files = Snapshot::take(&Snapshot::latest(ports), &Ignored::parse(&ignored), ports)?;
                    files.hash(None, ports);
                    Ok((files, ignored))
                }
            }
        };
        if let Err(fault) = late::open(&call, Timestamp(pending.since), begin, ports) {
            self.warn_undetected(&fault);
        }
    }

    /// Stops watching a call.
    pub(super) fn unwatch(&self, session: &str, call: &str) {
        late::change(&self.ports, |watch| watch.calls.retain(|ongoing| !ongoing.is_call(session, call)));
    }

    /// Keeps watching a call that left something running, and stops watching one that never ran. Returns whether it is watched.
    pub(super) fn watch_ended(&mut self, work: &Work<'_>, key: &str, after: Option<Snapshot>, is_heard: bool) -> bool {
        let Pending { caller, persistence, certain, .. } = work.pending;
        match work.outcome {
            CallOutcome::Running => self.watch(work.pending, Persistence::Session.max(*persistence), key, after),
            // A shell command whose end was not reported, in a program that reports it only once the command has ended.
            CallOutcome::Unknown if *persistence == Persistence::Ends => {
                let is_left_open = !certain && caller.host.is_some() && omits_end_while_running(caller.host.as_deref());
                if !is_left_open {
                    return false;
                }
                self.watch(work.pending, Persistence::Interactive, key, after);
            }
            CallOutcome::Unknown if !is_heard && !omits_end_while_running(caller.host.as_deref()) => {
                self.unwatch(&caller.session, &caller.call);
                return false;
            }
            _ => {}
        }
        true
    }

    /// Compares after a call has ended, for the last time if its end means that nothing of it is still running.
    pub(super) fn compare_ended(&mut self, call: &ToolCall, outcome: &CallOutcome) {
        if matches!(outcome, CallOutcome::Refused(_)) {
            self.unwatch(&call.session, &call.call);
        }
        if matches!(outcome, CallOutcome::Done | CallOutcome::Failed(_)) {
            let is_it = |ongoing: &Ongoing| ongoing.is_call(&call.session, &call.call);
            self.mark_ended(|ongoing| ongoing.persistence == Persistence::Interactive && is_it(ongoing));
        }
        self.compare_late(ComparisonTime::Call);
    }

    /// Notes which calls have ended: the next comparison is their last.
    pub(super) fn mark_ended(&self, has_ended: impl Fn(&Ongoing) -> bool) {
        if late::read(&self.ports).is_some_and(|watch| watch.calls.iter().any(&has_ended)) {
            late::change(&self.ports, |watch| {
                watch.calls.iter_mut().filter(|call| has_ended(call)).for_each(|call| call.has_ended = true);
            });
        }
    }

    /// Reports, once, why changes made by programs are not detected.
    pub(super) fn warn_undetected(&mut self, fault: &SnapshotFault) {
        let why = fault.to_string();
        if late::record_if_new(&why, &self.ports) {
            self.ports.warn(&why);
            self.notices.add([why]);
        }
    }

    /// Enters what was changed by calls that keep running, unless another process is doing so.
    pub(super) fn compare_late(&mut self, moment: ComparisonTime) {
        let now = self.ports.clock.now();
        // A failing look takes as long as the largest that succeeds, so after a failure the next one waits for the end of the
        // turn.
        if moment == ComparisonTime::Call && late::has_reason(&self.ports) {
            return self.drop_ended(now);
        }
        if !late::claim(now, &self.ports) {
            return;
        }
        if let Some(watch) = late::read(&self.ports) {
            self.guarded.look_up(&self.ports);
            let scopes = watch.calls.iter().map(|call| Scope::compile(call.scope.clone())).collect();
            self.compare(&SnapshotComparison { watch: &watch, scopes, now }, moment);
        }
        late::unclaim(&self.ports);
    }

    /// Stops watching calls that have ended, or have been watched for the maximum time, without a comparison.
    fn drop_ended(&self, now: Timestamp) {
        let is_over = |call: &Ongoing| call.has_ended || call.is_expired(now);
        if late::read(&self.ports).is_some_and(|watch| watch.calls.iter().any(is_over)) {
            late::change(&self.ports, |watch| watch.calls.retain(|call| !is_over(call)));
        }
    }

    fn compare(&mut self, comparison: &SnapshotComparison<'_>, moment: ComparisonTime) {
        let SnapshotComparison { watch, now, .. } = comparison;
        let mut after = match Snapshot::take(&watch.files, &Ignored::parse(&watch.ignored), &self.ports) {
            Ok(after) => {
                late::forget_reason(&self.ports);
                after
            }
            Err(fault) => {
                self.warn_undetected(&fault);
                // The next comparison that succeeds finds what has changed until then.
                return self.drop_ended(*now);
            }
        };
        let suspects = after.possibly_changed(&watch.files);
        let waits = |path: &String| {
            let is_kept_changing = |call: &Ongoing| !call.has_ended && was_entered(call, path);
            moment == ComparisonTime::Call && comparison.likely_cause(path).is_some_and(|(_, call, _)| is_kept_changing(call))
        };
        let (mut held, asked): (Vec<String>, Vec<String>) = suspects.into_iter().partition(waits);
        let anew = after.hash(Some(&asked), &self.ports);
        if !anew.is_empty() {
            after.keep_latest(&self.ports);
            self.copy(&anew, &watch.files, &after);
        }
        let is_changed =
            |path: &String| comparison.likely_cause(path).is_some() && differs(watch.files.file_at(path), after.file_at(path));
        let changed = asked.into_iter().filter(is_changed).collect();
        let unexplained = self.unexplained_changes(comparison, &after, changed, &mut held);
        // The rest is left for the next comparison.
        held.extend(unexplained.iter().skip(MAX_ENTRIES).map(|(path, _)| path.clone()));
        let found: Vec<(usize, Entry)> =
            unexplained.iter().take(MAX_ENTRIES).filter_map(|found| self.late_entry(comparison, found, &after)).collect();
        if !found.is_empty() {
            let entries: Vec<Entry> = found.iter().map(|(_, entry)| entry.clone()).collect();
            match self.recorder.append(&entries, &self.ports) {
                Ok(entered) => self.notices.add(entered.notice),
                // Nothing is kept: the next comparison finds the same again, except for what could be entered.
                Err(unentered) => return self.notices.add([unentered.why]),
            }
        }
        self.report_late_changes(comparison, &found);
        held.iter().for_each(|path| after.take_over(path, &watch.files));
        let is_stale = |call: &Ongoing| {
            call.has_ended || call.is_expired(*now) || moment == ComparisonTime::Turn && !call.entered.is_empty()
        };
        if after != watch.files || watch.calls.iter().any(is_stale) {
            self.keep_comparison(comparison, moment, &found, &after, &held);
        }
    }

    /// The changed files that no other call explains. Files about which that cannot be told yet are held back.
    fn unexplained_changes(
        &self,
        comparison: &SnapshotComparison<'_>,
        after: &Snapshot,
        changed: Vec<String>,
        held: &mut Vec<String>,
    ) -> Vec<(String, Option<Entry>)> {
        let SnapshotComparison { watch, now, .. } = comparison;
        if changed.is_empty() {
            return Vec::new();
        }
        // First the calls under way, then the entries: a call that ends in between is in the ledger.
        let mut under_way = pending::calls_under_way(&self.ports);
        under_way.extend(self.recorder.unsaved_calls().cloned());
        under_way.retain(|pending| {
            let is_watched = watch.calls.iter().any(|call| call.is_call(&pending.caller.session, &pending.caller.call));
            !is_watched && !pending.is_presumed_refused && pending.since.saturating_add(MAX_UNDER_WAY_MS) > now.0
        });
        if under_way.iter().any(|pending| pending.open_ended.is_some()) {
            held.extend(changed);
            return Vec::new();
        }
        let touched: BTreeSet<&str> =
            under_way.iter().flat_map(|pending| &pending.changes).map(|change| change.path.as_str()).collect();
        let entered = self.entered_since(watch.since.saturating_sub(MARGIN_MS));
        let began = now.to_string();
        let mut unexplained = Vec::new();
        for path in changed {
            let digest = after.file_at(&path).and_then(|look| look.digest);
            let mut of_file = entered.iter().filter(|entry| entry.path() == Some(&path));
            if explains(&entered, &path, digest, after.file_at(&path).is_some()) {
                continue;
            }
            if touched.contains(path.as_str()) || of_file.clone().any(|entry| entry.timestamp > began) {
                held.push(path);
            } else {
                let last = of_file.next_back().cloned();
                unexplained.push((path, last));
            }
        }
        unexplained
    }

    /// The entry for a file that a call that keeps running may have changed, with the call's index.
    fn late_entry(
        &self,
        comparison: &SnapshotComparison<'_>,
        (path, last): &(String, Option<Entry>),
        after: &Snapshot,
    ) -> Option<(usize, Entry)> {
        let (nth, call, others) = comparison.likely_cause(path)?;
        let (was, is) = (comparison.watch.files.file_at(path), after.file_at(path));
        let before = last.as_ref().and_then(|entry| entry.file.as_ref()).map(|file| file.post_hash);
        let file = FileChange {
            relative_path: path.clone(),
            pre_hash: before.unwrap_or_else(|| was.and_then(|look| look.digest)),
            post_hash: is.and_then(|look| look.digest),
            line_ranges: Vec::new(),
        };
        let class = MutationClass::of(operation_between(was, is), path, None);
        let scope = comparison.scopes.get(nth)?;
        let is_guarded = self.guarded.covers(&Location::from_host(path), Extent::Itself, scope.usable());
        let passes = call.declares(path) || !is_guarded && is_in_scope(scope, path);
        let late = Late { call_id: truncate(&call.caller.call), began: Timestamp(call.began).to_string(), others };
        let entry = self.entry(&call.caller.call(), Some(&call.intent), comparison.now, Some(file), class);
        let scope_validation = if passes { ScopeValidation::Pass } else { ScopeValidation::Fail };
        Some((nth, Entry { scope_validation, late: Some(late), ..entry }))
    }

    /// Reports changes out of scope.
    fn report_late_changes(&mut self, comparison: &SnapshotComparison<'_>, found: &[(usize, Entry)]) {
        for (nth, call) in comparison.watch.calls.iter().enumerate() {
            let strays: Vec<&str> = found
                .iter()
                .filter(|(of, entry)| *of == nth && entry.scope_validation == ScopeValidation::Fail)
                .filter_map(|(_, entry)| entry.path())
                .collect();
            if strays.is_empty() {
                continue;
            }
            let mut names: Vec<String> = strays.iter().take(MAX_NAMED).map(|path| format!("`{}`", printable(path))).collect();
            if strays.len() > MAX_NAMED {
                names.push(format!("and {} more", strays.len() - MAX_NAMED));
            }
            let (intent, names, began) = (&call.intent, names.join(", "), Timestamp(call.began));
            let CallOrigin { session, tool, .. } = &call.caller;
            let said = format!(
                "files outside the scope of {intent} changed: {names}; a program that session `{session}` started with `{tool}` at {began} may still be running and may have changed them, so they are recorded under that call as FAIL, marked late; a person may have changed them as well, so tell the person you work for and do not revert anything unless asked"
            );
            self.ports.warn(&said);
            self.notices.add([said]);
        }
    }

    /// Saves what has been compared, and drops calls that have been watched for the maximum time, or have ended and caused none
    /// of the changes that are left for the next comparison.
    fn keep_comparison(
        &self,
        comparison: &SnapshotComparison<'_>,
        moment: ComparisonTime,
        found: &[(usize, Entry)],
        after: &Snapshot,
        held: &[String],
    ) {
        let SnapshotComparison { watch, now, .. } = comparison;
        let causes: BTreeSet<usize> = held.iter().filter_map(|path| comparison.likely_cause(path)).map(|(nth, ..)| nth).collect();
        late::change(&self.ports, |kept| {
            kept.files = after.clone();
            kept.since = now.0;
            let has_ended = |call: &Ongoing| {
                let is_it = |(_, known): &(usize, &Ongoing)| {
                    known.is_call(&call.caller.session, &call.caller.call) && known.began == call.began
                };
                let known = watch.calls.iter().enumerate().find(is_it);
                known.is_some_and(|(nth, known)| known.has_ended && !causes.contains(&nth))
            };
            kept.calls.retain(|call| !call.is_expired(*now) && !has_ended(call));
            for call in &mut kept.calls {
                if moment == ComparisonTime::Turn {
                    call.entered.clear();
                    continue;
                }
                let nth = watch.calls.iter().position(|known| known.is_call(&call.caller.session, &call.caller.call));
                let paths = found.iter().filter(|(of, _)| Some(*of) == nth).filter_map(|(_, entry)| entry.path());
                call.entered.extend(paths.map(str::to_owned));
            }
        });
    }
}

/// Whether a file was entered for a call since the last turn ended. If there are too many, the rest waits for the end of the
/// turn.
fn was_entered(call: &Ongoing, path: &str) -> bool {
    call.entered.len() >= late::MAX_ENTERED || call.entered.iter().any(|entered| entered == path)
}

/// Whether a file has changed, or may have because its content was not read.
pub(super) fn differs(was: Option<&SnapshotFile>, is: Option<&SnapshotFile>) -> bool {
    !matches!((was, is), (Some(was), Some(is)) if was.digest.is_some() && was.digest == is.digest)
}

//! Detects the changes of a program whose effects were not known beforehand.
//!
//! Every file of the workspace is inspected before the program runs, and again afterwards. Differences are the program's changes,
//! unless the ledger attributes them to someone else. Changes in the intent's scope are entered like any other; changes out of
//! scope are recorded as FAIL, reported to the agent and the user, and can be reverted.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::Gate;
use super::left_behind::explains;
use super::settle::{Work, claimed_class, join, truncate};
use crate::digest::Digest;
use crate::effects::path::{Location, printable};
use crate::effects::{Extent, Operation};
use crate::inflight::git_index::GitIndex;
use crate::inflight::late;
use crate::inflight::lease;
use crate::inflight::pending::{self, OpenEnded, Pending, snapshot_of};
use crate::inflight::snapshot::{Ignored, Snapshot, SnapshotFile};
use crate::intents::intent::Intent;
use crate::intents::scope::{Reach, Scope};
use crate::ledger::entry::{Entry, FileChange, ScopeValidation};
use crate::ledger::images;
use crate::ledger::mutation::MutationClass;
use crate::ledger::reading::{self, Filter};

/// Maximum number of entries for one program.
const MAX_ENTRIES: usize = 1_000;

/// Maximum number of paths that a notice names.
const MAX_NAMED: usize = 10;

/// What a program changed.
#[derive(Default)]
pub(super) struct Reconciled {
    pub(super) entries: Vec<Entry>,
    /// The notice about the changes.
    pub(super) notice: Option<String>,
    /// The notice if nothing can be restored, in case something is to be.
    pub(super) notice_without_restoring: Option<String>,
    /// The state of the workspace now, if it could be inspected.
    pub(super) after: Option<Snapshot>,
    /// The ids of the entries whose changes are to be reverted.
    pub(super) restore: Vec<String>,
}

impl Gate {
    /// Inspects every file before a program runs, and copies those that are new or changed since the last look and that git does
    /// not have.
    pub(super) fn take_snapshot(&mut self, key: &str, intent: &Intent) -> Option<OpenEnded> {
        let latest = Snapshot::latest(&self.ports);
        let ignored = Ignored::text(&self.ports);
        let mut snapshot = match Snapshot::take(&latest, &Ignored::parse(&ignored), &self.ports) {
            Ok(snapshot) => {
                late::forget_reason(&self.ports);
                snapshot
            }
            Err(fault) => {
                self.warn_undetected(&fault);
                return None;
            }
        };
        let anew = snapshot.hash(None, &self.ports);
        if !anew.is_empty() {
            snapshot.keep_latest(&self.ports);
            self.copy(&anew, &latest, &snapshot);
        }
        match snapshot.keep(&snapshot_of(key), &self.ports) {
            Ok(()) => Some(OpenEnded { scope: intent.owned_scope.patterns().to_vec(), ignored }),
            Err(fault) => {
                self.ports.warn(&format!("what the program changes will not be detected: the snapshot cannot be saved: {fault}"));
                None
            }
        }
    }

    /// Copies files that were newly hashed, for the next program, unless git has them.
    pub(super) fn copy(&self, anew: &[String], before: &Snapshot, now: &Snapshot) {
        let index = GitIndex::read(&self.ports);
        let mut wanted: Vec<(&str, Digest, u64)> = Vec::new();
        for path in anew {
            let Some((digest, size)) = now.file_at(path).and_then(|look| Some((look.digest?, look.size))) else { continue };
            // A file that changed since the last look need not be the one that git has, even if its size is the same.
            if !index.has(path, size) || before.file_at(path).is_some() {
                wanted.push((path, digest, size));
            }
        }
        // Rarely needed, and then for every copy there is.
        let needed = OnceCell::new();
        let is_needed =
            |digest: &Digest| needed.get_or_init(|| self.contents_to_keep(now)).binary_search(&digest.short()).is_ok();
        images::keep(&wanted, is_needed, &self.ports);
    }

    /// The contents that may still be restored: current ones, and those that were changed out of scope.
    fn contents_to_keep(&self, now: &Snapshot) -> Vec<[u8; 16]> {
        let page = reading::newest(&Filter::default(), usize::MAX, None, 1 << 20, &self.ports).unwrap_or_default();
        let failed = page.entries.into_iter().filter(|entry| entry.scope_validation == ScopeValidation::Fail);
        let before = failed.filter_map(|entry| entry.file?.pre_hash);
        let stands = now.iter().filter_map(|(_, look)| look.digest);
        let mut wanted: Vec<[u8; 16]> = before.chain(stands).map(|digest| digest.short()).collect();
        wanted.sort_unstable();
        wanted
    }

    /// The entries for what changed while a program ran, the notice about it, and the state of the workspace now.
    pub(super) fn reconcile(&mut self, work: &Work<'_>, key: &str, open: &OpenEnded) -> Reconciled {
        let unseen = |why: String| {
            self.ports.warn(&why);
            Reconciled { notice: Some(why), ..Reconciled::default() }
        };
        let Some(before) = Snapshot::load(&snapshot_of(key), &self.ports) else {
            let tool = &work.call.tool;
            let why = format!("what changed while `{tool}` ran is not known: the snapshot taken before it is gone");
            let entry = self.failure_entry(work, &why);
            let seen = unseen(format!("{why}; it is recorded as FAIL; check the workspace yourself"));
            return Reconciled { entries: vec![entry], ..seen };
        };
        let mut after = match Snapshot::take(&before, &Ignored::parse(&open.ignored), &self.ports) {
            Ok(after) => after,
            Err(fault) => {
                let why = format!("what changed while `{}` ran is not known: {fault}", work.call.tool);
                let entry = self.failure_entry(work, &why);
                let seen = unseen(format!("{why}; it is recorded as FAIL; check the workspace yourself"));
                return Reconciled { entries: vec![entry], ..seen };
            }
        };
        let scope = Scope::compile(open.scope.clone());
        let suspects = after.possibly_changed(&before);
        let anew = after.hash(Some(&suspects), &self.ports);
        if !suspects.is_empty() {
            after.keep_latest(&self.ports);
            self.copy(&anew, &before, &after);
        }
        let entered = self.entered_during(work);
        let changes: BTreeSet<&str> = work.pending.changes.iter().map(|change| change.path.as_str()).collect();
        // Another session's program may have changed a file again after it was entered.
        let others_run = OnceCell::new();
        let is_others = |pending: &Pending| pending.open_ended.is_some() && pending.caller.session != work.call.session;
        let others_run = || *others_run.get_or_init(|| pending::calls_under_way(&self.ports).iter().any(is_others));
        let mut changed: Vec<(String, bool)> = Vec::new();
        for path in suspects {
            let (was, is) = (before.file_at(&path), after.file_at(&path));
            let touched_only = matches!((was, is), (Some(was), Some(is)) if was.digest.is_some() && was.digest == is.digest);
            let ruled = changes.contains(path.as_str());
            let digest = is.and_then(|look| look.digest);
            // Another call's change: entered with what is there now, or still under way.
            let is_foreign = |entry: &Entry| entry.path() == Some(&*path) && entry.session_id != truncate(&work.call.session);
            let is_explained = || {
                let (session, call) = (&work.call.session, &work.call.call);
                explains(&entered, &path, digest, is.is_some())
                    || lease::is_held_by_another_call(&path, session, call, work.now, &self.ports)
                    || entered.iter().any(is_foreign) && others_run()
            };
            if touched_only || ruled || is_explained() {
                continue;
            }
            let is_owned = self.is_owned(&scope, &path);
            changed.push((path, is_owned));
        }
        let unrecorded = cut_to(MAX_ENTRIES, &mut changed);
        let mut entries: Vec<Entry> = changed
            .iter()
            .map(|(path, is_owned)| self.unattributed_change(work, *is_owned, path, before.file_at(path), after.file_at(path)))
            .collect();
        let summary = (unrecorded.all > 0).then(|| unrecorded.text(&work.call.tool));
        if let Some(summary) = &summary {
            let validation = if unrecorded.strays > 0 { ScopeValidation::Fail } else { ScopeValidation::Pass };
            entries.push(Entry { scope_validation: validation, ..self.failure_entry(work, summary) });
        }
        let restore = self.changes_to_restore(work, &entries);
        let notice = |restore: &[String]| {
            let strays = notice(work, &entries, restore, unrecorded.strays);
            [strays, restored_notice(work, &entries, restore), summary.clone()].into_iter().flatten().reduce(join)
        };
        let (notice, notice_without_restoring) = (notice(&restore), (!restore.is_empty()).then(|| notice(&[])).flatten());
        if let Some(notice) = &notice {
            self.ports.warn(notice);
        }
        Reconciled { entries, notice, notice_without_restoring, after: Some(after), restore }
    }

    /// Whether a program may change a file for an intent with this scope.
    fn is_owned(&self, scope: &Scope, path: &str) -> bool {
        !self.guarded.covers(&Location::from_host(path), Extent::Itself, scope.usable()) && is_in_scope(scope, path)
    }

    fn unattributed_change(
        &self,
        work: &Work<'_>,
        is_owned: bool,
        path: &str,
        was: Option<&SnapshotFile>,
        is: Option<&SnapshotFile>,
    ) -> Entry {
        let operation = operation_between(was, is);
        let digest = |look: Option<&SnapshotFile>| look.and_then(|look| look.digest);
        let file =
            FileChange { relative_path: path.to_owned(), pre_hash: digest(was), post_hash: digest(is), line_ranges: Vec::new() };
        let class = MutationClass::of(operation, path, claimed_class(work.call));
        Entry {
            scope_validation: if is_owned { ScopeValidation::Pass } else { ScopeValidation::Fail },
            success: work.outcome.is_success(),
            ..self.entry(work.call, Some(&work.pending.intent), work.now, Some(file), class)
        }
    }
}

/// How many changes of one call are not recorded one by one.
struct Unrecorded {
    all: usize,
    /// How many of them are out of scope.
    strays: usize,
}

impl Unrecorded {
    fn text(&self, tool: &str) -> String {
        let strays = match self.strays {
            0 => "all of them in scope".to_owned(),
            strays => format!("{strays} of them out of scope"),
        };
        format!(
            "{} more files changed while `{tool}` ran, {strays}; they are not recorded one by one, because one call records at most {MAX_ENTRIES}; \
             check the workspace yourself",
            self.all
        )
    }
}

/// Keeps at most this many changes, those out of scope before the others, and sorts them by path. Counts the rest.
fn cut_to(limit: usize, changed: &mut Vec<(String, bool)>) -> Unrecorded {
    if changed.len() <= limit {
        return Unrecorded { all: 0, strays: 0 };
    }
    changed.sort_by_key(|(_, is_owned)| *is_owned);
    let rest = changed.split_off(limit);
    changed.sort_unstable();
    Unrecorded { all: rest.len(), strays: rest.iter().filter(|(_, is_owned)| !is_owned).count() }
}

/// What happened to a file from one look to the next.
pub(super) fn operation_between(was: Option<&SnapshotFile>, is: Option<&SnapshotFile>) -> Operation {
    match (was, is) {
        (None, _) => Operation::Create,
        (_, None) => Operation::Delete,
        _ => Operation::Modify,
    }
}

pub(super) fn is_in_scope(scope: &Scope, path: &str) -> bool {
    match Location::from_host(path) {
        Location::Inside(path) => scope.reach_of(&path, Extent::Itself) == Reach::Within,
        Location::Outside(_) => false,
    }
}

fn notice(work: &Work<'_>, entries: &[Entry], restore: &[String], unentered: usize) -> Option<String> {
    let is_stray = |entry: &&Entry| entry.scope_validation == ScopeValidation::Fail && !restore.contains(&entry.id);
    let strays: Vec<&Entry> = entries.iter().filter(is_stray).collect();
    let first = strays.first()?;
    let (tool, intent) = (&work.call.tool, &work.pending.intent);
    Some(format!(
        "files outside the scope of {intent} changed while `{tool}` ran: {}; they are recorded as FAIL, and a person can revert them with `tollgate trace revert {}`",
        names(&strays, unentered),
        first.id
    ))
}

/// The notice about changes that are reverted.
fn restored_notice(work: &Work<'_>, entries: &[Entry], restore: &[String]) -> Option<String> {
    let changes: Vec<&Entry> = entries.iter().filter(|entry| restore.contains(&entry.id)).collect();
    let first = changes.first()?;
    let (tool, intent) = (&work.call.tool, &work.pending.intent);
    Some(format!(
        "`{tool}` changed files that {intent} does not own: {}; they are recorded as FAIL from entry {} on and were restored; a person can apply a change again by reverting its restoration with `tollgate trace revert` (`tollgate trace` lists both)",
        names(&changes, 0),
        first.id
    ))
}

fn names(entries: &[&Entry], unentered: usize) -> String {
    let mut names: Vec<String> =
        entries.iter().take(MAX_NAMED).filter_map(|entry| entry.path()).map(|path| format!("`{}`", printable(path))).collect();
    let more = entries.len().saturating_sub(MAX_NAMED) + unentered;
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

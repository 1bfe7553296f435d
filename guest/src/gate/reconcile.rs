//! Detects what a program changed whose effects were not known beforehand.
//!
//! Before it runs, every file of the workspace is looked at; afterwards again. What differs is its doing, unless the ledger
//! tells of someone else's. What lies in the intent's scope is entered like any change; what does not is recorded as FAIL,
//! told to the agent and the user, and can be put back.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::Gate;
use super::settle::{Work, claimed_class, truncate};
use crate::digest::Digest;
use crate::effects::path::Location;
use crate::effects::{Extent, Operation};
use crate::inflight::git_index::GitIndex;
use crate::inflight::lease;
use crate::inflight::pending::{OpenEnded, snapshot_of};
use crate::inflight::snapshot::{Ignored, Snapshot, SnapshotFile};
use crate::intents::intent::Intent;
use crate::intents::scope::{Reach, Scope};
use crate::ledger::entry::{Entry, FileChange, ScopeValidation};
use crate::ledger::images;
use crate::ledger::mutation::MutationClass;
use crate::ledger::reading::{self, Filter};

/// One program enters no more than this.
const MAX_ENTRIES: usize = 1_000;

/// Paths that a notice names.
const MAX_NAMED: usize = 10;

/// What a program changed.
#[derive(Default)]
pub(super) struct Reconciled {
    pub(super) entries: Vec<Entry>,
    /// What to say about it.
    pub(super) notice: Option<String>,
    /// What the workspace looks like now, where it could be looked at.
    pub(super) after: Option<Snapshot>,
    /// Which of these changes are to be taken back.
    pub(super) restore: Vec<String>,
}

impl Gate {
    /// Looks at every file before a program runs, and copies those that are new or changed since the last look and that
    /// git does not have.
    pub(super) fn take_snapshot(&mut self, key: &str, intent: &Intent) -> Option<OpenEnded> {
        let latest = Snapshot::latest(&self.ports);
        let ignored = Ignored::text(&self.ports);
        let mut snapshot = match Snapshot::look(&latest, &Ignored::parse(&ignored), &self.ports) {
            Ok(snapshot) => snapshot,
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
                self.ports.warn(&format!("what the program changes is not detected: the snapshot cannot be saved: {fault}"));
                None
            }
        }
    }

    /// Copies files that were read again, for the next program, unless git has them.
    pub(super) fn copy(&self, anew: &[String], before: &Snapshot, now: &Snapshot) {
        let index = GitIndex::read(&self.ports);
        let mut wanted: Vec<(&str, Digest, u64)> = Vec::new();
        for path in anew {
            let Some((digest, size)) = now.at(path).and_then(|look| Some((look.digest?, look.size))) else { continue };
            // What changed since the last look need not be what git has, though the size is the same.
            if !index.has(path, size) || before.at(path).is_some() {
                wanted.push((path, digest, size));
            }
        }
        // Rarely asked, and then for every copy there is.
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

    /// The entries for what changed while a program ran, what to say about it, and what the workspace looks like now.
    pub(super) fn reconcile(&mut self, work: &Work<'_>, key: &str, open: &OpenEnded) -> Reconciled {
        let unseen = |why: String| {
            self.ports.warn(&why);
            Reconciled { notice: Some(why), ..Reconciled::default() }
        };
        let Some(before) = Snapshot::kept(&snapshot_of(key), &self.ports) else {
            let tool = &work.call.tool;
            let why = format!("what changed while `{tool}` ran is not known: the snapshot taken before it is gone");
            let entry = self.failure_entry(work, &why);
            let seen = unseen(format!("{why}; it is recorded as FAIL; check the workspace yourself"));
            return Reconciled { entries: vec![entry], ..seen };
        };
        let mut after = match Snapshot::look(&before, &Ignored::parse(&open.ignored), &self.ports) {
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
        let mut entries = Vec::new();
        let mut more = 0;
        for path in suspects {
            let (was, is) = (before.at(&path), after.at(&path));
            let touched_only = matches!((was, is), (Some(was), Some(is)) if was.digest.is_some() && was.digest == is.digest);
            let ruled = changes.contains(path.as_str());
            let digest = is.and_then(|look| look.digest);
            // Another call's change: entered with what is there now, or still under way.
            let explains = |entry: &Entry| {
                let foreign = entry.session_id != truncate(&work.call.session);
                entry.file.as_ref().is_some_and(|file| file.relative_path == path && (foreign || file.post_hash == digest))
            };
            let explained = || {
                let (session, call) = (&work.call.session, &work.call.call);
                entered.iter().any(explains) || lease::is_of_another(&path, session, call, work.now, &self.ports)
            };
            if touched_only || ruled || explained() {
                continue;
            }
            if entries.len() == MAX_ENTRIES {
                more += 1;
                continue;
            }
            entries.push(self.unattributed_change(work, &scope, &path, was, is));
        }
        if more > 0 {
            self.ports.warn(&format!(
                "`{}` changed {more} more files, which are not recorded: one call records at most {MAX_ENTRIES}",
                work.call.tool
            ));
        }
        let restore = self.changes_to_restore(work, &entries);
        let notices = [notice(work, &entries, &restore, more), restored_notice(work, &entries, &restore)];
        let notice = notices.into_iter().flatten().reduce(|one, other| format!("{one}\n{other}"));
        if let Some(notice) = &notice {
            self.ports.warn(notice);
        }
        Reconciled { entries, notice, after: Some(after), restore }
    }

    fn unattributed_change(
        &self,
        work: &Work<'_>,
        scope: &Scope,
        path: &str,
        was: Option<&SnapshotFile>,
        is: Option<&SnapshotFile>,
    ) -> Entry {
        let operation = operation_between(was, is);
        let digest = |look: Option<&SnapshotFile>| look.and_then(|look| look.digest);
        let file =
            FileChange { relative_path: path.to_owned(), pre_hash: digest(was), post_hash: digest(is), line_ranges: Vec::new() };
        let class = MutationClass::of(operation, path, claimed_class(work.call));
        let guarded = self.guarded.covers(&Location::reported(path), Extent::Itself, scope.usable());
        let passes = !guarded && is_in_scope(scope, path);
        Entry {
            scope_validation: if passes { ScopeValidation::Pass } else { ScopeValidation::Fail },
            success: work.outcome.is_success(),
            ..self.entry(work.call, Some(&work.pending.intent), work.now, Some(file), class)
        }
    }
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
    match Location::reported(path) {
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

/// What to say about changes that are taken back.
fn restored_notice(work: &Work<'_>, entries: &[Entry], restore: &[String]) -> Option<String> {
    let changes: Vec<&Entry> = entries.iter().filter(|entry| restore.contains(&entry.id)).collect();
    let first = changes.first()?;
    let (tool, intent) = (&work.call.tool, &work.pending.intent);
    Some(format!(
        "`{tool}` changed files outside those that {intent} owns: {}; they are recorded as FAIL and were restored; a person can apply the change \
         again with `tollgate trace`, see entry {}",
        names(&changes, 0),
        first.id
    ))
}

fn names(entries: &[&Entry], unentered: usize) -> String {
    let mut names: Vec<String> =
        entries.iter().take(MAX_NAMED).filter_map(|entry| entry.path()).map(|path| format!("`{path}`")).collect();
    let more = entries.len().saturating_sub(MAX_NAMED) + unentered;
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

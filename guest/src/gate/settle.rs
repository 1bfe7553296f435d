//! Settles a call after its tool ran: finds what changed and records it in the ledger.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::Gate;
use super::guard::MAX_LEASES;
use super::left_behind::{UNKNOWN, explains};
use super::reconcile::Reconciled;
use super::recorder::{CallRecord, Entered, Unentered};
use crate::call::ToolCall;
use crate::config;
use crate::digest::Digest;
use crate::effects::{Effect, Operation, Persistence};
use crate::extensions;
use crate::inflight::pending::{self, AllowedChange, CallOrigin, Ended, Pending};
use crate::inflight::rulings::{self, CallFate};
use crate::inflight::seen;
use crate::intents::intent::{Intent, IntentId};
use crate::ledger::entry::{Concurrent, Entry, FileChange, ScopeValidation};
use crate::ledger::line_ranges::{self, LineRange};
use crate::ledger::mutation::MutationClass;
use crate::ledger::reading::{self, Filter};
use crate::ports::{Facts, FileFault, FileKind, Ports, Question, Root, Timestamp};

/// Maximum length of text from outside in an entry, in characters.
const MAX_CHARS: usize = 2_000;

/// Maximum size of content kept from before a change, to tell which lines changed.
const MAX_BEFORE_BYTES: u64 = 64 << 10;

/// Maximum number of files per call whose content is kept.
const MAX_BEFORE_FILES: usize = 8;

/// Maximum size of content that is read after a change.
const MAX_AFTER_BYTES: u64 = 1 << 20;

/// How much of the ledger is searched for others' entries.
pub(super) const RECENTLY_BYTES: u64 = 256 << 10;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// It ran.
    Done,
    /// It ran and failed; the tool's error message.
    Failed(String),
    /// The tool reports that its command keeps running.
    Running,
    /// It did not run; the reason.
    Refused(String),
    /// It may have run: its end was not reported, or the gate failed when it was.
    Unknown,
}

impl CallOutcome {
    /// Whether the tool succeeded, or is still running.
    pub(super) fn is_success(&self) -> bool {
        matches!(self, Self::Done | Self::Running)
    }
}

/// The result of settling a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settlement {
    /// The lines, as entered in the ledger.
    pub lines: Vec<String>,
    /// What the agent should be told.
    pub notice: Option<String>,
    /// The ids of the entries whose changes are to be reverted.
    pub restore: Vec<String>,
}

/// What is remembered about a call besides its changes.
pub(super) struct RememberedFacts {
    pub(super) since: u64,
    pub(super) certain: bool,
    pub(super) open_ended: bool,
    pub(super) confined: bool,
    pub(super) leased: bool,
    pub(super) persistence: Persistence,
}

impl Gate {
    /// Remembers what a call may change until it is settled.
    pub(super) fn remember(
        &mut self,
        call: &ToolCall,
        intent: &Intent,
        effects: &[Effect],
        how: RememberedFacts,
    ) -> Result<(), FileFault> {
        let mut changes = self.changes(effects);
        let key = pending::key(&call.session, &call.call);
        self.recorder.separate_earlier_call(&key, &self.ports);
        let open_ended = how.open_ended.then(|| self.take_snapshot(&key, intent)).flatten();
        for change in changes.iter_mut().take(MAX_BEFORE_FILES) {
            if change.operation == Operation::Modify && change.pre_hash.is_some() {
                let content = self.ports.workspace.read(Root::Project, &change.path, MAX_BEFORE_BYTES).ok();
                change.before = content.and_then(|content| String::from_utf8(content).ok());
            }
        }
        let RememberedFacts { since, certain, persistence, confined, leased, .. } = how;
        let (caller, intent) = (CallOrigin::of(call), intent.id.clone());
        let pending = Pending {
            caller,
            intent,
            since,
            changes,
            certain,
            persistence,
            is_presumed_refused: false,
            open_ended,
            confined,
            leased,
            ledger: self.recorder.position(),
            unentered: None,
            has_own_id: false,
        };
        if persistence != Persistence::Ends {
            self.watch(&pending, persistence, &key, None);
        }
        self.recorder.forget_unsaved(&key);
        pending::keep(&key, &pending, &self.ports).inspect_err(|fault| {
            // A person may still let it run, and at least this process remembers it.
            self.ports.warn(&format!("the record of the call `{}` cannot be saved: {fault}", call.call));
            self.recorder.keep_unsaved(key, pending, &self.ports);
        })
    }

    pub(super) fn changes(&self, effects: &[Effect]) -> Vec<AllowedChange> {
        let change = |effect: &Effect| {
            let path = effect.changed_file()?.as_str().to_owned();
            Some(AllowedChange { path, operation: effect.operation, pre_hash: effect.pre_hash, before: None })
        };
        // A file that is removed and created again changes once.
        let mut known = BTreeSet::new();
        let mut changes: Vec<AllowedChange> = Vec::new();
        for change in effects.iter().filter_map(change) {
            if known.insert(change.path.clone()) {
                changes.push(change);
            }
        }
        // Files that are deleted with their folder were listed, not inspected.
        let unknown = |change: &&mut AllowedChange| change.operation == Operation::Delete && change.pre_hash.is_none();
        let mut listed: Vec<&mut AllowedChange> = changes.iter_mut().filter(unknown).collect();
        if !listed.is_empty() {
            let questions: Vec<_> = listed.iter().map(|change| digest_question(&change.path)).collect();
            for (change, facts) in listed.iter_mut().zip(self.look(&questions)) {
                change.pre_hash = facts.digest;
            }
        }
        changes
    }

    /// Enters what a call changed, whether it was allowed to or not.
    pub fn settle(&mut self, call: &ToolCall, outcome: &CallOutcome) -> Settlement {
        self.settle_with(call, outcome, None)
    }

    /// The same, with the tool's output, which may tell that the kernel denied the command something.
    pub fn settle_with(&mut self, call: &ToolCall, outcome: &CallOutcome, output: Option<&str>) -> Settlement {
        self.retry_ledger();
        let key = pending::key(&call.session, &call.call);
        if self.recorder.is_waiting(&key) {
            return Settlement { notice: self.recorder.waiting_notice(&key), ..Settlement::default() };
        }
        let facts = self.inspect_governance();
        let pending = self.recorder.recall_to_settle(&key, &self.ports);
        let refusal = self.kernel_refusal(call, outcome, output, pending.as_ref(), &facts);
        let mut settlement = match pending {
            Some(pending) => self.settle_recorded(call, outcome, key, &pending),
            None => match self.settle_unrecorded(call, outcome, &facts) {
                // A call whose end is reported again may still have to be entered.
                nothing if nothing == Settlement::default() => {
                    Settlement { notice: self.recorder.waiting_notice(&key), ..nothing }
                }
                settlement => settlement,
            },
        };
        // A command that keeps running is still confined.
        if *outcome != CallOutcome::Running {
            self.forget_evidence(call);
        }
        // A call whose end was never reported is compared when it is concluded to have ended.
        if *outcome != CallOutcome::Unknown {
            if facts.is_watching {
                self.compare_ended(call, outcome);
            }
            settlement.notice = settlement.notice.into_iter().chain(self.notices.take()).reduce(join);
        }
        settlement.notice = facts.notice.into_iter().chain(settlement.notice).chain(refusal).reduce(join);
        settlement
    }

    /// Enters what a call with a record changed.
    fn settle_recorded(&mut self, call: &ToolCall, outcome: &CallOutcome, key: String, pending: &Pending) -> Settlement {
        let now = self.ports.clock.now();
        // No other process knows of a call that could not be saved, unless it was told of the same call and saved it.
        let is_known_here = self.recorder.is_known_only_here(&key);
        // That process may then have settled the call, too.
        let is_settled = || rulings::is_settled(&call.session, &call.call, Timestamp(pending.since), &self.ports);
        if is_known_here && !self.recorder.is_settled_here(&key) && is_settled() {
            self.recorder.forget_unsaved(&key);
            return Settlement::default();
        }
        let claim = if is_known_here { Some(1) } else { pending::claim(&key, pending, now, &self.ports) };
        let Some(attempts) = claim else {
            // Whoever has it may have concluded that the call never ran, just before its end was reported.
            return match rulings::last(&call.session, &call.call, &self.ports) {
                Some(CallFate::Unheard(unheard)) if pending::recall(&key, &self.ports).is_none() => {
                    self.settle_unheard(call, outcome, &unheard)
                }
                _ => Settlement::default(),
            };
        };
        if let Some(rest) = &pending.unentered {
            return self.settle_unentered(call, outcome, CallRecord { key, pending }, rest);
        }
        if attempts > pending::MAX_ATTEMPTS {
            return self.give_up(call, key, pending, now);
        }
        let mut questions = vec![Question::project(config::PATH)];
        questions.extend(extensions::questions());
        let own = questions.len();
        questions.extend(pending.changes.iter().map(|change| digest_question(&change.path)));
        let facts = self.look(&questions);
        if let Some(file) = facts.first() {
            self.config.refresh(file, &self.ports);
        }
        // The secrets of extensions must not be entered.
        self.refresh_extensions(facts.get(1..own).unwrap_or_default(), &self.config.last());
        let work = Work { call, pending, outcome, now };
        let mut entries = self.entries(&work, facts.get(own..).unwrap_or_default());
        let mut seen = Reconciled::default();
        if let (Some(open), false) = (&pending.open_ended, matches!(outcome, CallOutcome::Refused(_))) {
            self.guarded.look_up(&self.ports);
            seen = self.reconcile(&work, &key, open);
            entries.append(&mut seen.entries);
        }
        if let Some((entry, said)) = self.entry_if_unconfined(&work) {
            entries.push(entry);
            for notice in [&mut seen.notice, &mut seen.notice_without_restoring] {
                *notice = notice.take().into_iter().chain([said.clone()]).reduce(join);
            }
        }
        let mut restore = seen.restore;
        self.note_writes(&work, &entries);
        let is_heard = attempts > 1 || !entries.is_empty();
        let is_watched = self.watch_ended(&work, &key, seen.after, is_heard);
        // This is noted before the record is forgotten, so that there is always one or the other.
        match outcome {
            CallOutcome::Refused(_) => self.note_refusal(call, pending),
            CallOutcome::Unknown if !is_heard && !is_watched => self.note_unheard(call, pending),
            _ => {
                rulings::note(super::unrecorded::call_key(call), CallFate::Settled, now, &self.ports);
                self.recorder.mark_settled(&key);
            }
        }
        let (lines, notice) = match self.recorder.enter(CallRecord { key, pending }, entries, &self.ports) {
            Ok(Entered { lines, notice: about_ledger }) => {
                self.permit_restoring(&restore, now);
                (lines, [about_ledger, seen.notice].into_iter().flatten().reduce(join))
            }
            Err(Unentered { lines, why }) => {
                // Only what is in the ledger can be restored from it.
                let found = if restore.is_empty() { seen.notice } else { seen.notice_without_restoring };
                restore.clear();
                (lines, [Some(why), found].into_iter().flatten().reduce(join))
            }
        };
        self.release_leases(call, leased_files(pending));
        if *outcome != CallOutcome::Unknown {
            self.settle_left_behind(Ended::Nothing, now);
        }
        Settlement { lines, notice, restore }
    }

    fn entries(&self, work: &Work<'_>, facts: &[Facts]) -> Vec<Entry> {
        let Work { call, pending, outcome, now } = *work;
        let config = self.config.last();
        let (success, error) = match outcome {
            CallOutcome::Done | CallOutcome::Running => (true, None),
            CallOutcome::Failed(error) => (false, Some(redacted(error, &self.ports))),
            CallOutcome::Refused(_) if !config.record_rejected => return Vec::new(),
            CallOutcome::Refused(why) => (false, Some(redacted(why, &self.ports))),
            CallOutcome::Unknown => (false, Some(UNKNOWN.to_owned())),
        };
        let others = self.entries_of_others(work);
        let doubtful = *outcome == CallOutcome::Unknown;
        let entered = if doubtful { self.entered_since(pending.since) } else { Vec::new() };
        let mut entries = Vec::new();
        for (change, facts) in pending.changes.iter().zip(facts) {
            let gone = facts.kind == FileKind::Missing;
            let unchanged =
                if gone { change.pre_hash.is_none() } else { facts.digest.is_some() && facts.digest == change.pre_hash };
            if unchanged && (doubtful || !pending.certain || !success && !config.record_failed) {
                continue;
            }
            if explains(&entered, &change.path, facts.digest, !gone) {
                continue;
            }
            // Judged by what was there and is there now, not by what was intended.
            let operation = match (gone, change.operation) {
                (true, _) if change.pre_hash.is_some() => Operation::Delete,
                (false, Operation::Delete) if change.pre_hash.is_some() => Operation::Modify,
                (false, Operation::Delete) => Operation::Create,
                (_, meant) => meant,
            };
            let file = FileChange {
                relative_path: change.path.clone(),
                pre_hash: change.pre_hash,
                post_hash: facts.digest,
                line_ranges: if unchanged || gone { Vec::new() } else { self.line_ranges(change, facts) },
            };
            let class = MutationClass::of(operation, &change.path, claimed_class(call));
            let entry = self.entry(call, Some(&pending.intent), now, Some(file), class);
            let concurrent = others.iter().rfind(|other| other.path() == Some(&*change.path));
            let concurrent =
                concurrent.map(|other| Concurrent { session_id: other.session_id.clone(), entry_id: other.id.clone() });
            entries.push(Entry { success, error: error.clone(), concurrent, ..entry });
        }
        entries
    }

    /// What other sessions entered while the call was under way.
    fn entries_of_others(&self, work: &Work<'_>) -> Vec<Entry> {
        let own = truncate(&work.call.session);
        self.entered_during(work).into_iter().filter(|entry| entry.session_id != own).collect()
    }

    /// What was entered while a call ran: everything appended to the ledger since the ruling on it.
    pub(super) fn entered_during(&self, work: &Work<'_>) -> Vec<Entry> {
        // If the end of the call was not reported, the ledger may not have been read just now.
        let now = self.recorder.position().filter(|_| *work.outcome != CallOutcome::Unknown);
        let entered = work.pending.ledger.zip(now).and_then(|(then, now)| {
            then.entries_since(now, &entries_since_filter(work.pending.since), RECENTLY_BYTES, &self.ports)
        });
        entered.map_or_else(|| self.entered_since(work.pending.since), |entries| effective_entries(entries).collect())
    }

    /// What anyone entered since a moment.
    pub(super) fn entered_since(&self, moment: u64) -> Vec<Entry> {
        let page =
            reading::newest(&entries_since_filter(moment), usize::MAX, None, RECENTLY_BYTES, &self.ports).unwrap_or_default();
        effective_entries(page.entries).collect()
    }

    fn line_ranges(&self, change: &AllowedChange, facts: &Facts) -> Vec<LineRange> {
        let before = match (&change.before, change.operation) {
            (Some(before), _) => before.as_bytes(),
            (None, Operation::Create) => &[],
            (None, _) => return Vec::new(),
        };
        if facts.size > MAX_AFTER_BYTES {
            return Vec::new();
        }
        let after = self.ports.workspace.read(Root::Project, &change.path, MAX_AFTER_BYTES).unwrap_or_default();
        line_ranges::changed_lines(before, &after)
    }

    /// Records that a session has seen what it wrote, unless someone else wrote there at the same time.
    fn note_writes(&self, work: &Work<'_>, entries: &[Entry]) {
        let own = |entry: &&Entry| entry.concurrent.is_none();
        let seen = entries.iter().filter(own).filter_map(|entry| entry.file.as_ref());
        let seen: Vec<(String, Option<Digest>)> = seen.map(|file| (file.relative_path.clone(), file.post_hash)).collect();
        if !matches!(work.outcome, CallOutcome::Refused(_)) {
            seen::record(&work.call.session, &seen, &self.ports);
        }
    }

    /// An entry for a call that succeeded.
    pub(super) fn entry(
        &self,
        call: &ToolCall,
        intent: Option<&IntentId>,
        now: Timestamp,
        file: Option<FileChange>,
        mutation_class: MutationClass,
    ) -> Entry {
        Entry {
            intent_id: intent.cloned(),
            agent: call.agent.as_deref().map(truncate),
            host: call.host.as_deref().map(truncate),
            content_hash: file.as_ref().and_then(|file| file.post_hash),
            file,
            ..Entry::new(&truncate(&call.session), &truncate(&call.tool), mutation_class, now, &self.ports)
        }
    }

    /// The entry for a call about which something is wrong that concerns no file.
    pub(super) fn failure_entry(&self, work: &Work<'_>, why: &str) -> Entry {
        let class = claimed_class(work.call).unwrap_or(MutationClass::IntentEvolution);
        Entry {
            scope_validation: ScopeValidation::Fail,
            success: work.outcome.is_success(),
            error: Some(why.to_owned()),
            ..self.entry(work.call, Some(&work.pending.intent), work.now, None, class)
        }
    }
}

/// A filter for entries since a moment.
pub(super) fn entries_since_filter(moment: u64) -> Filter {
    Filter { since: Some(Timestamp(moment).to_string()), ..Filter::default() }
}

/// The entries of calls that succeeded or changed something: a command that failed may have made changes before.
fn effective_entries(entries: Vec<Entry>) -> impl Iterator<Item = Entry> {
    let changed = |entry: &Entry| entry.file.as_ref().is_some_and(|file| file.post_hash != file.pre_hash);
    entries.into_iter().filter(move |entry| entry.success || changed(entry))
}

/// A call that has ended.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) pending: &'a Pending,
    pub(super) outcome: &'a CallOutcome,
    pub(super) now: Timestamp,
}

/// The files on which a call holds leases.
pub(super) fn leased_files(pending: &Pending) -> impl Iterator<Item = &str> {
    let leased = pending.changes.iter().filter(|_| pending.leased);
    let mut paths: Vec<&str> = leased.map(|change| &*change.path).collect();
    paths.sort_unstable();
    paths.into_iter().take(MAX_LEASES)
}

/// A question about a file's content.
pub(super) fn digest_question(path: &str) -> Question {
    Question { root: Root::Project, path: path.to_owned(), digest: true }
}

/// The class that the agent claims for its change, if it is one we know.
pub(super) fn claimed_class(call: &ToolCall) -> Option<MutationClass> {
    MutationClass::deserialize(call.args.get("mutation_class")?).ok()
}

/// Redacts text from outside and truncates it.
pub(super) fn redacted(text: &str, ports: &Ports) -> String {
    ports.secrets.redact(text).chars().take(MAX_CHARS).collect()
}

pub(super) fn truncate(text: &str) -> String {
    text.chars().take(MAX_CHARS / 4).collect()
}

/// Joins two notices.
pub(super) fn join(one: String, other: String) -> String {
    // A fault that several calls ran into is reported once.
    let is_told = other.lines().all(|line| one.lines().any(|told| told == line));
    if is_told { one } else { format!("{one}\n{other}") }
}

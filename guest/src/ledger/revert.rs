//! Plans how to revert a change. A host carries the plan out after a person has agreed.

use super::entry::{Entry, FileChange, Person, ScopeValidation};
use super::images;
use super::mutation::MutationClass;
use super::reading::{self, Filter};
use crate::digest::Digest;
use crate::ports::{FileFault, FileKind, Ports, Question, Root};
use crate::state;

/// Number of bytes read at once while looking for an entry.
const AT_ONCE: u64 = 4 << 20;

/// The session under which a person's reverts are entered.
const SESSION: &str = "tollgate";
const TOOL: &str = "trace revert";

/// Why a change cannot be reverted.
#[derive(Debug, thiserror::Error)]
pub enum RevertFault {
    /// There is no such entry.
    #[error("there is no entry `{0}` in the ledger; `tollgate trace` lists them")]
    Unknown(String),
    /// There is nothing to restore.
    #[error("the entry `{0}` changed no file")]
    NoFile(String),
    /// It is reverted already.
    #[error("`{path}` is already what it was before")]
    Done {
        /// The file.
        path: String,
    },
    /// The file has changed again, and someone would lose work.
    #[error("`{path}` has changed again since: {}; revert the later change first", difference(.left.as_ref(), .now.as_ref()))]
    ChangedSince {
        /// The file.
        path: String,
        /// The content that the entry left.
        left: Option<Digest>,
        /// The content that is there now.
        now: Option<Digest>,
    },
    /// The ledger cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Ledger(#[from] FileFault),
}

fn difference(left: Option<&Digest>, now: Option<&Digest>) -> String {
    let said = |digest: Option<&Digest>| digest.map_or_else(|| "nothing".to_owned(), Digest::to_string);
    format!("the change left {}, there is {} now", said(left), said(now))
}

/// What a host does to revert a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevertAction {
    /// Restores the content of the file.
    Restore,
    /// Removes the file, because it did not exist before.
    Remove,
}

/// A plan for reverting a change.
#[derive(Debug)]
pub struct RevertPlan {
    /// The file.
    pub path: String,
    /// What is done to it.
    pub action: RevertAction,
    /// The content that must be there when it is done.
    pub now: Option<Digest>,
    /// The content that is there afterwards; `None` if it is not known.
    pub want: Option<Digest>,
    /// Where in the state that content was kept; `None` if git must have it.
    pub image: Option<String>,
    /// The entry of the change.
    pub entry: Entry,
}

/// Plans how the change of an entry is reverted.
pub fn plan(id: &str, ports: &Ports) -> Result<RevertPlan, RevertFault> {
    let entry = find(id, ports)?.ok_or_else(|| RevertFault::Unknown(id.to_owned()))?;
    let Some(file) = entry.file.clone() else { return Err(RevertFault::NoFile(id.to_owned())) };
    let path = file.relative_path;
    let action = if entry.mutation_class == MutationClass::FileCreation { RevertAction::Remove } else { RevertAction::Restore };
    let mut questions = vec![digest_question(&path)];
    questions.extend(file.pre_hash.iter().map(|digest| state::question(images::path(digest))));
    let facts = ports.workspace.inspect(&questions);
    let stands = facts.first().is_some_and(|facts| facts.kind != FileKind::Missing);
    let now = facts.first().and_then(|facts| facts.digest);
    let done = match action {
        RevertAction::Remove => !stands,
        RevertAction::Restore => stands && now.is_some() && now == file.pre_hash,
    };
    if done {
        return Err(RevertFault::Done { path });
    }
    if now != file.post_hash {
        return Err(RevertFault::ChangedSince { path, left: file.post_hash, now });
    }
    let kept = facts.get(1).is_some_and(|facts| facts.kind == FileKind::File);
    let image = file.pre_hash.filter(|_| kept && action == RevertAction::Restore).map(|digest| images::path(&digest));
    let want = file.pre_hash.filter(|_| action == RevertAction::Restore);
    Ok(RevertPlan { path, action, now, want, image, entry })
}

/// The entry for a change that was reverted, and whether it worked.
pub fn record(id: &str, person: Option<Person>, ports: &Ports) -> Result<Entry, RevertFault> {
    let undone = find(id, ports)?.ok_or_else(|| RevertFault::Unknown(id.to_owned()))?;
    let Some(file) = undone.file else { return Err(RevertFault::NoFile(id.to_owned())) };
    let now = ports.workspace.inspect(&[digest_question(&file.relative_path)]).pop().and_then(|facts| facts.digest);
    let mutation_class = match (file.post_hash, now) {
        (None, Some(_)) => MutationClass::FileCreation,
        (Some(_), None) => MutationClass::FileDeletion,
        _ => undone.mutation_class,
    };
    Ok(Entry {
        intent_id: undone.intent_id,
        content_hash: now,
        file: Some(FileChange {
            relative_path: file.relative_path,
            pre_hash: file.post_hash,
            post_hash: now,
            line_ranges: Vec::new(),
        }),
        scope_validation: ScopeValidation::Exempt,
        success: file.pre_hash.is_none() || now == file.pre_hash,
        reverts: Some(undone.id),
        person,
        ..Entry::new(SESSION, TOOL, mutation_class, ports.clock.now(), ports)
    })
}

fn find(id: &str, ports: &Ports) -> Result<Option<Entry>, FileFault> {
    let mut before = None;
    loop {
        let page = reading::newest(&Filter::default(), usize::MAX, before, AT_ONCE, ports)?;
        if let Some(entry) = page.entries.into_iter().rfind(|entry| entry.id == id) {
            return Ok(Some(entry));
        }
        match page.before {
            None => return Ok(None),
            earlier => before = earlier,
        }
    }
}

fn digest_question(path: &str) -> Question {
    Question { root: Root::Project, path: path.to_owned(), digest: true }
}

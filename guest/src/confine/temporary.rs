//! The session's own folder for temporary files, which a confined command finds in `TMPDIR`.
//!
//! The shared folders stay closed: what is already there belongs to someone else, and a folder in which names can be created lets
//! everything in it be changed. What the session created there by name earlier ([`Context::scratch`]) is granted individually.

use super::Context;
use super::grant::{Grant, GrantKind};
use super::opening::{GrantCollector, temporary_questions};
use crate::digest::Digest;
use crate::ports::{FileKind as Node, Question};

/// Where systems keep temporary files; the first that exists is used.
pub(super) const FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];

/// The name of a session's folder.
pub fn name(session: &str) -> String {
    let digest = Digest::of(format!("temporary\n{session}").as_bytes()).short_hex();
    format!("tollgate-{}", digest.chars().take(16).collect::<String>())
}

/// Opens the session's own folder, and what the session created in shared ones.
pub(super) fn open(opening: &mut GrantCollector<'_>, context: &Context<'_>) {
    let mut questions = temporary_questions();
    questions.extend(context.scratch.iter().map(Question::project));
    let facts = context.ports.workspace.inspect(&questions);
    let (folders, made) = facts.split_at(FOLDERS.len().min(facts.len()));
    let is_there = |facts: &&crate::ports::Facts| facts.kind == Node::Directory;
    if let Some(shared) = folders.iter().find(is_there).and_then(|facts| facts.real_path.as_deref()) {
        let own = format!("{}/{}", shared.trim_end_matches('/'), name(context.session));
        if own.starts_with('/') && opening.is_free(&own) {
            opening.grant(Grant { make: true, ..Grant::new(own.clone(), GrantKind::Tree, "the session's temporary files") });
            opening.temporary = Some(own);
        }
    }
    for (path, facts) in context.scratch.iter().zip(made) {
        let kind = match facts.kind {
            Node::File => GrantKind::File,
            Node::Directory => GrantKind::Tree,
            _ => continue,
        };
        if facts.real_path.as_deref() == Some(path) && opening.is_free(path) {
            opening.grant(Grant::new(path.clone(), kind, "the session created it"));
        }
    }
}

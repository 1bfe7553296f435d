//! One line of the ledger.

use serde::{Deserialize, Serialize};

use super::line_ranges::LineRange;
use super::mutation::MutationClass;
use crate::digest::Digest;
use crate::intents::intent::IntentId;
use crate::ports::{Ports, Timestamp};

/// Whether the change was inside the intent's scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ScopeValidation {
    /// It was.
    Pass,
    /// It was not.
    Fail,
    /// It did not have to be.
    Exempt,
}

/// The file that an entry is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, relative to the workspace.
    pub relative_path: String,
    /// The digest before; null if there was no file or it could not be hashed.
    pub pre_hash: Option<Digest>,
    /// The digest after; null if there is no file or it could not be hashed.
    pub post_hash: Option<Digest>,
    /// The lines of the new content that differ from the old; empty if that is not known.
    #[serde(default)]
    pub line_ranges: Vec<LineRange>,
}

/// Someone else's change to the same file, entered while the call was under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrent {
    /// The other session.
    pub session_id: String,
    /// The entry of the other session.
    pub entry_id: String,
}

/// A change that was found after the end of the call that may have made it, because its program may still be running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// The call, as the host names it.
    pub call_id: String,
    /// When it was allowed, as RFC 3339, UTC.
    pub began: String,
    /// How many other calls that may still be running may have made it as well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub others: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A person who gave a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The account's name.
    pub user: String,
    /// The command's words, without the program's name.
    pub command: Vec<String>,
    /// The files that it changed, and what else it changed.
    pub changed: Vec<String>,
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// A UUID v4.
    pub id: String,
    /// The time, as RFC 3339, UTC.
    pub timestamp: String,
    /// The intent under which the call was ruled on.
    pub intent_id: Option<IntentId>,
    /// The session that made the call.
    pub session_id: String,
    /// The sub-agent, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent program, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The tool, as the host spells it.
    pub tool_name: String,
    /// The kind of the change.
    pub mutation_class: MutationClass,
    /// The file; null if no file is concerned.
    pub file: Option<FileChange>,
    /// The hash of the content after the change, wherever the content is.
    pub content_hash: Option<Digest>,
    /// Whether the change was in scope.
    pub scope_validation: ScopeValidation,
    /// Whether the tool succeeded.
    pub success: bool,
    /// What the tool said if it did not succeed.
    pub error: Option<String>,
    /// Set if the file was changed by two calls at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Concurrent>,
    /// Set if the call may have made the change after it had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Late>,
    /// The entry whose change this one reverts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
    /// Set if a person gave a command that changes the gate, its approvals, its wiring or its ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<Person>,
    /// The link of a write's first line; see [`chain`](super::chain).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saw: Option<Vec<Digest>>,
    /// The link of a write's other lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<Digest>,
}

impl Entry {
    /// An entry about no file, in scope and successful, for the caller to fill in further.
    pub fn new(session: &str, tool: &str, mutation_class: MutationClass, now: Timestamp, ports: &Ports) -> Self {
        Self {
            id: new_id(ports),
            timestamp: now.to_string(),
            intent_id: None,
            session_id: session.to_owned(),
            agent: None,
            host: None,
            tool_name: tool.to_owned(),
            mutation_class,
            file: None,
            content_hash: None,
            scope_validation: ScopeValidation::Pass,
            success: true,
            error: None,
            concurrent: None,
            late: None,
            reverts: None,
            person: None,
            saw: None,
            follows: None,
        }
    }

    /// The entry on one line, for people and models.
    pub fn summary(&self) -> String {
        let what = match &self.person {
            Some(person) if self.file.is_none() => format!("by {}", person.user),
            _ => self.path().unwrap_or("no file").to_owned(),
        };
        let mut text = format!("{} {} {what}", self.timestamp, self.tool_name);
        for range in self.file.iter().flat_map(|file| &file.line_ranges).take(5) {
            text.push_str(&format!(" {}-{}", range.start, range.end));
        }
        text.push_str(match (self.success, self.scope_validation) {
            (false, _) => " (failed)",
            (true, ScopeValidation::Fail) => " (out of scope)",
            (true, _) => "",
        });
        text.push_str(if self.late.is_some() { " (late)" } else { "" });
        text
    }

    /// The path of the file it is about.
    pub fn path(&self) -> Option<&str> {
        self.file.as_ref().map(|file| &*file.relative_path)
    }
}

/// A random UUID, version 4.
pub fn new_id(ports: &Ports) -> String {
    let mut bytes = ports.random.random_bytes();
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = *version & 0x0f | 0x40;
    *variant = *variant & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

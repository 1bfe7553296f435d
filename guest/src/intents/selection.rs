//! The selection: which intent a session works for.
//!
//! Each selection is a file of its own in the state, because a hook command is a new process for every call, and because an
//! instance that failed is replaced by a fresh one.
//!
//! A session that has never selected an intent takes the workspace's default, which a person sets, or else the only open one, if
//! the settings say so. It then keeps that intent: another default is for other sessions.

use serde::{Deserialize, Serialize};

use super::intent::IntentId;
use crate::json;
use crate::ports::{Expectation, FileFault, FileKind, Ports, Question};
use crate::state;

/// The folder of the selections in the state.
const FOLDER: &str = "sessions";

/// The file with the workspace's default.
const DEFAULT: &str = "default.json";

/// Maximum number of parents that are followed before a chain of sub-agents counts as a cycle.
const MAX_PARENTS: usize = 8;

/// Maximum number of sessions that are listed.
const MAX_SESSIONS: u32 = 1_000;

/// The selection of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The session, for people who read the file.
    pub session: String,
    /// The intent it selected itself.
    pub intent: Option<IntentId>,
    /// The session it is a sub-agent of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How it got its intent, if it was not selected for this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SelectionSource>,
    /// Since when, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// How a session gets an intent that was not selected for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectionSource {
    /// It is the workspace's default.
    Default,
    /// It is the only open one.
    Single,
}

#[derive(Serialize, Deserialize)]
struct DefaultFile {
    intent: IntentId,
}

/// The last selection that was read, kept until its file changes.
#[derive(Debug, Default)]
pub struct SelectionCache {
    last: Option<(u64, Selection)>,
}

impl SelectionCache {
    /// The intent that the session works for: its own, or the nearest parent's.
    pub fn current(&mut self, session: &str, stamp: u64, ports: &Ports) -> Option<IntentId> {
        let mut selection = match &self.last {
            Some((seen, last)) if *seen == stamp && last.session == session => last.clone(),
            _ => {
                let read = read(session, ports);
                self.last = Some((stamp, read.clone()));
                read
            }
        };
        for _ in 0..MAX_PARENTS {
            match (selection.intent, selection.parent) {
                (Some(intent), _) => return Some(intent),
                (None, Some(parent)) => selection = read(&parent, ports),
                (None, None) => return None,
            }
        }
        None
    }
}

/// What to ask the host about a session's file.
pub fn question(session: &str) -> Question {
    state::question(path(session))
}

/// The selection of a session. A file that cannot be used counts as empty, and is reported.
pub fn read(session: &str, ports: &Ports) -> Selection {
    let path = path(session);
    let nothing = || Selection { session: session.to_owned(), ..Selection::default() };
    match state::read(&path, state::MAX_BYTES, ports) {
        Ok(text) => json::parse(&text).unwrap_or_else(|fault| {
            ports.warn(&format!("`{path}` cannot be parsed and counts as empty: {fault}"));
            nothing()
        }),
        Err(FileFault::Missing) => nothing(),
        Err(fault) => {
            ports.warn(&format!("`{path}` cannot be read and counts as empty: {fault}"));
            nothing()
        }
    }
}

/// The session whose selection counts for a session that has none of its own: the session itself, or its topmost parent.
pub fn root(session: &str, ports: &Ports) -> String {
    let mut session = session.to_owned();
    for _ in 0..MAX_PARENTS {
        match read(&session, ports).parent {
            Some(parent) => session = parent,
            None => break,
        }
    }
    session
}

/// Whether anything is kept about a session.
pub fn is_known(session: &str, ports: &Ports) -> bool {
    ports.workspace.inspect(&[question(session)]).first().is_some_and(|facts| facts.kind != FileKind::Missing)
}

/// What to ask the host about the workspace's default.
pub fn default_question() -> Question {
    state::question(DEFAULT)
}

/// The intent that new sessions work for. A file that cannot be used counts as none, and is reported.
pub fn default_intent(ports: &Ports) -> Option<IntentId> {
    let text = state::read(DEFAULT, state::MAX_BYTES, ports).ok()?;
    match json::parse::<DefaultFile>(&text) {
        Ok(file) => Some(file.intent),
        Err(fault) => {
            ports.warn(&format!("`{DEFAULT}` in the state folder cannot be parsed and counts as missing: {fault}"));
            None
        }
    }
}

/// Sets the intent that new sessions work for, or removes it.
pub fn keep_default(intent: Option<&IntentId>, ports: &Ports) -> Result<(), FileFault> {
    match intent {
        Some(intent) => {
            let text = json::line(&DefaultFile { intent: intent.clone() });
            state::replace(DEFAULT, text.as_bytes(), Expectation::Anything, ports)
        }
        None => match state::remove(DEFAULT, ports) {
            Err(FileFault::Missing) => Ok(()),
            removed => removed,
        },
    }
}

/// The selections of all sessions, by name.
pub fn all(ports: &Ports) -> Vec<Selection> {
    let entries = state::list(FOLDER, MAX_SESSIONS, ports).map(|listing| listing.entries).unwrap_or_default();
    let read = |name: &str| state::read(&format!("{FOLDER}/{name}"), state::MAX_BYTES, ports).ok();
    let parsed = entries.iter().filter_map(|entry| json::parse::<Selection>(&read(&entry.path)?).ok());
    let mut all: Vec<Selection> = Vec::new();
    for selection in parsed {
        let at = all.partition_point(|other| other.session < selection.session);
        all.insert(at, selection);
    }
    all
}

/// Keeps a selection.
pub fn keep(selection: &Selection, ports: &Ports) -> Result<(), FileFault> {
    state::replace(&path(&selection.session), json::line(selection).as_bytes(), Expectation::Anything, ports)
}

fn path(session: &str) -> String {
    state::path(FOLDER, &[session])
}

//! Which intent a session works for.
//!
//! Selections are files of their own in the state, because a command hook is a new process for every call, and
//! because an instance that failed is replaced by a fresh one.

use serde::{Deserialize, Serialize};

use super::intent::IntentId;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports, Question};
use crate::state;

/// Where they stand in the state.
const FOLDER: &str = "sessions";

/// How many parents are followed upwards before a line of sub-agents counts as a circle.
const MOST_PARENTS: usize = 8;

/// So many sessions are listed.
const MOST_SESSIONS: u32 = 1_000;

/// What is kept about one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The session, for people who read the file.
    pub session: String,
    /// The intent it selected itself.
    pub intent: Option<IntentId>,
    /// The session it is a sub-agent of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// The last selection that was read, kept until its file changes.
#[derive(Debug, Default)]
pub struct Cache {
    last: Option<(u64, Selection)>,
}

impl Cache {
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
        for _ in 0..MOST_PARENTS {
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

/// What is kept about a session. A file that cannot be used counts as none, and is spoken of.
pub fn read(session: &str, ports: &Ports) -> Selection {
    let path = path(session);
    let nothing = || Selection { session: session.to_owned(), ..Selection::default() };
    match state::read(&path, state::MOST_BYTES, ports) {
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

/// What is kept about every session, by name.
pub fn all(ports: &Ports) -> Vec<Selection> {
    let entries = state::list(FOLDER, MOST_SESSIONS, ports).map(|listing| listing.entries).unwrap_or_default();
    let read = |name: &str| state::read(&format!("{FOLDER}/{name}"), state::MOST_BYTES, ports).ok();
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

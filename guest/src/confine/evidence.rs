//! That a call really ran confined, and in which folders it could reach more than its scope.
//!
//! Kept in the state when a host asks for the grants of a call, which nobody but `tollgate confine` does, and taken away when the
//! call is settled. Where a call was to run confined and there is none, the agent program ran the command as it was.

use serde::{Deserialize, Serialize};

use super::grant::Grants;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports};
use crate::state;

/// Where they stand in the state.
const FOLDER: &str = "confined";

/// What is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Whether the kernel held the command.
    pub held: bool,
    /// Folders in which more could be changed than the scope owns.
    #[serde(default)]
    pub widened: Vec<String>,
}

impl Evidence {
    /// What came of a question for grants.
    pub fn new(held: bool, grants: &Grants) -> Self {
        let widened = grants.list.iter().filter(|grant| grant.widened).map(|grant| grant.path.clone()).collect();
        Self { held, widened }
    }

    /// Whether a path lies in a folder that was opened further than the scope goes.
    pub fn reaches(&self, path: &str) -> bool {
        self.widened.iter().any(|folder| super::grant::is_at_or_below(path, folder))
    }
}

fn path(session: &str, call: &str) -> String {
    state::path(FOLDER, &[session, call])
}

/// Keeps it. In a command that is confined itself nothing can be kept, and need not be.
pub fn keep(session: &str, call: &str, evidence: &Evidence, ports: &Ports) -> Result<(), FileFault> {
    state::replace(&path(session, call), json::line(evidence).as_bytes(), Expectation::Anything, ports)
}

/// What is kept about a call.
pub fn of(session: &str, call: &str, ports: &Ports) -> Option<Evidence> {
    let text = state::read(&path(session, call), state::MOST_BYTES, ports).ok()?;
    json::parse(&text).ok()
}

/// Forgets it.
pub fn forget(session: &str, call: &str, ports: &Ports) {
    let _ = state::remove(&path(session, call), ports);
}

//! Scratch space: a session may change what it itself created directly in a temporary folder of the system.
//!
//! The same goes for the session's own folder there, which confined commands find in `TMPDIR`. Nothing else there is the
//! session's: a file that exists already, or a folder that someone else made, is out of scope like everything outside. Running
//! what lies in a temporary folder has unknown effects ([`resolve`](crate::call::resolve)).

use std::collections::BTreeSet;

use crate::confine::temporary;
use crate::effects::path::{Location, temporary_entry};
use crate::effects::{Effect, Extent, Operation};
use crate::ports::{Expectation, Ports};
use crate::state;

/// Maximum number of entries; a session that makes more is not using scratch space.
const MAX_ENTRIES: usize = 200;

/// What a session has made in temporary folders.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    entries: BTreeSet<String>,
    /// The name of the session's own temporary folder.
    own: String,
}

impl Scratch {
    /// What a session has created, and would create by these effects. Nothing is read if no effect leads to a temporary folder.
    pub(super) fn new(session: &str, effects: &[Effect], ports: &Ports) -> Self {
        let mut made =
            effects.iter().filter(|effect| effect.mutates()).filter_map(|effect| Some((effect, entry(effect)?))).peekable();
        if made.peek().is_none() {
            return Self::default();
        }
        let mut entries = load_scratch(session, ports);
        for (effect, (entry, is_direct)) in made {
            let is_new = effect.operation == Operation::Create && matches!(effect.extent, Extent::Itself | Extent::Folder);
            if is_direct && is_new && entries.len() < MAX_ENTRIES {
                entries.insert(entry.to_owned());
            }
        }
        Self { entries, own: temporary::name(session) }
    }

    /// Whether an effect is on something that the session created.
    pub(super) fn owns(&self, effect: &Effect) -> bool {
        let is_own = |entry: &str| entry.rsplit('/').next() == Some(&self.own) && !self.own.is_empty();
        entry(effect).is_some_and(|(entry, _)| self.entries.contains(entry) || is_own(entry))
    }

    /// What the session has made.
    pub(super) fn of(session: &str, ports: &Ports) -> Vec<String> {
        load_scratch(session, ports).into_iter().collect()
    }

    /// Saves what the session creates.
    pub(super) fn keep(&self, session: &str, ports: &Ports) {
        if self.entries.is_empty() {
            return;
        }
        let text: String = self.entries.iter().map(|entry| format!("{entry}\n")).collect();
        if let Err(fault) = state::replace(&path(session), text.as_bytes(), Expectation::Anything, ports) {
            ports.warn(&format!("what the session creates in temporary folders cannot be recorded: {fault}"));
        }
    }
}

fn load_scratch(session: &str, ports: &Ports) -> BTreeSet<String> {
    let kept = state::read(&path(session), state::MAX_BYTES, ports).unwrap_or_default();
    String::from_utf8_lossy(&kept).lines().map(str::to_owned).collect()
}

fn path(session: &str) -> String {
    state::path("scratch", &[session])
}

/// The entry of a temporary folder that an effect is about, and whether it is about the entry itself.
fn entry(effect: &Effect) -> Option<(&str, bool)> {
    match &effect.location {
        Location::Outside(path) => temporary_entry(path),
        Location::Inside(_) => None,
    }
}

//! Changes that the gate itself has decided to take back: the one kind of `tollgate trace revert` that needs no person.
//!
//! | file of the state | who writes it | what |
//! | --- | --- | --- |
//! | `restoring/KEY.json` | the gate, when it decides that a change is taken back | when that was |
//!
//! `KEY` is made of the entry's id. A permit is good for one use and for a short time. Agents cannot write the state, so they cannot
//! have anything else taken back; a process that is faster than the gate only does what the gate was about to do.

use serde::{Deserialize, Serialize};

use crate::json;
use crate::ports::{Expectation, Ports, Timestamp};
use crate::state;

/// No more changes of one call are taken back without a person.
pub const MAX_ENTRIES: usize = 50;

/// An unused permit expires after this time.
const MAX_AGE_MS: u64 = 60_000;

/// A permit's file is not longer.
const MAX_BYTES: u64 = 256;

#[derive(Serialize, Deserialize)]
struct Permit {
    /// When it was given, in milliseconds since 1970.
    at: u64,
}

fn path(entry: &str) -> String {
    state::path("restoring", &[entry])
}

/// Lets the change of an entry be taken back without a person.
pub fn issue(entry: &str, now: Timestamp, ports: &Ports) {
    let permit = Permit { at: now.0 };
    // If it cannot be written, the change is not taken back, which is reported.
    let _ = state::replace(&path(entry), json::line(&permit).as_bytes(), Expectation::Anything, ports);
}

/// Uses a permit up. True where there was one that still counts.
pub fn redeem(entry: &str, ports: &Ports) -> bool {
    let path = path(entry);
    let Ok(text) = state::read(&path, MAX_BYTES, ports) else { return false };
    let is_struck = state::remove(&path, ports).is_ok();
    let age = |permit: Permit| ports.clock.now().0.checked_sub(permit.at);
    is_struck && json::parse::<Permit>(&text).ok().and_then(age).is_some_and(|age| age <= MAX_AGE_MS)
}

/// Takes a permit away that was not used.
pub fn withdraw(entry: &str, ports: &Ports) {
    let _ = state::remove(&path(entry), ports);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    #[test]
    fn a_permit_is_for_one_entry_once_and_soon() {
        let world = Memory::new();
        let ports = world.ports();
        assert!(!redeem("a", &ports));
        issue("a", ports.clock.now(), &ports);
        assert!(!redeem("b", &ports));
        assert!(redeem("a", &ports));
        assert!(!redeem("a", &ports));
        issue("a", ports.clock.now(), &ports);
        withdraw("a", &ports);
        assert!(!redeem("a", &ports));
        for (at, counts) in [("{}", false), ("{\"at\":0}", false), ("{\"at\":99999999999999999}", false)] {
            state::replace(&path("a"), at.as_bytes(), Expectation::Anything, &ports).unwrap();
            assert_eq!(redeem("a", &ports), counts, "{at}");
        }
    }
}

//! Permits for changes that the gate itself has decided to revert: the only kind of `tollgate trace revert` that needs no person.
//!
//! | state file | written by | content |
//! | --- | --- | --- |
//! | `restoring/KEY.json` | the gate, when it decides to revert a change | the time of the decision |
//!
//! `KEY` is made from the id of the ledger entry. A permit can be used once and for a short time. Agents cannot write the state,
//! so they cannot have anything else reverted; a process that is faster than the gate only does what the gate was about to do.

use serde::{Deserialize, Serialize};

use crate::json;
use crate::ports::{Expectation, Ports, Timestamp};
use crate::state;

/// The most changes of one call that are reverted without a person.
pub const MAX_ENTRIES: usize = 50;

/// An unused permit expires after this time.
const MAX_AGE_MS: u64 = 60_000;

/// The largest permit file, in bytes.
const MAX_BYTES: u64 = 256;

#[derive(Serialize, Deserialize)]
struct Permit {
    /// When the permit was issued, in milliseconds since 1970.
    at: u64,
}

fn path(entry: &str) -> String {
    state::path("restoring", &[entry])
}

/// Permits the change of an entry to be reverted without a person.
pub fn issue(entry: &str, now: Timestamp, ports: &Ports) {
    let permit = Permit { at: now.0 };
    // If the permit cannot be written, the change is not reverted, and that is reported.
    let _ = state::replace(&path(entry), json::line(&permit).as_bytes(), Expectation::Anything, ports);
}

/// Uses up a permit. Returns true if there was one that had not expired.
pub fn redeem(entry: &str, ports: &Ports) -> bool {
    let path = path(entry);
    let Ok(text) = state::read(&path, MAX_BYTES, ports) else { return false };
    let is_struck = state::remove(&path, ports).is_ok();
    let age = |permit: Permit| ports.clock.now().0.checked_sub(permit.at);
    is_struck && json::parse::<Permit>(&text).ok().and_then(age).is_some_and(|age| age <= MAX_AGE_MS)
}

/// Removes a permit that was not used.
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

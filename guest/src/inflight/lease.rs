//! Leases: which session is writing to a file right now.
//!
//! Taken when a write is allowed, given back when it is settled. A file per path in `leases/` of the state, made only
//! where there is none, so of two sessions one gets it. A session that died keeps it for a minute at most.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports, Timestamp};
use crate::state;

/// How long a lease lasts.
const MAX_MS: u64 = 60_000;

/// A lease on one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The file.
    pub path: String,
    /// Who writes to it.
    pub session: String,
    /// With which call.
    pub call: String,
    /// And which tool.
    pub tool: String,
    /// When it ends, in milliseconds since 1970.
    pub until: u64,
}

/// Why a lease was refused.
#[derive(Debug)]
pub enum LeaseDenial {
    /// Another session has it.
    Held(Lease),
    /// It could not be written.
    Fault(FileFault),
}

impl Lease {
    /// A lease on a file for a call, from now on.
    pub fn new(path: &str, session: &str, call: &str, tool: &str, now: Timestamp) -> Self {
        Self {
            path: path.to_owned(),
            session: session.to_owned(),
            call: call.to_owned(),
            tool: tool.to_owned(),
            until: now.0 + MAX_MS,
        }
    }

    /// Takes it.
    pub fn take(&self, now: Timestamp, ports: &Ports) -> Result<(), LeaseDenial> {
        let at = at(&self.path);
        let text = json::line(self);
        let mut expected = Expectation::Absent;
        // Someone else may take or give it back between our look and our try.
        for _ in 0..4 {
            match state::replace(&at, text.as_bytes(), expected, ports) {
                Ok(()) => return Ok(()),
                Err(FileFault::Exists | FileFault::Changed) => {}
                Err(fault) => return Err(LeaseDenial::Fault(fault)),
            }
            expected = match state::read(&at, state::MAX_BYTES, ports) {
                Ok(found) => match json::parse::<Self>(&found) {
                    Ok(lease) if lease.session != self.session && lease.holds(now) => return Err(LeaseDenial::Held(lease)),
                    _ => Expectation::Digest(Digest::of(&found)),
                },
                Err(FileFault::Missing) => Expectation::Absent,
                Err(fault) => return Err(LeaseDenial::Fault(fault)),
            };
        }
        Err(LeaseDenial::Fault(FileFault::Busy))
    }

    /// Whether it still counts. One that ends later than any lease can was made by a clock that has since been set back.
    fn holds(&self, now: Timestamp) -> bool {
        (now.0..=now.0 + MAX_MS).contains(&self.until)
    }
}

/// Whether the session itself holds a lease on a file.
pub fn is_of(path: &str, session: &str, now: Timestamp, ports: &Ports) -> bool {
    read(path, ports).is_some_and(|lease| lease.session == session && lease.holds(now))
}

/// Whether a call other than this one holds a lease on a file.
pub fn is_of_another(path: &str, session: &str, call: &str, now: Timestamp, ports: &Ports) -> bool {
    read(path, ports).is_some_and(|lease| (&*lease.session, &*lease.call) != (session, call) && lease.holds(now))
}

/// Gives a lease back, if it is still this call's.
pub fn release(path: &str, session: &str, call: &str, ports: &Ports) {
    if read(path, ports).is_some_and(|lease| lease.session == session && lease.call == call) {
        let _ = state::remove(&at(path), ports);
    }
}

/// Removes leases that have expired.
pub fn sweep(now: Timestamp, ports: &Ports) {
    state::sweep("leases", |content| !json::parse::<Lease>(content).is_ok_and(|lease| lease.holds(now)), ports);
}

fn read(path: &str, ports: &Ports) -> Option<Lease> {
    let bytes = state::read(&at(path), state::MAX_BYTES, ports).ok()?;
    json::parse(&bytes).ok()
}

fn at(path: &str) -> String {
    state::path("leases", &[path])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    fn lease(session: &str, now: u64) -> Lease {
        Lease::new("src/a", session, "c", "write", Timestamp(now))
    }

    #[test]
    fn the_second_waits_until_the_first_is_done_or_dead() {
        let ports = Memory::new().ports();
        let take = |session: &str, now: u64| lease(session, now).take(Timestamp(now), &ports);
        assert!(take("one", 1_000).is_ok());
        assert!(take("one", 2_000).is_ok(), "a session does not hold itself up");
        assert!(matches!(take("two", 3_000), Err(LeaseDenial::Held(held)) if held.session == "one"));
        assert!(matches!(take("two", 62_000), Err(LeaseDenial::Held(_))));
        assert!(take("two", 62_001).is_ok(), "a minute after the last write it has died");
        assert!(matches!(take("one", 62_002), Err(LeaseDenial::Held(_))));
        release("src/a", "one", "c", &ports);
        assert!(matches!(take("one", 62_003), Err(LeaseDenial::Held(_))), "nobody gives back what is not theirs");
        release("src/a", "two", "c", &ports);
        assert!(take("one", 62_004).is_ok());
        assert!(take("two", 1).is_ok(), "a clock that was set back does not lock anybody out");
    }
}

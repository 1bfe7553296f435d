//! Leases: which session is writing to a file right now.
//!
//! A lease is taken when a write is allowed, and released when it is settled. A session that died keeps it for a minute at most.
//!
//! Each path has a journal in `leases/` of the state, to which sessions append that they take the lease or release it. The order
//! of the lines decides, and every reader comes to the same result: of two sessions, the one whose line comes first gets the
//! lease. Appending to an existing file takes a seventh of the time of creating and removing one.
//!
//! A line is `take`, the end of the lease, session, call, tool, path and a dot, or `free`, session, call and a dot, separated by
//! tabs; names are JSON strings, which contain no tabs. A line without the dot was cut off.

use crate::json;
use crate::ports::{FileFault, Ports, Timestamp};
use crate::state;
use crate::state::journal::{self, Journal};

/// How long a lease lasts.
const MAX_MS: u64 = 60_000;

/// How far the clock of another process may be ahead: a call is checked for a while after its clock was read.
const SLACK_MS: u64 = 5_000;

/// A journal longer than this is cut down to the line of whoever holds the lease.
const LONG_BYTES: usize = 4 << 10;

/// A journal that nobody has written to for this long may be removed.
const UNUSED_MS: u64 = 3_600_000;

/// The folder of the journals in the state.
const FOLDER: &str = "leases";

/// Number of journals above which unused ones are removed.
const MANY: usize = 256;

/// Maximum number of journals that are looked at.
const MAX_SWEPT: u32 = 10_000;

/// A lease on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The file.
    pub path: String,
    /// The session that writes to it.
    pub session: String,
    /// The call with which it writes.
    pub call: String,
    /// The tool of the call.
    pub tool: String,
    /// When it ends, in milliseconds since 1970.
    pub until: u64,
}

/// Why a lease was refused.
#[derive(Debug)]
pub enum LeaseDenial {
    /// Another session holds it.
    Held(Lease),
    /// It could not be written.
    Fault(FileFault),
}

impl Lease {
    /// A lease on a file for a call, starting now.
    pub fn new(path: &str, session: &str, call: &str, tool: &str, now: Timestamp) -> Self {
        Self {
            path: path.to_owned(),
            session: session.to_owned(),
            call: call.to_owned(),
            tool: tool.to_owned(),
            until: now.0 + MAX_MS,
        }
    }

    /// Takes the lease.
    pub fn take(&self, now: Timestamp, ports: &Ports) -> Result<(), LeaseDenial> {
        let at = journal_path(&self.path);
        let taken = self.try_take(&at, now, ports);
        if matches!(taken, Err(LeaseDenial::Fault(_))) {
            // The line may have been written all the same.
            release(&self.path, &self.session, &self.call, ports);
        }
        taken
    }

    fn try_take(&self, at: &str, now: Timestamp, ports: &Ports) -> Result<(), LeaseDenial> {
        let line = self.line();
        // A journal that is cut down or removed at this moment may lose the line.
        for _ in 0..4 {
            journal::append(at, &line, ports).map_err(LeaseDenial::Fault)?;
            let journal = match Journal::read(at, state::MAX_BYTES, ports) {
                Ok(journal) => journal,
                Err(FileFault::Missing) => continue,
                Err(fault) => return Err(LeaseDenial::Fault(fault)),
            };
            match holder(&journal).filter(|holder| holder.holds(now)) {
                Some(holder) if holder.session != self.session => return Err(LeaseDenial::Held(holder)),
                Some(holder) if has_line(&journal, &line) => {
                    if holder == *self && journal.bytes() > LONG_BYTES {
                        // Lines that are lost by this belong to sessions that were refused, to other calls of this session, or to
                        // someone who looks again and is then refused.
                        let _ = journal.replace(at, [line.as_bytes()], ports);
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(LeaseDenial::Fault(FileFault::Busy))
    }

    /// Whether the lease still counts.
    fn holds(&self, now: Timestamp) -> bool {
        is_held(self.until, now.0)
    }

    fn line(&self) -> String {
        let Self { path, session, call, tool, until } = self;
        let [session, call, tool, path] = [session, call, tool, path].map(json::line);
        format!("take\t{until}\t{session}\t{call}\t{tool}\t{path}\t.")
    }
}

/// Whether a journal has a line. After that line, another call of the session may have taken the lease, too.
fn has_line(journal: &Journal, line: &str) -> bool {
    journal.lines().any(|found| found == line.as_bytes())
}

/// Whether a lease that ends at `until` counts at a moment. One that ends later than any lease can was made by a clock that has
/// since been set back.
fn is_held(until: u64, now: u64) -> bool {
    (now..=now.saturating_add(MAX_MS + SLACK_MS)).contains(&until)
}

/// A line of a journal, with names as they are stored.
enum JournalLine<'j> {
    /// Someone wants the lease, and has it if nobody else had it then.
    Take { until: u64, session: &'j str, call: &'j str, tool: &'j str, path: &'j str },
    /// Someone releases the lease.
    Free { session: &'j str, call: &'j str },
}

impl<'j> JournalLine<'j> {
    fn parse(line: &'j [u8]) -> Option<Self> {
        let fields: Vec<&str> = std::str::from_utf8(line).ok()?.split('\t').collect();
        match *fields {
            ["take", until, session, call, tool, path, "."] => {
                Some(Self::Take { until: until.parse().ok()?, session, call, tool, path })
            }
            ["free", session, call, "."] => Some(Self::Free { session, call }),
            _ => None,
        }
    }

    /// The lease that a line takes.
    fn lease(&self) -> Option<Lease> {
        let Self::Take { until, session, call, tool, path } = self else { return None };
        let text = |name: &str| json::parse::<String>(name.as_bytes()).ok();
        Some(Lease { path: text(path)?, session: text(session)?, call: text(call)?, tool: text(tool)?, until: *until })
    }
}

/// The lease that was taken last and has not been released; it may have expired.
fn holder(journal: &Journal) -> Option<Lease> {
    let mut held: Option<JournalLine<'_>> = None;
    for line in journal.lines().filter_map(JournalLine::parse) {
        let is_kept = match (&held, &line) {
            (Some(JournalLine::Take { until, session, .. }), JournalLine::Take { until: wanted, session: wants, .. }) => {
                session != wants && is_held(*until, wanted.saturating_sub(MAX_MS))
            }
            (Some(JournalLine::Take { session, call, .. }), JournalLine::Free { session: by, call: of }) => {
                (session, call) != (by, of)
            }
            _ => false,
        };
        if !is_kept {
            held = Some(line);
        }
    }
    held.and_then(|line| line.lease())
}

/// Whether the session itself holds a lease on a file.
pub fn is_held_by(path: &str, session: &str, now: Timestamp, ports: &Ports) -> bool {
    read(path, now, ports).is_some_and(|lease| lease.session == session)
}

/// Whether a call other than this one holds a lease on a file.
pub fn is_held_by_another_call(path: &str, session: &str, call: &str, now: Timestamp, ports: &Ports) -> bool {
    read(path, now, ports).is_some_and(|lease| (&*lease.session, &*lease.call) != (session, call))
}

/// Releases a lease that a call has taken.
pub fn release(path: &str, session: &str, call: &str, ports: &Ports) {
    let [session, call] = [session, call].map(|name| json::line(&name));
    // If this cannot be written, the lease expires.
    let _ = journal::append(&journal_path(path), &format!("free\t{session}\t{call}\t."), ports);
}

/// Removes journals that have not been used for a long time, if there are many.
pub fn sweep(now: Timestamp, ports: &Ports) {
    let entries = state::list(FOLDER, MAX_SWEPT, ports).map(|listing| listing.entries).unwrap_or_default();
    if entries.len() < MANY {
        return;
    }
    for entry in entries {
        let path = format!("{FOLDER}/{}", entry.path);
        // Not every system reports when a file changed. Someone may have taken the lease since it was reported.
        let may_be_unused = entry.changed_ms.saturating_add(UNUSED_MS) < now.0;
        let is_held = |journal: Journal| holder(&journal).is_some_and(|lease| lease.holds(now));
        if may_be_unused && !Journal::read(&path, state::MAX_BYTES, ports).is_ok_and(is_held) {
            let _ = state::remove(&path, ports);
        }
    }
}

fn read(path: &str, now: Timestamp, ports: &Ports) -> Option<Lease> {
    let journal = Journal::read(&journal_path(path), state::MAX_BYTES, ports).ok()?;
    holder(&journal).filter(|lease| lease.holds(now))
}

fn journal_path(path: &str) -> String {
    state::path(FOLDER, &[path])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ports::Root;
    use crate::ports::memory::{Memory, STATE};

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

    #[test]
    fn a_line_that_was_cut_off_counts_for_nothing() {
        let world = Memory::new();
        let ports = world.ports();
        let taken = lease("one", 1_000).line();
        for end in 1..taken.len() {
            ports.records.append(Root::State, &journal_path("src/a"), &taken.as_bytes()[..end]).unwrap();
            assert!(!is_held_by("src/a", "one", Timestamp(1_000), &ports));
            assert!(lease("two", 1_000).take(Timestamp(1_000), &ports).is_ok(), "{end}");
            release("src/a", "two", "c", &ports);
        }
    }

    #[test]
    fn a_long_journal_is_cut_down_and_says_the_same() {
        let world = Memory::new();
        let ports = world.ports();
        let mut longest = 0;
        for now in 1_000..1_100 {
            lease("one", now).take(Timestamp(now), &ports).unwrap();
            assert!(
                matches!(lease("two", now).take(Timestamp(now), &ports), Err(LeaseDenial::Held(held)) if held.session == "one")
            );
            longest = longest.max(world.content(&format!("{STATE}/{}", journal_path("src/a"))).unwrap().len());
        }
        assert!(longest < LONG_BYTES + 500, "{longest}");
        assert!(is_held_by("src/a", "one", Timestamp(1_100), &ports));
    }

    #[test]
    fn a_process_whose_clock_is_a_little_behind_is_refused_all_the_same() {
        let ports = Memory::new().ports();
        assert!(lease("one", 1_003).take(Timestamp(1_003), &ports).is_ok());
        assert!(lease("two", 1_000).take(Timestamp(1_000), &ports).is_err());
    }

    #[test]
    fn calls_of_one_session_do_not_hold_each_other_up() {
        let world = Memory::new();
        let ports = world.ports();
        let other = Lease::new("src/a", "one", "d", "write", Timestamp(1_000));
        // The other lease is appended between our line and our read.
        world.after_append(&journal_path("src/a"), format!("\n{}\n", other.line()).as_bytes());
        assert!(lease("one", 1_000).take(Timestamp(1_000), &ports).is_ok());
        assert!(is_held_by_another_call("src/a", "one", "c", Timestamp(1_000), &ports));
        let journal = Journal::read(&journal_path("src/a"), state::MAX_BYTES, &ports).unwrap();
        assert_eq!(journal.lines().count(), 2);
    }

    #[test]
    fn journals_that_nobody_uses_are_removed() {
        let world = Memory::new();
        let ports = world.ports();
        let take =
            |name: String| Lease::new(&name, "one", "c", "write", ports.clock.now()).take(ports.clock.now(), &ports).unwrap();
        (0..MANY).for_each(|number| take(format!("src/{number}")));
        sweep(ports.clock.now(), &ports);
        assert_eq!(world.count(&format!("{STATE}/{FOLDER}")), MANY);
        world.pass(UNUSED_MS + 1);
        take("src/0".to_owned());
        sweep(ports.clock.now(), &ports);
        assert_eq!(world.count(&format!("{STATE}/{FOLDER}")), 1);
    }

    proptest! {
        /// A sequence of takes and returns by three sessions gives the lease to those that a lock with a time limit would.
        #[test]
        fn it_is_a_lock_with_a_time_limit(steps in prop::collection::vec((0..3usize, 0..2u8, 0..40_000u64), 1..60)) {
            let ports = Memory::new().ports();
            let names = ["one", "two", "three"];
            let (mut now, mut held): (u64, Option<(usize, u64)>) = (1_000_000, None);
            for (who, what, later) in steps {
                now += later;
                let is_free = held.is_none_or(|(holder, until)| holder == who || until < now);
                if what == 0 {
                    prop_assert_eq!(lease(names[who], now).take(Timestamp(now), &ports).is_ok(), is_free);
                    if is_free {
                        held = Some((who, now + MAX_MS));
                    }
                } else {
                    release("src/a", names[who], "c", &ports);
                    held = held.filter(|(holder, _)| *holder != who);
                }
            }
        }
    }
}

//! Leases: which session is writing to a file right now.
//!
//! A lease is taken when a write is allowed, and released when it is settled. A session that died keeps it for a minute at most.
//!
//! Each path has a journal in `leases/` of the state, to which sessions append that they take the lease or release it. The order
//! of the lines decides, and every reader comes to the same result: of two sessions, the one whose line comes first gets the
//! lease. Appending to an existing file takes a seventh of the time of creating and removing one.
//!
//! Calls of one session do not hold each other up. Each of them takes the lease, and the session holds it until all of them have
//! released it.
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

/// A journal longer than this is cut down to the lines of whoever holds the lease, by them.
const LONG_BYTES: usize = 4 << 10;

/// A journal longer than this is cut down by whoever is refused: a session that asks again and again appends a line each time, and
/// the holder may not look for as long as its call runs.
const TOO_LONG_BYTES: usize = 64 << 10;

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
            let journal = match Journal::read_latest(at, state::MAX_BYTES, ports) {
                Ok(journal) => journal,
                Err(FileFault::Missing) => continue,
                Err(fault) => return Err(LeaseDenial::Fault(fault)),
            };
            let held = HeldLeases::of(&journal);
            match held.latest(now) {
                Some(holder) if holder.session != self.session => {
                    if journal.bytes() > TOO_LONG_BYTES {
                        let _ = journal.replace(at, held.lines(now), ports);
                    }
                    return Err(LeaseDenial::Held(holder));
                }
                Some(_) if has_line(&journal, &line) => {
                    if journal.bytes() > LONG_BYTES {
                        // Lines that are lost by this belong to sessions that were refused, to a call that is appending at this
                        // moment, or to someone who looks again and is then refused.
                        let _ = journal.replace(at, held.lines(now), ports);
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(LeaseDenial::Fault(FileFault::Busy))
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
#[derive(Clone, Copy)]
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

/// A line with which a call took the lease.
struct LeaseLine<'j> {
    line: &'j [u8],
    parsed: JournalLine<'j>,
    session: &'j str,
    call: &'j str,
    until: u64,
}

/// What the calls of one session have taken and not released, in the order of the journal; it may have expired.
struct HeldLeases<'j>(Vec<LeaseLine<'j>>);

impl<'j> HeldLeases<'j> {
    fn of(journal: &'j Journal) -> Self {
        let mut held: Vec<LeaseLine<'j>> = Vec::new();
        for line in journal.lines() {
            match JournalLine::parse(line) {
                Some(parsed @ JournalLine::Take { until, session, call, .. }) => {
                    let asked = until.saturating_sub(MAX_MS);
                    if held.iter().any(|take| take.session != session && is_held(take.until, asked)) {
                        continue;
                    }
                    // A call that takes it again holds it once.
                    held.retain(|take| take.session == session && take.call != call);
                    held.push(LeaseLine { line, parsed, session, call, until });
                }
                Some(JournalLine::Free { session, call }) => held.retain(|take| (take.session, take.call) != (session, call)),
                None => {}
            }
        }
        Self(held)
    }

    fn live(&self, now: Timestamp) -> impl Iterator<Item = &LeaseLine<'j>> {
        self.0.iter().filter(move |take| is_held(take.until, now.0))
    }

    /// The lease that was taken last.
    fn latest(&self, now: Timestamp) -> Option<Lease> {
        self.live(now).last().and_then(|take| take.parsed.lease())
    }

    /// The lines by which the lease is held.
    fn lines(&self, now: Timestamp) -> impl Iterator<Item = &'j [u8]> {
        self.live(now).map(|take| take.line)
    }
}

/// Whether the session itself holds a lease on a file.
pub fn is_held_by(path: &str, session: &str, now: Timestamp, ports: &Ports) -> bool {
    read(path, now, ports).iter().any(|lease| lease.session == session)
}

/// Whether a call other than this one holds a lease on a file.
pub fn is_held_by_another_call(path: &str, session: &str, call: &str, now: Timestamp, ports: &Ports) -> bool {
    read(path, now, ports).iter().any(|lease| (&*lease.session, &*lease.call) != (session, call))
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
        let is_held = |journal: Journal| HeldLeases::of(&journal).latest(now).is_some();
        if may_be_unused && !Journal::read_latest(&path, state::MAX_BYTES, ports).is_ok_and(is_held) {
            let _ = state::remove(&path, ports);
        }
    }
}

/// The leases that the calls of one session hold on a file.
fn read(path: &str, now: Timestamp, ports: &Ports) -> Vec<Lease> {
    let journal = Journal::read_latest(&journal_path(path), state::MAX_BYTES, ports).unwrap_or_default();
    HeldLeases::of(&journal).live(now).filter_map(|take| take.parsed.lease()).collect()
}

fn journal_path(path: &str) -> String {
    state::path(FOLDER, &[path])
}

#[cfg(test)]
mod tests;

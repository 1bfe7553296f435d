//! Who is writing to a file at this moment.
//!
//! A call that was allowed holds the files that it changes until it is settled, by its line in the [`journal`](super::journal): the
//! first line counts, so of two sessions one gets a file. A session that died keeps it for a minute at most.

use std::collections::BTreeSet;

use super::journal::{self, Kind, Line, Part};
use super::pending::{CallOrigin, Pending, Record};
use crate::ports::{FileFault, Ports, Timestamp};

/// So long a file is held.
const MAX_MS: u64 = 60_000;

/// A call that changes more files, a folder that goes with everything in it, holds only so many.
const MAX_FILES: usize = 64;

/// The digits of a file's hash in a line.
const DIGITS: usize = 8;

/// What a line says that holds nothing.
const NOTHING: &str = "-";

/// A file that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The file.
    pub path: String,
    /// Who writes to it.
    pub session: String,
    /// With which tool.
    pub tool: String,
    /// When it ends, in milliseconds since 1970.
    pub until: u64,
}

/// Why a lease could not be had.
#[derive(Debug)]
pub enum LeaseDenial {
    /// Another session has it.
    Held(Lease),
    /// It could not be written, or not be seen who has it.
    Fault(FileFault),
}

impl From<FileFault> for LeaseDenial {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault)
    }
}

/// The files that a call holds, as its line in the journal has them.
pub(super) fn files_of(pending: &Pending) -> String {
    if !pending.holds || pending.changes.is_empty() {
        return NOTHING.to_owned();
    }
    held(pending).into_iter().map(hash).collect()
}

/// In one order for everybody, so that of two calls with the same files one gets them all.
fn held(pending: &Pending) -> Vec<&str> {
    let paths: BTreeSet<&str> = pending.changes.iter().map(|change| change.path.as_str()).collect();
    paths.into_iter().take(MAX_FILES).collect()
}

/// A short hash of a path, to pass over lines that are about other files.
fn hash(path: &str) -> String {
    let mixed = path.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{mixed:0DIGITS$x}")
}

/// Looks whether another session came first to one of the files of a call whose line has been appended.
pub(super) fn look_for_others(key: &str, pending: &Pending, ports: &Ports) -> Result<(), LeaseDenial> {
    let now = ports.clock.now();
    let paths = held(pending);
    let is_other = |caller: &CallOrigin| caller.session != pending.caller.session;
    let own = Part::since(pending.since, now.0.saturating_sub(2 * MAX_MS), ports)?;
    let position = own.lines().rposition_of(key, pending.since).ok_or(FileFault::Other)?;
    if let Some(lease) = holder(&own, own.lines().take(position), &paths, now, is_other) {
        return Err(LeaseDenial::Held(lease));
    }
    // Whoever rules on a call when an hour ends appends to another file than whoever comes a moment later.
    for at in neighbours(pending.since, now) {
        let part = Part::since(at, now.0.saturating_sub(2 * MAX_MS), ports)?;
        if let Some(lease) = holder(&part, part.lines(), &paths, now, is_other) {
            return Err(LeaseDenial::Held(lease));
        }
    }
    Ok(())
}

/// Moments of other hours in which a call that counts may have been ruled on.
fn neighbours(since: u64, now: Timestamp) -> Vec<u64> {
    let before = since.saturating_sub(MAX_MS);
    [before, now.0].into_iter().filter(|at| !journal::is_same_hour(*at, since)).collect()
}

/// Finds a call's own line.
trait Lines {
    fn rposition_of(self, key: &str, since: u64) -> Option<usize>;
}

impl<'j, L: Iterator<Item = Line<'j>>> Lines for L {
    fn rposition_of(self, key: &str, since: u64) -> Option<usize> {
        self.enumerate().filter(|(_, line)| line.kind == Kind::Open && line.is_of(key, since)).last().map(|(at, _)| at)
    }
}

/// Who holds one of these files, by these lines of a part.
fn holder<'j>(
    part: &Part,
    lines: impl Iterator<Item = Line<'j>>,
    paths: &[&str],
    now: Timestamp,
    is_meant: impl Fn(&CallOrigin) -> bool,
) -> Option<Lease> {
    let hashes: Vec<String> = paths.iter().map(|path| hash(path)).collect();
    let is_alive = |line: &Line<'_>| line.since <= now.0 && now.0 - line.since <= MAX_MS;
    let opened = lines.filter(|line| line.kind == Kind::Open && is_alive(line));
    opened.into_iter().find_map(|line| {
        let (files, _) = line.rest.split_once(' ')?;
        let mentions = |hash: &String| files.as_bytes().chunks(DIGITS).any(|file| file == hash.as_bytes());
        let is_free = || [Kind::Over, Kind::GivenBack].iter().any(|kind| part.has(*kind, line.key, line.since));
        if files == NOTHING || !hashes.iter().any(mentions) || is_free() {
            return None;
        }
        let Record { call, .. } = Record::of(&line)?;
        let path = paths.iter().find(|path| call.changes.iter().any(|change| change.path == **path))?;
        is_meant(&call.caller).then(|| Lease {
            path: (*path).to_owned(),
            session: call.caller.session,
            tool: call.caller.tool,
            until: line.since + MAX_MS,
        })
    })
}

/// Whether the session itself holds a file.
pub fn is_of(path: &str, session: &str, now: Timestamp, ports: &Ports) -> bool {
    is_held(path, now, ports, |caller| caller.session == session)
}

/// Whether a call other than this one holds a file.
pub fn is_of_another(path: &str, session: &str, call: &str, now: Timestamp, ports: &Ports) -> bool {
    is_held(path, now, ports, |caller| (&*caller.session, &*caller.call) != (session, call))
}

fn is_held(path: &str, now: Timestamp, ports: &Ports, is_meant: impl Fn(&CallOrigin) -> bool) -> bool {
    let held_in = |at: u64| {
        let part = Part::since(at, now.0.saturating_sub(2 * MAX_MS), ports).unwrap_or_default();
        holder(&part, part.lines(), &[path], now, &is_meant).is_some()
    };
    held_in(now.0) || neighbours(now.0, now).into_iter().any(held_in)
}

#[cfg(test)]
mod tests {
    use super::super::pending::{self, AllowedChange, Slot};
    use super::*;
    use crate::effects::{Operation, Persistence};
    use crate::intents::intent::IntentId;
    use crate::ports::memory::Memory;

    fn call(session: &str, id: &str, since: u64, paths: &[&str]) -> Pending {
        let change = |path: &&str| AllowedChange {
            path: (*path).to_owned(),
            operation: Operation::Modify,
            pre_hash: None,
            before: None,
        };
        let caller =
            CallOrigin { session: session.to_owned(), call: id.to_owned(), tool: "write".to_owned(), ..CallOrigin::default() };
        Pending {
            caller,
            intent: IntentId::try_from("I".to_owned()).unwrap(),
            since,
            changes: paths.iter().map(change).collect(),
            certain: true,
            persistence: Persistence::Ends,
            is_presumed_refused: false,
            open_ended: None,
            confined: false,
            holds: true,
        }
    }

    fn take(world: &std::rc::Rc<Memory>, session: &str, paths: &[&str]) -> Result<Slot, LeaseDenial> {
        let ports = world.ports();
        let pending = call(session, "c", ports.clock.now().0, paths);
        let slot = Slot::of(&pending);
        pending::open(&pending, &ports).map(|()| slot)
    }

    #[test]
    fn the_second_waits_until_the_first_is_done_or_dead() {
        let world = Memory::new();
        let ports = world.ports();
        let is_held = |session: &str| matches!(take(&world, session, &["src/a"]), Err(LeaseDenial::Held(_)));
        assert!(take(&world, "one", &["src/a"]).is_ok());
        let again = take(&world, "one", &["src/a"]).unwrap();
        assert!(matches!(take(&world, "two", &["src/b", "src/a"]), Err(LeaseDenial::Held(held)) if held.session == "one"));
        assert!(take(&world, "two", &["src/b"]).is_ok(), "whoever was denied holds nothing");
        assert!(is_of("src/a", "one", ports.clock.now(), &ports) && !is_of("src/a", "two", ports.clock.now(), &ports));
        pending::forget(&again, &ports);
        world.pass(60_001);
        assert!(!is_held("two"), "a minute after the last write it has died");
        assert!(is_held("one"));
        assert!(is_of_another("src/a", "two", "other", ports.clock.now(), &ports));
        assert!(!is_of_another("src/a", "two", "c", ports.clock.now(), &ports));
    }

    #[test]
    fn what_is_given_back_is_free() {
        let world = Memory::new();
        let ports = world.ports();
        let slot = take(&world, "one", &["src/a"]).unwrap();
        pending::give_back(&slot, &ports);
        assert!(take(&world, "two", &["src/a"]).is_ok());
    }

    /// Both rule before either has appended: the order of the lines decides, and not who looks first.
    #[test]
    fn of_two_at_once_the_first_line_counts() {
        let world = Memory::new();
        let ports = world.ports();
        let now = ports.clock.now().0;
        let (one, two) = (call("one", "1", now, &["src/a"]), call("two", "2", now, &["src/a"]));
        for pending in [&one, &two] {
            pending::append_open(pending, &ports).unwrap();
        }
        let look = |pending: &Pending| look_for_others(&Slot::of(pending).key, pending, &ports);
        assert!(matches!(look(&two), Err(LeaseDenial::Held(_))));
        assert!(look(&one).is_ok());
    }

    #[test]
    fn an_hour_that_ends_lets_nobody_pass_twice() {
        let world = Memory::new();
        let ports = world.ports();
        let begin = (ports.clock.now().0 / 3_600_000 + 1) * 3_600_000;
        world.pass(begin - 1 - ports.clock.now().0);
        assert!(take(&world, "one", &["src/a"]).is_ok());
        world.pass(2);
        assert!(matches!(take(&world, "two", &["src/a"]), Err(LeaseDenial::Held(_))));
    }

    #[test]
    fn names_that_hash_alike_are_told_apart() {
        let world = Memory::new();
        // The hash is short; the record decides.
        assert!(take(&world, "one", &["src/a"]).is_ok());
        let ports = world.ports();
        let now = ports.clock.now();
        let part = Part::end(now.0, &ports).unwrap();
        assert!(holder(&part, part.lines(), &["src/a"], now, |_| true).is_some());
        assert!(holder(&part, part.lines(), &["src/b"], now, |_| true).is_none());
    }
}

//! Calls whose programs may still be running after the call ended, and the workspace as it was last compared for them.
//!
//! One file in the state contains both: on its first line the calls, after it every file of the workspace, as in a [`Snapshot`].
//! The file is missing or empty if no call may still be running. A process adds or removes a call if the file is still what it
//! read; only the process that has claimed the comparison ([`claim`]) replaces the files.

use serde::{Deserialize, Serialize};

use super::pending::CallOrigin;
use super::snapshot::{self, Snapshot};
use crate::digest::Digest;
use crate::effects::Persistence;
use crate::intents::intent::IntentId;
use crate::json;
use crate::ports::{Expectation, Facts, FileFault, FileKind, Ports, Question, Timestamp};
use crate::state;

/// The path of the file in the state.
const WATCH: &str = "late/watch";

/// The claim of the process that compares at this moment.
const CLAIM: &str = "late/comparing";

/// The last reported reason why changes by running calls are not detected.
const UNSEEN: &str = "late/unseen";

/// Maximum number of calls that are watched; beyond that, the oldest is dropped.
pub const MAX_CALLS: usize = 16;

/// Maximum time for which a call is watched.
pub const MAX_AGE_MS: u64 = 86_400_000;

/// Maximum number of paths that a call says it changes and for which it is watched.
const MAX_PATHS: usize = 64;

/// Maximum number of files remembered as entered for one call.
pub const MAX_ENTERED: usize = 1_000;

/// Maximum size of the file: the files of a snapshot, and what is remembered about calls. A larger file is damaged.
const MAX_BYTES: u64 = snapshot::MAX_BYTES + (8 << 20);

/// How long a claim holds: nobody compares longer, unless they were killed.
const CLAIM_MS: u64 = 10_000;

/// Maximum number of attempts to change the file while others change it too.
const MAX_TRIES: usize = 8;

/// A call whose program may still be running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ongoing {
    /// The origin of the call.
    pub caller: CallOrigin,
    /// The intent under which it was ruled on.
    pub intent: IntentId,
    /// When it was allowed, in milliseconds since 1970.
    pub began: u64,
    /// How long it may last.
    pub persistence: Persistence,
    /// The patterns that the intent owned then.
    pub scope: Vec<String>,
    /// The files that it says it changes.
    pub paths: Vec<String>,
    /// Whether it may change other files too.
    pub open_ended: bool,
    /// Files that were entered for it since the last turn ended.
    #[serde(default)]
    pub entered: Vec<String>,
    /// Whether its session has ended.
    #[serde(default)]
    pub is_over: bool,
    /// Whether it has ended itself, so that it is watched only until the next comparison that succeeds.
    #[serde(default)]
    pub has_ended: bool,
}

impl Ongoing {
    /// Whether it is this call.
    pub fn is_call(&self, session: &str, call: &str) -> bool {
        self.caller.session == session && self.caller.call == call
    }

    /// Whether it may have changed a file.
    pub fn may_change(&self, path: &str) -> bool {
        self.open_ended || self.declares(path)
    }

    /// Whether it says that it changes a file.
    pub fn declares(&self, path: &str) -> bool {
        self.paths.iter().any(|declared| declared == path)
    }

    /// Whether it has been watched for the maximum time.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.began.saturating_add(MAX_AGE_MS) < now.0
    }
}

/// The calls whose programs may still be running, and what they are compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    /// When the files were last looked at, in milliseconds since 1970.
    pub since: u64,
    /// What git ignored when the first of the calls began.
    pub ignored: String,
    /// The calls, oldest first.
    pub calls: Vec<Ongoing>,
    /// The files, as they were last compared.
    pub files: Snapshot,
}

/// The first line, as it is read.
#[derive(Deserialize)]
struct Head {
    since: u64,
    ignored: String,
    calls: Vec<Ongoing>,
}

/// The first line, as it is written.
#[derive(Serialize)]
struct WrittenHead<'w> {
    since: u64,
    ignored: &'w str,
    calls: &'w [Ongoing],
}

impl Watch {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let Head { since, ignored, calls } = json::parse(bytes.get(..end)?).ok()?;
        Some(Self { since, ignored, calls, files: Snapshot::from_bytes(bytes.get(end + 1..)?)? })
    }

    /// The content of the file; empty if no call is left.
    fn to_bytes(&self) -> Vec<u8> {
        if self.calls.is_empty() {
            return Vec::new();
        }
        let head = WrittenHead { since: self.since, ignored: &self.ignored, calls: &self.calls };
        let mut bytes = json::line(&head).into_bytes();
        bytes.push(b'\n');
        bytes.extend(self.files.to_bytes());
        bytes
    }

    /// Adds a call, once; drops the oldest if there are too many.
    fn add(&mut self, mut call: Ongoing) {
        call.paths.truncate(MAX_PATHS);
        self.calls.retain(|known| !known.is_call(&call.caller.session, &call.caller.call));
        self.calls.push(call);
        let beyond = self.calls.len().saturating_sub(MAX_CALLS);
        self.calls.drain(..beyond);
    }
}

/// The question that tells whether a call may still be running.
pub fn question() -> Question {
    state::question(WATCH)
}

/// Whether a call may still be running, given what the host saw.
pub fn is_open(facts: &Facts) -> bool {
    facts.kind == FileKind::File && facts.size > 0
}

/// What is watched; `None` if no call may still be running.
pub fn read(ports: &Ports) -> Option<Watch> {
    read_with_digest(ports).0
}

/// What is watched, and the digest of the file; `None` if there is no file.
fn read_with_digest(ports: &Ports) -> (Option<Watch>, Option<Digest>) {
    match state::read(WATCH, MAX_BYTES, ports) {
        Ok(bytes) if bytes.is_empty() => (None, Some(Digest::of(&bytes))),
        Ok(bytes) => match Watch::parse(&bytes) {
            Some(watch) => (Some(watch), Some(Digest::of(&bytes))),
            None => {
                ports.warn(&format!(
                    "`{WATCH}` in the state folder is damaged, so changes by calls that are still running are not detected"
                ));
                // Otherwise it would be read and reported at every call.
                let _ = state::remove(WATCH, ports);
                (None, None)
            }
        },
        Err(FileFault::Missing) => (None, None),
        Err(fault) => {
            ports.warn(&format!(
                "`{WATCH}` in the state folder cannot be read, so changes by calls that are still running are not detected: {fault}"
            ));
            if fault == FileFault::TooLarge {
                let _ = state::remove(WATCH, ports);
            }
            (None, None)
        }
    }
}

/// Adds a call. If it is the first, `begin` inspects the files and says what git ignores; if that fails, nothing is watched.
pub fn open<F>(
    call: &Ongoing,
    now: Timestamp,
    mut begin: impl FnMut() -> Result<(Snapshot, String), F>,
    ports: &Ports,
) -> Result<(), F> {
    for _ in 0..MAX_TRIES {
        let (watch, digest) = read_with_digest(ports);
        let mut watch = match watch {
            Some(watch) => watch,
            None => {
                let (files, ignored) = begin()?;
                Watch { since: now.0, ignored, calls: Vec::new(), files }
            }
        };
        watch.add(call.clone());
        if replace(&watch, digest, ports) {
            break;
        }
    }
    Ok(())
}

/// Changes what is watched; if no calls are left, nothing is.
pub fn change(ports: &Ports, mut change: impl FnMut(&mut Watch)) {
    for _ in 0..MAX_TRIES {
        let (Some(mut watch), digest) = read_with_digest(ports) else { return };
        change(&mut watch);
        if replace(&watch, digest, ports) {
            return;
        }
    }
}

/// Replaces the file unless another process did, and returns whether that is settled.
fn replace(watch: &Watch, found: Option<Digest>, ports: &Ports) -> bool {
    let expected = found.map_or(Expectation::Absent, Expectation::Digest);
    let bytes = watch.to_bytes();
    let is_readable = bytes.len() as u64 <= MAX_BYTES;
    let written = if is_readable { state::replace(WATCH, &bytes, expected, ports) } else { Err(FileFault::TooLarge) };
    match written {
        Ok(()) => true,
        Err(FileFault::Changed | FileFault::Exists | FileFault::Missing) => false,
        Err(fault) => {
            ports.warn(&format!(
                "`{WATCH}` in the state folder cannot be written, so changes by calls that are still running may not be detected: {fault}"
            ));
            true
        }
    }
}

/// Claims the comparison; false if another process has claimed it.
pub fn claim(now: Timestamp, ports: &Ports) -> bool {
    let take = |expected| state::replace(CLAIM, now.0.to_string().as_bytes(), expected, ports);
    let taken = match take(Expectation::Absent) {
        Err(FileFault::Exists) => {
            let found = state::read(CLAIM, state::MAX_BYTES, ports).unwrap_or_default();
            let since = std::str::from_utf8(&found).ok().and_then(|text| text.parse::<u64>().ok());
            // A claim that was left behind belongs to a process that was killed.
            if since.is_some_and(|since| now.0.abs_diff(since) < CLAIM_MS) {
                return false;
            }
            take(Expectation::Digest(Digest::of(&found)))
        }
        taken => taken,
    };
    // Any other fault is our own, and an extra line is better than none.
    !matches!(taken, Err(FileFault::Exists | FileFault::Changed | FileFault::Missing))
}

/// Releases what [`claim`] took.
pub fn unclaim(ports: &Ports) {
    let _ = state::remove(CLAIM, ports);
}

/// Records why changes are not detected. Returns whether the reason differs from the last one, so that it is reported once.
pub fn record_if_new(why: &str, ports: &Ports) -> bool {
    if state::read(UNSEEN, state::MAX_BYTES, ports).is_ok_and(|said| said == why.as_bytes()) {
        return false;
    }
    let _ = state::replace(UNSEEN, why.as_bytes(), Expectation::Anything, ports);
    true
}

/// Whether there is a reason why changes are not detected.
pub fn has_reason(ports: &Ports) -> bool {
    ports.workspace.inspect(&[state::question(UNSEEN)]).first().is_some_and(|facts| facts.kind == FileKind::File)
}

/// Forgets that reason, now that changes are detected, so that it is reported again if it recurs.
pub fn forget_reason(ports: &Ports) {
    let _ = state::remove(UNSEEN, ports);
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::SnapshotFile;
    use super::*;
    use crate::ports::memory::{Memory, STATE};

    fn call(session: &str, name: &str, began: u64) -> Ongoing {
        Ongoing {
            caller: CallOrigin {
                session: session.to_owned(),
                call: name.to_owned(),
                tool: "bash".to_owned(),
                ..CallOrigin::default()
            },
            intent: IntentId::try_from("I".to_owned()).unwrap(),
            began,
            persistence: Persistence::Detached,
            scope: vec!["src/**".to_owned()],
            paths: Vec::new(),
            open_ended: true,
            entered: Vec::new(),
            is_over: false,
            has_ended: false,
        }
    }

    fn begin() -> Result<(Snapshot, String), ()> {
        let file = |stamp: u64, size: u64| SnapshotFile { stamp, size, digest: None };
        Ok(([("src/a b", file(7, 3)), ("src/c", file(8, 4))].into_iter().collect(), "dist\n".to_owned()))
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let world = Memory::new();
        let ports = world.ports();
        assert_eq!(read(&ports), None);
        open(&call("s", "1", 5), Timestamp(9), begin, &ports).unwrap();
        let watch = read(&ports).unwrap();
        assert_eq!((watch.since, &*watch.ignored, watch.calls.len(), watch.files.iter().count()), (9, "dist\n", 1, 2));
        open(&call("t", "1", 6), Timestamp(99), || Err(()), &ports).unwrap();
        assert_eq!(read(&ports).unwrap().calls.len(), 2, "only the first looks at the files");
        open(&call("s", "1", 7), Timestamp(99), || Err(()), &ports).unwrap();
        let calls: Vec<_> = read(&ports).unwrap().calls.iter().map(|call| call.began).collect();
        assert_eq!(calls, [6, 7], "a call is watched once");
        change(&ports, |watch| watch.calls.clear());
        assert_eq!((read(&ports), world.content(&format!("{STATE}/{WATCH}")).unwrap().len()), (None, 0));
        assert!(open(&call("s", "1", 5), Timestamp(9), || Err(()), &ports).is_err());
        assert_eq!(read(&ports), None, "without a look, nothing is watched");
    }

    #[test]
    fn the_oldest_call_goes() {
        let world = Memory::new();
        let ports = world.ports();
        for number in 0..40 {
            open(&call("s", &number.to_string(), number), Timestamp(9), begin, &ports).unwrap();
        }
        let calls = read(&ports).unwrap().calls;
        assert_eq!((calls.len(), calls[0].began), (MAX_CALLS, 24));
    }

    #[test]
    fn a_damaged_file_is_replaced_and_reported() {
        let world = Memory::new();
        let ports = world.ports();
        for damaged in ["x", "{}\n", "{\"since\":1}\nx"] {
            state::replace(WATCH, damaged.as_bytes(), Expectation::Anything, &ports).unwrap();
            assert_eq!((read(&ports), world.count(&format!("{STATE}/late"))), (None, 0), "{damaged}");
            open(&call("s", "1", 5), Timestamp(9), begin, &ports).unwrap();
            assert_eq!(read(&ports).unwrap().calls.len(), 1, "{damaged}");
        }
        assert!(world.logged().iter().any(|(_, line)| line.contains("damaged")));
    }

    #[test]
    fn one_compares_at_a_time() {
        let world = Memory::new();
        let ports = world.ports();
        assert!(claim(Timestamp(1_000), &ports));
        assert!(!claim(Timestamp(10_999), &ports));
        assert!(claim(Timestamp(11_000), &ports), "whoever was killed at it does not hold it for ever");
        unclaim(&ports);
        assert!(claim(Timestamp(11_001), &ports));
    }

    #[test]
    fn a_reason_is_said_once() {
        let ports = Memory::new().ports();
        let said: Vec<bool> = ["many", "many", "few", "few", "many"].iter().map(|why| record_if_new(why, &ports)).collect();
        assert_eq!(said, [true, false, true, false, true]);
    }
}

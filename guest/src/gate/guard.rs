//! Prevents lost updates between sessions: stale writes and concurrent writes to one file.

use serde_json::Value;

use super::Gate;
use super::settle::{digest_question, truncate};
use crate::call::ToolCall;
use crate::digest::Digest;
use crate::effects::path::Location;
use crate::effects::{Access, Effect, Extent, Footprint, Operation};
use crate::inflight::lease::{self, Lease, LeaseDenial};
use crate::inflight::seen::{self, SeenFiles};
use crate::ledger::entry::Entry;
use crate::ledger::reading;
use crate::ports::{Facts, FileFault, FileKind, Question, Timestamp};
use crate::ruling::{Code, Ruling};

/// Arguments in which a call says what it expects the file to be.
const EXPECTATIONS: &[&str] = &["expected_hash", "expectedHash", "expected_sha256", "expectedSha256", "pre_hash", "preHash"];

/// Maximum size of a file that is remembered when it is only read: agents do not rewrite larger ones from memory.
const MAX_SEEN_BYTES: u64 = 16 << 20;

/// Maximum number of files remembered per call.
const MAX_SEEN: usize = 64;

/// Up to this many files, what a session saw of each is looked up one by one; for more, it is indexed by file first.
const FEW: usize = 8;

/// Maximum number of leases per call; one that changes more files, such as by removing a whole folder, holds only this many.
pub(super) const MAX_LEASES: usize = 64;

impl Gate {
    /// Why the call would overwrite something that its session has not seen.
    pub(super) fn stale_reason(&self, call: &ToolCall, effects: &[Effect]) -> Option<String> {
        let changes = || effects.iter().filter(|effect| effect.changed_file().is_some());
        changes().next()?;
        let expected = (changes().count() == 1).then(|| expectation(&call.args)).flatten();
        let seen_files = SeenFiles::of_session(&call.session, &self.ports);
        let by_file = (changes().count() > FEW).then(|| seen_files.by_file());
        changes().find_map(|effect| {
            let path = effect.location.as_str();
            let seen = match (expected, &by_file) {
                (Some(expected), _) => Some(expected),
                (None, Some(by_file)) => by_file.last(path)?,
                (None, None) => seen_files.last(path)?,
            };
            let now = match (effect.operation, effect.pre_hash) {
                (Operation::Create, _) => None,
                (_, Some(now)) => Some(now),
                // There is something, but it could not be hashed, or it is about to be removed and was never looked at.
                (_, None) => return None,
            };
            // A call of the session's own that has not been settled yet may have changed it.
            let own = || expected.is_none() && lease::is_held_by(path, &call.session, self.ports.clock.now(), &self.ports);
            (seen != now && !own()).then(|| match expected {
                Some(expected) => {
                    format!(
                        "`{path}` does not have the content that the call expects, {}: {}; {}",
                        expected.brief(),
                        state_of(now),
                        remedy(now)
                    )
                }
                None => self.staleness(&call.session, path, seen, now),
            })
        })
    }

    fn staleness(&self, session: &str, path: &str, seen: Option<Digest>, now: Option<Digest>) -> String {
        let was = seen.map_or_else(|| "it did not exist".to_owned(), |seen| format!("it was {}", seen.brief()));
        let who = self.who_changed(session, path, now);
        format!("`{path}` has changed since this session last saw it: {was}, {}; {who}; {}", state_of(now), remedy(now))
    }

    /// Who made a file what it is now, as far as the ledger tells.
    fn who_changed(&self, session: &str, path: &str, now: Option<Digest>) -> String {
        match reading::last_change(path, &self.ports) {
            Some(entry) if entry.file.as_ref().is_some_and(|file| file.post_hash == now) => {
                format!("changed by {}", author(&entry, session))
            }
            Some(entry) => format!("changed by something outside the gate, after a change by {}", author(&entry, session)),
            None => "changed by something outside the gate, as no call in the ledger accounts for it".to_owned(),
        }
    }

    /// Takes a lease on every file that the call changes. If another session holds one, none is kept.
    pub(super) fn lease(&self, call: &ToolCall, effects: &[Effect], now: Timestamp) -> Result<(), Denied> {
        let mut paths: Vec<&str> = effects.iter().filter_map(Effect::changed_file).map(|path| path.as_str()).collect();
        // Every process takes them in the same order, so that of two calls with the same files one gets them all.
        paths.sort_unstable();
        paths.dedup();
        paths.truncate(MAX_LEASES);
        for (taken, path) in paths.iter().enumerate() {
            if let Err(denial) = Lease::new(path, &call.session, &call.call, &call.tool, now).take(now, &self.ports) {
                self.release_leases(call, paths.iter().take(taken).copied());
                return Err(match denial {
                    LeaseDenial::Held(held) => Denied::Held(lease_reason(&held, now)),
                    LeaseDenial::Fault(fault) => Denied::Fault(fault),
                });
            }
        }
        self.changed_meanwhile(effects).map_or(Ok(()), |path| {
            self.release_leases(call, paths.iter().copied());
            Err(Denied::Stale(format!("`{path}` changed just now; read it again, then make your change to its current content")))
        })
    }

    /// Releases the leases of a call.
    pub(super) fn release_leases<'a>(&self, call: &ToolCall, paths: impl Iterator<Item = &'a str>) {
        paths.for_each(|path| lease::release(path, &call.session, &call.call, &self.ports));
    }

    /// A file that changed between the check and the lease. From the lease on, no governed session changes it.
    fn changed_meanwhile<'a>(&self, effects: &'a [Effect]) -> Option<&'a str> {
        let changed: Vec<&Effect> =
            effects.iter().filter(|effect| effect.changed_file().is_some() && effect.stamp != 0).collect();
        if changed.is_empty() {
            return None;
        }
        let question = |effect: &&Effect| Question::project(effect.location.as_str());
        let facts = self.look(&changed.iter().map(question).collect::<Vec<_>>());
        let differs = |(effect, facts): (&&'a Effect, &Facts)| {
            let same = facts.stamp == effect.stamp || effect.pre_hash.is_none() || facts.kind != FileKind::File;
            (!same && self.digest_of(effect.location.as_str()) != effect.pre_hash).then(|| effect.location.as_str())
        };
        changed.iter().zip(&facts).find_map(differs)
    }

    fn digest_of(&self, path: &str) -> Option<Digest> {
        self.look(&[digest_question(path)]).first().and_then(|facts| facts.digest)
    }

    /// Remembers what a call reads, so that a later write can be told from a stale one.
    pub(super) fn note_reads(&self, call: &ToolCall, footprint: &Footprint, facts: &[Facts]) {
        let mut questions = Vec::new();
        let mut seen = Vec::new();
        for (touch, facts) in footprint.touches.iter().zip(facts) {
            let inside = facts.real_path.as_deref().map(Location::from_host);
            let (Access::Read, Some(Location::Inside(path))) = (touch.access, inside) else { continue };
            match facts.kind {
                _ if questions.len() + seen.len() == MAX_SEEN => break,
                FileKind::Missing => seen.push((path.as_str().to_owned(), None)),
                FileKind::File if facts.size <= MAX_SEEN_BYTES => questions.push(digest_question(path.as_str())),
                _ => {}
            }
        }
        if !questions.is_empty() {
            let facts = self.look(&questions);
            seen.extend(
                questions.into_iter().zip(facts).filter_map(|(question, facts)| Some((question.path, Some(facts.digest?)))),
            );
        }
        seen::record(&call.session, &seen, &self.ports);
    }
}

fn state_of(now: Option<Digest>) -> String {
    now.map_or_else(|| "it is gone".to_owned(), |now| format!("it is {} now", now.brief()))
}

/// Who made an entry, and with what.
fn author(entry: &Entry, session: &str) -> String {
    let itself = if entry.session_id == truncate(session) { "this session itself, " } else { "" };
    let agent = entry.agent.as_ref().map(|agent| format!("agent `{agent}`"));
    let program: Vec<String> = entry.host.clone().into_iter().chain(agent).collect();
    let program = if program.is_empty() { String::new() } else { format!(" ({})", program.join(", ")) };
    let intent = entry.intent_id.as_ref().map_or_else(String::new, |intent| format!(" under {intent}"));
    let late = if entry.late.is_some() { ", in a command that is still running" } else { "" };
    let (name, tool, at) = (&entry.session_id, &entry.tool_name, &entry.timestamp);
    format!("{itself}session `{name}`{program} with `{tool}` at {at}{intent}{late}")
}

/// Reading again is enough, even if it finds nothing.
fn remedy(now: Option<Digest>) -> &'static str {
    match now {
        Some(_) => "read it again, then make your change to its current content",
        None => "read it again to see that it is gone, then create it again if it should exist",
    }
}

/// Why a lease was not given.
pub(super) enum Denied {
    /// Another session writes there.
    Held(String),
    /// Someone wrote there between the check and the lease.
    Stale(String),
    /// A fault of the gate's own.
    Fault(FileFault),
}

impl Denied {
    /// The ruling that follows, unless the fault is the gate's own.
    pub(super) fn ruling(self, effects: Vec<Effect>) -> Result<Ruling, (FileFault, Vec<Effect>)> {
        match self {
            Self::Held(why) => Ok(Ruling::deny(Code::WriteInFlight, why, effects)),
            Self::Stale(why) => Ok(Ruling::deny(Code::StaleWrite, why, effects)),
            Self::Fault(fault) => Err((fault, effects)),
        }
    }
}

fn lease_reason(held: &Lease, now: Timestamp) -> String {
    let seconds = held.until.saturating_sub(now.0).div_ceil(1000);
    format!(
        "session `{}` is writing to `{}` with `{}` right now; wait until it is done, {seconds} s at most, then read the file again",
        held.session, held.path, held.tool
    )
}

/// The digest that the call expects the file to have, if it names one.
fn expectation(args: &Value) -> Option<Digest> {
    let text = EXPECTATIONS.iter().find_map(|name| args.get(name)?.as_str())?;
    let text = text.trim().to_ascii_lowercase();
    if text.contains(':') { text.parse().ok() } else { format!("sha256:{text}").parse().ok() }
}

/// Whether a call's changes cannot be told from its effects: what a program changed, or what became of a folder.
pub(super) fn is_open_ended(effects: &[Effect], unknown: bool) -> bool {
    unknown
        || effects
            .iter()
            .any(|effect| effect.mutates() && (effect.operation == Operation::Execute || effect.extent == Extent::Tree))
}

//! Two sessions, one file: nobody overwrites what they have not seen, and nobody writes where another is writing.

use serde_json::Value;

use super::Gate;
use super::settle::{digest_question, truncate};
use crate::call::ToolCall;
use crate::digest::Digest;
use crate::effects::path::Location;
use crate::effects::{Access, Effect, Extent, Footprint, Operation};
use crate::inflight::lease::Lease;
use crate::inflight::{lease, seen};
use crate::ledger::entry::Entry;
use crate::ledger::reading;
use crate::ports::{Facts, FileKind, Question, Timestamp};
use crate::ruling::{Code, Ruling};

/// Arguments in which a call says what it expects the file to be.
const EXPECTATIONS: &[&str] = &["expected_hash", "expectedHash", "expected_sha256", "expectedSha256", "pre_hash", "preHash"];

/// Larger files are not remembered when they are only read: nobody rewrites them from memory.
const MAX_SEEN_BYTES: u64 = 16 << 20;

/// And no more than so many in one call.
const MAX_SEEN: usize = 64;

/// What a session saw of this many files is looked for one by one; for more it is put in order first.
const FEW: usize = 8;

impl Gate {
    /// Why the call would overwrite what its session has not seen.
    pub(super) fn stale(&self, call: &ToolCall, effects: &[Effect]) -> Option<String> {
        let changes = || effects.iter().filter(|effect| effect.changed_file().is_some());
        changes().next()?;
        let expected = (changes().count() == 1).then(|| expectation(&call.args)).flatten();
        let journal = seen::Journal::of(&call.session, &self.ports);
        let by_file = (changes().count() > FEW).then(|| journal.by_file());
        changes().find_map(|effect| {
            let path = effect.location.as_str();
            let seen = match (expected, &by_file) {
                (Some(expected), _) => Some(expected),
                (None, Some(by_file)) => by_file.last(path)?,
                (None, None) => journal.last(path)?,
            };
            let now = match (effect.operation, effect.pre_hash) {
                (Operation::Create, _) => None,
                (_, Some(now)) => Some(now),
                // There is something, but it could not be digest_question, or it is about to go and never was looked at.
                (_, None) => return None,
            };
            // Its own call that has not been settled yet may have changed it.
            let own = || expected.is_none() && lease::is_of(path, &call.session, self.ports.clock.now(), &self.ports);
            (seen != now && !own()).then(|| match expected {
                Some(expected) => {
                    format!("`{path}` is not what the call expects, {}: {}; {}", expected.brief(), state_of(now), remedy(now))
                }
                None => self.staleness(&call.session, path, seen, now),
            })
        })
    }

    fn staleness(&self, session: &str, path: &str, seen: Option<Digest>, now: Option<Digest>) -> String {
        let was = seen.map_or_else(|| "it was not there".to_owned(), |seen| format!("it was {}", seen.brief()));
        let who = self.who_changed(session, path, now);
        format!("`{path}` has changed since this session last saw it: {was}, {}; {who}; {}", state_of(now), remedy(now))
    }

    /// Who made a file what it is now, as far as the ledger tells.
    fn who_changed(&self, session: &str, path: &str, now: Option<Digest>) -> String {
        match reading::last_change(path, &self.ports) {
            Some(entry) if entry.file.as_ref().is_some_and(|file| file.post_hash == now) => {
                format!("changed by {}", author(&entry, session))
            }
            Some(entry) => format!("changed by somebody outside the gate, after {}", author(&entry, session)),
            None => "changed by somebody outside the gate, as no call in the ledger tells of it".to_owned(),
        }
    }

    /// A file that somebody changed between the look and the moment from which the call holds it. From then on, nobody who asks does.
    pub(super) fn changed_meanwhile<'a>(&self, effects: &'a [Effect]) -> Option<&'a str> {
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
            let inside = facts.real_path.as_deref().map(Location::reported);
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
        seen::note(&call.session, &seen, &self.ports);
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
    let late = if entry.late.is_some() { ", in a command that goes on" } else { "" };
    let (name, tool, at) = (&entry.session_id, &entry.tool_name, &entry.timestamp);
    format!("{itself}session `{name}`{program} with `{tool}` at {at}{intent}{late}")
}

/// A look will do, also one that finds nothing.
fn remedy(now: Option<Digest>) -> &'static str {
    match now {
        Some(_) => "read it again, then make your change to what stands there",
        None => "read it again to see that it is gone, then make it anew if it should be",
    }
}

/// The denial of a call that would write where another session does.
pub(super) fn write_in_flight(held: &Lease, now: Timestamp, effects: Vec<Effect>) -> Ruling {
    let seconds = held.until.saturating_sub(now.0).div_ceil(1000);
    let why = format!(
        "session `{}` is writing to `{}` with `{}` at this moment; wait until it is done, {seconds} s at most, then read the file again",
        held.session, held.path, held.tool
    );
    Ruling::deny(Code::WriteInFlight, why, effects)
}

/// The denial of a call whose file somebody wrote to while it was ruled on.
pub(super) fn stale_at_this_moment(path: &str, effects: Vec<Effect>) -> Ruling {
    let why = format!("`{path}` changed at this very moment; read it again, then make your change to what stands there");
    Ruling::deny(Code::StaleWrite, why, effects)
}

/// What the call expects the file to be, where it says so.
fn expectation(args: &Value) -> Option<Digest> {
    let text = EXPECTATIONS.iter().find_map(|name| args.get(name)?.as_str())?;
    let text = text.trim().to_ascii_lowercase();
    if text.contains(':') { text.parse().ok() } else { format!("sha256:{text}").parse().ok() }
}

/// Whether what the call leaves behind cannot be told from its effects: what a program changed, or what came of a folder.
pub(super) fn is_open_ended(effects: &[Effect], unknown: bool) -> bool {
    unknown
        || effects
            .iter()
            .any(|effect| effect.mutates() && (effect.operation == Operation::Execute || effect.extent == Extent::Tree))
}

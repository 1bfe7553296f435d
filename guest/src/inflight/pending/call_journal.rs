//! The lines of a pending record's journal, and what they mean together.

use super::Pending;
use crate::json;
use crate::ports::{FileFault, Ports, Timestamp};
use crate::state::journal::{self, Journal};

/// How long a claim holds: nobody takes longer to settle a call, unless they were killed.
pub const CLAIM_MS: u64 = 10_000;

/// A line of a record's journal.
pub(super) enum JournalLine<'p> {
    /// The record of the call.
    Record(&'p Pending),
    /// Someone settles the call.
    Claim(SettlementClaim),
    /// The call that was ruled on at this time is presumed refused.
    Refused { since: u64 },
}

pub(super) fn append(key: &str, line: &JournalLine<'_>, ports: &Ports) -> Result<(), FileFault> {
    let line = match line {
        JournalLine::Record(pending) => json::line(pending),
        JournalLine::Claim(SettlementClaim { since, at, by }) => format!("claim {since} {at} {by}"),
        JournalLine::Refused { since } => refused_line(*since),
    };
    journal::append(key, &line, ports)
}

/// The beginning of a claim's line.
const CLAIM: &[u8] = b"claim ";

/// The beginning of the line that presumes a call refused.
const REFUSED: &[u8] = b"refused ";

pub(super) fn refused_line(since: u64) -> String {
    format!("refused {since}.")
}

/// A claim by the process that settles a call.
#[derive(Clone, Copy)]
pub(super) struct SettlementClaim {
    /// When the call was ruled on.
    pub(super) since: u64,
    /// When settling was started; 0 if it was given up.
    pub(super) at: u64,
    /// A number that is unique to this claim, from the seed of hash maps: the source of ids may be deterministic, and then two
    /// processes get the same ids.
    pub(super) by: u64,
}

impl SettlementClaim {
    fn parse(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line.strip_prefix(CLAIM)?).ok()?;
        let mut numbers = text.split(' ').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { since: next()?, at: next()?, by: next()? })
    }

    /// Whether the claim is still held.
    pub(super) fn is_held(&self, now: u64) -> bool {
        now.abs_diff(self.at) < CLAIM_MS
    }
}

/// An attempt to settle a call.
pub(super) struct Attempt {
    /// The claim of whoever makes it.
    pub(super) claim: SettlementClaim,
    /// How many attempts there have been, this one included.
    pub(super) number: u32,
}

/// The journal of a call.
pub(super) struct CallJournal(Journal);

pub(super) fn read(key: &str, ports: &Ports) -> Result<CallJournal, FileFault> {
    // A call that removes a folder with ten thousand files in it makes a long list.
    const MAX_BYTES: u64 = 64 << 20;
    Journal::read(key, MAX_BYTES, ports).map(CallJournal)
}

impl CallJournal {
    pub(super) fn has_claims(&self) -> bool {
        self.0.lines().any(|line| line.starts_with(CLAIM))
    }

    /// The lines that are records.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.lines().filter(|line| !line.starts_with(CLAIM) && !line.starts_with(REFUSED))
    }

    /// The record. `None` if there are only claims, by someone who found the call just before it was settled.
    pub(super) fn record(&self, key: &str, ports: &Ports) -> Option<Pending> {
        let mut fault = None;
        for line in self.records().rev() {
            match json::parse::<Pending>(line) {
                Ok(mut record) => {
                    record.is_presumed_refused |= self.is_presumed_refused(record.since);
                    // Whoever settles a call has been told of its end.
                    record.is_presumed_refused &= record.unentered.is_none() && self.attempt(record.since).is_none();
                    return Some(record);
                }
                // The line was cut off.
                Err(why) => fault = Some(why),
            }
        }
        if let Some(fault) = fault {
            ports.warn(&format!("`{key}` cannot be parsed and counts as missing: {fault}"));
        }
        None
    }

    fn is_presumed_refused(&self, since: u64) -> bool {
        let presumption = refused_line(since);
        self.0.lines().any(|line| line == presumption.as_bytes())
    }

    /// The last attempt to settle the call that was ruled on at `since`. Every reader finds the same.
    pub(super) fn attempt(&self, since: u64) -> Option<Attempt> {
        let mut last: Option<Attempt> = None;
        for claim in self.0.lines().filter_map(SettlementClaim::parse).filter(|claim| claim.since == since) {
            last = match last {
                // The call was left to whoever comes next.
                _ if claim.at == 0 => Some(Attempt { claim, number: 0 }),
                Some(before) if before.claim.is_held(claim.at) => Some(before),
                Some(before) => Some(Attempt { claim, number: before.number.saturating_add(1) }),
                None => Some(Attempt { claim, number: 1 }),
            };
        }
        last
    }

    /// Whether someone began to settle a call and did not finish.
    pub(super) fn is_abandoned(&self, since: u64, now: Timestamp) -> bool {
        self.attempt(since).is_some_and(|attempt| !attempt.claim.is_held(now.0))
    }
}

//! How much a server may send.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The longest message.
pub(super) const MAX_MESSAGE: usize = 10 << 20;

/// Of what is not a message, this much is read.
const MAX_GARBAGE: u64 = 1 << 20;

/// Between two answers to what it was asked, a server may send this much in unsolicited messages.
const MAX_UNASKED: u64 = 64 << 20;

/// Counts what a server sends, and notes that it was too much.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    garbage: AtomicU64,
    unasked: AtomicU64,
    exceeded: AtomicBool,
}

impl Bounds {
    /// Whether bytes that are not a message are still within bounds.
    pub(super) fn take_garbage(&self, bytes: usize) -> bool {
        self.check(add(&self.garbage, bytes) <= MAX_GARBAGE)
    }

    /// The same for bytes of messages.
    pub(super) fn take(&self, bytes: usize) -> bool {
        self.check(add(&self.unasked, bytes) <= MAX_UNASKED)
    }

    /// The same for a message that is not complete yet.
    pub(super) fn may_grow_to(&self, bytes: usize) -> bool {
        self.check(bytes <= MAX_MESSAGE)
    }

    /// Something that it was asked for has come.
    pub(super) fn answered(&self) {
        self.unasked.store(0, Ordering::Relaxed);
    }

    pub(super) fn are_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    fn check(&self, is_within: bool) -> bool {
        if !is_within {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        is_within
    }
}

fn add(counter: &AtomicU64, bytes: usize) -> u64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    counter.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
}

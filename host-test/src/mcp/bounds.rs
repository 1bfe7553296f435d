//! How much a server may send.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::Value;

/// The limits of one connection, as the gate ordered them. Without an order, nothing may be sent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct ServerLimits {
    /// The longest message, and all tools together.
    pub(super) message_bytes: usize,
    /// What is not a message.
    garbage_bytes: u64,
    /// Messages that were not asked for, between two answers.
    unasked_bytes: u64,
    /// The pages of a list of tools.
    pub(super) pages: usize,
}

/// Counts what a server sends, and notes that it was too much.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) limits: ServerLimits,
    garbage: AtomicU64,
    unasked: AtomicU64,
    exceeded: AtomicBool,
}

impl Bounds {
    /// The bounds of a connection over this transport.
    pub(super) fn new(transport: &Value) -> Self {
        let limits = transport.get("limits").and_then(|limits| ServerLimits::deserialize(limits).ok()).unwrap_or_default();
        Self { limits, garbage: AtomicU64::new(0), unasked: AtomicU64::new(0), exceeded: AtomicBool::new(false) }
    }

    /// Whether bytes that are not a message are still within bounds.
    pub(super) fn take_garbage(&self, bytes: usize) -> bool {
        self.check(add(&self.garbage, bytes) <= self.limits.garbage_bytes)
    }

    /// The same for bytes of messages.
    pub(super) fn take(&self, bytes: usize) -> bool {
        self.check(add(&self.unasked, bytes) <= self.limits.unasked_bytes)
    }

    /// The same for a message that is not complete yet.
    pub(super) fn may_grow_to(&self, bytes: usize) -> bool {
        self.check(bytes <= self.limits.message_bytes)
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

//! Limits on how much an MCP server may send.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::Value;

/// The limits of one connection, as set by the gate. If the gate sets none, nothing may be sent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct ServerLimits {
    /// The limit on a single message, and on all tools together.
    pub(super) message_bytes: usize,
    /// The limit on output that is not a message.
    garbage_bytes: u64,
    /// The limit on unsolicited messages between two answers.
    unasked_bytes: u64,
    /// The limit on the pages of a tool list.
    pub(super) pages: usize,
}

/// Counts what a server sends, and records whether it sent too much.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) limits: ServerLimits,
    garbage: AtomicU64,
    unsolicited: AtomicU64,
    exceeded: AtomicBool,
}

impl Bounds {
    /// Creates the counters for a connection over this transport.
    pub(super) fn new(transport: &Value) -> Self {
        let limits = transport.get("limits").and_then(|limits| ServerLimits::deserialize(limits).ok()).unwrap_or_default();
        Self { limits, garbage: AtomicU64::new(0), unsolicited: AtomicU64::new(0), exceeded: AtomicBool::new(false) }
    }

    /// Counts bytes that are not a message. Returns whether they are still within the limit.
    pub(super) fn count_garbage(&self, bytes: usize) -> bool {
        self.check(add(&self.garbage, bytes) <= self.limits.garbage_bytes)
    }

    /// Counts bytes of messages. Returns whether they are still within the limit.
    pub(super) fn count_message(&self, bytes: usize) -> bool {
        self.check(add(&self.unsolicited, bytes) <= self.limits.unasked_bytes)
    }

    /// Whether an incomplete message of this length is still within the limit.
    pub(super) fn may_grow_to(&self, bytes: usize) -> bool {
        self.check(bytes <= self.limits.message_bytes)
    }

    /// Resets the count of unsolicited messages, because an answer has arrived.
    pub(super) fn reset_unsolicited(&self) {
        self.unsolicited.store(0, Ordering::Relaxed);
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

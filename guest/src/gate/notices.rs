//! Notices of the gate: those that go out with the current answer, and those that wait until hooks have answered an event.

use serde_json::Value;

use super::settle::join;
use crate::engine::Order;

/// Maximum number of notices that wait for answers; a host that never fetches an answer does not miss its notice either.
const MAX_PENDING: usize = 64;

/// What the gate tells the agent and the person alongside its answers.
#[derive(Default)]
pub(super) struct Notices {
    now: Vec<String>,
    pending: Vec<PendingNotice>,
}

/// A notice about an event, kept until the answer to it goes out.
struct PendingNotice {
    /// The number of the question, as in its answer.
    number: u64,
    notice: String,
}

impl Notices {
    /// Adds a notice to the current answer.
    pub(super) fn add(&mut self, notice: impl IntoIterator<Item = String>) {
        self.now.extend(notice);
    }

    /// Takes all notices for the current answer, as one text.
    pub(super) fn take(&mut self) -> Option<String> {
        std::mem::take(&mut self.now).into_iter().reduce(join)
    }

    /// Keeps a notice until hooks have answered the event.
    pub(super) fn keep(&mut self, number: u64, notice: Option<String>) {
        let Some(notice) = notice else { return };
        if self.pending.len() == MAX_PENDING {
            self.pending.remove(0);
        }
        self.pending.push(PendingNotice { number, notice });
    }

    /// Puts the notice kept for an answer in front of what hooks say.
    pub(super) fn add_to(&mut self, order: &mut Order) {
        let Order::Reply { number, answer, .. } = order else { return };
        let Some(at) = self.pending.iter().position(|kept| kept.number == *number) else { return };
        let notice = self.pending.remove(at).notice;
        let Ok(mut reply) = serde_json::from_slice::<Value>(answer) else { return };
        if let Some(message) = reply.get_mut("system_message") {
            let before = message.as_str().map(str::to_owned);
            *message = before.into_iter().fold(notice, join).into();
            *answer = reply.to_string().into_bytes();
        }
    }
}

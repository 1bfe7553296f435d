//! The gate's own part at events: turns and sessions that begin and end.
//!
//! | event | what the gate does |
//! | --- | --- |
//! | `before_agent` | takes calls of the session's main agent that left no trace for refused by a person, and gives back what they hold |
//! | `after_agent` | settles the calls of the session's main agent whose end nobody told |
//! | `session_end` | the same for all calls of the session |
//! | `session_start` | the same as after a turn; what programs kept running for sessions that are over is compared one last time |
//! | each of them | compares what calls changed that go on |

use serde_json::Value;

use super::late::Moment;
use super::settle::join;
use super::{Gate, bearings};
use crate::call::effect::Persistence;
use crate::confine::Confiner;
use crate::engine::{Input, Order, Turn};
use crate::intents::file::Governance;
use crate::ledger::late;
use crate::ledger::pending::{self, Over};

/// What the gate itself has to say about an event, until the answer to it goes out.
pub(super) struct Owed {
    /// The number of the question, as the answer bears it.
    number: u64,
    notice: String,
}

/// No more is owed at once: whoever does not fetch an answer does not miss it either.
const MAX_OWED: usize = 64;

impl Gate {
    /// Takes in what happened and says what to do, and when to step again though nothing happens.
    pub fn step(&mut self, now_ms: u64, inputs: &[Input]) -> Turn {
        self.enter_again();
        for input in inputs {
            if let Input::Machine(machine) = input {
                self.confiner = Confiner::new(machine);
            }
            if let Input::Event { name, session, .. } = input
                && let Some(notice) = self.hear(name, session.as_deref())
            {
                // Nobody waits for an answer that could say it.
                self.ports.warn(&notice);
            }
        }
        // Declarations are looked at when they may matter, not at every tick.
        if inputs.iter().any(|input| matches!(input, Input::Machine(_) | Input::Event { .. } | Input::Reload)) {
            self.hooks();
        }
        let mut turn = self.hooks.step(now_ms, inputs, &self.ports);
        self.hear_hooks(&mut turn.commands);
        turn.commands.iter_mut().for_each(|command| self.pay(&mut command.order));
        let again = self.due_in().map(|due| now_ms.saturating_add(due));
        turn.next_deadline_ms = [turn.next_deadline_ms, again].into_iter().flatten().min();
        turn
    }

    /// Does the gate's own part at an event, before hooks hear of it. Returns what the agent and the person should be told.
    pub fn hear(&mut self, event: &str, session: Option<&str>) -> Option<String> {
        let session = session?;
        let moment = match event {
            "before_agent" => Moment::Call,
            "after_agent" | "session_start" | "session_end" => Moment::Turn,
            _ => return None,
        };
        let mut questions = bearings().to_vec();
        questions.push(late::question());
        let facts = self.look(&questions);
        let is_watching = facts.get(3).is_some_and(late::is_open);
        let is_governed = !matches!(self.governance_by(&facts), Governance::None);
        let is_any_under_way = pending::is_any_under_way(&self.ports) || !self.here.is_empty();
        if !is_governed || !is_watching && !is_any_under_way {
            return None;
        }
        let now = self.ports.clock.now();
        match event {
            "before_agent" => self.presume_refused(session, now),
            "session_end" => self.settle_left_behind(Over::Session(session), now),
            _ => self.settle_left_behind(Over::Turn(session), now),
        }
        if self.look(&[late::question()]).first().is_some_and(late::is_open) {
            self.compare_late(moment);
            self.end_watches(event, session);
        }
        std::mem::take(&mut self.remarks).into_iter().reduce(join)
    }

    /// What an agent program kept running for a session ends with it, and has been compared once more when the next one begins.
    fn end_watches(&self, event: &str, session: &str) {
        match event {
            "session_end" => late::change(&self.ports, |watch| {
                watch.calls.iter_mut().filter(|call| call.caller.session == session).for_each(|call| call.is_over = true);
            }),
            "session_start" => late::change(&self.ports, |watch| {
                watch.calls.retain(|call| !call.is_over || call.persistence == Persistence::Detached);
            }),
            _ => {}
        }
    }

    /// Keeps what the gate has to say about an event until hooks have answered it.
    pub(crate) fn owe(&mut self, number: u64, notice: Option<String>) {
        let Some(notice) = notice else { return };
        if self.owed.len() == MAX_OWED {
            self.owed.remove(0);
        }
        self.owed.push(Owed { number, notice });
    }

    /// Puts what is owed into an answer, before what hooks say.
    fn pay(&mut self, order: &mut Order) {
        let Order::Reply { number, answer, .. } = order else { return };
        let Some(at) = self.owed.iter().position(|owed| owed.number == *number) else { return };
        let notice = self.owed.remove(at).notice;
        let Ok(mut said) = serde_json::from_slice::<Value>(answer) else { return };
        if let Some(message) = said.get_mut("system_message") {
            let before = message.as_str().map(str::to_owned);
            *message = before.into_iter().fold(notice, join).into();
            *answer = said.to_string().into_bytes();
        }
    }
}

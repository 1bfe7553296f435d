//! What the gate itself does when turns and sessions begin and end.
//!
//! | event | what the gate does |
//! | --- | --- |
//! | `before_agent` | presumes that calls of the session's main agent that left no trace were refused by a person, and releases what they hold |
//! | `after_agent` | settles the calls of the session's main agent whose end was not reported |
//! | `session_end` | the same for all calls of the session |
//! | `session_start` | the same as after a turn; what programs kept running for sessions that are over is compared one last time |
//! | each of them | compares what running calls changed |

use super::late::ComparisonTime;
use super::{Gate, governance_questions};
use crate::confine::Confiner;
use crate::effects::Persistence;
use crate::engine::{Input, Turn};
use crate::hooks::registry::NeededHooks;
use crate::inflight::late;
use crate::inflight::pending::{self, Ended};
use crate::intents::file::Governance;

impl Gate {
    /// Processes inputs; returns what to do, and when to step again even if nothing happens.
    pub fn step(&mut self, now_ms: u64, inputs: &[Input]) -> Turn {
        self.retry_ledger();
        for input in inputs {
            if let Input::Machine(machine) = input {
                self.confiner = Confiner::new(machine);
            }
            if let Input::Event { name, session, .. } = input
                && let Some(notice) = self.observe_event(name, session.as_deref())
            {
                // No one waits for an answer that could carry the notice.
                self.ports.warn(&notice);
            }
        }
        // Declarations are checked when they may matter, not at every tick.
        if inputs.iter().any(|input| matches!(input, Input::Machine(_) | Input::Event { .. } | Input::Reload)) {
            // The declarations for an event are read when it is reported.
            let is_reload = inputs.iter().any(|input| matches!(input, Input::Reload));
            self.hooks_needed(if is_reload { NeededHooks::All } else { NeededHooks::Components });
        }
        self.forget_ended(inputs);
        let mut turn = self.hooks.step(now_ms, inputs, &self.ports);
        loop {
            let refused = self.confine_runs(&mut turn.commands);
            if refused.is_empty() {
                break;
            }
            // The hooks continue with what follows from the refusals.
            let more = self.hooks.step(now_ms, &refused, &self.ports);
            turn.commands.extend(more.commands);
            turn.next_deadline_ms = more.next_deadline_ms;
        }
        self.answer_waiting_operations(&mut turn.commands);
        turn.commands.iter_mut().for_each(|command| self.notices.add_to(&mut command.order));
        let again = self.retry_due_in().map(|due| now_ms.saturating_add(due));
        turn.next_deadline_ms = [turn.next_deadline_ms, again].into_iter().flatten().min();
        turn
    }

    /// Does the gate's own part at an event, before hooks receive it. Returns what the agent and the person should be told.
    pub fn observe_event(&mut self, event: &str, session: Option<&str>) -> Option<String> {
        let session = session?;
        let moment = match event {
            "before_agent" => ComparisonTime::Call,
            "after_agent" | "session_start" | "session_end" => ComparisonTime::Turn,
            _ => return None,
        };
        let mut questions = governance_questions().to_vec();
        questions.push(late::question());
        let facts = self.look(&questions);
        let is_watching = facts.get(3).is_some_and(late::is_open);
        let is_governed = !matches!(self.governance_by(&facts), Governance::None);
        let is_any_under_way = pending::is_any_under_way(&self.ports) || self.recorder.unsaved_calls().next().is_some();
        if !is_governed || !is_watching && !is_any_under_way {
            return None;
        }
        let now = self.ports.clock.now();
        match event {
            "before_agent" => self.presume_refused(session, now),
            "session_end" => self.settle_left_behind(Ended::Session(session), now),
            _ => self.settle_left_behind(Ended::Turn(session), now),
        }
        if self.look(&[late::question()]).first().is_some_and(late::is_open) {
            self.end_watches(event, session);
            self.compare_late(moment);
        }
        self.notices.take()
    }

    /// Ends the watches of a session: what an agent program kept running for it ends with it, and is compared once more before
    /// the next session begins.
    fn end_watches(&self, event: &str, session: &str) {
        match event {
            "session_end" => late::change(&self.ports, |watch| {
                watch.calls.iter_mut().filter(|call| call.caller.session == session).for_each(|call| call.is_over = true);
            }),
            "session_start" => self.mark_ended(|call| call.is_over && call.persistence != Persistence::Detached),
            _ => {}
        }
    }

    /// Keeps what the gate has to say about an event until hooks have answered it.
    pub(crate) fn keep_notice(&mut self, number: u64, notice: Option<String>) {
        self.notices.keep(number, notice);
    }
}

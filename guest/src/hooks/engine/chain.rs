//! A chain: hooks that run one after the other, each with what the ones before it added.

use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::event::Event;
use super::super::outcome::RunOutcome;
use super::super::registry::RegisteredHook;
use super::super::run::RunStatus;
use super::{Asker, Hooks};
use crate::engine::Order;
use crate::json::object;
use crate::ports::Ports;

/// Hooks that run one after the other while a caller waits for their combined answer.
#[derive(Debug)]
pub(super) struct Chain {
    asker: Asker,
    /// Whether a person asked for one run and wants its record.
    by_hand: bool,
    event: Event,
    left: VecDeque<RegisteredHook>,
    pub(super) data: Map<String, Value>,
    pub(super) messages: Vec<String>,
    pub(super) goes_on: bool,
    pub(super) record: Value,
}

impl Hooks {
    pub(super) fn open_chain(
        &mut self,
        event: Event,
        left: VecDeque<RegisteredHook>,
        asker: Asker,
        by_hand: bool,
        ports: &Ports,
    ) {
        self.numbers += 1;
        let number = self.numbers;
        let data = event.data.as_object().cloned().unwrap_or_default();
        let chain = Chain { asker, by_hand, event, left, data, messages: Vec::new(), goes_on: true, record: Value::Null };
        self.chains.insert(number, chain);
        self.advance(number, ports);
    }

    /// Starts the next hook of a chain, or answers.
    pub(super) fn advance(&mut self, number: u64, ports: &Ports) {
        while let Some(chain) = self.chains.get_mut(&number)
            && let Some(next) = chain.left.pop_front()
        {
            let event = Event { data: Rc::new(Value::Object(chain.data.clone())), ..chain.event.clone() };
            let why_not = match self.closing {
                Some(false) => Some("all runs were canceled"),
                _ => (!chain.goes_on).then_some("an earlier hook canceled the operation"),
            };
            let run = self.new_run(&next, event, Some(number));
            match why_not {
                None => return self.add(run, ports),
                Some(why) => {
                    let record = self.record_end(&run, RunOutcome::of(RunStatus::Skipped, why), ports);
                    if let Some(chain) = self.chains.get_mut(&number) {
                        chain.record = record;
                    }
                }
            }
        }
        let Some(chain) = self.chains.remove(&number) else { return };
        let answer = if chain.by_hand {
            object(&mut [("record", chain.record)])
        } else {
            let message = if chain.messages.is_empty() { Value::Null } else { chain.messages.join("\n").into() };
            object(&mut [("continue", chain.goes_on.into()), ("system_message", message), ("data", Value::Object(chain.data))])
        };
        self.answer(chain.asker, answer);
    }

    pub(super) fn answer(&mut self, asker: Asker, answer: Value) {
        match asker {
            Asker::Host(number) => {
                self.command(Order::Reply { number, answer: answer.to_string().into_bytes(), refused: None });
            }
            Asker::Gate(number) => self.answers.push((number, answer)),
            Asker::Nobody => {}
        }
    }
}

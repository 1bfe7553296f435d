//! Interprets lists, pipelines and compound commands along every path that they can take.
//!
//! A command results in two sets of states: those in which it succeeded and those in which it failed. They differ only for `cd`;
//! every other command may succeed or fail with the same state, so both are followed.

use super::super::syntax::tree::{AndOrList, CommandNode, Compound, Connector, List, Pipeline, Word};
use super::ShellReader;
use super::arg::Arg;
use super::background::is_waited_for;
use super::input::StandardInput;
use super::state::{ShellState, Value};
use crate::effects::Persistence;

/// The most states that are followed at one point.
const MAX_STATES: usize = 8;
/// The most rounds in which the states of a loop must settle; otherwise the loop is not followed.
const MAX_ROUNDS: usize = 4;
/// The most words that a loop is followed for one by one.
const MAX_WORDS: usize = 200;

/// The states in which a command succeeded, and those in which it failed.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub(super) ok: Vec<ShellState>,
    pub(super) failed: Vec<ShellState>,
}

impl Outcomes {
    /// The state of the shell is the same whether the command succeeds or fails.
    pub(super) fn either(states: Vec<ShellState>) -> Self {
        Self { failed: states.clone(), ok: states }
    }

    fn all(self) -> Vec<ShellState> {
        let mut all = self.ok;
        all.extend(self.failed);
        all
    }

    fn add(&mut self, other: Self) {
        self.ok.extend(other.ok);
        self.failed.extend(other.failed);
    }
}

impl ShellReader<'_> {
    /// Follows commands in order.
    pub(super) fn list(&mut self, list: &List, states: Vec<ShellState>, input: &StandardInput) -> Outcomes {
        let mut outcomes = Outcomes::either(states);
        for (nth, chain) in list.0.iter().enumerate() {
            let states = outcomes.all();
            let states = self.settle(states);
            if states.is_empty() {
                return Outcomes::default();
            }
            outcomes = if chain.background {
                if !is_waited_for(list.0.get(nth + 1..).unwrap_or_default()) {
                    self.record_persistence(Persistence::Detached);
                }
                self.in_subshell(&states, |reader, states| {
                    drop(reader.chain(chain, states, &StandardInput::Text(String::new())))
                });
                Outcomes::either(states)
            } else {
                self.chain(chain, states, input)
            };
        }
        outcomes
    }

    fn chain(&mut self, chain: &AndOrList, states: Vec<ShellState>, input: &StandardInput) -> Outcomes {
        let mut outcomes = self.pipeline(&chain.first, states, input);
        for (connector, pipeline) in &chain.rest {
            let begin = match connector {
                Connector::And => std::mem::take(&mut outcomes.ok),
                Connector::Or => std::mem::take(&mut outcomes.failed),
            };
            let begin = self.settle(begin);
            let after = self.pipeline(pipeline, begin, input);
            outcomes.add(after);
        }
        outcomes.ok = self.settle(outcomes.ok);
        outcomes.failed = self.settle(outcomes.failed);
        outcomes
    }

    fn pipeline(&mut self, pipeline: &Pipeline, states: Vec<ShellState>, input: &StandardInput) -> Outcomes {
        if states.is_empty() {
            return Outcomes::default();
        }
        let mut outcomes = match pipeline.commands.as_slice() {
            [] => Outcomes::either(states),
            [only] => self.command(only, states, input),
            [before @ .., last] => {
                for (nth, command) in before.iter().enumerate() {
                    let input = if nth == 0 { input.clone() } else { StandardInput::Unknown };
                    self.in_subshell(&states, |reader, states| drop(reader.command(command, states, &input)));
                }
                // Some shells run the last command of a pipeline themselves, others in a separate process.
                let mut after = self.command(last, states.clone(), &StandardInput::Unknown).all();
                after.extend(states);
                Outcomes::either(self.settle(after))
            }
        };
        if pipeline.negated {
            std::mem::swap(&mut outcomes.ok, &mut outcomes.failed);
        }
        outcomes
    }

    /// Runs `go` in a subshell: its changes to variables and the working directory are not visible outside.
    fn in_subshell(&mut self, states: &[ShellState], go: impl FnOnce(&mut Self, Vec<ShellState>)) {
        let (left, loops) = (std::mem::take(&mut self.left), std::mem::take(&mut self.loops));
        go(self, states.to_vec());
        (self.left, self.loops) = (left, loops);
    }

    /// Follows a subshell or a substitution.
    pub(super) fn subshell(&mut self, list: &List, states: &[ShellState], input: &StandardInput) {
        self.in_subshell(states, |reader, states| drop(reader.list(list, states, input)));
    }

    fn command(&mut self, command: &CommandNode, states: Vec<ShellState>, input: &StandardInput) -> Outcomes {
        let mut outcomes = Outcomes::default();
        match command {
            CommandNode::Simple(simple) => {
                for state in states {
                    if !self.step() {
                        break;
                    }
                    let after = self.simple(simple, state, input);
                    outcomes.add(after);
                }
            }
            CommandNode::Compound(compound, redirects) => {
                let mut input = input.clone();
                for state in &states {
                    for redirect in redirects {
                        self.redirect(redirect, state, &mut input);
                    }
                }
                if states.len() > 1 && matches!(input, StandardInput::Text(_)) {
                    input = StandardInput::Unknown;
                }
                // If a redirection fails, the command does not run.
                if !redirects.is_empty() {
                    outcomes.failed.extend(states.iter().cloned());
                }
                let after = self.compound(compound, states, &input);
                outcomes.add(after);
            }
        }
        outcomes.ok = self.settle(outcomes.ok);
        outcomes.failed = self.settle(outcomes.failed);
        outcomes
    }

    fn compound(&mut self, compound: &Compound, states: Vec<ShellState>, input: &StandardInput) -> Outcomes {
        if !self.step() {
            return Outcomes::default();
        }
        match compound {
            Compound::Group(list) => self.list(list, states, input),
            Compound::Subshell(list) => {
                self.subshell(list, &states, input);
                Outcomes::either(states)
            }
            Compound::If { branches, otherwise } => {
                let mut outcomes = Outcomes::default();
                let mut begin = states;
                for (condition, branch) in branches {
                    let met = self.list(condition, begin, input);
                    let after = self.list(branch, met.ok, input);
                    outcomes.add(after);
                    begin = met.failed;
                }
                match otherwise {
                    Some(list) => {
                        let after = self.list(list, begin, input);
                        outcomes.add(after);
                    }
                    None => outcomes.ok.extend(begin),
                }
                outcomes
            }
            Compound::Loop { until, condition, body } => {
                let after = self.repeat(states, |reader, states| {
                    let mut met = reader.list(condition, states, input);
                    if *until {
                        std::mem::swap(&mut met.ok, &mut met.failed);
                    }
                    (reader.list(body, met.ok, input).all(), met.failed)
                });
                Outcomes::either(after)
            }
            Compound::For { name, words, body } => self.iterate(name, words, body, states, input),
            Compound::Case { word, arms } => {
                let mut outcomes = Outcomes::default();
                for state in &states {
                    self.words_for_effect(std::slice::from_ref(word), state);
                    for (patterns, _) in arms {
                        self.words_for_effect(patterns, state);
                    }
                }
                for (_, list) in arms {
                    let after = self.list(list, states.clone(), input);
                    outcomes.add(after);
                    outcomes.ok = self.settle(outcomes.ok);
                    outcomes.failed = self.settle(outcomes.failed);
                }
                outcomes.ok.extend(states);
                outcomes
            }
            Compound::Test { words, numbers } => {
                for state in &states {
                    self.words_for_effect(words, state);
                    self.numbers(numbers, state);
                }
                Outcomes::either(states)
            }
        }
    }

    /// Expands words only for the effects of their expansion.
    fn words_for_effect(&mut self, words: &[Word], state: &ShellState) {
        for word in words {
            self.expand(word, state);
        }
    }

    /// The operands of a numeric comparison in `[[ ]]` are evaluated as arithmetic, so they must be numbers.
    fn numbers(&mut self, words: &[Word], state: &ShellState) {
        for word in words {
            let is_number = |arg: &Arg| match arg {
                Arg::Known(text) => text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit()),
                _ => false,
            };
            if !(self.is_digits(word, state) || matches!(self.expand(word, state).as_slice(), [arg] if is_number(arg))) {
                self.add_unknown("a comparison of numbers in `[[ ]]` evaluates text that is only known when it runs".to_owned());
            }
        }
    }

    /// Follows a loop until its states no longer change. `round` returns the states that continue and those that leave the loop.
    fn repeat(
        &mut self,
        states: Vec<ShellState>,
        mut round: impl FnMut(&mut Self, Vec<ShellState>) -> (Vec<ShellState>, Vec<ShellState>),
    ) -> Vec<ShellState> {
        let outer = std::mem::take(&mut self.left);
        self.loops += 1;
        let (mut known, mut after) = (states, Vec::new());
        for nth in 0..=MAX_ROUNDS {
            if nth == MAX_ROUNDS {
                self.add_unknown("what a loop does depends on how often it runs".to_owned());
                break;
            }
            let (go_on, leave) = round(self, known.clone());
            after.extend(leave);
            let mut next = known.clone();
            next.extend(go_on);
            next.extend(self.left.iter().cloned());
            let next = self.settle(next);
            let settled = next.len() == known.len();
            known = next;
            if settled || known.is_empty() {
                break;
            }
        }
        self.loops -= 1;
        after.extend(std::mem::replace(&mut self.left, outer));
        after.extend(known);
        self.settle(after)
    }

    fn iterate(&mut self, name: &str, words: &[Word], body: &List, states: Vec<ShellState>, input: &StandardInput) -> Outcomes {
        if !self.may_assign(name) {
            return Outcomes::either(states);
        }
        let mut after = Vec::new();
        for state in states {
            let args: Vec<Arg> = words.iter().flat_map(|word| self.expand(word, &state)).collect();
            let certain = args.len() <= MAX_WORDS && args.iter().all(Arg::is_certain);
            if !certain {
                // The words are known only at run time: there may be any words, and any number of rounds.
                let mut known: Vec<Value> = args.iter().map(Value::from).collect();
                known.truncate(MAX_WORDS);
                known.dedup();
                if !known.contains(&Value::Unknown) {
                    known.push(Value::Unknown);
                }
                let states = self.repeat(vec![state], |reader, states| {
                    let mut ended = Vec::new();
                    for value in &known {
                        let mut begin = states.clone();
                        begin.iter_mut().for_each(|state| state.set_variable(name, value.clone()));
                        ended.extend(reader.list(body, begin, input).all());
                        ended = reader.settle(ended);
                    }
                    (ended, Vec::new())
                });
                after.extend(states);
                continue;
            }
            let outer = std::mem::take(&mut self.left);
            self.loops += 1;
            let mut states = vec![state];
            for arg in &args {
                states.iter_mut().for_each(|state| state.set_variable(name, Value::from(arg)));
                let mut next = self.list(body, states, input).all();
                // A `break` may have left the loop, and a `continue` only this round.
                next.extend(self.left.iter().cloned());
                states = self.settle(next);
                if states.is_empty() {
                    break;
                }
            }
            self.loops -= 1;
            states.extend(std::mem::replace(&mut self.left, outer));
            after.extend(states);
        }
        Outcomes::either(self.settle(after))
    }

    /// The states without duplicates; if there are more than a handful, they are no longer followed.
    fn settle(&mut self, states: Vec<ShellState>) -> Vec<ShellState> {
        let mut kept: Vec<ShellState> = Vec::new();
        for state in states {
            if !kept.contains(&state) {
                kept.push(state);
            }
            if kept.len() > MAX_STATES {
                self.add_unknown("the command has too many branches to be followed".to_owned());
                // The command is unknown from here on, whatever follows.
                self.give_up();
                return Vec::new();
            }
        }
        kept
    }
}

impl From<&Arg> for Value {
    fn from(arg: &Arg) -> Self {
        match arg {
            Arg::Known(text) => Self::Text(text.clone()),
            Arg::Below(base, rest) => Self::Below(*base, rest.clone()),
            Arg::One(_) | Arg::Many(_) => Self::Unknown,
        }
    }
}

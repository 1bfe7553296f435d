//! Interprets lists, pipelines and compound commands along every path that they can take.
//!
//! A command leaves two sets of states: those in which it succeeded and those in which it failed. Only `cd` has different
//! ones; for everything else either may be the case, so both are followed.

use super::super::syntax::tree::{AndOrList, CommandNode, Compound, Connector, List, Pipeline, Word};
use super::ShellReader;
use super::arg::Arg;
use super::background::is_waited_for;
use super::input::StandardInput;
use super::state::{ShellState, Value};
use crate::effects::Persistence;

/// More states than this at one point are not followed.
const MAX_STATES: usize = 8;
/// A loop whose states have not settled by then is not followed.
const MAX_ROUNDS: usize = 4;
/// A loop over more words is not followed word by word.
const MAX_WORDS: usize = 200;

/// States in which a command succeeded, and in which it failed.
#[derive(Debug, Default)]
pub(super) struct Ways {
    pub(super) ok: Vec<ShellState>,
    pub(super) failed: Vec<ShellState>,
}

impl Ways {
    /// Whether it succeeds or fails, the shell is the same afterwards.
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
    pub(super) fn list(&mut self, list: &List, states: Vec<ShellState>, input: &StandardInput) -> Ways {
        let mut ways = Ways::either(states);
        for (nth, chain) in list.0.iter().enumerate() {
            let states = ways.all();
            let states = self.settle(states);
            if states.is_empty() {
                return Ways::default();
            }
            ways = if chain.background {
                if !is_waited_for(list.0.get(nth + 1..).unwrap_or_default()) {
                    self.outlast(Persistence::Detached);
                }
                self.in_subshell(&states, |reader, states| {
                    drop(reader.chain(chain, states, &StandardInput::Text(String::new())))
                });
                Ways::either(states)
            } else {
                self.chain(chain, states, input)
            };
        }
        ways
    }

    fn chain(&mut self, chain: &AndOrList, states: Vec<ShellState>, input: &StandardInput) -> Ways {
        let mut ways = self.pipeline(&chain.first, states, input);
        for (connector, pipeline) in &chain.rest {
            let begin = match connector {
                Connector::And => std::mem::take(&mut ways.ok),
                Connector::Or => std::mem::take(&mut ways.failed),
            };
            let begin = self.settle(begin);
            let after = self.pipeline(pipeline, begin, input);
            ways.add(after);
        }
        ways.ok = self.settle(ways.ok);
        ways.failed = self.settle(ways.failed);
        ways
    }

    fn pipeline(&mut self, pipeline: &Pipeline, states: Vec<ShellState>, input: &StandardInput) -> Ways {
        if states.is_empty() {
            return Ways::default();
        }
        let mut ways = match pipeline.commands.as_slice() {
            [] => Ways::either(states),
            [only] => self.command(only, states, input),
            [before @ .., last] => {
                for (nth, command) in before.iter().enumerate() {
                    let input = if nth == 0 { input.clone() } else { StandardInput::Unknown };
                    self.in_subshell(&states, |reader, states| drop(reader.command(command, states, &input)));
                }
                // Some shells run the last command of a pipeline themselves, others apart.
                let mut after = self.command(last, states.clone(), &StandardInput::Unknown).all();
                after.extend(states);
                Ways::either(self.settle(after))
            }
        };
        if pipeline.negated {
            std::mem::swap(&mut ways.ok, &mut ways.failed);
        }
        ways
    }

    /// Follows something in a shell of its own: what it does to variables and to the working directory stays there.
    fn in_subshell(&mut self, states: &[ShellState], go: impl FnOnce(&mut Self, Vec<ShellState>)) {
        let (left, loops) = (std::mem::take(&mut self.left), std::mem::take(&mut self.loops));
        go(self, states.to_vec());
        (self.left, self.loops) = (left, loops);
    }

    /// Follows a subshell or a substitution.
    pub(super) fn subshell(&mut self, list: &List, states: &[ShellState], input: &StandardInput) {
        self.in_subshell(states, |reader, states| drop(reader.list(list, states, input)));
    }

    fn command(&mut self, command: &CommandNode, states: Vec<ShellState>, input: &StandardInput) -> Ways {
        let mut ways = Ways::default();
        match command {
            CommandNode::Simple(simple) => {
                for state in states {
                    if !self.step() {
                        break;
                    }
                    let after = self.simple(simple, state, input);
                    ways.add(after);
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
                // A redirection that fails keeps the command from running.
                if !redirects.is_empty() {
                    ways.failed.extend(states.iter().cloned());
                }
                let after = self.compound(compound, states, &input);
                ways.add(after);
            }
        }
        ways.ok = self.settle(ways.ok);
        ways.failed = self.settle(ways.failed);
        ways
    }

    fn compound(&mut self, compound: &Compound, states: Vec<ShellState>, input: &StandardInput) -> Ways {
        if !self.step() {
            return Ways::default();
        }
        match compound {
            Compound::Group(list) => self.list(list, states, input),
            Compound::Subshell(list) => {
                self.subshell(list, &states, input);
                Ways::either(states)
            }
            Compound::If { branches, otherwise } => {
                let mut ways = Ways::default();
                let mut begin = states;
                for (condition, branch) in branches {
                    let met = self.list(condition, begin, input);
                    let after = self.list(branch, met.ok, input);
                    ways.add(after);
                    begin = met.failed;
                }
                match otherwise {
                    Some(list) => {
                        let after = self.list(list, begin, input);
                        ways.add(after);
                    }
                    None => ways.ok.extend(begin),
                }
                ways
            }
            Compound::Loop { until, condition, body } => {
                let after = self.repeat(states, |reader, states| {
                    let mut met = reader.list(condition, states, input);
                    if *until {
                        std::mem::swap(&mut met.ok, &mut met.failed);
                    }
                    (reader.list(body, met.ok, input).all(), met.failed)
                });
                Ways::either(after)
            }
            Compound::For { name, words, body } => self.iterate(name, words, body, states, input),
            Compound::Case { word, arms } => {
                let mut ways = Ways::default();
                for state in &states {
                    self.words_for_effect(std::slice::from_ref(word), state);
                    for (patterns, _) in arms {
                        self.words_for_effect(patterns, state);
                    }
                }
                for (_, list) in arms {
                    let after = self.list(list, states.clone(), input);
                    ways.add(after);
                    ways.ok = self.settle(ways.ok);
                    ways.failed = self.settle(ways.failed);
                }
                ways.ok.extend(states);
                ways
            }
            Compound::Test { words, numbers } => {
                for state in &states {
                    self.words_for_effect(words, state);
                    self.numbers(numbers, state);
                }
                Ways::either(states)
            }
        }
    }

    /// Expands words for what their expansion does.
    fn words_for_effect(&mut self, words: &[Word], state: &ShellState) {
        for word in words {
            self.expand(word, state);
        }
    }

    /// Operands of a comparison of numbers in `[[ ]]` are evaluated as arithmetic, so they must be numbers.
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

    /// Follows a loop until its states no longer change. `round` says which states go on and which leave the loop.
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

    fn iterate(&mut self, name: &str, words: &[Word], body: &List, states: Vec<ShellState>, input: &StandardInput) -> Ways {
        if !self.may_assign(name) {
            return Ways::either(states);
        }
        let mut after = Vec::new();
        for state in states {
            let args: Vec<Arg> = words.iter().flat_map(|word| self.expand(word, &state)).collect();
            let certain = args.len() <= MAX_WORDS && args.iter().all(Arg::is_certain);
            if !certain {
                // The words are known only at run time: any of them, and any number of rounds.
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
                        begin.iter_mut().for_each(|state| state.set(name, value.clone()));
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
                states.iter_mut().for_each(|state| state.set(name, Value::from(arg)));
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
        Ways::either(self.settle(after))
    }

    /// States with those that are the same taken together; beyond a handful they are not followed.
    fn settle(&mut self, states: Vec<ShellState>) -> Vec<ShellState> {
        let mut kept: Vec<ShellState> = Vec::new();
        for state in states {
            if !kept.contains(&state) {
                kept.push(state);
            }
            if kept.len() > MAX_STATES {
                self.add_unknown("the command has too many branches to be followed".to_owned());
                // It is unknown now, whatever follows.
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

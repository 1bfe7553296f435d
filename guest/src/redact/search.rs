//! Finds everything that the matches of one pattern cover, within a budget.
//!
//! It is on `regex-automata`, the engine of the `regex` crate, because that crate offers neither of the two things needed here: all
//! matches instead of one after the other, and an end to the work that does not depend on a clock. Automata are built while the text is
//! read, and only as much of them as the text asks for.
//!
//! 1. Is there a match at all? One pass forwards, most of it skipped where the pattern begins with a literal. For most texts that is all.
//! 2. Where do matches begin? One pass backwards.
//! 3. How far does the longest from each beginning reach? A walk forwards from each, which ends where it is in the same state as an
//!    earlier walk was at that place: from there on both go the same way. So the walks together are hardly longer than the text.
//!
//! A pattern can be made on which automata or walks grow out of proportion. Then the budget ends the search.

use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::Hir;

/// Memory for the states of one automaton, in bytes. What does not fit makes room for itself by forgetting all others.
const MAX_CACHE_BYTES: usize = 512 << 10;
/// An automaton that has to forget more often than this on one text grows out of proportion.
const MAX_CACHE_CLEARS: usize = 3;
/// What is built of a pattern before any text is read, in bytes. A second net: the size was estimated before.
const MAX_BUILT_BYTES: usize = 8 << 20;

/// A longer text in which there is a match is not searched further: the walks need four times its length in memory.
const MAX_WALKED_BYTES: usize = 8 << 20;

/// Steps for any text. A step is one byte of the text in one automaton.
const STEPS: usize = 512 << 10;
/// More steps for every byte of it.
const STEPS_PER_BYTE: usize = 24;
/// How many steps a byte of memory for new states costs.
const STEPS_PER_CACHE_BYTE: usize = 4;

/// The budget is used up, so nothing is known about the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exhausted;

/// The work that may be spent on searching a text, or on all texts of one value. Once it is used up no text that follows is searched.
#[derive(Debug)]
pub(super) struct Budget {
    /// None once it is used up.
    steps: Option<usize>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { steps: Some(STEPS) }
    }

    /// There is more text to search.
    pub(super) fn grant(&mut self, bytes: usize) {
        self.steps = self.steps.map(|steps| steps.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE)));
    }

    fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        self.steps = self.steps.and_then(|left| left.checked_sub(steps));
        self.steps.map(drop).ok_or(Exhausted)
    }

    fn use_up(&mut self) {
        self.steps = None;
    }
}

/// One pattern, built.
#[derive(Debug)]
pub(super) struct Search {
    forwards: Automaton,
    backwards: Automaton,
}

/// An automaton that is built while it runs.
#[derive(Debug)]
struct Automaton {
    dfa: DFA,
    states: Cache,
}

impl Search {
    /// Builds a pattern; none where it is larger than it seemed.
    pub(super) fn new(tree: &Hir) -> Option<Self> {
        Some(Self { forwards: Automaton::new(tree, false)?, backwards: Automaton::new(tree, true)? })
    }

    /// Adds everything that a match covers, as ranges of bytes.
    pub(super) fn cover(&mut self, text: &str, covered: &mut Vec<Range<usize>>, budget: &mut Budget) -> Result<(), Exhausted> {
        self.forwards.begin();
        self.backwards.begin();
        let before = self.memory();
        let found = self.cover_within(text, covered, budget);
        if found.is_err() {
            budget.use_up();
        }
        // New states are paid for afterwards: their number is bounded for every pattern, and here for all of them together.
        budget.spend(self.memory().saturating_sub(before).saturating_mul(STEPS_PER_CACHE_BYTE))
    }

    fn cover_within(&mut self, text: &str, covered: &mut Vec<Range<usize>>, budget: &mut Budget) -> Result<(), Exhausted> {
        // A plain search takes half as long as a walk, and next to nothing where it looks for a literal first.
        let is_quick = self.forwards.dfa.get_config().get_prefilter().is_some();
        budget.spend(text.len() / if is_quick { 16 } else { 2 })?;
        if !self.forwards.is_match(text)? {
            return Ok(());
        }
        if text.len() > MAX_WALKED_BYTES {
            return Err(Exhausted);
        }
        budget.spend(text.len())?;
        let starts = self.backwards.starts(text)?;
        let mut walks = Walks::new(text);
        let mut last: Option<Range<usize>> = None;
        for start in starts {
            let Some(end) = walks.longest(&mut self.forwards, start, budget)? else { continue };
            last = match last {
                Some(last) if last.end >= start => Some(last.start..last.end.max(end)),
                Some(done) => {
                    covered.push(done);
                    Some(start..end)
                }
                None => Some(start..end),
            };
        }
        covered.extend(last);
        Ok(())
    }

    fn memory(&self) -> usize {
        self.forwards.memory() + self.backwards.memory()
    }
}

impl Automaton {
    fn new(tree: &Hir, backwards: bool) -> Option<Self> {
        let config = Config::new().reverse(backwards).which_captures(WhichCaptures::None).nfa_size_limit(Some(MAX_BUILT_BYTES));
        let nfa = Compiler::new().configure(config).build_from_hir(tree).ok()?;
        // Only where it is worth it: else every byte would be looked at twice.
        let literals =
            if backwards { None } else { Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, tree).filter(Prefilter::is_fast) };
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .specialize_start_states(literals.is_some())
            .prefilter(literals)
            .cache_capacity(MAX_CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(MAX_CACHE_CLEARS));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let states = dfa.create_cache();
        Some(Self { dfa, states })
    }

    /// What an earlier text made it forget does not count for this one.
    fn begin(&mut self) {
        if self.states.clear_count() > 0 {
            self.states.reset(&self.dfa);
        }
    }

    /// How much memory its states have taken since [`begin`](Self::begin), those included that it forgot.
    fn memory(&self) -> usize {
        self.states.memory_usage() + self.states.clear_count() * MAX_CACHE_BYTES
    }

    fn is_match(&mut self, text: &str) -> Result<bool, Exhausted> {
        let found = self.dfa.try_search_fwd(&mut self.states, &Input::new(text).earliest(true));
        found.map(|end| end.is_some()).map_err(|_| Exhausted)
    }

    /// Where matches begin, in order.
    fn starts(&mut self, text: &str) -> Result<Vec<usize>, Exhausted> {
        let mut starts = Vec::new();
        let mut state = self.dfa.start_state_reverse(&mut self.states, &Input::new(text)).map_err(|_| Exhausted)?;
        for (at, byte) in text.bytes().enumerate().rev() {
            state = self.next(state, byte)?;
            // An automaton tells of a match one byte late.
            if state.is_match() {
                starts.push(at + 1);
            } else if state.is_dead() {
                break;
            }
        }
        if self.end(state)?.is_match() {
            starts.push(0);
        }
        starts.reverse();
        Ok(starts)
    }

    fn next(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, Exhausted> {
        self.dfa.next_state(&mut self.states, state, byte).map_err(|_| Exhausted)
    }

    fn end(&mut self, state: LazyStateID) -> Result<LazyStateID, Exhausted> {
        self.dfa.next_eoi_state(&mut self.states, state).map_err(|_| Exhausted)
    }
}

/// The walks through one text.
struct Walks<'t> {
    text: &'t str,
    /// In which state the last walk that came by was, for every place of the text; the default is the name of no state.
    trail: Vec<LazyStateID>,
    /// How often states had been forgotten when the trail was begun. Then their names mean others.
    clears: usize,
}

impl<'t> Walks<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, trail: vec![LazyStateID::default(); text.len()], clears: 0 }
    }

    /// Where the longest match ends that begins at a place, where that may be further than any walk before has come.
    fn longest(&mut self, automaton: &mut Automaton, start: usize, budget: &mut Budget) -> Result<Option<usize>, Exhausted> {
        let input = Input::new(self.text).range(start..).anchored(Anchored::Yes);
        let mut state = automaton.dfa.start_state_forward(&mut automaton.states, &input).map_err(|_| Exhausted)?;
        let mut longest = None;
        for (at, byte) in self.text.bytes().enumerate().skip(start) {
            budget.spend(1)?;
            if self.clears != automaton.states.clear_count() {
                budget.spend(self.trail.len())?;
                self.trail.fill(LazyStateID::default());
                self.clears = automaton.states.clear_count();
            }
            if let Some(place) = self.trail.get_mut(at) {
                if *place == state {
                    return Ok(longest);
                }
                *place = state;
            }
            state = automaton.next(state, byte)?;
            if state.is_match() {
                // An automaton tells of a match one byte late.
                longest = Some(at).filter(|at| *at > start).or(longest);
            } else if state.is_dead() {
                return Ok(longest);
            }
        }
        let is_whole = automaton.end(state)?.is_match() && self.text.len() > start;
        Ok(if is_whole { Some(self.text.len()) } else { longest })
    }
}

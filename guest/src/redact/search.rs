//! Finds everything that the matches of a pattern cover, within a budget.
//!
//! It uses `regex-automata`, the engine of the `regex` crate, because `regex` itself lacks two things needed here: finding all
//! matches, including overlapping ones, and limiting the work without a clock. Automata are built while the text is read, and
//! only as far as the text needs them.
//!
//! 1. Is there a match at all? One pass forwards, most of which is skipped if the pattern begins with a literal. Most texts need
//!    only this pass.
//! 2. Where do matches begin? One pass backwards.
//! 3. How far does the longest match from each beginning reach? A walk forwards from each, which stops as soon as it is in the
//!    same state as an earlier walk was at the same position: from there on, both continue in the same way. So all walks together
//!    are hardly longer than the text.
//!
//! Patterns can be constructed for which the automata or the walks grow out of proportion. Then the budget ends the search.

use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::Hir;

/// Memory for the states of one automaton, in bytes. When it is full, all states are forgotten.
const MAX_CACHE_BYTES: usize = 512 << 10;
/// An automaton that has to forget its states more often than this on one text has grown out of proportion.
const MAX_CACHE_CLEARS: usize = 3;
/// Memory for what is built from a pattern before any text is read, in bytes. This is a second safeguard: the size was already
/// estimated.
const MAX_BUILT_BYTES: usize = 8 << 20;

/// The longest text with a match that is searched further: walks need four times its length in memory.
const MAX_WALKED_BYTES: usize = 8 << 20;

/// Steps granted for any search. A step is one byte of the text in one automaton.
const STEPS: usize = 512 << 10;
/// Additional steps for every byte of a text.
const STEPS_PER_BYTE: usize = 24;
/// How many steps a byte of memory for new states costs.
const STEPS_PER_CACHE_BYTE: usize = 4;

/// The budget is used up, so the text may contain undetected matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exhausted;

/// The work that may be spent on searching a text, or on all texts of a value. Once it is used up, no further text is searched.
#[derive(Debug)]
pub(super) struct Budget {
    /// The steps left; `None` once the budget is used up.
    steps: Option<usize>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { steps: Some(STEPS) }
    }

    /// Grants steps for another text of this length.
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

/// A pattern's two automata.
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
    /// Builds the automata of a pattern; `None` if they are larger than estimated.
    pub(super) fn new(tree: &Hir) -> Option<Self> {
        Some(Self { forwards: Automaton::new(tree, false)?, backwards: Automaton::new(tree, true)? })
    }

    /// Adds everything that matches cover, as ranges of bytes.
    pub(super) fn cover(&mut self, text: &str, covered: &mut Vec<Range<usize>>, budget: &mut Budget) -> Result<(), Exhausted> {
        self.forwards.begin();
        self.backwards.begin();
        let before = self.memory();
        let found = self.cover_within(text, covered, budget);
        if found.is_err() {
            budget.use_up();
        }
        // New states are paid for afterwards: their number is bounded for each pattern, and by this for all patterns together.
        budget.spend(self.memory().saturating_sub(before).saturating_mul(STEPS_PER_CACHE_BYTE))
    }

    fn cover_within(&mut self, text: &str, covered: &mut Vec<Range<usize>>, budget: &mut Budget) -> Result<(), Exhausted> {
        // A plain search takes half as long as a walk, and very little if it can look for a literal first.
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
        // A prefilter is used only where it is fast: otherwise every byte would be looked at twice.
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

    /// Resets the count of forgotten states, so that an earlier text does not affect the limit for this one.
    fn begin(&mut self) {
        if self.states.clear_count() > 0 {
            self.states.reset(&self.dfa);
        }
    }

    /// How much memory its states take, including those forgotten since [`begin`](Self::begin).
    fn memory(&self) -> usize {
        self.states.memory_usage() + self.states.clear_count() * MAX_CACHE_BYTES
    }

    fn is_match(&mut self, text: &str) -> Result<bool, Exhausted> {
        let found = self.dfa.try_search_fwd(&mut self.states, &Input::new(text).earliest(true));
        found.map(|end| end.is_some()).map_err(|_| Exhausted)
    }

    /// The positions at which matches begin, in order.
    fn starts(&mut self, text: &str) -> Result<Vec<usize>, Exhausted> {
        let mut starts = Vec::new();
        let mut state = self.dfa.start_state_reverse(&mut self.states, &Input::new(text)).map_err(|_| Exhausted)?;
        for (at, byte) in text.bytes().enumerate().rev() {
            state = self.next(state, byte)?;
            // An automaton reports a match one byte late.
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
    /// For every position of the text, the state of the walk that last passed it; the default is not the id of any state.
    trail: Vec<LazyStateID>,
    /// How often the automaton had forgotten its states when the trail was begun. After that, the ids mean other states.
    clears: usize,
}

impl<'t> Walks<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, trail: vec![LazyStateID::default(); text.len()], clears: 0 }
    }

    /// Where the longest match from `start` ends, unless an earlier walk has already come as far.
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
                // An automaton reports a match one byte late.
                longest = Some(at).filter(|at| *at > start).or(longest);
            } else if state.is_dead() {
                return Ok(longest);
            }
        }
        let is_whole = automaton.end(state)?.is_match() && self.text.len() > start;
        Ok(if is_whole { Some(self.text.len()) } else { longest })
    }
}

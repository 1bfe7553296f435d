//! Random cases that shrink.
//!
//! proptest draws a tape of numbers, and a test reads its choices off the tape. When a case fails, proptest makes the tape
//! shorter and its numbers smaller as long as it still fails. Past its end a tape reads as zeros, and smaller numbers are earlier
//! choices, so the simplest choice belongs first in every list.

#![allow(dead_code)]

use proptest::collection::vec;
use proptest::num::u16;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// The rest of a tape.
pub(crate) struct Dice {
    tape: std::vec::IntoIter<u16>,
}

impl Dice {
    /// A number from 0 up to but not including `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        let drawn = usize::from(self.tape.next().unwrap_or_default());
        (drawn * sides) >> u16::BITS
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, sides: usize) -> bool {
        self.below(sides) + 1 == sides
    }

    pub(crate) fn pick<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len())]
    }

    /// Up to `most` choices in a row, and at least one.
    pub(crate) fn join(&mut self, choices: &[&str], most: usize) -> String {
        (0..=self.below(most)).map(|_| self.pick(choices)).collect()
    }
}

/// Checks a property on this many tapes of up to `longest` numbers, the same ones on every run. If it panics, the message is
/// about the smallest case that was found.
pub(crate) fn check(seed: u64, cases: u32, longest: usize, property: impl Fn(&mut Dice)) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 10_000, ..Config::default() };
    let bytes: Vec<u8> = seed.to_le_bytes().repeat(4);
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let tried = runner.run(&vec(u16::ANY, 0..=longest), |tape| {
        property(&mut Dice { tape: tape.into_iter() });
        Ok(())
    });
    match tried {
        Ok(()) => {}
        Err(TestError::Fail(why, tape)) => panic!("the smallest case that fails: {why}\nits tape: {tape:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

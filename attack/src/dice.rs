//! Deterministic random choices.

/// A sequence determined by a seed and a number, so that any command of a campaign can be generated on its own.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The sequence for one command of a campaign.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut dice = Self(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.next();
        dice
    }

    /// SplitMix64, which is simple and good enough.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`; 0 if that is 0.
    pub fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % sides).unwrap_or(0)
    }

    /// True once in `times`, on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several choices, if there are any.
    pub fn pick<'t, T>(&mut self, choices: &'t [T]) -> Option<&'t T> {
        choices.get(self.below(choices.len()))
    }

    /// One of several words.
    pub fn word<'t>(&mut self, words: &[&'t str]) -> &'t str {
        self.pick(words).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn a_number_determines_the_sequence() {
        let draw = |seed, number| {
            let mut dice = Dice::new(seed, number);
            (0..8).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
    }
}

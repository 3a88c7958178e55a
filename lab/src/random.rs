//! A small generator of numbers: the same seed gives the same numbers, on every machine.

/// Numbers that look random, by the `SplitMix64` scheme.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of one input among many: neighbours have nothing in common.
    pub(crate) fn of_input(seed: u64, number: u64) -> Self {
        let mut mixed = Self(seed ^ number.wrapping_mul(0xD134_2543_DE82_EF95));
        mixed.next();
        mixed
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 when that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = limit.max(1) as u64;
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    /// True once in so many times, on average.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these; the default of the type for an empty list.
    pub(crate) fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        choices
            .get(self.below(choices.len()))
            .copied()
            .unwrap_or_default()
    }

    /// A length: mostly small, now and then near `most`.
    pub(crate) fn length(&mut self, most: usize) -> usize {
        let shift = self.below(12);
        self.below((most >> shift).max(2))
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_gives_the_same_numbers_and_a_neighbour_others() {
        let numbers = |seed, number| {
            let mut random = Random::of_input(seed, number);
            [random.next(), random.next()]
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3) && random.below(0) == 0);
    }
}

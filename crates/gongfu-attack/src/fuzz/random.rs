//! A small generator of random numbers, so that a seed is all that a repetition needs.

/// Random numbers that are the same for the same seed (xorshift64*).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).max(1))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 16).checked_rem(end).unwrap_or_default()
    }
}

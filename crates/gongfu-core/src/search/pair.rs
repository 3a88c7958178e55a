//! The pairs of words of a text, small enough to be kept beside it.
//!
//! There are as many pairs as words, and most of them stand in one text alone: a dictionary of them
//! would be larger than everything else in an index. A pair only tells which of the texts with the
//! right words is the best, so it is enough to have them text by text, as hashes of 24 bits: of a
//! thousand pairs one is mistaken for another once in sixteen thousand questions.

/// The parts of a text whose pairs are kept; code has none.
pub const PARTS: usize = 4;
/// The frequency of a pair of neighbours; with a word between, a pair counts half.
pub const NEAR: u8 = 2;

/// A pair in a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u32);

impl Place {
    /// A pair, as [`Words`](super::word::Words) tells it, in the part with this number.
    pub fn new(pair: &str, part: usize) -> Self {
        // FNV-1a, folded to 24 bits.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in pair.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let folded = (hash >> 48) ^ (hash >> 24) ^ hash;
        let part = u32::try_from(part % PARTS).unwrap_or(0);
        let bits = u32::try_from(folded & 0x00ff_ffff).unwrap_or(0);
        Self(bits << 2 | part)
    }

    /// The pair, whatever part it is in.
    pub fn pair(self) -> u32 {
        self.0 >> 2
    }

    /// The number of the part.
    pub fn part(self) -> usize {
        (self.0 & 3) as usize
    }
}

/// Packs pairs with their frequencies, in any order: sorted, as differences.
pub fn pack(mut pairs: Vec<(Place, u8)>) -> Vec<u8> {
    pairs.sort_unstable();
    let mut packed = Vec::with_capacity(pairs.len() * 3);
    let mut before = 0;
    let mut at = 0;
    while let Some((place, _)) = pairs.get(at).copied() {
        let same = pairs.iter().skip(at);
        let same = same.take_while(|(other, _)| *other == place);
        let (count, frequency) = same.fold((0, 0_u8), |(count, sum), (_, frequency)| {
            (count + 1, sum.saturating_add(*frequency))
        });
        at += count;
        // Frequencies of one and two stand in the number itself; others follow it.
        let small = if frequency <= 2 { frequency } else { 0 };
        push(&mut packed, (place.0 - before) << 2 | u32::from(small));
        if small == 0 {
            packed.push(frequency);
        }
        before = place.0;
    }
    packed
}

/// Adds a number, seven bits a byte, the lowest first.
fn push(packed: &mut Vec<u8>, mut number: u32) {
    while let high @ 1.. = number >> 7 {
        packed.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number = high;
    }
    packed.push(u8::try_from(number & 0x7f).unwrap_or(0));
}

/// Tells every pair of a packed text in order; stops at what isn't packed as it should be.
pub fn each(packed: &[u8], mut tell: impl FnMut(Place, u8)) {
    let mut bytes = packed.iter().copied();
    let mut before = 0_u32;
    while let Some(number) = next(&mut bytes) {
        let Some(place) = before.checked_add(number >> 2) else {
            return;
        };
        let frequency = match number & 3 {
            0 => bytes.next().unwrap_or(0),
            small => u8::try_from(small).unwrap_or(0),
        };
        tell(Place(place), frequency);
        before = place;
    }
}

fn next(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..32).step_by(7) {
        let byte = bytes.next()?;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Place, each, pack};

    fn unpacked(packed: &[u8]) -> Vec<(Place, u8)> {
        let mut all = Vec::new();
        each(packed, |place, frequency| all.push((place, frequency)));
        all
    }

    #[test]
    fn what_is_packed_comes_out_once_and_in_order() {
        let mut expected: Vec<(Place, u8)> = (0..3_000)
            .map(|number| (Place::new(&format!("a_{number}"), number % 4), 1))
            .collect();
        expected.sort_unstable();
        expected.dedup();
        let packed = pack(expected.clone());
        assert_eq!(unpacked(&packed), expected);
        assert!(packed.len() < expected.len() * 3, "{}", packed.len());
    }

    #[test]
    fn frequencies_add_up_to_a_limit() {
        let place = Place::new("pull_request", 3);
        assert_eq!(
            (place.part(), place.pair()),
            (3, Place::new("pull_request", 0).pair())
        );
        assert_eq!(unpacked(&pack(vec![(place, 2), (place, 1)])), [(place, 3)]);
        assert_eq!(unpacked(&pack(vec![(place, 2); 300])), [(place, 255)]);
    }

    #[test]
    fn nonsense_ends_early() {
        for nonsense in [
            &b"\xff\xff\xff\xff\xff\xff"[..],
            b"\x80",
            b"\x04",
            b"\xff\xff\xff\xff\x0f\x01\xff\xff\xff\xff\x0f",
        ] {
            assert!(unpacked(nonsense).len() <= 3);
        }
    }
}

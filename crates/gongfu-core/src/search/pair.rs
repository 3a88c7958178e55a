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

/// The bits of a packed pair that are its frequency; a higher one counts as the highest.
const FREQUENCY: u32 = 6;
const MAX_FREQUENCY: u8 = (1 << FREQUENCY) - 1;
/// The bytes of a packed pair.
const SIZE: usize = 4;

/// Packs pairs with their frequencies, in any order: sorted, so that one is found without a look at
/// the others.
pub fn pack(mut pairs: Vec<(Place, u8)>) -> Vec<u8> {
    pairs.sort_unstable();
    let alike = pairs.chunk_by(|(one, _), (other, _)| one == other);
    let numbers = alike.filter_map(|alike| {
        let frequencies = alike.iter().map(|(_, frequency)| *frequency);
        let frequency = frequencies.fold(0, u8::saturating_add).min(MAX_FREQUENCY);
        let (place, _) = alike.first()?;
        Some(place.0 << FREQUENCY | u32::from(frequency))
    });
    numbers.flat_map(u32::to_be_bytes).collect()
}

/// Tells the places of a pair in a packed text, with how often it stands there.
pub fn find(packed: &[u8], pair: u32, mut tell: impl FnMut(Place, u8)) {
    let (packed, _) = packed.as_chunks::<SIZE>();
    let first = Place(pair << 2);
    let from = packed.partition_point(|number| place_of(*number) < first);
    for number in packed.iter().skip(from) {
        let place = place_of(*number);
        if place.pair() != pair {
            return;
        }
        let [.., last] = *number;
        tell(place, last & MAX_FREQUENCY);
    }
}

fn place_of(number: [u8; SIZE]) -> Place {
    Place(u32::from_be_bytes(number) >> FREQUENCY)
}

#[cfg(test)]
mod tests {
    use super::{MAX_FREQUENCY, Place, find, pack};

    fn found(packed: &[u8], pair: Place) -> Vec<(usize, u8)> {
        let mut all = Vec::new();
        find(packed, pair.pair(), |place, frequency| {
            assert_eq!(place.pair(), pair.pair());
            all.push((place.part(), frequency));
        });
        all
    }

    #[test]
    fn only_packed_places_are_found() {
        let place = |number: usize| Place::new(&format!("a_{number}"), number % 4);
        let mut packed: Vec<(Place, u8)> = (0..3_000).rev().map(|n| (place(n), 1)).collect();
        packed.push((Place::new("a_7", 0), 2));
        let packed = pack(packed);
        for number in 0..3_000 {
            let expected: &[(usize, u8)] = match number {
                7 => &[(0, 2), (3, 1)],
                _ => &[(number % 4, 1)],
            };
            assert_eq!(found(&packed, place(number)), expected, "{number}");
        }
        for number in 3_000..4_000 {
            assert_eq!(found(&packed, place(number)), [], "{number}");
        }
    }

    #[test]
    fn frequencies_add_up_to_their_limit() {
        let place = Place::new("pull_request", 3);
        assert_eq!(
            (place.part(), place.pair()),
            (3, Place::new("pull_request", 0).pair())
        );
        assert_eq!(found(&pack(vec![(place, 2), (place, 1)]), place), [(3, 3)]);
        assert_eq!(
            found(&pack(vec![(place, 2); 300]), place),
            [(3, MAX_FREQUENCY)]
        );
    }

    #[test]
    fn malformed_bytes_hold_no_pair() {
        for nonsense in [
            &b""[..],
            b"\x80",
            b"\xff\xff\xff",
            b"\xff\xff\xff\xff\0\0\0\0\x01",
        ] {
            assert_eq!(found(nonsense, Place::new("a_b", 0)), []);
        }
    }
}

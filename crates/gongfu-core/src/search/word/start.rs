//! The beginnings of words that are looked for, so that a reader passes over all others.

/// What words may start with, so that all others are passed over: the English endings that come
/// off leave the first two letters as they are, but for `y` and `i` (`lying` is to `lie`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starts {
    /// For each first letter or digit, which may follow; the last bit is the end of the word.
    seconds: [u64; SIGNS],
}

/// How many letters and digits there are in ASCII.
const SIGNS: usize = 36;

/// The number of a letter or digit, whatever its case.
fn sign_number(byte: u8) -> Option<usize> {
    match byte {
        b'a'..=b'z' => Some(usize::from(byte - b'a')),
        b'A'..=b'Z' => Some(usize::from(byte - b'A')),
        b'0'..=b'9' => Some(usize::from(byte - b'0') + 26),
        _ => None,
    }
}

impl Starts {
    /// What these terms start with, as [`Words`](super::Words) tells them.
    pub fn of<'a>(terms: impl IntoIterator<Item = &'a str>) -> Self {
        let mut seconds = [0; SIGNS];
        for term in terms {
            let mut bytes = term.bytes();
            let row = bytes.next().and_then(sign_number);
            if let Some(row) = row.and_then(|first| seconds.get_mut(first)) {
                *row |= match bytes.next() {
                    Some(second) => Self::bit(second),
                    // An ending may have come off behind the first letter.
                    None => u64::MAX,
                };
            }
        }
        Self { seconds }
    }

    /// The bit of a second letter or digit.
    fn bit(second: u8) -> u64 {
        match sign_number(second) {
            // The same as `i`.
            Some(24) => 1 << 8,
            Some(number) => 1 << number,
            None => 1 << SIGNS,
        }
    }

    /// Whether a word may be one of those by its first letter and what follows it, if anything does.
    fn have(&self, first: u8, second: Option<u8>) -> bool {
        let row = sign_number(first).and_then(|first| self.seconds.get(first));
        row.is_none_or(|row| second.is_none_or(|second| row & Self::bit(second) != 0))
    }

    /// Whether a folded word may be one of those; beyond ASCII every word may.
    pub(super) fn have_word(&self, word: &str) -> bool {
        let mut bytes = word.bytes();
        bytes
            .next()
            .is_none_or(|first| self.have(first, bytes.next()))
    }

    /// How much of a text that starts between two words can be passed over, in bytes: identifiers
    /// that are plain ASCII and none of those, and the ASCII between them.
    pub(super) fn pass(&self, text: &[u8]) -> usize {
        let mut passed = 0;
        while let Some(byte) = text.get(passed) {
            if byte.is_ascii_alphanumeric() {
                match self.foreign(text.get(passed..).unwrap_or(&[])) {
                    Some(length) => passed += length,
                    None => break,
                }
            } else if byte.is_ascii() {
                passed += 1;
            } else {
                break;
            }
        }
        passed
    }

    /// How long the identifier is that a text begins with, in bytes, when it is plain ASCII and no
    /// part of it may be one of those. A part starts the identifier, or with a capital letter.
    fn foreign(&self, text: &[u8]) -> Option<usize> {
        let mut length = 0;
        for (at, byte) in text.iter().enumerate() {
            if !byte.is_ascii_alphanumeric() {
                // A letter or a mark may follow, or an ending that is no word.
                if !byte.is_ascii() || *byte == b'\'' {
                    return None;
                }
                break;
            }
            let starts = at == 0 || byte.is_ascii_uppercase();
            if starts && self.have(*byte, text.get(at + 1).copied()) {
                return None;
            }
            length = at + 1;
        }
        Some(length)
    }
}

//! The first letters of the words of a query, so that a reader skips all other words.

/// The first letters that words may have, so that all others are passed over.
///
/// The English endings that come off leave the first two letters as they are, and of a stem of four
/// letters or more the third as well, but for `y` and `i` (`lying` is to `lie`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starts {
    /// For each first letter or digit, which may come second; the last bit is the end of the word.
    seconds: [u64; SIGNS],
    /// For each first letter or digit, which may come third.
    thirds: [u64; SIGNS],
}

/// The number of letters and digits in ASCII.
const SIGNS: usize = 36;
/// Up to so many letters a stem may have lost its third one, or have another.
const SHORT: usize = 3;

/// The class of a byte between words and in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Byte {
    /// A small letter or a digit.
    Small,
    Capital,
    Apostrophe,
    /// Anything else in ASCII.
    Between,
    /// A part of a character beyond ASCII.
    Foreign,
}

/// The class of each byte.
const BYTES: [Byte; 256] = {
    let mut bytes = [Byte::Foreign; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        bytes[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => Byte::Small,
            b'A'..=b'Z' => Byte::Capital,
            b'\'' => Byte::Apostrophe,
            _ => Byte::Between,
        };
        byte += 1;
    }
    bytes
};

/// Returns the first place from `at` on with a byte of another class.
fn behind(text: &[u8], mut at: usize, is: impl Fn(Byte) -> bool) -> (usize, Option<Byte>) {
    loop {
        let byte = text.get(at).and_then(|byte| BYTES.get(usize::from(*byte)));
        match byte {
            Some(byte) if is(*byte) => at += 1,
            other => return (at, other.copied()),
        }
    }
}

/// The number of a letter or digit, whatever its case.
fn sign_number(byte: u8) -> Option<usize> {
    match byte {
        b'a'..=b'z' => Some(usize::from(byte - b'a')),
        b'A'..=b'Z' => Some(usize::from(byte - b'A')),
        b'0'..=b'9' => Some(usize::from(byte - b'0') + 26),
        _ => None,
    }
}

/// The bit of a letter or digit behind the first; anything else ends the word.
fn bit(sign: u8) -> u64 {
    match sign_number(sign) {
        // `y` is the same as `i`.
        Some(24) => 1 << 8,
        Some(number) => 1 << number,
        None => 1 << SIGNS,
    }
}

impl Starts {
    /// Returns the starts of these terms, as [`Words`](super::Words) tells them.
    pub fn of<'a>(terms: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut seconds, mut thirds) = ([0; SIGNS], [0; SIGNS]);
        for term in terms {
            let mut bytes = term.bytes();
            let Some(first) = bytes.next().and_then(sign_number) else {
                continue;
            };
            if let Some(row) = seconds.get_mut(first) {
                // An ending may have come off behind the first letter.
                *row |= bytes.next().map_or(u64::MAX, bit);
            }
            if let Some(row) = thirds.get_mut(first) {
                let third = bytes.next().filter(|_| term.len() > SHORT);
                *row |= third.map_or(u64::MAX, bit);
            }
        }
        Self { seconds, thirds }
    }

    /// Returns true if a word that starts like this may be one of those; beyond ASCII every word may.
    fn have(&self, word: &[u8]) -> bool {
        let [first, rest @ ..] = word else {
            return true;
        };
        let Some(first) = sign_number(*first) else {
            return true;
        };
        let may = |rows: &[u64; SIGNS], next: Option<&u8>| {
            let row = rows.get(first).copied().unwrap_or(u64::MAX);
            next.is_none_or(|next| row & bit(*next) != 0)
        };
        may(&self.seconds, rest.first()) && may(&self.thirds, rest.get(1))
    }

    /// Returns true if a folded word may be one of those; beyond ASCII every word may.
    pub(super) fn have_word(&self, word: &str) -> bool {
        self.have(word.as_bytes())
    }

    /// Returns how much of a text that starts between two words can be passed over, in bytes: identifiers
    /// that are plain ASCII and none of those, and the ASCII between them.
    pub(super) fn pass(&self, text: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let between = |byte| matches!(byte, Byte::Between | Byte::Apostrophe);
            let (start, byte) = behind(text, at, between);
            let is_word = matches!(byte, Some(Byte::Small | Byte::Capital));
            match is_word.then(|| self.foreign(text, start)).flatten() {
                Some(end) => at = end,
                None => return start,
            }
        }
    }

    /// Returns the end of the word that starts at `at`, when it is an identifier by itself: small letters of
    /// ASCII, the first one perhaps a capital, and nothing behind them that could belong to them.
    pub(super) fn plain(text: &[u8], at: usize) -> Option<usize> {
        if !text.get(at)?.is_ascii_alphabetic() {
            return None;
        }
        let rest = text.get(at + 1..)?.iter();
        let length = rest.take_while(|byte| byte.is_ascii_lowercase()).count();
        let end = at + 1 + length;
        // One letter may have a sign behind it.
        let ends = match text.get(end) {
            None => true,
            Some(byte) => BYTES.get(usize::from(*byte)) == Some(&Byte::Between),
        };
        (ends && length > 0).then_some(end)
    }

    /// Returns the end of the identifier that starts at `at`, when it is plain ASCII and no part of it may be
    /// one of those. A part starts the identifier, or with a capital letter.
    fn foreign(&self, text: &[u8], at: usize) -> Option<usize> {
        if self.have(text.get(at..)?) {
            return None;
        }
        let mut end = at + 1;
        loop {
            let (next, byte) = behind(text, end, |byte| byte == Byte::Small);
            match byte {
                Some(Byte::Between) | None => return Some(next),
                Some(Byte::Capital) if !self.have(text.get(next..)?) => end = next + 1,
                // A letter or a mark may follow, or an ending that is no word.
                _ => return None,
            }
        }
    }
}

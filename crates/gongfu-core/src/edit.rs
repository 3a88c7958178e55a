//! Replaces one text in a file; every other byte stays as it is.
//!
//! Knows how the file is encoded as far as the text has to be: UTF-16 by its mark, line ends that are
//! written with a carriage return. Everything else is left alone.

/// Why a text can't be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no text to look for.
    #[error("the text to replace is empty")]
    Empty,
    /// It isn't there.
    #[error("the text to replace is not in the file")]
    Missing,
    /// It is there more than once.
    #[error("the text to replace is in the file {0} times")]
    Ambiguous(usize),
    /// The file is no UTF-8, and the new text can't be written in what it is.
    #[error("the file is not UTF-8, and the new text is more than ASCII")]
    Encoding,
}

/// The content of a file in which `old`, which must be there exactly once, is `new`.
///
/// # Errors
/// `old` is not there, or not only once.
pub fn replaced(bytes: &[u8], old: &str, new: &str) -> Result<Vec<u8>, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    let encoding = Encoding::of(bytes);
    if encoding == Encoding::Unknown && !new.is_ascii() {
        return Err(EditError::Encoding);
    }
    match encoding.replaced(bytes, old, new) {
        // Clients send line feeds, whatever the file has.
        Err(EditError::Missing) if old.contains('\n') && !old.contains('\r') => {
            let carried = |text: &str| text.replace('\n', "\r\n");
            let plain_new = new.replace("\r\n", "\n");
            encoding.replaced(bytes, &carried(old), &carried(&plain_new))
        }
        outcome => outcome,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
    Unknown,
}

impl Encoding {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xFF, 0xFE, ..] => Self::Utf16Little,
            [0xFE, 0xFF, ..] => Self::Utf16Big,
            _ if std::str::from_utf8(bytes).is_ok() => Self::Utf8,
            _ => Self::Unknown,
        }
    }

    fn encoded(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Unknown => text.as_bytes().to_vec(),
            Self::Utf16Little => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Big => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// The length of a unit in bytes: a text starts at a multiple of it.
    fn unit(self) -> usize {
        match self {
            Self::Utf8 | Self::Unknown => 1,
            Self::Utf16Little | Self::Utf16Big => 2,
        }
    }

    /// Each unit as a character of its own, so that the search for a text, which takes no longer
    /// than both are long whatever they hold, finds bytes.
    fn units(self, bytes: &[u8]) -> String {
        bytes.chunks(self.unit()).map(as_character).collect()
    }

    fn replaced(self, bytes: &[u8], old: &str, new: &str) -> Result<Vec<u8>, EditError> {
        let (old, new) = (self.encoded(old), self.encoded(new));
        let (units, wanted) = (self.units(bytes), self.units(&old));
        let found = units
            .find(&wanted)
            .and_then(|at| units.split_at_checked(at));
        let Some((before, from)) = found else {
            return Err(EditError::Missing);
        };
        let mut behind = from.chars();
        behind.next();
        let others = behind.as_str().matches(&wanted).count();
        if others > 0 {
            return Err(EditError::Ambiguous(others + 1));
        }
        let start = before.chars().count() * self.unit();
        let (before, rest) = bytes.split_at_checked(start).ok_or(EditError::Missing)?;
        let after = rest.get(old.len()..).unwrap_or_default();
        Ok([before, &new, after].concat())
    }
}

/// One or two bytes as a character that nothing else is; halves of surrogate pairs as well.
fn as_character(unit: &[u8]) -> char {
    let number = unit
        .iter()
        .fold(0_u32, |number, &byte| (number << 8) | u32::from(byte));
    char::from_u32(number)
        .or_else(|| char::from_u32(number + 0xF_0000))
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::{EditError, replaced};

    #[test]
    fn edit_changes_only_its_text() {
        for (bytes, old, new, wanted) in [
            (&b"a b\tc  \n"[..], "b", "x", Ok(&b"a x\tc  \n"[..])),
            (
                b"\xEF\xBB\xBFa\r\nb\r\n",
                "a\nb",
                "c\nd\ne",
                Ok(b"\xEF\xBB\xBFc\r\nd\r\ne\r\n"),
            ),
            (b"a\r\nb\n", "b\n", "", Ok(b"a\r\n")),
            (b"\xFF\xFEa\0b\0", "b", "\u{e9}", Ok(b"\xFF\xFEa\0\xE9\0")),
            (b"\xFE\xFF\0a\0b", "a", "", Ok(b"\xFE\xFF\0b")),
            (b"caf\xE9 one", "one", "two", Ok(b"caf\xE9 two")),
            (b"caf\xE9 one", "one", "\u{e9}", Err(EditError::Encoding)),
            (b"aaa", "aa", "b", Err(EditError::Ambiguous(2))),
            (b"a", "b", "c", Err(EditError::Missing)),
            (b"a", "ab", "c", Err(EditError::Missing)),
            (b"a", "", "c", Err(EditError::Empty)),
            (b"", "a", "c", Err(EditError::Missing)),
        ] {
            assert_eq!(
                replaced(bytes, old, new),
                wanted.map(<[u8]>::to_vec),
                "{old:?} in {bytes:?}"
            );
        }
    }

    #[test]
    fn search_time_grows_with_the_length_of_its_texts() {
        let file = "a".repeat(4_000_000);
        let old = format!("{}b", "a".repeat(1_000_000));
        assert_eq!(
            replaced(file.as_bytes(), &old, "x"),
            Err(EditError::Missing)
        );
    }

    #[test]
    fn utf16_text_is_found_only_at_whole_units() {
        // The bytes of U+0161 in the order of the other end are in it, and the letter is not.
        assert_eq!(
            replaced(b"\xFF\xFE\0\x61\x01\0", "\u{161}", "x"),
            Err(EditError::Missing)
        );
    }
}

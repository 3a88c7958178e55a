//! Hexadecimal digits of credentials.

use std::fmt::Write as _;

/// Bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(
        String::with_capacity(2 * bytes.len()),
        |mut digits, byte| {
            // Writing to a string doesn't fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        },
    )
}

/// Returns true if a text is so many lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The bytes of hexadecimal digits.
pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

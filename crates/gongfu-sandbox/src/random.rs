//! Random bytes, for names that can't be guessed.

use std::io;

/// Random bytes.
///
/// # Errors
/// The system has none to give.
pub fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    crate::platform::fill_randomly(&mut bytes)?;
    Ok(bytes)
}

//! The files that control groups consist of.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// The most that is read of a file, in bytes.
const MAX_LENGTH: u64 = 1024 * 1024;

/// Reads a file.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_LENGTH)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Writes to a file, which must exist.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The number behind a key, in a file of `key number` lines.
pub(super) fn value(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == key).then(|| value.trim().parse().ok()).flatten()
    })
}

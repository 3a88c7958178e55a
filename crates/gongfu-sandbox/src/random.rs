//! Bytes that nobody can guess, for names that nobody else has.

use std::io;

/// So many of them.
///
/// # Errors
/// The system has none to give.
pub(crate) fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(())
}

#[cfg(target_os = "macos")]
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    use std::io::Read as _;
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

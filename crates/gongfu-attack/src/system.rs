//! Calls of the kernel, and what it says about processes.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Makes a call of the system: its number, then its arguments.
macro_rules! call {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        gongfu_sandbox::syscall::call(
            $number,
            &mut [$(gongfu_sandbox::syscall::Argument::from($argument)),*],
        )
    };
}
pub(crate) use call;

/// The bit of the capability to administer a machine (`CAP_SYS_ADMIN`).
const SYS_ADMIN: u64 = 1 << 21;

/// True for root of the whole machine, and not of a container.
pub(crate) fn is_root() -> bool {
    let maps = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = maps.split_whitespace().eq(["0", "0", "4294967295"]);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let can_administer = effective_capabilities(&status) & SYS_ADMIN != 0;
    is_whole && rustix::process::geteuid().is_root() && can_administer
}

/// The effective capabilities in the text of a `/proc/PID/status`.
pub(crate) fn effective_capabilities(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok())
        .unwrap_or_default()
}

/// A path in the form that calls take.
pub(crate) fn c_path(path: impl AsRef<Path>) -> io::Result<CString> {
    Ok(CString::new(path.as_ref().as_os_str().as_bytes())?)
}

/// A path in the folder for temporary files.
pub(crate) fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(name)
}

/// True when bytes contain other bytes.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Numbers in the byte order of this machine, as in a structure.
pub(crate) fn native_bytes(numbers: &[u64]) -> Vec<u8> {
    let numbers = numbers.iter();
    numbers.flat_map(|number| number.to_ne_bytes()).collect()
}

/// The processes that can be seen.
pub(crate) fn processes() -> io::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.collect())
}

/// The command line of a process, each argument ended by a zero; empty when it can't be read.
pub(crate) fn command_line(process: u32) -> Vec<u8> {
    fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default()
}

/// Opens a handle of a process.
pub(crate) fn process_handle(number: u32) -> io::Result<i64> {
    call!(libc::SYS_pidfd_open, number, 0)
}

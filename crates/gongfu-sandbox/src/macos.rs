//! The sandbox of macOS. **It was never run on macOS**: it compiles for it, and the parts that need no macOS are
//! tested on Linux.

#[cfg(target_os = "macos")]
mod backend;
mod descendants;
#[cfg(target_os = "macos")]
mod init;
mod profile;
#[cfg(target_os = "macos")]
mod supervisor;
#[cfg(target_os = "macos")]
mod syscall;

#[cfg(target_os = "macos")]
pub(crate) use backend::Seatbelt;

/// Runs as the child, if this program was executed as one.
///
/// Must be called before there is a second thread.
#[cfg(target_os = "macos")]
pub fn become_child() -> Option<std::process::ExitCode> {
    let first = std::env::args_os().nth(1)?;
    if first == crate::platform::SUPERVISOR {
        Some(supervisor::run())
    } else if first == init::ARGUMENT {
        Some(init::run())
    } else {
        None
    }
}

//! The child: this program as the processes that become a sandbox.
//!
//! The server executes it before it has read a setting or started a thread. Plans come over a socket, on
//! which the child also depends: when the server is gone, so is its end of the socket, and every process of
//! the run ends.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::disallowed_methods,
        reason = "the child is a program of its own: it ends itself, and reads how it was started"
    )
)]

#[cfg(target_os = "linux")]
pub(crate) mod container_init;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod direct;
pub(crate) mod disk_usage;
#[cfg(target_os = "linux")]
pub(crate) mod fork_server;
#[cfg(target_os = "linux")]
pub(crate) mod guard;
#[cfg(target_os = "linux")]
mod id_namespaces;
#[cfg(target_os = "linux")]
mod identity;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
pub(crate) mod priority;
#[cfg(target_os = "linux")]
mod restrict;
pub(crate) mod stdio;
pub(crate) mod step;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
pub(crate) mod syscall;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "linux")]
mod view_check;
#[cfg(target_os = "linux")]
mod watch;

/// The exit code of a supervisor that doesn't know whether every process of its run is dead.
pub(crate) const UNCERTAIN: u8 = 3;

/// Runs as the child, if this program was executed as one.
///
/// Must be called before there is a second thread.
#[cfg(target_os = "linux")]
pub fn become_child() -> Option<std::process::ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    if first == fork_server::ARGUMENT {
        Some(fork_server::run())
    } else if first == guard::ARGUMENT {
        Some(guard::run())
    } else if first == launcher::ARGUMENT {
        Some(launcher::run())
    } else if first == container_init::ARGUMENT {
        Some(container_init::run(arguments))
    } else {
        None
    }
}

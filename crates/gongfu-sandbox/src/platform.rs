//! The differences between Linux and macOS that are too small for a module of their own.

#[cfg(target_os = "macos")]
pub(crate) mod cgroup;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(target_os = "macos")]
pub(crate) use macos::*;

//! Runs what strangers wrote: the only crate that starts processes, and the only one with `unsafe`.
//!
//! The kernel's boundary is the security. [`Runner`] implements the port; what it starts is this very
//! program as the child, which turns itself into the sandbox. It knows no skill, no tool and no
//! setting: what to run and what it sees comes in a [`Spec`](gongfu_core::sandbox::Spec).

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod backend;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod begun;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod behalf;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod capture;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod child;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod copies;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod fork_server;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod input;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod merge;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod network;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod pace;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod place;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod plan;
pub mod probe;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod process;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod proxy;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod random;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod run;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod runner;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod spare;
#[cfg(target_os = "linux")]
mod system;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod tenant;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod threads;
#[cfg(target_os = "macos")]
mod ungrouped;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod wire;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use backend::levels;
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use child::become_child;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use elsewhere::{Runner, become_child, levels};
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use runner::Runner;
#[cfg(target_os = "macos")]
use ungrouped as cgroup;

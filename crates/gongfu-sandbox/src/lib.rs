//! Runs what strangers wrote: the only crate that starts processes, and the only one with `unsafe`.
//!
//! The kernel's boundary is the security. [`Runner`] implements the port; what it starts is this very
//! program as the child, which turns itself into the sandbox. It knows no skill, no tool and no
//! setting: what to run and what it sees comes in a [`Spec`](gongfu_core::sandbox::Spec).

#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
mod begun;
#[cfg(target_os = "linux")]
mod behalf;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod copies;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod merge;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod plan;
pub mod probe;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod spare;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod tenant;
#[cfg(target_os = "linux")]
mod threads;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use child::become_child;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Runner, become_child};
#[cfg(target_os = "linux")]
pub use runner::Runner;

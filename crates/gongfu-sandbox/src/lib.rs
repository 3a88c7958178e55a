//! Runs untrusted programs: the only crate with `unsafe`, and with `gongfu-attack` and
//! `gongfu-docker` the only one that starts processes.
//!
//! The kernel's boundary is the security. [`OwnerSandbox`] implements the port with a [`Runner`], which
//! executes this program once more as the child; the child turns itself into the sandbox. This crate knows no
//! skill, no tool and no setting: a [`Spec`](gongfu_core::sandbox::Spec) names the command and its mounts.

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("there is no sandbox for this system; build gongfu for Linux or macOS");

pub mod backend;
mod capture;
#[cfg(target_os = "linux")]
mod cgroup;
mod change_sets;
mod child;
mod child_handle;
mod copier;
mod file_time;
mod folder;
#[cfg(target_os = "linux")]
mod fork_server;
mod input;
mod locked_folder;
#[cfg(any(target_os = "macos", test))]
mod macos;
mod merge;
mod owner;
mod plan;
mod platform;
mod poll;
mod process;
#[cfg(target_os = "linux")]
mod processes;
mod proxy;
mod random;
mod run_as;
mod run_dir;
mod runner;
#[cfg(target_os = "linux")]
mod seccomp;
mod server;
#[cfg(target_os = "linux")]
mod system;
mod tenant;
mod threads;
mod throttle;
mod wire;

pub use change_sets::ChangeSets;
#[cfg(target_os = "linux")]
pub use child::become_child;
#[cfg(all(target_os = "linux", feature = "attack"))]
pub use child::syscall::raw as syscall;
#[cfg(target_os = "macos")]
pub use macos::become_child;
pub use owner::OwnerSandbox;
#[cfg(target_os = "linux")]
pub use processes::{LocalProcesses, leave_terminal, start_apart};
pub use runner::Runner;
pub use server::start_server;

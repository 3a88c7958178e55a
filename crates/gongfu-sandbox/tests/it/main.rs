//! Tests of the sandbox from outside: real programs in every backend of this machine.
//!
//! This program becomes the child as well, as gongfu does, so it can't use the standard test harness.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, which clippy can't tell without the harness"
)]

#[cfg(target_os = "linux")]
mod change_sets;
mod change_shown;
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[cfg_attr(
    target_os = "macos",
    allow(dead_code, reason = "the tests there need less of it")
)]
mod fixture;
#[cfg(target_os = "linux")]
mod fork_server;
#[cfg(target_os = "linux")]
mod hidden_command;
#[cfg(target_os = "linux")]
mod histories;
#[cfg(target_os = "linux")]
mod limit;
#[cfg(target_os = "linux")]
mod merge;
#[cfg(target_os = "linux")]
mod mount;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod resource;
#[cfg(target_os = "macos")]
mod seatbelt;
#[cfg(target_os = "linux")]
mod work;

use std::path::Path;
use std::process::ExitCode;

use gongfu_core::sandbox::Level;
use gongfu_sandbox::Runner;

/// The levels that are tested, each with the fact that its program is installed.
fn kinds() -> Vec<(Level, bool)> {
    let is_installed =
        |level: Level| level.as_str() != "bubblewrap" || Path::new("/usr/bin/bwrap").exists();
    let runner = Runner::new(None);
    let levels = runner.profiles().map(|profile| profile.level);
    levels.map(|level| (level, is_installed(level))).collect()
}

/// A runner of this level only.
fn runner(level: Level) -> Runner {
    Runner::new(Some(level))
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if let Some(ended) = gongfu_sandbox::become_child() {
        return ended;
    }
    if std::env::args().nth(1).as_deref() == Some(fixture::VICTIM) {
        return fixture::victim();
    }
    if std::env::args().nth(1).as_deref() == Some(histories::VICTIM) {
        return histories::victim();
    }
    if std::env::args().nth(1).as_deref() == Some(histories::PROVE) {
        return histories::prove();
    }
    if std::env::args().nth(1).as_deref() == Some(proxy::PROVE) {
        return proxy::prove();
    }
    if std::env::args().nth(1).as_deref() == Some(fork_server::ARGUMENT) {
        return fork_server::run_one();
    }
    if std::env::args().nth(1).as_deref() == Some(merge::ARGUMENT) {
        return merge::with_own_mounts();
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = [
        work::trials(),
        limit::trials(),
        resource::trials(),
        merge::trials(),
        change_sets::trials(),
        change_shown::trials(),
        histories::trials(),
        mount::trials(),
        network::trials(),
        fork_server::trials(),
        hidden_command::trials(),
        proxy::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}

#[cfg(target_os = "macos")]
fn main() -> ExitCode {
    if let Some(ended) = gongfu_sandbox::become_child() {
        return ended;
    }
    if std::env::args().nth(1).as_deref() == Some(merge::ARGUMENT) {
        return merge::with_own_mounts();
    }
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, seatbelt::trials()).exit_code()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn main() -> ExitCode {
    ExitCode::SUCCESS
}

//! Tests of the Docker backend from outside: those of every backend, and its own.
//!
//! This program becomes init of its containers as well, so it can't use the standard test harness.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, which clippy can't tell without the harness"
)]

#[path = "../../../gongfu-sandbox/tests/it/change_sets.rs"]
mod change_sets;
mod container;
mod daemon;
#[path = "../../../gongfu-sandbox/tests/it/fixture.rs"]
mod fixture;
#[path = "../../../gongfu-sandbox/tests/it/limit.rs"]
mod limit;
#[path = "../../../gongfu-sandbox/tests/it/merge.rs"]
mod merge;
#[path = "../../../gongfu-sandbox/tests/it/mount.rs"]
mod mount;
#[path = "../../../gongfu-sandbox/tests/it/resource.rs"]
mod resource;
#[path = "../../../gongfu-sandbox/tests/it/work.rs"]
mod work;

use std::process::ExitCode;
use std::sync::Arc;

use gongfu_core::sandbox::Level;
use gongfu_docker::Docker;
use gongfu_sandbox::Runner;

/// The levels that are tested, each with the fact that its program is installed.
fn kinds() -> Vec<(Level, bool)> {
    vec![(fixture::DOCKER, daemon::is_there())]
}

/// A runner of this level only, with the daemon of the tests.
fn runner(level: Level) -> Runner {
    Runner::new(Some(level)).with_backend(Arc::new(Docker::new(daemon::settings())))
}

fn main() -> ExitCode {
    if let Some(ended) = gongfu_sandbox::become_child() {
        return ended;
    }
    if std::env::args().nth(1).as_deref() == Some(fixture::VICTIM) {
        return fixture::victim();
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
        mount::trials(),
        container::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}

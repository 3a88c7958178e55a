//! Containers from outside: what every kind of sandbox must hold, and what is Docker's alone.
//!
//! This program is the first process of its containers as well, so it has no harness of the compiler's.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, which clippy can't tell without the harness"
)]

mod container;
mod daemon;
#[path = "../../../gongfu-sandbox/tests/it/ground.rs"]
mod ground;
#[path = "../../../gongfu-sandbox/tests/it/limit.rs"]
mod limit;
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

/// The kinds of sandboxes that are tested, and whether what each is made with is installed.
fn kinds() -> Vec<(Level, bool)> {
    vec![(ground::DOCKER, daemon::is_there())]
}

/// A runner of this kind alone, by the daemon that the tests are told of.
fn runner(level: Level) -> Runner {
    Runner::new(Some(level)).with_backend(Arc::new(Docker::new(daemon::settings())))
}

fn main() -> ExitCode {
    if let Some(ended) = gongfu_sandbox::become_child() {
        return ended;
    }
    if std::env::args().nth(1).as_deref() == Some(ground::VICTIM) {
        return ground::victim();
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = [
        work::trials(),
        limit::trials(),
        resource::trials(),
        mount::trials(),
        container::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}

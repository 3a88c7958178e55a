//! Every attack in every kind of sandbox, a container's included.
//!
//! This program is the child and the probe as well, so it has no harness of the compiler's.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, which clippy can't tell without the harness"
)]

mod attack;
mod fuzz;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use gongfu_attack::Arena;
use gongfu_core::sandbox::Level;
use gongfu_docker::{Docker, Settings};
use gongfu_sandbox::Runner;
use gongfu_sandbox::backend::Profile;

/// The kind in which a sandbox takes longer to make than a probe to be tried.
const DOCKER: &str = "docker";

/// The sandboxes of the tests.
struct TestArena;

impl Arena for TestArena {
    fn runner(&self, wanted: Option<Level>) -> Runner {
        Runner::new(wanted).with_backend(Arc::new(Docker::new(docker())))
    }
}

/// The daemon that the tests are told of, as `docker` itself is.
fn docker() -> Settings {
    Settings {
        socket: std::env::var("DOCKER_HOST").ok(),
        image: None,
    }
}

/// Every kind of sandbox, and whether it is ignored here: what it is made with isn't installed, and not
/// everything is to be tried.
fn kinds() -> Vec<(&'static Profile, bool)> {
    let everything = std::env::var_os("CI").is_some();
    let is_installed = |profile: &Profile| match profile.level.as_str() {
        "bubblewrap" => Path::new("/usr/bin/bwrap").exists(),
        DOCKER => {
            let socket = docker().socket;
            let socket = socket.as_deref().unwrap_or("/var/run/docker.sock");
            Path::new(socket.trim_start_matches("unix://")).exists()
        }
        _ => true,
    };
    let all = TestArena.runner(None);
    let all = all.profiles();
    all.map(|profile| (profile, !is_installed(profile) && !everything))
        .collect()
}

fn main() -> ExitCode {
    if let Some(ended) = gongfu_sandbox::become_child() {
        return ended;
    }
    if let Some(ended) = gongfu_attack::become_probe(|| Ok(TestArena)) {
        return ended;
    }
    if std::env::args().nth(1).as_deref() == Some(fuzz::PROVE) {
        return fuzz::prove();
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = attack::trials().into_iter().chain(fuzz::trials());
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

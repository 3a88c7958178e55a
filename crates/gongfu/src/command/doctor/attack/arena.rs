//! The places in which probes are tried: the sandboxes of this build, and baselines.

use std::io;
#[cfg(feature = "docker")]
use std::path::Path;
use std::process::ExitCode;

use gongfu_attack::Arena;
#[cfg(feature = "docker")]
use gongfu_attack::{Attempt, Baseline, ProbeExit};
use gongfu_core::sandbox::Level;
#[cfg(feature = "docker")]
use gongfu_docker::plain::{self, PlainCommand};
use gongfu_sandbox::Runner;

use crate::config::Config;
use crate::environment::Environment;
use crate::wiring;

/// The sandboxes of this build, by the settings.
pub(super) struct ConfigArena {
    config: Config,
    environment: Environment,
}

impl ConfigArena {
    pub(super) fn read(environment: Environment) -> anyhow::Result<Self> {
        let config = Config::read(&wiring::home(&environment)?).unwrap_or_default();
        Ok(Self {
            config,
            environment,
        })
    }
}

impl Arena for ConfigArena {
    fn runner(&self, wanted: Option<Level>) -> Runner {
        self.config.sandbox.runner(wanted, &self.environment)
    }

    #[cfg(feature = "docker")]
    fn baselines(&self) -> Vec<Box<dyn Baseline>> {
        let docker = self.config.sandbox.docker(&self.environment);
        vec![Box::new(BareDocker(docker.into()))]
    }
}

/// A container as `docker run` makes it by itself.
#[cfg(feature = "docker")]
struct BareDocker(gongfu_docker::Settings);

#[cfg(feature = "docker")]
impl Baseline for BareDocker {
    fn name(&self) -> &'static str {
        "docker_alone"
    }

    fn run(&self, attempt: &Attempt) -> io::Result<Option<ProbeExit>> {
        let at = Path::new("/probe");
        let mut words = vec![at.display().to_string()];
        words.extend(attempt.arguments.iter().cloned());
        let ended = plain::run(
            &self.0,
            &PlainCommand {
                words,
                volumes: vec![
                    plain::volume(&attempt.program, at, false),
                    plain::volume(&attempt.shown, &attempt.shown, false),
                    plain::volume(&attempt.workspace, &attempt.workspace, true),
                ],
                folder: attempt.workspace.display().to_string(),
                environment: vec!["TMPDIR=/tmp".to_owned()],
            },
        )?;
        let signal = ended.code.filter(|code| *code > 128);
        Ok(Some(ProbeExit {
            signal: signal.and_then(|code| i32::try_from(code - 128).ok()),
            output: ended.output,
        }))
    }
}

/// Is a probe to its end, if this program was begun as one.
pub(crate) fn become_probe() -> Option<ExitCode> {
    gongfu_attack::become_probe(|| ConfigArena::read(Environment::read()).map_err(io::Error::other))
}

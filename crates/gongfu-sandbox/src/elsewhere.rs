//! Systems for which there is no sandbox yet: nothing is ever run.

use std::process::ExitCode;

use gongfu_core::account::Owner;
use gongfu_core::port::{Listener, Pending, PortError, Sandbox};
use gongfu_core::sandbox::{Docker, Level, Outcome, Spec, Standing};

/// Runs nothing, and says so.
#[derive(Debug)]
pub struct Runner;

impl Runner {
    /// A runner.
    pub fn new(_wanted: Option<Level>) -> Self {
        Self
    }

    /// The same runner: there is no level to give anybody.
    #[must_use]
    pub fn with_levels_for_one(self, _is_allowed: bool) -> Self {
        self
    }

    /// The same runner: no daemon is asked.
    #[must_use]
    pub fn with_docker(self, _docker: Docker) -> Self {
        self
    }

    /// Takes away what is left: nothing is.
    pub fn end(&self) {}

    /// What things are run in here: nothing is.
    #[expect(clippy::unused_async, reason = "elsewhere it has to be tried")]
    pub async fn level(&self) -> Option<Level> {
        None
    }
}

impl Sandbox for Runner {
    fn standing(&self) -> Pending<'_, Vec<Standing>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(
        &'a self,
        _owner: &'a Owner,
        _spec: Spec,
        _listener: Listener,
    ) -> Pending<'a, Outcome> {
        Box::pin(async {
            let why = "there is no sandbox for this system; run gongfu on Linux or macOS";
            Err(PortError::Unavailable(why.to_owned()))
        })
    }
}

/// The levels that this system may have: none.
pub fn levels() -> impl Iterator<Item = Level> {
    std::iter::empty()
}

/// No program is ever a child here.
pub fn become_child() -> Option<ExitCode> {
    None
}

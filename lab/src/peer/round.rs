//! One turn of one server: started, left alone, warmed up, asked by one client and by many.

use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tokio::runtime::Runtime;

use super::contender::{Contender, Serving};
use super::figure::{Calls, MANY, Row, megabytes};
use super::fixture::{Fixture, SKILL};
use crate::http::echo::Echo;
use crate::http::load::{Load, Outcome};
use crate::http::process::{Process, free_port};
use crate::http::wire::{Address, Call, Path};
use crate::server::Server;

/// The time for which a server is left alone before its memory is read.
const QUIET: Duration = Duration::from_secs(1);
/// The least time of load before a server is measured.
const WARM: Duration = Duration::from_secs(1);

/// The settings of a turn.
pub(super) struct Round {
    /// The length of a load.
    pub(super) length: Duration,
    pub(super) runtime: Runtime,
}

/// A server that answers.
pub(super) struct RunningServer {
    pub(super) process: Process,
    pub(super) address: Address,
    /// From its start to its first answer.
    pub(super) ready: Duration,
}

impl Round {
    /// Everything of a row with the small library.
    pub(super) fn measure(&self, row: &mut Row<'_>, small: &Fixture) -> Result<()> {
        row.stdio.time(stdio(row.contender, small)?);
        let started = self.start(row.contender, small, Serving::Tool(row.path))?;
        row.http.time(started.ready);
        std::thread::sleep(QUIET);
        let resident = started.process.memory()?.resident;
        row.idle.value(megabytes(resident));
        self.load(&started.address, row.path, small, MANY, WARM)
            .and_then(is_right)?;
        for (in_flight, calls) in [(1, &mut row.one), (MANY, &mut row.many)] {
            let before = started.process.computed()?;
            let outcome = self.load(&started.address, row.path, small, in_flight, self.length)?;
            let computed = started.process.computed()?.saturating_sub(before);
            calls.add(outcome, Some(computed));
        }
        row.peak.value(megabytes(started.process.memory()?.peak));
        Ok(())
    }

    /// Starts a server and waits for its first answer.
    pub(super) fn start(
        &self,
        contender: &Contender,
        fixture: &Fixture,
        serving: Serving,
    ) -> Result<RunningServer> {
        let (Serving::Tool(path) | Serving::Library(path, _)) = serving else {
            bail!("this server has no address");
        };
        let port = (!contender.chooses_port()).then(free_port).transpose()?;
        let authorization = contender.credential(fixture)?;
        let mut process = Process::start(&contender.recipe(fixture, serving, port))?;
        let mut address = match port {
            Some(port) => Address::local(port),
            None => process.address()?,
        };
        address.authorization = authorization;
        let ready = self.runtime.block_on(process.ready(&address, path))?;
        Ok(RunningServer {
            process,
            address,
            ready,
        })
    }

    /// The load against a server that does nothing.
    pub(super) fn echo(&self, fixture: &Fixture, generator: &mut [Calls; 2]) -> Result<()> {
        let echo = Echo::start(&fixture.document)?;
        for (in_flight, calls) in [1, MANY].into_iter().zip(generator) {
            let outcome = self
                .load(
                    &echo.address,
                    Path::Stateless,
                    fixture,
                    in_flight,
                    self.length,
                )
                .context("the load against an empty server")?;
            calls.add(outcome, None);
        }
        Ok(())
    }

    /// So many clients that load the document of the skill.
    fn load(
        &self,
        address: &Address,
        path: Path,
        fixture: &Fixture,
        in_flight: usize,
        length: Duration,
    ) -> Result<Outcome> {
        let parameters = json!({ "name": "skill_load", "arguments": { "skill_name": SKILL } });
        let load = Load {
            address,
            path,
            call: Rc::new(Call::new(path, "tools/call", parameters)?),
            expected: Rc::clone(&fixture.document),
            in_flight,
            length,
        };
        self.runtime.block_on(load.run())
    }
}

/// From the start of a server to its first list of tools on standard input and output.
pub(super) fn stdio(contender: &Contender, fixture: &Fixture) -> Result<Duration> {
    let mut server = Server::begin(&contender.recipe(fixture, Serving::Stdio, None))?;
    let listed = server.ask("tools/list", json!({}))?;
    let age = server.age();
    if !listed.result.to_string().contains("\"skill_load\"") {
        bail!("the tool isn't listed");
    }
    Ok(age)
}

/// Refuses a load in which a call failed.
pub(super) fn is_right(outcome: Outcome) -> Result<Outcome> {
    match &outcome.complaint {
        Some(complaint) => bail!("{} of the calls failed: {complaint}", outcome.errors),
        None if outcome.calls == 0 => bail!("nothing was answered"),
        None => Ok(outcome),
    }
}

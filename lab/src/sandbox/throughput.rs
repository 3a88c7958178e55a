//! The number of runs that end in a second with eight of them in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::Result;
use gongfu_core::account::Owner;
use serde_json::json;

use super::contender::{self, Contender, Fixture};
use crate::http;

/// The number of runs at once.
const IN_FLIGHT: u32 = 8;

/// The runs in a second of each contender that can do several at once.
pub(super) fn measure(
    fixture: &Fixture,
    contenders: &[Contender],
    runs: u32,
) -> Result<Vec<(String, f64)>> {
    let mut rates = vec![(
        contender::PLAIN.to_owned(),
        by_threads(runs, || contender::process(&["true"]).map(drop))?,
    )];
    for contender in contenders {
        if let Some(runner) = &contender.runner {
            let one = || {
                let spec = fixture.spec(&["true"]);
                let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
                fixture.runtime.block_on(running)?;
                Ok(())
            };
            rates.push((contender.name.clone(), by_threads(runs, one)?));
        }
    }
    rates.push((contender::OVER_HTTP.to_owned(), over_http(fixture, runs)?));
    Ok(rates)
}

/// Does it so often, by as many threads as there are to be under way.
fn by_threads(runs: u32, one: impl Fn() -> Result<()> + Sync) -> Result<f64> {
    let left = AtomicU32::new(runs);
    let take = |left: u32| left.checked_sub(1);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let work = || {
            while left
                .try_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
            {
                one()?;
            }
            anyhow::Ok(())
        };
        let threads: Vec<_> = (0..IN_FLIGHT).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| match thread.join() {
                Ok(done) => done,
                Err(_) => anyhow::bail!("a thread panicked"),
            })
    })?;
    Ok(f64::from(runs) / begun.elapsed().as_secs_f64())
}

fn over_http(fixture: &Fixture, runs: u32) -> Result<f64> {
    let mut server =
        http::process::Process::start(&fixture.recipe(&["serve", "--listen", "127.0.0.1:0"]))?;
    let address = server.address()?;
    fixture.runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..IN_FLIGHT {
            clients.push(http::client::Client::open(&address, http::wire::Path::Stateless).await?);
        }
        let each = runs / IN_FLIGHT;
        let parameters = json!({ "name": "skill_run", "arguments": contender::call(&["true"]) });
        let begun = Instant::now();
        let mut working = tokio::task::JoinSet::new();
        for mut client in clients {
            let parameters = parameters.clone();
            working.spawn(async move {
                for _ in 0..each {
                    contender::good(&client.ask("tools/call", parameters.clone()).await?.result)?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = working.join_next().await {
            done??;
        }
        Ok(f64::from(each * IN_FLIGHT) / begun.elapsed().as_secs_f64())
    })
}

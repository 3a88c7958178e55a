//! Many clients at once, each with one call under way: how many answers come, how soon, how many
//! are wrong, and what sending them costs.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::LocalSet;

use super::client::Client;
use super::wire::{Address, Call, Path};

/// The longest time that is recorded, in microseconds; longer ones count as this.
const LONGEST: u64 = 120_000_000;

/// A load: what is sent, and to which server.
pub(crate) struct Load<'a> {
    pub(crate) address: &'a Address,
    pub(crate) path: Path,
    pub(crate) call: Rc<Call>,
    /// The text that every answer must hold.
    pub(crate) expected: Rc<str>,
    /// The number of clients.
    pub(crate) in_flight: usize,
    /// The time for which they ask.
    pub(crate) length: Duration,
}

/// The result of a load.
pub(crate) struct Outcome {
    /// The number of right answers.
    pub(crate) calls: u64,
    /// The number of calls that failed or were answered with something else.
    pub(crate) errors: u64,
    /// The message of the first of those.
    pub(crate) complaint: Option<String>,
    /// From the first call to the last answer.
    pub(crate) took: Duration,
    /// The time that the clients computed.
    pub(crate) own: Duration,
    /// The times of the right answers, in microseconds.
    times: Histogram<u64>,
}

impl Outcome {
    /// The right answers in a second.
    pub(crate) fn rate(&self) -> f64 {
        count(self.calls) / self.took.as_secs_f64()
    }

    /// A time in milliseconds that so large a share of the answers did not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        count(self.times.value_at_quantile(share)) / 1000.0
    }

    /// A time divided by the right answers, in microseconds.
    pub(crate) fn each(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / count(self.calls.max(1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn count(calls: u64) -> f64 {
    calls as f64
}

impl Load<'_> {
    /// Opens all connections and sessions, then asks until the time is over.
    pub(crate) async fn run(&self) -> Result<Outcome> {
        let mut clients = Vec::with_capacity(self.in_flight);
        for number in 0..self.in_flight {
            let client = Client::open(self.address, self.path)
                .await
                .with_context(|| format!("client {} can't be opened", number + 1))?;
            clients.push(client);
        }
        let outcome = Rc::new(RefCell::new(Outcome {
            calls: 0,
            errors: 0,
            complaint: None,
            took: Duration::ZERO,
            own: Duration::ZERO,
            times: Histogram::new_with_bounds(1, LONGEST, 3)?,
        }));
        let local = LocalSet::new();
        let (begun, computed) = (Instant::now(), computed());
        let end = begun + self.length;
        for client in clients {
            let (call, expected) = (Rc::clone(&self.call), Rc::clone(&self.expected));
            local.spawn_local(ask(client, call, expected, end, Rc::clone(&outcome)));
        }
        local.await;
        let took = begun.elapsed();
        let own = self::computed().saturating_sub(computed);
        let outcome = Rc::into_inner(outcome).context("a client is still there")?;
        Ok(Outcome {
            took,
            own,
            ..outcome.into_inner()
        })
    }
}

/// One client: asks again as soon as it has an answer.
async fn ask(
    mut client: Client,
    call: Rc<Call>,
    expected: Rc<str>,
    end: Instant,
    outcome: Rc<RefCell<Outcome>>,
) {
    while Instant::now() < end {
        let answered = match client.exchange(&call).await {
            Ok((id, body, took)) => body.check_text(id, &expected).map(|()| took),
            Err(error) => {
                // Whatever is on the connection now belongs to the call that failed.
                if client.reconnect().await.is_err() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error)
            }
        };
        let mut outcome = outcome.borrow_mut();
        match answered {
            Ok(took) => {
                outcome.calls += 1;
                let micros = u64::try_from(took.as_micros()).unwrap_or(LONGEST);
                outcome.times.saturating_record(micros.max(1));
            }
            Err(error) => {
                outcome.errors += 1;
                outcome
                    .complaint
                    .get_or_insert_with(|| format!("{error:#}"));
            }
        }
    }
}

/// The time that this thread has computed.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::time::Duration;

    use super::Load;
    use crate::http::echo::Echo;
    use crate::http::runtime;
    use crate::http::wire::{Call, Path};

    #[test]
    fn a_right_answer_is_counted_and_a_wrong_one_is_an_error() {
        let echo = Echo::start("the text").unwrap();
        let run = |expected: &str| {
            let load = Load {
                address: &echo.address,
                path: Path::Stateless,
                call: Rc::new(
                    Call::new(Path::Stateless, "tools/list", serde_json::json!({})).unwrap(),
                ),
                expected: Rc::from(expected),
                in_flight: 3,
                length: Duration::from_millis(50),
            };
            runtime().unwrap().block_on(load.run()).unwrap()
        };
        let good = run("the text");
        assert!(good.calls > 3 && good.errors == 0, "{:?}", good.complaint);
        assert!(good.quantile(0.5) > 0.0 && good.own > Duration::ZERO);
        assert!(good.quantile(0.5) <= good.quantile(1.0));
        let bad = run("another text");
        assert!(bad.calls == 0 && bad.errors > 0 && bad.complaint.is_some());
    }
}

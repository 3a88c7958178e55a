//! Our own server over HTTP: lists and searches of many skills, many open streams, many calls at once.

use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http_body_util::BodyExt as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use super::measure::{Fixture, one, row};
use super::table::Table;
use crate::accounts;
use crate::http::client::Client;
use crate::http::load::Load;
use crate::http::process::Process;
use crate::http::runtime;
use crate::http::wire::{Address, Call, Path};
use crate::random::Random;
use crate::sample::{Sample, Unit};

/// The number of open streams when the server is asked to end: half of each kind.
const STREAMS: usize = 100;
/// The number of open streams beside many calls.
const STREAMS_BESIDE: usize = 200;
/// The longest time until it ends, in milliseconds.
const END: f64 = 12_000.0;
/// The time to wait for its end.
const END_TIMEOUT: Duration = Duration::from_mins(1);
/// The number of calls in flight at once.
const IN_FLIGHT: usize = 1_000;
/// The number of memory samples in each sixth of the time.
const LOOKS: u32 = 20;
/// The number of file descriptors that this takes.
const DESCRIPTORS: u64 = 4_096;
/// The largest growth of memory while calls are in flight, in mebibytes.
const GROWTH: f64 = 5.0;

/// The progress through a list.
#[derive(Default)]
struct Pages {
    each: Sample,
    whole: Sample,
    entries: usize,
}

impl Fixture<'_> {
    /// A server that listens, with the time that it took to its first answer.
    async fn listening(&self) -> Result<(Process, Address, Duration)> {
        let mut command = vec!["serve", "--listen", "127.0.0.1:0"];
        let mut authorization = None;
        if self.bench.has_accounts {
            command.push("--accounts");
            let made = accounts::credential(&self.bench.program, self.home.path());
            authorization = Some(made?);
        }
        let mut process = Process::start(&self.recipe(&command, self.home.path()))?;
        let mut address = process.address()?;
        address.authorization = authorization;
        let ready = process.ready(&address, Path::Stateless).await?;
        Ok((process, address, ready))
    }

    /// Lists and searches over HTTP, without a session.
    pub(super) fn http(&self, table: &mut Table) -> Result<()> {
        runtime()?.block_on(self.http_calls(table))
    }

    async fn http_calls(&self, table: &mut Table) -> Result<()> {
        let (process, address, ready) = self.listening().await?;
        let mut client = Client::open(&address, Path::Stateless).await?;
        let millis = Unit::Milliseconds;
        let mut start = Sample::default();
        start.time(ready);
        table
            .rows
            .push(row("HTTP: start to first `tools/list`", millis, start).goal(100.0));
        let searches = self.searches(&mut client).await?;
        let tail = searches.percentile(99).unwrap_or_default();
        table.rows.extend([
            row("HTTP: `skill_search`", millis, searches).goal(10.0),
            row("HTTP: a search, 99th percentile", millis, one(tail)).goal(10.0),
        ]);
        let mut first = Pages::default();
        list(&mut client, &mut first).await?;
        let (given, all) = (first.entries, self.names.len());
        if given > all || given * 20 < all * 19 {
            bail!("`skills/list` gives {given} of {all} skills");
        }
        if given < all {
            table.notes.push(format!(
                "`skills/list` gives {given} of {all} skills: a name that can't be part of an address is left to the tools"
            ));
        }
        let mut later = Pages::default();
        for _ in 0..self.bench.rounds.max(3) {
            list(&mut client, &mut later).await?;
        }
        let tail = later.each.percentile(99).unwrap_or_default();
        let memory = process.memory()?;
        table.rows.extend([
            row("HTTP: first `skills/list` whole", millis, first.whole).goal(2_000.0),
            row("HTTP: `skills/list`, a page", millis, later.each).goal(20.0),
            row("HTTP: a page, 99th percentile", millis, one(tail)).goal(20.0),
            row("HTTP: `skills/list` whole", millis, later.whole).goal(2_000.0),
            row("HTTP: memory, peak", Unit::Mebibytes, one(memory.peak)).goal(100.0),
            row("HTTP: memory, now", Unit::Mebibytes, one(memory.resident)).goal(100.0),
        ]);
        Ok(())
    }

    /// Searches one after another, without the first, which waits for the index.
    async fn searches(&self, client: &mut Client) -> Result<Sample> {
        let questions = self.questions();
        let mut random = Random::new(6);
        let mut searches = Sample::default();
        for turn in 0..=self.bench.calls {
            let question = questions.get(random.below(questions.len()));
            let parameters = json!({ "name": "skill_search", "arguments": { "query": question } });
            let answer = client.ask("tools/call", parameters).await?;
            if answer.result.get("isError").and_then(Value::as_bool) == Some(true) {
                bail!("a search failed: {}", answer.result);
            }
            if turn > 0 {
                searches.time(answer.took);
            }
        }
        Ok(searches)
    }

    /// Many open streams of both eras, and the signal to end.
    pub(super) fn streams(&self, table: &mut Table) -> Result<()> {
        if self.is_large() {
            return Ok(());
        }
        runtime()?.block_on(async {
            let (process, address, _) = self.listening().await?;
            let open = open_streams(&address, STREAMS).await?;
            // What is refused or dropped after its beginning is seen by then.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let held = open.iter().filter(|stream| !stream.is_finished()).count();
            if held != STREAMS {
                bail!("only {held} of {STREAMS} streams stay open");
            }
            let ended = tokio::task::spawn_blocking(move || process.end(END_TIMEOUT)).await?;
            let (status, took) = ended.context("with 100 open streams")?;
            if !status.success() {
                table
                    .wrong
                    .push(format!("with {STREAMS} open streams it ends with {status}"));
            }
            let mut sample = Sample::default();
            sample.time(took);
            let what = format!("{STREAMS} open streams: signal to exit, {status}");
            table
                .rows
                .push(row(&what, Unit::Milliseconds, sample).goal(END));
            Ok(())
        })
    }

    /// Many calls in flight for a while.
    pub(super) fn soak(&self, table: &mut Table) -> Result<()> {
        if self.is_large() {
            return Ok(());
        }
        let mut limit: Rlimit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
        if limit.current.is_some_and(|current| current < wanted) {
            limit.current = Some(wanted);
            setrlimit(Resource::Nofile, limit).context("too few files can be open here")?;
        }
        runtime()?.block_on(self.soak_calls(table))
    }

    async fn soak_calls(&self, table: &mut Table) -> Result<()> {
        let (process, address, _) = self.listening().await?;
        let name = self.names.first().context("there is no skill")?;
        let parameters = json!({ "name": "skill_load", "arguments": { "skill_name": name } });
        let mut client = Client::open(&address, Path::Stateless).await?;
        let answer = client.ask("tools/call", parameters.clone()).await?;
        let expected = answer
            .result
            .pointer("/content/0/text")
            .and_then(Value::as_str)
            .context("the skill has no text")?;
        let seconds = self.bench.seconds;
        let open = open_streams(&address, STREAMS_BESIDE).await?;
        let load = Load {
            address: &address,
            path: Path::Stateless,
            call: Rc::new(Call::new(Path::Stateless, "tools/call", parameters)?),
            expected: Rc::from(expected),
            in_flight: IN_FLIGHT,
            length: Duration::from_secs(seconds),
        };
        let look = async {
            let mut sixths: [Sample; 6] = Default::default();
            for sixth in &mut sixths {
                for _ in 0..LOOKS {
                    tokio::time::sleep(load.length / (6 * LOOKS)).await;
                    sixth.value(process.memory()?.resident);
                }
            }
            anyhow::Ok(sixths)
        };
        let (outcome, seen) = tokio::join!(load.run(), look);
        let (outcome, [_, second, _, fourth, _, last]) = (outcome?, seen?);
        if let Some(complaint) = &outcome.complaint {
            table.wrong.push(format!(
                "{} of {} calls failed with {IN_FLIGHT} in flight: {complaint}",
                outcome.errors,
                outcome.errors + outcome.calls
            ));
        }
        if outcome.calls == 0 {
            bail!("nothing was answered");
        }
        let lost = open.iter().filter(|stream| stream.is_finished()).count();
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
        let (errors, lost) = (outcome.errors as f64, lost as f64);
        let what = |what: &str| format!("{IN_FLIGHT} calls in flight, {seconds} s: {what}");
        table.rows.extend([
            row(&what("errors"), Unit::Times, one(errors)).goal(1.0),
            row(
                &what(&format!("of {STREAMS_BESIDE} streams end")),
                Unit::Times,
                one(lost),
            )
            .goal(1.0),
            row(&what("calls"), Unit::PerSecond, one(outcome.rate())),
            row(
                &what("median"),
                Unit::Milliseconds,
                one(outcome.quantile(0.5)),
            ),
            row(
                &what("99th percentile"),
                Unit::Milliseconds,
                one(outcome.quantile(0.99)),
            ),
        ]);
        // In the first sixth every connection is made.
        let growth = last.median().unwrap_or_default() - second.median().unwrap_or_default();
        for (part, sample) in [("second", second), ("fourth", fourth), ("last", last)] {
            let what = what(&format!("memory, {part} sixth"));
            table.rows.push(row(&what, Unit::Mebibytes, sample));
        }
        let growth = row(&what("memory grows by"), Unit::Mebibytes, one(growth));
        table.rows.push(growth.goal(GROWTH));
        Ok(())
    }
}

/// Opens streams, half of each era, which are read until they end.
async fn open_streams(address: &Address, count: usize) -> Result<Vec<JoinHandle<()>>> {
    let mut open = Vec::new();
    for number in 0..count {
        let (path, what) = if number % 2 == 0 {
            (Path::Stateless, "subscriptions/listen")
        } else {
            (Path::Session, "the stream of a session")
        };
        let mut client = Client::open(address, path).await?;
        let stream = if path == Path::Session {
            client.listen().await
        } else {
            let wanted = json!({ "notifications": { "toolsListChanged": true } });
            let call = Call::new(path, "subscriptions/listen", wanted)?;
            client.stream(&call).await
        };
        let mut stream = stream.with_context(|| format!("{what}, number {}", number + 1))?;
        open.push(tokio::spawn(async move {
            while let Some(Ok(_)) = stream.frame().await {}
            drop(client);
        }));
    }
    Ok(open)
}

/// All pages of `skills/list`: the time of each, and of all of them.
async fn list(client: &mut Client, pages: &mut Pages) -> Result<()> {
    let mut parameters = Map::new();
    let mut whole = Duration::ZERO;
    pages.entries = 0;
    loop {
        let answer = client
            .ask("skills/list", Value::Object(parameters.clone()))
            .await?;
        pages.each.time(answer.took);
        whole += answer.took;
        let skills = answer.result.get("skills").and_then(Value::as_array);
        pages.entries += skills.context("a page without `skills`")?.len();
        match answer.result.get("nextCursor") {
            Some(Value::String(cursor)) => {
                parameters.insert("cursor".to_owned(), cursor.clone().into());
            }
            _ => break,
        }
    }
    pages.whole.time(whole);
    Ok(())
}

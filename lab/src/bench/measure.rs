//! The measurements of one set.
//!
//! Each starts the real binary; those that compare take turns with the server beside it, so that
//! both see the same machine.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fastmcp::FastMcp;
use super::table::{Row, Table};
use crate::random::Random;
use crate::sample::{Sample, Unit};
use crate::server::{Recipe, Server};
use crate::set::Set;

/// The names of all measurements, in order.
pub(super) const MEASUREMENTS: [&str; 12] = [
    "cold", "start", "warm", "calls", "search", "pauses", "together", "changes", "burst", "http",
    "streams", "soak",
];
/// The number of servers that run at once.
const TOGETHER: usize = 10;
/// A pause after which an answer about the library is no longer taken for current.
const PAUSE: Duration = Duration::from_millis(1_150);
/// The age of a file's last change at which its time can be trusted, with some room.
const SETTLED: Duration = Duration::from_millis(2_500);
/// From this many skills on, the goals of large sets hold.
const LARGE: usize = 5_000;

/// The measurements, and how often each is taken.
pub(super) struct Bench {
    pub(super) program: PathBuf,
    pub(super) beside: Option<FastMcp>,
    pub(super) rounds: u32,
    pub(super) calls: u32,
    pub(super) pauses: u32,
    /// The number of measured changes of each kind.
    pub(super) changes: u32,
    /// The number of skills that change at once.
    pub(super) burst: usize,
    /// The seconds for which many calls are kept in flight.
    pub(super) seconds: u64,
    /// The names of what is asked for; empty for everything.
    pub(super) only: Vec<String>,
    /// True for servers with accounts, over HTTP.
    pub(super) has_accounts: bool,
}

/// Adds rows to a table.
type Measurement<'a> = fn(&Fixture<'a>, &mut Table) -> Result<()>;

/// A set with a home, and what is known of its skills.
pub(super) struct Fixture<'a> {
    pub(super) bench: &'a Bench,
    pub(super) set: &'a Set,
    pub(super) home: TempDir,
    /// The full names of all skills.
    pub(super) names: Vec<String>,
    /// References that can be read: the full name of a skill and a path in it.
    references: Vec<(String, String)>,
    /// The descriptions of skills.
    pub(super) descriptions: Vec<String>,
}

impl Bench {
    /// Measures a set; what fails is a note, and the rest goes on.
    pub(super) fn measure(&self, set: &Set) -> Table {
        let mut table = Table {
            title: format!("{}: {} skills, {} files", set.title, set.skills, set.files),
            ..Table::default()
        };
        if set.is_new {
            std::thread::sleep(SETTLED);
        }
        let outcome = self.measure_all(set, &mut table);
        if let Err(error) = outcome {
            table.notes.push(format!("{error:#}"));
        }
        table
    }

    fn measure_all(&self, set: &Set, table: &mut Table) -> Result<()> {
        let mut fixture = Fixture {
            bench: self,
            set,
            home: TempDir::new()?,
            names: Vec::new(),
            references: Vec::new(),
            descriptions: Vec::new(),
        };
        // The first reading fills the system's cache and says what there is.
        let listed = fixture.list(fixture.home.path())?;
        fixture.know(&listed)?;
        let all: [Measurement<'_>; 12] = [
            Fixture::cold,
            Fixture::start,
            Fixture::warm,
            Fixture::calls,
            Fixture::search,
            Fixture::pauses,
            Fixture::together,
            Fixture::changes,
            Fixture::burst,
            Fixture::http,
            Fixture::streams,
            Fixture::soak,
        ];
        for (name, measurement) in MEASUREMENTS.iter().zip(all) {
            if !self.only.is_empty() && !self.only.iter().any(|only| only == name) {
                continue;
            }
            if let Err(error) = measurement(&fixture, table) {
                table.notes.push(format!("{name}: {error:#}"));
            }
        }
        Ok(())
    }
}

impl Fixture<'_> {
    pub(super) fn recipe(&self, command: &[&str], home: &Path) -> Recipe {
        let mut arguments: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        let folder = self.set.folder.display().to_string();
        arguments.extend([
            "--skills-dir".to_owned(),
            folder,
            "--no-default-dirs".to_owned(),
        ]);
        Recipe {
            program: self.bench.program.clone(),
            arguments,
            variables: vec![
                ("GONGFU_HOME".to_owned(), home.display().to_string()),
                ("GONGFU_LOG".to_owned(), "error".to_owned()),
            ],
        }
    }

    pub(super) fn server(&self) -> Recipe {
        self.server_at(self.home.path())
    }

    pub(super) fn server_at(&self, home: &Path) -> Recipe {
        self.recipe(&["mcp"], home)
    }

    /// Lists all skills by the command, with this home.
    fn list(&self, home: &Path) -> Result<Value> {
        let output = self
            .recipe(&["skill", "list", "--json"], home)
            .command()
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .context("gongfu does not start")?;
        if !output.status.success() {
            bail!("`gongfu skill list` failed: {}", output.status);
        }
        serde_json::from_slice(&output.stdout).context("`gongfu skill list` printed no JSON")
    }

    fn know(&mut self, listed: &Value) -> Result<()> {
        for skill in listed.as_array().into_iter().flatten() {
            let text = |name: &str| skill.get(name).and_then(Value::as_str);
            let (Some(name), Some(path)) = (text("full_name"), text("path")) else {
                bail!("a listed skill has no `full_name` or no `path`");
            };
            self.names.push(name.to_owned());
            self.descriptions
                .extend(text("description").map(str::to_owned));
            let Ok(entries) = std::fs::read_dir(Path::new(path).join("references")) else {
                continue;
            };
            for entry in entries.flatten() {
                if let (Ok(file), true) = (entry.file_name().into_string(), entry.path().is_file())
                {
                    self.references
                        .push((name.to_owned(), format!("references/{file}")));
                }
            }
        }
        if self.names.len() < self.set.skills {
            bail!(
                "only {} of {} skills are listed",
                self.names.len(),
                self.set.skills
            );
        }
        if self.references.is_empty() {
            bail!("no skill has a reference to read");
        }
        self.names.sort();
        self.references.sort();
        Ok(())
    }

    pub(super) fn is_large(&self) -> bool {
        self.set.skills >= LARGE
    }

    /// A first reading with a new home.
    fn cold(&self, table: &mut Table) -> Result<()> {
        let mut wall = Sample::default();
        let (mut skills, mut files) = (Sample::default(), Sample::default());
        for _ in 0..self.bench.rounds {
            let home = TempDir::new()?;
            let started = Instant::now();
            self.list(home.path())?;
            let took = started.elapsed();
            wall.time(took);
            skills.value(rate(self.set.skills, took));
            files.value(rate(self.set.files, took));
        }
        // 1,700 skills with 8,500 files in a second; this in milliseconds.
        let goal = rate(self.set.skills, Duration::from_millis(1_700));
        table.rows.extend([
            row("cold index: first `skill list`", Unit::Milliseconds, wall).goal(goal),
            row("cold index: skills", Unit::PerSecond, skills).goal(1_700.0),
            row("cold index: files", Unit::PerSecond, files),
        ]);
        Ok(())
    }

    /// From the start of a server to its list of tools.
    fn start(&self, table: &mut Table) -> Result<()> {
        let theirs = self
            .bench
            .beside
            .as_ref()
            .map(|beside| beside.recipe(self.set));
        let (mut ours, mut beside) = (Sample::default(), Sample::default());
        for _ in 0..self.bench.rounds.max(10) {
            let mut server = Server::begin(&self.server())?;
            server.ask("tools/list", json!({}))?;
            ours.time(server.age());
            drop(server);
            if let Some(recipe) = theirs.as_ref().filter(|_| beside.len() < self.turns()) {
                let mut server = Server::begin(recipe)?;
                server.ask("tools/list", json!({}))?;
                beside.time(server.age());
            }
        }
        let row = row("start to first `tools/list`", Unit::Milliseconds, ours);
        let row = if self.is_large() { row } else { row.goal(30.0) };
        table.rows.push(row.beside(beside));
        Ok(())
    }

    /// The number of measurements of the server beside ours: it is slow with many skills.
    fn turns(&self) -> usize {
        let rounds = self.bench.rounds as usize;
        if self.is_large() {
            rounds.min(2)
        } else {
            rounds
        }
    }

    /// From the start of a server whose index is there to its first list of skills, and what it
    /// holds then.
    fn warm(&self, table: &mut Table) -> Result<()> {
        let theirs = self
            .bench
            .beside
            .as_ref()
            .map(|beside| beside.recipe(self.set));
        let (mut ours, mut beside) = (Sample::default(), Sample::default());
        let (mut resident, mut peak) = (Sample::default(), Sample::default());
        let mut their_peak = Sample::default();
        for _ in 0..self.bench.rounds.max(10) {
            let mut server = Server::begin(&self.server())?;
            server.call("skill_list", json!({}))?;
            ours.time(server.age());
            if let Some(memory) = server.memory() {
                resident.value(memory.resident);
                peak.value(memory.peak);
            }
            drop(server);
            if let Some(recipe) = theirs.as_ref().filter(|_| beside.len() < self.turns()) {
                let mut server = Server::begin(recipe)?;
                server.ask("resources/list", json!({}))?;
                beside.time(server.age());
                their_peak.value(server.memory().map_or(0.0, |memory| memory.peak));
            }
        }
        table.rows.extend([
            row("warm start to first `skill_list`", Unit::Milliseconds, ours)
                .goal(100.0)
                .beside(beside),
            row("memory after it: peak", Unit::Mebibytes, peak)
                .goal(100.0)
                .beside(their_peak),
            row("memory after it: now", Unit::Mebibytes, resident),
        ]);
        Ok(())
    }

    /// Calls in one warm server, one after another.
    fn calls(&self, table: &mut Table) -> Result<()> {
        let mut random = Random::new(1);
        let mut server = Server::begin(&self.server())?;
        server.call("skill_list", json!({}))?;
        let (mut pages, mut loads, mut reads) =
            (Sample::default(), Sample::default(), Sample::default());
        let mut next: Option<String> = None;
        for _ in 0..self.bench.calls {
            let mut page = json!({ "limit": 100 });
            if let (Some(next), Some(page)) = (&next, page.as_object_mut()) {
                page.insert("after".to_owned(), next.clone().into());
            }
            let answer = server.call("skill_list", page)?;
            pages.time(answer.took);
            next = answer
                .result
                .pointer("/structuredContent/next")
                .and_then(Value::as_str)
                .map(str::to_owned);
            loads.time(server.call("skill_load", self.load(&mut random))?.took);
            reads.time(server.call("skill_read", self.read(&mut random))?.took);
        }
        let memory = server.memory();
        drop(server);
        let theirs = self.read_beside(&mut random);
        let (their_reads, their_memory) = match theirs {
            Ok(measured) => measured,
            Err(error) => {
                table.notes.push(format!("calls of FastMCP: {error:#}"));
                Default::default()
            }
        };
        table.rows.extend([
            row("`skill_list`, a page of 100", Unit::Milliseconds, pages).goal(20.0),
            row("`skill_load`", Unit::Milliseconds, loads).beside(their_reads),
            row("`skill_read` of a reference", Unit::Milliseconds, reads).goal(2.0),
        ]);
        if let Some(memory) = memory {
            table.rows.extend([
                row(
                    "memory after the calls: peak",
                    Unit::Mebibytes,
                    one(memory.peak),
                )
                .goal(100.0)
                .beside(their_memory),
                row(
                    "memory after the calls: now",
                    Unit::Mebibytes,
                    one(memory.resident),
                ),
            ]);
        }
        Ok(())
    }

    /// The same documents, read from the server beside ours.
    fn read_beside(&self, random: &mut Random) -> Result<(Sample, Sample)> {
        let mut reads = Sample::default();
        let Some(beside) = &self.bench.beside else {
            return Ok(Default::default());
        };
        let mut server = Server::begin(&beside.recipe(self.set))?;
        let listed = server.ask("resources/list", json!({}))?.result;
        let addresses: Vec<&str> = listed
            .get("resources")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|resource| resource.get("uri").and_then(Value::as_str))
            .filter(|address| address.ends_with("/SKILL.md"))
            .collect();
        if addresses.is_empty() {
            bail!("it lists no skills");
        }
        for _ in 0..self
            .bench
            .calls
            .min(if self.is_large() { 50 } else { u32::MAX })
        {
            let address = random.pick(&addresses);
            let answer = server.ask("resources/read", json!({ "uri": address }))?;
            reads.time(answer.took);
        }
        let peak = server
            .memory()
            .map_or_else(Sample::default, |memory| one(memory.peak));
        Ok((reads, peak))
    }

    /// Calls with a pause before each: each looks at all files first.
    fn pauses(&self, table: &mut Table) -> Result<()> {
        let mut random = Random::new(2);
        let mut server = Server::begin(&self.server())?;
        server.call("skill_list", json!({}))?;
        let mut reads = Sample::default();
        for _ in 0..self.bench.pauses {
            std::thread::sleep(PAUSE);
            reads.time(server.call("skill_read", self.read(&mut random))?.took);
        }
        if reads.len() > 0 {
            let what = "`skill_read` after a pause of 1.15 s";
            table
                .rows
                .push(row(what, Unit::Milliseconds, reads).goal(2.0));
        }
        Ok(())
    }

    /// Ten servers at once with one home.
    fn together(&self, table: &mut Table) -> Result<()> {
        let (mut sums, mut slowest) = (Sample::default(), Sample::default());
        for _ in 0..self.bench.rounds.min(3) {
            let started: Vec<Result<Server>> = std::thread::scope(|scope| {
                let begun: Vec<_> = (0..TOGETHER)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut server = Server::begin(&self.server())?;
                            server.call("skill_list", json!({}))?;
                            Ok(server)
                        })
                    })
                    .collect();
                begun
                    .into_iter()
                    .map(|one| one.join().unwrap_or_else(|_| bail!("a thread ended early")))
                    .collect()
            });
            let mut servers = started.into_iter().collect::<Result<Vec<Server>>>()?;
            let age = servers.iter().map(Server::age).max().unwrap_or_default();
            slowest.time(age);
            let mut random = Random::new(3);
            for server in &mut servers {
                server.call("skill_read", self.read(&mut random))?;
                server.call("skill_search", json!({ "query": "make a plan" }))?;
            }
            let held = servers.iter().filter_map(Server::memory);
            sums.value(held.map(|memory| memory.proportional).sum());
        }
        table.rows.extend([
            row(
                "ten at once: all have answered",
                Unit::Milliseconds,
                slowest,
            ),
            row("ten at once: memory of all (PSS)", Unit::Mebibytes, sums),
        ]);
        Ok(())
    }

    fn load(&self, random: &mut Random) -> Value {
        let name = self.names.get(random.below(self.names.len()));
        json!({ "skill_name": name })
    }

    fn read(&self, random: &mut Random) -> Value {
        match self.references.get(random.below(self.references.len())) {
            Some((name, path)) => json!({ "skill_name": name, "path": path }),
            None => Value::Null,
        }
    }
}

pub(super) fn row(what: &str, unit: Unit, ours: Sample) -> Row {
    Row {
        what: what.to_owned(),
        unit,
        ours,
        goal: None,
        theirs: None,
    }
}

pub(super) fn one(value: f64) -> Sample {
    let mut sample = Sample::default();
    sample.value(value);
    sample
}

/// So many in a second.
fn rate(count: usize, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
    let count = count as f64;
    count / took.as_secs_f64()
}

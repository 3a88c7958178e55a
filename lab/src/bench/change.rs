//! Changes while a server runs: how soon a call sees them, and how soon they are announced.
//!
//! The changes are made in a folder of their own beside the set's skills, and removed in the end, so
//! that the set is what it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::measure::{Fixture, one, row};
use super::table::Table;
use crate::sample::{Sample, Unit};
use crate::server::{Recipe, Server};

/// A silence after which everything has been announced.
const QUIET: Duration = Duration::from_millis(800);
/// The longest time that a server needs until it watches its folders.
const STANDING: Duration = Duration::from_secs(3);

/// The kinds of changes.
const KINDS: [&str; 3] = ["added", "changed", "removed"];

/// A second folder of skills that a server looks at, empty at first.
struct Beside {
    _made: TempDir,
    folder: PathBuf,
}

impl Beside {
    fn new() -> Result<Self> {
        let made = TempDir::new()?;
        let folder = made.path().join("beside");
        fs::create_dir(&folder)?;
        Ok(Self {
            _made: made,
            folder,
        })
    }

    fn recipe(&self, fixture: &Fixture<'_>) -> Recipe {
        let mut recipe = fixture.server();
        let folder = self.folder.display().to_string();
        recipe.arguments.extend(["--skills-dir".to_owned(), folder]);
        recipe
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        let text = format!("---\nname: {name}\ndescription: {text}\n---\n\n{text}\n");
        fs::write(folder.join("SKILL.md"), text)?;
        Ok(())
    }

    /// Makes a change of a kind; the skills of a round come, change and go one after another.
    fn change(&self, kind: &str, round: u32) -> Result<String> {
        let name = format!("live-{round}");
        match kind {
            "added" => self.write(&name, "It is new.")?,
            "changed" => self.write(&name, &format!("It is changed in round {round}."))?,
            _ => fs::remove_dir_all(self.folder.join(&name))?,
        }
        Ok(name)
    }
}

/// True when an answer shows a change.
fn shows(kind: &str, round: u32, answer: &Value) -> bool {
    let text = answer.to_string();
    match kind {
        "added" => text.contains("It is new."),
        "changed" => text.contains(&format!("It is changed in round {round}.")),
        _ => !text.contains(&format!("live-{round}\"")),
    }
}

impl Fixture<'_> {
    /// Single changes: asked for at once, and waited for.
    pub(super) fn changes(&self, table: &mut Table) -> Result<()> {
        let beside = Beside::new()?;
        let mut server = Server::begin(&beside.recipe(self))?;
        server.call("skill_list", json!({}))?;
        server.settle(STANDING);
        let mut seen: [Sample; 3] = Default::default();
        let mut missed = 0;
        for round in 0..self.bench.changes {
            for (kind, sample) in KINDS.into_iter().zip(&mut seen) {
                let name = beside.change(kind, round)?;
                let written = Instant::now();
                // A list shows what came and went, a document what it says now.
                let shown = loop {
                    let answer = if kind == "changed" {
                        server.call("skill_load", json!({ "skill_name": name }))?
                    } else {
                        server
                            .call("skill_list", json!({ "source": "beside" }))
                            .or_else(|_| server.call("skill_list", json!({ "limit": 1000 })))?
                    };
                    if shows(kind, round, &answer.result) {
                        break written.elapsed();
                    }
                    missed += 1;
                    if written.elapsed() > STANDING {
                        bail!("{name} that was {kind} is never shown");
                    }
                };
                sample.time(shown);
            }
        }
        server.settle(QUIET);
        let mut announced: [Sample; 3] = Default::default();
        for round in 0..self.bench.changes {
            for (kind, sample) in KINDS.into_iter().zip(&mut announced) {
                beside.change(kind, round)?;
                let written = Instant::now();
                let told = server.told(Duration::ZERO);
                let first = told.first().context("a change was never announced")?;
                sample.time(first.saturating_duration_since(written));
            }
        }
        for (kind, sample) in KINDS.into_iter().zip(seen) {
            let what = format!("a skill {kind}: a call shows it");
            table
                .rows
                .push(row(&what, Unit::Milliseconds, sample).goal(1_000.0));
        }
        for (kind, sample) in KINDS.into_iter().zip(announced) {
            let what = format!("a skill {kind}: it is announced");
            table
                .rows
                .push(row(&what, Unit::Milliseconds, sample).goal(1_000.0));
        }
        if missed > 0 {
            table.notes.push(format!(
                "{missed} first calls behind a change didn't show it"
            ));
        }
        Ok(())
    }

    /// Many skills of the set at once: each file is removed and written again, as git does it.
    pub(super) fn burst(&self, table: &mut Table) -> Result<()> {
        let beside = Beside::new()?;
        let skills = self.bench.burst;
        for number in 0..skills {
            beside.write(&format!("burst-{number}"), "It is old.")?;
        }
        let mut server = Server::begin(&beside.recipe(self))?;
        server.call("skill_list", json!({}))?;
        server.settle(STANDING);
        let begun = Instant::now();
        for number in 0..skills {
            let name = format!("burst-{number}");
            fs::remove_file(document(&beside.folder, &name))?;
            beside.write(&name, "It is new.")?;
        }
        let written = Instant::now();
        let mut seen = None;
        let last = format!("burst-{}", skills.saturating_sub(1));
        while seen.is_none() && written.elapsed() < 10 * STANDING {
            let answer = server.call("skill_load", json!({ "skill_name": last }))?;
            seen = answer
                .result
                .to_string()
                .contains("It is new.")
                .then(|| written.elapsed());
        }
        let told = server.told(QUIET);
        let mut sample = Sample::default();
        sample.time(seen.context("the last change of a burst was never shown")?);
        let what = |what: &str| format!("{skills} skills at once: {what}");
        table.rows.push(row(&what("written"), Unit::Milliseconds, {
            let mut wrote = Sample::default();
            wrote.time(written - begun);
            wrote
        }));
        table
            .rows
            .push(row(&what("a call shows the last"), Unit::Milliseconds, sample).goal(1_000.0));
        let end = told.last().context("a burst was never announced")?;
        let mut sample = Sample::default();
        sample.time(end.saturating_duration_since(written));
        table
            .rows
            .push(row(&what("the last announcement"), Unit::Milliseconds, sample).goal(1_000.0));
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
        let count = one(told.len() as f64);
        table
            .rows
            .push(row(&what("announcements"), Unit::Times, count));
        Ok(())
    }
}

fn document(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).join("SKILL.md")
}

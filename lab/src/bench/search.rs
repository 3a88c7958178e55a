//! Search as a client sees it: the first one over a new index and over a kept one, many in a row.

use anyhow::Result;
use serde_json::json;
use tempfile::TempDir;

use super::measure::{Fixture, one, row};
use super::table::Table;
use crate::random::Random;
use crate::sample::{Sample, Unit};
use crate::server::Server;

/// The longest time of a search, in milliseconds (spec, "Speed to reach").
const GOAL: f64 = 10.0;

impl Fixture<'_> {
    pub(super) fn search(&self, table: &mut Table) -> Result<()> {
        let questions = self.questions();
        let mut random = Random::new(5);
        let mut question = || questions[random.below(questions.len())].clone();
        let mut ask = |server: &mut Server| {
            let arguments = json!({ "query": question() });
            server
                .call("skill_search", arguments)
                .map(|answer| answer.took)
        };
        // A home without any index: the skills are read, then their texts are indexed.
        let mut new = Sample::default();
        for _ in 0..self.bench.rounds.min(3) {
            let home = TempDir::new()?;
            let mut server = Server::begin(&self.server_at(home.path()))?;
            server.call("skill_list", json!({}))?;
            new.time(ask(&mut server)?);
        }
        let mut kept = Sample::default();
        for _ in 0..self.bench.rounds {
            let mut server = Server::begin(&self.server())?;
            server.call("skill_list", json!({}))?;
            kept.time(ask(&mut server)?);
        }
        let mut server = Server::begin(&self.server())?;
        ask(&mut server)?;
        let mut many = Sample::default();
        for _ in 0..self.bench.calls {
            many.time(ask(&mut server)?);
        }
        let tail = many.percentile(99).unwrap_or(0.0);
        table.rows.extend([
            row(
                "first `skill_search`, nothing indexed",
                Unit::Milliseconds,
                new,
            ),
            row("first `skill_search`, index kept", Unit::Milliseconds, kept),
            row("`skill_search`", Unit::Milliseconds, many),
            row(
                "`skill_search`, 99th percentile",
                Unit::Milliseconds,
                one(tail),
            )
            .goal(GOAL),
        ]);
        if let Some(memory) = server.memory() {
            table.rows.push(
                row(
                    "memory after the searches: now",
                    Unit::Mebibytes,
                    one(memory.resident),
                )
                .goal(100.0),
            );
        }
        Ok(())
    }

    /// Queries: parts of the descriptions of the set's own skills.
    pub(super) fn questions(&self) -> Vec<String> {
        let parts = self.descriptions.iter().filter_map(|description| {
            let words: Vec<&str> = description.split_whitespace().collect();
            let start = words.len() / 4;
            let some = words.get(start..(start + 12).min(words.len()))?;
            (some.len() > 3).then(|| some.join(" "))
        });
        let mut questions: Vec<String> = parts.collect();
        questions.push("make a plan for the work".to_owned());
        questions
    }
}

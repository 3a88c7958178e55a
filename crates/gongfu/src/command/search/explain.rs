//! `gongfu search --explain`: which words of the query each skill has, and how its former uses ended.

use gongfu_core::ledger::Outcomes;
use gongfu_core::search::explain::explain;
use gongfu_hub::surface::ledger::SkillLedger;
use serde_json::{Map, Value, json};

use crate::cli::Common;
use crate::command::Outcome;
use crate::command::operate::operate;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

/// Prints the results of a search with their reasons.
pub(super) fn show(
    query: &str,
    results: &[Value],
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &common.places)?;
    let ledger = operate(SkillLedger {}, &parts, common.json, terminal)?;
    let mut explained = Vec::new();
    for result in results {
        let text = |member: &str| result.get(member).and_then(Value::as_str).unwrap_or("");
        let places = [
            ("name", text("name")),
            ("description", text("description")),
            ("passage", text("snippet")),
        ];
        let words = explain(query, &places);
        let outcomes = ledger.get(text("full_name")).cloned().unwrap_or_default();
        if !common.json {
            line(result, &words, &outcomes, terminal)?;
            continue;
        }
        let words: Map<String, Value> = words
            .into_iter()
            .map(|(word, places)| (word, json!(places)))
            .collect();
        let mut row = result.as_object().cloned().unwrap_or_default();
        row.insert("words".to_owned(), Value::Object(words));
        row.insert("outcomes".to_owned(), json!(outcomes));
        explained.push(Value::Object(row));
    }
    if common.json {
        terminal.json(&explained)?;
    } else if results.is_empty() {
        terminal.note("no skill has any of these words");
    }
    Ok(Outcome::Good)
}

fn line(
    result: &Value,
    words: &[(String, Vec<&str>)],
    outcomes: &Outcomes,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let name = plain(
        result
            .get("full_name")
            .and_then(Value::as_str)
            .unwrap_or(""),
    );
    let score = result.get("score").and_then(Value::as_f64).unwrap_or(0.0);
    let name = terminal.paint(Paint::Bold, &name);
    terminal.line(&format!("{name}  score {score:.1}"))?;
    for (word, places) in words {
        let places = if places.is_empty() {
            "not found".to_owned()
        } else {
            places.join(", ")
        };
        terminal.line(&format!("  {}: {places}", plain(word)))?;
    }
    let Outcomes {
        found,
        loaded,
        runs,
        succeeded,
        ..
    } = outcomes;
    let uses = format!("  found {found}×, loaded {loaded}×, run {runs}× ({succeeded} succeeded)");
    terminal.line(&terminal.paint(Paint::Dim, &uses))?;
    Ok(())
}

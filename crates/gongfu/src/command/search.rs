//! `gongfu skill search`: the tool that agents use, with a view for people.

use gongfu_hub::{Content, Profile, Request, ToolResult};
use serde_json::Value;

use super::Outcome;
use super::call_error::{outcome_of, reported};
use super::operate::person;
use crate::cli::Common;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::{progress, wiring};

pub(crate) fn run(
    wanted: Value,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let result = called("skill_search", wanted, common, environment, terminal)?;
    let found = result.structured_content.unwrap_or_default();
    let none = Value::Array(Vec::new());
    let results = found.get("results").unwrap_or(&none);
    if common.json {
        terminal.json(results)?;
        return Ok(Outcome::Good);
    }
    let results = results.as_array().map_or(&[][..], Vec::as_slice);
    for result in results {
        let text = |member: &str| plain(result.get(member).and_then(Value::as_str).unwrap_or(""));
        let score = result.get("score").and_then(Value::as_f64).unwrap_or(0.0);
        let name = terminal.paint(Paint::Bold, &text("name"));
        let about = terminal.paint(Paint::Dim, &format!("{score:.1}  {}", text("full_name")));
        terminal.line(&format!("{name}  {about}"))?;
        terminal.line(&format!("    {}", text("description")))?;
        let snippet = text("snippet");
        if !snippet.is_empty() {
            terminal.line(&terminal.paint(Paint::Dim, &format!("    > {snippet}")))?;
        }
    }
    let total = found.get("total").and_then(Value::as_u64).unwrap_or(0);
    if results.is_empty() {
        terminal.note("no skill has any of these words; try others, or see gongfu skill list");
    } else if total > results.len() as u64 {
        let more = total - results.len() as u64;
        terminal.note(&format!(
            "… and {more} more that fit less: see them with --limit"
        ));
    }
    Ok(Outcome::Good)
}

/// `gongfu skill list` with a task or a budget: the catalogue as a model gets it.
pub(crate) fn catalogue(
    wanted: Value,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let result = called("skill_list", wanted, common, environment, terminal)?;
    if common.json {
        terminal.json(&result.structured_content)?;
        return Ok(Outcome::Good);
    }
    for content in result.content {
        if let Content::Text { text } = content {
            terminal.text(&text)?;
        }
    }
    Ok(Outcome::Good)
}

/// Calls a tool as agents do, and reports its failure.
fn called(
    tool: &str,
    arguments: Value,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<ToolResult> {
    let parts = wiring::parts(environment, &common.places)?;
    let actor = person();
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let runtime = wiring::runtime()?;
    let profiles = [Profile::Standard];
    let request = Request::new(&profiles, tool, arguments, &actor);
    let calling = parts.catalog.call(request);
    let called = progress::during("looking at the skills", || runtime.block_on(calling));
    called.map_err(|error| reported(&error, outcome_of(&error), common.json, terminal))
}

//! `gongfu search` and `gongfu skill search`: the tool that agents use, with a view for people.

mod explain;

use gongfu_hub::{Content, Profile, Request, ToolResult};
use serde_json::{Value, json};

use super::Outcome;
use super::call_error::{outcome_of, reported};
use super::operate::person;
use crate::cli::{Common, SearchArguments};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::table::clip;
use crate::terminal::{Paint, Terminal, plain};
use crate::{progress, wiring};

pub(crate) fn run(
    arguments: SearchArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let query = arguments.query.join(" ");
    if query.trim() == "-" {
        let message = "search doesn't read standard input";
        let hint = "put the words after it: `gongfu search merge pdf files`";
        return Err(Failure::usage("EMPTY_QUERY", message, hint).into());
    }
    if query.trim().is_empty() {
        return Err(Failure::usage(
            "EMPTY_QUERY",
            "the query is empty",
            "say what to do in a few words, such as `gongfu search merge pdf files`",
        )
        .into());
    }
    let wanted = json!({
        "query": query,
        "limit": arguments.limit,
        "source": arguments.source,
        "tag": arguments.tag,
    });
    let common = &arguments.common;
    let result = called("skill_search", wanted, common, environment, terminal)?;
    let found = result.structured_content.unwrap_or_default();
    let none = Value::Array(Vec::new());
    let results = found.get("results").unwrap_or(&none);
    if arguments.explain {
        let results = results.as_array().map_or(&[][..], Vec::as_slice);
        return explain::show(&query, results, common, environment, terminal);
    }
    if common.json {
        terminal.json(results)?;
        return Ok(Outcome::Good);
    }
    let results = results.as_array().map_or(&[][..], Vec::as_slice);
    for result in results {
        hit(result, terminal)?;
    }
    let total = found.get("total").and_then(Value::as_u64).unwrap_or(0);
    if results.is_empty() {
        let filter = arguments.source.is_some() || arguments.tag.is_some();
        let also = if filter { " with this filter" } else { "" };
        terminal.note(&format!(
            "no skill matches `{}`{also}; try other words, or see all skills: gongfu list",
            plain(&query)
        ));
    } else if total > results.len() as u64 {
        let more = total - results.len() as u64;
        terminal.note(&format!(
            "… and {more} weaker matches: raise --limit to see them"
        ));
    }
    Ok(Outcome::Good)
}

/// Prints a hit in three lines: the name, what the skill does, the passage that matches.
fn hit(hit: &Value, terminal: &mut Terminal) -> anyhow::Result<()> {
    let text = |member: &str| plain(hit.get(member).and_then(Value::as_str).unwrap_or(""));
    let score = hit.get("score").and_then(Value::as_f64).unwrap_or(0.0);
    let name = terminal.paint(Paint::Bold, &text("name"));
    let about = format!("score {score:.1}  {}", text("full_name"));
    terminal.line(&format!("{name}  {}", terminal.paint(Paint::Dim, &about)))?;
    let room = |indent: usize| terminal.width().map(|width| width.saturating_sub(indent));
    let description = clip(&text("description"), room(2));
    let passage = clip(&unmarked(&text("snippet")), room(4));
    terminal.line(&format!("  {description}"))?;
    if !passage.is_empty() {
        terminal.line(&terminal.paint(Paint::Dim, &format!("  > {passage}")))?;
    }
    Ok(())
}

/// A passage without the marks of Markdown that only a page needs.
fn unmarked(passage: &str) -> String {
    let words = passage.split(' ').filter(|word| {
        let is_mark = word.chars().all(|letter| "#*|->=`_".contains(letter));
        !is_mark
    });
    let words: Vec<String> = words
        .map(|word| word.replace("**", "").replace('`', ""))
        .collect();
    words.join(" ")
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
    let doing = || match parts.search.indexing() {
        Some((done, total)) => format!("indexing {done} of {total} skills, once"),
        None => "searching skills".to_owned(),
    };
    let called = progress::during_steps(doing, || runtime.block_on(calling));
    called.map_err(|error| reported(&error, outcome_of(&error), common.json, terminal))
}

//! `tool_search`: finding the tool for a task.

use std::fmt::Write as _;

use gongfu_core::search::Query;
use gongfu_core::text::first_sentence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Directory;
use super::inquiry::Inquiry;
use crate::call::Call;
use crate::error::ToolError;
use crate::output::Data;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// The tools in an answer when no limit is given.
const LIMIT: usize = 5;
const MAX_LIMIT: usize = 50;
/// The characters of a description that an answer repeats.
const SHORT: usize = 160;

/// Find tools of other servers that fit a task, best first: they are too many to be listed. Describe the task in a few
/// words, then call the one that fits with `tool_call`; `tool_describe` shows all that is known about its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolSearch {
    /// The task or subject, in plain words. There are no operators.
    query: String,
    /// The most tools to return (default 5, at most 50).
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

/// The tools that fit.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ToolMatches {
    /// The tools, best first.
    results: Vec<FoundTool>,
    /// The number of tools that contain any of the words.
    total: usize,
}

/// A tool that fits.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundTool {
    /// Its name: pass it to `tool_call`.
    name: String,
    /// Its purpose, in one line.
    description: String,
    /// The arguments that it can't do without, with their types.
    required: Vec<String>,
}

impl Inquiry for ToolSearch {
    const NAME: &'static str = "tool_search";
    const TITLE: &'static str = "Search tools";
    type Output = Data<ToolMatches>;

    async fn answer(
        self,
        directory: &Directory,
        call: &Call,
    ) -> Result<Data<ToolMatches>, ToolError> {
        let limit = self.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
        let index = directory.indexes.of(directory, call).await;
        let answer = index.and_then(|index| index.search(&Query::new(self.query, limit)));
        let answer = answer.map_err(|error| Problem::broken("search", &error).error())?;
        if !answer.words {
            let hint = "describe the task in a few words";
            return Err(Problem::wrong_value("query", "it contains no words", hint).error());
        }
        let tools = answer.hits.iter();
        let tools = tools.filter_map(|at| directory.tools.get(*at));
        let results: Vec<FoundTool> = tools.map(|tool| found(tool.spec())).collect();
        let mut text = String::new();
        for result in &results {
            let arguments = result.required.join(", ");
            let _ = writeln!(
                text,
                "- {}({arguments}): {}",
                result.name, result.description
            );
        }
        if results.is_empty() {
            text.push_str("no tool matches; try other words\n");
        } else if answer.total > results.len() {
            let more = answer.total - results.len();
            let _ = writeln!(text, "… and {more} weaker matches");
        }
        let total = answer.total;
        Ok(Data {
            data: ToolMatches { results, total },
            text,
        })
    }
}

fn found(spec: &ToolSpec) -> FoundTool {
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let with_type = |name: &str| {
        let property = spec
            .input_schema
            .get("properties")
            .and_then(|all| all.get(name));
        match property.and_then(|property| property.get("type")?.as_str()) {
            Some(kind) => format!("{name}: {kind}"),
            None => name.to_owned(),
        }
    };
    FoundTool {
        name: spec.name.to_string(),
        description: first_sentence(&spec.description, SHORT),
        required: required.map(with_type).collect(),
    }
}

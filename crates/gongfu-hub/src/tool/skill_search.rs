//! `skill_search`: finding the skill for a task.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::catalogue::shortened;
use gongfu_core::library::Library;
use gongfu_core::search::query::{Filter, Hit, MAX_QUERY, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Event};
use crate::error::ToolError;
use crate::output::Data;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::Tool;

/// The skills in an answer when no limit is given.
const LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;
/// The characters of a description that the words for a model repeat.
const SHORT: usize = 300;

/// Find the skills that fit a task, best first. Searches names, descriptions and instructions.
/// Describe the task in a few words, in the language of the skills, then load the one that fits
/// with `skill_load`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillSearch {
    /// What to search for, in plain words. There are no operators.
    query: String,
    /// The most skills to return (default 10, at most 100).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Only skills from this source, by its id (the part of a full name before the first `/`).
    source: Option<String>,
    /// Only skills with this tag in their frontmatter.
    tag: Option<String>,
}

/// The skills that fit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillMatches {
    /// The skills, best first.
    results: Vec<FoundSkill>,
    /// How many skills contain any of the words.
    total: usize,
}

/// A skill that fits.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundSkill {
    /// Its name: pass it to `skill_load`.
    name: String,
    /// Its unique name, for when another skill has the short one.
    full_name: String,
    /// How well it fits; comparable within one answer only.
    score: f32,
    /// What it does and when to use it.
    description: String,
    /// The passage of its instructions that fits best.
    snippet: String,
    /// Its folder.
    path: String,
}

impl Tool for SkillSearch {
    const NAME: &'static str = "skill_search";
    const TITLE: &'static str = "Search skills";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Safe;
    type Output = Data<SkillMatches>;

    async fn run(self, call: &Call) -> Result<Data<SkillMatches>, ToolError> {
        let library = shelf::library(call).await?;
        if let Some(source) = &self.source {
            shelf::known_source(&library, source)?;
        }
        let limit = self.limit.unwrap_or(LIMIT).min(MAX_LIMIT);
        let tag = self.tag.clone();
        let query = Query {
            filter: Filter {
                source: self.source,
                tag: self.tag,
            },
            ..Query::new(self.query, limit)
        };
        let searching = call.space.search().search(&query);
        let answer = searching
            .await
            .map_err(|error| Problem::broken("search", &error).error())?;
        if !answer.words {
            let problem = Problem::wrong_value(
                "query",
                "it contains no words",
                "describe the task in a few words",
            );
            return Err(problem.error());
        }
        let names: Vec<&str> = answer
            .hits
            .iter()
            .map(|hit| &*hit.skill.full_name)
            .collect();
        call.events.send(Event::Found(&names));
        let mut text = String::new();
        for hit in &answer.hits {
            write_hit(&mut text, &library, hit);
        }
        if answer.hits.is_empty() {
            text.push_str(&nothing(&library, tag.as_deref()));
        } else if answer.total > answer.hits.len() {
            let more = answer.total - answer.hits.len();
            let advice = if limit < MAX_LIMIT {
                "raise `limit` to see them"
            } else {
                "describe the task in more detail"
            };
            let _ = writeln!(text, "… and {more} weaker matches: {advice}");
        }
        if answer.shortened {
            let _ = writeln!(
                text,
                "only the first {MAX_QUERY} bytes of the query were read"
            );
        }
        let results = answer.hits.iter().map(found).collect();
        Ok(Data {
            data: SkillMatches {
                results,
                total: answer.total,
            },
            text,
        })
    }
}

/// Why nothing was found.
fn nothing(library: &Library, tag: Option<&str>) -> String {
    let why = match tag {
        _ if library.skills().is_empty() => {
            "there are no skills; a person can add a folder with --skills-dir"
        }
        Some(_) => "no skill with this tag matches; try without the tag",
        None => "no skill matches; try other words, or see skill_list",
    };
    format!("{why}\n")
}

fn write_hit(text: &mut String, library: &Library, hit: &Hit) {
    let skill = &hit.skill;
    let shown = library.name_of(skill);
    let description = shortened(&shelf::one_line(&skill.description), SHORT);
    let _ = writeln!(text, "- {shown}: {description}");
    if !hit.snippet.is_empty() {
        let _ = writeln!(text, "  > {}", hit.snippet);
    }
}

fn found(hit: &Hit) -> FoundSkill {
    FoundSkill {
        name: hit.skill.name.to_string(),
        full_name: hit.skill.full_name.to_string(),
        score: hit.score,
        description: shelf::one_line(&hit.skill.description),
        snippet: hit.snippet.clone(),
        path: hit.skill.path.clone(),
    }
}

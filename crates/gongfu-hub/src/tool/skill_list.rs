//! `skill_list`: what skills there are.

use std::collections::HashMap;
use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::catalogue::{self, BUDGET, Entry, Form};
use gongfu_core::library::{Library, Skill};
use gongfu_core::search::{Filter, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::error::ToolError;
use crate::excerpt::MAX_ANSWER;
use crate::guide;
use crate::output::Data;
use crate::overview;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::Tool;

/// The skills in an answer when no limit is given.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;
/// The words of a list whose task has no skill.
const NOTHING_FITS: &str = "no skill matches the task; here are all of them, unranked:\n";

/// List the available skills by name and purpose, in pages or within a budget of characters. To
/// find the skill for a task, use `skill_search`; load its instructions with `skill_load`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillList {
    /// Only skills from this source, by its id (the part of a full name before the first `/`).
    source: Option<String>,
    /// Include disabled skills.
    #[serde(default)]
    include_disabled: bool,
    /// Continue after this skill: the `next` of the previous answer.
    after: Option<String>,
    /// The most skills to list (default 100, at most 1000).
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// The task, in plain words: the skills that fit it best come first.
    task: Option<String>,
    /// The most characters of the answer: descriptions are shortened first, then skills are left
    /// out and counted (default 8000 with a task, at most 65536).
    #[schemars(range(min = 1, max = 65_536))]
    budget: Option<usize>,
}

/// A page of the library.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillPage {
    /// The skills, by precedence of their sources; with a task, best match first.
    skills: Vec<SkillEntry>,
    /// How many skills there are in all.
    total: usize,
    /// Pass this as `after` for the next page; missing on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many skills were left out; only with a budget or a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
}

/// A skill of the library.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillEntry {
    /// Its name: pass it to `skill_load`.
    name: String,
    /// Its unique name, for when another skill has the short one; with a budget or a task only
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_name: Option<String>,
    /// What it does and when to use it.
    description: String,
    /// The id of its source; missing with a budget or a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// Whether it is enabled; with a budget or a task, only if it isn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// The full name of the skill that has the short name, when this one doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<String>,
}

impl Tool for SkillList {
    const NAME: &'static str = "skill_list";
    const TITLE: &'static str = "List skills";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Safe;
    type Output = Data<SkillPage>;

    async fn run(self, call: &Call) -> Result<Data<SkillPage>, ToolError> {
        let library = shelf::library(call).await?;
        let chosen: Vec<&Skill> = library
            .skills()
            .iter()
            .map(AsRef::as_ref)
            .filter(|skill| self.includes(skill))
            .collect();
        if let Some(source) = &self.source {
            shelf::known_source(&library, source)?;
        }
        if self.task.is_some() || self.budget.is_some() {
            self.only_budget()?;
            let budget = self.budget.unwrap_or(BUDGET);
            if budget > MAX_ANSWER {
                let reason = format!("{budget} characters is more than an answer can hold");
                let hint = format!("use at most {MAX_ANSWER}, or read page by page with `after`");
                return Err(Problem::wrong_value("budget", reason, hint).error());
            }
            if chosen.is_empty() {
                return Ok(page(&library, &chosen, 0, 0, self.source.as_deref()));
            }
            let (chosen, fits) = self.by_relevance(call, &library, chosen).await?;
            return Ok(fitting(&library, &chosen, budget, fits));
        }
        let start = match &self.after {
            None => 0,
            Some(after) => match chosen.iter().position(|skill| *skill.full_name == **after) {
                Some(at) => at + 1,
                None => {
                    return Err(Problem::wrong_value(
                        "after",
                        "that skill isn't in this list",
                        "start again without `after`",
                    )
                    .error());
                }
            },
        };
        Ok(page(
            &library,
            &chosen,
            start,
            self.limit.unwrap_or(LIMIT).min(MAX_LIMIT),
            self.source.as_deref(),
        ))
    }
}

impl SkillList {
    fn includes(&self, skill: &Skill) -> bool {
        (self.include_disabled || skill.enabled)
            && self
                .source
                .as_deref()
                .is_none_or(|source| *skill.source == *source)
    }

    /// A list within a budget has no pages.
    fn only_budget(&self) -> Result<(), ToolError> {
        let given = [
            ("after", self.after.is_some()),
            ("limit", self.limit.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => Err(Problem::wrong_value(
                name,
                "a list with a task or a budget isn't paged",
                "drop it, or drop `task` and `budget`",
            )
            .error()),
        }
    }

    /// The skills that fit the task first, best first; the others after them in their order. And
    /// whether any fits, where there is a task.
    async fn by_relevance<'a>(
        &self,
        call: &Call,
        library: &'a Library,
        mut chosen: Vec<&'a Skill>,
    ) -> Result<(Vec<&'a Skill>, bool), ToolError> {
        library.sort_for_catalogue(&mut chosen);
        let Some(task) = &self.task else {
            return Ok((chosen, true));
        };
        let query = Query {
            filter: Filter {
                source: self.source.clone(),
                tag: None,
            },
            snippets: false,
            ..Query::new(task.as_str(), library.skills().len())
        };
        let searching = call.space.search().search(&query);
        let answer = searching
            .await
            .map_err(|error| Problem::broken("search", &error).error())?;
        let hits = answer.hits.iter().enumerate();
        let places: HashMap<&str, usize> = hits
            .map(|(place, hit)| (&*hit.skill.full_name, place))
            .collect();
        let last = places.len();
        chosen.sort_by_key(|skill| places.get(&*skill.full_name).copied().unwrap_or(last));
        Ok((chosen, last > 0))
    }
}

/// The skills in as many characters as there is room for: neither the text nor what programs get
/// takes more, for some clients show their model the one and some the other.
fn fitting(library: &Library, chosen: &[&Skill], budget: usize, fits: bool) -> Data<SkillPage> {
    let note = if fits { "" } else { NOTHING_FITS };
    let length = note.chars().count();
    // Where there is hardly room for a skill, the note gets nothing.
    let (mut room, note) = match budget.checked_sub(length) {
        Some(room) if room > length => (room, note),
        _ => (budget, ""),
    };
    loop {
        let mut answer = catalogue(library, chosen, room);
        let size = serde_json::to_string(&answer.data).map_or(0, |json| json.chars().count());
        let over = size.saturating_sub(budget);
        if over == 0 || answer.data.skills.is_empty() {
            answer.text.insert_str(0, note);
            return answer;
        }
        room = room.saturating_sub(over);
    }
}

fn catalogue(library: &Library, chosen: &[&Skill], budget: usize) -> Data<SkillPage> {
    let line = |skill: &&Skill| {
        let mut entry = overview::line(library, skill);
        entry.name.push_str(off(skill));
        entry
    };
    let entries: Vec<Entry> = chosen.iter().map(line).collect();
    let form = Form {
        line: &guide::line,
        more: &|count| format!("… and {count} more: use skill_search"),
    };
    let catalogue = catalogue::write(&entries, 0, budget, &form);
    let shown = chosen.iter().take(catalogue.shown);
    let most = catalogue.shortened_to.unwrap_or(usize::MAX);
    // What can be told from the rest has no room here.
    let entry = |skill: &&Skill| {
        let entry = described(library, skill);
        SkillEntry {
            description: catalogue::shortened(&entry.description, most),
            full_name: entry.shadowed_by.as_ref().and(entry.full_name),
            source: None,
            enabled: entry.enabled.filter(|enabled| !enabled),
            ..entry
        }
    };
    Data {
        data: SkillPage {
            skills: shown.map(entry).collect(),
            total: chosen.len(),
            next: None,
            left_out: Some(catalogue.left_out),
        },
        text: catalogue.text,
    }
}

/// Returns the words after the name of a skill that is disabled.
fn off(skill: &Skill) -> &'static str {
    if skill.enabled { "" } else { " (disabled)" }
}

/// A skill as an answer shows it.
fn described(library: &Library, skill: &Skill) -> SkillEntry {
    let winner = library.shadowed_by(skill);
    SkillEntry {
        name: skill.name.to_string(),
        full_name: Some(skill.full_name.to_string()),
        description: shelf::one_line(&skill.description),
        source: Some(skill.source.to_string()),
        enabled: Some(skill.enabled),
        shadowed_by: winner.map(|winner| winner.full_name.to_string()),
    }
}

fn page(
    library: &Library,
    chosen: &[&Skill],
    start: usize,
    limit: usize,
    source: Option<&str>,
) -> Data<SkillPage> {
    let mut text = String::new();
    let mut skills = Vec::new();
    for skill in chosen.iter().skip(start).take(limit) {
        if text.len() > MAX_ANSWER {
            break;
        }
        let entry = described(library, skill);
        let shown = library.name_of(skill);
        let _ = writeln!(text, "- {shown}{}: {}", off(skill), entry.description);
        skills.push(entry);
    }
    let left = chosen.len().saturating_sub(start + skills.len());
    let next = skills
        .last()
        .filter(|_| left > 0)
        .and_then(|last| last.full_name.clone());
    if let Some(next) = &next {
        let _ = writeln!(
            text,
            "… and {left} more: call skill_list with after=\"{next}\""
        );
    }
    if chosen.is_empty() && library.skills().is_empty() {
        text.push_str("there are no skills; a person can add a folder with --skills-dir\n");
    } else if chosen.is_empty() && source.is_none() {
        text.push_str("no skill is enabled; see include_disabled\n");
    } else if chosen.is_empty() {
        text.push_str("no skill of this source is enabled; see include_disabled\n");
    }
    Data {
        data: SkillPage {
            skills,
            total: chosen.len(),
            next,
            left_out: None,
        },
        text,
    }
}

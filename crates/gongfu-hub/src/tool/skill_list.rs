//! `skill_list`: what skills there are.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::library::{Library, Skill};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ToolError;
use crate::excerpt::MAX_ANSWER;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::{Context, Data, Tool};

/// How many skills an answer lists when no limit is given.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// List the skills that are available: their names and what each is for. Call this first to find
/// the skill that fits a task, then read its instructions with `skill_load`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillList {
    /// Only skills of this source, by its id (the part of a full name before the first `/`).
    source: Option<String>,
    /// List skills that are switched off as well.
    #[serde(default)]
    include_disabled: bool,
    /// Go on behind this skill: its full name, as the answer before gave it in `next`.
    after: Option<String>,
    /// How many skills to list at most (default 100, at most 1000).
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

/// A page of the library.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillPage {
    /// The skills, by precedence of their sources.
    skills: Vec<SkillEntry>,
    /// How many skills there are in all.
    total: usize,
    /// Give this as `after` to see more; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A skill of the library.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillEntry {
    /// What it is called; give it to `skill_load`.
    name: String,
    /// Its unique name, for when another skill holds the short one.
    full_name: String,
    /// What it does and when to use it.
    description: String,
    /// The id of the source that it comes from.
    source: String,
    /// Whether it is switched on.
    enabled: bool,
    /// The full name of the skill that holds the short name, when this one doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<String>,
}

impl Tool for SkillList {
    const NAME: &'static str = "skill_list";
    const TITLE: &'static str = "List skills";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Safe;
    type Output = Data<SkillPage>;

    async fn run(self, context: &Context) -> Result<Data<SkillPage>, ToolError> {
        let library = shelf::library(context).await?;
        let chosen: Vec<&Skill> = library
            .skills()
            .iter()
            .map(AsRef::as_ref)
            .filter(|skill| self.includes(skill))
            .collect();
        if let Some(source) = &self.source {
            shelf::known_source(&library, source)?;
        }
        let start = match &self.after {
            None => 0,
            Some(after) => match chosen.iter().position(|skill| *skill.full_name == **after) {
                Some(at) => at + 1,
                None => {
                    return Err(wrong(
                        "after",
                        "there is no such skill in this list",
                        "start again without `after`".to_owned(),
                    ));
                }
            },
        };
        Ok(page(
            &library,
            &chosen,
            start,
            self.limit.unwrap_or(LIMIT).min(MAX_LIMIT),
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
}

fn page(library: &Library, chosen: &[&Skill], start: usize, limit: usize) -> Data<SkillPage> {
    let mut text = String::new();
    let mut skills = Vec::new();
    for skill in chosen.iter().skip(start).take(limit) {
        if text.len() > MAX_ANSWER {
            break;
        }
        let shadowed_by = library
            .shadowed_by(skill)
            .map(|winner| winner.full_name.to_string());
        let shown = if shadowed_by.is_some() {
            &*skill.full_name
        } else {
            skill.name.as_str()
        };
        let off = if skill.enabled { "" } else { " (switched off)" };
        let description = shelf::one_line(&skill.description);
        let _ = writeln!(text, "- {shown}{off}: {description}");
        skills.push(SkillEntry {
            name: skill.name.to_string(),
            full_name: skill.full_name.to_string(),
            description,
            source: skill.source.to_string(),
            enabled: skill.enabled,
            shadowed_by,
        });
    }
    let left = chosen.len().saturating_sub(start + skills.len());
    let next = skills
        .last()
        .filter(|_| left > 0)
        .map(|last| last.full_name.clone());
    if let Some(next) = &next {
        let _ = writeln!(
            text,
            "… and {left} more: call skill_list with after=\"{next}\""
        );
    }
    if chosen.is_empty() && library.skills().is_empty() {
        text.push_str("there are no skills here; a person can name a folder by --skills-dir\n");
    } else if chosen.is_empty() {
        text.push_str("no skill of this source is switched on; see include_disabled\n");
    }
    Data {
        data: SkillPage {
            skills,
            total: chosen.len(),
            next,
        },
        text,
    }
}

fn wrong(name: &str, reason: &str, hint: String) -> ToolError {
    Problem::WrongValue {
        name: name.to_owned(),
        reason: reason.to_owned(),
        hint,
    }
    .error()
}

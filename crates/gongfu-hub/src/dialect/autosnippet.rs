//! `autosnippet`: the two tools of `AutoSnippet` (seed 001) that list and load skills.
//!
//! Answers are one JSON object in a text: `success`, and `data` or `error`.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::Timestamp;
use gongfu_core::text::first_sentence;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::Call;
use crate::dialect::Dialect;
use crate::entry;
use crate::error::ToolError;
use crate::error_code::ErrorCode;
use crate::excerpt;
use crate::guide::{Guide, line};
use crate::output::{Document, ToolResult};
use crate::overview::{self, ASKED};
use crate::problem::Problem;
use crate::shelf;
use crate::tool::{Tool, ToolSpec};

/// The number of skills that the description of a tool names.
const CORE: usize = 7;
/// The longest summary, in characters.
const MAX_SUMMARY: usize = 120;
/// The size of an answer beside its skills, in characters: the hint, and what surrounds it.
const FRAME: usize = 400;

pub(crate) const DIALECT: Dialect = Dialect {
    name: "autosnippet",
    about: "the tools of AutoSnippet about skills: all with their use cases, and one whole",
    lists: Some(ListSkills::NAME),
    loads: LoadSkill::NAME,
    tools: &[entry::spoken::<ListSkills>, entry::spoken::<LoadSkill>],
    failure,
    gains_search: false,
    guide: Guide {
        counts: false,
        introduction: "Skills are guides for the work on this project. Call autosnippet_list_skills to see what they are for, then load the one that fits with \
            autosnippet_load_skill.",
        heading: "Skills:",
        line,
        more: |_| "use autosnippet_list_skills",
        full_names: false,
    },
};

/// List all available Agent Skills with a summary and the use case of each. Call this first to see
/// what the skills can do, then load the one that fits with `autosnippet_load_skill`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSkills {}

impl Tool for ListSkills {
    const NAME: &'static str = "autosnippet_list_skills";
    const TITLE: &'static str = "List skills";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Safe;
    type Output = Document;

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let library = shelf::library(call).await?;
        let all = overview::reachable(&library);
        let mut skills: Vec<Value> = Vec::new();
        let note = overview::shadowed_note(&library).unwrap_or_default();
        let mut size = FRAME + note.chars().count();
        for skill in &all {
            let entry = json!({
                "name": skill.name.as_str(),
                "summary": summary(skill),
                "useCase": shelf::metadata(skill, "use-case"),
            });
            size += entry.to_string().chars().count() + 1;
            if size > ASKED {
                break;
            }
            skills.push(entry);
        }
        let left = all.len() - skills.len();
        let mut hint =
            String::from("load a skill with autosnippet_load_skill: pass its name as skillName");
        if left > 0 {
            let _ = write!(
                hint,
                "; … and {left} more, which load by their names as well"
            );
        }
        if !note.is_empty() {
            let _ = write!(hint, " {note}");
        }
        Ok(success(
            json!({ "skills": skills, "total": all.len(), "hint": hint }),
        ))
    }
}

/// Load the complete document of an Agent Skill: the guide to its kind of work. Pass `section` to
/// load only one chapter and save tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadSkill {
    /// The name of the skill, as `autosnippet_list_skills` shows it.
    skill_name: String,
    /// Only the chapter whose heading contains this text, with its subchapters.
    section: Option<String>,
    /// Continue from this byte, where the previous answer was cut.
    offset: Option<usize>,
}

impl Tool for LoadSkill {
    const NAME: &'static str = "autosnippet_load_skill";
    const TITLE: &'static str = "Load a skill";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    const DYNAMIC: bool = true;
    type Output = Document;

    /// The description names the core skills: those that say what they are used for come first.
    fn adapt(spec: &mut ToolSpec, library: &Library) {
        let mut skills: Vec<(&Skill, Option<String>)> = overview::reachable(library)
            .into_iter()
            .map(|skill| (skill, shelf::metadata(skill, "use-case")))
            .collect();
        skills.sort_by_key(|(_, use_case)| use_case.is_none());
        if skills.is_empty() {
            return;
        }
        spec.description.push_str("\n\nCore skills:");
        for (skill, use_case) in skills.into_iter().take(CORE) {
            let about = use_case.unwrap_or_else(|| summary(skill));
            let about = gongfu_core::text::clipped(&about, MAX_SUMMARY, ' ');
            let _ = write!(spec.description, "\n- {}: {about}", skill.name);
        }
    }

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        if self.skill_name.trim().is_empty() {
            return Err(Problem::MissingArgument {
                name: "skillName".to_owned(),
                about: "the name of a skill".to_owned(),
            }
            .error());
        }
        let skill = shelf::skill_by_name(call, &self.skill_name).await?;
        let source = shelf::load(call, &skill).await?;
        let section = self.section.as_deref().map(str::trim);
        let content = match section.filter(|section| !section.is_empty()) {
            Some(wanted) => shelf::section(&source, wanted)?,
            None => &source.text,
        };
        let part = excerpt::whole(content, self.offset)?;
        let related = shelf::metadata(&skill, "related").unwrap_or_default();
        let related: Vec<&str> = related.split(' ').filter(|name| !name.is_empty()).collect();
        let mut data = json!({
            "skillName": skill.name.as_str(),
            "content": part.text,
            "charCount": part.text.chars().count(),
            "useCase": shelf::metadata(&skill, "use-case"),
            "relatedSkills": related,
        });
        if let (Some(note), Value::Object(data)) = (part.note, &mut data) {
            data.insert("note".to_owned(), note.into());
        }
        Ok(success(data))
    }
}

/// Returns the purpose of a skill in a sentence; its name when it doesn't say.
fn summary(skill: &Skill) -> String {
    let sentence = first_sentence(&skill.description, MAX_SUMMARY);
    if sentence.is_empty() {
        skill.name.to_string()
    } else {
        sentence
    }
}

fn success(data: Value) -> Document {
    Document::text(json!({ "success": true, "data": data }).to_string())
}

fn failure(error: &ToolError, _at: Timestamp) -> ToolResult {
    let text = error.problem.text();
    let code = match error.code() {
        ErrorCode::MissingArgument => "MISSING_PARAM",
        ErrorCode::Unavailable => ErrorCode::SkillsReadError.as_str(),
        other => other.as_str(),
    };
    let error = match &error.problem {
        Problem::SkillUnknown { nearest, total, .. } => {
            json!({ "code": code, "message": text.message, "availableSkills": nearest, "total": total })
        }
        Problem::SectionUnknown { headings, .. } => {
            json!({ "code": code, "message": text.message, "availableSections": headings })
        }
        _ => json!({ "code": code, "message": text.message, "hint": text.hint }),
    };
    ToolResult::text(json!({ "success": false, "error": error }).to_string())
}

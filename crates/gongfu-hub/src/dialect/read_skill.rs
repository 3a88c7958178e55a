//! `read_skill`: the one tool of `QueryClaw` (seed 003) that loads a skill by its name.

use std::sync::Arc;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::library::Library;
use gongfu_core::port::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::call::Call;
use crate::dialect::{Dialect, MANY, error_text};
use crate::entry;
use crate::error::ToolError;
use crate::excerpt;
use crate::guide::Guide;
use crate::output::{Document, ToolResult};
use crate::problem::{Problem, clipped};
use crate::shelf;
use crate::tool::{Tool, ToolSpec};

pub(crate) const DIALECT: Dialect = Dialect {
    name: "read_skill",
    about: "the tool of QueryClaw: one skill by its name",
    lists: None,
    loads: ReadSkill::NAME,
    tools: &[entry::spoken::<ReadSkill>],
    failure,
    gains_search: true,
    guide: Guide {
        counts: false,
        introduction: "# Skills\n\nCall read_skill(skill_name='<name>') first to load the full workflow instructions when the user's request matches a skill's purpose, \
            then follow them.",
        heading: "Available skills:",
        line: |name, description| {
            format!(
                "  - {name}: {description} — call read_skill(skill_name='{name}') to load instructions when relevant"
            )
        },
        more: |skills| {
            if skills > MANY {
                "use skill_search"
            } else {
                "read_skill lists their names"
            }
        },
        full_names: false,
    },
};

/// Load the full workflow instructions for a skill. Call this when the user asks for tasks that
/// match a skill (e.g. generate test data, analyze data). Returns the skill's SKILL.md content
/// without its frontmatter.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadSkill {
    /// Skill name (never a path).
    skill_name: String,
    /// Continue from this byte, where the previous answer was cut.
    offset: Option<usize>,
}

impl Tool for ReadSkill {
    const NAME: &'static str = "read_skill";
    const TITLE: &'static str = "Read a skill";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    const DYNAMIC: bool = true;
    type Output = Document;

    /// The names that exist are the choices, as long as they are few enough.
    fn adapt(spec: &mut ToolSpec, library: &Library) {
        let names = shelf::names(library);
        if names.is_empty() || names.len() > MANY {
            return;
        }
        let schema = Arc::make_mut(&mut spec.input_schema);
        let property = schema
            .get_mut("properties")
            .and_then(|properties| properties.get_mut("skill_name"));
        if let Some(Value::Object(property)) = property {
            property.insert("enum".to_owned(), names.into());
        }
    }

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let skill = shelf::skill_by_name(call, &self.skill_name).await?;
        let source = shelf::load(call, &skill).await?;
        Ok(excerpt::whole(shelf::body(&source), self.offset)?.into())
    }
}

fn failure(error: &ToolError, _at: Timestamp) -> ToolResult {
    let known = match &error.problem {
        Problem::SkillUnknown { name, .. } => Some(format!("Skill '{}' not found.", clipped(name))),
        _ => None,
    };
    error_text(error, known)
}

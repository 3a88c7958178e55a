//! `skill_load`: the instructions of a skill.

use gongfu_core::capability::{Access, Safety};
use gongfu_core::library::Library;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::error::ToolError;
use crate::excerpt::{self, TextRange};
use crate::guide;
use crate::output::Document;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::{Tool, ToolSpec};

/// The longest description, in characters: several clients and models refuse or cut longer ones.
const MAX_TOOL: usize = 1_024;

/// Load the instructions of a skill (its SKILL.md). Do this before you start a task that a skill is
/// for, then follow them. Read other files that they mention with `skill_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillLoad {
    /// The name of the skill, or its full name, as `skill_search` and `skill_list` show it.
    skill_name: String,
    /// `whole` (default), or `body`: without the frontmatter.
    part: Option<Part>,
    /// Only the section under this heading, with its subsections.
    section: Option<String>,
    /// First line to return; lines count from 1 at the top of the file.
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// Last line to return.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
    /// First character to return of the first line.
    #[schemars(range(min = 1))]
    start_column: Option<usize>,
}

/// How much of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Part {
    Whole,
    Body,
}

impl Tool for SkillLoad {
    const NAME: &'static str = "skill_load";
    const TITLE: &'static str = "Load a skill";
    const ACCESS: Access = Access::Read;
    const SAFETY: Safety = Safety::Low;
    const DYNAMIC: bool = true;
    type Output = Document;

    /// Clients that show their models no instructions show them the descriptions of tools.
    fn adapt(spec: &mut ToolSpec, library: &Library) {
        let heading = "\n\nSkills here:\n";
        let taken = spec.description.chars().count() + heading.len();
        let catalogue = guide::for_tool(library, MAX_TOOL.saturating_sub(taken));
        if catalogue.shown > 0 {
            spec.description.push_str(heading);
            spec.description.push_str(catalogue.text.trim_end());
        }
    }

    async fn run(self, call: &Call) -> Result<Document, ToolError> {
        let wanted = TextRange {
            start_line: self.start_line,
            end_line: self.end_line,
            start_column: self.start_column,
        };
        if self.section.is_some() && wanted.is_range() {
            let reason = "a section and a range of lines don't go together".to_owned();
            return Err(Problem::wrong_value("section", reason, "pass one of them").error());
        }
        let skill = shelf::skill(call, &self.skill_name).await?;
        let source = shelf::load(call, &skill).await?;
        let text = source.text.as_str();
        let within = match &self.section {
            Some(wanted) => shelf::section_range(&source, wanted)?,
            None if self.part == Some(Part::Body) => shelf::body_range(&source),
            None => 0..text.len(),
        };
        Ok(excerpt::cut(text, within, wanted)?.into())
    }
}

//! `skill_create`: a new skill.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::skill::name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::error::ToolError;
use crate::output::Data;
use crate::problem::clipped;
use crate::tool::Tool;
use crate::writing::{self, FindingText};

/// Create a skill: a folder with a SKILL.md of this name, description and instructions. Add other
/// files to it with `skill_write`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillCreate {
    /// The name of the skill and its folder: lower-case letters, digits and hyphens.
    name: String,
    /// What the skill does and when to use it. Agents find it by this.
    description: String,
    /// The instructions in Markdown. Without them, a template is written for you to fill in:
    /// overview, steps, quality standards and cautions.
    #[serde(default)]
    instructions: String,
}

/// The skill that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillCreated {
    /// Its name.
    name: String,
    /// Its unique name.
    full_name: String,
    /// What a check finds.
    findings: Vec<FindingText>,
}

impl Tool for SkillCreate {
    const NAME: &'static str = "skill_create";
    const TITLE: &'static str = "Create a skill";
    const ACCESS: Access = Access::Write;
    const SAFETY: Safety = Safety::Medium;
    // What is there already is never replaced.
    const DESTRUCTIVE: bool = false;
    type Output = Data<SkillCreated>;

    async fn run(self, call: &Call) -> Result<Data<SkillCreated>, ToolError> {
        let starts = self.name.chars().next().is_some_and(char::is_alphabetic);
        if !starts || !name::faults(&self.name).is_empty() {
            let reason = format!("`{}` is not a valid skill name", clipped(&self.name));
            return Err(writing::wrong_name(reason));
        }
        let (skill, written) =
            writing::create_skill(call, &self.name, &self.description, &self.instructions).await?;
        let mut text = format!("created the skill {}\n", skill.full_name);
        for found in &written.findings {
            let _ = writeln!(text, "{found}");
        }
        Ok(Data {
            text,
            data: SkillCreated {
                name: skill.name.to_string(),
                full_name: skill.full_name.to_string(),
                findings: written.findings,
            },
        })
    }
}

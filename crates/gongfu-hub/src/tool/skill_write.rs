//! `skill_write`: a new or changed file of a skill.

use std::fmt::Write as _;

use gongfu_core::capability::{Access, Safety};
use gongfu_core::place;
use gongfu_core::skill::{SKILL_FILE, SkillPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::output::Data;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::Tool;
use crate::writing::{self, FindingText, Intent};

/// Write one file of a skill; without a path, its SKILL.md. Pass `content` to create or overwrite
/// the file (missing folders are created), or `old_text` and `new_text` to replace one passage and
/// leave every other byte alone. A SKILL.md is checked first, and refused if it could not be
/// loaded. Only skills in gongfu's own folder can be written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillWrite {
    /// The name of the skill, or its full name, as `skill_search` and `skill_list` show it.
    skill_name: String,
    /// The file, relative to the skill's folder, e.g. `references/guide.md`; `SKILL.md` by default.
    path: Option<String>,
    /// The whole content of the file.
    content: Option<String>,
    /// The passage to replace, exactly as in the file; it must occur only once.
    old_text: Option<String>,
    /// The replacement for `old_text`; may be empty.
    new_text: Option<String>,
}

/// The report of a write.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillWritten {
    /// The full name of the skill.
    skill: String,
    /// The file.
    path: String,
    /// The length of the file in bytes.
    bytes: usize,
    /// Whether there was no such file before.
    created: bool,
    /// What a check finds, when it is a SKILL.md.
    findings: Vec<FindingText>,
}

impl Tool for SkillWrite {
    const NAME: &'static str = "skill_write";
    const TITLE: &'static str = "Write a file of a skill";
    const ACCESS: Access = Access::Write;
    const SAFETY: Safety = Safety::Medium;
    const REVIEWED: bool = true;
    type Output = Data<SkillWritten>;

    async fn review(&self, call: &Call) -> Result<Option<Proposal>, ToolError> {
        let (intent, path) = (self.intent()?, self.path()?);
        let skill = shelf::skill(call, &self.skill_name).await?;
        writing::review_skill(call, &skill, &path, self.given(), &intent).await
    }

    async fn run(self, call: &Call) -> Result<Data<SkillWritten>, ToolError> {
        let (intent, given, path) = (self.intent()?, self.given(), self.path()?);
        let skill = shelf::skill(call, &self.skill_name).await?;
        let written = writing::write_skill(call, &skill, &path, given, &intent).await?;
        let mut text = format!(
            "wrote {} bytes to {path} of {}\n",
            written.bytes, skill.full_name
        );
        for found in &written.findings {
            let _ = writeln!(text, "{found}");
        }
        Ok(Data {
            text,
            data: SkillWritten {
                skill: skill.full_name.to_string(),
                path: path.to_string(),
                bytes: written.bytes,
                created: written.created,
                findings: written.findings,
            },
        })
    }
}

impl SkillWrite {
    fn intent(&self) -> Result<Intent, ToolError> {
        Intent::of(
            self.content.clone(),
            self.old_text.clone(),
            self.new_text.clone(),
        )
    }

    /// The path as it was given.
    fn given(&self) -> &str {
        self.path.as_deref().unwrap_or(SKILL_FILE)
    }

    fn path(&self) -> Result<SkillPath, ToolError> {
        place::checked(self.given()).map_err(|why| {
            let (path, reason) = (self.given().to_owned(), why.to_string());
            Problem::FilePath { path, reason }.error()
        })
    }
}

//! Skills: listed, created, shown, changed, deleted, enabled.

use gongfu_core::account::{Scope, TeamRole};
use gongfu_hub::ErrorCode;
use gongfu_hub::surface::skill_edit::{StoredSkillCreate, StoredSkillDelete, StoredSkillDescribe};
use gongfu_hub::surface::stored_skill::{StoredSkill, StoredSkillList, StoredSkillShow};
use gongfu_hub::surface::switch::SkillSwitch;
use http::header::IF_MATCH;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::token::MAX_PAGE;
use crate::problem::Problem;

/// The path of all skills.
pub(super) const PATH: &str = "/api/v1/skills";
pub(super) const READ: Access = Access::Scopes(&[Scope::SkillsRead]);
pub(super) const WRITE: Access = Access::Scopes(&[Scope::SkillsWrite]);
pub(super) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

pub(super) const UNKNOWN: Refusal = Refusal {
    status: 404,
    codes: &["SKILL_NOT_FOUND"],
};
pub(super) const READ_ONLY: Refusal = Refusal {
    status: 403,
    codes: &["SOURCE_READ_ONLY"],
};
pub(super) const CONFLICT: Refusal = Refusal {
    status: 409,
    codes: &["CONFLICT", "SKILL_EXISTS"],
};
pub(super) const OUTDATED: Refusal = Refusal {
    status: 412,
    codes: &["PRECONDITION_FAILED"],
};
pub(super) const INVALID: Refusal = Refusal {
    status: 422,
    codes: &["SKILL_INVALID", "INVALID_ARGUMENT", "INVALID_FILE_PATH"],
};
pub(super) const FULL: Refusal = Refusal::QUOTA_EXCEEDED;

/// A refusal about a skill that the body names: an unknown one is a wrong value there, since the path is right.
pub(super) fn in_body(problem: Problem) -> Problem {
    match problem {
        Problem::Tool(error) if error.code() == ErrorCode::SkillNotFound => {
            Problem::field("skill", "there is no skill with this id")
        }
        problem => problem,
    }
}

/// A skill.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SkillReply {
    /// The id, which stays when the content changes.
    id: String,
    /// The name.
    name: String,
    /// The unique name.
    full_name: String,
    /// Its purpose, and when to use it.
    description: String,
    /// The id of its source.
    source: String,
    /// False for a disabled skill.
    is_active: bool,
    /// The number of its files.
    files: usize,
    /// The length of all files in bytes.
    bytes: u64,
    /// The digest of its content; in quotes it is the `ETag`.
    digest: String,
    /// The number of errors that a check finds.
    errors: usize,
    /// The number of warnings that a check finds.
    warnings: usize,
    /// Every field of its frontmatter.
    frontmatter: Map<String, Value>,
}

impl From<StoredSkill> for SkillReply {
    fn from(stored: StoredSkill) -> Self {
        let StoredSkill { id, skill } = stored;
        Self {
            id,
            name: skill.name.to_string(),
            full_name: skill.full_name.to_string(),
            description: skill.description.clone(),
            source: skill.source.to_string(),
            is_active: skill.enabled,
            files: skill.files.len(),
            bytes: skill.bytes(),
            digest: skill.digest().to_string(),
            errors: skill.findings.errors,
            warnings: skill.findings.warnings,
            frontmatter: serde_json::from_str(&skill.frontmatter).unwrap_or_default(),
        }
    }
}

impl From<StoredSkill> for Answer<SkillReply> {
    fn from(stored: StoredSkill) -> Self {
        let tag = etag(&stored);
        Self::from(SkillReply::from(stored)).etag(tag)
    }
}

/// The version of a skill, as an `ETag`.
pub(super) fn etag(stored: &StoredSkill) -> String {
    format!("\"{}\"", stored.skill.digest())
}

/// The digests of which the skill must have one, as `If-Match` says.
pub(super) fn expected(context: &Context) -> Option<Vec<String>> {
    let values = context.headers.get_all(IF_MATCH).iter();
    let values: Vec<&str> = values
        .map(|value| value.to_str().unwrap_or_default())
        .collect();
    if values.is_empty() || values == ["*"] {
        return None;
    }
    // Weak tags and other texts match no version (RFC 9110, section 13.1.1).
    let tags = values
        .iter()
        .flat_map(|value| value.split(','))
        .map(str::trim);
    let strong = tags.filter_map(|tag| tag.strip_prefix('"')?.strip_suffix('"'));
    Some(strong.map(str::to_owned).collect())
}

/// A page of skills.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SkillPage {
    /// The skills, in the order of precedence.
    items: Vec<SkillReply>,
    /// The number of all.
    total: usize,
    /// Leads to the next page; null on the last one.
    next_cursor: Option<String>,
}

/// List your skills, disabled ones included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillList {
    /// The number of skills to leave out at the start.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    skip: usize,
    /// The most skills of the page (20).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 32, max = 32), extend("pattern" = "^[0-9a-f]{32}$"))]
    cursor: Option<String>,
}

impl Endpoint for SkillList {
    const NAME: &'static str = "skill_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = PATH;
    const ACCESS: Access = READ;
    const TEAM: Option<TeamRole> = Some(TeamRole::Member);
    const REFUSALS: &'static [Refusal] = &[Refusal::CONFLICT];
    type Reply = SkillPage;

    async fn answer(self, context: &Context) -> Result<Answer<SkillPage>, Problem> {
        let all = context.operate(StoredSkillList {}).await?;
        let total = all.len();
        let start = match &self.cursor {
            None => 0,
            Some(cursor) => {
                let at = all.iter().position(|stored| stored.id == *cursor);
                at.ok_or_else(|| Problem::Conflict {
                    detail: "the skill before this page is gone".to_owned(),
                    hint: "start again without a cursor",
                    field: Some("cursor"),
                })? + 1
            }
        };
        let start = start.saturating_add(self.skip).min(total);
        let limit = self.limit.unwrap_or(20).min(MAX_PAGE);
        let page: Vec<StoredSkill> = all.into_iter().skip(start).take(limit).collect();
        let last = page.last().map(|stored| stored.id.clone());
        let has_more = start + page.len() < total;
        Ok(Answer::from(SkillPage {
            items: page.into_iter().map(SkillReply::from).collect(),
            total,
            next_cursor: last.filter(|_| has_more),
        }))
    }
}

/// Create a skill: a SKILL.md with this name, description and instructions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillCreate {
    /// The name: lower-case letters of any script, digits and single hyphens.
    #[schemars(length(min = 1, max = 64), extend("pattern" = "^([a-z0-9]|[^\\u0000-\\u007f])+(-([a-z0-9]|[^\\u0000-\\u007f])+)*$", "example" = "pdf-tools"))]
    name: String,
    /// Its purpose, and when to use it. Agents find it by this.
    #[schemars(length(min = 1, max = 1_024), extend("pattern" = "\\S", "example" = "Merges PDF files. Use it for reports."))]
    description: String,
    /// The instructions in Markdown; without them, a template to fill in.
    #[serde(default)]
    #[schemars(length(max = 200_000))]
    instructions: String,
}

impl Endpoint for SkillCreate {
    const NAME: &'static str = "skill_create";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = PATH;
    const ACCESS: Access = WRITE;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const HEADERS: &'static [&'static str] = &[IDEMPOTENCY_KEY];
    const REFUSALS: &'static [Refusal] = &[CONFLICT, INVALID, FULL];
    type Reply = SkillReply;

    async fn answer(self, context: &Context) -> Result<Answer<SkillReply>, Problem> {
        if self.name.trim() != self.name {
            return Err(Problem::field("name", "it has blanks around it"));
        }
        let create = StoredSkillCreate {
            name: self.name,
            description: self.description,
            instructions: self.instructions,
        };
        let stored = context.operate(create).await?;
        let location = context.path(&format!("{PATH}/{}", stored.id));
        Ok(Answer::from(stored).location(location))
    }
}

/// Show a skill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillRead {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for SkillRead {
    const NAME: &'static str = "skill_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/skills/{id}";
    const ACCESS: Access = READ;
    const TEAM: Option<TeamRole> = Some(TeamRole::Member);
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = SkillReply;

    async fn answer(self, context: &Context) -> Result<Answer<SkillReply>, Problem> {
        let show = StoredSkillShow { skill: self.id };
        let stored = context.operate(show).await?;
        Ok(Answer::from(stored))
    }
}

/// Change the description and the instructions of a skill. Other fields of its SKILL.md stay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillChange {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The new description; without it, the old one stays.
    #[schemars(length(min = 1, max = 1_024), extend("pattern" = "\\S"))]
    description: Option<String>,
    /// The new instructions in Markdown; without them, the old ones stay.
    #[schemars(length(max = 200_000))]
    instructions: Option<String>,
}

impl Endpoint for SkillChange {
    const NAME: &'static str = "skill_change";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/skills/{id}";
    const ACCESS: Access = WRITE;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const HEADERS: &'static [&'static str] = &["If-Match"];
    const REFUSALS: &'static [Refusal] = &[READ_ONLY, UNKNOWN, CONFLICT, OUTDATED, INVALID, FULL];
    type Reply = SkillReply;

    async fn answer(self, context: &Context) -> Result<Answer<SkillReply>, Problem> {
        let describe = StoredSkillDescribe {
            skill: self.id,
            expected: expected(context),
            description: self.description,
            instructions: self.instructions,
        };
        let stored = context.operate(describe).await?;
        Ok(Answer::from(stored))
    }
}

/// Delete a skill with all its files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillDelete {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for SkillDelete {
    const NAME: &'static str = "skill_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/skills/{id}";
    const ACCESS: Access = WRITE;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const HEADERS: &'static [&'static str] = &["If-Match"];
    const REFUSALS: &'static [Refusal] = &[READ_ONLY, UNKNOWN, CONFLICT, OUTDATED];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let delete = StoredSkillDelete {
            skill: self.id,
            expected: expected(context),
        };
        context.operate(delete).await?;
        Ok(Answer::nothing())
    }
}

/// Enables or disables the skill with an id.
async fn switch(
    context: &Context,
    id: String,
    enabled: bool,
) -> Result<Answer<SkillReply>, Problem> {
    let show = || StoredSkillShow { skill: id.clone() };
    let stored = context.operate(show()).await?;
    let switch = SkillSwitch {
        skill: stored.skill.full_name.to_string(),
        enabled,
    };
    context.operate(switch).await?;
    Ok(Answer::from(context.operate(show()).await?))
}

/// Enable a skill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillActivate {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for SkillActivate {
    const NAME: &'static str = "skill_activate";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/skills/{id}/activate";
    const ACCESS: Access = Access::Person;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = SkillReply;

    async fn answer(self, context: &Context) -> Result<Answer<SkillReply>, Problem> {
        switch(context, self.id, true).await
    }
}

/// Disable a skill: agents don't see it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SkillDeactivate {
    /// The id of the skill.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for SkillDeactivate {
    const NAME: &'static str = "skill_deactivate";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/skills/{id}/deactivate";
    const ACCESS: Access = Access::Person;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = SkillReply;

    async fn answer(self, context: &Context) -> Result<Answer<SkillReply>, Problem> {
        switch(context, self.id, false).await
    }
}

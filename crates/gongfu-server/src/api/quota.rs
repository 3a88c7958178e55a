//! The limits of a user, for admins.

use gongfu_core::account::UserQuota;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::{UNKNOWN, user_id};
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use super::team;
use crate::problem::Problem;

/// The limits of a user; null for that of the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct QuotaReply {
    /// The most skills.
    skills: Option<u32>,
    /// The most that the skills take together, in MiB.
    skills_mib: Option<u32>,
    /// The most commands that run at once.
    runs: Option<u32>,
    /// The most commands that are started in an hour.
    runs_per_hour: Option<u32>,
}

impl From<UserQuota> for QuotaReply {
    fn from(quota: UserQuota) -> Self {
        Self {
            skills: quota.skills,
            skills_mib: quota.skills_mib,
            runs: quota.runs,
            runs_per_hour: quota.runs_per_hour,
        }
    }
}

/// Show the limits of a user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaRead {
    /// The id of the user.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for QuotaRead {
    const NAME: &'static str = "quota_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/admin/users/{id}/quota";
    const ACCESS: Access = Access::Admin;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = QuotaReply;

    async fn answer(self, context: &Context) -> Result<Answer<QuotaReply>, Problem> {
        let user = context.accounts()?.user(&user_id(&self.id)?).await?;
        Ok(Answer::from(QuotaReply::from(user.quota)))
    }
}

/// Set all limits of a user. One that is missing is that of the server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaSet {
    /// The id of the user.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    /// The most skills; those that are there stay.
    #[schemars(range(max = 1_000_000_000))]
    skills: Option<u32>,
    /// The most that the skills take together, in MiB.
    #[schemars(range(max = 1_000_000_000))]
    skills_mib: Option<u32>,
    /// The most commands that run at once.
    #[schemars(range(max = 1_000_000_000))]
    runs: Option<u32>,
    /// The most commands that are started in an hour.
    #[schemars(range(max = 1_000_000_000))]
    runs_per_hour: Option<u32>,
}

impl Endpoint for QuotaSet {
    const NAME: &'static str = "quota_set";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/admin/users/{id}/quota";
    const ACCESS: Access = Access::Admin;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = QuotaReply;

    async fn answer(self, context: &Context) -> Result<Answer<QuotaReply>, Problem> {
        let quota = UserQuota {
            skills: self.skills,
            skills_mib: self.skills_mib,
            runs: self.runs,
            runs_per_hour: self.runs_per_hour,
        };
        let (id, by) = (user_id(&self.id)?, &context.identity()?.user);
        let user = context.accounts()?.set_quota(&id, quota, Some(by)).await?;
        team::changed(context).await?;
        Ok(Answer::from(QuotaReply::from(user.quota)))
    }
}

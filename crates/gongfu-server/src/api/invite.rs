//! One-time links that an admin gives to people: to create an account, or to set a password.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::{UNKNOWN, user_id};
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use crate::problem::Problem;

/// A link, for one use.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LinkReply {
    /// The link, which is shown this once. Its last part is the secret.
    url: String,
    /// The time from which it is refused (RFC 3339).
    expires_at: String,
}

/// Invite somebody to create an account, where `accounts.registration` is `invited` or `open`. The link is good for a week.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountInvite {
    /// True for another admin.
    #[serde(default)]
    is_superuser: bool,
}

impl Endpoint for AccountInvite {
    const NAME: &'static str = "account_invite";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/admin/invitations";
    const ACCESS: Access = Access::Admin;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    type Reply = LinkReply;

    async fn answer(self, context: &Context) -> Result<Answer<LinkReply>, Problem> {
        let by = &context.identity()?.user;
        let invited = context
            .accounts()?
            .invite_newcomer(self.is_superuser, Some(by));
        let (secret, expires) = invited.await?;
        let issuer = context.api.issuer().trim_end_matches('/');
        Ok(Answer::from(LinkReply {
            url: format!("{issuer}/join/{}", secret.as_str()),
            expires_at: expires.to_string(),
        }))
    }
}

/// Give a user a link to set a password, such as somebody who lost theirs. It is good for a day.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountLink {
    /// The id of the user.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for AccountLink {
    const NAME: &'static str = "account_link";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/admin/users/{id}/link";
    const ACCESS: Access = Access::Admin;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN];
    type Reply = LinkReply;

    async fn answer(self, context: &Context) -> Result<Answer<LinkReply>, Problem> {
        let (id, by) = (user_id(&self.id)?, &context.identity()?.user);
        let (secret, expires) = context.accounts()?.create_link(&id, Some(by)).await?;
        let issuer = context.api.issuer().trim_end_matches('/');
        Ok(Answer::from(LinkReply {
            url: format!("{issuer}/invite/{}", secret.as_str()),
            expires_at: expires.to_string(),
        }))
    }
}

//! The accounts of a server, for its admins.

use gongfu_core::account::{Email, UserId, Username};
use gongfu_core::registry::NewUser;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::auth::UserReply;
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::token::MAX_PAGE;
use crate::problem::Problem;

pub(super) const UNKNOWN: Refusal = Refusal::NOT_FOUND;
pub(super) const CONFLICT: Refusal = Refusal::CONFLICT;

/// The digits of a user's id.
const ID_DIGITS: usize = 32;

/// The user with an id; one that can't be an id is unknown.
pub(super) fn user_id(id: &str) -> Result<UserId, Problem> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_id = id.len() == ID_DIGITS && id.bytes().all(is_digit);
    let id = UserId::new(id).ok().filter(|_| is_id);
    id.ok_or(Problem::NotFound("user"))
}

/// A page of users.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AccountPage {
    /// The users, by id.
    items: Vec<UserReply>,
    /// Leads to the next page; null on the last one.
    next_cursor: Option<String>,
}

/// List the users.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountList {
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 32, max = 32), extend("pattern" = "^[0-9a-f]{32}$"))]
    cursor: Option<String>,
    /// The most users of the page (50).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

impl Endpoint for AccountList {
    const NAME: &'static str = "account_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/admin/users";
    const ACCESS: Access = Access::Admin;
    type Reply = AccountPage;

    async fn answer(self, context: &Context) -> Result<Answer<AccountPage>, Problem> {
        let after = self.cursor.as_deref().map(user_id).transpose();
        let why = "it isn't a cursor of this list";
        let after = after.map_err(|_| Problem::field("cursor", why))?;
        let limit = self.limit.unwrap_or(50).min(MAX_PAGE);
        let mut users = context.accounts()?.users(after.as_ref(), limit + 1).await?;
        let has_more = users.len() > limit;
        users.truncate(limit);
        let last = users.last().map(|user| user.id.as_str().to_owned());
        Ok(Answer::from(AccountPage {
            items: users.into_iter().map(UserReply::from).collect(),
            next_cursor: last.filter(|_| has_more),
        }))
    }
}

/// Create a user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountCreate {
    /// The e-mail address.
    #[schemars(with = "String", length(min = 3, max = 254), extend("format" = "email"))]
    email: Email,
    /// The user name: ASCII letters, digits, `.`, `-` and `_`.
    #[schemars(with = "String", length(min = 3, max = 64), extend("pattern" = "^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    username: Username,
    /// The password; without it, the user can't sign in by one.
    #[schemars(length(min = 8, max = 128), extend("format" = "password"))]
    password: Option<String>,
    /// True for another admin.
    #[serde(default)]
    is_superuser: bool,
}

impl Endpoint for AccountCreate {
    const NAME: &'static str = "account_create";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/admin/users";
    const ACCESS: Access = Access::Admin;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[CONFLICT];
    type Reply = UserReply;

    async fn answer(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        let _permit = context.hashing()?;
        let new = NewUser {
            email: self.email,
            username: self.username,
            password: self.password,
            is_admin: self.is_superuser,
        };
        let by = &context.identity()?.user;
        let user = context.accounts()?.create(new, Some(by)).await?;
        let location = format!("{}/{}", Self::PATH, user.id.as_str());
        Ok(Answer::from(UserReply::from(user)).location(location))
    }
}

/// Makes an endpoint for one user.
macro_rules! one_user {
    ($(#[doc = $about:literal])+ $endpoint:ident, $name:literal, $method:ident, $path:literal) => {
        $(#[doc = $about])+
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $endpoint {
            /// The id of the user.
            #[schemars(length(min = 1, max = 64))]
            id: String,
        }

        impl Endpoint for $endpoint {
            const NAME: &'static str = $name;
            const METHOD: Method = Method::$method;
            const PATH: &'static str = $path;
            const ACCESS: Access = Access::Admin;
            const REFUSALS: &'static [Refusal] = &[UNKNOWN, CONFLICT];
            type Reply = UserReply;

            async fn answer(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
                self.act(context).await
            }
        }
    };
}

one_user! {
    /// Show a user.
    AccountRead, "account_read", GET, "/api/v1/admin/users/{id}"
}

one_user! {
    /// Let a disabled user in again.
    AccountEnable, "account_enable", POST, "/api/v1/admin/users/{id}/enable"
}

one_user! {
    /// Disable a user: their sign-ins end, and their tokens are refused. Their data stays.
    AccountDisable, "account_disable", POST, "/api/v1/admin/users/{id}/disable"
}

impl AccountRead {
    async fn act(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        let user = context.accounts()?.user(&user_id(&self.id)?).await?;
        Ok(Answer::from(UserReply::from(user)))
    }
}

impl AccountEnable {
    async fn act(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        set_active(context, &self.id, true).await
    }
}

impl AccountDisable {
    async fn act(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        set_active(context, &self.id, false).await
    }
}

async fn set_active(
    context: &Context,
    id: &str,
    is_active: bool,
) -> Result<Answer<UserReply>, Problem> {
    let (id, by) = (user_id(id)?, &context.identity()?.user);
    let user = context
        .accounts()?
        .set_active(&id, is_active, Some(by))
        .await?;
    Ok(Answer::from(UserReply::from(user)))
}

/// Delete a user, with their tokens and sign-ins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountDelete {
    /// The id of the user.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for AccountDelete {
    const NAME: &'static str = "account_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/admin/users/{id}";
    const ACCESS: Access = Access::Admin;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[UNKNOWN, CONFLICT];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let (id, by) = (user_id(&self.id)?, &context.identity()?.user);
        context.accounts()?.delete(&id, Some(by)).await?;
        Ok(Answer::nothing())
    }
}

//! The account of the caller.

use gongfu_core::account::{Email, User, Username};
use gongfu_core::registry::AccountError;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::auth::UserReply;
use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use crate::problem::Problem;

/// Compares the password of the caller, who may have found an open session. It counts like a login.
async fn confirm(context: &Context, password: String) -> Result<User, Problem> {
    let (accounts, rates) = (context.accounts()?, &context.server()?.rates);
    let user = accounts.user(&context.identity()?.user).await?;
    let name = user.username.as_str();
    let allowed = rates.login_allowed(context.address, name);
    allowed.map_err(Problem::RateLimited)?;
    let _permit = context.hashing()?;
    match accounts.check_password(&user.id, password).await {
        Ok(()) => {
            rates.login_succeeded(name);
            Ok(user)
        }
        Err(error) => {
            if matches!(error, AccountError::WrongPassword) {
                rates.login_failed(name);
            }
            Err(error.into())
        }
    }
}

/// Show your account.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UserRead {}

impl Endpoint for UserRead {
    const NAME: &'static str = "user_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/users/me";
    const ACCESS: Access = Access::Person;
    type Reply = UserReply;

    async fn answer(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        let user = context.accounts()?.user(&context.identity()?.user).await?;
        Ok(Answer::from(UserReply::from(user)))
    }
}

/// Change your e-mail address or your user name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UserChange {
    /// The new e-mail address.
    #[schemars(with = "Option<String>", length(min = 3, max = 254), extend("format" = "email"))]
    email: Option<Email>,
    /// The new user name: ASCII letters, digits, `.`, `-` and `_`.
    #[schemars(with = "Option<String>", length(min = 3, max = 64), extend("pattern" = "^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    username: Option<Username>,
}

impl Endpoint for UserChange {
    const NAME: &'static str = "user_change";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/users/me";
    const ACCESS: Access = Access::Person;
    const REFUSALS: &'static [Refusal] = &[Refusal::CONFLICT];
    type Reply = UserReply;

    async fn answer(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        let id = &context.identity()?.user;
        let renamed = context.accounts()?.rename(id, self.email, self.username);
        Ok(Answer::from(UserReply::from(renamed.await?)))
    }
}

/// Delete your account, with its tokens and sign-ins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UserDelete {
    /// Your password.
    #[schemars(length(min = 1, max = 128), extend("format" = "password"))]
    password: String,
}

impl Endpoint for UserDelete {
    const NAME: &'static str = "user_delete";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/users/me";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[Refusal::CONFLICT];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let user = confirm(context, self.password).await?;
        context.accounts()?.delete(&user.id, Some(&user.id)).await?;
        Ok(Answer::nothing())
    }
}

/// Change your password. Every sign-in ends; API tokens stay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PasswordChange {
    /// The password so far.
    #[schemars(length(min = 1, max = 128), extend("format" = "password"))]
    current_password: String,
    /// The new password: any characters, and none that everybody tries first.
    #[schemars(length(min = 8, max = 128), extend("format" = "password"))]
    new_password: String,
}

impl Endpoint for PasswordChange {
    const NAME: &'static str = "password_change";
    const METHOD: Method = Method::PUT;
    const PATH: &'static str = "/api/v1/users/me/password";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let user = confirm(context, self.current_password).await?;
        let _permit = context.hashing()?;
        let changing =
            context
                .accounts()?
                .set_password(&user.id, self.new_password, Some(&user.id));
        changing.await.map_err(|error| match error {
            AccountError::Password(why) => Problem::field("new_password", why.to_string()),
            error => error.into(),
        })?;
        Ok(Answer::nothing())
    }
}

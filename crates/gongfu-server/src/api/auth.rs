//! Registering, signing in and out.

use gongfu_core::account::{Email, User, Username};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::link::LinkSecret;
use gongfu_core::registry::{AccountError, NewUser, SignIn, SignInError};
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use crate::problem::Problem;

const RATE_LIMITED: Refusal = Refusal {
    status: 429,
    codes: &["RATE_LIMIT_EXCEEDED"],
};

/// A user, as the user and admins see them.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UserReply {
    /// The id, which never changes.
    id: String,
    /// The e-mail address.
    email: String,
    /// The user name.
    username: String,
    /// False for a user whom an admin disabled.
    is_active: bool,
    /// True for an admin.
    is_superuser: bool,
    /// The time of creation (RFC 3339).
    created_at: String,
    /// The time of the last change (RFC 3339).
    updated_at: String,
}

impl From<User> for UserReply {
    fn from(user: User) -> Self {
        Self {
            id: user.id.as_str().to_owned(),
            email: user.email.to_string(),
            username: user.username.to_string(),
            is_active: user.is_active,
            is_superuser: user.is_admin,
            created_at: Timestamp(user.created).to_string(),
            updated_at: Timestamp(user.updated).to_string(),
        }
    }
}

/// The tokens of a sign-in.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TokenReply {
    /// The credential for requests, as `Authorization: Bearer`.
    access_token: String,
    /// For the next access token. Each is good for one use.
    refresh_token: String,
    /// Always `bearer`.
    token_type: &'static str,
    /// The life of the access token, in seconds.
    expires_in: i64,
}

impl From<SignIn> for TokenReply {
    fn from(sign_in: SignIn) -> Self {
        Self {
            access_token: sign_in.access.as_str().to_owned(),
            refresh_token: sign_in.refresh.as_str().to_owned(),
            token_type: "bearer",
            expires_in: sign_in.expires_in,
        }
    }
}

/// Create an account, where the server lets everybody, or with an invitation of an admin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthRegister {
    /// The e-mail address.
    #[schemars(with = "String", length(min = 3, max = 254), extend("format" = "email", "example" = "ann@example.com"))]
    email: Email,
    /// The user name: ASCII letters, digits, `.`, `-` and `_`.
    #[schemars(with = "String", length(min = 3, max = 64), extend("pattern" = "^[A-Za-z0-9][A-Za-z0-9._-]*$", "example" = "ann"))]
    username: Username,
    /// The password: any characters, and none that everybody tries first.
    #[schemars(length(min = 8, max = 128), extend("format" = "password", "example" = "three unrelated words"))]
    password: String,
    /// The secret of a link, where an admin invites people.
    #[schemars(length(min = 1, max = 200))]
    invitation: Option<String>,
}

impl Endpoint for AuthRegister {
    const NAME: &'static str = "auth_register";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/auth/register";
    const ACCESS: Access = Access::Public;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    const REFUSALS: &'static [Refusal] = &[
        Refusal {
            status: 403,
            codes: &["FORBIDDEN", "PASSWORDS_OFF"],
        },
        Refusal::CONFLICT,
        RATE_LIMITED,
    ];
    type Reply = UserReply;

    async fn answer(self, context: &Context) -> Result<Answer<UserReply>, Problem> {
        let rates = &context.server()?.rates;
        let allowed = rates.registration_allowed(context.address);
        allowed.map_err(Problem::RateLimited)?;
        let _permit = context.hashing()?;
        let new = NewUser {
            email: self.email,
            username: self.username,
            password: Some(self.password),
            is_admin: false,
        };
        let user = match &self.invitation {
            None => context.accounts()?.register(new).await?,
            Some(invitation) => {
                let secret = LinkSecret::parse(invitation);
                let why = "it was used, has expired or never was";
                let unknown = || Problem::field("invitation", why);
                let secret = secret.ok_or_else(unknown)?;
                let registered = context.accounts()?.register_by_link(&secret, new).await;
                registered.map_err(|error| match error {
                    AccountError::Unknown(_) => unknown(),
                    error => error.into(),
                })?
            }
        };
        Ok(Answer::from(UserReply::from(user)))
    }
}

/// Sign in with an e-mail address or user name and a password.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthLogin {
    /// The e-mail address, or the user name.
    #[schemars(length(min = 1, max = 254), extend("example" = "ann@example.com"))]
    email: String,
    /// The password.
    #[schemars(length(min = 1, max = 128), extend("format" = "password", "example" = "three unrelated words"))]
    password: String,
}

impl Endpoint for AuthLogin {
    const NAME: &'static str = "auth_login";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/auth/login";
    const ACCESS: Access = Access::Public;
    const REFUSALS: &'static [Refusal] = &[
        Refusal {
            status: 401,
            codes: &["UNAUTHORIZED"],
        },
        Refusal {
            status: 403,
            codes: &["PASSWORDS_OFF"],
        },
        RATE_LIMITED,
    ];
    type Reply = TokenReply;

    async fn answer(self, context: &Context) -> Result<Answer<TokenReply>, Problem> {
        let rates = &context.server()?.rates;
        let allowed = rates.login_allowed(context.address, &self.email);
        allowed.map_err(Problem::RateLimited)?;
        let _permit = context.hashing()?;
        match context
            .accounts()?
            .sign_in(&self.email, self.password)
            .await
        {
            Ok(sign_in) => {
                rates.login_succeeded(&self.email);
                Ok(Answer::from(TokenReply::from(sign_in)))
            }
            Err(error) => {
                if matches!(error, SignInError::Refused) {
                    rates.login_failed(&self.email);
                }
                Err(error.into())
            }
        }
    }
}

/// Get the next access token for a refresh token.
///
/// The answer has another refresh token; the one before isn't good any more. A second use of it ends the sign-in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthRefresh {
    /// The newest refresh token.
    #[schemars(length(min = 1, max = 256))]
    refresh_token: String,
}

impl Endpoint for AuthRefresh {
    const NAME: &'static str = "auth_refresh";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/auth/refresh";
    const ACCESS: Access = Access::Public;
    const REFUSALS: &'static [Refusal] = &[
        Refusal {
            status: 401,
            codes: &["INVALID_TOKEN", "TOKEN_REVOKED"],
        },
        RATE_LIMITED,
    ];
    type Reply = TokenReply;

    async fn answer(self, context: &Context) -> Result<Answer<TokenReply>, Problem> {
        let allowed = context.server()?.rates.refresh_allowed(context.address);
        allowed.map_err(Problem::RateLimited)?;
        let sign_in = context.accounts()?.refresh(&self.refresh_token).await?;
        Ok(Answer::from(TokenReply::from(sign_in)))
    }
}

/// Sign out: the sign-in of a refresh token ends, with its access tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthLogout {
    /// A refresh token of the sign-in.
    #[schemars(length(min = 1, max = 256))]
    refresh_token: String,
}

impl Endpoint for AuthLogout {
    const NAME: &'static str = "auth_logout";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/auth/logout";
    const ACCESS: Access = Access::Public;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[RATE_LIMITED];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let allowed = context.server()?.rates.refresh_allowed(context.address);
        allowed.map_err(Problem::RateLimited)?;
        context.accounts()?.sign_out(&self.refresh_token).await?;
        Ok(Answer::nothing())
    }
}

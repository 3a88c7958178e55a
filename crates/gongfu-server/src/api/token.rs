//! The API tokens of the caller.

use gongfu_core::account::{Scope, Scopes};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::NewToken;
use gongfu_core::registry::api_token::ApiTokenRecord;
use gongfu_hub::Profile;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal, ReplyBody};
use super::tool::profile_names;
use crate::problem::Problem;

/// The most entries of a page.
pub(super) const MAX_PAGE: usize = 100;

/// An API token, without its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedToken {
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// False once it has expired.
    is_active: bool,
    /// The time from which it is refused (RFC 3339); null for never.
    expires_at: Option<String>,
    /// The time of its last use (RFC 3339), which a crash may lose for a minute; null before the first.
    last_used_at: Option<String>,
    /// The time of creation (RFC 3339).
    created_at: String,
    /// Its scopes.
    scopes: Vec<String>,
    /// The only skills that it reaches, by full name; null for all.
    skills: Option<Vec<String>>,
    /// The profile of its connections; null for the server's.
    profile: Option<String>,
}

impl ListedToken {
    fn of(record: ApiTokenRecord, used: Option<Timestamp>, now: Timestamp) -> Self {
        let scopes = record.scopes.iter();
        Self {
            is_active: !record.is_expired(now) && !record.is_revoked,
            expires_at: record.expires.map(|expires| Timestamp(expires).to_string()),
            last_used_at: used.map(|used| used.to_string()),
            created_at: Timestamp(record.created).to_string(),
            scopes: scopes.map(|scope| scope.as_str().to_owned()).collect(),
            id: record.id,
            name: record.name,
            skills: record.skills,
            profile: record.profile,
        }
    }
}

/// A page of API tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TokenPage {
    /// The tokens, the oldest first.
    items: Vec<ListedToken>,
    /// The number of all.
    total: usize,
}

/// List your API tokens. Revoked ones aren't listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenList {
    /// The number of tokens to leave out at the start.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    skip: usize,
    /// The most tokens of the page (20).
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

impl Endpoint for TokenList {
    const NAME: &'static str = "token_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/tokens";
    const ACCESS: Access = Access::Person;
    type Reply = TokenPage;

    async fn answer(self, context: &Context) -> Result<Answer<TokenPage>, Problem> {
        let user = &context.identity()?.user;
        let tokens = context.accounts()?.tokens(user).await?;
        let uses = context.accounts()?.last_uses(user).await?;
        let (total, now) = (tokens.len(), context.now());
        let limit = self.limit.unwrap_or(20).min(MAX_PAGE);
        let page = tokens.into_iter().skip(self.skip).take(limit);
        let items = page.map(|token| {
            let used = uses.get(&token.id).copied();
            ListedToken::of(token, used, now)
        });
        let items = items.collect();
        Ok(Answer::from(TokenPage { items, total }))
    }
}

/// An API token with its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CreatedToken {
    /// The text, which is shown this once.
    token: String,
    /// The rest.
    #[serde(flatten)]
    listed: ListedToken,
}

/// Create an API token, for agents and programs. Its text is in this answer only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenCreate {
    /// A name to tell it from others.
    #[schemars(length(min = 1, max = 100), extend("example" = "laptop"))]
    name: String,
    /// The time from which it is refused (RFC 3339); without it, never.
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    expires_at: Option<String>,
    /// The permissions; without them `skills:read`, `skills:write` and `skills:run`.
    #[schemars(with = "Option<Vec<ScopeName>>", length(min = 1, max = 4))]
    scopes: Option<Vec<Scope>>,
    /// The only skills that it reaches, by full name, such as `shared/pdf-tools`; one without a source is your own.
    /// Without them all.
    #[schemars(length(max = 1_000))]
    skills: Option<Vec<String>>,
    /// The profile of its connections; without it the server's.
    #[schemars(extend("enum" = profile_names()))]
    profile: Option<String>,
}

/// The names of scopes, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum ScopeName {
    #[schemars(rename = "skills:read")]
    Read,
    #[schemars(rename = "skills:write")]
    Write,
    #[schemars(rename = "skills:run")]
    Run,
    #[schemars(rename = "admin")]
    Admin,
}

impl Endpoint for TokenCreate {
    const NAME: &'static str = "token_create";
    const METHOD: Method = Method::POST;
    const PATH: &'static str = "/api/v1/tokens";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::CREATED;
    type Reply = CreatedToken;

    async fn answer(self, context: &Context) -> Result<Answer<CreatedToken>, Problem> {
        let expires = self.expires_at.as_deref().map(|text| {
            let why = "it isn't a time such as 2030-01-31T12:00:00Z";
            Timestamp::parse(text).ok_or_else(|| Problem::field("expires_at", why))
        });
        if let Some(profile) = &self.profile {
            let known = profile.parse::<Profile>();
            known.map_err(|error| Problem::field("profile", error.to_string()))?;
        }
        let new = NewToken {
            name: self.name,
            scopes: self
                .scopes
                .map_or_else(Scopes::usual, |all| all.into_iter().collect()),
            skills: self.skills,
            profile: self.profile,
            expires: expires.transpose()?,
        };
        let user = &context.identity()?.user;
        let (token, record) = context.accounts()?.create_token(user, new).await?;
        let location = format!("{}/{}", Self::PATH, record.id);
        let reply = CreatedToken {
            token: token.as_str().to_owned(),
            listed: ListedToken::of(record, None, context.now()),
        };
        Ok(Answer::from(reply).location(location))
    }
}

/// Revoke an API token. From then on it is refused.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenRevoke {
    /// The id of the token.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

impl Endpoint for TokenRevoke {
    const NAME: &'static str = "token_revoke";
    const METHOD: Method = Method::DELETE;
    const PATH: &'static str = "/api/v1/tokens/{id}";
    const ACCESS: Access = Access::Person;
    const SUCCESS: StatusCode = StatusCode::NO_CONTENT;
    const REFUSALS: &'static [Refusal] = &[Refusal::NOT_FOUND];
    const REPLY: ReplyBody = ReplyBody::Nothing;
    type Reply = ();

    async fn answer(self, context: &Context) -> Result<Answer<()>, Problem> {
        let user = &context.identity()?.user;
        context.accounts()?.revoke_token(user, &self.id).await?;
        Ok(Answer::nothing())
    }
}

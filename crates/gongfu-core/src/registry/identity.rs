//! The identity behind a credential.

use std::sync::Arc;

use super::access_token::{AccessToken, AccessTokenError};
use super::api_token::{self, ApiToken, ApiTokenRecord};
use super::family::Family;
use super::token::token_key;
use super::{AccountError, Accounts, StoredValue, key};
use crate::account::{Actor, Email, Owner, Permissions, Role, Scopes, User, UserId, UserQuota};
use crate::port::PortError;

/// The kind of credential that a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An API token, by its id: for skills and tools, never for accounts.
    ApiToken(String),
    /// An access token of a sign-in, by the id of its family.
    SignIn(String),
}

/// The user behind a request, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub user: UserId,
    /// Their address, for the audit.
    pub email: Email,
    /// True if they manage users and the server.
    pub is_admin: bool,
    /// The scopes of the credential that the user has, too.
    pub scopes: Scopes,
    /// The only skills that it reaches, by full name; `None` for all.
    pub skills: Option<Vec<String>>,
    /// The profile of its connections; `None` for the server's.
    pub profile: Option<String>,
    /// The limits of the user.
    pub quota: UserQuota,
    /// The credential.
    pub credential: Credential,
}

/// Why a credential is refused.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The text isn't a credential: a typo, or one of another system.
    #[error("the token has another form; an API token is `ask_live_` and 64 hexadecimal digits")]
    Malformed,
    /// There is no such token.
    #[error("there is no such token")]
    Unknown,
    /// It is too old.
    #[error("the token has expired")]
    Expired,
    /// Its user or an admin ended it.
    #[error("the token was revoked")]
    Revoked,
    /// It is for something else.
    #[error("the token is for another service")]
    Audience,
    /// The store fails.
    #[error(transparent)]
    Store(#[from] PortError),
}

impl Identity {
    /// The user as the caller of tools, in a role, by a client of this name.
    pub fn actor(&self, role: Role, client: impl Into<String>) -> Actor {
        let (kind, id) = match &self.credential {
            Credential::ApiToken(id) => ("token", id),
            Credential::SignIn(id) => ("session", id),
        };
        Actor {
            owner: Owner::User(self.user.clone()),
            role,
            client: client.into(),
            permissions: Permissions {
                scopes: self.scopes.clone(),
                skills: self.skills.as_deref().map(Arc::from),
                set: None,
                quota: self.quota,
                credential: Some(format!("{kind}/{id}").into()),
            },
            member: None,
            session: None,
        }
    }
}

impl Accounts {
    /// The identity behind the text of a bearer credential, for something with one of these audiences.
    ///
    /// # Errors
    /// It is refused.
    pub async fn identify(
        &self,
        bearer: &str,
        audiences: &[&str],
    ) -> Result<Identity, IdentityError> {
        if bearer.starts_with(api_token::PREFIX) {
            let token = ApiToken::parse(bearer).ok_or(IdentityError::Malformed)?;
            return self.identify_token(&token).await;
        }
        let (now, secrets) = (self.now(), &*self.parts.secrets);
        let claims = AccessToken::read(bearer, audiences, now, secrets);
        let claims = claims.map_err(|error| match error {
            AccessTokenError::Unknown => IdentityError::Malformed,
            AccessTokenError::Expired => IdentityError::Expired,
            AccessTokenError::Audience => IdentityError::Audience,
        })?;
        let family: Option<StoredValue<Family>> = self.read(&key("family", &claims.sid)?).await?;
        let family = family.ok_or(IdentityError::Revoked)?.value;
        let user = self.active(&claims.sub).await?;
        if family.is_ended || family.user != user.id || family.generation != user.generation {
            return Err(IdentityError::Revoked);
        }
        Ok(Identity {
            scopes: claims.scope.within(&Scopes::of_user(user.is_admin)),
            user: user.id,
            email: user.email,
            is_admin: user.is_admin,
            skills: None,
            profile: None,
            quota: user.quota,
            credential: Credential::SignIn(claims.sid),
        })
    }

    /// Returns whether the credential behind an identity still counts: neither it nor its user was revoked since. An
    /// access token that has expired in between counts.
    ///
    /// # Errors
    /// The store fails.
    pub async fn still_counts(&self, identity: &Identity) -> Result<bool, PortError> {
        let user = match self.active(&identity.user).await {
            Ok(user) => user,
            Err(IdentityError::Store(error)) => return Err(error),
            Err(_) => return Ok(false),
        };
        match &identity.credential {
            // The list of a user has the tokens that aren't revoked.
            Credential::ApiToken(id) => self.has_token(&user.id, id).await,
            Credential::SignIn(id) => {
                let family: Option<StoredValue<Family>> = self.read(&key("family", id)?).await?;
                Ok(family.is_some_and(|family| {
                    !family.value.is_ended && family.value.generation == user.generation
                }))
            }
        }
    }

    async fn identify_token(&self, token: &ApiToken) -> Result<Identity, IdentityError> {
        let key = token_key(&token.digest())?;
        let record: Option<StoredValue<ApiTokenRecord>> = self.read(&key).await?;
        let record = record.ok_or(IdentityError::Unknown)?.value;
        if record.is_revoked {
            return Err(IdentityError::Revoked);
        }
        if record.is_expired(self.now()) {
            return Err(IdentityError::Expired);
        }
        let user = self.active(&record.user).await?;
        self.uses.note(&record.user, &record.id, self.now());
        Ok(Identity {
            scopes: record.scopes.within(&Scopes::of_user(user.is_admin)),
            user: user.id,
            email: user.email,
            is_admin: user.is_admin,
            skills: record.skills,
            profile: record.profile,
            quota: user.quota,
            credential: Credential::ApiToken(record.id),
        })
    }

    /// A user whose credentials count.
    async fn active(&self, id: &UserId) -> Result<User, IdentityError> {
        match self.user(id).await {
            Ok(user) if user.is_active => match self.is_vouched_for(&user).await {
                Ok(true) => Ok(user),
                Ok(false) => Err(IdentityError::Revoked),
                Err(error) => Err(error.into()),
            },
            Ok(_) | Err(AccountError::Unknown(_)) => Err(IdentityError::Revoked),
            Err(error) => Err(error.into_store().into()),
        }
    }
}

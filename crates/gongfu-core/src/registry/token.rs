//! API tokens: created, listed, revoked.

use serde::{Deserialize, Serialize};

use super::api_token::{ApiToken, ApiTokenRecord, MAX_NAME};
use super::hex::hex;
use super::{AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, key, unreadable};
use crate::account::{Scopes, UserId};
use crate::library::OWN_SOURCE;
use crate::port::{PortError, RecordKey, Timestamp};
use crate::skill::{Digest, SkillPath};
use crate::text;

/// The most tokens of one user.
const MAX_TOKENS: usize = 100;

/// An API token that is to be created.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Its name, 1 to 100 characters.
    pub name: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// The only skills that it reaches, by full name; one without a source is the user's own. `None` for all.
    pub skills: Option<Vec<String>>,
    /// The profile of its connections; `None` for the server's.
    pub profile: Option<String>,
    /// The time from which it is refused.
    pub expires: Option<Timestamp>,
}

/// The place of a token's record: the list of a user is kept by id, the record itself by the digest of its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenPlace {
    digest: String,
}

impl Accounts {
    /// Creates an API token of a user; its text is answered this once.
    ///
    /// # Errors
    /// The name or the expiry can't be one, the scopes aren't the user's, or there are too many tokens.
    pub async fn create_token(
        &self,
        user: &UserId,
        new: NewToken,
    ) -> Result<(ApiToken, ApiTokenRecord), AccountError> {
        let owner = self.user(user).await?;
        let now = self.now();
        let skills = new.skills.map(full_names).transpose()?;
        let name = new.name.trim();
        let is_name = (1..=MAX_NAME).contains(&name.chars().count());
        let refusal = if !is_name || name.chars().any(char::is_control) {
            Some(format!(
                "the name of a token has 1 to {MAX_NAME} characters on one line"
            ))
        } else if new.expires.is_some_and(|expires| expires <= now) {
            Some("the token would expire in the past".to_owned())
        } else if new.scopes.is_empty() {
            Some("a token has at least one scope".to_owned())
        } else if new.scopes.within(&Scopes::of_user(owner.is_admin)) != new.scopes {
            Some("only an admin's token has the scope `admin`".to_owned())
        } else if self.tokens(user).await?.len() >= MAX_TOKENS {
            Some(format!(
                "a user has at most {MAX_TOKENS} tokens; revoke one that isn't used"
            ))
        } else {
            None
        };
        if let Some(why) = refusal {
            return Err(AccountError::Invalid(why));
        }
        let token = ApiToken::of(&self.random::<28>()?);
        let record = ApiTokenRecord {
            id: hex(&self.random::<16>()?),
            user: user.clone(),
            name: name.to_owned(),
            scopes: new.scopes,
            skills,
            profile: new.profile,
            created: now.0,
            expires: new.expires.map(|expires| expires.0),
            is_revoked: false,
        };
        let digest = token.digest();
        let place = TokenPlace {
            digest: digest.hex(64),
        };
        let writes = [
            Write::put(token_key(&digest)?, None, &record)?,
            Write::put(place_key(user, &record.id)?, None, &place)?,
        ];
        let about = Some(record.id.as_str());
        self.commit(&writes, "token.create", Some(user), user, about)
            .await?;
        Ok((token, record))
    }

    /// The API tokens of a user that aren't revoked, the oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tokens(&self, user: &UserId) -> Result<Vec<ApiTokenRecord>, AccountError> {
        let mut tokens = Vec::new();
        let places = key("tokens", user.as_str())?;
        for (_, record) in self.parts.records.list(&places).await? {
            let place: TokenPlace = serde_json::from_slice(&record.value)
                .map_err(|error| unreadable(&record.place, &error))?;
            let found: Option<StoredValue<ApiTokenRecord>> =
                self.read(&key("token", &place.digest)?).await?;
            tokens.extend(found.map(|found| found.value));
        }
        tokens.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        Ok(tokens)
    }

    /// Returns whether a user has a token with this id that isn't revoked.
    pub(super) async fn has_token(&self, user: &UserId, id: &str) -> Result<bool, PortError> {
        let place: Option<StoredValue<TokenPlace>> = self.read(&place_key(user, id)?).await?;
        Ok(place.is_some())
    }

    /// Revokes an API token of a user: from now on it is refused.
    ///
    /// # Errors
    /// The user has no such token.
    pub async fn revoke_token(&self, user: &UserId, id: &str) -> Result<(), AccountError> {
        let unknown = || AccountError::Unknown("token");
        let place = place_key(user, id).map_err(|_| unknown())?;
        for _ in 0..MAX_ATTEMPTS {
            let found: StoredValue<TokenPlace> = self.read(&place).await?.ok_or_else(unknown)?;
            let token = key("token", &found.value.digest)?;
            let record: Option<StoredValue<ApiTokenRecord>> = self.read(&token).await?;
            let mut record = record.ok_or_else(unknown)?;
            record.value.is_revoked = true;
            // The record stays, so that its token is refused as revoked and not as unknown.
            let writes = [
                Write::put(token, Some(record.version), &record.value)?,
                Write::remove(place.clone(), found.version),
            ];
            let revoking = self.commit(&writes, "token.revoke", Some(user), user, Some(id));
            match revoking.await {
                Err(PortError::Conflict(_)) => {}
                other => return Ok(other?),
            }
        }
        Err(busy("token").into())
    }
}

pub(super) fn token_key(digest: &Digest) -> Result<RecordKey, PortError> {
    key("token", &digest.hex(64))
}

fn place_key(user: &UserId, id: &str) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("tokens/{}/{id}", user.as_str()))?)
}

/// The full names of skills; one without a source is the user's own.
fn full_names(names: Vec<String>) -> Result<Vec<String>, AccountError> {
    let names = names.into_iter().map(|name| {
        let full = if name.contains('/') {
            name.clone()
        } else {
            format!("{OWN_SOURCE}/{name}")
        };
        let is_name = SkillPath::new(&full)
            .is_ok_and(|path| path.as_str() == full && !path.parent().is_root());
        is_name.then_some(full).ok_or_else(|| {
            let name = text::clipped(&name, 100, char::REPLACEMENT_CHARACTER);
            AccountError::Invalid(format!(
                "`{name}` can't be a skill; use its full name, such as own/pdf-tools"
            ))
        })
    });
    names.collect()
}

//! One-time links: somebody without a password, or who lost it, sets one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::hex::{hex, is_hex};
use super::{AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, key, user_key};
use crate::account::{Password, User, UserId};
use crate::port::{PortError, RecordKey, Timestamp};
use crate::skill::Digest;

/// The digits of a link.
const DIGITS: usize = 64;
/// The life of a link, in milliseconds.
const LIFE: i64 = 24 * 60 * 60 * 1_000;

/// The secret of a link. Shown once; only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkSecret(String);

impl LinkSecret {
    /// Reads a secret; `None` for a text of another form.
    pub fn parse(text: &str) -> Option<Self> {
        is_hex(text, DIGITS).then(|| Self(text.to_owned()))
    }

    /// The secret as text, the last part of the link.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn key(&self) -> Result<RecordKey, PortError> {
        key("link", &Digest::of(self.0.as_bytes()).hex(64))
    }
}

impl fmt::Debug for LinkSecret {
    /// Shows nothing of the secret: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LinkSecret")
    }
}

/// The record of a link.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkRecord {
    user: UserId,
    /// The generation of the user; a link that was used ends every other one.
    generation: u64,
    /// The time from which it is refused, in milliseconds since 1970.
    expires: i64,
}

impl Accounts {
    pub(super) fn new_link(&self) -> Result<LinkSecret, PortError> {
        Ok(LinkSecret(hex(&self.random::<{ DIGITS / 2 }>()?)))
    }

    /// Creates a link by which a user sets their password, for an admin or at the command line; answers it, and the time
    /// from which it is refused.
    ///
    /// # Errors
    /// There is no such user, or they are disabled.
    pub async fn create_link(
        &self,
        user: &UserId,
        by: Option<&UserId>,
    ) -> Result<(LinkSecret, Timestamp), AccountError> {
        self.needs_passwords()?;
        let owner = self.user(user).await?;
        if !owner.is_active {
            let why = "this user is disabled; enable them first";
            return Err(AccountError::Invalid(why.to_owned()));
        }
        let now = self.now().0;
        let secret = self.new_link()?;
        let record = LinkRecord {
            user: user.clone(),
            generation: owner.generation,
            expires: now.saturating_add(LIFE),
        };
        for _ in 0..MAX_ATTEMPTS {
            let is_over = |link: &LinkRecord| link.expires <= now;
            let mut writes = self.sweep("link", is_over).await?;
            writes.push(Write::put(secret.key()?, None, &record)?);
            match self.commit(&writes, "link.create", by, user, None).await {
                Ok(()) => return Ok((secret, Timestamp(record.expires))),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("list of links").into())
    }

    /// The user of a link.
    ///
    /// # Errors
    /// It was used, has expired, or never was.
    pub async fn user_of_link(&self, secret: &LinkSecret) -> Result<User, AccountError> {
        Ok(self.found_link(secret).await?.1.value)
    }

    /// Sets the password of the user of a link, which is used up; every session of theirs ends.
    ///
    /// # Errors
    /// The link doesn't count any more, or the password isn't good: then the link stays.
    pub async fn use_link(
        &self,
        secret: &LinkSecret,
        password: String,
    ) -> Result<User, AccountError> {
        self.needs_passwords()?;
        let owner = self.user_of_link(secret).await?;
        let password = Password::new(password, &owner.username, &owner.email)?;
        let hash = self.parts.passwords.hash(&password).await?;
        for _ in 0..MAX_ATTEMPTS {
            let (link, user) = self.found_link(secret).await?;
            let mut changed = user.value;
            changed.password = Some(hash.clone());
            changed.generation += 1;
            changed.updated = self.now().0;
            let id = &changed.id;
            let writes = [
                Write::remove(secret.key()?, link.version),
                Write::put(user_key(id)?, Some(user.version), &changed)?,
            ];
            match self.commit(&writes, "link.use", Some(id), id, None).await {
                Ok(()) => return Ok(changed),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("user").into())
    }

    async fn found_link(
        &self,
        secret: &LinkSecret,
    ) -> Result<(StoredValue<LinkRecord>, StoredValue<User>), AccountError> {
        let unknown = || AccountError::Unknown("link");
        let link: Option<StoredValue<LinkRecord>> = self.read(&secret.key()?).await?;
        let link = link.ok_or_else(unknown)?;
        let user: Option<StoredValue<User>> = self.read(&user_key(&link.value.user)?).await?;
        let user = user.ok_or_else(unknown)?;
        let is_good = self.now().0 < link.value.expires
            && user.value.is_active
            && user.value.generation == link.value.generation;
        is_good.then_some((link, user)).ok_or_else(unknown)
    }
}

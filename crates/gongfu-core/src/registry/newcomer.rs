//! Links by which somebody creates their account: of an admin, and of a server without users for its first admin.

use serde::{Deserialize, Serialize};

use super::link::LinkSecret;
use super::{AccountError, Accounts, MAX_ATTEMPTS, NewUser, Registration, StoredValue, Write};
use super::{busy, key};
use crate::account::{User, UserId};
use crate::port::{PortError, RecordKey, Timestamp};
use crate::skill::Digest;

/// The life of a link, in milliseconds.
const LIFE: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The record of a link.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewcomerLink {
    /// True if it makes an admin.
    pub(super) is_admin: bool,
    /// True if it counts only while there is no user.
    #[serde(default)]
    is_first: bool,
    /// The time from which it is refused, in milliseconds since 1970.
    expires: i64,
}

impl Accounts {
    /// Creates a link by which somebody creates an account; answers it, and the time from which it is refused.
    ///
    /// # Errors
    /// Nobody may register at this server.
    pub async fn invite_newcomer(
        &self,
        is_admin: bool,
        by: Option<&UserId>,
    ) -> Result<(LinkSecret, Timestamp), AccountError> {
        if self.settings.registration == Registration::Closed {
            return Err(AccountError::RegistrationClosed);
        }
        self.needs_passwords()?;
        self.newcomer_link(is_admin, false, by).await
    }

    /// Creates the link by which the first admin of a server creates their account; `None` where there are users.
    ///
    /// # Errors
    /// The store fails.
    pub async fn invite_first_admin(&self) -> Result<Option<LinkSecret>, AccountError> {
        if !self.users(None, 1).await?.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.newcomer_link(true, true, None).await?.0))
    }

    async fn newcomer_link(
        &self,
        is_admin: bool,
        is_first: bool,
        by: Option<&UserId>,
    ) -> Result<(LinkSecret, Timestamp), AccountError> {
        let (secret, now) = (self.new_link()?, self.now().0);
        let record = NewcomerLink {
            is_admin,
            is_first,
            expires: now.saturating_add(LIFE),
        };
        for _ in 0..MAX_ATTEMPTS {
            // An older link of a first start counts no more.
            let is_over = |link: &NewcomerLink| link.expires <= now || (is_first && link.is_first);
            let mut writes = self.sweep("newcomer", is_over).await?;
            writes.push(Write::put(newcomer_key(&secret)?, None, &record)?);
            match self
                .commit(&writes, "newcomer.invite", by, None, None)
                .await
            {
                Ok(()) => return Ok((secret, Timestamp(record.expires))),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("list of links").into())
    }

    /// Checks that a link is one by which somebody can create an account.
    ///
    /// # Errors
    /// It was used, has expired, or never was.
    pub async fn check_newcomer(&self, secret: &LinkSecret) -> Result<(), AccountError> {
        self.found_newcomer(secret).await.map(drop)
    }

    /// Creates the account of somebody with a link, which is used up.
    ///
    /// # Errors
    /// The link doesn't count any more, the address or the name is taken, or the password isn't good: then the link stays.
    pub async fn register_by_link(
        &self,
        secret: &LinkSecret,
        new: NewUser,
    ) -> Result<User, AccountError> {
        let is_admin = self.found_newcomer(secret).await?.value.is_admin;
        self.create_with(NewUser { is_admin, ..new }, None, Some(secret))
            .await
    }

    pub(super) async fn found_newcomer(
        &self,
        secret: &LinkSecret,
    ) -> Result<StoredValue<NewcomerLink>, AccountError> {
        let found: Option<StoredValue<NewcomerLink>> = self.read(&newcomer_key(secret)?).await?;
        let found = found.filter(|link| self.now().0 < link.value.expires);
        let found = found.ok_or(AccountError::Unknown("link"))?;
        if found.value.is_first && !self.users(None, 1).await?.is_empty() {
            return Err(AccountError::Unknown("link"));
        }
        Ok(found)
    }
}

pub(super) fn newcomer_key(secret: &LinkSecret) -> Result<RecordKey, PortError> {
    key("newcomer", &Digest::of(secret.as_str().as_bytes()).hex(64))
}

//! Changes of users: by themselves, and by admins.

use serde::{Deserialize, Serialize};

use super::{
    AccountError, Accounts, Claim, MAX_ATTEMPTS, StoredValue, Write, busy, email_key, key,
    unreadable, user_key, username_key,
};
use crate::account::{Email, Password, User, UserId, UserQuota, Username};
use crate::port::{Comparison, PortError, RecordKey, Timestamp};

impl Accounts {
    /// The users in the order of their ids, after one of them.
    ///
    /// # Errors
    /// The store fails.
    pub async fn users(
        &self,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<User>, AccountError> {
        let prefix = RecordKey::new("user").map_err(PortError::from)?;
        let after = after.map(user_key).transpose()?;
        let page = self
            .parts
            .records
            .page(&prefix, after.as_ref(), limit)
            .await?;
        let users = page.into_iter().map(|(_, record)| {
            serde_json::from_slice(&record.value).map_err(|error| unreadable(&record.place, &error))
        });
        Ok(users.collect::<Result<_, _>>()?)
    }

    /// Changes the address or the name of a user.
    ///
    /// # Errors
    /// It is taken.
    pub async fn rename(
        &self,
        id: &UserId,
        email: Option<Email>,
        username: Option<Username>,
    ) -> Result<User, AccountError> {
        let before = self.user(id).await?;
        let mut writes = Vec::new();
        if let Some(email) = &email {
            let (old, new) = (email_key(&before.email)?, email_key(email)?);
            let moved = self.move_claim(id, old, new).await?;
            writes.extend(moved.ok_or(AccountError::EmailTaken)?);
        }
        if let Some(name) = &username {
            let (old, new) = (username_key(&before.username)?, username_key(name)?);
            let moved = self.move_claim(id, old, new).await?;
            writes.extend(moved.ok_or(AccountError::UsernameTaken)?);
        }
        let renamed = self.update_user(id, "user.rename", Some(id), |user| {
            user.email
                .clone_from(email.as_ref().unwrap_or(&before.email));
            user.username
                .clone_from(username.as_ref().unwrap_or(&before.username));
            Ok(writes.clone())
        });
        renamed.await
    }

    /// The writes that move a claim of a user to another key; `None` where somebody else has that.
    async fn move_claim(
        &self,
        id: &UserId,
        old: RecordKey,
        new: RecordKey,
    ) -> Result<Option<Vec<Write>>, AccountError> {
        if old == new {
            return Ok(Some(Vec::new()));
        }
        if self.read::<Claim>(&new).await?.is_some() {
            return Ok(None);
        }
        let claim = Claim { user: id.clone() };
        let mut writes = vec![Write::put(new, None, &claim)?];
        let before: Option<StoredValue<Claim>> = self.read(&old).await?;
        writes.extend(before.map(|before| Write::remove(old, before.version)));
        Ok(Some(writes))
    }

    /// Compares a password with that of a user.
    ///
    /// # Errors
    /// It is another one.
    pub async fn check_password(&self, id: &UserId, password: String) -> Result<(), AccountError> {
        self.needs_passwords()?;
        let user = self.user(id).await?;
        let password = Password::given(password).ok_or(AccountError::WrongPassword)?;
        let hash = user.password.as_deref();
        match self.parts.passwords.compare(&password, hash).await? {
            Comparison::Different => Err(AccountError::WrongPassword),
            Comparison::Same | Comparison::Outdated => Ok(()),
        }
    }

    /// Sets the password of a user; every session of theirs ends, while their API tokens stay.
    ///
    /// # Errors
    /// It isn't good.
    pub async fn set_password(
        &self,
        id: &UserId,
        new: String,
        by: Option<&UserId>,
    ) -> Result<(), AccountError> {
        let user = self.user(id).await?;
        let password = Password::new(new, &user.username, &user.email)?;
        let hash = self.parts.passwords.hash(&password).await?;
        let changed = self.update_user(id, "user.password", by, |user| {
            user.password = Some(hash.clone());
            user.generation += 1;
            Ok(Vec::new())
        });
        changed.await.map(drop)
    }

    /// Enables or disables a user. A disabled one has no sessions, and no token of theirs is accepted.
    ///
    /// # Errors
    /// They are the last active admin.
    pub async fn set_active(
        &self,
        id: &UserId,
        is_active: bool,
        by: Option<&UserId>,
    ) -> Result<User, AccountError> {
        let event = if is_active {
            "user.enable"
        } else {
            "user.disable"
        };
        for _ in 0..MAX_ATTEMPTS {
            let found = self.versioned_user(id).await?;
            let mut user = found.value;
            if user.is_active == is_active {
                return Ok(user);
            }
            user.generation += 1;
            user.is_active = is_active;
            user.updated = self.now().0;
            let mut writes = vec![Write::put(user_key(id)?, Some(found.version), &user)?];
            let admin = self.admin_write(id, is_active && user.is_admin);
            writes.extend(admin.await?);
            match self.commit(&writes, event, by, id, None).await {
                Ok(()) => return Ok(user),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("user").into())
    }

    /// Sets the limits of a user.
    ///
    /// # Errors
    /// There is no such user.
    pub async fn set_quota(
        &self,
        id: &UserId,
        quota: UserQuota,
        by: Option<&UserId>,
    ) -> Result<User, AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = self.versioned_user(id).await?;
            let mut user = found.value;
            user.quota = quota;
            user.updated = self.now().0;
            let writes = [
                Write::put(user_key(id)?, Some(found.version), &user)?,
                self.count_change().await?,
            ];
            match self.commit(&writes, "user.quota", by, id, None).await {
                Ok(()) => return Ok(user),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("user").into())
    }

    /// Deletes a user and their claims. Their tokens and sessions count no more. Their data stays until somebody who
    /// asks for [`Self::deleted`] has removed it.
    ///
    /// # Errors
    /// They are the last active admin.
    pub async fn delete(&self, id: &UserId, by: Option<&UserId>) -> Result<User, AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = self.versioned_user(id).await?;
            let user = found.value;
            let deletion = Deletion { at: self.now().0 };
            let mut writes = vec![
                Write::remove(user_key(id)?, found.version),
                Write::put(deletion_key(id)?, None, &deletion)?,
            ];
            for key in [email_key(&user.email)?, username_key(&user.username)?] {
                let claim: Option<StoredValue<Claim>> = self.read(&key).await?;
                writes.extend(claim.map(|claim| Write::remove(key, claim.version)));
            }
            writes.extend(self.admin_write(id, false).await?);
            writes.extend(self.leave_all(id).await?);
            writes.extend(self.forget_provider(&user).await?);
            match self.commit(&writes, "user.delete", by, id, None).await {
                Ok(()) => return Ok(user),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("user").into())
    }

    /// The deleted users whose data may still be there, and when each was deleted; at most `limit`.
    ///
    /// # Errors
    /// The store fails.
    pub async fn deleted(&self, limit: usize) -> Result<Vec<(UserId, Timestamp)>, AccountError> {
        let prefix = RecordKey::new("deleted").map_err(PortError::from)?;
        let page = self.parts.records.page(&prefix, None, limit).await?;
        let users = page.iter().filter_map(|(key, record)| {
            let (_, id) = key.as_str().split_once('/')?;
            let deletion: Deletion = serde_json::from_slice(&record.value).ok()?;
            Some((UserId::new(id).ok()?, Timestamp(deletion.at)))
        });
        Ok(users.collect())
    }

    /// Notes that the data of a deleted user is removed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn data_removed(&self, id: &UserId) -> Result<(), AccountError> {
        let key = deletion_key(id)?;
        let Some(found) = self.read::<Deletion>(&key).await? else {
            return Ok(());
        };
        let write = Write::remove(key, found.version);
        match self
            .commit(&[write], "user.data_removed", None, id, None)
            .await
        {
            Err(PortError::Conflict(_)) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// A user who was deleted, until their data is removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deletion {
    at: i64,
}

fn deletion_key(id: &UserId) -> Result<RecordKey, PortError> {
    key("deleted", id.as_str())
}

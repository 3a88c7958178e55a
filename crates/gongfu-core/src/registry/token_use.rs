//! The last uses of API tokens: noted in memory with each request, stored now and then.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Accounts, StoredValue, Write, key};
use crate::account::UserId;
use crate::port::{PortError, RecordKey, Timestamp};

/// The most users whose uses wait to be stored.
const MAX_USERS: usize = 20_000;

/// The last uses of each user's tokens by their ids, in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct LastUses(Mutex<HashMap<UserId, BTreeMap<String, i64>>>);

/// The stored last uses of a user's tokens.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenUses {
    last: BTreeMap<String, i64>,
}

impl LastUses {
    pub(super) fn note(&self, user: &UserId, token: &str, at: Timestamp) {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.len() >= MAX_USERS && !uses.contains_key(user) {
            return;
        }
        let uses = uses.entry(user.clone()).or_default();
        uses.insert(token.to_owned(), at.0);
    }

    fn of(&self, user: &UserId) -> BTreeMap<String, i64> {
        let uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.get(user).cloned().unwrap_or_default()
    }

    fn take(&self) -> HashMap<UserId, BTreeMap<String, i64>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Accounts {
    /// The last use of each of a user's tokens, by id. A crash loses those of the last minute.
    ///
    /// # Errors
    /// The store fails.
    pub async fn last_uses(&self, user: &UserId) -> Result<BTreeMap<String, Timestamp>, PortError> {
        let stored: Option<StoredValue<TokenUses>> = self.read(&uses_key(user)?).await?;
        let mut last = stored.map(|stored| stored.value.last).unwrap_or_default();
        last.extend(self.uses.of(user));
        let last = last.into_iter();
        Ok(last.map(|(id, at)| (id, Timestamp(at))).collect())
    }

    /// Stores the last uses that were noted. They are no changes of an account, so the audit doesn't have them.
    ///
    /// # Errors
    /// The store fails.
    pub async fn store_uses(&self) -> Result<(), PortError> {
        for (user, noted) in self.uses.take() {
            let key = uses_key(&user)?;
            let before: Option<StoredValue<TokenUses>> = self.read(&key).await?;
            let version = before.as_ref().map(|before| before.version);
            let tokens = self.tokens(&user).await.unwrap_or_default();
            let mut uses = before.map(|before| before.value).unwrap_or_default();
            uses.last.extend(noted);
            // Those of revoked tokens go.
            uses.last
                .retain(|id, _| tokens.iter().any(|token| token.id == *id));
            let write = Write::put(key, version, &uses)?;
            match self.parts.records.commit(&[write.change()], &[]).await {
                Ok(_) | Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn uses_key(user: &UserId) -> Result<RecordKey, PortError> {
    key("token-use", user.as_str())
}

//! Asks the provider again whether it still vouches for a user.
//!
//! Its last word counts for some minutes. After that, the next look at a credential of the user asks it, once for all that
//! wait. Where it doesn't answer, the last word goes on to count until [`MAX_CHECK_AGE`].

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::super::{AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, user_key};
use super::record::{SsoRecord, record_key};
use super::{MAX_CHECK_AGE, Sso};
use crate::account::{User, UserId};
use crate::port::{PortError, ProviderPerson};

/// The time for which a provider that didn't answer isn't asked again, in milliseconds.
const PAUSE: i64 = 10 * 1_000;

/// The worth of the provider's last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It counts.
    Good,
    /// It counts no more, and the provider can't be asked again.
    Over,
    /// It is to be asked again; until then it counts, or doesn't.
    Ask { is_in_time: bool },
}

/// The provider's word on a user.
enum Word {
    /// It vouches for them.
    Vouches(ProviderPerson),
    /// It doesn't any more.
    Refuses,
}

impl Accounts {
    /// Returns whether the company's provider still vouches for a user; true for users who have none.
    ///
    /// # Errors
    /// The store fails, or the provider hasn't answered for too long.
    pub(in crate::registry) async fn is_vouched_for(&self, user: &User) -> Result<bool, PortError> {
        if user.provider.is_none() {
            return Ok(true);
        }
        let is_in_time = match self.standing(&user.id).await? {
            Standing::Good => return Ok(true),
            Standing::Over => return Ok(false),
            Standing::Ask { is_in_time } => is_in_time,
        };
        if let Some(sso) = &self.sso
            && !self.is_pausing(sso)
        {
            let (accounts, id) = (self.clone(), user.id.clone());
            let asking = Box::pin(async move { accounts.ask_once(&id).await });
            sso.provider.finish(asking).await?;
            match self.standing(&user.id).await? {
                Standing::Good => return Ok(true),
                Standing::Over => return Ok(false),
                Standing::Ask { .. } => {}
            }
        }
        if is_in_time {
            return Ok(true);
        }
        let why =
            "the company's sign-in doesn't answer, so nobody can say whether you may still come in";
        Err(PortError::Unavailable(why.to_owned()))
    }

    async fn standing(&self, user: &UserId) -> Result<Standing, PortError> {
        let record = self.sso_record(user).await?;
        Ok(record.map_or(Standing::Over, |record| {
            self.standing_of(user, &record.value)
        }))
    }

    fn standing_of(&self, user: &UserId, record: &SsoRecord) -> Standing {
        // A clock that jumped back makes nothing count for longer.
        let age = self.now().0.saturating_sub(record.checked);
        let is_in_time = (0..MAX_CHECK_AGE).contains(&age);
        let settings = self.sso.as_ref().map(|sso| &sso.settings);
        let settings = settings.filter(|settings| settings.issuer == record.issuer);
        let check_after = settings.map_or(MAX_CHECK_AGE, |settings| settings.check_after);
        if record.is_refused {
            Standing::Over
        } else if is_in_time && age < check_after {
            Standing::Good
        } else if settings.is_some() && self.unseal_refresh_token(user, record).is_some() {
            Standing::Ask { is_in_time }
        } else if is_in_time {
            Standing::Good
        } else {
            Standing::Over
        }
    }

    /// Returns true if the provider didn't answer a moment ago.
    fn is_pausing(&self, sso: &Sso) -> bool {
        let failed = sso.failed.load(Ordering::Relaxed);
        (0..PAUSE).contains(&self.now().0.saturating_sub(failed))
    }

    /// Asks the provider about a user, unless somebody else just did.
    async fn ask_once(&self, user: &UserId) -> Result<(), PortError> {
        let Some(sso) = self.sso.as_deref() else {
            return Ok(());
        };
        let turn = {
            let mut asking = sso.asking.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(asking.entry(user.clone()).or_default())
        };
        let asked = {
            let _turn = turn.lock().await;
            self.ask(sso, user).await
        };
        let mut asking = sso.asking.lock().unwrap_or_else(PoisonError::into_inner);
        // This one and the one in the table: nobody else waits.
        if Arc::strong_count(&turn) <= 2 {
            asking.remove(user);
        }
        asked
    }

    async fn ask(&self, sso: &Sso, user: &UserId) -> Result<(), PortError> {
        let Some(record) = self.sso_record(user).await? else {
            return Ok(());
        };
        let standing = self.standing_of(user, &record.value);
        let token = self.unseal_refresh_token(user, &record.value);
        let (Standing::Ask { .. }, Some(token), false) = (standing, token, self.is_pausing(sso))
        else {
            return Ok(());
        };
        let word = match sso.provider.refresh(&record.value.subject, &token).await {
            Ok(person) => {
                let synced = self.sync_teams(sso, user, person.groups.as_deref());
                synced.await.map_err(AccountError::into_store)?;
                Word::Vouches(person)
            }
            Err(PortError::Denied(_)) => Word::Refuses,
            Err(_) => {
                sso.failed.store(self.now().0, Ordering::Relaxed);
                return Ok(());
            }
        };
        self.note(sso, user, &record.value, &word).await?;
        if matches!(word, Word::Refuses) {
            let left = self.sync_teams(sso, user, Some(&[]));
            left.await.map_err(AccountError::into_store)?;
        }
        Ok(())
    }

    /// Commits what the provider says of a user, unless they signed in again since it was asked.
    async fn note(
        &self,
        sso: &Sso,
        id: &UserId,
        asked: &SsoRecord,
        word: &Word,
    ) -> Result<(), PortError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = match self.versioned_user(id).await {
                Ok(found) => found,
                Err(AccountError::Unknown(_)) => return Ok(()),
                Err(error) => return Err(error.into_store()),
            };
            let record = self.sso_record(id).await?;
            let record = record.filter(|record| {
                record.value.refresh_token == asked.refresh_token
                    && record.value.subject == asked.subject
            });
            let Some(record) = record else {
                return Ok(());
            };
            let mut user = found.value;
            let before = user.clone();
            let (mut writes, event) = match word {
                Word::Vouches(person) => {
                    let writes =
                        self.vouched_writes(&sso.settings, &mut user, person, Some(record));
                    (writes.await.map_err(AccountError::into_store)?, "sso.check")
                }
                Word::Refuses => {
                    user.generation += 1;
                    (vec![refusal(id, record)?], "sso.refuse")
                }
            };
            if user != before {
                user.updated = self.now().0;
                writes.push(Write::put(user_key(id)?, Some(found.version), &user)?);
            }
            match self.commit(&writes, event, None, id, None).await {
                Err(PortError::Conflict(_)) => {}
                other => return other,
            }
        }
        Err(busy("user"))
    }
}

/// The write after which a user has to sign in at the provider again.
fn refusal(id: &UserId, record: StoredValue<SsoRecord>) -> Result<Write, PortError> {
    let refused = SsoRecord {
        is_refused: true,
        refresh_token: None,
        ..record.value
    };
    Write::put(record_key(id)?, Some(record.version), &refused)
}

//! Sessions of browsers: a cookie with random bits, whose digest is stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::hex::{bytes, hex, is_hex};
use super::{AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, key};
use crate::account::{User, UserId};
use crate::port::{PortError, RecordKey};
use crate::skill::Digest;

const PURPOSE: &str = "form";
/// The digits of a cookie.
const DIGITS: usize = 64;
/// The digits of a digest.
const DIGEST_DIGITS: usize = 64;
const HOUR: i64 = 60 * 60 * 1_000;
/// The time without a request after which a session ends, in milliseconds.
const IDLE_LIFE: i64 = 12 * HOUR;
/// The time after which it ends in any case, in milliseconds.
const LIFE: i64 = 7 * 24 * HOUR;
/// The time after which another request is noted, in milliseconds.
const SEEN_STEP: i64 = 10 * 60 * 1_000;
/// The most sessions of a user; another one ends the oldest.
const MAX_SESSIONS: usize = 50;
/// The most characters of a browser's name for itself that are kept.
const MAX_AGENT: usize = 200;

/// The secret of a session, the value of its cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct BrowserSecret(String);

impl BrowserSecret {
    /// Reads a cookie; `None` for a text of another form.
    pub fn parse(text: &str) -> Option<Self> {
        is_hex(text, DIGITS).then(|| Self(text.to_owned()))
    }

    /// The secret as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn id(&self) -> BrowserId {
        BrowserId(Digest::of(self.0.as_bytes()).hex(DIGEST_DIGITS))
    }
}

impl fmt::Debug for BrowserSecret {
    /// Shows nothing of the secret: logs are read by others.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BrowserSecret")
    }
}

/// The id of a session: the digest of its secret, which may be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BrowserId(String);

impl BrowserId {
    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn key(&self) -> Result<RecordKey, PortError> {
        key("browser", &self.0)
    }

    fn place(&self, user: &UserId) -> Result<RecordKey, PortError> {
        Ok(RecordKey::new(format!(
            "browsers/{}/{}",
            user.as_str(),
            self.0
        ))?)
    }
}

/// A session of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// Its id.
    pub id: BrowserId,
    /// The browser's name for itself.
    pub agent: String,
    /// The time of the login, in milliseconds since 1970.
    pub created: i64,
    /// The time of a late request, in milliseconds since 1970.
    pub seen: i64,
}

/// The record of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionRecord {
    user: UserId,
    /// The generation of the user at the login; another one ends the session.
    generation: u64,
    agent: String,
    created: i64,
    seen: i64,
}

/// The place of a session's record in the list of its user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionPlace {}

impl SessionRecord {
    fn is_over(&self, user: &User, now: i64) -> bool {
        let idle = now.saturating_sub(self.seen);
        let age = now.saturating_sub(self.created);
        self.generation != user.generation || !user.is_active || idle >= IDLE_LIFE || age >= LIFE
    }
}

/// A session with its record.
struct StoredSession {
    id: BrowserId,
    place: Write,
    record: Option<StoredValue<SessionRecord>>,
}

impl StoredSession {
    /// The writes that end it.
    fn removal(self) -> Result<Vec<Write>, PortError> {
        let key = self.id.key()?;
        let record = self.record.map(|record| Write::remove(key, record.version));
        Ok(record.into_iter().chain([self.place]).collect())
    }

    fn seen(&self) -> i64 {
        let record = self.record.as_ref();
        record.map_or(i64::MIN, |record| record.value.seen)
    }
}

impl Accounts {
    /// Begins a session of a user in a browser. The one that the browser had before ends.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin_browser(
        &self,
        user: &User,
        agent: &str,
        before: Option<&BrowserSecret>,
    ) -> Result<BrowserSecret, PortError> {
        if let Some(before) = before {
            self.end_browser_of(before).await?;
        }
        let now = self.now().0;
        let secret = BrowserSecret(hex(&self.random::<{ DIGITS / 2 }>()?));
        let id = secret.id();
        let record = SessionRecord {
            user: user.id.clone(),
            generation: user.generation,
            agent: crate::text::visible(&crate::text::clipped(agent, MAX_AGENT, ' ')).into_owned(),
            created: now,
            seen: now,
        };
        for _ in 0..MAX_ATTEMPTS {
            let mut writes = vec![
                Write::put(id.key()?, None, &record)?,
                Write::put(id.place(&user.id)?, None, &SessionPlace {})?,
            ];
            let mut live = 1;
            for session in self.stored_sessions(&user.id).await? {
                let is_live = session
                    .record
                    .as_ref()
                    .is_some_and(|record| !record.value.is_over(user, now));
                live += usize::from(is_live);
                if !is_live || live > MAX_SESSIONS {
                    writes.extend(session.removal()?);
                }
            }
            let about = Some(id.as_str());
            let commit = self.commit(&writes, "browser.begin", Some(&user.id), &user.id, about);
            match commit.await {
                Ok(()) => return Ok(secret),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(busy("list of sessions"))
    }

    /// The session of a cookie with its user; `None` where it doesn't count any more.
    ///
    /// # Errors
    /// The store fails.
    pub async fn browser(
        &self,
        secret: &BrowserSecret,
    ) -> Result<Option<(BrowserSession, User)>, PortError> {
        let id = secret.id();
        let key = id.key()?;
        let found: Option<StoredValue<SessionRecord>> = self.read(&key).await?;
        let Some(StoredValue { mut value, version }) = found else {
            return Ok(None);
        };
        let user = match self.user(&value.user).await {
            Ok(user) => user,
            Err(AccountError::Unknown(_)) => return Ok(None),
            Err(error) => return Err(error.into_store()),
        };
        let now = self.now().0;
        if value.is_over(&user, now) || !self.is_vouched_for(&user).await? {
            return Ok(None);
        }
        if now.saturating_sub(value.seen) >= SEEN_STEP {
            value.seen = now;
            let bytes =
                serde_json::to_vec(&value).map_err(|error| PortError::Other(error.into()))?;
            // Not a change that the audit is about. Where it ends at the same time, it stays ended.
            let noting = self.parts.records.set(&key, Some(version), Some(&bytes));
            match noting.await {
                Ok(_) => {}
                // Another request of the browser noted it, or the session has ended.
                Err(PortError::Conflict(_)) => {
                    if self.read::<SessionRecord>(&key).await?.is_none() {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some((session(id, value), user)))
    }

    /// The sessions of a user, the last seen first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn browsers(&self, user: &User) -> Result<Vec<BrowserSession>, PortError> {
        let now = self.now().0;
        let all = self.stored_sessions(&user.id).await?.into_iter();
        Ok(all
            .filter_map(|stored| Some((stored.id, stored.record?.value)))
            .filter(|(_, record)| !record.is_over(user, now))
            .map(|(id, record)| session(id, record))
            .collect())
    }

    /// Ends a session of a user.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn end_browser(&self, user: &UserId, id: &str) -> Result<(), AccountError> {
        if !is_hex(id, DIGEST_DIGITS) {
            return Err(AccountError::Unknown("session"));
        }
        let id = BrowserId(id.to_owned());
        for _ in 0..MAX_ATTEMPTS {
            let record: Option<StoredValue<SessionRecord>> = self.read(&id.key()?).await?;
            let place: Option<StoredValue<SessionPlace>> = self.read(&id.place(user)?).await?;
            let place = place.ok_or(AccountError::Unknown("session"))?;
            let session = StoredSession {
                place: Write::remove(id.place(user)?, place.version),
                id: id.clone(),
                record,
            };
            let (writes, about) = (session.removal()?, Some(id.as_str()));
            let commit = self.commit(&writes, "browser.end", Some(user), user, about);
            match commit.await {
                Err(PortError::Conflict(_)) => {}
                other => return Ok(other?),
            }
        }
        Err(busy("session").into())
    }

    /// Ends the session of a cookie, if there is one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn end_browser_of(&self, secret: &BrowserSecret) -> Result<(), PortError> {
        let id = secret.id();
        let found: Option<StoredValue<SessionRecord>> = self.read(&id.key()?).await?;
        let Some(found) = found else { return Ok(()) };
        match self.end_browser(&found.value.user, id.as_str()).await {
            Ok(()) | Err(AccountError::Unknown(_)) => Ok(()),
            Err(error) => Err(error.into_store()),
        }
    }

    /// Random bits as a text, for a browser without a session.
    ///
    /// # Errors
    /// The system has none.
    pub fn visit(&self) -> Result<String, PortError> {
        Ok(hex(&self.random::<16>()?))
    }

    /// The token of a form that was made for a session, or for a browser without one: other sites can't know it.
    pub fn form_token(&self, holder: &str) -> String {
        hex(&self.parts.secrets.sign(PURPOSE, holder.as_bytes()))
    }

    /// Returns true if a form has the token of a session, or of a browser without one.
    pub fn is_form_token(&self, holder: &str, token: &str) -> bool {
        let signature = is_hex(token, DIGITS).then(|| bytes(token)).flatten();
        signature.is_some_and(|signature| {
            self.parts
                .secrets
                .verify(PURPOSE, holder.as_bytes(), &signature)
        })
    }

    /// The sessions in the list of a user, the last seen first.
    async fn stored_sessions(&self, user: &UserId) -> Result<Vec<StoredSession>, PortError> {
        let mut found = Vec::new();
        let prefix = key("browsers", user.as_str())?;
        for (place, stored) in self.parts.records.list(&prefix).await? {
            let digits = place.as_str().rsplit('/').next().unwrap_or_default();
            let id = BrowserId(digits.to_owned());
            let record = self.read(&id.key()?).await?;
            found.push(StoredSession {
                id,
                place: Write::remove(place, stored.version),
                record,
            });
        }
        found.sort_by_key(|session| std::cmp::Reverse(session.seen()));
        Ok(found)
    }
}

fn session(id: BrowserId, record: SessionRecord) -> BrowserSession {
    BrowserSession {
        id,
        agent: record.agent,
        created: record.created,
        seen: record.seen,
    }
}

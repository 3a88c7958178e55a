//! Connections: the clients that are signed in as a user, which the user may end.

use serde::{Deserialize, Serialize};

use super::code::CodeRecord;
use super::{AuthorizationServer, OAuthError};
use crate::account::{Scopes, User, UserId};
use crate::port::{PortError, RecordKey};
use crate::registry::family::Family;
use crate::registry::refresh_token::FamilyId;
use crate::registry::{
    AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, key, unreadable,
};

/// The most connections of a user; another one ends the oldest.
const MAX_CONNECTIONS: usize = 100;

/// A client that is signed in as a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its id: that of its family.
    pub id: String,
    /// The id of the client.
    pub client: String,
    /// The client's name for itself.
    pub name: Option<String>,
    /// The host or the scheme that its codes go to.
    pub place: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// The time of the sign-in, in milliseconds since 1970.
    pub created: i64,
    /// The time of the last refresh, in milliseconds since 1970.
    pub refreshed: i64,
}

/// The record of a connection; the rest is in its family.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConnectionRecord {
    client: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    place: String,
    created: i64,
}

/// A connection with what its removal needs.
struct StoredConnection {
    connection: Connection,
    is_over: bool,
    removal: Vec<Write>,
}

impl AuthorizationServer {
    /// The clients that are signed in as a user, the newest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn connections(&self, user: &User) -> Result<Vec<Connection>, PortError> {
        let all = self.stored_connections(user).await?.into_iter();
        Ok(all
            .filter(|stored| !stored.is_over)
            .map(|stored| stored.connection)
            .collect())
    }

    /// Ends a connection of a user, and forgets that they allowed its client.
    ///
    /// # Errors
    /// There is no such connection.
    pub async fn disconnect(&self, user: &UserId, id: &str) -> Result<(), AccountError> {
        let unknown = || AccountError::Unknown("connection");
        let place = connection_key(user, id).map_err(|_| unknown())?;
        for _ in 0..MAX_ATTEMPTS {
            let found: Option<StoredValue<ConnectionRecord>> = self.accounts.read(&place).await?;
            let found = found.ok_or_else(unknown)?;
            let mut writes = self.forget(user, &found.value.client).await?;
            writes.push(Write::remove(place.clone(), found.version));
            let family_key = key("family", id)?;
            let family: Option<StoredValue<Family>> = self.accounts.read(&family_key).await?;
            writes.extend(family.map(|family| Write::remove(family_key, family.version)));
            let commit = self
                .accounts
                .commit(&writes, "session.end", Some(user), user, Some(id));
            match commit.await {
                Err(PortError::Conflict(_)) => {}
                other => return Ok(other?),
            }
        }
        Err(busy("connection").into())
    }

    /// The writes that begin a connection by its code, and remove those of the user that are over.
    pub(super) async fn connect(
        &self,
        user: &User,
        id: &FamilyId,
        family: &Family,
        code: &CodeRecord,
    ) -> Result<Vec<Write>, OAuthError> {
        let record = ConnectionRecord {
            client: code.client.clone(),
            name: code.name.clone(),
            place: code.place.clone(),
            created: self.accounts.now().0,
        };
        let mut writes = vec![
            Write::put(key("family", id.as_str())?, None, family)?,
            Write::put(connection_key(&user.id, id.as_str())?, None, &record)?,
        ];
        let before = self.stored_connections(user).await?.into_iter();
        let (over, live): (Vec<_>, Vec<_>) = before.partition(|stored| stored.is_over);
        let surplus = live.into_iter().skip(MAX_CONNECTIONS - 1);
        let removed = over.into_iter().chain(surplus);
        writes.extend(removed.flat_map(|stored| stored.removal));
        Ok(writes)
    }

    async fn stored_connections(&self, user: &User) -> Result<Vec<StoredConnection>, PortError> {
        let prefix = key("connection", user.id.as_str())?;
        let mut found = Vec::new();
        for (place, record) in self.accounts.parts.records.list(&prefix).await? {
            let read: ConnectionRecord = serde_json::from_slice(&record.value)
                .map_err(|error| unreadable(&record.place, &error))?;
            let id = place.as_str().rsplit('/').next().unwrap_or_default();
            let id = id.to_owned();
            found.push(
                stored_connection(&self.accounts, user, id, read, |family| {
                    let mut removal = vec![Write::remove(place.clone(), record.version)];
                    removal.extend(family);
                    removal
                })
                .await?,
            );
        }
        found.sort_by_key(|stored| std::cmp::Reverse(stored.connection.created));
        Ok(found)
    }
}

/// A connection with its family; it is over where that doesn't count any more.
async fn stored_connection(
    accounts: &Accounts,
    user: &User,
    id: String,
    record: ConnectionRecord,
    removal: impl FnOnce(Option<Write>) -> Vec<Write>,
) -> Result<StoredConnection, PortError> {
    let family_key = key("family", &id)?;
    let family: Option<StoredValue<Family>> = accounts.read(&family_key).await?;
    let now = accounts.now().0;
    let is_over = family.as_ref().is_none_or(|family| {
        let family = &family.value;
        family.is_ended || family.expires <= now || family.generation != user.generation
    });
    let (scopes, refreshed) = family.as_ref().map_or_else(
        || (Scopes::default(), record.created),
        |family| (family.value.scopes.clone(), family.value.rotated),
    );
    Ok(StoredConnection {
        connection: Connection {
            id,
            client: record.client,
            name: record.name,
            place: record.place,
            scopes,
            created: record.created,
            refreshed,
        },
        is_over,
        removal: removal(family.map(|family| Write::remove(family_key, family.version))),
    })
}

fn connection_key(user: &UserId, id: &str) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!(
        "connection/{}/{id}",
        user.as_str()
    ))?)
}

//! The records of the server itself: read with their versions, changed in one commit with its entry in the audit.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Accounts;
use crate::account::UserId;
use crate::port::{LogEntry, PortError, RecordChange, RecordKey, Timestamp, Version};

/// A record with its version.
pub(super) struct StoredValue<T> {
    pub(super) value: T,
    pub(super) version: Version,
}

/// A change of a record in a commit.
#[derive(Clone)]
pub(super) struct Write {
    key: RecordKey,
    expected: Option<Version>,
    value: Option<Vec<u8>>,
}

impl Write {
    /// Writes a value in place of a version, or a new one.
    pub(super) fn put<T: Serialize>(
        key: RecordKey,
        expected: Option<Version>,
        value: &T,
    ) -> Result<Self, PortError> {
        let value = serde_json::to_vec(value).map_err(|error| PortError::Other(error.into()))?;
        Ok(Self {
            key,
            expected,
            value: Some(value),
        })
    }

    /// Removes a record.
    pub(super) fn remove(key: RecordKey, expected: Version) -> Self {
        Self {
            key,
            expected: Some(expected),
            value: None,
        }
    }

    /// The same for the store.
    pub(super) fn change(&self) -> RecordChange<'_> {
        RecordChange {
            key: &self.key,
            expected: self.expected,
            value: self.value.as_deref(),
        }
    }
}

/// An entry of the server's audit.
#[derive(Debug, Serialize)]
struct AccountEvent<'a> {
    at: Timestamp,
    event: &'static str,
    /// The user who did it; missing for the command line of the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserId>,
    /// Missing for what belongs to nobody, such as a client that registers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a UserId>,
    /// The token, the session or the field that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
}

impl Accounts {
    /// A record of the server, if it's there.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        key: &RecordKey,
    ) -> Result<Option<StoredValue<T>>, PortError> {
        let Some(record) = self.parts.records.get(key).await? else {
            return Ok(None);
        };
        let value = serde_json::from_slice(&record.value)
            .map_err(|error| unreadable(&record.place, &error))?;
        Ok(Some(StoredValue {
            value,
            version: record.version,
        }))
    }

    /// Makes changes in one commit, with their entry in the audit.
    pub(super) async fn commit(
        &self,
        writes: &[Write],
        event: &'static str,
        by: Option<&UserId>,
        user: impl Into<Option<&UserId>>,
        about: Option<&str>,
    ) -> Result<(), PortError> {
        let user = user.into();
        let entry = AccountEvent {
            at: self.now(),
            event,
            by,
            user,
            about,
        };
        let entry = serde_json::to_vec(&entry).map_err(|error| PortError::Other(error.into()))?;
        let changes: Vec<RecordChange<'_>> = writes.iter().map(Write::change).collect();
        let log = crate::audit::key()?;
        let entries = [LogEntry {
            log: &log,
            entry: &entry,
        }];
        self.parts.records.commit(&changes, &entries).await?;
        Ok(())
    }
}

/// Why a record isn't what it should be.
pub(super) fn unreadable(place: &str, error: &serde_json::Error) -> PortError {
    PortError::Unavailable(format!("{place} can't be read: {error}"))
}

/// Others change the same thing all the time.
pub(super) fn busy(what: &str) -> PortError {
    PortError::Unavailable(format!("the {what} changes too often; try again"))
}

/// The key of a record of a kind.
pub(super) fn key(kind: &str, id: &str) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(format!("{kind}/{id}"))?)
}

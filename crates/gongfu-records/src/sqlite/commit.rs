//! One commit of records and entries, inside a transaction.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::port::{
    ChainHead, LogEntry, PortError, RecordChange, RecordKey, Version, check_value,
};
use gongfu_core::skill::Digest;
use sqlx::{Connection as _, SqliteConnection};

use super::failure::{damaged, place};
use super::statement;

/// The answer to a commit: the new versions, or why it is refused.
pub(super) type Outcome = Result<Vec<Option<Version>>, PortError>;

/// The ends of the logs that the transaction has added to.
pub(super) type Heads = HashMap<(Arc<str>, RecordKey), ChainHead>;

/// A commit that outlives its caller.
#[derive(Debug)]
pub(super) struct Commit {
    scope: Arc<str>,
    changes: Vec<Change>,
    entries: Vec<(RecordKey, Vec<u8>)>,
    removal: Removal,
}

/// Rows that a commit removes before anything else, beside the records of its changes.
#[derive(Debug)]
pub(super) enum Removal {
    Nothing,
    /// A log with all its entries.
    Log(RecordKey),
    /// All records and logs of the scope.
    All,
}

#[derive(Debug)]
struct Change {
    key: RecordKey,
    expected: Option<Version>,
    /// The new value and its version.
    value: Option<(Vec<u8>, Version)>,
}

impl Commit {
    pub(super) fn new(
        scope: &Arc<str>,
        changes: &[RecordChange<'_>],
        entries: &[LogEntry<'_>],
    ) -> Self {
        let change = |change: &RecordChange<'_>| Change {
            key: change.key.clone(),
            expected: change.expected,
            value: change
                .value
                .map(|value| (value.to_vec(), Digest::of(value))),
        };
        let entry = |entry: &LogEntry<'_>| (entry.log.clone(), entry.entry.to_vec());
        Self {
            scope: Arc::clone(scope),
            changes: changes.iter().map(change).collect(),
            entries: entries.iter().map(entry).collect(),
            removal: Removal::Nothing,
        }
    }

    /// A commit that only removes.
    pub(super) fn removal(scope: &str, removal: Removal) -> Self {
        Self {
            scope: scope.into(),
            changes: Vec::new(),
            entries: Vec::new(),
            removal,
        }
    }

    /// The length of its values and entries, in bytes.
    pub(super) fn size(&self) -> usize {
        let values = self
            .changes
            .iter()
            .filter_map(|change| change.value.as_ref());
        let values = values.map(|(value, _)| value);
        let entries = self.entries.iter().map(|(_, entry)| entry);
        values.chain(entries).map(Vec::len).sum()
    }

    /// Makes it part of a transaction. What is refused leaves nothing in it.
    ///
    /// # Errors
    /// SQLite fails: the whole transaction has to end.
    pub(super) async fn apply(
        &self,
        transaction: &mut SqliteConnection,
        path: &Path,
        heads: &mut Heads,
    ) -> sqlx::Result<Outcome> {
        match &self.removal {
            Removal::Nothing => {}
            Removal::Log(log) => {
                heads.remove(&(Arc::clone(&self.scope), log.clone()));
                let removal = sqlx::query(statement::REMOVE_LOG).bind(&*self.scope);
                let removal = removal.bind(log.as_str());
                removal.execute(&mut *transaction).await?;
            }
            Removal::All => {
                heads.retain(|(scope, _), _| *scope != self.scope);
                for statement in [statement::REMOVE_RECORDS, statement::REMOVE_LOGS] {
                    let removal = sqlx::query(statement).bind(&*self.scope);
                    removal.execute(&mut *transaction).await?;
                }
            }
        }
        // One statement that changes nothing needs no way back.
        let versions = if self.changes.len() <= 1 {
            self.change(transaction, path).await?
        } else {
            let mut savepoint = transaction.begin().await?;
            let versions = self.change(&mut savepoint, path).await?;
            if versions.is_ok() {
                savepoint.commit().await?;
            } else {
                savepoint.rollback().await?;
            }
            versions
        };
        // After all changes: nothing refuses an entry any more.
        if versions.is_ok() {
            for (log, entry) in &self.entries {
                self.append(transaction, heads, log, entry).await?;
            }
        }
        Ok(versions)
    }

    async fn change(
        &self,
        transaction: &mut SqliteConnection,
        path: &Path,
    ) -> sqlx::Result<Outcome> {
        let mut versions = Vec::new();
        for change in &self.changes {
            match change.apply(transaction, &self.scope).await? {
                Ok(version) => versions.push(version),
                Err(damage) => return Ok(Err(self.refusal(path, &change.key, damage))),
            }
        }
        Ok(Ok(versions))
    }

    fn refusal(&self, path: &Path, key: &RecordKey, damage: Option<String>) -> PortError {
        match damage {
            Some(why) => damaged(&place(path, &self.scope, key), &why),
            None => PortError::Conflict(format!("the record `{key}` has another version")),
        }
    }

    async fn append(
        &self,
        transaction: &mut SqliteConnection,
        heads: &mut Heads,
        log: &RecordKey,
        entry: &[u8],
    ) -> sqlx::Result<()> {
        let place = (Arc::clone(&self.scope), log.clone());
        let head = match heads.get(&place) {
            Some(head) => *head,
            None => head_of(transaction, &self.scope, log).await?,
        };
        let head = head.after(entry);
        sqlx::query(statement::APPEND)
            .bind(&*self.scope)
            .bind(log.as_str())
            .bind(i64::try_from(head.number).unwrap_or(i64::MAX))
            .bind(entry)
            .bind(head.hash.as_bytes())
            .execute(transaction)
            .await?;
        heads.insert(place, head);
        Ok(())
    }
}

impl Change {
    /// Makes the change. It is refused where another version is stored, or a damaged value.
    async fn apply(
        &self,
        transaction: &mut SqliteConnection,
        scope: &str,
    ) -> sqlx::Result<Result<Option<Version>, Option<String>>> {
        let key = self.key.as_str();
        let query = match (&self.value, &self.expected) {
            (Some((value, version)), None) => sqlx::query(statement::INSERT)
                .bind(scope)
                .bind(key)
                .bind(value)
                .bind(version.as_bytes()),
            (Some((value, version)), Some(expected)) => sqlx::query(statement::UPDATE)
                .bind(scope)
                .bind(key)
                .bind(value)
                .bind(version.as_bytes())
                .bind(expected.as_bytes()),
            (None, Some(expected)) => sqlx::query(statement::DELETE)
                .bind(scope)
                .bind(key)
                .bind(expected.as_bytes()),
            // Nothing shall be there, before as after.
            (None, None) => {
                let row = stored(transaction, scope, key).await?;
                return Ok(match row {
                    None => Ok(None),
                    Some((value, version)) => Err(checked(&value, &version).err()),
                });
            }
        };
        if query.execute(&mut *transaction).await?.rows_affected() == 1 {
            return Ok(Ok(self.value.as_ref().map(|(_, version)| *version)));
        }
        let row = stored(transaction, scope, key).await?;
        Ok(Err(row.and_then(|(value, version)| {
            checked(&value, &version).err()
        })))
    }
}

/// Checks a stored record; answers its version, or why it is damaged. The version is the digest of the value, and so shows
/// when bytes on the disk have changed by themselves.
pub(super) fn checked(value: &[u8], version: &[u8]) -> Result<Version, String> {
    let digest = Digest::of(value);
    if digest.as_bytes() != version {
        return Err("it has another digest".to_owned());
    }
    check_value(value).map(|()| digest)
}

/// The value and the version of a record, as they are stored.
pub(super) async fn stored(
    connection: &mut SqliteConnection,
    scope: &str,
    key: &str,
) -> sqlx::Result<Option<(Vec<u8>, Vec<u8>)>> {
    sqlx::query_as(statement::RECORD)
        .bind(scope)
        .bind(key)
        .fetch_optional(connection)
        .await
}

/// The end of a log.
async fn head_of(
    connection: &mut SqliteConnection,
    scope: &str,
    log: &RecordKey,
) -> sqlx::Result<ChainHead> {
    let row: Option<(i64, Vec<u8>)> = sqlx::query_as(statement::HEAD)
        .bind(scope)
        .bind(log.as_str())
        .fetch_optional(connection)
        .await?;
    let Some((number, hash)) = row else {
        return Ok(ChainHead::of_empty(scope, log));
    };
    // A chain goes on from what is there. Where that is damaged, it stays broken.
    let hash = hash.try_into().map_or(Digest::of(b""), Digest::from_bytes);
    Ok(ChainHead {
        number: u64::try_from(number).unwrap_or_default(),
        hash,
    })
}

//! The records and logs of one scope: of an owner, or of the server itself.

use std::sync::Arc;

use gongfu_core::port::{
    ChainBreak, ChainEntry, ChainHead, LogChain, LogEntry, LogHold, Pending, PortError, Record,
    RecordChange, RecordKey, Records, Transactions, Version, check_commit, ready,
};
use gongfu_core::skill::Digest;
use sqlx::pool::PoolConnection;

use super::commit::{Commit, Removal, checked, stored};
use super::failure::{damaged, place, unavailable};
use super::pool::Pool;
use super::statement;

/// The number of entries that are read at once while a log is verified.
const VERIFY_PAGE: usize = 256;

/// The row of a record.
type RecordRow = (String, Vec<u8>, Vec<u8>);
/// The row of an entry: its number, it, and its hash.
type ChainRow = (i64, Vec<u8>, Vec<u8>);

/// The records and logs of one scope of a database.
#[derive(Debug, Clone)]
pub struct SqliteRecords {
    pool: Arc<Pool>,
    scope: Arc<str>,
}

impl SqliteRecords {
    pub(super) fn new(pool: Arc<Pool>, scope: &str) -> Self {
        Self {
            pool,
            scope: scope.into(),
        }
    }

    async fn reader(&self) -> Result<PoolConnection<sqlx::Sqlite>, PortError> {
        let reader = self.pool.readers.acquire().await;
        reader.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &sqlx::Error) -> PortError {
        unavailable(self.pool.file.path(), error)
    }

    fn record(&self, key: &RecordKey, value: Vec<u8>, version: &[u8]) -> Result<Record, PortError> {
        let place = place(self.pool.file.path(), &self.scope, key);
        let version = checked(&value, version).map_err(|why| damaged(&place, &why))?;
        Ok(Record {
            version,
            value,
            place,
        })
    }

    async fn read(&self, key: &RecordKey) -> Result<Option<Record>, PortError> {
        let mut reader = self.reader().await?;
        let row = stored(&mut reader, &self.scope, key.as_str()).await;
        let row = row.map_err(|error| self.failed(&error))?;
        row.map(|(value, version)| self.record(key, value, &version))
            .transpose()
    }

    async fn read_page(
        &self,
        prefix: &RecordKey,
        after: Option<&RecordKey>,
        limit: Option<usize>,
    ) -> Result<Vec<(RecordKey, Record)>, PortError> {
        let after = after.map_or("", RecordKey::as_str);
        // Keys below a prefix lie between `/` and the character that follows it.
        let (from, to) = (format!("{prefix}/"), format!("{prefix}0"));
        let rows: Vec<RecordRow> = sqlx::query_as(statement::PAGE)
            .bind(&*self.scope)
            .bind(prefix.as_str())
            .bind(after)
            .bind(after.max(from.as_str()))
            .bind(to.as_str())
            .bind(limit.map_or(-1, sql_limit))
            .fetch_all(&mut *self.reader().await?)
            .await
            .map_err(|error| self.failed(&error))?;
        let records = rows.into_iter().map(|(key, value, version)| {
            let key = RecordKey::new(key)?;
            let record = self.record(&key, value, &version)?;
            Ok((key, record))
        });
        records.collect()
    }

    async fn write(
        &self,
        changes: &[RecordChange<'_>],
        entries: &[LogEntry<'_>],
    ) -> Result<Vec<Option<Version>>, PortError> {
        check_commit(changes, entries)?;
        let commit = Commit::new(&self.scope, changes, entries);
        self.pool.writer.commit(commit).await
    }

    async fn read_entries(&self, log: &RecordKey, limit: usize) -> Result<Vec<Vec<u8>>, PortError> {
        let mut entries: Vec<Vec<u8>> = sqlx::query_scalar(statement::LAST_ENTRIES)
            .bind(&*self.scope)
            .bind(log.as_str())
            .bind(sql_limit(limit))
            .fetch_all(&mut *self.reader().await?)
            .await
            .map_err(|error| self.failed(&error))?;
        entries.reverse();
        Ok(entries)
    }

    async fn read_chain(
        &self,
        log: &RecordKey,
        number: u64,
        limit: usize,
    ) -> Result<Vec<ChainRow>, PortError> {
        sqlx::query_as(statement::ENTRIES_AFTER)
            .bind(&*self.scope)
            .bind(log.as_str())
            .bind(i64::try_from(number).unwrap_or(i64::MAX))
            .bind(sql_limit(limit))
            .fetch_all(&mut *self.reader().await?)
            .await
            .map_err(|error| self.failed(&error))
    }

    async fn read_entries_after(
        &self,
        log: &RecordKey,
        number: u64,
        limit: usize,
    ) -> Result<Vec<ChainEntry>, PortError> {
        let rows = self.read_chain(log, number, limit).await?;
        let entries = rows.into_iter().map(|(number, entry, hash)| {
            let damage = |why| {
                let path = self.pool.file.path().display();
                damaged(&format!("entry {number} of the log `{log}` in {path}"), why)
            };
            Ok(ChainEntry {
                number: u64::try_from(number).map_err(|_| damage("its number is negative"))?,
                entry,
                hash: hash
                    .try_into()
                    .map(Digest::from_bytes)
                    .map_err(|_| damage("its hash has another length"))?,
            })
        });
        entries.collect()
    }

    async fn verify_chain(
        &self,
        log: &RecordKey,
    ) -> Result<Result<ChainHead, ChainBreak>, PortError> {
        let mut head = ChainHead::of_empty(&self.scope, log);
        loop {
            let page = self.read_chain(log, head.number, VERIFY_PAGE).await?;
            let is_last = page.len() < VERIFY_PAGE;
            for (number, entry, hash) in page {
                head = head.after(&entry);
                let is_next = u64::try_from(number) == Ok(head.number);
                if !is_next || hash != head.hash.as_bytes() {
                    return Ok(Err(ChainBreak {
                        number: head.number,
                    }));
                }
            }
            if is_last {
                return Ok(Ok(head));
            }
        }
    }
}

/// A limit as SQLite takes it.
fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Records for SqliteRecords {
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>> {
        Box::pin(self.read(key))
    }

    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>> {
        Box::pin(async move {
            let change = RecordChange {
                key,
                expected,
                value,
            };
            let versions = self.write(&[change], &[]).await?;
            Ok(versions.into_iter().next().flatten())
        })
    }

    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>> {
        Box::pin(self.read_page(prefix, None, None))
    }

    fn page<'a>(
        &'a self,
        prefix: &'a RecordKey,
        after: Option<&'a RecordKey>,
        limit: usize,
    ) -> Pending<'a, Vec<(RecordKey, Record)>> {
        Box::pin(self.read_page(prefix, after, Some(limit)))
    }

    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        Box::pin(async move {
            self.write(&[], &[LogEntry { log, entry }]).await?;
            Ok(())
        })
    }

    fn append_soon<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        Box::pin(async move {
            let entries = [LogEntry { log, entry }];
            check_commit(&[], &entries)?;
            let commit = Commit::new(&self.scope, &[], &entries);
            self.pool.writer.defer(commit).await
        })
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        Box::pin(self.read_entries(log, limit))
    }

    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>> {
        ready(Ok(self.pool.holds.take(&self.scope, log.as_str())))
    }

    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()> {
        Box::pin(async move {
            let removal = Commit::removal(&self.scope, Removal::Log(log.clone()));
            self.pool.writer.commit(removal).await.map(drop)
        })
    }
}

impl Transactions for SqliteRecords {
    fn commit<'a>(
        &'a self,
        changes: &'a [RecordChange<'a>],
        entries: &'a [LogEntry<'a>],
    ) -> Pending<'a, Vec<Option<Version>>> {
        Box::pin(self.write(changes, entries))
    }
}

impl LogChain for SqliteRecords {
    fn verify<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Result<ChainHead, ChainBreak>> {
        Box::pin(self.verify_chain(log))
    }

    fn entries_after<'a>(
        &'a self,
        log: &'a RecordKey,
        number: u64,
        limit: usize,
    ) -> Pending<'a, Vec<ChainEntry>> {
        Box::pin(self.read_entries_after(log, number, limit))
    }
}

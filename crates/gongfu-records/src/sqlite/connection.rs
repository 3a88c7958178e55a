//! Connections: for the writer, for readers, and for a first look at what a file is.

use std::path::Path;
use std::time::Duration;

use gongfu_core::port::PortError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::failure::unavailable;
use super::file::{DatabaseFile, NewFile};
use super::schema::{self, MIGRATIONS, SchemaError};
use super::statement;

/// The longest wait for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of connections that read.
const MAX_READERS: u32 = 4;
/// The longest wait for one of them.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The size to which the write-ahead log is cut after a checkpoint, in bytes.
const MAX_WAL: &str = "67108864";

/// The options of every connection.
fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .pragma("trusted_schema", "OFF")
        .disable_statement_logging()
}

/// Connects for writing. A commit is on the disk when it is answered.
pub(super) async fn write(path: &Path) -> sqlx::Result<SqliteConnection> {
    options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("fullfsync", "ON")
        .pragma("checkpoint_fullfsync", "ON")
        .pragma("journal_size_limit", MAX_WAL)
        .connect()
        .await
}

/// Connects for reading.
pub(super) async fn read(path: &Path) -> sqlx::Result<SqliteConnection> {
    options(path).read_only(true).connect().await
}

/// The readers; each connects when it is first needed, and stays.
pub(super) fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(MAX_READERS)
        .acquire_timeout(READ_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_lazy_with(options(path).read_only(true))
}

/// Opens the file of a database, which is created where it is missing, with its writer.
///
/// # Errors
/// It can't be opened, or isn't one of ours; then it stays as it is.
pub(super) async fn open(path: &Path) -> Result<(DatabaseFile, SqliteConnection), PortError> {
    if DatabaseFile::find(path)?.is_none() {
        create(path).await?;
    }
    let file = DatabaseFile::find(path)?.ok_or_else(|| {
        let why = format!("{} was removed while it was opened", path.display());
        PortError::Unavailable(why)
    })?;
    let failed = |error: sqlx::Error| unavailable(file.path(), &error);
    // Whatever it is, reading it changes nothing.
    let mut reader = read(file.path()).await.map_err(failed)?;
    let version = schema::check(&mut reader, MIGRATIONS).await;
    reader.close().await.map_err(failed)?;
    let version = version.map_err(|error| unusable(file.path(), &error))?;
    let mut writer = write(file.path()).await.map_err(failed)?;
    if version < MIGRATIONS.len() {
        let migrated = schema::migrate(&mut writer, MIGRATIONS).await;
        migrated.map_err(|error| unusable(file.path(), &error))?;
    }
    // The first read opens the write-ahead log.
    sqlx::query(statement::TABLES)
        .execute(&mut writer)
        .await
        .map_err(failed)?;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut writer)
        .await
        .map_err(failed)?;
    if mode != "wal" {
        let why = "its file system can't share memory between processes; use a local disk";
        let why = format!("{}: {why}", file.path().display());
        return Err(PortError::Unavailable(why));
    }
    Ok((file, writer))
}

/// Creates a database whole: it gets its name with all its tables, so that a crash leaves no half of it.
async fn create(path: &Path) -> Result<(), PortError> {
    let file = match NewFile::create(path) {
        // Another process was faster.
        Err(PortError::Denied(_)) => return Ok(()),
        file => file?,
    };
    let temporary = file.temporary_path();
    let mut writer = write(&temporary)
        .await
        .map_err(|error| unavailable(path, &error))?;
    let migrated = schema::migrate(&mut writer, MIGRATIONS).await;
    migrated.map_err(|error| unusable(path, &error))?;
    // The last one to close writes everything into the file itself.
    let closed = writer.close().await;
    closed.map_err(|error| unavailable(path, &error))?;
    file.place()?;
    Ok(())
}

fn unusable(path: &Path, error: &SchemaError) -> PortError {
    let why = match error {
        SchemaError::Sqlite(error) => return unavailable(path, error),
        SchemaError::Foreign => {
            "it is the database of another program; use another path".to_owned()
        }
        SchemaError::Newer(version) => format!(
            "a newer gongfu wrote it (schema {version}, this one knows {}); update gongfu",
            MIGRATIONS.len()
        ),
    };
    PortError::Unavailable(format!("{}: {why}", path.display()))
}

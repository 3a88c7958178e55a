//! The tables, and how an older database gets them.

use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

/// The mark of gongfu's databases in their header: `gong`.
pub(super) const APPLICATION: i32 = 0x676f_6e67;

/// The steps from one version of the schema to the next; the version is the number of steps. A step that was released
/// never changes: a new one is added.
///
/// The rows are in order of their creation, and the key has an index of its own. In a table without row ids, every search
/// would read the long values that it passes.
pub(super) const MIGRATIONS: &[&str] = &["
    CREATE TABLE record (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        version BLOB NOT NULL,
        PRIMARY KEY (scope, key)
    ) STRICT;
    CREATE TABLE log (
        scope TEXT NOT NULL,
        log TEXT NOT NULL,
        number INTEGER NOT NULL,
        entry BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (scope, log, number)
    ) STRICT;
"];

/// Why a database can't be used.
#[derive(Debug)]
pub(super) enum SchemaError {
    /// Another program made it.
    Foreign,
    /// A newer gongfu made it: it has this version.
    Newer(usize),
    /// SQLite says why.
    Sqlite(sqlx::Error),
}

impl From<sqlx::Error> for SchemaError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Checks that a database is one of ours, and not a newer one; answers its version. Writes nothing.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    migrations: &[&'static str],
) -> Result<usize, SchemaError> {
    let application: i32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await?;
    if application != APPLICATION {
        return Err(SchemaError::Foreign);
    }
    version_of(connection, migrations).await
}

/// Makes the tables current, in one transaction.
pub(super) async fn migrate(
    connection: &mut SqliteConnection,
    migrations: &[&'static str],
) -> Result<(), SchemaError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Another process may have done it while this one waited.
    let version = version_of(&mut transaction, migrations).await?;
    for migration in migrations.iter().skip(version) {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
    }
    let numbers = format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {}",
        migrations.len()
    );
    sqlx::raw_sql(AssertSqlSafe(numbers))
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}

async fn version_of(
    connection: &mut SqliteConnection,
    migrations: &[&'static str],
) -> Result<usize, SchemaError> {
    let version: i32 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(connection)
        .await?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > migrations.len() {
        return Err(SchemaError::Newer(version));
    }
    Ok(version)
}

#[cfg(test)]
mod tests;

//! The stored bytes of a record, valid or not, for tests that damage them.

use std::path::Path;

use gongfu_core::account::Owner;
use gongfu_core::port::RecordKey;
use gongfu_core::skill::Digest;
use sqlx::Connection as _;

use super::commit;
use super::{connection, scope_of};

/// Reads the bytes of a record.
///
/// # Errors
/// The database can't be read.
pub async fn stored(path: &Path, owner: &Owner, key: &RecordKey) -> sqlx::Result<Option<Vec<u8>>> {
    let mut reader = connection::read(path).await?;
    let row = commit::stored(&mut reader, &scope_of(owner), key.as_str()).await?;
    reader.close().await?;
    Ok(row.map(|(value, _)| value))
}

/// Replaces the bytes of a record, and its version by theirs.
///
/// # Errors
/// The database can't be written.
pub async fn replace(
    path: &Path,
    owner: &Owner,
    key: &RecordKey,
    value: &[u8],
) -> sqlx::Result<()> {
    let mut writer = connection::write(path).await?;
    sqlx::query("UPDATE record SET value = $3, version = $4 WHERE scope = $1 AND key = $2")
        .bind(scope_of(owner))
        .bind(key.as_str())
        .bind(value)
        .bind(Digest::of(value).as_bytes())
        .execute(&mut writer)
        .await?;
    writer.close().await
}

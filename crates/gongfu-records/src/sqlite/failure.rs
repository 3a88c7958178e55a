//! Failures of SQLite in words for people.

use std::path::Path;

use gongfu_core::port::{PortError, RecordKey};
use sqlx::error::DatabaseError;

/// An error of the database as one of the port's. It names the file, and never a value.
pub(super) fn unavailable(path: &Path, error: &sqlx::Error) -> PortError {
    PortError::Unavailable(format!("{}: {}", path.display(), reason(error)))
}

/// The place of a record, for people.
pub(super) fn place(path: &Path, scope: &str, key: &RecordKey) -> String {
    format!("the record `{key}` of `{scope}` in {}", path.display())
}

/// An error of one record or entry: only it is damaged.
pub(super) fn damaged(place: &str, why: &str) -> PortError {
    PortError::Unavailable(format!(
        "{place} is damaged ({why}); restore a backup or remove it"
    ))
}

fn reason(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(DatabaseError::code);
    let code = code.and_then(|code| code.parse::<u32>().ok());
    // The lowest byte of an extended code is the plain one.
    let known = match code.map(|code| code & 0xff) {
        Some(5 | 6) => "another program has locked it for too long; stop that program",
        Some(8) => "it is read-only; allow writing to the file and its folder",
        Some(10) => "it can't be read or written; check the disk and its free space",
        Some(11) => "it is damaged; restore a backup",
        Some(13) => "the disk is full; free some space",
        Some(14) => "it can't be opened; check the permissions of the file and its folder",
        Some(26) => "it is not a database; restore a backup or remove the file",
        _ => return unknown(error),
    };
    known.to_owned()
}

fn unknown(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::PoolTimedOut => "too many reads are waiting; try again".to_owned(),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => "it is closed".to_owned(),
        error => format!("the database reports: {error}"),
    }
}

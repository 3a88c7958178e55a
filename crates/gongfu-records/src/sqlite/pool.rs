//! The connections of one database, which all its handles share.

use std::sync::Arc;

use gongfu_core::port::LogHolds;
use sqlx::SqlitePool;

use super::file::DatabaseFile;
use super::writer::Writer;

/// The file, the readers and the writer.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) file: Arc<DatabaseFile>,
    pub(super) readers: SqlitePool,
    pub(super) writer: Writer,
    /// The logs that have a writer in this process, the only one with a server's database.
    pub(super) holds: LogHolds,
}

//! Records, logs and blobs: as files below one owner's home, or in a database that holds those of all owners.
//!
//! Knows no kind of record: approvals, grants and switches are values of the core. Reads no
//! environment and no clock.

mod blobs;
mod database;
mod log;
mod records;
mod scheme;
mod sqlite;

pub use blobs::FileBlobs;
pub use database::{Database, DatabaseRecords};
pub use log::LogReader;
pub use records::FileRecords;
pub use scheme::open_database;
#[doc(hidden)]
pub use sqlite::damage;
pub use sqlite::{Sqlite, SqliteRecords};

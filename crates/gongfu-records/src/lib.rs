//! Records, logs and blobs: as files below one owner's home, or in a database that holds those of all owners.
//!
//! Knows no kind of record: approvals, grants and switches are values of the core. Reads no
//! environment and no clock.

mod blobs;
#[cfg(feature = "sqlite")]
mod database;
mod log;
mod records;
#[cfg(feature = "sqlite")]
mod scheme;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use blobs::FileBlobs;
#[cfg(feature = "sqlite")]
pub use database::{Database, DatabaseRecords};
pub use log::LogReader;
pub use records::FileRecords;
#[cfg(feature = "sqlite")]
pub use scheme::open_database;
#[cfg(feature = "sqlite")]
#[doc(hidden)]
pub use sqlite::damage;
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteRecords};

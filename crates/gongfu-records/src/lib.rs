//! Records, logs and blobs of one owner, as files below a home.
//!
//! Knows no kind of record: approvals, grants and switches are values of the core. Reads no
//! environment and no clock.

mod blobs;
mod log;
mod records;

pub use blobs::FileBlobs;
pub use log::LogReader;
pub use records::FileRecords;

//! The interface of every database, whichever it is.

use std::path::Path;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{LogChain, Pending, Transactions};

/// The records and logs of one owner in a database.
pub trait DatabaseRecords: Transactions + LogChain {}

impl<T: Transactions + LogChain> DatabaseRecords for T {}

/// A database with the records and logs of all owners of a server.
pub trait Database: Send + Sync {
    /// The records of an owner. They reach nobody else's.
    fn records(&self, owner: &Owner) -> Arc<dyn DatabaseRecords>;

    /// The records of the server itself, such as its accounts.
    fn server_records(&self) -> Arc<dyn DatabaseRecords>;

    /// Removes all records and logs of an owner.
    fn remove<'a>(&'a self, owner: &'a Owner) -> Pending<'a, ()>;

    /// Copies the database to a new file, as it is at one moment, while others go on writing.
    ///
    /// A file that exists is [`gongfu_core::port::PortError::Denied`], and stays as it is.
    fn backup<'a>(&'a self, to: &'a Path) -> Pending<'a, ()>;

    /// Finishes the writes that wait, refuses new ones, and closes the database.
    fn close(&self) -> Pending<'_, ()>;
}

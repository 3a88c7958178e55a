//! Records and logs in an SQLite database, those of all owners in one file.
//!
//! A scope keeps owners apart: `local`, `user/ID`, later `team/ID`, and `server` for what belongs to the server itself.
//! Every statement names one, and a handle has only its own.

mod commit;
mod connection;
#[doc(hidden)]
pub mod damage;
mod failure;
mod file;
mod pool;
mod records;
mod schema;
mod statement;
mod writer;

use std::path::Path;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{LogHolds, Pending, PortError};
use sqlx::Connection as _;

use crate::database::{Database, DatabaseRecords};
use commit::{Commit, Removal};
use failure::unavailable;
use file::NewFile;
use pool::Pool;
pub use records::SqliteRecords;
use writer::Writer;

/// The scope of what belongs to the server itself.
const SERVER: &str = "server";

/// An open SQLite database.
#[derive(Debug, Clone)]
pub struct Sqlite(Arc<Pool>);

impl Sqlite {
    /// Opens a database; creates it where it is missing, for its owner alone. Its writer is a task of the current runtime.
    ///
    /// # Errors
    /// The file can't be opened, isn't a database of gongfu, or is one of a newer gongfu. It stays as it is then.
    pub async fn open(path: &Path) -> Result<Self, PortError> {
        let (file, connection) = connection::open(path).await?;
        let file = Arc::new(file);
        Ok(Self(Arc::new(Pool {
            readers: connection::readers(file.path()),
            writer: Writer::start(Arc::clone(&file), connection),
            file,
            holds: LogHolds::default(),
        })))
    }

    /// The records of an owner.
    pub fn records(&self, owner: &Owner) -> SqliteRecords {
        SqliteRecords::new(Arc::clone(&self.0), &scope_of(owner))
    }

    /// The records of the server itself.
    pub fn server_records(&self) -> SqliteRecords {
        SqliteRecords::new(Arc::clone(&self.0), SERVER)
    }

    async fn copy(&self, to: &Path) -> Result<(), PortError> {
        let copy = NewFile::create(to)?;
        let temporary = copy.temporary_path();
        let Some(target) = temporary.to_str() else {
            let why = format!("{} isn't in UTF-8; choose another path", to.display());
            return Err(PortError::Unavailable(why));
        };
        let from = self.0.file.path();
        let failed = |error: sqlx::Error| unavailable(from, &error);
        let mut reader = connection::read(from).await.map_err(failed)?;
        let copied = sqlx::query(statement::COPY)
            .bind(target)
            .execute(&mut reader)
            .await;
        reader.close().await.map_err(failed)?;
        copied.map_err(|error| unavailable(to, &error))?;
        if copy.place()? {
            Ok(())
        } else {
            Err(file::taken(to))
        }
    }
}

/// The scope of an owner.
fn scope_of(owner: &Owner) -> String {
    match owner {
        Owner::Local => "local".to_owned(),
        Owner::User(user) => format!("user/{}", user.as_str()),
        Owner::Team(team) => format!("team/{}", team.as_str()),
    }
}

impl Database for Sqlite {
    fn records(&self, owner: &Owner) -> Arc<dyn DatabaseRecords> {
        Arc::new(self.records(owner))
    }

    fn server_records(&self) -> Arc<dyn DatabaseRecords> {
        Arc::new(self.server_records())
    }

    fn remove<'a>(&'a self, owner: &'a Owner) -> Pending<'a, ()> {
        let removal = Commit::removal(&scope_of(owner), Removal::All);
        Box::pin(async move { self.0.writer.commit(removal).await.map(drop) })
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Pending<'a, ()> {
        Box::pin(self.copy(to))
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async {
            self.0.readers.close().await;
            self.0.writer.close().await;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;

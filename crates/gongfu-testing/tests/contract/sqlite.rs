//! The records of all owners in one SQLite database. Other ports aren't stored there.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use gongfu_core::account::Owner;
use gongfu_core::port::{RecordKey, SpaceParts, Transactions};
use gongfu_core::skill::Digest;
use gongfu_records::{Sqlite, damage};
use gongfu_testing::MemorySpace;
use gongfu_testing::story::{Backend, Port, Storage};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The runtime of the writers, as a server has one.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

struct Database(TempDir);

pub(crate) fn backend() -> Box<dyn Backend> {
    Box::new(Database(tempfile::tempdir().unwrap()))
}

impl Database {
    fn path(&self) -> PathBuf {
        self.0.path().join("server.db")
    }
}

impl Backend for Database {
    fn offers(&self, port: Port) -> bool {
        matches!(port, Port::Records | Port::Transactions)
    }

    fn open(&self) -> Arc<dyn Storage> {
        Arc::new(Open(RUNTIME.block_on(Sqlite::open(&self.path())).unwrap()))
    }

    fn record(&self, owner: &Owner, key: &RecordKey) -> Vec<u8> {
        let stored = RUNTIME.block_on(damage::stored(&self.path(), owner, key));
        stored.unwrap().unwrap()
    }

    fn damage_record(&self, owner: &Owner, key: &RecordKey, bytes: &[u8]) {
        let replaced = RUNTIME.block_on(damage::replace(&self.path(), owner, key, bytes));
        replaced.unwrap();
    }

    fn damage_blob(&self, _owner: &Owner, _digest: &Digest, _bytes: &[u8]) {
        unreachable!("it has no blobs")
    }
}

/// The database as one process has it.
struct Open(Sqlite);

impl Storage for Open {
    fn parts(&self, owner: &Owner) -> SpaceParts {
        SpaceParts {
            records: Arc::new(self.0.records(owner)),
            ..MemorySpace::default().parts(owner)
        }
    }

    fn transactions(&self, owner: &Owner) -> Arc<dyn Transactions> {
        Arc::new(self.0.records(owner))
    }
}

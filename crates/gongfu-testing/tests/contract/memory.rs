//! The ports in memory.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{RecordKey, SpaceParts, Transactions};
use gongfu_core::skill::Digest;
use gongfu_testing::story::{Backend, Port, Storage};
use gongfu_testing::{MemoryRecords, MemorySpaces};

/// Memory outlives no process: opening it again is the same memory.
#[derive(Clone, Default)]
struct Memory(Arc<MemorySpaces>);

pub(crate) fn backend() -> Box<dyn Backend> {
    Box::new(Memory::default())
}

impl Storage for Memory {
    fn parts(&self, owner: &Owner) -> SpaceParts {
        self.0.parts(owner).parts(owner)
    }

    fn transactions(&self, owner: &Owner) -> Arc<dyn Transactions> {
        Arc::<MemoryRecords>::clone(&self.0.parts(owner).records)
    }
}

impl Backend for Memory {
    fn offers(&self, _port: Port) -> bool {
        true
    }

    fn open(&self) -> Arc<dyn Storage> {
        Arc::new(self.clone())
    }

    fn record(&self, owner: &Owner, key: &RecordKey) -> Vec<u8> {
        self.0.parts(owner).records.stored(key).unwrap()
    }

    fn damage_record(&self, owner: &Owner, key: &RecordKey, bytes: &[u8]) {
        self.0.parts(owner).records.damage(key, bytes);
    }

    fn damage_blob(&self, owner: &Owner, digest: &Digest, bytes: &[u8]) {
        self.0.parts(owner).blobs.damage(digest, bytes);
    }
}

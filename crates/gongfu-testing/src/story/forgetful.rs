//! A planted fault: a backend that ignores the owner.

use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::{Pending, RecordKey, Space, Spaces};
use gongfu_core::skill::Digest;

use super::ground::Backend;

/// Opens the space of the local person for everybody.
pub struct Forgetful(pub Box<dyn Backend>);

struct OneSpace(Arc<dyn Spaces>);

impl Spaces for OneSpace {
    fn open<'a>(&'a self, _owner: &'a Owner) -> Pending<'a, Space> {
        self.0.open(&Owner::Local)
    }
}

impl Backend for Forgetful {
    fn open(&self) -> Arc<dyn Spaces> {
        Arc::new(OneSpace(self.0.open()))
    }

    fn record(&self, _owner: &Owner, key: &RecordKey) -> Vec<u8> {
        self.0.record(&Owner::Local, key)
    }

    fn damage_record(&self, _owner: &Owner, key: &RecordKey, bytes: &[u8]) {
        self.0.damage_record(&Owner::Local, key, bytes);
    }

    fn damage_blob(&self, _owner: &Owner, digest: &Digest, bytes: &[u8]) {
        self.0.damage_blob(&Owner::Local, digest, bytes);
    }
}

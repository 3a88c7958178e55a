//! The record of trusted projects, as the library reads it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::port::Records;
use gongfu_core::trust::Trusts;

/// The trusted projects of one owner.
pub struct TrustRecord {
    records: Arc<dyn Records>,
    file: PathBuf,
}

impl TrustRecord {
    /// The trusted projects in these records, which change only together with this file.
    pub fn new(records: Arc<dyn Records>, file: PathBuf) -> Self {
        let file = std::path::absolute(&file).unwrap_or(file);
        Self { records, file }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Reads them on this thread, which may be no thread of a runtime. A record that can't be read trusts
    /// nothing.
    pub(crate) fn read(&self) -> Trusts {
        let read = futures_executor::block_on(Trusts::read(&*self.records));
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, "the trusted projects can't be read; none is trusted");
            Trusts::default()
        })
    }
}

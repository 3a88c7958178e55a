//! The record of disabled skills, as the library reads and changes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::library::UseCounts;
use gongfu_core::port::{PortError, Records};
use gongfu_core::switches::Switches;
use gongfu_core::uses;

/// The switches of one owner.
pub struct SwitchRecord {
    records: Arc<dyn Records>,
    file: Option<PathBuf>,
}

impl SwitchRecord {
    /// The switches in these records.
    pub fn new(records: Arc<dyn Records>) -> Self {
        Self {
            records,
            file: None,
        }
    }

    /// The same switches, which change only together with this file: a watched library needn't read
    /// them again and again.
    #[must_use]
    pub fn in_file(self, file: PathBuf) -> Self {
        let file = Some(std::path::absolute(&file).unwrap_or(file));
        Self { file, ..self }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Reads the switches on this thread, which may be no thread of a runtime.
    pub(crate) fn read(&self) -> Result<Switches, PortError> {
        futures_executor::block_on(Switches::read(&*self.records))
    }

    /// Reads how often skills were used; what can't be read was never used.
    pub(crate) fn uses(&self) -> UseCounts {
        let counts = futures_executor::block_on(uses::read(&*self.records));
        counts
            .inspect_err(|error| tracing::debug!(%error, "the uses of skills can't be read"))
            .unwrap_or_default()
    }

    /// Enables or disables a skill; answers whether that changed anything.
    pub(crate) async fn set(&self, skill: &str, enabled: bool) -> Result<bool, PortError> {
        Switches::update(&*self.records, skill, enabled).await
    }
}

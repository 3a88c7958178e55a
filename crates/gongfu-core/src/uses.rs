//! Uses: the log of skills that were loaded or run.
//!
//! The log is bounded in size, so old uses drop out by themselves. It is read once, when a library is
//! first read: the order of a catalogue never changes while a client works with it.

use crate::library::UseCounts;
use crate::port::{PortError, RecordKey, Records};

/// The limit of uses that are counted, the latest ones.
const MAX_COUNTED: usize = 2_000;

/// Counts the uses of the skills of a space. A line that is no identity of a skill is skipped.
///
/// # Errors
/// The log can't be read.
pub async fn read(records: &dyn Records) -> Result<UseCounts, PortError> {
    let lines = records.entries(&key()?, MAX_COUNTED).await?;
    let skills = lines.iter();
    Ok(skills
        .filter_map(|line| serde_json::from_slice::<String>(line).ok())
        .collect())
}

/// Records a use of a skill, by its identity.
///
/// # Errors
/// The log can't be written.
pub async fn record(records: &dyn Records, skill: &str) -> Result<(), PortError> {
    let line = serde_json::to_vec(skill).map_err(|error| PortError::Other(error.into()))?;
    records.append_soon(&key()?, &line).await
}

fn key() -> Result<RecordKey, PortError> {
    Ok(RecordKey::new("uses")?)
}

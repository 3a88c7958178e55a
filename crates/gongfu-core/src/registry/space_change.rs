//! A count of the changes after which spaces look at their accounts again: of teams and of limits.

use serde::{Deserialize, Serialize};

use super::{Accounts, StoredValue, Write};
use crate::port::{PortError, RecordKey};

/// The number of changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpaceChanges {
    changes: u64,
}

impl Accounts {
    /// The number of changes of teams and of users' limits. What was kept of them is out of date when it differs.
    ///
    /// # Errors
    /// The store fails.
    pub async fn space_changes(&self) -> Result<u64, PortError> {
        let changes: Option<StoredValue<SpaceChanges>> = self.read(&changes_key()?).await?;
        Ok(changes.map_or(0, |changes| changes.value.changes))
    }

    /// The write that counts a change.
    pub(super) async fn count_change(&self) -> Result<Write, PortError> {
        let key = changes_key()?;
        let before: Option<StoredValue<SpaceChanges>> = self.read(&key).await?;
        let version = before.as_ref().map(|before| before.version);
        let changes = before.map_or(0, |before| before.value.changes);
        let counted = SpaceChanges {
            changes: changes.wrapping_add(1),
        };
        Write::put(key, version, &counted)
    }
}

fn changes_key() -> Result<RecordKey, PortError> {
    Ok(RecordKey::new("space-changes")?)
}

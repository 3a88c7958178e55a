//! Switches: the skills that their owner disabled.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::port::{PortError, RecordKey, Records, read_record, update_record};

/// The disabled skills, by an identity that stays when a source gets another name: the real path
/// of the folder, or the full name of a built-in skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// The identities.
    #[serde(default)]
    pub disabled: BTreeSet<String>,
}

impl Switches {
    /// The key of their record.
    ///
    /// # Errors
    /// None: the key is a fixed one.
    pub fn key() -> Result<RecordKey, PortError> {
        Ok(RecordKey::new("switches")?)
    }

    /// Reads the switches of a space.
    ///
    /// # Errors
    /// They can't be read.
    pub async fn read(records: &dyn Records) -> Result<Self, PortError> {
        read_record(records, &Self::key()?).await
    }

    /// Enables or disables one skill of a space; answers whether that changed anything.
    ///
    /// # Errors
    /// They can't be read or written; then they stay as they are.
    pub async fn update(
        records: &dyn Records,
        skill: &str,
        enabled: bool,
    ) -> Result<bool, PortError> {
        update_record(records, &Self::key()?, |switches: &mut Self| {
            switches.set(skill, enabled)
        })
        .await
    }

    /// Enables or disables one skill; answers whether that changed anything.
    fn set(&mut self, skill: &str, enabled: bool) -> bool {
        if enabled {
            self.disabled.remove(skill)
        } else {
            self.disabled.insert(skill.to_owned())
        }
    }
}

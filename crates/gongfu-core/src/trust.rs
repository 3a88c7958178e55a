//! Trust: the projects whose skills a person trusts.
//!
//! A project is known by its real path: moved, or as another worktree, it is another one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::port::{PortError, RecordKey, Records, Timestamp, read_record, update_record};

/// The trusted projects of a space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusts {
    /// Their folders, with the time of the decision in milliseconds since 1970.
    #[serde(default)]
    pub projects: BTreeMap<String, i64>,
}

impl Trusts {
    /// The key of their record.
    ///
    /// # Errors
    /// None: the key is a fixed one.
    pub fn key() -> Result<RecordKey, PortError> {
        Ok(RecordKey::new("trust")?)
    }

    /// Reads the trusted projects of a space.
    ///
    /// # Errors
    /// They can't be read; nothing is trusted then.
    pub async fn read(records: &dyn Records) -> Result<Self, PortError> {
        read_record(records, &Self::key()?).await
    }

    /// Trusts a project; answers whether that changed anything.
    ///
    /// # Errors
    /// The record can't be read or written, or the folder's name isn't text, so that it could be mistaken
    /// for another one.
    pub async fn add(
        records: &dyn Records,
        project: &str,
        now: Timestamp,
    ) -> Result<bool, PortError> {
        if project.contains(char::REPLACEMENT_CHARACTER) {
            let why = "a project in a folder whose name isn't text can't be trusted";
            return Err(PortError::Denied(why.to_owned()));
        }
        update_record(records, &Self::key()?, |trusts: &mut Self| {
            let is_new = !trusts.is_trusted(project);
            trusts.projects.entry(project.to_owned()).or_insert(now.0);
            is_new
        })
        .await
    }

    /// Trusts a project no more; answers whether that changed anything.
    ///
    /// # Errors
    /// The record can't be read or written.
    pub async fn remove(records: &dyn Records, project: &str) -> Result<bool, PortError> {
        update_record(records, &Self::key()?, |trusts: &mut Self| {
            trusts.projects.remove(project).is_some()
        })
        .await
    }

    /// Returns whether a project is trusted: this very folder, none above it.
    pub fn is_trusted(&self, project: &str) -> bool {
        self.projects.contains_key(project)
    }
}

//! Removes records that are of no use any more, a few with each change.

use serde::de::DeserializeOwned;

use super::{Accounts, Write};
use crate::port::{PortError, Record, RecordKey};

/// The number of records that are looked through at once.
const MAX_SWEEP: usize = 50;

impl Accounts {
    /// The writes that remove records below a key that are of no use any more, as far as they are among the first.
    ///
    /// Ids are random, so that with each call others are among them.
    pub(super) async fn sweep<T: DeserializeOwned>(
        &self,
        kind: &str,
        is_over: impl Fn(&T) -> bool,
    ) -> Result<Vec<Write>, PortError> {
        let prefix = RecordKey::new(kind)?;
        let page = self.parts.records.page(&prefix, None, MAX_SWEEP).await?;
        let over = |record: &Record| {
            serde_json::from_slice(&record.value).is_ok_and(|value: T| is_over(&value))
        };
        let page = page.into_iter().filter(|(_, record)| over(record));
        Ok(page
            .map(|(key, record)| Write::remove(key, record.version))
            .collect())
    }
}

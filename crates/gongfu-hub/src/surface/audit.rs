//! The audit of a space, for its person.

use gongfu_core::audit;
use gongfu_core::port::PortError;
use gongfu_core::skill::Digest;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::operation::{self, Operation, specified};
use super::page::{self, Page};
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::tool::ToolSpec;

/// The name of the list in cursors.
const LIST: &str = "audit";
/// The entries that can be listed; older ones are in the log alone.
const MAX_LISTED: usize = 10_000;

/// Lists the entries of the audit, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditList {
    /// Leads to the next page.
    pub cursor: Option<String>,
    /// The most entries of the page.
    pub limit: usize,
}

impl Operation for AuditList {
    const NAME: &'static str = "audit/list";
    type Output = Page<Map<String, Value>>;
    specified!(ToolSpec {
        person_only: true,
        ..operation::spec::<Self>()
    });

    async fn run(self, call: &Call) -> Result<Self::Output, ToolError> {
        let after = page::behind(LIST, self.cursor.as_deref())?;
        let broken = |error: &PortError| Problem::broken("the audit", error).error();
        let log = audit::key().map_err(|error| broken(&error))?;
        let entries = call.space.records().entries(&log, MAX_LISTED).await;
        let entries = entries.map_err(|error| broken(&error))?;
        let mut newest_first = entries.iter().rev().map(|entry| (entry, key(entry)));
        if let Some(after) = after {
            let found = newest_first.find(|(_, key)| *key == after);
            found.ok_or_else(|| page::foreign(LIST))?;
        }
        let limit = self.limit.clamp(1, page::MAX_ENTRIES);
        Ok(Page::limited(
            limit,
            LIST,
            newest_first,
            |(_, key)| key,
            |(entry, _)| Some((serde_json::from_slice(entry).ok()?, entry.len())),
        ))
    }
}

/// The name of an entry in a cursor.
fn key(entry: &[u8]) -> String {
    Digest::of(entry).hex(32)
}

//! The capabilities of a caller, in pages.

use gongfu_core::capability::Safety;
use schemars::JsonSchema;
use serde::Serialize;

use super::operation::{Operation, specified};
use super::page::{self, Page};
use crate::call::Call;
use crate::capability::{self, Capability, CapabilityKind};
use crate::error::ToolError;
use crate::tool::ToolSpec;

/// The name of the list in cursors.
const LIST: &str = "capabilities";

/// Lists what an agent of the caller can use: gongfu's own tools, skills, and tools of other servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapabilityList {
    /// Only those of this kind.
    pub(crate) kind: Option<CapabilityKind>,
    /// Leads to the next page.
    pub(crate) cursor: Option<String>,
    /// The most capabilities of the page; all where it is missing.
    pub(crate) limit: Option<usize>,
    /// The tools that the caller sees.
    #[serde(skip)]
    pub(crate) tools: Vec<ToolSpec>,
    /// The level from which a person is asked.
    #[serde(skip)]
    pub(crate) threshold: Safety,
}

impl Operation for CapabilityList {
    const NAME: &'static str = "capability/list";
    type Output = Page<Capability>;
    specified!();

    async fn run(self, call: &Call) -> Result<Page<Capability>, ToolError> {
        let after = page::behind(LIST, self.cursor.as_deref())?;
        let mut all = capability::all(call, &self.tools, self.threshold).await?;
        let is_wanted = |one: &Capability| self.kind.is_none_or(|kind| one.kind == kind);
        all.retain(|one| is_wanted(one) && after.as_ref().is_none_or(|after| one.id > *after));
        let Some(limit) = self.limit else {
            return Ok(Page {
                items: all,
                next: None,
            });
        };
        Ok(Page::limited(
            limit.clamp(1, page::MAX_ENTRIES),
            LIST,
            all.into_iter(),
            |one| &one.id,
            |one| {
                let bytes = serde_json::to_vec(one).map_or(0, |json| json.len());
                Some((one.clone(), bytes))
            },
        ))
    }
}

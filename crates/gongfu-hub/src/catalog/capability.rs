//! The capabilities of a caller, whatever surface asks.

use gongfu_core::account::Actor;

use super::snapshot::is_many;
use super::{Catalog, is_permitted};
use crate::capability::{Capability, CapabilityContext, CapabilityKind};
use crate::error::ToolError;
use crate::profile::{self, Profile};
use crate::surface::capability::CapabilityList;
use crate::surface::page::Page;
use crate::tool::ToolSpec;

/// A part of the list of capabilities.
#[derive(Debug, Clone, Default)]
pub struct CapabilityQuery {
    /// Only those of this kind.
    pub kind: Option<CapabilityKind>,
    /// Leads to the next page.
    pub cursor: Option<String>,
    /// The most capabilities of the page; all where it is missing.
    pub limit: Option<usize>,
}

impl Catalog {
    /// Everything that an agent of a caller can use, by id: the tools of the profiles that the caller may call, each tool
    /// of another server however many there are, and the skills that it reaches.
    ///
    /// # Errors
    /// The gate refuses, the cursor is another list's, or a part of it can't be read.
    pub async fn capabilities(
        &self,
        query: CapabilityQuery,
        profiles: &[Profile],
        actor: &Actor,
    ) -> Result<Page<Capability>, ToolError> {
        let entries = self.entries.load_full();
        let is_many = profile::dialects(profiles).any(|dialect| dialect.gains_search)
            && self.library(actor).await.is_some_and(|all| is_many(&all));
        // Without what they say about the library: its skills are in the list themselves.
        let visible = entries.visible(profiles, &actor.owner, is_many);
        let tools = visible.map(|entry| entry.spec());
        let tools = tools.filter(|spec| is_permitted(spec, actor)).cloned();
        let tools: Vec<ToolSpec> = tools.collect();
        let CapabilityQuery {
            kind,
            cursor,
            limit,
        } = query;
        let list = CapabilityList {
            kind,
            cursor,
            limit,
            tools,
            threshold: self.gate.threshold,
        };
        self.operate(list, actor).await
    }

    /// The same as the context of an agent, with hints for its plan.
    ///
    /// # Errors
    /// As [`Self::capabilities`].
    pub async fn capability_context(
        &self,
        profiles: &[Profile],
        actor: &Actor,
    ) -> Result<CapabilityContext, ToolError> {
        let all = self.capabilities(CapabilityQuery::default(), profiles, actor);
        Ok(CapabilityContext::from(all.await?.items))
    }
}

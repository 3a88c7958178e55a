//! The capabilities of the caller: everything that an agent of theirs can use.

use gongfu_hub::{Capability, CapabilityKind, CapabilityQuery, Profile};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use super::skill::READ;
use super::tool::{profile_names, profiles};
use crate::problem::Problem;

/// The capabilities of a page, unless somebody asks for another number.
const PAGE: usize = 50;

/// The names of the kinds, and null, for schemas.
pub(super) fn kind_names() -> Vec<Option<&'static str>> {
    let names = CapabilityKind::ALL.map(CapabilityKind::as_str);
    names.into_iter().map(Some).chain([None]).collect()
}

/// Capabilities.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CapabilityPage {
    /// The capabilities, by id.
    items: Vec<Capability>,
    /// Leads to the next page; null on the last one.
    next_cursor: Option<String>,
}

/// The part of the capabilities that a request asks for.
pub(super) struct PageChoice {
    pub(super) kind: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) set: Option<String>,
}

impl CapabilityPage {
    /// The page with tools of these profiles.
    ///
    /// # Errors
    /// The cursor isn't one, or the set isn't there.
    pub(super) async fn read(
        context: &Context,
        choice: PageChoice,
        profiles: &[Profile],
    ) -> Result<Self, Problem> {
        let kind = choice.kind.as_deref();
        let query = CapabilityQuery {
            kind: kind.and_then(CapabilityKind::from_name),
            cursor: choice.cursor,
            limit: Some(choice.limit.unwrap_or(PAGE)),
        };
        let actor = context.actor_in(choice.set.as_deref())?;
        let page = context.catalog().capabilities(query, profiles, &actor);
        let page = page.await?;
        Ok(Self {
            items: page.items,
            next_cursor: page.next,
        })
    }
}

/// List everything that an agent with the credential can use: tools, skills, and tools of other servers.
///
/// Each has what a plan must know: its safety level, whether a call of an agent waits for a person, its cost, the
/// duration of past calls, its health, and another capability that does the same.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CapabilityRead {
    /// Only those of this kind.
    #[schemars(extend("enum" = kind_names()))]
    kind: Option<String>,
    /// The tools of this profile.
    #[schemars(extend("enum" = profile_names()))]
    profile: Option<String>,
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 1, max = 2_000), extend("pattern" = "^[A-Za-z0-9_-]+$"))]
    cursor: Option<String>,
    /// The most capabilities of the page (50).
    #[schemars(range(min = 1, max = 250))]
    limit: Option<usize>,
    /// The set that the request works with; a set only narrows.
    #[schemars(length(min = 1, max = 128))]
    set: Option<String>,
}

impl Endpoint for CapabilityRead {
    const NAME: &'static str = "capability_list";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/capabilities";
    const ACCESS: Access = READ;
    const REFUSALS: &'static [Refusal] = &[Refusal::INVALID_CURSOR];
    type Reply = CapabilityPage;

    async fn answer(self, context: &Context) -> Result<Answer<CapabilityPage>, Problem> {
        let profiles = profiles(context, self.profile.as_deref())?;
        let choice = PageChoice {
            kind: self.kind,
            cursor: self.cursor,
            limit: self.limit,
            set: self.set,
        };
        let page = CapabilityPage::read(context, choice, &profiles).await?;
        Ok(Answer::from(page))
    }
}

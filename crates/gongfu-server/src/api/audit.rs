//! The audit: a user's own calls, and the events of all accounts for admins.

use gongfu_core::account::TeamRole;
use gongfu_core::audit;
use gongfu_core::port::ChainBreak;
use gongfu_hub::surface::audit::AuditList;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::context::Context;
use super::endpoint::{Access, Answer, Endpoint, Refusal};
use crate::problem::Problem;

/// The entries of a page, unless somebody asks for another number.
const PAGE: usize = 50;

/// Entries of an audit.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditPage {
    /// The entries.
    items: Vec<Map<String, Value>>,
    /// Leads to the next page; null on the last one.
    next_cursor: Option<String>,
}

/// List your calls of tools and operations, the newest first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditRead {
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 1, max = 200), extend("pattern" = "^[A-Za-z0-9_-]+$"))]
    cursor: Option<String>,
    /// The most entries of the page (50).
    #[schemars(range(min = 1, max = 250))]
    limit: Option<usize>,
}

impl Endpoint for AuditRead {
    const NAME: &'static str = "audit_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/audit";
    const ACCESS: Access = Access::Person;
    const TEAM: Option<TeamRole> = Some(TeamRole::Maintainer);
    const REFUSALS: &'static [Refusal] = &[Refusal::INVALID_CURSOR];
    type Reply = AuditPage;

    async fn answer(self, context: &Context) -> Result<Answer<AuditPage>, Problem> {
        let list = AuditList {
            cursor: self.cursor,
            limit: self.limit.unwrap_or(PAGE),
        };
        let page = context.operate(list).await?;
        Ok(Answer::from(AuditPage {
            items: page.items,
            next_cursor: page.next,
        }))
    }
}

/// List the events of all accounts, the oldest first: users, tokens and sign-ins that came, changed and went.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerAuditRead {
    /// The `next_cursor` of the page before: the number of its last entry.
    #[schemars(length(min = 1, max = 19), extend("pattern" = "^[0-9]{1,19}$"))]
    cursor: Option<String>,
    /// The most entries of the page (50).
    #[schemars(range(min = 1, max = 250))]
    limit: Option<usize>,
}

impl Endpoint for ServerAuditRead {
    const NAME: &'static str = "server_audit_read";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/admin/audit";
    const ACCESS: Access = Access::Admin;
    type Reply = AuditPage;

    async fn answer(self, context: &Context) -> Result<Answer<AuditPage>, Problem> {
        let after = self
            .cursor
            .as_deref()
            .map_or(Some(0), |cursor| cursor.parse().ok());
        let why = "it isn't a cursor of this list";
        let after: u64 = after.ok_or_else(|| Problem::field("cursor", why))?;
        let limit = self.limit.unwrap_or(PAGE);
        let (logs, log) = (&context.server()?.logs, audit::key()?);
        let mut entries = logs.entries_after(&log, after, limit + 1).await?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let last = entries.last().map(|entry| entry.number);
        let items = entries.iter().map(|entry| {
            let mut item: Map<String, Value> =
                serde_json::from_slice(&entry.entry).unwrap_or_default();
            item.insert("number".to_owned(), entry.number.into());
            item.insert("hash".to_owned(), entry.hash.to_string().into());
            item
        });
        Ok(Answer::from(AuditPage {
            items: items.collect(),
            next_cursor: last.filter(|_| has_more).map(|last| last.to_string()),
        }))
    }
}

/// The result of checking a chain of hashes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditCheck {
    /// True if every entry fits the ones before it.
    is_whole: bool,
    /// The number of the last entry; of the first that doesn't fit where one doesn't.
    number: u64,
    /// The hash of the last entry: compare it with one that you stored elsewhere.
    hash: Option<String>,
}

/// Check the chain of hashes of the server's audit: no entry was changed or removed, unless at the end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerAuditVerify {}

impl Endpoint for ServerAuditVerify {
    const NAME: &'static str = "server_audit_verify";
    const METHOD: Method = Method::GET;
    const PATH: &'static str = "/api/v1/admin/audit/verify";
    const ACCESS: Access = Access::Admin;
    type Reply = AuditCheck;

    async fn answer(self, context: &Context) -> Result<Answer<AuditCheck>, Problem> {
        let checked = context.server()?.logs.verify(&audit::key()?).await?;
        Ok(Answer::from(match checked {
            Ok(head) => AuditCheck {
                is_whole: true,
                number: head.number,
                hash: Some(head.hash.to_string()),
            },
            Err(ChainBreak { number }) => AuditCheck {
                is_whole: false,
                number,
                hash: None,
            },
        }))
    }
}

//! Runs an operation of the hub for a request.

use std::sync::Arc;

use gongfu_hub::surface::{Operation, page};
use gongfu_hub::{Problem, ToolError};
use rmcp::model::{CacheScope, ErrorData, PaginatedRequestParams, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use tokio::task::JoinSet;

use super::Server;
use crate::wire;

/// The milliseconds for which a list, or an entry of one, may be taken for fresh: a change is seen
/// within a second, by a client that asks as well as by one that is notified.
const FRESH: u64 = 1_000;

/// The hint for how long a list or an entry may be kept (SEP-2549).
pub(super) fn list_hint(context: &RequestContext<RoleServer>) -> CacheHint {
    cache_hint(context, FRESH)
}

/// The hint for a file: its answer is always what is on disk now.
pub(super) fn file_hint(context: &RequestContext<RoleServer>) -> CacheHint {
    cache_hint(context, 0)
}

/// The milliseconds for which an answer may be kept, and where; nothing for the revisions that don't
/// know it.
type CacheHint = (Option<u64>, Option<CacheScope>);

/// Always private: whose skills they are, the protocol doesn't tell a proxy.
fn cache_hint(context: &RequestContext<RoleServer>, fresh: u64) -> CacheHint {
    let version = context.protocol_version();
    let knows = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    (knows.then_some(fresh), knows.then_some(CacheScope::Private))
}

/// The cursor of a request that needn't have one.
pub(super) fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

/// Refuses a cursor for a list that has one page.
pub(super) fn whole(list: &str, request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match cursor(request) {
        Some(_) => Err(wire::refused(&page::foreign(list))),
        None => Ok(()),
    }
}

impl Server {
    /// Answers a request by an operation; a failure is an error of the protocol.
    pub(super) async fn answer<O: Operation>(
        &self,
        operation: O,
        context: &RequestContext<RoleServer>,
    ) -> Result<O::Output, ErrorData>
    where
        O::Output: 'static,
    {
        let answer = self.operate(operation, context).await;
        answer.map_err(|error| wire::refused(&error))
    }

    /// Lets an operation run, as a task of its own: a fault in it ends the request and not the
    /// server, and a request that is cancelled ends it.
    pub(super) async fn operate<O: Operation>(
        &self,
        operation: O,
        context: &RequestContext<RoleServer>,
    ) -> Result<O::Output, ToolError>
    where
        O::Output: 'static,
    {
        self.roots.settled().await;
        let (catalog, actor) = (Arc::clone(&self.catalog), self.actor(context));
        let mut running = JoinSet::new();
        self.spawn(&mut running, async move {
            catalog.operate(operation, &actor).await
        });
        match running.join_next().await {
            Some(Ok(outcome)) => outcome,
            _ => Err(Problem::Fault {
                reason: format!("{} stopped without an answer", O::NAME),
            }
            .error()),
        }
    }
}

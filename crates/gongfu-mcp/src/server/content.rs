//! Prompts and resources of other servers, beside gongfu's own.

use std::sync::Arc;

use gongfu_core::trace::TraceContext;
use gongfu_hub::{ContentList, ContentRequest, Problem, ToolError};
use rmcp::model::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;

use super::Server;
use crate::wire;

/// Entries of a list, and the cursor of the next page.
pub(super) type Entries<T> = (Vec<T>, Option<String>);

impl Server {
    /// A page of a list: those of gongfu's own, and after the last of them those of other servers.
    pub(super) async fn with_others<T: DeserializeOwned>(
        &self,
        list: ContentList,
        cursor: Option<&str>,
        context: &RequestContext<RoleServer>,
        own: impl Future<Output = Result<Entries<T>, ErrorData>>,
    ) -> Result<Entries<T>, ErrorData> {
        let is_other = list.has_cursor(cursor);
        let mut entries = Vec::new();
        if !is_other {
            let (page, next) = own.await?;
            if next.is_some() {
                return Ok((page, next));
            }
            entries = page;
        }
        let (profiles, actor) = (self.profiles(context), self.actor(context));
        let from = cursor.filter(|_| is_other);
        let page = self.catalog.server_content(list, &profiles, &actor, from);
        let page = match page.await {
            Ok(page) => page,
            Err(error) if is_other => return Err(wire::refused(&error)),
            Err(error) => {
                tracing::warn!(%error, "what other servers have is left out");
                return Ok((entries, None));
            }
        };
        for entry in page.items {
            match serde_json::from_value(Value::Object(entry)) {
                Ok(entry) => entries.push(entry),
                Err(error) => tracing::warn!(%error, "an entry of another server is left out"),
            }
        }
        Ok((entries, page.next))
    }

    /// Asks the server that has it; `None` where no other server has it.
    pub(super) async fn ask_others<T: DeserializeOwned>(
        &self,
        request: ContentRequest,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<T, ToolError>> {
        if !request.may_be_foreign() {
            return None;
        }
        self.roots.settled().await;
        let (profiles, actor) = (self.profiles(context), self.actor(context));
        let trace = TraceContext::read(|name| Some(context.meta.get(name)?.as_str()?.to_owned()));
        let catalog = Arc::clone(&self.catalog);
        // A task of its own, so that a fault ends the request and not the server.
        let mut running = JoinSet::new();
        self.spawn(&mut running, async move {
            catalog.ask_server(&request, &profiles, &actor, trace).await
        });
        let result = match running.join_next().await {
            Some(Ok(Ok(result))) => serde_json::from_value(result?).map_err(|error| {
                let reason = format!("a server's answer can't be read: {error}");
                Problem::Fault { reason }.error()
            }),
            Some(Ok(Err(error))) => Err(error),
            _ => {
                let reason = "the request stopped without an answer".to_owned();
                Err(Problem::Fault { reason }.error())
            }
        };
        Some(result)
    }
}

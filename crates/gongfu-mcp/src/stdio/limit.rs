//! Limits how many requests of a connection run at once, and answers those that panic.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::traffic::Traffic;

/// The number of calls, and of other requests, that run at once; more wait for their turn. A call may wait for a
/// person, and the others must be answered meanwhile.
pub(super) const MAX_RUNNING: usize = 64;
/// The number of subscriptions. They run until the client ends them, so more are refused.
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// A service with a limit on requests that run at once.
pub(super) struct LimitedService<S> {
    service: S,
    traffic: Traffic,
    calls: Arc<Semaphore>,
    others: Arc<Semaphore>,
    subscriptions: Arc<Semaphore>,
}

impl<S> LimitedService<S> {
    pub(super) fn new(service: S, traffic: Traffic) -> Self {
        Self {
            service,
            traffic,
            calls: Arc::new(Semaphore::new(MAX_RUNNING)),
            others: Arc::new(Semaphore::new(MAX_RUNNING)),
            subscriptions: Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS)),
        }
    }

    /// Waits until a request may run.
    async fn permit(
        &self,
        request: &ClientRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<OwnedSemaphorePermit>, ErrorData> {
        if let ClientRequest::SubscriptionsListenRequest(_) = request {
            let permit = Arc::clone(&self.subscriptions).try_acquire_owned();
            return permit.map(Some).map_err(|_| {
                let text = format!(
                    "the limit of {MAX_SUBSCRIPTIONS} subscriptions is reached: cancel one, or request several at once"
                );
                ErrorData::invalid_request(text, None)
            });
        }
        let running = match request {
            ClientRequest::CallToolRequest(_) => &self.calls,
            _ => &self.others,
        };
        tokio::select! {
            // The semaphore is never closed.
            permit = Arc::clone(running).acquire_owned() => Ok(permit.ok()),
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the request was cancelled", None))
            }
        }
    }
}

impl<S: Service<RoleServer>> Service<RoleServer> for LimitedService<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let permit = self.permit(&request, &context).await?;
        let id = context.id.clone();
        let handling = AssertUnwindSafe(self.service.handle_request(request, context));
        let answer = handling.catch_unwind().await;
        self.traffic.keep(&id, permit);
        answer.unwrap_or_else(|_| {
            let text = "the request failed with an internal error";
            Err(ErrorData::internal_error(text, None))
        })
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.service
            .handle_notification(notification, context)
            .await
    }

    fn get_info(&self) -> ServerConfig {
        self.service.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.service.supported_protocol_versions()
    }
}

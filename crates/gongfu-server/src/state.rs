//! The state of all routes.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::extract::State;
use axum::response::IntoResponse;
use gongfu_core::port::Clock;
use http::{Extensions, HeaderMap};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::client_address::client_address;
use crate::guard::Guard;
use crate::metric::Metrics;
use crate::problem::Problem;
use crate::token::Token;

/// The answer to a health check.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// The version of gongfu.
    pub version: String,
    /// True once the library has been read.
    pub ready: bool,
    /// The sandbox that is used, or `unavailable`; missing until it has been tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<&'static str>,
}

/// Makes a span a child of the trace that a request names. The function looks a header up.
pub type LinkParentTrace = fn(&tracing::Span, &dyn Fn(&str) -> Option<String>);

/// The state of all routes.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) guard: Arc<Guard>,
    /// The token that stands for the server's user.
    pub(crate) token: Option<Token>,
    /// True if credentials say who calls, and not connections.
    pub(crate) has_accounts: bool,
    /// True if clients come through a proxy.
    pub(crate) has_proxy: bool,
    /// The way to a credential of a server with accounts, for `WWW-Authenticate`.
    pub(crate) challenge: Option<Arc<str>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) stopping: Arc<AtomicBool>,
    /// Stops the turns of the agent.
    pub(crate) turns: CancellationToken,
    pub(crate) link_parent_trace: Option<LinkParentTrace>,
    pub(crate) health: Arc<dyn Fn() -> Health + Send + Sync>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl AppState {
    /// A problem document with the time.
    pub(crate) fn problem(&self, problem: Problem) -> impl IntoResponse + use<> {
        problem.at(self.clock.now(), self.challenge.as_deref())
    }

    /// The address of the client of a request.
    pub(crate) fn client_address(&self, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
        client_address(extensions, headers, self.has_proxy)
    }
}

/// The answer to other methods than GET and HEAD.
pub(crate) async fn only_get(State(state): State<AppState>) -> impl IntoResponse {
    state.problem(Problem::MethodWrong("GET, HEAD".into()))
}

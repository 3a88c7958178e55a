//! The routes, and what stands behind them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use gongfu_core::port::Clock;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use tower_service::Service;

use crate::guard::{self, Guard};
use crate::metric::Metrics;
use crate::problem::Problem;
use crate::public_url::PublicUrl;
use crate::request;

/// Where MCP is.
pub const MCP_PATH: &str = "/mcp";
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// What the server says of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// Which version runs.
    pub version: String,
    /// Whether the library has been read, so that calls are answered at once.
    pub ready: bool,
    /// What scripts are run in, or `unavailable` where no sandbox works; missing while it is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<&'static str>,
}

/// Makes a span part of the trace that a request brings, in the headers that the function finds.
pub type Adopt = fn(&tracing::Span, &dyn Fn(&str) -> Option<String>);

/// What a server serves.
pub struct Surface<M> {
    /// MCP, for every request below [`MCP_PATH`].
    pub mcp: M,
    /// What is told at `/health`.
    pub health: Arc<dyn Fn() -> Health + Send + Sync>,
    /// What is told at `/metrics`.
    pub metrics: Arc<Metrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How a request becomes part of somebody's trace, if that is of interest.
    pub adopt: Option<Adopt>,
    /// What the server is called from outside.
    pub public_url: Option<PublicUrl>,
}

/// What every route can reach.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) guard: Arc<Guard>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) stopping: Arc<AtomicBool>,
    pub(crate) adopt: Option<Adopt>,
    health: Arc<dyn Fn() -> Health + Send + Sync>,
    clock: Arc<dyn Clock>,
}

impl Shared {
    /// A refusal, as of now.
    pub(crate) fn refusal(&self, problem: Problem) -> impl IntoResponse + use<> {
        problem.at(self.clock.now())
    }
}

impl<M> Surface<M>
where
    M: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    M::Response: IntoResponse,
    M::Future: Send + 'static,
{
    /// The routes.
    pub(crate) fn router(self) -> (Router, Shared) {
        let shared = Shared {
            guard: Arc::new(Guard::new(self.public_url.as_ref())),
            metrics: self.metrics,
            stopping: Arc::default(),
            adopt: self.adopt,
            health: self.health,
            clock: self.clock,
        };
        let router = Router::new()
            .route("/health", get(health).fallback(only_get))
            .route("/health/ready", get(ready).fallback(only_get))
            .route("/metrics", get(metrics).fallback(only_get))
            .route("/sse", any(gone))
            .route_service(MCP_PATH, self.mcp)
            .fallback(unknown)
            .layer(middleware::from_fn_with_state(shared.clone(), guard::check))
            .layer(middleware::from_fn_with_state(
                shared.clone(),
                request::observe,
            ))
            .with_state(shared.clone());
        (router, shared)
    }
}

/// A path as a label: whatever isn't a route counts together.
pub(crate) fn name(path: &str) -> &'static str {
    const ROUTES: [&str; 5] = [MCP_PATH, "/health", "/health/ready", "/metrics", "/sse"];
    let mut routes = ROUTES.into_iter();
    routes.find(|route| *route == path).unwrap_or("other")
}

#[derive(Serialize)]
struct Told {
    status: &'static str,
    #[serde(flatten)]
    health: Health,
}

async fn health(State(shared): State<Shared>) -> Response {
    let told = Told {
        status: "ok",
        health: (shared.health)(),
    };
    fresh(Json(told))
}

async fn ready(State(shared): State<Shared>) -> Response {
    let health = (shared.health)();
    let (code, status) = if shared.stopping.load(Ordering::Relaxed) {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else if health.ready {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting")
    };
    fresh((code, Json(Told { status, health })))
}

async fn metrics(State(shared): State<Shared>) -> Response {
    let body = Body::from(shared.metrics.text());
    fresh(([(CONTENT_TYPE, OPEN_METRICS)], body))
}

async fn gone(State(shared): State<Shared>) -> impl IntoResponse {
    shared.refusal(Problem::TransportGone)
}

async fn only_get(State(shared): State<Shared>) -> impl IntoResponse {
    shared.refusal(Problem::MethodWrong("GET, HEAD"))
}

async fn unknown(State(shared): State<Shared>) -> impl IntoResponse {
    shared.refusal(Problem::RouteUnknown)
}

/// An answer that nobody keeps.
fn fresh(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

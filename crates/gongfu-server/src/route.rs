//! The routes and their answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Extension, Json, Router};
use gongfu_core::port::Clock;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::api::{Api, ApiParts, speak_openai};
use crate::caller::Caller;
use crate::guard::Guard;
use crate::metric::Metrics;
use crate::oauth::{self, OAuthParts};
use crate::path::{HEALTH_PATH, MCP_PATH};
use crate::problem::Problem;
use crate::public_url::PublicUrl;
use crate::published::{self, PublishedFiles};
use crate::request;
use crate::state::{AppState, Health, LinkParentTrace, only_get};
use crate::token::Token;
use crate::unread_body;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Everything that a server serves.
pub struct Surface<M> {
    /// MCP, for every request below [`MCP_PATH`].
    pub mcp: M,
    /// The answer at `/health`.
    pub health: Arc<dyn Fn() -> Health + Send + Sync>,
    /// The answer at `/metrics`.
    pub metrics: Arc<Metrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Links requests to the traces that they name.
    pub link_parent_trace: Option<LinkParentTrace>,
    /// The URL of the server as its clients see it.
    pub public_url: Option<PublicUrl>,
    /// The token that stands for the server's user; without one, only that user is answered.
    pub token: Option<Token>,
    /// The REST API. Without accounts in it, the server answers its own user alone; with them, every caller with a
    /// credential.
    pub api: Option<ApiParts>,
    /// The sign-in of clients to these accounts.
    pub sign_in: Option<OAuthParts>,
    /// Skills that anybody may add from here, without a credential.
    pub published: Option<PublishedFiles>,
}

impl<M> Surface<M>
where
    M: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    M::Response: IntoResponse,
    M::Future: Send + 'static,
{
    /// The routes.
    pub(crate) fn router(self) -> (Router, AppState) {
        let clock = Arc::clone(&self.clock);
        let turns = CancellationToken::new();
        let api = self
            .api
            .map(|parts| Arc::new(Api::new(parts, clock, turns.clone())));
        let accounts = api.as_ref().filter(|api| api.has_accounts());
        let state = AppState {
            guard: Arc::new(Guard::new(self.public_url.as_ref())),
            token: self.token,
            has_accounts: accounts.is_some(),
            has_proxy: self.public_url.is_some(),
            challenge: accounts.map(|api| api.challenge().into()),
            metrics: self.metrics,
            stopping: Arc::default(),
            turns,
            link_parent_trace: self.link_parent_trace,
            health: self.health,
            clock: self.clock,
        };
        let mcp = Router::new().route_service(MCP_PATH, self.mcp);
        let metrics = Router::new().route("/metrics", get(metrics).fallback(only_get));
        let (mcp, metrics) = match accounts {
            Some(api) => (
                api.protect_mcp(mcp, &state),
                api.protect_admin(metrics, &state),
            ),
            None => (mcp, metrics),
        };
        let endpoints = api.as_ref().map(Api::routes).unwrap_or_default();
        let sign_in = self.sign_in.map(oauth::router).unwrap_or_default();
        let sign_in = sign_in.with_state(());
        let router = Router::new()
            .route(HEALTH_PATH, get(health).fallback(only_get))
            .route("/health/ready", get(ready).fallback(only_get))
            .route("/sse", any(gone))
            .merge(mcp)
            .merge(metrics)
            .merge(endpoints)
            .merge(sign_in)
            .merge(published::routes(self.published))
            .fallback(unknown)
            .layer(middleware::from_fn_with_state(
                state.clone(),
                request::refuse_strangers,
            ))
            .layer(middleware::from_fn_with_state(
                state.clone(),
                request::refuse_foreign,
            ))
            .layer(middleware::from_fn(speak_openai))
            .layer(middleware::from_fn(unread_body::finish))
            .layer(middleware::from_fn_with_state(
                state.clone(),
                request::observe,
            ))
            .with_state(state.clone());
        (router, state)
    }
}

#[derive(Serialize)]
struct HealthDocument {
    status: &'static str,
    /// For the server's user alone.
    #[serde(flatten)]
    health: Option<Health>,
}

async fn health(State(state): State<AppState>, caller: Extension<Caller>) -> Response {
    let document = HealthDocument {
        status: "ok",
        health: (*caller == Caller::Own).then(|| (state.health)()),
    };
    uncached(Json(document))
}

async fn ready(State(state): State<AppState>, caller: Extension<Caller>) -> Response {
    let health = (state.health)();
    let (code, status) = if state.stopping.load(Ordering::Relaxed) {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else if health.ready {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting")
    };
    let health = Some(health).filter(|_| *caller == Caller::Own);
    uncached((code, Json(HealthDocument { status, health })))
}

async fn metrics(State(state): State<AppState>) -> Response {
    let body = Body::from(state.metrics.text());
    uncached(([(CONTENT_TYPE, OPEN_METRICS)], body))
}

async fn gone(State(state): State<AppState>) -> impl IntoResponse {
    state.problem(Problem::TransportGone)
}

async fn unknown(State(state): State<AppState>) -> impl IntoResponse {
    state.problem(Problem::RouteUnknown)
}

/// Forbids to cache an answer.
fn uncached(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

//! The skills that an operator publishes: an index and archives at a well-known address, for everybody.
//!
//! Asks for no credential, by intention. Knows no skill: the files are made elsewhere.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::path::PUBLISHED_PATH;
use crate::problem::Problem;
use crate::state::{AppState, only_get};

/// A file for everybody.
#[derive(Debug, Clone)]
pub struct PublishedFile {
    /// Its content.
    pub bytes: Arc<[u8]>,
    /// The digest of its content, for caches.
    pub digest: String,
}

/// Finds a file by its path below the folder of the index.
pub type PublishedFiles = Arc<dyn Fn(&str) -> Option<PublishedFile> + Send + Sync>;

/// The route. Without files every path is unknown.
pub(crate) fn routes(files: Option<PublishedFiles>) -> Router<AppState> {
    let files = files.unwrap_or_else(|| Arc::new(|_| None));
    Router::new()
        .route(
            &format!("{PUBLISHED_PATH}{{*path}}"),
            get(answer).fallback(only_get),
        )
        .layer(Extension(files))
}

async fn answer(
    State(state): State<AppState>,
    Extension(files): Extension<PublishedFiles>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(file) = files(&path) else {
        return state.problem(Problem::RouteUnknown).into_response();
    };
    let tag = format!("\"{}\"", file.digest);
    // A copy may be kept, but is asked about: an old index would name archives that aren't there any more.
    let cache = (CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    let known = headers.get_all(IF_NONE_MATCH).iter();
    let known = known.filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|value| value.split(','));
    if known.any(|known| known.trim().trim_start_matches("W/") == tag) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)], [cache]).into_response();
    }
    let media_type = match path.rsplit('.').next() {
        Some("json") => "application/json",
        Some("zip") => "application/zip",
        _ => "text/markdown; charset=utf-8",
    };
    let kind = (CONTENT_TYPE, HeaderValue::from_static(media_type));
    let body = Body::from(Bytes::from_owner(file.bytes));
    ([(ETAG, tag)], [cache, kind], body).into_response()
}

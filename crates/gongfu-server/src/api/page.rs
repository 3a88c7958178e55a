//! A page on which people try the API. Its script and style are this server's own, and nothing else is loaded.

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};

use super::other_method;
use crate::state::AppState;

/// The path of the page.
pub(super) const PATH: &str = "/docs";
/// Only what this server sends is shown, run or asked.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The files of the page: path, media type, content.
const FILES: [(&str, &str, &str); 3] = [
    (
        PATH,
        "text/html; charset=utf-8",
        include_str!("page/docs.html"),
    ),
    (
        "/docs/docs.css",
        "text/css; charset=utf-8",
        include_str!("page/docs.css"),
    ),
    (
        "/docs/docs.js",
        "text/javascript; charset=utf-8",
        include_str!("page/docs.js"),
    ),
];

/// The routes of the page.
pub(super) fn routes() -> Router<AppState> {
    let files = FILES.into_iter();
    files.fold(Router::new(), |routes, (path, media_type, content)| {
        let show = move || async move { file(media_type, content) };
        let only_get = other_method("GET, HEAD".to_owned());
        routes.route(path, get(show).fallback(only_get))
    })
}

fn file(media_type: &'static str, content: &'static str) -> Response {
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    response
}

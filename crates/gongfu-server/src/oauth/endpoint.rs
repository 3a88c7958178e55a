//! The endpoints for programs: tokens, registration, revocation, metadata. All speak JSON.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use gongfu_core::account::Scope;
use gongfu_core::registry::oauth::{
    AuthorizationServer, Client, OAuthError, OAuthErrorCode, Parameters, RedirectUri, Registration,
};
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};

use super::{REGISTER, REVOKE, TOKEN};
use crate::client_address::client_address;
use crate::page::{AUTHORIZE, Site, read_form};
use crate::rate::RetryAfter;

/// The longest registration of a client, in bytes.
const MAX_REGISTRATION: usize = 16 * 1024;

/// The tokens on the wire (RFC 6749, section 5.1).
#[derive(Serialize)]
struct TokenDocument<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: &'a str,
    scope: String,
}

/// Gives tokens for a code or a refresh token.
pub(super) async fn token(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(after) = allow_refresh(&site, &parts) {
        return busy(after);
    }
    let answer = match read(&parts, body).await {
        Ok(parameters) => site.server.exchange(&parameters).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(tokens) => {
            let document = TokenDocument {
                access_token: tokens.access.as_str(),
                token_type: "Bearer",
                expires_in: tokens.expires_in,
                refresh_token: tokens.refresh.as_str(),
                scope: tokens.scopes.to_string(),
            };
            json_response(StatusCode::OK, &document)
        }
        Err(error) => refusal(&error),
    }
}

/// Ends the connection of a token (RFC 7009).
pub(super) async fn revoke(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(after) = allow_refresh(&site, &parts) {
        return busy(after);
    }
    let answer = match read(&parts, body).await {
        Ok(parameters) => site.server.revoke(&parameters).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(()) => json_response(StatusCode::OK, &json!({})),
        Err(error) => refusal(&error),
    }
}

/// Registers a client (RFC 7591).
pub(super) async fn register(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let address = client_address(&parts.extensions, &parts.headers, site.has_proxy);
    if let Err(after) = site.rates.registration_allowed(address) {
        return busy(after);
    }
    let metadata = |text: &'static str| OAuthError {
        code: OAuthErrorCode::InvalidClientMetadata,
        text: text.into(),
        store: None,
    };
    let media = parts.headers.get(CONTENT_TYPE);
    let media = media.and_then(|media| media.to_str().ok()?.split(';').next());
    if !media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json")) {
        return refusal(&metadata("send the client as application/json"));
    }
    let Ok(bytes) = axum::body::to_bytes(body, MAX_REGISTRATION).await else {
        return refusal(&metadata("a registration has at most 16 KiB"));
    };
    let registered = match Registration::read(&bytes) {
        Ok(registration) => site.server.register(registration).await,
        Err(error) => Err(error),
    };
    match registered {
        Ok(client) => json_response(StatusCode::CREATED, &client_document(&client)),
        Err(error) => refusal(&error),
    }
}

/// A client as its registration is answered.
fn client_document(client: &Client) -> Value {
    let redirects = client.redirects.iter();
    let mut document = json!({
        "client_id": client.id,
        "redirect_uris": redirects.map(RedirectUri::as_str).collect::<Vec<_>>(),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": AuthorizationServer::scopes().to_string(),
    });
    if let (Some(name), Some(document)) = (&client.name, document.as_object_mut()) {
        document.insert("client_name".to_owned(), name.clone().into());
    }
    document
}

/// Describes the authorization server (RFC 8414).
pub(super) async fn metadata(State(site): State<Arc<Site>>) -> Response {
    let issuer = &site.accounts().settings().issuer;
    let url = |path: &str| format!("{}{path}", issuer.trim_end_matches('/'));
    let scopes = AuthorizationServer::scopes();
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": url(AUTHORIZE),
        "token_endpoint": url(TOKEN),
        "revocation_endpoint": url(REVOKE),
        "scopes_supported": scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": site.server.takes_documents(),
        "protected_resources": [site.server.settings().resource],
        "ui_locales_supported": ["en", "zh-Hans"],
    });
    if let (true, Some(document)) = (
        site.server.settings().registers_clients,
        document.as_object_mut(),
    ) {
        let endpoint = url(REGISTER);
        document.insert("registration_endpoint".to_owned(), endpoint.into());
    }
    json_response(StatusCode::OK, &document)
}

/// The parameters of a request. Clients have no secret, so none may come in a header either.
async fn read(parts: &Parts, body: Body) -> Result<Parameters, OAuthError> {
    let error = |code, text: &'static str| OAuthError {
        code,
        text: text.into(),
        store: None,
    };
    if parts.headers.contains_key(AUTHORIZATION) {
        let why = "clients have no secret here; send `client_id` in the body and no `Authorization` header";
        return Err(error(OAuthErrorCode::InvalidClient, why));
    }
    let parameters = read_form(&parts.headers, body).await;
    parameters.ok_or_else(|| {
        let why = "send the parameters as application/x-www-form-urlencoded, at most 64 KiB";
        error(OAuthErrorCode::InvalidRequest, why)
    })
}

fn allow_refresh(site: &Site, parts: &Parts) -> Result<(), RetryAfter> {
    let address = client_address(&parts.extensions, &parts.headers, site.has_proxy);
    site.rates.refresh_allowed(address)
}

fn busy(after: RetryAfter) -> Response {
    let document = json!({
        "error": OAuthErrorCode::TemporarilyUnavailable.as_str(),
        "error_description": format!("too many requests; try again in {} seconds", after.0),
    });
    let mut response = json_response(StatusCode::TOO_MANY_REQUESTS, &document);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(after.0));
    response
}

fn refusal(error: &OAuthError) -> Response {
    let status = match error.code {
        OAuthErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
        OAuthErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        OAuthErrorCode::ServerError => {
            tracing::error!(error = ?error.store, "a client can't be answered");
            StatusCode::INTERNAL_SERVER_ERROR
        }
        _ => StatusCode::BAD_REQUEST,
    };
    let document = json!({
        "error": error.code.as_str(),
        "error_description": error.text,
    });
    let mut response = json_response(status, &document);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Basic");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

fn json_response(status: StatusCode, document: &impl Serialize) -> Response {
    let body = serde_json::to_vec(document).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

//! Credentials of requests: one bearer token in a header (RFC 6750), for this server (RFC 8707, RFC 9728).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use gongfu_core::account::Scope;
use gongfu_core::registry::{Accounts, Credential, Identity, IdentityError};
use http::header::AUTHORIZATION;
use http::{HeaderMap, Uri};

use super::Api;
use super::endpoint::Access;
use super::identity_cache::IdentityCache;
use super::revocation;
use crate::problem::{CredentialFault, Problem};
use crate::state::AppState;

/// The start of every refresh token.
const REFRESH: &str = "gfr_";

/// The bearer token of a request, if there is one.
fn bearer<'a>(headers: &'a HeaderMap, uri: &Uri) -> Result<Option<&'a str>, Problem> {
    let query = uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    if pairs.any(|(name, _)| name == "access_token") {
        return Err(Problem::CredentialMisplaced);
    }
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Problem::CredentialMisplaced);
    }
    let form = Problem::Credential(CredentialFault::Form);
    match value.to_str().unwrap_or_default().split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("Bearer") => Ok(Some(token.trim())),
        _ => Err(form),
    }
}

/// The identity behind the credential of a request.
///
/// # Errors
/// The request has no credential or several, or it is refused.
pub(super) async fn identify(
    accounts: &Accounts,
    headers: &HeaderMap,
    uri: &Uri,
    audiences: &[&str],
) -> Result<Arc<Identity>, Problem> {
    let token = bearer(headers, uri)?.ok_or(Problem::CredentialMissing)?;
    if token.starts_with(REFRESH) {
        return Err(Problem::Credential(CredentialFault::Kind));
    }
    let identity = accounts.identify(token, audiences).await;
    identity.map(Arc::new).map_err(|error| match error {
        // It has the form of an access token, and isn't one of this server.
        IdentityError::Malformed if token.split('.').count() == 3 => {
            Problem::Credential(CredentialFault::Foreign)
        }
        error => error.into(),
    })
}

/// Checks that an identity may call an endpoint.
pub(super) fn check(access: Access, identity: &Identity) -> Result<(), Problem> {
    let is_person = matches!(identity.credential, Credential::SignIn(_));
    match access {
        Access::Scopes(needed) => {
            let lacks = |scope: &Scope| !identity.scopes.has(*scope);
            let missing: Vec<Scope> = needed.iter().copied().filter(lacks).collect();
            if missing.is_empty() {
                Ok(())
            } else {
                Err(Problem::ScopesMissing(missing))
            }
        }
        Access::Person | Access::Admin if !is_person => Err(Problem::PersonNeeded),
        Access::Public | Access::Credential | Access::Person => Ok(()),
        Access::Admin if identity.is_admin && identity.scopes.has(Scope::Admin) => Ok(()),
        Access::Admin => Err(Problem::AdminNeeded),
    }
}

/// Puts the identity of the caller into each request for MCP.
pub(crate) async fn authenticate_mcp(
    State((state, api)): State<(AppState, Arc<Api>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(server) = &api.parts.accounts else {
        return state.problem(Problem::Fault).into_response();
    };
    // A person who signed in at the API can try tools as well.
    let audiences = [api.mcp_url.as_str(), api.issuer()];
    let accounts = &server.accounts;
    let sent = bearer(request.headers(), request.uri()).ok().flatten();
    let key = sent.map(|sent| IdentityCache::key(sent, &audiences));
    let known = key.and_then(|key| api.identities.get(&key));
    let found = if let Some(identity) = known {
        Ok(identity)
    } else {
        let asked = api.identities.now();
        let found = identify(accounts, request.headers(), request.uri(), &audiences).await;
        if let (Ok(identity), Some(key)) = (&found, key) {
            api.identities.put(key, asked, identity);
        }
        found
    };
    let allowed = found.and_then(|identity| {
        let (Credential::ApiToken(id) | Credential::SignIn(id)) = &identity.credential;
        let allowed = server.rates.request_allowed(id);
        allowed.map_err(Problem::RateLimited)?;
        Ok(identity)
    });
    match allowed {
        Ok(identity) => {
            request.extensions_mut().insert(Arc::clone(&identity));
            let answering = next.run(request);
            match revocation::unless_revoked(accounts, &identity, answering).await {
                Ok(response) => revocation::watched(response, identity, accounts),
                Err(problem) => state.problem(problem).into_response(),
            }
        }
        Err(problem) => state.problem(problem).into_response(),
    }
}

/// Lets only credentials with the scope of an admin read metrics.
pub(crate) async fn authenticate_admin(
    State((state, api)): State<(AppState, Arc<Api>)>,
    request: Request,
    next: Next,
) -> Response {
    let Some(server) = &api.parts.accounts else {
        return state.problem(Problem::Fault).into_response();
    };
    let (headers, uri) = (request.headers(), request.uri());
    let identity = identify(&server.accounts, headers, uri, &[api.issuer()]).await;
    let checked = identity.and_then(|identity| check(Access::Scopes(&[Scope::Admin]), &identity));
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => state.problem(problem).into_response(),
    }
}

//! Sessions of users, on a server with accounts.

use std::sync::Arc;

use bytes::Bytes;
use gongfu_core::account::{Email, Scopes, UserId, UserQuota};
use gongfu_core::registry::{Credential, Identity};
use http::{Method, Request, StatusCode};
use http_body_util::Full;

use super::{answer, endpoint, initialize, post, session};
use crate::http::HttpSettings;

/// A request of a user, as the web server passes it on.
fn by(user: &str, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    let identity = Identity {
        user: UserId::new(user).unwrap(),
        email: Email::new("ann@example.com").unwrap(),
        is_admin: false,
        scopes: Scopes::usual(),
        skills: None,
        profile: None,
        quota: UserQuota::default(),
        credential: Credential::ApiToken("t".to_owned()),
    };
    request.extensions_mut().insert(Arc::new(identity));
    request
}

#[tokio::test]
async fn session_belongs_to_the_user_who_opened_it() {
    let endpoint = endpoint(HttpSettings::default());
    let id = session(&answer(&endpoint, by("ann", initialize())).await);
    let headers = [
        ("mcp-session-id", &*id),
        ("accept", "application/json, text/event-stream"),
    ];
    let ping = || {
        post(
            "/mcp",
            &headers,
            r#"{"jsonrpc": "2.0", "id": 2, "method": "ping"}"#,
        )
    };
    let with = |method: Method| {
        let mut request = ping();
        *request.method_mut() = method;
        *request.body_mut() = Full::default();
        request
    };
    for user in ["bob", "ANN"] {
        for request in [ping(), with(Method::GET), with(Method::DELETE)] {
            let refused = answer(&endpoint, by(user, request)).await;
            assert_eq!(refused.status(), StatusCode::NOT_FOUND, "{user}");
        }
    }
    // Nor is it there for a request without a user.
    let refused = answer(&endpoint, with(Method::DELETE)).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    assert_eq!(
        answer(&endpoint, by("ann", ping())).await.status(),
        StatusCode::OK
    );
    let ended = answer(&endpoint, by("ann", with(Method::DELETE))).await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
}

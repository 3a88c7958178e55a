//! Sessions of users, on a server with accounts.

use std::sync::Arc;
use std::time::Duration;

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
    let ping = || {
        let mut request = ping("ann", &id);
        request.extensions_mut().clear();
        request
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

/// A `ping` in a session, whose user is `user`.
fn ping(user: &str, id: &str) -> Request<Full<Bytes>> {
    let headers = [
        ("mcp-session-id", id),
        ("accept", "application/json, text/event-stream"),
    ];
    by(
        user,
        post(
            "/mcp",
            &headers,
            r#"{"jsonrpc": "2.0", "id": 2, "method": "ping"}"#,
        ),
    )
}

#[tokio::test]
async fn a_user_of_many_sessions_makes_room_with_their_own() {
    let endpoint = endpoint(HttpSettings {
        session_limit: 4,
        ..HttpSettings::default()
    });
    let first = session(&answer(&endpoint, by("ann", initialize())).await);
    let mut last = String::new();
    for _ in 0..9 {
        last = session(&answer(&endpoint, by("bob", initialize())).await);
    }
    assert_eq!(endpoint.sessions(), 4);
    for (user, id) in [("ann", &first), ("bob", &last)] {
        assert_eq!(
            answer(&endpoint, ping(user, id)).await.status(),
            StatusCode::OK,
            "{user}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_of_many_sessions_shortens_only_their_own() {
    let endpoint = endpoint(HttpSettings {
        idle_session_limit: 2,
        ..HttpSettings::default()
    });
    let first = session(&answer(&endpoint, by("ann", initialize())).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..5 {
        answer(&endpoint, by("bob", initialize())).await;
    }
    tokio::time::sleep(Duration::from_secs(80)).await;
    assert_eq!(endpoint.sessions(), 2);
    assert_eq!(
        answer(&endpoint, ping("ann", &first)).await.status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn streams_of_one_user_leave_sessions_to_others() {
    let endpoint = endpoint(HttpSettings {
        session_limit: 8,
        ..HttpSettings::default()
    });
    let mut open = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let started = answer(&endpoint, by("bob", initialize())).await;
        statuses.push(started.status());
        if !started.status().is_success() {
            continue;
        }
        let mut stream = ping("bob", &session(&started));
        *stream.method_mut() = Method::GET;
        *stream.body_mut() = Full::default();
        let stream = answer(&endpoint, stream).await;
        assert_eq!(stream.status(), StatusCode::OK);
        open.push(stream);
    }
    let (begun, refused) = statuses.split_at(4);
    assert!(begun.iter().all(StatusCode::is_success), "{statuses:?}");
    assert!(
        refused
            .iter()
            .all(|status| *status == StatusCode::SERVICE_UNAVAILABLE),
        "{statuses:?}"
    );
    let other = answer(&endpoint, by("ann", initialize())).await;
    assert_eq!(other.status(), StatusCode::OK);
}

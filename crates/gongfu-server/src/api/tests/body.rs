//! Requests that can't be read, or that no endpoint takes.

use axum::body::Body;
use http::header::{CONTENT_TYPE, HOST};
use serde_json::{Value, json};

use super::{PASSWORD, TestServer, request};

const LOGIN: &str = "/api/v1/auth/login";

async fn refused(server: &TestServer, media_type: &str, body: impl Into<Body>) -> (u16, String) {
    let login = request("POST", LOGIN, "");
    let login = if media_type.is_empty() {
        login
    } else {
        login.header(CONTENT_TYPE, media_type)
    };
    server
        .send(login.body(body.into()).unwrap())
        .await
        .problem()
}

#[tokio::test]
async fn bad_bodies_are_problems() {
    let server = TestServer::new();
    server.user("ann", false);
    let good = json!({ "email": "ann", "password": PASSWORD }).to_string();
    for media_type in ["application/json", "Application/JSON; charset=\"UTF-8\""] {
        let login = request("POST", LOGIN, "").header(CONTENT_TYPE, media_type);
        let reply = server
            .send(login.body(Body::from(good.clone())).unwrap())
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    for media_type in [
        "",
        "text/plain",
        "application/json; charset=utf-16",
        "application/x-www-form-urlencoded",
    ] {
        let refused = refused(&server, media_type, good.clone()).await;
        assert_eq!(
            refused,
            (415, "UNSUPPORTED_MEDIA_TYPE".to_owned()),
            "{media_type}"
        );
    }
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{} {}",
        r#"{"email": "ann", "email": "ann", "password": "x"}"#,
        "{\"email\": \"\u{0}\"",
    ] {
        let refused = refused(&server, "application/json", body).await;
        assert_eq!(refused, (400, "BAD_REQUEST".to_owned()), "{body}");
    }
    let refused_bytes = refused(
        &server,
        "application/json",
        b"{\"email\":\"\xff\"}".to_vec(),
    )
    .await;
    assert_eq!(refused_bytes.0, 400);
    let long = format!("{{\"email\": \"{}\"}}", "x".repeat(20_000));
    let refused_long = refused(&server, "application/json", long).await;
    assert_eq!(refused_long, (413, "PAYLOAD_TOO_LARGE".to_owned()));
    assert_eq!(
        server.passwords.take_compared(),
        2,
        "only good bodies reach the passwords"
    );
}

#[tokio::test]
async fn every_wrong_field_is_named() {
    let server = TestServer::new();
    server.user("ann", false);
    let access = server.sign_in("ann");
    let body = json!({ "label": "x", "expires_at": 5, "scopes": "skills:read", "skills": [1] });
    let reply = server.call("POST", "/api/v1/tokens", &access, body).await;
    assert_eq!(reply.problem(), (422, "VALIDATION_ERROR".to_owned()));
    let json = reply.json();
    let fields: Vec<&str> = json["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["field"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        ["name", "label", "expires_at", "scopes", "skills[0]"]
    );
    let query = server
        .get("/api/v1/tokens?limit=0&skip=x&skip=1&sort=name", &access)
        .await;
    let json = query.json();
    let fields: Vec<&str> = json["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["skip", "sort", "limit", "skip"]);
    // A field of the path or the query can't come in the body.
    let body = json!({ "id": "0123456789", "decision": "allow" });
    let reply = server
        .call("POST", "/api/v1/approvals/0123456789", &access, body)
        .await;
    assert_eq!(reply.json()["errors"][0]["field"], "id");
    for (path, body) in [
        (
            "/api/v1/auth/register",
            json!({ "email": "nobody", "username": "nobody", "password": PASSWORD }),
        ),
        (
            "/api/v1/auth/register",
            json!({ "email": "b@example.com", "username": "no body", "password": PASSWORD }),
        ),
        (
            "/api/v1/auth/register",
            json!({ "email": "b@example.com", "username": "bob", "password": "short" }),
        ),
        (
            "/api/v1/auth/register",
            json!({ "email": "b@example.com", "username": "bob", "password": "password123" }),
        ),
        (
            "/api/v1/auth/register",
            json!({ "email": "b@example.com", "username": "bob", "password": PASSWORD, "is_admin": true }),
        ),
    ] {
        let reply = server.call("POST", path, "", body.clone()).await;
        assert_eq!(
            reply.problem(),
            (422, "VALIDATION_ERROR".to_owned()),
            "{body}"
        );
    }
}

#[tokio::test]
async fn other_paths_methods_and_hosts_are_problems() {
    let server = TestServer::new();
    server.user("ann", false);
    let access = server.sign_in("ann");
    let unknown = server.get("/api/v1/nothing", &access).await;
    assert_eq!(unknown.problem(), (404, "NOT_FOUND".to_owned()));
    for (method, path, allowed) in [
        ("PATCH", "/api/v1/users/me", "GET, HEAD, PUT, DELETE"),
        ("GET", LOGIN, "POST"),
        ("DELETE", "/api/v1/tools", "GET, HEAD"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ] {
        let wrong = server.call(method, path, &access, Value::Null).await;
        assert_eq!(
            wrong.problem(),
            (405, "METHOD_NOT_ALLOWED".to_owned()),
            "{path}"
        );
        assert_eq!(wrong.header("allow"), allowed, "{path}");
    }
    let elsewhere = axum::extract::Request::get("/api/v1/users/me").header(HOST, "evil.example");
    let elsewhere = server.send(elsewhere.body(Body::empty()).unwrap()).await;
    assert_eq!(elsewhere.problem(), (403, "HOST_UNKNOWN".to_owned()));
    let foreign =
        request("GET", "/api/v1/users/me", &access).header("origin", "https://evil.example");
    let foreign = server.send(foreign.body(Body::empty()).unwrap()).await;
    assert_eq!(foreign.problem(), (403, "ORIGIN_FOREIGN".to_owned()));
    let bad_path = server.get("/api/v1/admin/users/%ff", &access).await;
    assert!(matches!(bad_path.problem().0, 400 | 403));
}

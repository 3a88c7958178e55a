//! Users and the audit of a server, for its admins.

use http::StatusCode;
use serde_json::{Value, json};

use super::{PASSWORD, TestServer};

#[tokio::test]
async fn admin_manages_users() {
    let server = TestServer::new();
    let ann = server.user("ann", true);
    let access = server.sign_in("ann");
    let path = "/api/v1/admin/users";
    let new = json!({ "email": "bob@example.com", "username": "bob", "password": PASSWORD });
    let created = server.call("POST", path, &access, new).await;
    assert_eq!(created.status, StatusCode::CREATED);
    let bob = created.header("location").to_owned();
    let bob_access = server.sign_in("bob");
    let post = |path: String| {
        let (server, access) = (&server, &access);
        async move { server.call("POST", &path, access, Value::Null).await }
    };
    let disabled = post(format!("{bob}/disable")).await.json();
    assert_eq!(disabled["is_active"], false);
    assert_eq!(
        server
            .get("/api/v1/users/me", &bob_access)
            .await
            .problem()
            .1,
        "TOKEN_REVOKED"
    );
    let login = json!({ "email": "bob", "password": PASSWORD });
    let refused = server.call("POST", "/api/v1/auth/login", "", login).await;
    assert_eq!(refused.problem().0, 401);
    assert_eq!(
        post(format!("{bob}/enable")).await.json()["is_active"],
        true
    );
    let bob_access = server.sign_in("bob");
    assert_eq!(
        server.get("/api/v1/users/me", &bob_access).await.status,
        StatusCode::OK
    );
    // Somebody has to manage the server.
    let last = post(format!("{path}/{}/disable", ann.id.as_str())).await;
    assert_eq!(last.problem(), (409, "CONFLICT".to_owned()));
    let deleted = server.call("DELETE", &bob, &access, Value::Null).await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    for unknown in [bob.as_str(), "/api/v1/admin/users/a.b"] {
        let reply = server.get(unknown, &access).await;
        assert_eq!(reply.problem(), (404, "NOT_FOUND".to_owned()));
    }
}

#[tokio::test]
async fn pages_of_users_are_the_list() {
    let server = TestServer::new();
    server.user("ann", true);
    for name in ["bob", "cid", "dan", "eve"] {
        server.user(name, false);
    }
    let access = server.sign_in("ann");
    let (mut names, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let path = format!("/api/v1/admin/users?limit=2{cursor}");
        let page = server.get(&path, &access).await.json();
        for user in page["items"].as_array().unwrap() {
            names.push(user["username"].as_str().unwrap().to_owned());
        }
        pages += 1;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    names.sort();
    assert_eq!(
        (names.join(" ").as_str(), pages),
        ("ann bob cid dan eve", 3)
    );
}

#[tokio::test]
async fn audit_of_the_server_is_a_chain() {
    let server = TestServer::new();
    server.user("ann", true);
    let access = server.sign_in("ann");
    let path = "/api/v1/admin/audit";
    let first = server.get(&format!("{path}?limit=1"), &access).await.json();
    assert_eq!(first["items"][0]["event"], "user.create");
    assert_eq!(first["next_cursor"], "1");
    let rest = server
        .get(&format!("{path}?cursor=1"), &access)
        .await
        .json();
    assert_eq!(rest["items"][0]["event"], "session.begin");
    assert_eq!(rest["next_cursor"], Value::Null);
    let checked = server.get(&format!("{path}/verify"), &access).await.json();
    assert_eq!(
        (&checked["is_whole"], &checked["number"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(checked["hash"], rest["items"][0]["hash"]);
    let wrong = server.get(&format!("{path}?cursor=x"), &access).await;
    assert_eq!(wrong.problem(), (422, "VALIDATION_ERROR".to_owned()));
}

#[tokio::test]
async fn own_calls_are_listed_newest_first() {
    let server = TestServer::new();
    let (ann, _) = (server.user("ann", false), server.user("bob", false));
    let (token, id) = server.token(&ann.id, &super::all_scopes());
    for tool in ["skill_list", "skill_search"] {
        let body = json!({ "query": "pdf" });
        let body = if tool == "skill_list" {
            json!({})
        } else {
            body
        };
        let path = format!("/api/v1/tools/{tool}");
        assert_eq!(
            server.call("POST", &path, &token, body).await.status,
            StatusCode::OK
        );
    }
    let access = server.sign_in("ann");
    let page = server.get("/api/v1/audit?limit=1", &access).await.json();
    let entry = &page["items"][0];
    assert_eq!(
        (&entry["tool"], &entry["role"]),
        (&json!("skill_search"), &json!("external_agent"))
    );
    assert_eq!(entry["credential"], format!("token/{id}"));
    let next = page["next_cursor"].as_str().unwrap();
    let page = server
        .get(&format!("/api/v1/audit?limit=1&cursor={next}"), &access)
        .await
        .json();
    assert_eq!(page["items"][0]["tool"], "skill_list");
    let other = server
        .get("/api/v1/audit", &server.sign_in("bob"))
        .await
        .json();
    assert_eq!(other["items"], json!([]));
    let wrong = server.get("/api/v1/audit?cursor=xyz", &access).await;
    assert_eq!(wrong.problem(), (422, "INVALID_CURSOR".to_owned()));
}

//! The shapes of accounts and tokens, and what follows from changes of them.

use http::StatusCode;
use serde_json::json;

use super::{PASSWORD, TestServer};

#[tokio::test]
async fn account_from_registration_to_its_end() {
    let server = TestServer::new();
    let new = json!({ "email": "Ann@example.com", "username": "ann", "password": PASSWORD });
    let registered = server
        .call("POST", "/api/v1/auth/register", "", new.clone())
        .await;
    assert_eq!(registered.status, StatusCode::CREATED);
    let user = registered.json();
    assert_eq!(
        user,
        json!({
            "id": user["id"],
            "email": "Ann@example.com",
            "username": "ann",
            "is_active": true,
            "is_superuser": false,
            "created_at": "2026-11-21T09:30:00.000Z",
            "updated_at": "2026-11-21T09:30:00.000Z",
        })
    );
    let taken = server.call("POST", "/api/v1/auth/register", "", new).await;
    assert_eq!(taken.problem(), (409, "CONFLICT".to_owned()));
    assert_eq!(taken.json()["errors"][0]["field"], "email");

    let login = json!({ "email": "ann@example.com", "password": PASSWORD });
    let tokens = server
        .call("POST", "/api/v1/auth/login", "", login)
        .await
        .json();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(
        (tokens["token_type"].as_str(), tokens["expires_in"].as_i64()),
        (Some("bearer"), Some(900))
    );
    assert_eq!(server.get("/api/v1/users/me", access).await.json(), user);

    let renamed = json!({ "username": "anna", "email": null });
    let renamed = server
        .call("PUT", "/api/v1/users/me", access, renamed)
        .await
        .json();
    assert_eq!(
        (&renamed["username"], &renamed["email"]),
        (&json!("anna"), &user["email"])
    );

    let wrong =
        json!({ "current_password": "another one", "new_password": "four unrelated words" });
    let refused = server
        .call("PUT", "/api/v1/users/me/password", access, wrong)
        .await;
    assert_eq!(refused.problem(), (403, "FORBIDDEN".to_owned()));
    let common = json!({ "current_password": PASSWORD, "new_password": "password123" });
    let refused = server
        .call("PUT", "/api/v1/users/me/password", access, common)
        .await;
    assert_eq!(refused.problem(), (422, "VALIDATION_ERROR".to_owned()));
    assert_eq!(refused.json()["errors"][0]["field"], "new_password");
    let good = json!({ "current_password": PASSWORD, "new_password": "four unrelated words" });
    let changed = server
        .call("PUT", "/api/v1/users/me/password", access, good)
        .await;
    assert_eq!(
        (changed.status, changed.body.len()),
        (StatusCode::NO_CONTENT, 0)
    );
    assert_eq!(
        server.get("/api/v1/users/me", access).await.problem().1,
        "TOKEN_REVOKED"
    );

    let login = |password: &str| json!({ "email": "anna", "password": password });
    let refused = server
        .call("POST", "/api/v1/auth/login", "", login(PASSWORD))
        .await;
    assert_eq!(refused.problem(), (401, "UNAUTHORIZED".to_owned()));
    let unknown = json!({ "email": "nobody", "password": PASSWORD });
    let unknown = server.call("POST", "/api/v1/auth/login", "", unknown).await;
    assert_eq!(unknown.body, refused.body);
    let tokens = server.call(
        "POST",
        "/api/v1/auth/login",
        "",
        login("four unrelated words"),
    );
    let tokens = tokens.await.json();
    let access = tokens["access_token"].as_str().unwrap();
    let wrong = json!({ "password": PASSWORD });
    let refused = server
        .call("DELETE", "/api/v1/users/me", access, wrong)
        .await;
    assert_eq!(refused.problem().0, 403);
    let right = json!({ "password": "four unrelated words" });
    let deleted = server
        .call("DELETE", "/api/v1/users/me", access, right)
        .await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    assert_eq!(
        server.get("/api/v1/users/me", access).await.problem().0,
        401
    );
}

#[tokio::test]
async fn refresh_token_is_good_once() {
    let server = TestServer::new();
    server.user("ann", false);
    let login = json!({ "email": "ann", "password": PASSWORD });
    let first = server
        .call("POST", "/api/v1/auth/login", "", login)
        .await
        .json();
    let refresh = |token: &serde_json::Value| json!({ "refresh_token": token });
    let send = |path: &'static str, body| server.call("POST", path, "", body);
    let path = "/api/v1/auth/refresh";
    let second = send(path, refresh(&first["refresh_token"])).await.json();
    let third = send(path, refresh(&second["refresh_token"])).await.json();
    let access = third["access_token"].as_str().unwrap();
    assert_eq!(
        server.get("/api/v1/users/me", access).await.status,
        StatusCode::OK
    );
    let reused = send(path, refresh(&first["refresh_token"])).await;
    assert_eq!(reused.problem(), (401, "TOKEN_REVOKED".to_owned()));
    assert_eq!(
        server.get("/api/v1/users/me", access).await.problem().1,
        "TOKEN_REVOKED"
    );
    let ended = send(path, refresh(&third["refresh_token"])).await;
    assert_eq!(ended.problem(), (401, "INVALID_TOKEN".to_owned()));
    let logout = send(
        "/api/v1/auth/logout",
        json!({ "refresh_token": "gfr_nonsense" }),
    )
    .await;
    assert_eq!(logout.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn token_is_shown_once_and_refused_from_its_revocation_on() {
    let server = TestServer::new();
    server.user("ann", false);
    let access = server.sign_in("ann");
    let path = "/api/v1/tokens";
    let new = json!({ "name": "laptop", "expires_at": "2027-01-01T00:00:00Z", "scopes": ["skills:read"], "skills": ["pdf-tools"] });
    let created = server.call("POST", path, &access, new).await;
    assert_eq!(created.status, StatusCode::CREATED);
    let json = created.json();
    let token = json["token"].as_str().unwrap();
    let id = json["id"].as_str().unwrap();
    assert_eq!(created.header("location"), format!("{path}/{id}"));
    assert!(
        token.starts_with("ask_live_") && token.len() == 73,
        "{token}"
    );
    server
        .call(
            "POST",
            path,
            &access,
            json!({ "name": "other", "expires_at": null }),
        )
        .await;
    let page = server
        .get("/api/v1/tokens?skip=0&limit=1", &access)
        .await
        .json();
    assert_eq!(
        page,
        json!({
            "items": [{
                "id": id,
                "name": "laptop",
                "is_active": true,
                "expires_at": "2027-01-01T00:00:00.000Z",
                "last_used_at": null,
                "created_at": "2026-11-21T09:30:00.000Z",
                "scopes": ["skills:read"],
                "skills": ["own/pdf-tools"],
                "profile": null,
            }],
            "total": 2,
        })
    );
    let rest = server.get("/api/v1/tokens?skip=1", &access).await.json();
    assert_eq!(rest["items"][0]["name"], "other");
    assert_eq!(
        server.get("/api/v1/tools", token).await.status,
        StatusCode::OK
    );
    let revoked = server
        .call("DELETE", &format!("{path}/{id}"), &access, json!(null))
        .await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    assert_eq!(
        server.get("/api/v1/tools", token).await.problem().1,
        "TOKEN_REVOKED"
    );
    let again = server
        .call("DELETE", &format!("{path}/{id}"), &access, json!(null))
        .await;
    assert_eq!(again.problem(), (404, "NOT_FOUND".to_owned()));
    for wrong in [
        json!({ "name": "x", "expires_at": "yesterday" }),
        json!({ "name": "x", "expires_at": "2020-01-01T00:00:00Z" }),
        json!({ "name": "x", "scopes": ["admin"] }),
        json!({ "name": "x", "scopes": ["skills:all"] }),
        json!({ "name": "x", "scopes": [] }),
        json!({ "name": "x", "profile": "nonsense" }),
        json!({ "name": "" }),
        json!({ "name": "x".repeat(101) }),
    ] {
        let refused = server.call("POST", path, &access, wrong.clone()).await;
        assert_eq!(
            refused.problem(),
            (422, "VALIDATION_ERROR".to_owned()),
            "{wrong}"
        );
    }
}

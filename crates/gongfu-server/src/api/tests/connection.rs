//! Other servers over REST: who sees what of them, and calls of their tools.

use gongfu_core::account::{Owner, Scope};
use gongfu_core::connection::State;
use gongfu_testing::{FakeServers, MemorySpace};
use http::StatusCode;
use serde_json::{Value, json};

use super::{TestServer, all_scopes};

#[tokio::test]
async fn user_sees_state_and_tools_and_only_an_admin_the_command() {
    let server = TestServer::new();
    let (ann, bob) = (server.user("ann", true), server.user("bob", false));
    for user in [&ann, &bob] {
        let dead = MemorySpace {
            servers: std::sync::Arc::new(FakeServers { state: State::Dead }),
            ..MemorySpace::default()
        };
        server.spaces.insert(Owner::User(user.id.clone()), dead);
    }
    let (ann_token, _) = server.token(&ann.id, &all_scopes());
    let (bob_token, _) = server.token(&bob.id, &all_scopes());
    let (ann_access, bob_access) = (server.sign_in("ann"), server.sign_in("bob"));
    for path in ["/api/v1/connections", "/api/v1/connections/echo"] {
        for (credential, is_admin) in [
            (&ann_access, true),
            (&ann_token, false),
            (&bob_access, false),
            (&bob_token, false),
        ] {
            let reply = server.get(path, credential).await;
            assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
            let told = reply.json();
            let shown = told.get("items").map_or(&told, |items| &items[0]);
            assert_eq!(
                (&shown["name"], &shown["kind"], &shown["state"]),
                (&json!("echo"), &json!("program"), &json!("DEAD"))
            );
            assert_eq!(shown["tool_count"], 2);
            assert_eq!(
                told.to_string().contains("/secret/echo"),
                is_admin,
                "{told}"
            );
            assert!(shown["reason"].is_string());
            assert!(!told.to_string().contains("s3cret"), "{told}");
            if is_admin {
                let lines: Vec<&str> = shown["target"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|line| line.as_str().unwrap())
                    .collect();
                assert_eq!(lines[0], "command: /secret/echo-server");
                assert!(lines.contains(&"variable: ECHO_TOKEN=(a secret)"));
            } else {
                assert_eq!(shown["target"], Value::Null);
            }
        }
    }
    let detail = server.get("/api/v1/connections/echo", &bob_token).await;
    assert_eq!(
        detail.json()["tools"],
        json!([
            { "name": "echo__drop", "title": "drop", "description": "Does drop.", "safety": "HIGH", "needs_approval": true },
            { "name": "echo__say", "title": "say", "description": "Does say.", "safety": "MEDIUM", "needs_approval": false },
        ])
    );
    let unknown = server.get("/api/v1/connections/github", &bob_token).await;
    assert_eq!(unknown.problem(), (404, "NOT_FOUND".to_owned()));
}

#[tokio::test]
async fn credential_that_runs_nothing_has_no_connections() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (read, _) = server.token(&ann.id, &[Scope::SkillsRead]);
    for path in ["/api/v1/connections", "/api/v1/connections/echo"] {
        let refused = server.get(path, &read).await;
        assert_eq!(refused.problem(), (403, "FORBIDDEN".to_owned()));
        assert_eq!(refused.json()["missing"], json!(["skills:run"]));
    }
    let call = server.call("POST", "/api/v1/tools/echo__say", &read, json!({}));
    assert_eq!(call.await.problem(), (403, "FORBIDDEN".to_owned()));
    // One for some skills is for nothing beside them.
    let access = server.sign_in("ann");
    let new = json!({ "name": "x", "skills": ["lib/pdf-tools"] });
    let narrow = server.call("POST", "/api/v1/tokens", &access, new).await;
    let narrow = narrow.json()["token"].as_str().unwrap().to_owned();
    let none = server.get("/api/v1/connections", &narrow).await.json();
    assert_eq!(none, json!({ "items": [], "total": 0 }));
    let tools = server.get("/api/v1/tools", &narrow).await;
    assert!(!tools.json().to_string().contains("echo__"));
    let call = server.call("POST", "/api/v1/tools/echo__say", &narrow, json!({}));
    assert_eq!(
        call.await.problem(),
        (404, "CONNECTION_NOT_FOUND".to_owned())
    );
}

#[tokio::test]
async fn tool_of_another_server_is_called_as_any_other() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let path = "/api/v1/tools/echo__say";
    let said = server.call("POST", path, &token, json!({ "text": "hello" }));
    assert_eq!(
        said.await.json(),
        json!({
            "text": "hello",
            "data": { "text": "hello" },
            "blocks": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }],
        })
    );
    let failed = server.call("POST", path, &token, json!({ "text": "fail" }));
    let failed = failed.await;
    assert_eq!(
        (failed.status, &failed.json()["is_error"]),
        (StatusCode::OK, &json!(true))
    );
    let dead = server
        .call("POST", path, &token, json!({ "text": "die" }))
        .await;
    assert_eq!(dead.problem(), (503, "SERVER_UNAVAILABLE".to_owned()));
    let hint = dead.json()["hint"].to_string();
    assert!(
        hint.contains("the operator") && !hint.contains("gongfu connection"),
        "{hint}"
    );
    // An agent's call waits for its person, who answers for themselves.
    let path = "/api/v1/tools/echo__drop";
    let asked = server
        .call("POST", path, &token, json!({ "text": "x" }))
        .await;
    assert_eq!(asked.problem(), (403, "APPROVAL_REQUIRED".to_owned()));
    let answer = format!(
        "/api/v1/approvals/{}",
        asked.json()["approval"].as_str().unwrap()
    );
    let access = server.sign_in("ann");
    let allowed = server.call("POST", &answer, &access, json!({ "decision": "allow" }));
    assert_eq!(allowed.await.status, StatusCode::OK);
    let dropped = server
        .call("POST", path, &token, json!({ "text": "x" }))
        .await;
    assert_eq!(dropped.status, StatusCode::OK, "{dropped:?}");
}

#[tokio::test]
async fn request_works_with_the_set_that_it_names() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    for (path, seen) in [
        ("/api/v1/tools", true),
        ("/api/v1/tools?set=review", false),
        ("/api/v1/capabilities?limit=250", true),
        ("/api/v1/capabilities?limit=250&set=review", false),
    ] {
        let all = server.get(path, &token).await.json().to_string();
        assert!(all.contains("echo__say") || all.contains("mcp.echo.say"));
        let has_drop = all.contains("echo__drop") || all.contains("mcp.echo.drop");
        assert_eq!(has_drop, seen, "{path}: {all}");
    }
    let found = server.get("/api/v1/search?q=pdf", &token).await.json();
    assert_ne!(found["total"], 0, "{found}");
    let found = server.get("/api/v1/search?q=pdf&set=review", &token).await;
    assert_eq!(found.json()["total"], 0);
    let say = json!({ "text": "hello" });
    let path = "/api/v1/tools/echo__say?set=review";
    let said = server.call("POST", path, &token, say.clone()).await;
    assert_eq!(said.status, StatusCode::OK, "{said:?}");
    let path = "/api/v1/tools/echo__drop?set=review";
    let beside = server.call("POST", path, &token, say).await;
    assert_eq!(beside.problem(), (404, "TOOL_NOT_FOUND".to_owned()));
    for path in ["/api/v1/tools?set=nosuch", "/api/v1/tools?set="] {
        let unknown = server.get(path, &token).await;
        assert_eq!(unknown.problem().0, 422, "{unknown:?}");
    }
}

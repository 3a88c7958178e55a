//! Tools, search and approvals over REST.

use gongfu_core::account::{Owner, Scope};
use gongfu_testing::sandbox;
use http::StatusCode;
use serde_json::json;

use super::{TestServer, all_scopes};

#[tokio::test]
async fn credential_sees_and_calls_the_tools_of_its_scopes() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (all, _) = server.token(&ann.id, &all_scopes());
    let (read, _) = server.token(&ann.id, &[Scope::SkillsRead]);
    let names = |page: &serde_json::Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = server.get("/api/v1/tools", &all).await.json();
    assert!(names(&page).contains(&"skill_run".to_owned()));
    assert_eq!(page["items"][0]["input_schema"]["type"], "object");
    let page = server.get("/api/v1/tools", &read).await.json();
    assert!(!names(&page).contains(&"skill_run".to_owned()));
    let page = server
        .get("/api/v1/tools?profile=agentskills", &all)
        .await
        .json();
    assert!(names(&page).contains(&"load_skill".to_owned()), "{page}");

    let called = server
        .call("POST", "/api/v1/tools/skill_list", &read, json!({}))
        .await
        .json();
    assert!(called["text"].as_str().unwrap().contains("pdf-tools"));
    assert!(called["data"].is_object());
    let path = "/api/v1/tools/load_skill?profile=agentskills";
    let loaded = server
        .call("POST", path, &read, json!({ "skill_name": "pdf-tools" }))
        .await;
    assert!(
        loaded.json()["text"]
            .as_str()
            .unwrap()
            .contains("# PDF tools")
    );
    let run = json!({ "skill_name": "pdf-tools", "command": "echo" });
    let refused = server
        .call("POST", "/api/v1/tools/skill_run", &read, run.clone())
        .await;
    assert_eq!(refused.problem(), (403, "FORBIDDEN".to_owned()));
    assert_eq!(refused.json()["missing"], json!(["skills:run"]));
    let space = server.spaces.parts(&Owner::User(ann.id.clone()));
    space.sandbox.script(sandbox::good("hello\n"));
    let ran = server
        .call("POST", "/api/v1/tools/skill_run", &all, run)
        .await
        .json();
    assert!(ran["text"].as_str().unwrap().contains("hello"), "{ran}");
}

#[tokio::test]
async fn failures_of_tools_are_problems_with_their_own_codes() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    for (path, body, problem) in [
        ("nothing", json!({}), (404, "TOOL_NOT_FOUND")),
        ("skill_load", json!({}), (422, "MISSING_ARGUMENT")),
        (
            "skill_load",
            json!({ "skill_name": "nothing" }),
            (404, "SKILL_NOT_FOUND"),
        ),
        (
            "skill_load",
            json!({ "skill_name": 5 }),
            (422, "INVALID_ARGUMENT"),
        ),
        (
            "skill_list?profile=nothing",
            json!({}),
            (422, "VALIDATION_ERROR"),
        ),
        ("skill_list", json!({ "x": 5 }), (422, "UNKNOWN_ARGUMENT")),
    ] {
        let path = format!("/api/v1/tools/{path}");
        let reply = server.call("POST", &path, &token, body).await;
        assert_eq!(reply.problem(), (problem.0, problem.1.to_owned()), "{path}");
        assert!(reply.json()["hint"].is_string());
    }
    let unknown = server.call(
        "POST",
        "/api/v1/tools/skill_load",
        &token,
        json!({ "skill_name": "pdf" }),
    );
    assert_eq!(unknown.await.json()["available"], json!(["pdf-tools"]));
}

#[tokio::test]
async fn token_reaches_its_skills_alone() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let access = server.sign_in("ann");
    let new = json!({ "name": "x", "skills": ["other"] });
    let created = server
        .call("POST", "/api/v1/tokens", &access, new)
        .await
        .json();
    let token = created["token"].as_str().unwrap();
    let body = json!({ "skill_name": "pdf-tools" });
    let refused = server
        .call("POST", "/api/v1/tools/skill_load", token, body.clone())
        .await;
    assert_eq!(refused.problem(), (404, "SKILL_NOT_FOUND".to_owned()));
    let (whole, _) = server.token(&ann.id, &all_scopes());
    let loaded = server
        .call("POST", "/api/v1/tools/skill_load", &whole, body)
        .await;
    assert_eq!(loaded.status, StatusCode::OK);
    let found = server.get("/api/v1/search?q=pdf", token).await.json();
    assert_eq!(found, json!({ "results": [], "total": 0 }));
}

#[tokio::test]
async fn search_finds_skills() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &[Scope::SkillsRead]);
    let found = server
        .get("/api/v1/search?q=merges+PDF&limit=5", &token)
        .await
        .json();
    assert_eq!(
        (&found["total"], &found["results"][0]["name"]),
        (&json!(1), &json!("pdf-tools"))
    );
    for (path, code) in [
        ("/api/v1/search", "VALIDATION_ERROR"),
        ("/api/v1/search?q=", "VALIDATION_ERROR"),
        ("/api/v1/search?q=pdf&limit=101", "VALIDATION_ERROR"),
        ("/api/v1/search?q=...", "INVALID_ARGUMENT"),
    ] {
        let reply = server.get(path, &token).await;
        assert_eq!(reply.problem(), (422, code.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn capabilities_are_those_of_the_credential_in_pages() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (all, _) = server.token(&ann.id, &all_scopes());
    let (read, _) = server.token(&ann.id, &[Scope::SkillsRead]);
    let (run, _) = server.token(&ann.id, &[Scope::SkillsRun]);
    let path = "/api/v1/capabilities";
    let ids = |page: &serde_json::Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        let ids = items.map(|item| item["id"].as_str().unwrap().to_owned());
        ids.collect()
    };
    let whole = server.get(path, &all).await.json();
    let known = ids(&whole);
    assert!(known.contains(&"skill_run".to_owned()) && known.is_sorted());
    assert_eq!(whole["next_cursor"], json!(null));
    let skills = server
        .get(&format!("{path}?kind=skill"), &read)
        .await
        .json();
    assert_eq!(ids(&skills), ["skill.pdf-tools"]);
    let skill = &skills["items"][0];
    assert_eq!(
        (&skill["requires_approval"], &skill["health"]["state"]),
        (&json!(false), &json!("READY"))
    );
    let seen = ids(&server.get(path, &read).await.json());
    assert!(!seen.contains(&"skill_run".to_owned()), "{seen:?}");
    let (mut paged, mut next) = (Vec::new(), format!("{path}?limit=3"));
    loop {
        let page = server.get(&next, &all).await.json();
        assert!(page["items"].as_array().unwrap().len() <= 3);
        paged.extend(ids(&page));
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        next = format!("{path}?limit=3&cursor={cursor}");
    }
    assert_eq!(paged, known);
    let refused = server.get(path, &run).await;
    assert_eq!(refused.problem(), (403, "FORBIDDEN".to_owned()));
    for (query, code) in [
        ("kind=other", "VALIDATION_ERROR"),
        ("limit=251", "VALIDATION_ERROR"),
        ("cursor=MQ", "INVALID_CURSOR"),
    ] {
        let reply = server.get(&format!("{path}?{query}"), &all).await;
        assert_eq!(reply.problem(), (422, code.to_owned()), "{query}");
    }
}

#[tokio::test]
async fn person_answers_the_calls_that_wait() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let access = server.sign_in("ann");
    let path = "/api/v1/tools/run_shell_command?profile=agentskills";
    let run = json!({ "skill_name": "pdf-tools", "command": "frobnicate" });
    let asked = server.call("POST", path, &token, run.clone()).await;
    assert_eq!(asked.problem(), (403, "APPROVAL_REQUIRED".to_owned()));
    let id = asked.json()["approval"].as_str().unwrap().to_owned();
    let listed = server.get("/api/v1/approvals", &access).await.json();
    let item = &listed["items"][0];
    assert_eq!(
        (&item["id"], &item["state"]),
        (&json!(id), &json!("waiting"))
    );
    let answer = format!("/api/v1/approvals/{id}");
    let itself = server
        .call("POST", &answer, &token, json!({ "decision": "allow" }))
        .await;
    assert_eq!(itself.problem(), (403, "FORBIDDEN".to_owned()));
    let still = server.call("POST", path, &token, run.clone()).await;
    assert_eq!(still.problem().1, "APPROVAL_REQUIRED");
    let allowed = server
        .call("POST", &answer, &access, json!({ "decision": "allow" }))
        .await;
    assert_eq!(allowed.json()["state"], "allowed_once");
    let space = server.spaces.parts(&Owner::User(ann.id.clone()));
    space.sandbox.script(sandbox::good("done\n"));
    let ran = server.call("POST", path, &token, run.clone()).await;
    assert_eq!(ran.status, StatusCode::OK, "{ran:?}");
    // Once is once.
    let again = server.call("POST", path, &token, run).await;
    assert_eq!(again.problem().1, "APPROVAL_REQUIRED");
}

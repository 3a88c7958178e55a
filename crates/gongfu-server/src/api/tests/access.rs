//! Each endpoint with each kind of credential, generated from the list of endpoints.

mod request;

use gongfu_core::account::{Owner, Scope, Scopes, TeamId, TeamName, TeamRole, User};
use gongfu_core::port::Timestamp;
use gongfu_core::registry::NewToken;
use gongfu_core::registry::team::InvitationSecret;
use gongfu_testing::sample;
use http::StatusCode;
use serde_json::json;

use super::super::endpoint::Access;
use super::super::{Entry, entries};
use super::{ISSUER, PASSWORD, Reply, TestServer, all_scopes, now};

/// A server with everything that the samples need.
struct Fixture {
    server: TestServer,
    /// An admin.
    ann: User,
    bob: User,
    ann_access: String,
    bob_access: String,
    refresh: String,
    token_id: String,
    approval: String,
    /// The path of a skill of Ann, which Bob has not.
    skill: String,
    /// A team of Ann with Zoe, and an invitation to it.
    team: TeamId,
    invitation: InvitationSecret,
    /// An invitation to a team that neither Ann nor Bob is in.
    join: InvitationSecret,
    zoe: User,
    /// The path of its skill.
    team_skill: String,
    /// The ids of a grant of Ann, and of one of the team.
    grants: [String; 2],
}

impl Fixture {
    async fn new() -> Self {
        let server = TestServer::new();
        let (ann, bob) = (server.user("ann", true), server.user("bob", false));
        let zoe = server.user("zoe", true);
        let (token, token_id) = server.token(&ann.id, &all_scopes());
        let asked = server.call(
            "POST",
            "/api/v1/tools/run_shell_command?profile=agentskills",
            &token,
            json!({ "skill_name": "pdf-tools", "command": "frobnicate" }),
        );
        let asked = asked.await;
        assert_eq!(asked.problem(), (403, "APPROVAL_REQUIRED".to_owned()));
        let approval = asked.json()["approval"].as_str().unwrap().to_owned();
        let space = server.spaces.parts(&Owner::User(ann.id.clone()));
        space.skills.replace(&[
            ("lib/pdf-tools", &sample::PDF_TOOLS_FILES),
            ("lib/ann-tools", &sample::PDF_TOOLS_FILES),
        ]);
        let listed = server.get("/api/v1/skills", &token).await.json();
        let id = listed["items"][1]["id"].as_str().unwrap();
        let skill = format!("/api/v1/skills/{id}");
        let sign_in = now(server.accounts.sign_in("ann", PASSWORD.to_owned())).unwrap();
        let accounts = &server.accounts;
        let name = TeamName::new("design").unwrap();
        let team = now(accounts.create_team(name, &ann.id, None)).unwrap().id;
        now(accounts.set_member(&team, &zoe.id, TeamRole::Member, None)).unwrap();
        let (invitation, _) = now(accounts.invite(&team, TeamRole::Member, None)).unwrap();
        let name = TeamName::new("zoos").unwrap();
        let other = now(accounts.create_team(name, &zoe.id, None)).unwrap().id;
        let (join, _) = now(accounts.invite(&other, TeamRole::Member, None)).unwrap();
        let space = server.spaces.parts(&Owner::Team(team.clone()));
        space
            .skills
            .replace(&[("lib/team-tools", &sample::PDF_TOOLS_FILES)]);
        let team_path = format!("/api/v1/teams/{}", team.as_str());
        let listed = server
            .get(&format!("{team_path}/skills"), &token)
            .await
            .json();
        let id = listed["items"][0]["id"].as_str().unwrap();
        let team_skill = format!("{team_path}/skills/{id}");
        let ann_access = sign_in.access.as_str().to_owned();
        let mut grants = [String::new(), String::new()];
        for (grant, path) in grants.iter_mut().zip([&skill, &team_skill]) {
            let (place, id) = path.split_once("/skills/").unwrap();
            let body = json!({ "skill": id, "host": "api.example.com" });
            let path = format!("{place}/grants");
            let made = server.call("POST", &path, &ann_access, body).await;
            assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
            made.json()["id"].as_str().unwrap().clone_into(grant);
        }
        Self {
            grants,
            team,
            invitation,
            join,
            zoe,
            team_skill,
            ann_access,
            bob_access: server.sign_in("bob"),
            refresh: sign_in.refresh.as_str().to_owned(),
            ann,
            bob,
            token_id,
            approval,
            skill,
            server,
        }
    }

    async fn send(&self, entry: &Entry, token: &str) -> Reply {
        let (path, body) = self.sample(&entry.name);
        if entry.name == "skill_upload" {
            let archive = super::skill::archive("png-tools");
            return self.server.upload(token, "", "png.zip", &archive).await;
        }
        if entry.name == "team_skill_upload" {
            let archive = super::skill::archive("png-tools");
            let upload = self.server.upload_to(&path, token, "", "png.zip", &archive);
            return upload.await;
        }
        self.server
            .call(entry.method.as_str(), &path, token, body)
            .await
    }

    fn token_of_ann(&self, scopes: &[Scope], expires: Option<i64>) -> (String, String) {
        let new = NewToken {
            name: "test".to_owned(),
            scopes: scopes.iter().copied().collect(),
            skills: None,
            profile: None,
            expires: expires.map(Timestamp),
        };
        let (token, record) = now(self.server.accounts.create_token(&self.ann.id, new)).unwrap();
        (token.as_str().to_owned(), record.id)
    }

    /// A credential that is refused, with the code.
    fn refused(&self, kind: &str) -> (String, &'static str) {
        let server = &self.server;
        match kind {
            "none" => (String::new(), "UNAUTHORIZED"),
            "malformed" => ("ask_live_0123".to_owned(), "INVALID_TOKEN_FORMAT"),
            "other form" => ("secret".to_owned(), "INVALID_TOKEN_FORMAT"),
            "forged" => {
                let forged = self.ann_access.rsplit_once('.').unwrap().0;
                (format!("{forged}.AAAA"), "INVALID_TOKEN")
            }
            "refresh token" => (self.refresh.clone(), "INVALID_TOKEN_TYPE"),
            "unknown" => {
                let other = TestServer::new();
                // A key of its own would do; other random bits do as well.
                now(other.accounts.sign_in("nobody", String::new())).unwrap_err();
                let user = other.user("eve", false);
                for _ in 0..20 {
                    other.token(&user.id, &all_scopes());
                }
                (other.token(&user.id, &all_scopes()).0, "TOKEN_NOT_FOUND")
            }
            "expired" => {
                let at = gongfu_core::port::Clock::now(&*server.clock).0;
                let (token, _) = self.token_of_ann(&all_scopes(), Some(at + 1));
                server.clock.advance(1);
                (token, "TOKEN_EXPIRED")
            }
            "expired access" => {
                server.clock.advance(16 * 60 * 1_000);
                (self.ann_access.clone(), "TOKEN_EXPIRED")
            }
            "revoked" => {
                let (token, id) = self.token_of_ann(&all_scopes(), None);
                now(server.accounts.revoke_token(&self.ann.id, &id)).unwrap();
                (token, "TOKEN_REVOKED")
            }
            "signed out" => {
                now(server.accounts.sign_out(&self.refresh)).unwrap();
                (self.ann_access.clone(), "TOKEN_REVOKED")
            }
            "disabled user" => {
                let by = Some(&self.ann.id);
                now(server.accounts.set_active(&self.bob.id, false, by)).unwrap();
                (self.bob_access.clone(), "TOKEN_REVOKED")
            }
            "for MCP" => {
                let scopes = Scopes::of_user(true);
                let audience = format!("{ISSUER}/mcp");
                let begun = server.accounts.begin(&self.ann, None, scopes, &audience);
                (
                    now(begun).unwrap().access.as_str().to_owned(),
                    "INVALID_TOKEN",
                )
            }
            other => panic!("{other}"),
        }
    }
}

const REFUSED: [&str; 12] = [
    "none",
    "malformed",
    "other form",
    "forged",
    "refresh token",
    "unknown",
    "expired",
    "expired access",
    "revoked",
    "signed out",
    "disabled user",
    "for MCP",
];

#[tokio::test]
async fn rightful_caller_of_each_endpoint_gets_its_reply() {
    for entry in entries() {
        let fixture = Fixture::new().await;
        let reply = fixture.send(&entry, &fixture.ann_access).await;
        assert!(
            entry.success.contains(&reply.status.as_u16()),
            "{}: {reply:?}",
            entry.name
        );
        assert_eq!(reply.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn bad_credential_is_refused_by_each_endpoint() {
    for kind in REFUSED {
        let fixture = Fixture::new().await;
        let (token, code) = fixture.refused(kind);
        let is_public = |entry: &Entry| entry.access == Access::Public;
        for entry in entries().into_iter().filter(|entry| !is_public(entry)) {
            let reply = fixture.send(&entry, &token).await;
            let name = entry.name;
            assert_eq!(reply.problem(), (401, code.to_owned()), "{name}: {kind}");
            let challenge = reply.header("www-authenticate");
            assert_eq!(
                challenge.contains("error=\"invalid_token\""),
                kind != "none"
            );
        }
    }
    // What is for everybody asks for no credential, and no bad one is in its way.
    for entry in entries() {
        if entry.access == Access::Public {
            let fixture = Fixture::new().await;
            let reply = fixture.send(&entry, "ask_live_0123").await;
            assert!(reply.status.is_success(), "{}: {reply:?}", entry.name);
        }
    }
}

#[tokio::test]
async fn api_token_reaches_skills_and_tools_within_its_scopes_alone() {
    for entry in entries() {
        let fixture = Fixture::new().await;
        let (every, _) = fixture.token_of_ann(&Scope::ALL, None);
        let reply = fixture.send(&entry, &every).await;
        match entry.access {
            Access::Person | Access::Admin => {
                assert_eq!(
                    reply.problem(),
                    (403, "FORBIDDEN".to_owned()),
                    "{}",
                    entry.name
                );
            }
            Access::Public | Access::Credential | Access::Scopes(_) => {
                assert!(reply.status.is_success(), "{}: {reply:?}", entry.name);
            }
        }
        let Access::Scopes(needed) = entry.access else {
            continue;
        };
        let others: Vec<Scope> = Scope::ALL
            .into_iter()
            .filter(|scope| !needed.contains(scope))
            .collect();
        let (lacking, _) = fixture.token_of_ann(&others, None);
        let reply = fixture.send(&entry, &lacking).await;
        assert_eq!(
            reply.problem(),
            (403, "FORBIDDEN".to_owned()),
            "{}",
            entry.name
        );
        let names: Vec<&str> = needed.iter().map(|scope| scope.as_str()).collect();
        if !entry.path.starts_with("/v1/") {
            assert_eq!(reply.json()["missing"], json!(names));
        }
        assert!(
            reply
                .header("www-authenticate")
                .contains("insufficient_scope")
        );
    }
}

#[tokio::test]
async fn another_user_sees_nothing_of_it() {
    for entry in entries() {
        let fixture = Fixture::new().await;
        let reply = fixture.send(&entry, &fixture.bob_access).await;
        if entry.access == Access::Admin {
            assert_eq!(
                reply.problem(),
                (403, "FORBIDDEN".to_owned()),
                "{}",
                entry.name
            );
        } else if entry.name == "grant_create" {
            // The skill in the body is one of another user.
            assert_eq!(reply.problem(), (422, "VALIDATION_ERROR".to_owned()));
        } else if entry.name == "team_join" {
            // The invitation is the permission.
            assert!(reply.status.is_success(), "{reply:?}");
        } else if entry.access != Access::Public
            && (["{id}", "{team}"].iter()).any(|name| entry.path.contains(name))
        {
            let code = if entry.path.starts_with("/api/v1/skills") {
                "SKILL_NOT_FOUND"
            } else if entry.path.starts_with("/api/v1/agent") {
                "SESSION_NOT_FOUND"
            } else {
                "NOT_FOUND"
            };
            assert_eq!(reply.problem(), (404, code.to_owned()), "{}", entry.name);
            // The answer to an id that nobody has is the same.
            let (path, body) = fixture.sample(&entry.name);
            let path = path.replace(&fixture.token_id, "00000000000000000000000000000000");
            let path = path.replace(&fixture.approval, "00000000");
            let path = path.replace(&fixture.grants[0], "00000000000000000000000000000000");
            let path = path.replace(
                fixture.team.as_str(),
                "team-00000000000000000000000000000000",
            );
            let method = entry.method.as_str();
            let unknown = fixture
                .server
                .call(method, &path, &fixture.bob_access, body)
                .await;
            assert_eq!(unknown.body, reply.body, "{}", entry.name);
        } else {
            assert!(reply.status.is_success(), "{}: {reply:?}", entry.name);
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(
                !text.contains(fixture.ann.id.as_str()),
                "{}: {text}",
                entry.name
            );
        }
    }
}

#[tokio::test]
async fn credential_is_one_header() {
    use axum::body::Body;
    use http::header::AUTHORIZATION;

    let fixture = Fixture::new().await;
    let (server, access) = (&fixture.server, fixture.ann_access.as_str());
    let path = "/api/v1/users/me";
    let twice = super::request("GET", path, access)
        .header(AUTHORIZATION, format!("Bearer {access}"))
        .body(Body::empty());
    let twice = server.send(twice.unwrap()).await;
    assert_eq!(twice.problem(), (400, "BAD_REQUEST".to_owned()));
    for token in ["", access] {
        let path = format!("{path}?access_token={access}");
        let in_url = server.get(&path, token).await;
        assert_eq!(in_url.problem(), (400, "BAD_REQUEST".to_owned()));
    }
    for scheme in ["Basic", "Bearer  ", "bearer\t"] {
        let other = super::request("GET", path, "")
            .header(AUTHORIZATION, format!("{scheme}{access}"))
            .body(Body::empty());
        let other = server.send(other.unwrap()).await;
        assert!(
            other.status == 401 || scheme == "Bearer  ",
            "{scheme}: {other:?}"
        );
    }
    let lower = super::request("GET", path, "")
        .header(AUTHORIZATION, format!("bearer {access}"))
        .body(Body::empty());
    assert_eq!(server.send(lower.unwrap()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn mcp_gets_the_identity_of_its_caller() {
    let fixture = Fixture::new().await;
    let server = &fixture.server;
    let user = fixture.ann.id.as_str();
    let (token, _) = fixture.token_of_ann(&[Scope::SkillsRead], None);
    let (for_mcp, _) = fixture.refused("for MCP");
    for (credential, scopes) in [
        (&token, "skills:read"),
        (&for_mcp, "skills:read skills:write skills:run admin"),
        (
            &fixture.ann_access,
            "skills:read skills:write skills:run admin",
        ),
    ] {
        let reply = server.call("POST", "/mcp", credential, json!({})).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        assert_eq!(reply.json(), json!({ "user": user, "scopes": scopes }));
    }
    for kind in REFUSED.into_iter().filter(|kind| *kind != "for MCP") {
        let fixture = Fixture::new().await;
        let (credential, code) = fixture.refused(kind);
        let reply = fixture
            .server
            .call("POST", "/mcp", &credential, json!({}))
            .await;
        assert_eq!(reply.problem(), (401, code.to_owned()), "{kind}");
    }
    let elsewhere = now(server.accounts.begin(
        &fixture.ann,
        None,
        Scopes::usual(),
        "https://other.example/mcp",
    ));
    let elsewhere = elsewhere.unwrap();
    let reply = server
        .call("POST", "/mcp", elsewhere.access.as_str(), json!({}))
        .await;
    assert_eq!(reply.problem(), (401, "INVALID_TOKEN".to_owned()));
}

#[tokio::test]
async fn metadata_says_how_to_get_a_credential() {
    let server = TestServer::new();
    let refused = server.call("POST", "/mcp", "", json!({})).await;
    assert_eq!(
        refused.header("www-authenticate"),
        "Bearer resource_metadata=\"http://127.0.0.1:7878/.well-known/oauth-protected-resource/mcp\", scope=\"skills:read skills:write skills:run\""
    );
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ] {
        let reply = server.get(path, "").await;
        assert_eq!(
            reply.json(),
            json!({
                "resource": "http://127.0.0.1:7878/mcp",
                "authorization_servers": ["http://127.0.0.1:7878"],
                "scopes_supported": ["skills:read", "skills:write", "skills:run", "admin"],
                "bearer_methods_supported": ["header"],
                "resource_name": "gongfu",
            })
        );
    }
}

#[tokio::test]
async fn health_says_little_and_metrics_are_for_admins() {
    let fixture = Fixture::new().await;
    let server = &fixture.server;
    assert_eq!(
        server.get("/health", "").await.json(),
        json!({ "status": "ok" })
    );
    assert_eq!(
        server.get("/health/ready", "").await.json(),
        json!({ "status": "ready" })
    );
    let (with_scope, _) = fixture.token_of_ann(&[Scope::Admin], None);
    for allowed in [&with_scope, &fixture.ann_access] {
        assert_eq!(server.get("/metrics", allowed).await.status, StatusCode::OK);
    }
    let (without, _) = fixture.token_of_ann(&all_scopes(), None);
    for refused in [&without, &fixture.bob_access] {
        let reply = server.get("/metrics", refused).await;
        assert_eq!(reply.problem(), (403, "FORBIDDEN".to_owned()));
    }
    assert_eq!(server.get("/metrics", "").await.problem().0, 401);
}

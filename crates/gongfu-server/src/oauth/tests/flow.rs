//! A client signs in, as it should.

use http::StatusCode;
use serde_json::json;

use super::browser::Browser;
use super::{
    CHALLENGE, ISSUER, PASSWORD, Server, VERIFIER, WEB_REDIRECT, authorize, authorize_path,
    redemption, value_of, with,
};

#[tokio::test]
async fn web_client_signs_in_from_the_first_request_to_the_last() {
    let server = Server::new();
    let browser = Browser::new(&server);
    let path = authorize_path(&authorize());
    // Nobody is signed in, and nothing is fetched for strangers.
    let answer = browser.get(&path).await;
    let login = answer.location().to_owned();
    assert!(login.starts_with("/login?next=%2Fauthorize%3F"), "{login}");
    assert!(server.documents.take_fetched().is_empty());
    let next = browser.get(&login).await.field("next");
    assert_eq!(next, path);
    let answer = browser.sign_in("ann", PASSWORD, &next).await;
    assert_eq!(answer.status, StatusCode::OK);
    let refresh = format!("content=\"0; url={}\"", path.replace('&', "&amp;"));
    assert!(answer.body.contains(&refresh), "{}", answer.body);
    let page = browser.get(&path).await;
    for shown in [
        "App",
        "Published by app.example",
        "find and read",
        "run commands",
        "Signed in as ann",
    ] {
        assert!(page.body.contains(shown), "{shown}: {}", page.body);
    }
    assert!(!page.body.contains("create, change and delete"));
    assert!(
        page.header("content-security-policy")
            .contains("form-action 'self' https://app.example;")
    );
    let answer = browser.decide(&path, "allow").await;
    let to = answer.location();
    assert!(to.starts_with(WEB_REDIRECT), "{to}");
    assert_eq!(value_of(to, "state").as_deref(), Some("s&t"));
    assert_eq!(value_of(to, "iss").as_deref(), Some(ISSUER));
    let code = value_of(to, "code").unwrap();
    let tokens = server.program("/token", &redemption(&code)).await;
    assert_eq!(tokens.status, StatusCode::OK, "{}", tokens.body);
    assert_eq!(tokens.header("cache-control"), "no-store");
    let tokens = tokens.json();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["scope"], "skills:read skills:run");
    assert!(server.is_good(tokens["access_token"].as_str().unwrap()));
    let refresh = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ("client_id", super::WEB),
    ];
    let next = server.program("/token", &refresh).await.json();
    let access = next["access_token"].as_str().unwrap();
    assert!(server.is_good(access));
    // The second time nothing is asked.
    let answer = browser.get(&path).await;
    assert!(value_of(answer.location(), "code").is_some());
    // The user sees the client, and ends it.
    let account = browser.get("/account").await;
    assert!(account.body.contains("App") && account.body.contains("app.example"));
    let at = account.body.find("value=\"connection\"").unwrap();
    let id = &account.body[at..];
    let id = &id[id.find("name=\"id\" value=\"").unwrap() + 17..][..32];
    let fields = [("thing", "connection"), ("id", id)];
    let answer = browser.submit("/account", "/account/end", &fields).await;
    assert_eq!(answer.location(), "/account?done=connection");
    assert!(!server.is_good(access));
    assert!(browser.get(&path).await.body.contains("Allow access?"));
}

#[tokio::test]
async fn registered_client_on_this_machine_is_asked_about_each_time() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let client = json!({"client_name": "Tool", "redirect_uris": ["http://localhost/cb"]});
    let registered = server.register(&client).await;
    assert_eq!(registered.status, StatusCode::CREATED);
    assert_eq!(registered.header("cache-control"), "no-store");
    let registered = registered.json();
    assert_eq!(registered["token_endpoint_auth_method"], "none");
    assert_eq!(registered["client_name"], "Tool");
    let id = registered["client_id"].as_str().unwrap();
    let fields = with(authorize(), "client_id", id);
    let path = authorize_path(&with(fields, "redirect_uri", "http://localhost:4711/cb"));
    for _ in 0..2 {
        let page = browser.get(&path).await;
        for shown in [
            "Not verified",
            "Tool",
            "localhost",
            "a program on this device",
            "Any program on this device",
        ] {
            assert!(page.body.contains(shown), "{shown}");
        }
        assert!(
            page.header("content-security-policy")
                .contains("'self' http://localhost:4711;")
        );
        let answer = browser.decide(&path, "allow").await;
        let code = value_of(answer.location(), "code").unwrap();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", id),
            ("redirect_uri", "http://localhost:4711/cb"),
            ("code_verifier", VERIFIER),
        ];
        let tokens = server.program("/token", &fields).await.json();
        let (access, refresh) = (
            tokens["access_token"].as_str().unwrap(),
            tokens["refresh_token"].as_str().unwrap(),
        );
        assert!(server.is_good(access));
        let revoked = server
            .program("/revoke", &[("token", refresh), ("client_id", id)])
            .await;
        assert_eq!(revoked.status, StatusCode::OK);
        assert!(!server.is_good(access));
    }
    let denied = browser.decide(&path, "deny").await;
    assert_eq!(
        value_of(denied.location(), "error").as_deref(),
        Some("access_denied")
    );
}

#[tokio::test]
async fn metadata_says_what_clients_look_for() {
    let server = Server::new();
    let answer = Browser::new(&server)
        .get("/.well-known/oauth-authorization-server")
        .await;
    let document = answer.json();
    assert_eq!(
        document,
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": format!("{ISSUER}/authorize"),
            "token_endpoint": format!("{ISSUER}/token"),
            "revocation_endpoint": format!("{ISSUER}/revoke"),
            "registration_endpoint": format!("{ISSUER}/register"),
            "scopes_supported": ["skills:read", "skills:write", "skills:run"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": true,
            "protected_resources": [format!("{ISSUER}/mcp")],
            "ui_locales_supported": ["en", "zh-Hans"],
        })
    );
}

#[tokio::test]
async fn server_below_a_path_links_below_it() {
    let server = Server::at("https://example.com/gongfu");
    let browser = Browser::new(&server);
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/gongfu",
    ] {
        let document = browser.get(path).await.json();
        assert_eq!(
            document["token_endpoint"],
            "https://example.com/gongfu/token"
        );
    }
    let answer = browser.get(&authorize_path(&authorize())).await;
    assert!(answer.location().starts_with("/gongfu/login?"));
    let login = browser.get("/login").await;
    assert!(login.body.contains("action=\"/gongfu/login\""));
    assert!(login.body.contains("href=\"/gongfu/assets/style.css\""));
}

#[tokio::test]
async fn nothing_is_served_without_tls_off_this_machine() {
    for (issuer, is_served) in [
        ("http://skills.example.com", false),
        ("http://192.0.2.1:80", false),
        ("http://localhost.example.com", false),
        ("https://skills.example.com", true),
        ("http://localhost:7878", true),
        ("http://127.0.0.1:7878", true),
        ("http://[::1]:7878", true),
    ] {
        let server = Server::at(issuer);
        let answer = Browser::new(&server).get("/login").await;
        assert_eq!(answer.status == StatusCode::OK, is_served, "{issuer}");
    }
}

#[tokio::test]
async fn session_on_this_machine_needs_no_tls() {
    let server = Server::at("http://127.0.0.1:7878");
    let mut browser = Browser::new(&server);
    let answer = browser.sign_in("ann", PASSWORD, "").await;
    let cookie = answer.header("set-cookie");
    assert!(
        cookie.starts_with("gongfu=") && !cookie.contains("Secure"),
        "{cookie}"
    );
    assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    // The host that the browser asked for is another name of this machine.
    browser.forged = vec![("origin", Some("http://localhost:7878"))];
    let left = browser.submit("/account", "/logout", &[]).await;
    assert_eq!(left.location(), "/login?done=left");
    browser.forged = vec![("origin", Some("http://localhost:3000"))];
    let refused = browser.sign_in("ann", PASSWORD, "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(CHALLENGE.len(), 43);
}

//! Attacks on the endpoints and the pages.

use axum::body::Body;
use axum::extract::Request;
use gongfu_testing::now;
use http::StatusCode;
use serde_json::json;

use super::browser::Browser;
use super::{
    PASSWORD, Server, VERIFIER, WEB_REDIRECT, authorize, authorize_path, query, redemption,
    value_of, with,
};

/// The code of the web client for the user of a browser.
async fn code(browser: &Browser<'_>) -> String {
    let path = authorize_path(&authorize());
    let page = browser.get(&path).await;
    let answer = if page.status == StatusCode::OK {
        browser.decide(&path, "allow").await
    } else {
        page
    };
    value_of(answer.location(), "code").unwrap()
}

#[tokio::test]
async fn bad_redirects_end_on_a_page() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    assert_eq!(
        browser.get(&authorize_path(&authorize())).await.status,
        StatusCode::OK
    );
    for redirect in [
        "https://evil.example/callback",
        "https://app.example/callback/../x",
        "https://app.example@evil.example/callback",
        "https://app.example/callback#@evil.example",
        "https://app.example:444/callback",
        "https://app.example/callback%0d%0aLocation:%20https://evil.example",
        "javascript:alert(1)",
        "//evil.example",
        "",
    ] {
        let answer = browser
            .get(&authorize_path(&with(
                authorize(),
                "redirect_uri",
                redirect,
            )))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{redirect}");
        assert!(answer.headers.get("location").is_none(), "{redirect}");
        let mut links = answer.body.split("href=\"").skip(1);
        let is_own = |link: &str| link.starts_with("/a") && !link.starts_with("//");
        assert!(
            links.all(|link| is_own(link) || link.starts_with('#')),
            "{redirect}"
        );
        assert!(!answer.body.contains("http-equiv"), "{redirect}");
    }
    for twice in ["redirect_uri=https%3A%2F%2Fevil.example%2F", "client_id=x"] {
        let path = format!("{}&{twice}", authorize_path(&authorize()));
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{twice}");
    }
    let twice = format!("{}&scope=skills:read", authorize_path(&authorize()));
    let answer = browser.get(&twice).await;
    assert_eq!(
        value_of(answer.location(), "error").as_deref(),
        Some("invalid_request")
    );
}

#[tokio::test]
async fn sign_in_leads_only_to_pages_of_the_server() {
    let server = Server::new();
    let good = authorize_path(&authorize());
    for (next, to) in [
        ("https://evil.example/", "/account"),
        ("//evil.example/", "/account"),
        ("/\\evil.example/", "/account"),
        ("/authorize/../x?y", "/account"),
        ("/authorize", "/account"),
        ("/authorize?\r\nLocation: https://evil.example", "/account"),
        ("javascript:alert(1)", "/account"),
        ("/account", "/account"),
        ("", "/account"),
    ] {
        let browser = Browser::new(&server);
        let answer = browser.sign_in("ann", PASSWORD, next).await;
        assert_eq!(answer.location(), to, "{next}");
        // Who is signed in already goes there at once.
        let again = browser
            .get(&format!("/login?{}", query(&[("next", next)])))
            .await;
        assert_eq!(again.location(), to, "{next}");
    }
    let browser = Browser::signed_in(&server, "ann").await;
    let again = browser
        .get(&format!("/login?{}", query(&[("next", &good)])))
        .await;
    assert_eq!(again.location(), good);
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let server = Server::new();
    for forged in [
        vec![("origin", Some("https://evil.example"))],
        vec![("origin", Some("null"))],
        vec![("origin", Some("https://skills.example.com.evil.example"))],
        vec![("origin", Some("http://skills.example.com"))],
        vec![("origin", Some("https://skills.example.com:444"))],
        vec![("origin", Some("http://localhost:7878"))],
        vec![("origin", None)],
        vec![("origin", None), ("sec-fetch-site", Some("cross-site"))],
        vec![("sec-fetch-site", Some("cross-site"))],
        vec![("sec-fetch-site", Some("same-site"))],
        vec![("content-type", Some("text/plain"))],
        vec![("content-type", Some("multipart/form-data"))],
        vec![("content-type", None)],
    ] {
        let mut browser = Browser::new(&server);
        browser.forged = forged.clone();
        let answer = browser.sign_in("ann", PASSWORD, "").await;
        assert!(answer.status.is_client_error(), "{forged:?}");
        browser.forged = Vec::new();
        assert_eq!(
            browser.sign_in("ann", PASSWORD, "").await.location(),
            "/account"
        );
        browser.forged = forged.clone();
        let path = authorize_path(&authorize());
        let answer = browser.decide(&path, "allow").await;
        assert!(answer.status.is_client_error(), "{forged:?}");
        assert!(answer.headers.get("location").is_none());
        let answer = browser.submit("/account", "/logout", &[]).await;
        assert!(answer.status.is_client_error(), "{forged:?}");
        browser.forged = Vec::new();
        assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    }
    // A browser without the header of newer ones.
    let mut old = Browser::new(&server);
    old.forged = vec![("sec-fetch-site", None)];
    assert_eq!(
        old.sign_in("ann", PASSWORD, "").await.location(),
        "/account"
    );
}

#[tokio::test]
async fn forms_need_the_token_of_their_session() {
    let server = Server::new();
    let (ann, bob) = (
        Browser::signed_in(&server, "ann").await,
        Browser::signed_in(&server, "bob").await,
    );
    let path = authorize_path(&authorize());
    let (mine, other) = (ann.get(&path).await, bob.get(&path).await);
    let [token, request] = ["form_token", "request"].map(|name| mine.field(name));
    let [other_token, other_request] = ["form_token", "request"].map(|name| other.field(name));
    let decide = async |token: &str, request: &str| {
        let fields = [
            ("form_token", token),
            ("request", request),
            ("decision", "allow"),
        ];
        ann.post("/authorize", &fields).await
    };
    for (token, request, status) in [
        ("", request.as_str(), StatusCode::FORBIDDEN),
        (&token[1..], &request, StatusCode::FORBIDDEN),
        (&other_token, &request, StatusCode::FORBIDDEN),
        (&token, "", StatusCode::BAD_REQUEST),
        (&token, &request[1..], StatusCode::BAD_REQUEST),
        (&token, &other_request, StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(decide(token, request).await.status, status);
    }
    assert!(value_of(decide(&token, &request).await.location(), "code").is_some());
    // The sign-in has one, too, so that nobody is signed in as somebody else.
    let stranger = Browser::new(&server);
    let fields = [
        ("form_token", other_token.as_str()),
        ("name", "bob"),
        ("password", PASSWORD),
    ];
    assert_eq!(
        stranger.post("/login", &fields).await.status,
        StatusCode::FORBIDDEN
    );
    let taken = Browser::new(&server)
        .get("/login")
        .await
        .field("form_token");
    stranger.get("/login").await;
    let fields = [
        ("form_token", taken.as_str()),
        ("name", "bob"),
        ("password", PASSWORD),
    ];
    assert_eq!(
        stranger.post("/login", &fields).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        stranger.sign_in("bob", PASSWORD, "").await.location(),
        "/account"
    );
    // And a field that is there twice is nobody's.
    let token = ann.get("/account").await.field("form_token");
    let fields = [("form_token", token.as_str()), ("form_token", &token)];
    assert_eq!(
        ann.post("/logout", &fields).await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn session_is_new_with_each_sign_in() {
    let server = Server::new();
    let attacker = Browser::signed_in(&server, "bob").await;
    let secret = |browser: &Browser<'_>| browser.cookies.borrow()["__Host-gongfu"].clone();
    let planted = secret(&attacker);
    for planted in [planted.as_str(), &"0".repeat(64), "x"] {
        let victim = Browser::new(&server);
        victim
            .cookies
            .borrow_mut()
            .insert("__Host-gongfu".to_owned(), planted.to_owned());
        let token = victim.get("/login").await;
        // The planted session is somebody's, so its user is signed in; the victim's own form is another one.
        if token.status == StatusCode::SEE_OTHER {
            let left = victim.submit("/account", "/logout", &[]).await;
            assert_eq!(left.location(), "/login?done=left");
        }
        assert_eq!(
            victim.sign_in("ann", PASSWORD, "").await.location(),
            "/account"
        );
        assert_ne!(secret(&victim), planted);
    }
    assert_eq!(
        attacker.get("/account").await.location(),
        "/login?next=%2Faccount"
    );
    // Another sign-in of the same browser ends the session before.
    let ann = Browser::signed_in(&server, "ann").await;
    let first = secret(&ann);
    let kept = ann.cookies.borrow().clone();
    let token = Browser::new(&server);
    *token.cookies.borrow_mut() = kept;
    token.cookies.borrow_mut().remove("__Host-gongfu");
    let form = token.get("/login").await.field("form_token");
    let fields = [
        ("form_token", form.as_str()),
        ("name", "ann"),
        ("password", PASSWORD),
    ];
    ann.post("/login", &fields).await;
    let second = secret(&ann);
    assert_ne!(first, second);
    let old = Browser::new(&server);
    old.cookies
        .borrow_mut()
        .insert("__Host-gongfu".to_owned(), first);
    assert_eq!(old.get("/account").await.status, StatusCode::SEE_OTHER);
    old.cookies
        .borrow_mut()
        .insert("__Host-gongfu".to_owned(), second.clone());
    assert_eq!(old.get("/account").await.status, StatusCode::OK);
    // A cookie that is there twice was planted.
    let twice = format!("{second}; __Host-gongfu={second}");
    old.cookies
        .borrow_mut()
        .insert("__Host-gongfu".to_owned(), twice);
    assert_eq!(old.get("/account").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn codes_and_tokens_are_for_their_client_alone() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let other = json!({"redirect_uris": [WEB_REDIRECT]});
    let other = server.register(&other).await.json()["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let wrong = VERIFIER.replace('d', "e");
    for (name, value) in [
        ("client_id", other.as_str()),
        ("redirect_uri", "https://other.example/cb"),
        ("code_verifier", &wrong),
        ("code_verifier", ""),
        ("resource", "https://evil.example/mcp"),
        ("client_secret", "x"),
        ("grant_type", "implicit"),
    ] {
        let code = code(&browser).await;
        let answer = server
            .program("/token", &with(redemption(&code), name, value))
            .await;
        assert!(answer.status.is_client_error(), "{name}={value}");
        assert!(answer.json()["error"].is_string() && answer.json()["access_token"].is_null());
    }
    // The code of one user's attempt, put into that of another, is no good without its verifier.
    let stolen = code(&browser).await;
    let answer = server
        .program(
            "/token",
            &with(redemption(&stolen), "code_verifier", &wrong),
        )
        .await;
    assert_eq!(answer.json()["error"], "invalid_grant");
    let given = code(&browser).await;
    let tokens = server.program("/token", &redemption(&given)).await.json();
    let access = tokens["access_token"].as_str().unwrap();
    assert!(server.is_good(access));
    let refresh = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ("client_id", other.as_str()),
    ];
    assert_eq!(
        server.program("/token", &refresh).await.json()["error"],
        "invalid_grant"
    );
    assert!(server.is_good(access));
    let again = server.program("/token", &redemption(&given)).await;
    assert_eq!(
        (again.status, &again.json()["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
    assert!(!server.is_good(access));
}

#[tokio::test]
async fn disabled_user_has_no_session_and_no_code() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let given = code(&browser).await;
    let accounts = server.oauth.accounts();
    now(accounts.set_active(&server.ann.id, false, None)).unwrap();
    let answer = server.program("/token", &redemption(&given)).await;
    assert_eq!(answer.json()["error"], "invalid_grant");
    assert_eq!(browser.get("/account").await.status, StatusCode::SEE_OTHER);
    let refused = browser.sign_in("ann", PASSWORD, "").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    now(accounts.set_active(&server.ann.id, true, None)).unwrap();
    server.clock.advance(60_000);
    assert_eq!(
        browser.sign_in("ann", PASSWORD, "").await.location(),
        "/account"
    );
    let given = code(&browser).await;
    assert_eq!(
        server.program("/token", &redemption(&given)).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn odd_requests_of_programs_are_refused() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let given = code(&browser).await;
    let send = async |media: &str, body: String, authorization: Option<&str>| {
        let mut request = Request::post("/token").header("content-type", media);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        server.send(request.body(Body::from(body)).unwrap()).await
    };
    let form = "application/x-www-form-urlencoded";
    let good = query(&redemption(&given));
    for (media, body, authorization, code) in [
        ("application/json", good.clone(), None, "invalid_request"),
        ("text/plain", good.clone(), None, "invalid_request"),
        (form, String::new(), None, "invalid_request"),
        (
            form,
            format!("{good}&x={}", "x".repeat(70_000)),
            None,
            "invalid_request",
        ),
        (
            form,
            format!("{good}&x={}", "x".repeat(20_000)),
            None,
            "invalid_request",
        ),
        (
            form,
            format!("{good}{}", "&x=".repeat(100)),
            None,
            "invalid_request",
        ),
        (
            form,
            format!("{good}&code_verifier={VERIFIER}"),
            None,
            "invalid_request",
        ),
        (form, format!("{good}&x=1&x=2"), None, "invalid_request"),
        (form, good.clone(), Some("Basic eDp5"), "invalid_client"),
    ] {
        let answer = send(media, body, authorization).await;
        assert!(answer.status.is_client_error());
        assert_eq!(answer.json()["error"], code, "{media}");
        assert_eq!(answer.header("content-type"), "application/json");
    }
    assert_eq!(send(form, good, None).await.status, StatusCode::OK);
    for method in ["GET", "PUT", "DELETE"] {
        for path in ["/token", "/register", "/revoke"] {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .body(Body::empty())
                .unwrap();
            assert_eq!(
                server.send(request).await.status,
                StatusCode::METHOD_NOT_ALLOWED
            );
        }
    }
    let huge = json!({"redirect_uris": [WEB_REDIRECT], "x": "x".repeat(20_000)});
    assert_eq!(server.register(&huge).await.status, StatusCode::BAD_REQUEST);
    let request = Request::post("/register").body(Body::from("{}")).unwrap();
    assert_eq!(
        server.send(request).await.json()["error"],
        "invalid_client_metadata"
    );
    assert_eq!(
        server
            .register(&json!({"redirect_uris": [WEB_REDIRECT]}))
            .await
            .status,
        StatusCode::CREATED
    );
}

#[tokio::test]
async fn guessing_is_slowed_down() {
    let server = Server::new();
    let browser = Browser::new(&server);
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(browser.sign_in("ann", "a wrong password", "").await.status);
    }
    assert_eq!(statuses.first(), Some(&StatusCode::UNAUTHORIZED));
    assert_eq!(statuses.last(), Some(&StatusCode::TOO_MANY_REQUESTS));
    // The right password doesn't help either, until time has passed.
    let locked = browser.sign_in("ann", PASSWORD, "").await;
    assert_eq!(locked.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(!locked.header("retry-after").is_empty());
    server.clock.advance(60 * 60 * 1_000);
    assert_eq!(
        browser.sign_in("ann", PASSWORD, "").await.location(),
        "/account"
    );
    let mut registered = 0;
    while server
        .register(&json!({"redirect_uris": [WEB_REDIRECT]}))
        .await
        .status
        == StatusCode::CREATED
    {
        registered += 1;
        assert!(registered < 100);
    }
    server.clock.advance(60 * 1_000);
    assert_eq!(
        server
            .register(&json!({"redirect_uris": [WEB_REDIRECT]}))
            .await
            .status,
        StatusCode::CREATED
    );
}

#[tokio::test]
async fn documents_are_fetched_a_limited_number_of_times() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let path = authorize_path(&authorize());
    let mut asked = 0;
    while browser.get(&path).await.status == StatusCode::OK {
        asked += 1;
        assert!(asked < 1_000);
    }
    assert_eq!(server.documents.take_fetched().len(), asked);
    let refused = browser.get(&path).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(server.documents.take_fetched().is_empty());
    server.clock.advance(60 * 1_000);
    assert_eq!(browser.get(&path).await.status, StatusCode::OK);
}

//! The pages: their headers, their languages, and what a user does on them.

use gongfu_core::registry::link::LinkSecret;
use gongfu_testing::now;
use http::StatusCode;

use super::browser::Browser;
use super::{PASSWORD, Server, authorize, authorize_path, with};

/// The path of a one-time link for ann.
fn link(server: &Server) -> String {
    let secret: LinkSecret = now(server.oauth.accounts().create_link(&server.ann.id, None))
        .unwrap()
        .0;
    format!("/invite/{}", secret.as_str())
}

#[tokio::test]
async fn no_page_can_be_framed_cached_or_run_scripts() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let stranger = Browser::new(&server);
    let pages = [
        stranger.get("/login").await,
        stranger.get(&link(&server)).await,
        stranger.get("/invite/x").await,
        browser.get("/account").await,
        browser.get(&authorize_path(&authorize())).await,
        browser.get("/authorize?client_id=x").await,
        stranger.post("/login", &[]).await,
    ];
    for page in pages {
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; form-action 'self'"));
        assert!(
            policy.contains("frame-ancestors 'none'; base-uri 'none'"),
            "{policy}"
        );
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("cache-control"), "no-store");
        // With `no-referrer`, browsers send forms from the origin `null`.
        assert_eq!(page.header("referrer-policy"), "same-origin");
        let body = &page.body;
        assert!(!body.contains("<script") && !body.contains("style=") && !body.contains("<style"));
        assert_eq!(body.matches("<h1>").count(), 1);
        for landmark in [
            "<header>",
            "<main",
            "<footer>",
            "lang=\"en\"",
            "<title>",
            "href=\"#content\"",
        ] {
            assert!(body.contains(landmark), "{landmark}: {body}");
        }
        check_labels(body);
    }
    let style = stranger.get("/assets/style.css").await;
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert!(style.body.contains("prefers-color-scheme: dark"));
}

/// Checks that each field has a label, and each button a name.
fn check_labels(body: &str) {
    let fields = body
        .split("<input ")
        .skip(1)
        .chain(body.split("<select ").skip(1));
    for field in fields {
        let field = &field[..field.find('>').unwrap()];
        let is_hidden = field.contains("type=\"hidden\"") || field.ends_with(" hidden");
        if is_hidden || field.contains("type=\"checkbox\"") {
            continue;
        }
        let id = field.split("id=\"").nth(1).unwrap();
        let id = &id[..id.find('"').unwrap()];
        assert!(body.contains(&format!("<label for=\"{id}\">")), "{field}");
    }
    let checks = body.matches("type=\"checkbox\"").count();
    assert_eq!(
        checks,
        body.matches("<label class=\"check\"><input ").count()
    );
}

#[tokio::test]
async fn pages_speak_the_language_of_their_reader() {
    let server = Server::new();
    let mut browser = Browser::new(&server);
    assert!(browser.get("/login").await.body.contains("Sign in"));
    browser.languages = "zh-CN,zh;q=0.9,en;q=0.8";
    let page = browser.get("/login").await;
    assert!(page.body.contains("<html lang=\"zh-Hans\">") && page.body.contains("登录"));
    // The choice of the reader stays, and the page keeps its parameters.
    let path = "/login?next=%2Faccount&lang=en";
    assert!(page.body.contains("lang=en"));
    let page = browser.get(path).await;
    assert!(page.body.contains("Sign in"));
    assert!(
        page.body.contains("/login?next=%2Faccount&amp;lang=zh"),
        "{}",
        page.body
    );
    assert!(browser.get("/login").await.body.contains("Sign in"));
    assert!(browser.get("/login?lang=xx").await.body.contains("Sign in"));
}

#[tokio::test]
async fn names_of_strangers_are_only_text() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let client = serde_json::json!({"client_name": "<b onclick=x>\"'&", "redirect_uris": ["https://a.example/\'x\'"]});
    let id = server.register(&client).await.json()["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let fields = with(authorize(), "client_id", &id);
    let page = browser
        .get(&authorize_path(&with(
            fields,
            "redirect_uri",
            "https://a.example/'x'",
        )))
        .await;
    assert!(
        page.body.contains("&lt;b onclick=x&gt;&quot;'&amp;"),
        "{}",
        page.body
    );
    assert!(!page.body.contains("<b "));
    let refused = browser
        .get("/authorize?client_id=%3Cscript%3E&lang=%22%3E%3Cscript%3E")
        .await;
    assert!(!refused.body.contains("<script"));
    let account = browser.get("/account?done=%3Cscript%3E").await;
    assert!(account.body.contains("Firefox &lt;b&gt;") && !account.body.contains("<script"));
    let login = Browser::new(&server)
        .get("/login?next=%22%3E%3Cscript%3E")
        .await;
    assert!(!login.body.contains("<script"));
}

#[tokio::test]
async fn link_sets_a_password_once() {
    let server = Server::new();
    let browser = Browser::new(&server);
    let path = link(&server);
    let set = async |password: &str, again: &str| {
        browser
            .submit(&path, &path, &[("password", password), ("again", again)])
            .await
    };
    let refused = set("four other unrelated words", "five other unrelated words").await;
    assert!(refused.body.contains("The two passwords are different."));
    assert!(
        set("short", "short")
            .await
            .body
            .contains("at least 8 characters")
    );
    let done = set("four other unrelated words", "four other unrelated words").await;
    assert_eq!(done.location(), "/login?done=password");
    assert!(
        browser
            .get(done.location())
            .await
            .body
            .contains("The password is set.")
    );
    let over = browser.get(&path).await;
    assert_eq!(over.status, StatusCode::NOT_FOUND);
    assert!(over.body.contains("This link was used or has expired."));
    let other = link(&server);
    let token = browser.get(&other).await.field("form_token");
    let fields = [
        ("form_token", token.as_str()),
        ("password", PASSWORD),
        ("again", PASSWORD),
    ];
    assert_eq!(
        browser.post(&path, &fields).await.status,
        StatusCode::NOT_FOUND
    );
    let signed = browser
        .sign_in("ann", "four other unrelated words", "")
        .await;
    assert_eq!(signed.location(), "/account");
}

#[tokio::test]
async fn user_changes_the_password_and_stays_signed_in_here() {
    let server = Server::new();
    let (here, elsewhere) = (
        Browser::signed_in(&server, "ann").await,
        Browser::signed_in(&server, "ann").await,
    );
    let new = "four other unrelated words";
    for (current, password, again, wrong) in [
        (
            "another password",
            new,
            new,
            "The current password is another one.",
        ),
        (PASSWORD, new, "x", "The two passwords are different."),
        (
            PASSWORD,
            "ann@example.com",
            "ann@example.com",
            "isn't the user name",
        ),
        (
            PASSWORD,
            "password123",
            "password123",
            "attackers try first",
        ),
    ] {
        let fields = [
            ("current", current),
            ("password", password),
            ("again", again),
        ];
        let refused = here.submit("/account", "/account/password", &fields).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.body.contains(wrong), "{wrong}: {}", refused.body);
    }
    assert_eq!(elsewhere.get("/account").await.status, StatusCode::OK);
    let fields = [("current", PASSWORD), ("password", new), ("again", new)];
    let changed = here.submit("/account", "/account/password", &fields).await;
    assert_eq!(changed.location(), "/account?done=password");
    assert!(
        here.get("/account?done=password")
            .await
            .body
            .contains("The password is changed.")
    );
    assert_eq!(
        elsewhere.get("/account").await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn user_creates_and_revokes_a_token() {
    let server = Server::new();
    let (ann, bob) = (
        Browser::signed_in(&server, "ann").await,
        Browser::signed_in(&server, "bob").await,
    );
    let fields = [
        ("name", "Laptop"),
        ("skills:read", "on"),
        ("skills:run", "on"),
        ("days", "30"),
    ];
    let created = ann.submit("/account", "/account/token", &fields).await;
    assert_eq!(created.status, StatusCode::OK);
    let at = created.body.find("ask_live_").unwrap();
    let token = &created.body[at..at + 73];
    assert!(server.is_good(token));
    // A reload, or another language, shows the page without it.
    let again = ann.get("/account/token?lang=en").await;
    assert!(again.status == StatusCode::OK && !again.body.contains(token));
    let page = ann.get("/account").await;
    assert!(page.body.contains("Laptop") && !page.body.contains(token));
    assert!(page.body.contains("skills:read skills:run"));
    for (name, scope, wrong) in [
        ("", "skills:read", "1 to 100"),
        ("x", "x", "at least one scope"),
        ("x", "admin", "only an admin"),
    ] {
        let fields = [("name", name), (scope, "on"), ("days", "never")];
        let refused = ann.submit("/account", "/account/token", &fields).await;
        assert!(refused.body.contains(wrong), "{wrong}");
        assert!(!refused.body.contains("ask_live_"));
    }
    let id = now(server.oauth.accounts().tokens(&server.ann.id)).unwrap()[0]
        .id
        .clone();
    let fields = [("thing", "token"), ("id", id.as_str())];
    let refused = bob.submit("/account", "/account/end", &fields).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(server.is_good(token));
    let revoked = ann.submit("/account", "/account/end", &fields).await;
    assert_eq!(revoked.location(), "/account?done=token");
    assert!(!server.is_good(token));
    server.clock.advance(31 * 24 * 60 * 60 * 1_000);
    assert_eq!(
        ann.get("/account").await.location(),
        "/login?next=%2Faccount"
    );
}

#[tokio::test]
async fn user_ends_another_session_and_this_one() {
    let server = Server::new();
    let (here, elsewhere) = (
        Browser::signed_in(&server, "ann").await,
        Browser::signed_in(&server, "ann").await,
    );
    let sessions = || now(server.oauth.accounts().browsers(&server.ann)).unwrap();
    assert_eq!(sessions().len(), 2);
    let page = here.get("/account").await.body;
    let at = page.find("this one").unwrap();
    let mine = &page[at..];
    let mine = &mine[mine.find("name=\"id\" value=\"").unwrap() + 17..][..64];
    let all = sessions();
    let other = all
        .iter()
        .find(|session| session.id.as_str() != mine)
        .unwrap();
    let fields = [("thing", "session"), ("id", other.id.as_str())];
    let ended = here.submit("/account", "/account/end", &fields).await;
    assert_eq!(ended.location(), "/account?done=session");
    assert_eq!(
        elsewhere.get("/account").await.status,
        StatusCode::SEE_OTHER
    );
    let fields = [("thing", "session"), ("id", mine)];
    let ended = here.submit("/account", "/account/end", &fields).await;
    assert_eq!(ended.location(), "/login");
    assert_eq!(here.get("/account").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn user_continues_as_somebody_else() {
    let server = Server::new();
    let browser = Browser::signed_in(&server, "ann").await;
    let path = authorize_path(&authorize());
    let page = browser.get(&path).await;
    let (token, next) = (page.field("form_token"), page.field("next"));
    let fields = [("form_token", token.as_str()), ("next", next.as_str())];
    let left = browser.post("/logout", &fields).await;
    let login = left.location().to_owned();
    assert!(login.starts_with("/login?next=%2Fauthorize"), "{login}");
    assert_eq!(browser.get(&login).await.field("next"), path);
    browser.sign_in("bob", PASSWORD, &path).await;
    assert!(browser.get(&path).await.body.contains("Signed in as bob"));
}

//! The sign-in by the company's provider, as browsers see it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use gongfu_core::registry::sso::SsoSettings;
use gongfu_testing::{FakeProvider, now, provider_person};
use http::StatusCode;

use super::browser::Browser;
use super::{
    Answer, ISSUER, PASSWORD, Server, authorize, authorize_path, query, redemption, value_of,
};

const PROVIDER: &str = "https://login.example.com";
const MINUTE: i64 = 60 * 1_000;

/// A server whose provider knows `carl`.
fn server(passwords: bool) -> (Server, Arc<FakeProvider>) {
    let provider = Arc::<FakeProvider>::default();
    provider.has(provider_person("carl", &[]));
    let settings = SsoSettings {
        issuer: PROVIDER.to_owned(),
        name: "Example <b>".to_owned(),
        teams: [].into(),
        admins: [].into(),
        passwords,
        check_after: 15 * MINUTE,
    };
    let port = Arc::<FakeProvider>::clone(&provider);
    let server = Server::with(ISSUER, |accounts| accounts.with_sso(port, settings));
    (server, provider)
}

/// Goes to the provider for a page, and answers the path that leads back.
async fn come_back(browser: &Browser<'_>, provider: &FakeProvider, next: &str) -> String {
    let page = browser
        .get(&format!("/login?{}", query(&[("next", next)])))
        .await;
    let start = "href=\"/login/sso?";
    let at = page
        .body
        .find(start)
        .unwrap_or_else(|| panic!("{}", page.body));
    let link = &page.body[at + 6..];
    let link = link[..link.find('"').unwrap()].replace("&amp;", "&");
    let sent = browser.get(&link).await;
    assert!(sent.location().starts_with(PROVIDER), "{}", sent.location());
    let (state, code) = provider.signs_in(sent.location(), "carl");
    let fields = [("state", &*state), ("code", &*code), ("iss", PROVIDER)];
    format!("/login/sso/callback?{}", query(&fields))
}

async fn is_in(browser: &Browser<'_>) -> bool {
    browser.get("/account").await.status == StatusCode::OK
}

#[tokio::test]
async fn provider_signs_a_browser_in() {
    let (server, provider) = server(true);
    let browser = Browser::new(&server);
    let back = come_back(&browser, &provider, "").await;
    let answer = browser.get(&back).await;
    assert_eq!(answer.location(), "/account");
    assert_eq!(answer.header("cache-control"), "no-store");
    let account = browser.get("/account").await;
    assert!(
        account.body.contains("carl@example.com"),
        "{}",
        account.body
    );
    // Who is in goes on, without the provider.
    assert_eq!(browser.get("/login/sso").await.location(), "/account");
    // The password of another user is as good as before.
    let other = Browser::signed_in(&server, "ann").await;
    assert!(is_in(&other).await);
}

#[tokio::test]
async fn sign_in_of_a_client_goes_on_after_the_provider() {
    let (server, provider) = server(true);
    let browser = Browser::new(&server);
    let path = authorize_path(&authorize());
    let login = browser.get(&path).await;
    let next = value_of(login.location(), "next").unwrap();
    let back = come_back(&browser, &provider, &next).await;
    let page = browser.get(&back).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.body.contains("http-equiv=\"refresh\""),
        "{}",
        page.body
    );
    let answer = browser.decide(&path, "allow").await;
    let code = value_of(answer.location(), "code").unwrap();
    let tokens = server.program("/token", &redemption(&code)).await.json();
    let access = tokens["access_token"].as_str().unwrap();
    assert!(server.is_good(access));
    // Removed at the provider, the client is out at the next question.
    provider.removes("carl");
    server.clock.advance(14 * MINUTE);
    assert!(server.is_good(access));
    let refresh = tokens["refresh_token"].as_str().unwrap();
    server.clock.advance(MINUTE);
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh),
        ("client_id", super::WEB),
    ];
    let refused = server.program("/token", &fields).await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{}", refused.body);
    assert!(!is_in(&browser).await);
}

#[tokio::test]
async fn answer_is_good_once_and_in_its_browser_alone() {
    let (server, provider) = server(true);
    let (browser, other) = (Browser::new(&server), Browser::new(&server));
    other.get("/login").await;
    let back = come_back(&browser, &provider, "").await;
    let is_old = |answer: &Answer| {
        answer.status == StatusCode::BAD_REQUEST && answer.body.contains("Start again")
    };
    assert!(is_old(&other.get(&back).await) && !is_in(&other).await);
    assert!(is_old(&other.get("/login/sso/callback").await));
    assert_eq!(browser.get(&back).await.location(), "/account");
    browser.cookies.borrow_mut().remove("__Host-gongfu");
    assert!(is_old(&browser.get(&back).await) && !is_in(&browser).await);
}

#[tokio::test]
async fn refusals_say_what_to_do_in_the_language_of_the_browser() {
    let (server, provider) = server(true);
    let mut browser = Browser::new(&server);
    let back = come_back(&browser, &provider, "").await;
    let code = value_of(&back, "code").unwrap();
    let refused = browser.get(&back.replace(&code, "other")).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        refused.body.contains("Example &lt;b&gt;"),
        "{}",
        refused.body
    );
    let back = come_back(&browser, &provider, "").await;
    let fields = [
        ("error", "<script>"),
        ("state", &value_of(&back, "state").unwrap()),
    ];
    let denied = browser
        .get(&format!("/login/sso/callback?{}", query(&fields)))
        .await;
    assert!(denied.body.contains("&lt;script&gt;") && !denied.body.contains("<script"));
    // ann has a password, so nobody becomes ann by her address.
    let taker = gongfu_core::port::ProviderPerson {
        email: Some("ANN@example.com".to_owned()),
        ..provider_person("carl", &[])
    };
    provider.has(taker);
    browser.languages = "zh";
    let back = come_back(&browser, &provider, "").await;
    let taken = browser.get(&back).await;
    assert_eq!(taken.status, StatusCode::CONFLICT);
    assert!(
        taken.body.contains("已有使用你邮箱地址的账户"),
        "{}",
        taken.body
    );
    provider.is_down(true);
    let down = browser.get("/login/sso").await;
    assert_eq!(down.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(down.body.contains("暂时没有响应"), "{}", down.body);
    assert!(!is_in(&browser).await);
    // A server without a provider has no such page.
    let plain = Server::new();
    let stranger = Browser::new(&plain);
    assert_eq!(
        stranger.get("/login/sso").await.status,
        StatusCode::NOT_FOUND
    );
    assert!(!stranger.get("/login").await.body.contains("/login/sso"));
}

#[tokio::test]
async fn passwords_that_are_off_have_no_form() {
    let (server, provider) = server(false);
    let browser = Browser::new(&server);
    let page = browser.get("/login").await;
    assert!(!page.body.contains("type=\"password\""), "{}", page.body);
    // A form of before.
    let accounts = server.oauth.accounts();
    let bits = browser.cookies.borrow()["__Host-gongfu-visit"].clone();
    let token = accounts.form_token(&bits);
    let fields = [
        ("form_token", &*token),
        ("name", "ann"),
        ("password", PASSWORD),
    ];
    let refused = browser.post("/login", &fields).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(!is_in(&browser).await);
    let back = come_back(&browser, &provider, "").await;
    assert_eq!(browser.get(&back).await.location(), "/account");
}

#[tokio::test]
async fn many_requests_are_one_question_to_the_provider() {
    let (server, provider) = server(true);
    let browser = Browser::new(&server);
    let back = come_back(&browser, &provider, "").await;
    browser.get(&back).await;
    provider.is_slow();
    // All of them wait for the one answer: the last one counts no more.
    server.clock.advance(31 * MINUTE);
    let (one, other, third) = tokio::join!(is_in(&browser), is_in(&browser), is_in(&browser));
    assert!(one && other && third);
    assert_eq!(provider.take_asked(), 1);
    // A request that is given up takes no turn with it.
    server.clock.advance(31 * MINUTE);
    assert!(is_in(&browser).now_or_never().is_none());
    assert!(is_in(&browser).await);
    let user = now(server.oauth.accounts().find("carl")).unwrap();
    assert!(user.is_active);
}

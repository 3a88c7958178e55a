//! Sessions of browsers, and one-time links.

use gongfu_core::account::User;
use gongfu_core::registry::AccountError;
use gongfu_core::registry::browser::BrowserSecret;
use gongfu_core::registry::link::LinkSecret;
use gongfu_testing::now;

use crate::fixture::{PASSWORD, Server};

const MINUTE: i64 = 60 * 1_000;
const HOUR: i64 = 60 * MINUTE;

fn begin(server: &Server, user: &User) -> BrowserSecret {
    let user = now(server.accounts.user(&user.id)).unwrap();
    now(server.accounts.begin_browser(&user, "Firefox", None)).unwrap()
}

fn is_live(server: &Server, secret: &BrowserSecret) -> bool {
    now(server.accounts.browser(secret)).unwrap().is_some()
}

#[test]
fn session_is_its_user_until_it_is_idle_or_old() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let idle = begin(&server, &ann);
    let busy = begin(&server, &ann);
    let (session, user) = now(server.accounts.browser(&busy)).unwrap().unwrap();
    assert_eq!((session.agent.as_str(), &user.id), ("Firefox", &ann.id));
    for _ in 0..12 {
        assert!(is_live(&server, &busy));
        server.clock.advance(HOUR);
    }
    assert!(!is_live(&server, &idle) && is_live(&server, &busy));
    for _ in 12..7 * 24 {
        assert!(is_live(&server, &busy));
        server.clock.advance(HOUR);
    }
    assert!(!is_live(&server, &busy));
    let unknown = BrowserSecret::parse(&"0".repeat(64)).unwrap();
    assert!(!is_live(&server, &unknown));
    assert!(BrowserSecret::parse("x").is_none());
    assert_eq!(format!("{busy:?}"), "BrowserSecret");
}

#[test]
fn session_ends_with_logout_password_and_user() {
    let server = Server::new();
    server.create("admin", true);
    let (ann, bob) = (
        server.register("ann").unwrap(),
        server.register("bob").unwrap(),
    );
    let secret = begin(&server, &ann);
    let id = now(server.accounts.browser(&secret)).unwrap().unwrap().0.id;
    for wrong in [id.as_str(), "x", "../x"] {
        let refused = now(server.accounts.end_browser(&bob.id, wrong)).unwrap_err();
        assert!(matches!(refused, AccountError::Unknown("session")));
    }
    assert!(is_live(&server, &secret));
    now(server.accounts.end_browser(&ann.id, id.as_str())).unwrap();
    assert!(!is_live(&server, &secret));
    let secret = begin(&server, &ann);
    now(server.accounts.end_browser_of(&secret)).unwrap();
    assert!(!is_live(&server, &secret));
    let secret = begin(&server, &ann);
    now(server
        .accounts
        .set_password(&ann.id, PASSWORD.to_owned(), None))
    .unwrap();
    assert!(!is_live(&server, &secret));
    let secret = begin(&server, &ann);
    now(server.accounts.set_active(&ann.id, false, None)).unwrap();
    now(server.accounts.set_active(&ann.id, true, None)).unwrap();
    assert!(!is_live(&server, &secret));
    let secret = begin(&server, &ann);
    assert!(is_live(&server, &secret));
    now(server.accounts.delete(&ann.id, None)).unwrap();
    assert!(!is_live(&server, &secret));
}

#[test]
fn another_login_of_a_browser_ends_the_session_before() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let first = begin(&server, &ann);
    let second = now(server.accounts.begin_browser(&ann, "x", Some(&first))).unwrap();
    assert_ne!(first, second);
    assert!(!is_live(&server, &first) && is_live(&server, &second));
    let sessions = now(server.accounts.browsers(&ann)).unwrap();
    assert_eq!(sessions.len(), 1);
    for _ in 0..60 {
        server.clock.advance(1_000);
        begin(&server, &ann);
    }
    assert_eq!(now(server.accounts.browsers(&ann)).unwrap().len(), 50);
    assert!(!is_live(&server, &second));
}

#[test]
fn form_token_belongs_to_its_session() {
    let server = Server::new();
    let token = server.accounts.form_token("a");
    assert!(server.accounts.is_form_token("a", &token));
    for (holder, token) in [
        ("b", token.as_str()),
        ("a", ""),
        ("a", &token[1..]),
        ("a", &"0".repeat(64)),
    ] {
        assert!(
            !server.accounts.is_form_token(holder, token),
            "{holder} {token}"
        );
    }
}

#[test]
fn link_sets_a_password_once() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let session = begin(&server, &ann);
    let link = now(server.accounts.create_link(&ann.id, None)).unwrap().0;
    let other = now(server.accounts.create_link(&ann.id, None)).unwrap().0;
    assert_eq!(now(server.accounts.user_of_link(&link)).unwrap().id, ann.id);
    let set = |link: &LinkSecret, text: &str| now(server.accounts.use_link(link, text.to_owned()));
    assert!(matches!(
        set(&link, "short").unwrap_err(),
        AccountError::Password(_)
    ));
    set(&link, "four other unrelated words").unwrap();
    now(server
        .accounts
        .authenticate("ann", "four other unrelated words".to_owned()))
    .unwrap();
    assert!(now(server.accounts.authenticate("ann", PASSWORD.to_owned())).is_err());
    assert!(!is_live(&server, &session));
    // Neither it nor an older one counts any more.
    for link in [&link, &other, &LinkSecret::parse(&"0".repeat(64)).unwrap()] {
        let refused = set(link, PASSWORD).unwrap_err();
        assert!(
            matches!(refused, AccountError::Unknown("link")),
            "{refused}"
        );
    }
    let events = server.events();
    assert!(events.contains(&"link.create".to_owned()) && events.contains(&"link.use".to_owned()));
}

#[test]
fn link_ends_after_a_day_and_with_its_user() {
    let server = Server::new();
    server.create("admin", true);
    let ann = server.register("ann").unwrap();
    let link = || now(server.accounts.create_link(&ann.id, None)).unwrap().0;
    let is_good = |link: &LinkSecret| now(server.accounts.user_of_link(link)).is_ok();
    let old = link();
    server.clock.advance(24 * HOUR - 1);
    assert!(is_good(&old));
    server.clock.advance(1);
    assert!(!is_good(&old));
    let disabled = link();
    assert!(is_good(&disabled));
    now(server.accounts.set_active(&ann.id, false, None)).unwrap();
    assert!(!is_good(&disabled));
    let refused = now(server.accounts.create_link(&ann.id, None)).unwrap_err();
    assert!(matches!(refused, AccountError::Invalid(_)));
}

//! Authorization requests.

use gongfu_core::registry::oauth::{AuthorizationRefusal, Parameters};
use gongfu_testing::now;

use super::{Fixture, RESOURCE, WEB, WEB_REDIRECT, form, request, value_of, with};
use crate::fixture::ISSUER;

#[test]
fn client_gets_a_code_its_state_and_the_issuer() {
    let fixture = Fixture::new();
    let uri = fixture.ask(&request()).unwrap();
    assert!(
        uri.starts_with("https://app.example/callback?code=gfa_"),
        "{uri}"
    );
    assert_eq!(value_of(&uri, "state").as_deref(), Some("s t&"));
    assert_eq!(value_of(&uri, "iss").as_deref(), Some(ISSUER));
    // What may be missing may be missing.
    for optional in ["state", "resource", "scope"] {
        let uri = fixture.ask(&with(request(), optional, None)).unwrap();
        assert_eq!(value_of(&uri, "state").is_none(), optional == "state");
    }
}

#[test]
fn nothing_is_sent_to_a_place_that_is_not_the_clients() {
    let fixture = Fixture::new();
    fixture.ask(&request()).unwrap();
    for redirect in [
        "https://evil.example/callback",
        "https://app.example/callback/",
        "https://app.example/callback2",
        "https://app.example/",
        "https://app.example/callback?x=1",
        "https://app.example/callback#x",
        "https://app.example/Callback",
        "https://APP.example/callback",
        "https://app.example:8443/callback",
        "https://app.example:443/callback",
        "https://app.example.evil.example/callback",
        "https://evil.example/https://app.example/callback",
        "https://app.example@evil.example/callback",
        "https://app.example%40evil.example/callback",
        "https://app.example\\@evil.example/callback",
        "https://app.example/x/../callback",
        "https://app.example/x/%2e%2e/callback",
        "https://app.example/%63allback",
        "https://app.example/callback%00",
        "https://app.example/callback%0d%0aLocation:x",
        "https://app.example/callback\r\nLocation: https://evil.example",
        "http://app.example/callback",
        "//app.example/callback",
        "javascript:alert(1)",
        "http://127.0.0.1/callback",
        "https://app.example/callback https://evil.example/",
        "",
    ] {
        let refused = fixture.ask(&with(request(), "redirect_uri", Some(redirect)));
        assert!(
            matches!(refused, Err(AuthorizationRefusal::Page(_))),
            "{redirect}: {refused:?}"
        );
    }
    let twice = [request(), vec![("redirect_uri", "https://evil.example/")]].concat();
    assert!(matches!(
        fixture.ask(&twice),
        Err(AuthorizationRefusal::Page(_))
    ));
    let twice = [request(), vec![("client_id", WEB)]].concat();
    assert!(matches!(
        fixture.ask(&twice),
        Err(AuthorizationRefusal::Page(_))
    ));
    let missing = with(request(), "redirect_uri", None);
    assert!(matches!(
        fixture.ask(&missing),
        Err(AuthorizationRefusal::Page(_))
    ));
    for unknown in [
        "",
        "gfc_",
        "gfc_0",
        "../user",
        "x",
        "https://app.example/other.json",
    ] {
        let refused = fixture.ask(&with(request(), "client_id", Some(unknown)));
        assert!(
            matches!(refused, Err(AuthorizationRefusal::Page(_))),
            "{unknown}"
        );
    }
}

#[test]
fn local_client_listens_on_any_port() {
    let fixture = Fixture::new();
    let local = |redirect: &'static str| {
        let parameters = with(request(), "redirect_uri", Some(redirect));
        fixture.ask(&with(parameters, "client_id", Some(&fixture.local)))
    };
    for good in [
        "http://127.0.0.1/cb",
        "http://127.0.0.1:1/cb",
        "http://127.0.0.1:61234/cb",
    ] {
        assert!(
            local(good).unwrap().starts_with(&format!("{good}?code=")),
            "{good}"
        );
    }
    for bad in [
        "http://127.0.0.1:1/",
        "http://localhost:1/cb",
        "http://127.0.0.1.evil.example/cb",
        WEB_REDIRECT,
    ] {
        assert!(
            matches!(local(bad), Err(AuthorizationRefusal::Page(_))),
            "{bad}"
        );
    }
}

#[test]
fn client_learns_what_is_wrong_with_its_request() {
    let fixture = Fixture::new();
    let long = "x".repeat(2_049);
    let plain = super::VERIFIER;
    for (name, value, code) in [
        ("response_type", None, "invalid_request"),
        ("response_type", Some("token"), "unsupported_response_type"),
        (
            "response_type",
            Some("code id_token"),
            "unsupported_response_type",
        ),
        ("response_mode", Some("fragment"), "invalid_request"),
        ("code_challenge", None, "invalid_request"),
        ("code_challenge", Some(""), "invalid_request"),
        ("code_challenge", Some("short"), "invalid_request"),
        (
            "code_challenge",
            Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"),
            "invalid_request",
        ),
        ("code_challenge_method", None, "invalid_request"),
        ("code_challenge_method", Some("plain"), "invalid_request"),
        ("code_challenge_method", Some("s256"), "invalid_request"),
        ("code_challenge_method", Some(plain), "invalid_request"),
        ("scope", Some("skills:all"), "invalid_scope"),
        ("scope", Some("admin"), "invalid_scope"),
        ("scope", Some(" "), "invalid_scope"),
        (
            "resource",
            Some("https://evil.example/mcp"),
            "invalid_target",
        ),
        (
            "resource",
            Some("https://skills.example.com/mcp/"),
            "invalid_target",
        ),
        (
            "resource",
            Some("https://skills.example.com"),
            "invalid_target",
        ),
        ("state", Some(&long), "invalid_request"),
        ("state", Some("a\u{0}"), "invalid_request"),
        ("state", Some("状态"), "invalid_request"),
        ("request", Some("e30.e30."), "request_not_supported"),
        (
            "request_uri",
            Some("https://evil.example/r"),
            "request_not_supported",
        ),
    ] {
        let refused = fixture.ask(&with(request(), name, value));
        let Err(AuthorizationRefusal::Redirect(uri)) = refused else {
            panic!("{name}={value:?}: {refused:?}")
        };
        assert!(
            uri.starts_with("https://app.example/callback?error="),
            "{uri}"
        );
        assert_eq!(
            value_of(&uri, "error").as_deref(),
            Some(code),
            "{name}={value:?}"
        );
        assert_eq!(value_of(&uri, "iss").as_deref(), Some(ISSUER));
        assert!(value_of(&uri, "code").is_none());
        let state = value_of(&uri, "state");
        assert_eq!(state.as_deref(), (name != "state").then_some("s t&"));
    }
    for twice in ["scope", "state", "resource", "code_challenge", "x"] {
        let parameters = [request(), vec![(twice, "a"), (twice, "a")]].concat();
        let refused = fixture.ask(&parameters);
        let Err(AuthorizationRefusal::Redirect(uri)) = refused else {
            panic!("{twice}: {refused:?}")
        };
        assert_eq!(value_of(&uri, "error").as_deref(), Some("invalid_request"));
    }
    fixture.ask(&request()).unwrap();
}

#[test]
fn huge_and_odd_parameters_are_refused_at_once() {
    let many = (0..65).map(|number| format!("a{number}="));
    let many = many.collect::<Vec<_>>().join("&");
    let long = format!("a={}", "x".repeat(16_385));
    let long_name = format!("{}=a", "x".repeat(16_385));
    for bad in [many, long, long_name] {
        assert!(Parameters::read(bad.as_bytes()).is_err());
    }
    let odd = Parameters::read(b"&&=&a&%&b=%zz&c=%ff&d=%00").unwrap();
    for name in ["a", "", "nobody"] {
        // An empty value counts as missing.
        assert_eq!(odd.get(name).unwrap(), None);
    }
    assert_eq!(odd.get("b").unwrap(), Some("%zz"));
}

#[test]
fn consent_is_remembered_for_the_same_web_client_alone() {
    let fixture = Fixture::new();
    let is_allowed = |parameters: &[(&str, &str)]| {
        let request = now(fixture.oauth.check(&form(parameters), &fixture.ann)).unwrap();
        now(fixture.oauth.is_allowed(&request, &fixture.ann)).unwrap()
    };
    assert!(!is_allowed(&request()));
    fixture.ask(&request()).unwrap();
    assert!(is_allowed(&request()));
    assert!(is_allowed(&with(request(), "scope", Some("skills:read"))));
    for scope in ["skills:write", "skills:read skills:write skills:run"] {
        assert!(
            !is_allowed(&with(request(), "scope", Some(scope))),
            "{scope}"
        );
    }
    // Another redirect of the same client is another place.
    let document = serde_json::json!({
        "client_id": WEB,
        "redirect_uris": [WEB_REDIRECT, "https://app.example/other", "http://127.0.0.1/cb"],
    });
    fixture.documents.put(WEB, document.to_string());
    assert!(is_allowed(&request()));
    let other = with(request(), "redirect_uri", Some("https://app.example/other"));
    assert!(!is_allowed(&other));
    // A program on the machine of the user may be any.
    let local = with(request(), "redirect_uri", Some("http://127.0.0.1:5/cb"));
    fixture.ask(&local).unwrap();
    assert!(!is_allowed(&local));
    let registered = with(local, "client_id", Some(&fixture.local));
    fixture.ask(&registered).unwrap();
    assert!(!is_allowed(&registered));
    // Of another user nothing is known.
    let bob = fixture.server.register("bob").unwrap();
    let checked = now(fixture.oauth.check(&form(&request()), &bob)).unwrap();
    assert!(!now(fixture.oauth.is_allowed(&checked, &bob)).unwrap());
}

#[test]
fn sealed_request_is_answered_in_its_session_for_ten_minutes() {
    let fixture = Fixture::new();
    let session = || {
        let secret = now(fixture
            .server
            .accounts
            .begin_browser(&fixture.ann, "x", None))
        .unwrap();
        now(fixture.server.accounts.browser(&secret))
            .unwrap()
            .unwrap()
            .0
            .id
    };
    let (mine, other) = (session(), session());
    let request = now(fixture.oauth.check(&form(&request()), &fixture.ann)).unwrap();
    let text = fixture.oauth.seal(request.clone(), &mine).unwrap();
    assert_eq!(fixture.oauth.open(&text, &mine), Some(request));
    assert_eq!(fixture.oauth.open(&text, &other), None);
    let (json, signature) = text.split_once('.').unwrap();
    for forged in [
        "",
        ".",
        json,
        &format!("{json}."),
        &format!("{json}x.{signature}"),
        &format!("{}.{signature}", &json[4..]),
    ] {
        assert_eq!(fixture.oauth.open(forged, &mine), None, "{forged}");
    }
    fixture.server.clock.advance(10 * 60 * 1_000 - 1);
    assert!(fixture.oauth.open(&text, &mine).is_some());
    fixture.server.clock.advance(1);
    assert!(fixture.oauth.open(&text, &mine).is_none());
}

#[test]
fn denial_tells_the_client() {
    let fixture = Fixture::new();
    let request = now(fixture.oauth.check(&form(&request()), &fixture.ann)).unwrap();
    let uri = fixture.oauth.deny(&request);
    assert_eq!(value_of(&uri, "error").as_deref(), Some("access_denied"));
    assert_eq!(value_of(&uri, "state").as_deref(), Some("s t&"));
    assert_eq!(value_of(&uri, "iss").as_deref(), Some(ISSUER));
    assert!(fixture.oauth.settings().resource == RESOURCE);
}

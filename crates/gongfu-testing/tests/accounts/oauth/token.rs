//! Codes, refresh tokens, revocation, connections.

use gongfu_core::registry::IdentityError;
use gongfu_core::registry::oauth::OAuthErrorCode;
use gongfu_testing::now;

use super::{Fixture, RESOURCE, VERIFIER, WEB, form, redemption, refresh, request, value_of, with};
use crate::fixture::{ISSUER, PASSWORD};

#[test]
fn code_gives_tokens_for_the_mcp_endpoint_alone() {
    let fixture = Fixture::new();
    let tokens = fixture.tokens();
    assert_eq!(tokens.scopes.to_string(), "skills:read skills:run");
    assert_eq!(
        fixture.identify(&tokens).as_deref(),
        Some("ann@example.com")
    );
    let elsewhere = fixture.server.accounts.identify(
        tokens.access.as_str(),
        &[ISSUER, "https://other.example/mcp"],
    );
    assert!(matches!(
        now(elsewhere).unwrap_err(),
        IdentityError::Audience
    ));
    let events = fixture.server.events();
    for event in ["client.register", "client.allow", "session.begin"] {
        assert!(events.contains(&event.to_owned()), "{event}: {events:?}");
    }
}

#[test]
fn code_is_for_its_client_redirect_and_verifier_alone() {
    let fixture = Fixture::new();
    let wrong_verifier = VERIFIER.replace('d', "e");
    let challenge = super::CHALLENGE;
    for (name, value, code) in [
        (
            "client_id",
            Some(fixture.local.as_str()),
            OAuthErrorCode::InvalidGrant,
        ),
        ("client_id", None, OAuthErrorCode::InvalidRequest),
        (
            "redirect_uri",
            Some("https://app.example/other"),
            OAuthErrorCode::InvalidGrant,
        ),
        ("redirect_uri", None, OAuthErrorCode::InvalidRequest),
        (
            "code_verifier",
            Some(&wrong_verifier),
            OAuthErrorCode::InvalidGrant,
        ),
        (
            "code_verifier",
            Some(challenge),
            OAuthErrorCode::InvalidGrant,
        ),
        ("code_verifier", Some("short"), OAuthErrorCode::InvalidGrant),
        ("code_verifier", None, OAuthErrorCode::InvalidRequest),
        ("code", Some("gfa_0"), OAuthErrorCode::InvalidGrant),
        ("code", None, OAuthErrorCode::InvalidRequest),
        (
            "resource",
            Some("https://evil.example/mcp"),
            OAuthErrorCode::InvalidTarget,
        ),
        (
            "grant_type",
            Some("password"),
            OAuthErrorCode::UnsupportedGrantType,
        ),
        (
            "grant_type",
            Some("client_credentials"),
            OAuthErrorCode::UnsupportedGrantType,
        ),
        ("grant_type", None, OAuthErrorCode::InvalidRequest),
        ("client_secret", Some("x"), OAuthErrorCode::InvalidClient),
    ] {
        let given = fixture.code();
        let refused = fixture
            .exchange(&with(redemption(&given), name, value))
            .unwrap_err();
        assert_eq!(refused.code, code, "{name}={value:?}");
        // A code that was tried with something else is used up; one that wasn't presented isn't.
        let after = fixture.exchange(&redemption(&given));
        let is_presented = code == OAuthErrorCode::InvalidGrant && name != "code";
        assert_eq!(after.is_err(), is_presented, "{name}={value:?}");
    }
    let given = fixture.code();
    let twice = [redemption(&given), vec![("code_verifier", VERIFIER)]].concat();
    assert_eq!(
        fixture.exchange(&twice).unwrap_err().code,
        OAuthErrorCode::InvalidRequest
    );
    let without = with(redemption(&given), "resource", None);
    fixture.exchange(&without).unwrap();
}

#[test]
fn second_use_of_a_code_ends_what_the_first_gave() {
    let fixture = Fixture::new();
    let code = fixture.code();
    let tokens = fixture.exchange(&redemption(&code)).unwrap();
    let other = fixture.tokens();
    assert!(fixture.identify(&tokens).is_some());
    let refused = fixture.exchange(&redemption(&code)).unwrap_err();
    assert_eq!(refused.code, OAuthErrorCode::InvalidGrant);
    assert!(fixture.identify(&tokens).is_none());
    assert!(fixture.exchange(&refresh(&tokens)).is_err());
    // Another sign-in of the same client continues.
    assert!(fixture.identify(&other).is_some());
    assert!(fixture.server.events().contains(&"code.reuse".to_owned()));
}

#[test]
fn code_ends_after_a_minute_and_with_its_user() {
    let fixture = Fixture::new();
    let accounts = &fixture.server.accounts;
    fixture.server.create("admin", true);
    let code = fixture.code();
    fixture.server.clock.advance(60_000 - 1);
    fixture.exchange(&redemption(&code)).unwrap();
    let code = fixture.code();
    fixture.server.clock.advance(60_000);
    assert!(fixture.exchange(&redemption(&code)).is_err());
    let code = fixture.code();
    now(accounts.set_active(&fixture.ann.id, false, None)).unwrap();
    assert!(fixture.exchange(&redemption(&code)).is_err());
    now(accounts.set_active(&fixture.ann.id, true, None)).unwrap();
    assert!(fixture.exchange(&redemption(&code)).is_err());
    let code = fixture.code();
    now(accounts.set_password(&fixture.ann.id, PASSWORD.to_owned(), None)).unwrap();
    assert!(fixture.exchange(&redemption(&code)).is_err());
    let code = fixture.code();
    now(accounts.delete(&fixture.ann.id, None)).unwrap();
    assert!(fixture.exchange(&redemption(&code)).is_err());
}

#[test]
fn refresh_is_for_its_client_and_never_for_more() {
    let fixture = Fixture::new();
    let first = fixture.tokens();
    for (name, value, code) in [
        (
            "client_id",
            Some(fixture.local.as_str()),
            OAuthErrorCode::InvalidGrant,
        ),
        ("client_id", None, OAuthErrorCode::InvalidRequest),
        (
            "scope",
            Some("skills:read skills:write"),
            OAuthErrorCode::InvalidScope,
        ),
        ("scope", Some("admin"), OAuthErrorCode::InvalidScope),
        ("scope", Some("x"), OAuthErrorCode::InvalidScope),
        (
            "resource",
            Some("https://evil.example/mcp"),
            OAuthErrorCode::InvalidTarget,
        ),
        ("refresh_token", Some("gfr_x"), OAuthErrorCode::InvalidGrant),
        ("refresh_token", None, OAuthErrorCode::InvalidRequest),
    ] {
        let refused = fixture
            .exchange(&with(refresh(&first), name, value))
            .unwrap_err();
        assert_eq!(refused.code, code, "{name}={value:?}");
    }
    // Nor is it one for the API of the server, and that one's isn't for a client.
    assert!(now(fixture.server.accounts.refresh(first.refresh.as_str())).is_err());
    let own = now(fixture.server.accounts.sign_in("ann", PASSWORD.to_owned())).unwrap();
    assert!(fixture.exchange(&refresh(&own)).is_err());
    now(fixture.server.accounts.refresh(own.refresh.as_str())).unwrap();
    let narrow = with(refresh(&first), "scope", Some("skills:read"));
    let second = fixture.exchange(&narrow).unwrap();
    assert_eq!(second.scopes.to_string(), "skills:read");
    let identity = now(fixture
        .server
        .accounts
        .identify(second.access.as_str(), &[RESOURCE]));
    assert_eq!(identity.unwrap().scopes.to_string(), "skills:read");
    // The sign-in still has what was agreed to.
    let third = fixture.exchange(&refresh(&second)).unwrap();
    assert_eq!(third.scopes.to_string(), "skills:read skills:run");
}

#[test]
fn reused_refresh_token_ends_its_family() {
    let fixture = Fixture::new();
    let first = fixture.tokens();
    let second = fixture.exchange(&refresh(&first)).unwrap();
    // The answer got lost.
    fixture.server.clock.advance(9_000);
    let again = fixture.exchange(&refresh(&first)).unwrap();
    assert_eq!(again.refresh, second.refresh);
    fixture.server.clock.advance(1_000);
    assert!(fixture.identify(&second).is_some());
    assert!(fixture.exchange(&refresh(&first)).is_err());
    assert!(fixture.identify(&second).is_none());
    assert!(fixture.exchange(&refresh(&second)).is_err());
}

#[test]
fn client_revokes_its_own_tokens() {
    let fixture = Fixture::new();
    let revoke = |token: &str, client: &str| {
        now(fixture
            .oauth
            .revoke(&form(&[("token", token), ("client_id", client)])))
    };
    let tokens = fixture.tokens();
    for (token, client) in [
        (tokens.refresh.as_str(), fixture.local.as_str()),
        (tokens.access.as_str(), fixture.local.as_str()),
        ("gfr_x", WEB),
        ("x", WEB),
    ] {
        revoke(token, client).unwrap();
        assert!(fixture.identify(&tokens).is_some(), "{token}");
    }
    assert!(now(fixture.oauth.revoke(&form(&[("client_id", WEB)]))).is_err());
    revoke(tokens.refresh.as_str(), WEB).unwrap();
    assert!(fixture.identify(&tokens).is_none());
    let tokens = fixture.tokens();
    revoke(tokens.access.as_str(), WEB).unwrap();
    assert!(fixture.identify(&tokens).is_none());
    // A session of the API isn't a client's.
    let own = now(fixture.server.accounts.sign_in("ann", PASSWORD.to_owned())).unwrap();
    revoke(own.refresh.as_str(), WEB).unwrap();
    now(fixture.server.accounts.refresh(own.refresh.as_str())).unwrap();
}

#[test]
fn user_sees_and_ends_connections() {
    let fixture = Fixture::new();
    let bob = fixture.server.register("bob").unwrap();
    let (first, second) = (fixture.tokens(), fixture.tokens());
    let list = || now(fixture.oauth.connections(&fixture.ann)).unwrap();
    let connections = list();
    assert_eq!(connections.len(), 2);
    let connection = &connections[0];
    assert_eq!(
        (connection.client.as_str(), connection.name.as_deref()),
        (WEB, Some("App"))
    );
    assert_eq!(connection.place, "app.example");
    assert_eq!(connection.scopes.to_string(), "skills:read skills:run");
    for (user, id) in [
        (&bob.id, connection.id.as_str()),
        (&fixture.ann.id, "0"),
        (&fixture.ann.id, "../x"),
    ] {
        assert!(now(fixture.oauth.disconnect(user, id)).is_err(), "{id}");
    }
    assert!(now(fixture.oauth.connections(&bob)).unwrap().is_empty());
    for connection in connections {
        now(fixture.oauth.disconnect(&fixture.ann.id, &connection.id)).unwrap();
    }
    for tokens in [&first, &second] {
        assert!(fixture.identify(tokens).is_none());
        assert!(fixture.exchange(&refresh(tokens)).is_err());
    }
    assert!(list().is_empty());
    // The next time the user is asked again.
    let checked = now(fixture.oauth.check(&form(&request()), &fixture.ann)).unwrap();
    assert!(!now(fixture.oauth.is_allowed(&checked, &fixture.ann)).unwrap());
}

#[test]
fn connections_are_bounded_and_those_that_are_over_are_removed() {
    let fixture = Fixture::new();
    let first = fixture.tokens();
    for _ in 0..100 {
        fixture.server.clock.advance(1_000);
        fixture.tokens();
    }
    assert_eq!(
        now(fixture.oauth.connections(&fixture.ann)).unwrap().len(),
        100
    );
    assert!(fixture.identify(&first).is_none());
    fixture.server.clock.advance(31 * 24 * 60 * 60 * 1_000);
    fixture.tokens();
    let count = |kind: &str| {
        let prefix = gongfu_core::port::RecordKey::new(kind).unwrap();
        now(gongfu_core::port::Records::list(
            &*fixture.server.records,
            &prefix,
        ))
        .unwrap()
        .len()
    };
    assert_eq!((count("family"), count("connection")), (1, 1));
    // Codes of an hour ago are removed by and by.
    for _ in 0..3 {
        fixture.ask(&request()).unwrap();
    }
    assert!(count("code") < 10, "{}", count("code"));
    assert!(value_of(&fixture.ask(&request()).unwrap(), "code").is_some());
}

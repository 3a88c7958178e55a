//! Signing in, refreshing, and what ends a session.

use gongfu_core::account::UserId;
use gongfu_core::registry::{Credential, IdentityError, SignIn, SignInError};
use gongfu_testing::now;

use crate::fixture::{ISSUER, PASSWORD, Server};

/// Something that ends a session of a user.
type End = fn(&Server, &UserId, &SignIn);

fn sign_in(server: &Server, name: &str) -> SignIn {
    now(server.accounts.sign_in(name, PASSWORD.to_owned())).unwrap()
}

fn identify(server: &Server, bearer: &str) -> Result<String, IdentityError> {
    let identity = now(server.accounts.identify(bearer, &[ISSUER]))?;
    Ok(identity.email.to_string())
}

#[test]
fn user_signs_in_by_name_or_address() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    for name in ["ann", "ANN", "ann@example.com"] {
        let tokens = sign_in(&server, name);
        let identity = now(server.accounts.identify(tokens.access.as_str(), &[ISSUER])).unwrap();
        assert_eq!(identity.user, ann.id);
        assert_eq!(
            identity.scopes.to_string(),
            "skills:read skills:write skills:run"
        );
        assert!(matches!(identity.credential, Credential::SignIn(_)));
    }
}

#[test]
fn wrong_names_and_passwords_look_and_last_alike() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let try_it = |name: &str, password: &str| {
        server.passwords.take_compared();
        let error = now(server.accounts.sign_in(name, password.to_owned())).unwrap_err();
        assert_eq!(server.passwords.take_compared(), 1, "{name}");
        error.to_string()
    };
    let wrong = try_it("ann", "another password");
    assert_eq!(try_it("nobody", PASSWORD), wrong);
    assert_eq!(try_it("no body@", PASSWORD), wrong);
    server.create("admin", true);
    now(server.accounts.set_active(&ann.id, false, None)).unwrap();
    assert_eq!(try_it("ann", PASSWORD), wrong);
    now(server.accounts.set_active(&ann.id, true, None)).unwrap();
    sign_in(&server, "ann");
}

#[test]
fn outdated_hash_is_replaced_at_the_next_sign_in() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    server.passwords.change_parameters();
    sign_in(&server, "ann");
    let hash = |id| now(server.accounts.user(id)).unwrap().password.unwrap();
    assert!(hash(&ann.id).starts_with("1$"));
    sign_in(&server, "ann");
    assert_eq!(
        server
            .events()
            .iter()
            .filter(|event| *event == "user.rehash")
            .count(),
        1
    );
}

#[test]
fn access_token_counts_for_its_time_and_purpose_alone() {
    let server = Server::new();
    server.register("ann").unwrap();
    let tokens = sign_in(&server, "ann");
    let access = tokens.access.as_str();
    identify(&server, access).unwrap();
    let elsewhere = now(server
        .accounts
        .identify(access, &["https://skills.example.com/mcp"]));
    assert!(matches!(elsewhere.unwrap_err(), IdentityError::Audience));
    let (signed, signature) = access.rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    for forged in [
        String::new(),
        format!("{signed}."),
        format!("{header}.{}.{signature}", claims.to_lowercase()),
        // `{"alg":"none"}`
        format!("eyJhbGciOiJub25lIn0.{claims}."),
        format!("{access}x"),
        tokens.refresh.as_str().to_owned(),
        "x".repeat(100_000),
    ] {
        let refused = identify(&server, &forged).unwrap_err();
        assert!(matches!(refused, IdentityError::Malformed), "{forged}");
    }
    // Another server with the same users.
    let other = Server::with(2, std::sync::Arc::clone(&server.records));
    assert!(matches!(
        identify(&other, access).unwrap_err(),
        IdentityError::Malformed
    ));
    server.clock.advance(tokens.expires_in * 1_000);
    assert!(matches!(
        identify(&server, access).unwrap_err(),
        IdentityError::Expired
    ));
}

#[test]
fn refresh_token_is_used_once_and_a_second_use_ends_the_session() {
    let server = Server::new();
    server.register("ann").unwrap();
    let first = sign_in(&server, "ann");
    let refresh = |tokens: &SignIn| now(server.accounts.refresh(tokens.refresh.as_str()));
    let second = refresh(&first).unwrap();
    // The answer got lost.
    server.clock.advance(9_000);
    assert_eq!(refresh(&first).unwrap().refresh, second.refresh);
    let third = refresh(&second).unwrap();
    identify(&server, third.access.as_str()).unwrap();
    server.clock.advance(11_000);
    assert!(matches!(refresh(&second).unwrap_err(), SignInError::Reused));
    for tokens in [&first, &second, &third] {
        let refused = identify(&server, tokens.access.as_str()).unwrap_err();
        assert!(matches!(refused, IdentityError::Revoked), "{refused}");
        assert!(matches!(refresh(tokens).unwrap_err(), SignInError::Ended));
    }
    assert!(server.events().contains(&"session.reuse".to_owned()));
    // Another session of the same user goes on.
    let other = sign_in(&server, "ann");
    refresh(&other).unwrap();
}

#[test]
fn session_ends_with_logout_password_and_user() {
    let server = Server::new();
    server.create("admin", true);
    let ann = server.register("ann").unwrap();
    let ends: [End; 4] = [
        |server, _, tokens| now(server.accounts.sign_out(tokens.refresh.as_str())).unwrap(),
        |server, ann, _| now(server.accounts.set_password(ann, PASSWORD.to_owned(), None)).unwrap(),
        |server, ann, _| {
            now(server.accounts.set_active(ann, false, None)).unwrap();
            now(server.accounts.set_active(ann, true, None)).unwrap();
        },
        |server, ann, _| drop(now(server.accounts.delete(ann, None)).unwrap()),
    ];
    for end in ends {
        let tokens = sign_in(&server, "ann");
        identify(&server, tokens.access.as_str()).unwrap();
        end(&server, &ann.id, &tokens);
        let refused = identify(&server, tokens.access.as_str()).unwrap_err();
        assert!(matches!(refused, IdentityError::Revoked), "{refused}");
        let refused = now(server.accounts.refresh(tokens.refresh.as_str())).unwrap_err();
        assert!(matches!(refused, SignInError::Ended), "{refused}");
    }
    // Nobody learns which tokens exist.
    now(server.accounts.sign_out("gfr_x")).unwrap();
}

#[test]
fn session_ends_at_its_age() {
    let server = Server::new();
    server.register("ann").unwrap();
    let mut tokens = sign_in(&server, "ann");
    for _ in 0..30 {
        server.clock.advance(24 * 60 * 60 * 1_000 - 1);
        tokens = now(server.accounts.refresh(tokens.refresh.as_str())).unwrap();
    }
    server.clock.advance(24 * 60 * 60 * 1_000);
    let refused = now(server.accounts.refresh(tokens.refresh.as_str())).unwrap_err();
    assert!(matches!(refused, SignInError::Ended), "{refused}");
}

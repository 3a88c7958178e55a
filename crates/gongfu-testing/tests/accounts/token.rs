//! API tokens: created, used, revoked.

use gongfu_core::account::{Scope, Scopes, User};
use gongfu_core::port::{Clock as _, Timestamp};
use gongfu_core::registry::{AccountError, Credential, IdentityError, NewToken};
use gongfu_testing::now;

use crate::fixture::{ISSUER, Server};

fn named(name: &str) -> NewToken {
    NewToken {
        name: name.to_owned(),
        scopes: Scopes::usual(),
        skills: None,
        profile: None,
        expires: None,
    }
}

fn create(server: &Server, user: &User, new: NewToken) -> (String, String) {
    let (token, record) = now(server.accounts.create_token(&user.id, new)).unwrap();
    (token.as_str().to_owned(), record.id)
}

#[test]
fn token_is_its_user_within_its_scopes() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let (text, id) = create(
        &server,
        &ann,
        NewToken {
            scopes: [Scope::SkillsRead].into_iter().collect(),
            skills: Some(vec!["pdf".to_owned(), "team-design/brand".to_owned()]),
            profile: Some("agentskills".to_owned()),
            ..named("laptop")
        },
    );
    let identity = now(server.accounts.identify(&text, &[ISSUER])).unwrap();
    assert_eq!(identity.user, ann.id);
    assert_eq!(identity.scopes.to_string(), "skills:read");
    assert_eq!(
        identity.skills,
        Some(vec!["own/pdf".to_owned(), "team-design/brand".to_owned()])
    );
    for name in ["", "../pdf", "own/../pdf", "/pdf", "own/", "a\nb"] {
        let new = NewToken {
            skills: Some(vec![name.to_owned()]),
            ..named("x")
        };
        let refused = now(server.accounts.create_token(&ann.id, new));
        assert!(
            matches!(refused, Err(AccountError::Invalid(_))),
            "{name:?}: {refused:?}"
        );
    }
    assert_eq!(identity.profile.as_deref(), Some("agentskills"));
    assert_eq!(identity.credential, Credential::ApiToken(id));
    let stored = now(server.accounts.tokens(&ann.id)).unwrap();
    assert!(!format!("{stored:?}").contains(&text[9..20]));
}

#[test]
fn token_is_refused_for_one_reason_each() {
    let server = Server::new();
    server.create("admin", true);
    let (ann, bob) = (
        server.register("ann").unwrap(),
        server.register("bob").unwrap(),
    );
    let refusal = |text: &str| now(server.accounts.identify(text, &[ISSUER])).unwrap_err();
    let expires = Timestamp(server.clock.now().0 + 1_000);
    let (short, _) = create(
        &server,
        &ann,
        NewToken {
            expires: Some(expires),
            ..named("short")
        },
    );
    let (text, id) = create(&server, &ann, named("long"));
    now(server.accounts.identify(&short, &[ISSUER])).unwrap();
    server.clock.advance(1_000);
    assert!(matches!(refusal(&short), IdentityError::Expired));
    let mut typo = text.clone();
    let last = typo.pop().unwrap();
    typo.push(if last == '0' { '1' } else { '0' });
    assert!(matches!(refusal(&typo), IdentityError::Malformed));
    let unknown = gongfu_core::registry::api_token::ApiToken::of(&[7; 28]);
    assert!(matches!(refusal(unknown.as_str()), IdentityError::Unknown));
    // Only its user revokes it.
    for (user, id) in [(&bob, id.as_str()), (&ann, "0"), (&ann, "../x")] {
        let error = now(server.accounts.revoke_token(&user.id, id)).unwrap_err();
        assert!(matches!(error, AccountError::Unknown("token")), "{error}");
    }
    now(server.accounts.identify(&text, &[ISSUER])).unwrap();
    now(server.accounts.set_active(&ann.id, false, None)).unwrap();
    assert!(matches!(refusal(&text), IdentityError::Revoked));
    now(server.accounts.set_active(&ann.id, true, None)).unwrap();
    now(server.accounts.identify(&text, &[ISSUER])).unwrap();
    now(server.accounts.revoke_token(&ann.id, &id)).unwrap();
    assert!(matches!(refusal(&text), IdentityError::Revoked));
    let names: Vec<String> = now(server.accounts.tokens(&ann.id))
        .unwrap()
        .into_iter()
        .map(|token| token.name)
        .collect();
    assert_eq!(names, ["short"]);
    let (of_bob, _) = create(&server, &bob, named("x"));
    now(server.accounts.delete(&bob.id, None)).unwrap();
    assert!(matches!(refusal(&of_bob), IdentityError::Revoked));
}

#[test]
fn token_that_cannot_be_is_not_created() {
    let server = Server::new();
    let (admin, ann) = (
        server.create("admin", true),
        server.register("ann").unwrap(),
    );
    let all = || Scopes::of_user(true);
    for new in [
        named(" "),
        named(&"x".repeat(101)),
        named("two\nlines"),
        NewToken {
            scopes: Scopes::default(),
            ..named("x")
        },
        NewToken {
            scopes: all(),
            ..named("x")
        },
        NewToken {
            expires: Some(server.clock.now()),
            ..named("x")
        },
    ] {
        let refused = now(server.accounts.create_token(&ann.id, new.clone())).unwrap_err();
        assert!(matches!(refused, AccountError::Invalid(_)), "{new:?}");
    }
    create(
        &server,
        &admin,
        NewToken {
            scopes: all(),
            ..named("x")
        },
    );
    for number in 0..100 {
        create(&server, &ann, named(&number.to_string()));
    }
    let refused = now(server.accounts.create_token(&ann.id, named("x"))).unwrap_err();
    assert!(refused.to_string().contains("at most 100"), "{refused}");
}

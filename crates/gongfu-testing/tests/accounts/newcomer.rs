//! Links by which somebody creates their account.

use std::sync::Arc;

use gongfu_core::port::Timestamp;
use gongfu_core::registry::link::LinkSecret;
use gongfu_core::registry::{AccountError, AccountParts, AccountSettings, Accounts, Registration};
use gongfu_testing::{FakePasswords, FakeSecrets, FixedClock, MemoryRecords, now};

use crate::fixture::{ISSUER, Server, new_user};

/// A week, in milliseconds.
const WEEK: i64 = 7 * 24 * 60 * 60 * 1_000;

fn over(server: &Server, secret: &LinkSecret, name: &str) -> bool {
    let refused = now(server.accounts.register_by_link(secret, new_user(name)));
    matches!(refused, Err(AccountError::Unknown("link")))
}

#[test]
fn link_creates_one_account() {
    let server = Server::new();
    let (secret, _) = now(server.accounts.invite_newcomer(false, None)).unwrap();
    now(server.accounts.check_newcomer(&secret)).unwrap();
    server.register("bob").unwrap();
    let taken = now(server.accounts.register_by_link(&secret, new_user("bob")));
    assert!(matches!(taken, Err(AccountError::EmailTaken)), "{taken:?}");
    // A refused newcomer may try again.
    let ann = now(server.accounts.register_by_link(&secret, new_user("ann"))).unwrap();
    assert!(!ann.is_admin);
    assert!(over(&server, &secret, "carl"));
    assert!(now(server.accounts.check_newcomer(&secret)).is_err());
    let (admin, _) = now(server.accounts.invite_newcomer(true, None)).unwrap();
    let olga = now(server.accounts.register_by_link(&admin, new_user("olga"))).unwrap();
    assert!(olga.is_admin);
    let unknown = LinkSecret::parse(&"0".repeat(64)).unwrap();
    assert!(over(&server, &unknown, "dave"));
}

#[test]
fn link_ends_after_a_week() {
    let server = Server::new();
    let (secret, expires) = now(server.accounts.invite_newcomer(false, None)).unwrap();
    assert_eq!(expires.0, server.accounts.now().0 + WEEK);
    server.clock.set(expires);
    assert!(over(&server, &secret, "ann"));
    server.clock.set(Timestamp(expires.0 - 1));
    now(server.accounts.register_by_link(&secret, new_user("ann"))).unwrap();
}

#[test]
fn first_admin_is_the_first_user() {
    let server = Server::new();
    let old = now(server.accounts.invite_first_admin()).unwrap().unwrap();
    let link = now(server.accounts.invite_first_admin()).unwrap().unwrap();
    assert!(
        over(&server, &old, "ann"),
        "a new start ends the link of the one before"
    );
    let ann = now(server.accounts.register_by_link(&link, new_user("ann"))).unwrap();
    assert!(ann.is_admin);
    assert!(now(server.accounts.invite_first_admin()).unwrap().is_none());
    // Somebody else who comes first ends the link as well.
    let server = Server::new();
    let link = now(server.accounts.invite_first_admin()).unwrap().unwrap();
    server.register("bob").unwrap();
    assert!(over(&server, &link, "ann"));
}

#[test]
fn registration_says_who_may_come() {
    for (registration, invited, open) in [
        (Registration::Closed, false, false),
        (Registration::Invited, true, false),
        (Registration::Open, true, true),
    ] {
        let parts = AccountParts {
            records: Arc::<MemoryRecords>::default(),
            passwords: Arc::<FakePasswords>::default(),
            secrets: Arc::new(FakeSecrets::of(1)),
            clock: Arc::<FixedClock>::default(),
        };
        let settings = AccountSettings {
            registration,
            ..AccountSettings::at(ISSUER)
        };
        let accounts = Accounts::new(parts, settings);
        let invitation = now(accounts.invite_newcomer(false, None));
        assert_eq!(invitation.is_ok(), invited, "{registration:?}");
        if let Ok((secret, _)) = invitation {
            now(accounts.register_by_link(&secret, new_user("bob"))).unwrap();
        }
        let registered = now(accounts.register(new_user("ann")));
        assert_eq!(registered.is_ok(), open, "{registration:?}");
        // A server without users has to begin somehow.
        let first = now(accounts.invite_first_admin()).unwrap();
        assert_eq!(first.is_some(), registration == Registration::Closed);
    }
}

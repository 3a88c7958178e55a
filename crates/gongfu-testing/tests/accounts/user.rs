//! Users: created once, renamed, disabled, deleted.

use gongfu_core::account::{Email, UserId, Username};
use gongfu_core::registry::{AccountError, AccountParts, AccountSettings, Accounts};
use gongfu_testing::{FakePasswords, FakeSecrets, FixedClock, MemoryRecords, now};

use crate::fixture::{ISSUER, PASSWORD, Server, new_user};

#[test]
fn address_and_name_belong_to_one_user() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    assert!(!ann.is_admin && ann.is_active);
    let mut same_name = new_user("ANN");
    same_name.email = Email::new("other@example.com").unwrap();
    let refused = now(server.accounts.register(same_name)).unwrap_err();
    assert!(matches!(refused, AccountError::UsernameTaken), "{refused}");
    let mut same_email = new_user("bob");
    same_email.email = Email::new("Ann@EXAMPLE.com").unwrap();
    let refused = now(server.accounts.register(same_email)).unwrap_err();
    assert!(matches!(refused, AccountError::EmailTaken), "{refused}");
    // Nothing of a refused user is left.
    server.register("bob").unwrap();
    assert_eq!(now(server.accounts.find("ANN")).unwrap().id, ann.id);
    assert_eq!(
        now(server.accounts.find("ann@example.com")).unwrap().id,
        ann.id
    );
    for unknown in ["carl", "carl@example.com", "", "../user"] {
        assert!(now(server.accounts.find(unknown)).is_err(), "{unknown}");
    }
    assert_eq!(server.events(), ["user.create", "user.create"]);
}

#[test]
fn nobody_registers_where_that_is_closed_or_as_an_admin() {
    let server = Server::new();
    let mut admin = new_user("ann");
    admin.is_admin = true;
    assert!(!now(server.accounts.register(admin)).unwrap().is_admin);
    let parts = AccountParts {
        records: std::sync::Arc::<MemoryRecords>::default(),
        passwords: std::sync::Arc::<FakePasswords>::default(),
        secrets: std::sync::Arc::new(FakeSecrets::of(1)),
        clock: std::sync::Arc::<FixedClock>::default(),
    };
    let closed = Accounts::new(parts, AccountSettings::at(ISSUER));
    let refused = now(closed.register(new_user("ann"))).unwrap_err();
    assert!(matches!(refused, AccountError::RegistrationClosed));
}

#[test]
fn renamed_user_gives_the_old_name_back() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let bob = server.register("bob").unwrap();
    let name = |name: &str| Some(Username::new(name).unwrap());
    let taken = now(server.accounts.rename(&bob.id, None, name("Ann"))).unwrap_err();
    assert!(matches!(taken, AccountError::UsernameTaken));
    let email = Some(Email::new("ann@example.com").unwrap());
    let taken = now(server.accounts.rename(&bob.id, email, name("bert"))).unwrap_err();
    assert!(matches!(taken, AccountError::EmailTaken));
    assert_eq!(
        now(server.accounts.user(&bob.id)).unwrap().username,
        bob.username
    );
    // Another letter case is the same name.
    let shouted = now(server.accounts.rename(&ann.id, None, name("ANN"))).unwrap();
    assert_eq!(shouted.username.as_str(), "ANN");
    now(server.accounts.rename(&ann.id, None, name("anna"))).unwrap();
    assert!(now(server.accounts.find("ann")).is_err());
    now(server.accounts.rename(&bob.id, None, name("ann"))).unwrap();
    assert_eq!(now(server.accounts.find("ann")).unwrap().id, bob.id);
}

#[test]
fn deleted_user_leaves_name_and_address_to_others() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    now(server.accounts.delete(&ann.id, Some(&ann.id))).unwrap();
    let gone = now(server.accounts.user(&ann.id)).unwrap_err();
    assert!(matches!(gone, AccountError::Unknown("user")));
    let again = server.register("ann").unwrap();
    assert_ne!(again.id, ann.id);
}

#[test]
fn server_keeps_an_active_admin() {
    let server = Server::new();
    let admin = server.create("admin", true);
    let refused = |error| matches!(error, AccountError::LastAdmin);
    assert!(refused(
        now(server.accounts.delete(&admin.id, None)).unwrap_err()
    ));
    assert!(refused(
        now(server.accounts.set_active(&admin.id, false, None)).unwrap_err()
    ));
    let second = server.create("second", true);
    now(server.accounts.set_active(&second.id, false, None)).unwrap();
    assert!(refused(
        now(server.accounts.delete(&admin.id, None)).unwrap_err()
    ));
    now(server.accounts.set_active(&second.id, true, None)).unwrap();
    now(server.accounts.delete(&admin.id, None)).unwrap();
}

#[test]
fn users_are_listed_in_pages() {
    let server = Server::new();
    let mut all: Vec<UserId> = (0..7)
        .map(|number| server.create(&format!("user{number}"), false).id)
        .collect();
    all.sort();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = now(server.accounts.users(after.as_ref(), 3)).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        seen.extend(page.into_iter().map(|user| user.id));
    }
    assert_eq!(seen, all);
}

#[test]
fn password_is_changed_by_whoever_knows_it() {
    let server = Server::new();
    let ann = server.register("ann").unwrap();
    let check = |text: &str| now(server.accounts.check_password(&ann.id, text.to_owned()));
    check(PASSWORD).unwrap();
    for wrong in ["", "three unrelated word", &"x".repeat(4_096)] {
        assert!(matches!(
            check(wrong).unwrap_err(),
            AccountError::WrongPassword
        ));
    }
    let set = |text: &str| now(server.accounts.set_password(&ann.id, text.to_owned(), None));
    assert!(matches!(
        set("short").unwrap_err(),
        AccountError::Password(_)
    ));
    set("four other unrelated words").unwrap();
    check("four other unrelated words").unwrap();
    assert!(check(PASSWORD).is_err());
}

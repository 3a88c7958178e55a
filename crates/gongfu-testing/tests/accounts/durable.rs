//! The same accounts with what a server has: a database, slow hashes and a key on disk.

use std::sync::Arc;

use gongfu_core::account::{Owner, Scopes};
use gongfu_core::registry::{
    AccountParts, AccountSettings, Accounts, IdentityError, NewToken, Registration, SignInError,
};
use gongfu_credentials::{Argon2Passwords, ServerKey};
use gongfu_files::Home;
use gongfu_records::Sqlite;
use gongfu_testing::FixedClock;
use tokio::runtime::Runtime;

use crate::fixture::{ISSUER, PASSWORD, new_user};

/// Starts a server over a home, as each start of a process does.
async fn start(home: &Home) -> Accounts {
    let database = Sqlite::open(&home.path().join("server.db")).await.unwrap();
    let parts = AccountParts {
        records: Arc::new(database.records(&Owner::Local)),
        passwords: Arc::new(Argon2Passwords::default()),
        secrets: Arc::new(ServerKey::of(home).unwrap()),
        clock: Arc::<FixedClock>::default(),
    };
    let settings = AccountSettings {
        registration: Registration::Open,
        ..AccountSettings::at(ISSUER)
    };
    Accounts::new(parts, settings)
}

#[test]
fn users_tokens_and_sessions_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    home.open().unwrap();
    let new = NewToken {
        name: "laptop".to_owned(),
        scopes: Scopes::usual(),
        skills: None,
        profile: None,
        expires: None,
    };
    // A runtime each, so that nothing of the first process goes on.
    let (user, token, first) = Runtime::new().unwrap().block_on(async {
        let accounts = start(&home).await;
        let user = accounts.register(new_user("ann")).await.unwrap();
        let (token, _) = accounts.create_token(&user.id, new).await.unwrap();
        let refused = accounts.sign_in("ann", "another".to_owned()).await;
        assert!(matches!(refused, Err(SignInError::Refused)));
        let first = accounts.sign_in("ann", PASSWORD.to_owned()).await.unwrap();
        (user, token, first)
    });
    Runtime::new().unwrap().block_on(async {
        let accounts = start(&home).await;
        for bearer in [token.as_str(), first.access.as_str()] {
            let identity = accounts.identify(bearer, &[ISSUER]).await.unwrap();
            assert_eq!(identity.user, user.id);
        }
        let second = accounts.refresh(first.refresh.as_str()).await.unwrap();
        accounts.sign_out(second.refresh.as_str()).await.unwrap();
        let ended = accounts.identify(second.access.as_str(), &[ISSUER]).await;
        assert!(matches!(ended, Err(IdentityError::Revoked)));
        accounts.identify(token.as_str(), &[ISSUER]).await.unwrap();
    });
}

#[test]
fn refresh_tokens_that_race_end_in_one_successor() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    home.open().unwrap();
    Runtime::new().unwrap().block_on(async {
        let accounts = start(&home).await;
        accounts.register(new_user("ann")).await.unwrap();
        let first = accounts.sign_in("ann", PASSWORD.to_owned()).await.unwrap();
        let mut racing = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let (accounts, refresh) = (accounts.clone(), first.refresh.clone());
            racing.spawn(async move { accounts.refresh(refresh.as_str()).await });
        }
        let mut successors = Vec::new();
        while let Some(answer) = racing.join_next().await {
            successors.push(answer.unwrap().unwrap().refresh);
        }
        assert_eq!(successors.len(), 16);
        successors.dedup();
        assert_eq!(successors.len(), 1);
    });
}

//! The same accounts with what a server has: a database, slow hashes and a key on disk.

use std::sync::Arc;

use gongfu_core::account::{Owner, Scopes};
use gongfu_core::registry::oauth::{AuthorizationServer, OAuthSettings, Parameters, Registration};
use gongfu_core::registry::{
    AccountParts, AccountSettings, Accounts, IdentityError, NewToken,
    Registration as UserRegistration, SignInError,
};
use gongfu_credentials::{Argon2Passwords, ServerKey};
use gongfu_files::Home;
use gongfu_records::Sqlite;
use gongfu_testing::FixedClock;
use tokio::runtime::Runtime;

use crate::fixture::{ISSUER, PASSWORD, new_user};
use crate::oauth::{CHALLENGE, RESOURCE, VERIFIER};

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
        registration: UserRegistration::Open,
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

#[test]
fn code_that_is_used_many_times_at_once_gives_nothing_that_lasts() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    home.open().unwrap();
    Runtime::new().unwrap().block_on(async {
        let accounts = start(&home).await;
        let user = accounts.register(new_user("ann")).await.unwrap();
        let settings = OAuthSettings {
            resource: RESOURCE.to_owned(),
            registers_clients: true,
        };
        let oauth = AuthorizationServer::new(accounts, None, settings);
        let client = br#"{"redirect_uris": ["http://127.0.0.1/cb"]}"#;
        let client = oauth.register(Registration::read(client).unwrap());
        let client = client.await.unwrap().id;
        for uses in [1, 16] {
            let request = format!("client_id={client}&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&response_type=code&code_challenge_method=S256&code_challenge={CHALLENGE}");
            let request = Parameters::read(request.as_bytes()).unwrap();
            let request = oauth.check(&request, &user).await.unwrap();
            let answer = oauth.allow(&request, &user).await.unwrap();
            let code = answer.split("code=").nth(1).unwrap();
            let code = code.split('&').next().unwrap();
            let form = format!("grant_type=authorization_code&client_id={client}&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&code_verifier={VERIFIER}&code={code}");
            let form = Parameters::read(form.as_bytes()).unwrap();
            let mut racing = tokio::task::JoinSet::new();
            for _ in 0..uses {
                let (oauth, form) = (oauth.clone(), form.clone());
                racing.spawn(async move { oauth.exchange(&form).await });
            }
            let mut given = Vec::new();
            while let Some(answer) = racing.join_next().await {
                given.extend(answer.unwrap().ok());
            }
            assert_eq!(given.len(), 1);
            let identity = oauth.accounts().identify(given[0].access.as_str(), &[RESOURCE]);
            assert_eq!(identity.await.is_ok(), uses == 1);
        }
    });
}

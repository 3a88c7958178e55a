//! A server's accounts in memory.

use std::sync::Arc;

use gongfu_core::account::{Email, User, Username};
use gongfu_core::audit;
use gongfu_core::port::Records as _;
use gongfu_core::registry::{
    AccountError, AccountParts, AccountSettings, Accounts, NewUser, Registration,
};
use gongfu_testing::{FakePasswords, FakeSecrets, FixedClock, MemoryRecords, now};

/// The password of every user.
pub(crate) const PASSWORD: &str = "three unrelated words";
/// The URL of the server.
pub(crate) const ISSUER: &str = "https://skills.example.com";

pub(crate) struct Server {
    pub(crate) accounts: Accounts,
    pub(crate) records: Arc<MemoryRecords>,
    pub(crate) passwords: Arc<FakePasswords>,
    pub(crate) clock: Arc<FixedClock>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(1, Arc::default())
    }

    /// A server with its key, over records.
    pub(crate) fn with(key: u64, records: Arc<MemoryRecords>) -> Self {
        let (passwords, clock) = (
            Arc::<FakePasswords>::default(),
            Arc::<FixedClock>::default(),
        );
        let parts = AccountParts {
            records: Arc::<MemoryRecords>::clone(&records),
            passwords: Arc::<FakePasswords>::clone(&passwords),
            secrets: Arc::new(FakeSecrets::of(key)),
            clock: Arc::<FixedClock>::clone(&clock),
        };
        let settings = AccountSettings {
            registration: Registration::Open,
            ..AccountSettings::at(ISSUER)
        };
        Self {
            accounts: Accounts::new(parts, settings),
            records,
            passwords,
            clock,
        }
    }

    pub(crate) fn register(&self, name: &str) -> Result<User, AccountError> {
        now(self.accounts.register(new_user(name)))
    }

    /// Creates a user, who may be an admin.
    pub(crate) fn create(&self, name: &str, is_admin: bool) -> User {
        let new = NewUser {
            is_admin,
            ..new_user(name)
        };
        now(self.accounts.create(new, None)).unwrap()
    }

    /// The events in the audit of the server.
    pub(crate) fn events(&self) -> Vec<String> {
        let log = audit::key().unwrap();
        let entries = now(self.records.entries(&log, usize::MAX)).unwrap();
        let event = |entry: Vec<u8>| {
            let entry: serde_json::Value = serde_json::from_slice(&entry).unwrap();
            entry["event"].as_str().unwrap().to_owned()
        };
        entries.into_iter().map(event).collect()
    }
}

pub(crate) fn new_user(name: &str) -> NewUser {
    NewUser {
        email: Email::new(&format!("{name}@example.com")).unwrap(),
        username: Username::new(name).unwrap(),
        password: Some(PASSWORD.to_owned()),
        is_admin: false,
    }
}

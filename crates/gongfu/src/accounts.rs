//! The accounts of a server: its database, its key, and the spaces of its users.

pub(crate) mod backup;
mod client_document;
pub(crate) mod command;
pub(crate) mod connection;
mod part;
mod provider;
pub(crate) mod removal;
pub(crate) mod server;
mod space;
mod sso;
mod store;
mod team;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use gongfu_core::port::{Clock, PortError};
use gongfu_core::registry::{AccountError, AccountParts, AccountSettings, Accounts};
use gongfu_credentials::{Argon2Passwords, ServerKey};
use gongfu_files::Home;
use gongfu_records::{Database, DatabaseRecords, open_database};

use crate::clock::SystemClock;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::wiring::expanded;

pub(crate) use client_document::tls;
pub(crate) use space::AccountSpaces;

/// The open accounts of a server.
pub(crate) struct ServerAccounts {
    /// The records of all owners.
    pub(crate) database: Arc<dyn Database>,
    /// Those of the server itself.
    pub(crate) records: Arc<dyn DatabaseRecords>,
    /// The users and their credentials.
    pub(crate) accounts: Accounts,
}

/// Opens the accounts of a home; creates them where there are none. `issuer` is the URL of the server.
///
/// # Errors
/// The database or the key can't be used.
pub(crate) async fn open(
    home: &Home,
    config: &Config,
    issuer: &str,
) -> anyhow::Result<ServerAccounts> {
    home.open()
        .map_err(|error| crate::home::unusable(home, &error))?;
    let own = || format!("sqlite:{}", home.database().display());
    let url = config.accounts.database.clone().unwrap_or_else(own);
    let database = open_database(&url).await.map_err(unusable)?;
    let records = database.server_records();
    let parts = AccountParts {
        records: Arc::clone(&records) as _,
        passwords: Arc::new(Argon2Passwords::default()),
        secrets: Arc::new(ServerKey::of(home).context("the key of the server can't be used")?),
        clock: Arc::new(SystemClock) as Arc<dyn Clock>,
    };
    let settings = AccountSettings {
        registration: config.accounts.registration.into(),
        access_life: i64::from(config.accounts.access_minutes.max(1)) * 60,
        ..AccountSettings::at(issuer)
    };
    Ok(ServerAccounts {
        database,
        records,
        accounts: Accounts::new(parts, settings),
    })
}

/// The folder of the accounts' skills.
///
/// # Errors
/// The current folder, below which a relative one would be, is gone.
pub(crate) fn skill_dir(
    home: &Home,
    config: &Config,
    environment: &Environment,
) -> anyhow::Result<PathBuf> {
    let named = config.accounts.skill_dir.as_deref();
    let named = named.map(|folder| expanded(folder, environment.user.as_deref()));
    let folder = named.or_else(|| environment.storage_path.clone());
    let folder = folder.unwrap_or_else(|| home.user_skills());
    std::path::absolute(&folder).with_context(|| format!("{} can't be used", folder.display()))
}

fn unusable(error: PortError) -> Failure {
    let hint = "check `accounts.database` in the settings, and the permissions of its folder";
    Failure::new("DATABASE_UNAVAILABLE", error.to_string(), hint)
}

/// The failure of a command about an account.
pub(crate) fn failed(error: AccountError) -> Failure {
    let message = error.to_string();
    let (code, hint) = match &error {
        AccountError::EmailTaken => (
            "EMAIL_TAKEN",
            "use another address; `gongfu user list` shows who has it",
        ),
        AccountError::UsernameTaken => (
            "USERNAME_TAKEN",
            "use another name; `gongfu user list` shows who has it",
        ),
        AccountError::Password(_) => (
            "PASSWORD_REFUSED",
            "choose another one, such as four unrelated words",
        ),
        AccountError::RegistrationClosed => (
            "REGISTRATION_CLOSED",
            "create the user with `gongfu user add`, or set `accounts.registration` to `invited`",
        ),
        AccountError::PasswordsOff => (
            "PASSWORDS_OFF",
            "sign in by the company's provider, or set `accounts.sso.passwords` to true",
        ),
        AccountError::WrongPassword => ("WRONG_PASSWORD", "try again"),
        AccountError::Unknown("user") => ("USER_NOT_FOUND", "`gongfu user list` shows every user"),
        AccountError::Unknown("team") => ("TEAM_NOT_FOUND", "`gongfu team list` shows every team"),
        AccountError::Unknown("member") => (
            "MEMBER_NOT_FOUND",
            "`gongfu team list` shows the members of each team",
        ),
        AccountError::TeamTaken => (
            "TEAM_TAKEN",
            "use another name; `gongfu team list` shows every team",
        ),
        AccountError::LastMaintainer => (
            "LAST_MAINTAINER",
            "make somebody else one: `gongfu team add-member TEAM USER --maintainer`",
        ),
        AccountError::AlreadyMember => ("ALREADY_MEMBER", "pass it to the person it is for"),
        AccountError::Synced => ("SYNCED_MEMBER", "change the group at the company's sign-in"),
        AccountError::Unknown(_) => (
            "TOKEN_NOT_FOUND",
            "`gongfu token list` shows the tokens of a user",
        ),
        AccountError::Invalid(_) => ("INVALID_VALUE", "correct it, and try again"),
        AccountError::LastAdmin => (
            "LAST_ADMIN",
            "add another one: `gongfu user add NAME --email E --admin`",
        ),
        AccountError::Store(_) => (
            "DATABASE_UNAVAILABLE",
            "try again; `gongfu doctor` checks gongfu's home",
        ),
    };
    Failure::new(code, message, hint)
}

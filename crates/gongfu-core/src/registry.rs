//! The registry of a server: users, their credentials, and the identity behind a credential.
//!
//! A user, the claims to an address and a name, tokens and families are records of the server itself. Each change
//! is one commit, with its entry in the audit.

pub mod access_token;
pub mod api_token;
pub mod browser;
mod change;
pub mod family;
mod hex;
mod identity;
pub mod link;
mod newcomer;
pub mod oauth;
mod record;
pub mod refresh_token;
mod sign_in;
mod space_change;
pub mod sso;
mod sweep;
pub mod team;
mod token;
mod token_use;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use self::hex::hex;
use self::link::LinkSecret;
use self::newcomer::newcomer_key;
use self::record::{StoredValue, Write, busy, key, unreadable};
use self::sso::Sso;
use self::token_use::LastUses;
use crate::account::password::PasswordError;
use crate::account::{Email, Password, User, UserId, UserQuota, Username};
use crate::port::{Clock, Passwords, PortError, RecordKey, Secrets, Timestamp, Transactions};

pub use identity::{Credential, Identity, IdentityError};
pub use sign_in::{SignIn, SignInError};
pub use token::NewToken;

/// The number of attempts of a change while others change the same records.
const MAX_ATTEMPTS: usize = 16;

/// The people who may register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Registration {
    /// Nobody: an admin creates users.
    #[default]
    Closed,
    /// People with a link of an admin.
    Invited,
    /// Everybody who reaches the server.
    Open,
}

/// The settings of accounts.
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// The people who may register.
    pub registration: Registration,
    /// The URL of the server as its clients see it.
    pub issuer: String,
    /// The life of an access token, in seconds.
    pub access_life: i64,
    /// The life of a sign-in, in seconds.
    pub family_life: i64,
}

impl AccountSettings {
    /// The settings of a server at a URL.
    pub fn at(issuer: impl Into<String>) -> Self {
        Self {
            registration: Registration::default(),
            issuer: issuer.into(),
            access_life: 15 * 60,
            family_life: 30 * 24 * 60 * 60,
        }
    }
}

/// The parts that accounts need.
#[derive(Clone)]
pub struct AccountParts {
    /// The records of the server.
    pub records: Arc<dyn Transactions>,
    /// Hashes passwords.
    pub passwords: Arc<dyn Passwords>,
    /// Random bits and signatures.
    pub secrets: Arc<dyn Secrets>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The accounts of a server.
#[derive(Clone)]
pub struct Accounts {
    parts: AccountParts,
    settings: Arc<AccountSettings>,
    /// The sign-in by the company's provider, where there is one.
    sso: Option<Arc<Sso>>,
    /// The last uses of API tokens that aren't stored yet.
    uses: Arc<LastUses>,
}

/// Why a change of an account is refused.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Somebody has the address already.
    #[error("there is a user with this e-mail address already")]
    EmailTaken,
    /// Somebody has the name already.
    #[error("there is a user with this name already")]
    UsernameTaken,
    /// The password isn't taken.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// Nobody may register.
    #[error("registration is closed here, or needs a link of an admin")]
    RegistrationClosed,
    /// Nobody signs in by password.
    #[error("this server takes no passwords")]
    PasswordsOff,
    /// The current password is another one.
    #[error("the current password is another one")]
    WrongPassword,
    /// There is no such user, token or team.
    #[error("there is no such {0}")]
    Unknown(&'static str),
    /// A value can't be what it is given for.
    #[error("{0}")]
    Invalid(String),
    /// Nobody could manage the server any more.
    #[error("a server needs an active admin; make another user one first")]
    LastAdmin,
    /// Another team has the name already.
    #[error("there is a team with this name already")]
    TeamTaken,
    /// Nobody could manage the team any more.
    #[error("a team needs a maintainer; make another member one first, or delete the team")]
    LastMaintainer,
    /// The invitation would give the user nothing; it stays for somebody else.
    #[error("you are a member of this team already; the invitation stays for somebody else")]
    AlreadyMember,
    /// A provider of identities says who is in the team.
    #[error("this member comes from a group of the company's sign-in; remove them from the group")]
    Synced,
    /// The store fails.
    #[error(transparent)]
    Store(#[from] PortError),
}

/// A user who is to be created.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Their address.
    pub email: Email,
    /// Their name.
    pub username: Username,
    /// Their password; `None` for somebody who gets one by a link, or signs in by the company's provider.
    pub password: Option<String>,
    /// True if they manage users and the server.
    pub is_admin: bool,
}

/// The claim of a user to an address or a name.
#[derive(Debug, Clone, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    user: UserId,
}

/// The active admins of a server.
#[derive(Debug, Clone, Default, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Admins {
    active: BTreeSet<UserId>,
}

impl Accounts {
    /// Accounts of these parts.
    pub fn new(parts: AccountParts, settings: AccountSettings) -> Self {
        Self {
            parts,
            settings: Arc::new(settings),
            sso: None,
            uses: Arc::default(),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &AccountSettings {
        &self.settings
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// Random bits.
    fn random<const BYTES: usize>(&self) -> Result<[u8; BYTES], PortError> {
        let mut bits = [0; BYTES];
        self.parts.secrets.fill(&mut bits)?;
        Ok(bits)
    }

    /// Registers a user, where the settings let anybody.
    ///
    /// # Errors
    /// Registration is closed, the address or the name is taken, or the password isn't good.
    pub async fn register(&self, new: NewUser) -> Result<User, AccountError> {
        if self.settings.registration != Registration::Open {
            return Err(AccountError::RegistrationClosed);
        }
        self.needs_passwords()?;
        let new = NewUser {
            is_admin: false,
            ..new
        };
        self.create(new, None).await
    }

    /// Creates a user, as an admin or at the command line.
    ///
    /// # Errors
    /// The address or the name is taken, or the password isn't good.
    pub async fn create(&self, new: NewUser, by: Option<&UserId>) -> Result<User, AccountError> {
        self.create_with(new, by, None).await
    }

    /// The same with a link, which is used up.
    async fn create_with(
        &self,
        new: NewUser,
        by: Option<&UserId>,
        link: Option<&LinkSecret>,
    ) -> Result<User, AccountError> {
        let password = match new.password {
            Some(text) => {
                let password = Password::new(text, &new.username, &new.email)?;
                Some(self.parts.passwords.hash(&password).await?)
            }
            None => None,
        };
        let now = self.now();
        let id = UserId::new(&hex(&self.random::<16>()?))
            .map_err(|error| PortError::Other(error.into()))?;
        let user = User {
            id,
            email: new.email,
            username: new.username,
            is_active: true,
            is_admin: new.is_admin,
            password,
            provider: None,
            quota: UserQuota::default(),
            generation: 0,
            created: now.0,
            updated: now.0,
        };
        let claim = Claim {
            user: user.id.clone(),
        };
        for _ in 0..MAX_ATTEMPTS {
            let mut writes = vec![
                Write::put(user_key(&user.id)?, None, &user)?,
                Write::put(email_key(&user.email)?, None, &claim)?,
                Write::put(username_key(&user.username)?, None, &claim)?,
            ];
            if user.is_admin {
                writes.extend(self.admin_write(&user.id, true).await?);
            }
            if let Some(link) = link {
                let found = self.found_newcomer(link).await?;
                writes.push(Write::remove(newcomer_key(link)?, found.version));
            }
            match self
                .commit(&writes, "user.create", by, &user.id, None)
                .await
            {
                Ok(()) => return Ok(user),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(taken) = self.taken(&user.email, &user.username).await? {
                return Err(taken);
            }
        }
        Err(busy("list of admins").into())
    }

    /// The write that makes a user an active admin, or no longer one; `None` where nothing changes.
    ///
    /// All of them are one record, so that two admins who disable each other at once are a conflict.
    async fn admin_write(
        &self,
        id: &UserId,
        is_admin: bool,
    ) -> Result<Option<Write>, AccountError> {
        let key = RecordKey::new("admins").map_err(PortError::from)?;
        let before: Option<StoredValue<Admins>> = self.read(&key).await?;
        let (mut admins, version) = match before {
            Some(before) => (before.value, Some(before.version)),
            None => (Admins::default(), None),
        };
        let is_changed = if is_admin {
            admins.active.insert(id.clone())
        } else {
            admins.active.remove(id)
        };
        if !is_changed {
            return Ok(None);
        }
        if admins.active.is_empty() {
            return Err(AccountError::LastAdmin);
        }
        Ok(Some(Write::put(key, version, &admins)?))
    }

    /// The error where one of the two is taken.
    async fn taken(
        &self,
        email: &Email,
        name: &Username,
    ) -> Result<Option<AccountError>, PortError> {
        if self.read::<Claim>(&email_key(email)?).await?.is_some() {
            return Ok(Some(AccountError::EmailTaken));
        }
        let claim: Option<StoredValue<Claim>> = self.read(&username_key(name)?).await?;
        Ok(claim.map(|_| AccountError::UsernameTaken))
    }

    /// A user by their id.
    ///
    /// # Errors
    /// No user has it.
    pub async fn user(&self, id: &UserId) -> Result<User, AccountError> {
        Ok(self.versioned_user(id).await?.value)
    }

    async fn versioned_user(&self, id: &UserId) -> Result<StoredValue<User>, AccountError> {
        let user = self.read(&user_key(id)?).await?;
        user.ok_or(AccountError::Unknown("user"))
    }

    /// A user by their name or address.
    ///
    /// # Errors
    /// No user has it.
    pub async fn find(&self, name_or_email: &str) -> Result<User, AccountError> {
        let key = match (Email::new(name_or_email), Username::new(name_or_email)) {
            (Ok(email), _) => email_key(&email)?,
            (_, Ok(name)) => username_key(&name)?,
            _ => return Err(AccountError::Unknown("user")),
        };
        let claim: Option<StoredValue<Claim>> = self.read(&key).await?;
        let claim = claim.ok_or(AccountError::Unknown("user"))?;
        self.user(&claim.value.user).await
    }

    /// A user by their name, address or id.
    ///
    /// # Errors
    /// No user has it.
    pub async fn find_any(&self, user: &str) -> Result<User, AccountError> {
        match (self.find(user).await, UserId::new(user)) {
            (Err(AccountError::Unknown(_)), Ok(id)) => self.user(&id).await,
            (found, _) => found,
        }
    }

    /// Changes a user, again when somebody else changed them in between.
    async fn update_user(
        &self,
        id: &UserId,
        event: &'static str,
        by: Option<&UserId>,
        mut change: impl FnMut(&mut User) -> Result<Vec<Write>, AccountError>,
    ) -> Result<User, AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let before = self.versioned_user(id).await?;
            let mut user = before.value;
            let mut writes = change(&mut user)?;
            user.updated = self.now().0;
            writes.push(Write::put(user_key(id)?, Some(before.version), &user)?);
            match self.commit(&writes, event, by, id, None).await {
                Ok(()) => return Ok(user),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("user").into())
    }
}

impl AccountError {
    /// The failure of the store, where only that is to be told.
    fn into_store(self) -> PortError {
        match self {
            Self::Store(error) => error,
            error => PortError::Other(error.into()),
        }
    }
}

fn user_key(id: &UserId) -> Result<RecordKey, PortError> {
    key("user", id.as_str())
}

fn email_key(email: &Email) -> Result<RecordKey, PortError> {
    key("email", &email.identity().hex(64))
}

fn username_key(name: &Username) -> Result<RecordKey, PortError> {
    key("username", &name.identity().hex(64))
}

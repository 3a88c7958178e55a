//! The sign-in by the company's provider (OIDC).
//!
//! A person is who the provider says: its issuer and the subject there. The first sign-in creates a user, or is linked to
//! one whom an admin created without a password. Later, the provider is asked again with each look at a credential of
//! theirs after some minutes, so that removing somebody there acts here.

mod admit;
mod check;
mod pending;
mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::lock::Mutex as AsyncMutex;

use self::pending::{PendingSignIn, PendingSignIns};
use super::hex::hex;
use super::{AccountError, Accounts};
use crate::account::{User, UserId};
use crate::port::{IdentityProvider, PortError, ProviderPerson, ProviderRequest};

/// The path that a browser comes back to.
pub const CALLBACK: &str = "/login/sso/callback";
/// The time for which a provider's word counts at most, in milliseconds.
pub const MAX_CHECK_AGE: i64 = 30 * 60 * 1_000;
/// The longest code, in bytes.
const MAX_CODE: usize = 4_096;

/// The settings of the sign-in by a provider.
#[derive(Debug, Clone)]
pub struct SsoSettings {
    /// The URL of the provider, as it calls itself.
    pub issuer: String,
    /// The name of the provider for people.
    pub name: String,
    /// The team of each group, by name or id.
    pub teams: BTreeMap<String, String>,
    /// The groups whose members are admins; empty where the server's own roles count.
    pub admins: BTreeSet<String>,
    /// True if users may sign in by password, too.
    pub passwords: bool,
    /// The time after which the provider is asked again, in milliseconds; at most [`MAX_CHECK_AGE`] counts.
    pub check_after: i64,
}

/// The sign-in by a provider.
pub struct Sso {
    provider: Arc<dyn IdentityProvider>,
    settings: SsoSettings,
    pending: Mutex<PendingSignIns>,
    /// The users about whom the provider is asked now.
    asking: Mutex<HashMap<UserId, Arc<AsyncMutex<()>>>>,
    /// The time at which the provider didn't answer, in milliseconds since 1970.
    failed: AtomicI64,
}

impl fmt::Debug for Sso {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(formatter)
    }
}

/// The parameters with which a browser comes back.
#[derive(Debug, Clone, Default)]
pub struct SsoAnswer {
    /// The state of the sign-in.
    pub state: String,
    /// The code for the person.
    pub code: String,
    /// The issuer, where the provider says it (RFC 9207).
    pub issuer: Option<String>,
    /// The reason why there is no code.
    pub error: Option<String>,
}

/// Why a provider signs nobody in.
#[derive(Debug, thiserror::Error)]
pub enum SsoError {
    /// The server has no provider.
    #[error("this server has no sign-in by a provider")]
    Off,
    /// The sign-in began in another browser, was answered before, or is too old.
    #[error("the sign-in is too old, or began in another browser; start again")]
    Old,
    /// The provider says no, or its answer isn't good.
    #[error("the provider's answer isn't accepted: {0}")]
    Refused(String),
    /// Nobody has proved the address.
    #[error("the provider gives no address that is verified")]
    Address,
    /// A user of this server has the address.
    #[error("a user of this server has this address, with a password")]
    Taken,
    /// An admin disabled the user.
    #[error("the user is disabled")]
    Disabled,
    /// The store fails, or the provider doesn't answer.
    #[error(transparent)]
    Store(#[from] PortError),
}

impl From<AccountError> for SsoError {
    fn from(error: AccountError) -> Self {
        Self::Store(error.into_store())
    }
}

impl Sso {
    /// The settings.
    pub fn settings(&self) -> &SsoSettings {
        &self.settings
    }
}

impl Accounts {
    /// These accounts with a sign-in by a provider.
    #[must_use]
    pub fn with_sso(mut self, provider: Arc<dyn IdentityProvider>, settings: SsoSettings) -> Self {
        self.sso = Some(Arc::new(Sso {
            provider,
            settings,
            pending: Mutex::default(),
            asking: Mutex::default(),
            failed: AtomicI64::new(i64::MIN),
        }));
        self
    }

    /// The sign-in by a provider, where there is one.
    pub fn sso(&self) -> Option<&Sso> {
        self.sso.as_deref()
    }

    /// True if users may sign in by password.
    pub fn takes_passwords(&self) -> bool {
        self.sso.as_ref().is_none_or(|sso| sso.settings.passwords)
    }

    pub(super) fn needs_passwords(&self) -> Result<(), AccountError> {
        let takes = self.takes_passwords();
        takes.then_some(()).ok_or(AccountError::PasswordsOff)
    }

    /// Begins a sign-in in a browser, which has some bits of its own and wants to go on to a page. Answers the URL of the
    /// provider's page.
    ///
    /// # Errors
    /// There is no provider, or it doesn't answer.
    pub async fn begin_sso(&self, browser: &str, next: &str) -> Result<String, SsoError> {
        let sso = self.sso.as_deref().ok_or(SsoError::Off)?;
        let request = ProviderRequest {
            state: hex(&self.random::<32>()?),
            nonce: hex(&self.random::<32>()?),
            verifier: hex(&self.random::<32>()?),
            redirect: format!("{}{CALLBACK}", self.settings.issuer),
        };
        let page = sso.provider.page(&request).await?;
        let pending = PendingSignIn::new(browser, next, request, self.now());
        let mut all = sso.pending.lock().unwrap_or_else(PoisonError::into_inner);
        all.add(pending, self.now());
        Ok(page)
    }

    /// Ends a sign-in in the browser in which it began. Answers its user, and the page that the browser wants to go on to.
    ///
    /// # Errors
    /// The provider says no, or nobody is signed in for another reason.
    pub async fn finish_sso(
        &self,
        browser: &str,
        answer: &SsoAnswer,
    ) -> Result<(User, String), SsoError> {
        let sso = self.sso.as_deref().ok_or(SsoError::Off)?;
        let begun = {
            let mut all = sso.pending.lock().unwrap_or_else(PoisonError::into_inner);
            all.take(&answer.state, browser, self.now())
        };
        let begun = begun.ok_or(SsoError::Old)?;
        let is_foreign = |issuer: &String| *issuer != sso.settings.issuer;
        if answer.issuer.as_ref().is_some_and(is_foreign) {
            return Err(SsoError::Refused("it is another provider's".to_owned()));
        }
        if let Some(error) = &answer.error {
            let error = crate::text::visible(&crate::text::clipped(error, 100, ' ')).into_owned();
            return Err(SsoError::Refused(error));
        }
        if answer.code.is_empty() || answer.code.len() > MAX_CODE {
            return Err(SsoError::Refused("it has no code".to_owned()));
        }
        let person = sso.provider.exchange(&answer.code, &begun.request).await;
        let person: ProviderPerson = person.map_err(|error| match error {
            PortError::Denied(why) => SsoError::Refused(why),
            error => error.into(),
        })?;
        let groups = person.groups.clone().unwrap_or_default();
        let user = self.admit(sso, person).await?;
        self.sync_teams(sso, &user.id, Some(&groups)).await?;
        Ok((user, begun.next))
    }

    /// Makes a user a member of the teams of their groups, and of no other that came from a group; `None` where the
    /// provider says nothing of groups. A team that isn't there yet is left out.
    async fn sync_teams(
        &self,
        sso: &Sso,
        user: &UserId,
        groups: Option<&[String]>,
    ) -> Result<(), AccountError> {
        let Some(groups) = groups else {
            return Ok(());
        };
        let mut teams = BTreeSet::new();
        for name in groups
            .iter()
            .filter_map(|group| sso.settings.teams.get(group))
        {
            match self.find_team(name).await {
                Ok(team) => teams.extend([team.id]),
                Err(AccountError::Unknown(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.set_synced_teams(user, &teams).await
    }
}

//! Signing in by password, refreshing, and signing out.

use super::access_token::{AccessToken, Claims};
use super::family::{Family, RefreshOutcome};
use super::refresh_token::{FamilyId, RefreshToken};
use super::{AccountError, Accounts, MAX_ATTEMPTS, StoredValue, Write, busy, key};
use crate::account::User;
use crate::account::{Password, Scopes};
use crate::port::{Comparison, PortError, RecordKey};

/// The tokens that a sign-in gives to its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// For requests.
    pub access: AccessToken,
    /// For the next access token.
    pub refresh: RefreshToken,
    /// The scopes of the access token.
    pub scopes: Scopes,
    /// The life of the access token, in seconds.
    pub expires_in: i64,
}

/// Why nobody is signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The name or the password is wrong, or the user is disabled: nothing says which.
    #[error("the name or the password is wrong")]
    Refused,
    /// Nobody signs in by password.
    #[error("this server takes no passwords")]
    PasswordsOff,
    /// The refresh token isn't one, has expired or was revoked.
    #[error("the refresh token has expired or was revoked; sign in again")]
    Ended,
    /// The refresh token was used before: its whole family is ended.
    #[error("the refresh token was used twice, so this sign-in was ended; sign in again")]
    Reused,
    /// The store fails.
    #[error(transparent)]
    Store(#[from] PortError),
}

impl Accounts {
    /// Signs a user in by name or address and password, for the API of the server.
    ///
    /// # Errors
    /// One of them is wrong.
    pub async fn sign_in(&self, name: &str, password: String) -> Result<SignIn, SignInError> {
        let user = self.authenticate(name, password).await?;
        let (scopes, audience) = (Scopes::of_user(user.is_admin), &self.settings.issuer);
        self.begin(&user, None, scopes, audience).await
    }

    /// The user with a name or address and a password.
    ///
    /// # Errors
    /// One of them is wrong.
    pub async fn authenticate(&self, name: &str, password: String) -> Result<User, SignInError> {
        if !self.takes_passwords() {
            return Err(SignInError::PasswordsOff);
        }
        let user = match self.find(name).await {
            Ok(user) if user.is_active => Some(user),
            Ok(_) | Err(AccountError::Unknown(_)) => None,
            Err(error) => return Err(error.into_store().into()),
        };
        let password = Password::given(password).ok_or(SignInError::Refused)?;
        let hash = user.as_ref().and_then(|user| user.password.as_deref());
        let compared = self.parts.passwords.compare(&password, hash).await?;
        let Some(user) = user.filter(|_| compared != Comparison::Different) else {
            return Err(SignInError::Refused);
        };
        if !self.is_vouched_for(&user).await? {
            return Err(SignInError::Refused);
        }
        if compared == Comparison::Outdated {
            self.rehash(&user, &password).await;
        }
        Ok(user)
    }

    /// Hashes a password again with the parameters of today. A failure is no reason to refuse its user.
    async fn rehash(&self, user: &User, password: &Password) {
        let Ok(hash) = self.parts.passwords.hash(password).await else {
            return;
        };
        let updated = self.update_user(&user.id, "user.rehash", Some(&user.id), |now| {
            if now.password == user.password {
                now.password = Some(hash.clone());
            }
            Ok(Vec::new())
        });
        let _ = updated.await;
    }

    /// Begins a family of tokens for a user.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin(
        &self,
        user: &User,
        client: Option<String>,
        scopes: Scopes,
        audience: &str,
    ) -> Result<SignIn, SignInError> {
        let (id, family) = self.new_family(user, client, scopes, audience)?;
        let write = Write::put(key("family", id.as_str())?, None, &family)?;
        self.commit_family(write, "session.begin", &id, &family)
            .await?;
        self.issue(&id, &family, None)
    }

    /// A family that isn't stored yet.
    pub(super) fn new_family(
        &self,
        user: &User,
        client: Option<String>,
        scopes: Scopes,
        audience: &str,
    ) -> Result<(FamilyId, Family), PortError> {
        let now = self.now();
        let life = self.settings.family_life.saturating_mul(1_000);
        let family = Family {
            user: user.id.clone(),
            generation: user.generation,
            client,
            scopes,
            audience: audience.to_owned(),
            newest: 0,
            rotated: now.0,
            expires: now.0.saturating_add(life),
            is_ended: false,
        };
        Ok((FamilyId::of(self.random::<16>()?), family))
    }

    /// Gives the next tokens of a family for its refresh token.
    ///
    /// # Errors
    /// The token isn't valid any more, or was used before: then the whole family is ended.
    pub async fn refresh(&self, token: &str) -> Result<SignIn, SignInError> {
        self.refresh_of(None, token, None).await
    }

    /// The same for a client, perhaps for fewer scopes this time.
    pub(super) async fn refresh_of(
        &self,
        client: Option<&str>,
        token: &str,
        scopes: Option<&Scopes>,
    ) -> Result<SignIn, SignInError> {
        let read = RefreshToken::read(token, &*self.parts.secrets);
        let (id, number) = read.ok_or(SignInError::Ended)?;
        for _ in 0..MAX_ATTEMPTS {
            let (key, found) = self.family(&id).await?;
            let mut family = found.value;
            if family.client.as_deref() != client {
                return Err(SignInError::Ended);
            }
            match self.user(&family.user).await {
                Ok(user) if user.is_active && user.generation == family.generation => {
                    if !self.is_vouched_for(&user).await? {
                        return Err(SignInError::Ended);
                    }
                }
                Ok(_) | Err(AccountError::Unknown(_)) => return Err(SignInError::Ended),
                Err(error) => return Err(error.into_store().into()),
            }
            let (is_reused, event) = match family.present(number, self.now()) {
                RefreshOutcome::Rotated(_) => (false, "session.refresh"),
                RefreshOutcome::Repeated(_) => return self.issue(&id, &family, scopes),
                RefreshOutcome::Reused => (true, "session.reuse"),
                RefreshOutcome::Ended => return Err(SignInError::Ended),
            };
            let write = Write::put(key, Some(found.version), &family)?;
            match self.commit_family(write, event, &id, &family).await {
                Ok(()) if is_reused => return Err(SignInError::Reused),
                Ok(()) => return self.issue(&id, &family, scopes),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("session").into())
    }

    /// Ends a family by one of its refresh tokens. A token of no family is no error (RFC 7009).
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_out(&self, token: &str) -> Result<(), SignInError> {
        let Some((id, _)) = RefreshToken::read(token, &*self.parts.secrets) else {
            return Ok(());
        };
        self.end_family(&id, |_| true, "session.end").await
    }

    /// Ends a family, if it is there and is meant.
    pub(super) async fn end_family(
        &self,
        id: &FamilyId,
        is_meant: impl Fn(&Family) -> bool,
        event: &'static str,
    ) -> Result<(), SignInError> {
        for _ in 0..MAX_ATTEMPTS {
            let (key, found) = match self.family(id).await {
                Ok((key, found)) if is_meant(&found.value) => (key, found),
                Ok(_) | Err(SignInError::Ended) => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut family = found.value;
            family.is_ended = true;
            let write = Write::put(key, Some(found.version), &family)?;
            match self.commit_family(write, event, id, &family).await {
                Err(PortError::Conflict(_)) => {}
                other => return Ok(other?),
            }
        }
        Err(busy("session").into())
    }

    pub(super) async fn family(
        &self,
        id: &FamilyId,
    ) -> Result<(RecordKey, StoredValue<Family>), SignInError> {
        let key = key("family", id.as_str())?;
        let found = self.read(&key).await?.ok_or(SignInError::Ended)?;
        Ok((key, found))
    }

    async fn commit_family(
        &self,
        write: Write,
        event: &'static str,
        id: &FamilyId,
        family: &Family,
    ) -> Result<(), PortError> {
        let user = &family.user;
        self.commit(&[write], event, Some(user), user, Some(id.as_str()))
            .await
    }

    /// The newest tokens of a family; the access token has all its scopes, or these.
    pub(super) fn issue(
        &self,
        id: &FamilyId,
        family: &Family,
        scopes: Option<&Scopes>,
    ) -> Result<SignIn, SignInError> {
        let (secrets, issued) = (&*self.parts.secrets, self.now().0.div_euclid(1_000));
        let claims = Claims {
            iss: self.settings.issuer.clone(),
            aud: family.audience.clone(),
            sub: family.user.clone(),
            sid: id.as_str().to_owned(),
            scope: scopes.unwrap_or(&family.scopes).clone(),
            iat: issued,
            exp: issued.saturating_add(self.settings.access_life),
        };
        let access = AccessToken::issue(&claims, secrets);
        let unwritable = || PortError::Unavailable("the claims can't be written".to_owned());
        Ok(SignIn {
            access: access.ok_or_else(unwritable)?,
            refresh: RefreshToken::issue(id, family.newest, secrets),
            scopes: claims.scope,
            expires_in: self.settings.access_life,
        })
    }
}

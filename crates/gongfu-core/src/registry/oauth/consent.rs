//! Consents that are remembered: of clients that can't be somebody else.

use serde::{Deserialize, Serialize};

use super::{AuthorizationRequest, AuthorizationServer, OAuthError};
use crate::account::{Scopes, User, UserId};
use crate::port::{PortError, RecordKey};
use crate::registry::{StoredValue, Write, unreadable};
use crate::skill::Digest;

/// The most consents of a user that are remembered.
const MAX_CONSENTS: usize = 100;

/// A consent of a user.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Consent {
    client: String,
    redirect: String,
    scopes: Scopes,
}

impl AuthorizationServer {
    /// Returns true if the user said yes to the same before.
    ///
    /// A program on the user's machine is asked about each time: any other one can use its id and its port.
    ///
    /// # Errors
    /// The store fails.
    pub async fn is_allowed(
        &self,
        request: &AuthorizationRequest,
        user: &User,
    ) -> Result<bool, OAuthError> {
        if !request.client.is_certain(&request.redirect) {
            return Ok(false);
        }
        let found: Option<StoredValue<Consent>> =
            self.accounts.read(&consent_key(request, user)?).await?;
        Ok(found.is_some_and(|found| request.scopes.within(&found.value.scopes) == request.scopes))
    }

    /// The write that remembers a consent; `None` where nothing is to be remembered.
    pub(super) async fn remember(
        &self,
        request: &AuthorizationRequest,
        user: &User,
    ) -> Result<Option<Write>, OAuthError> {
        if !request.client.is_certain(&request.redirect) {
            return Ok(None);
        }
        let key = consent_key(request, user)?;
        let before: Option<StoredValue<Consent>> = self.accounts.read(&key).await?;
        let consent = Consent {
            client: request.client.id.clone(),
            redirect: request.redirect.as_str().to_owned(),
            scopes: request.scopes.clone(),
        };
        let version = match before {
            Some(before) if request.scopes.within(&before.value.scopes) == request.scopes => {
                return Ok(None);
            }
            Some(before) => Some(before.version),
            None if self.consents(&user.id).await?.len() >= MAX_CONSENTS => return Ok(None),
            None => None,
        };
        Ok(Some(Write::put(key, version, &consent)?))
    }

    /// The writes that forget the consents to a client.
    pub(super) async fn forget(
        &self,
        user: &UserId,
        client: &str,
    ) -> Result<Vec<Write>, PortError> {
        let consents = self.consents(user).await?.into_iter();
        Ok(consents
            .filter(|(_, consent)| consent.value.client == client)
            .map(|(key, consent)| Write::remove(key, consent.version))
            .collect())
    }

    async fn consents(
        &self,
        user: &UserId,
    ) -> Result<Vec<(RecordKey, StoredValue<Consent>)>, PortError> {
        let prefix = RecordKey::new(format!("consent/{}", user.as_str()))?;
        let all = self.accounts.parts.records.list(&prefix).await?;
        let read = all.into_iter().map(|(key, record)| {
            let value = serde_json::from_slice(&record.value)
                .map_err(|error| unreadable(&record.place, &error))?;
            let version = record.version;
            Ok((key, StoredValue { value, version }))
        });
        read.collect()
    }
}

fn consent_key(request: &AuthorizationRequest, user: &User) -> Result<RecordKey, PortError> {
    let pair = format!("{} {}", request.client.id, request.redirect);
    let digest = Digest::of(pair.as_bytes()).hex(64);
    Ok(RecordKey::new(format!(
        "consent/{}/{digest}",
        user.id.as_str()
    ))?)
}

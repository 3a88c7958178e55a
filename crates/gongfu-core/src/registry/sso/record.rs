//! The record of a user at the company's provider, and what it decides.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::super::{AccountError, Accounts, Claim, StoredValue, Write, key};
use super::SsoSettings;
use crate::account::{User, UserId};
use crate::port::{PortError, ProviderPerson, RecordKey};
use crate::skill::Digest;

const PURPOSE: &str = "refresh token of a provider";

/// The record of a user at the provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SsoRecord {
    pub(super) issuer: String,
    pub(super) subject: String,
    /// The time at which the provider vouched for them, in milliseconds since 1970.
    pub(super) checked: i64,
    /// The refresh token, encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// True once the provider refused them, until they sign in there again.
    #[serde(default)]
    pub(super) is_refused: bool,
}

/// The digest of a person at a provider.
pub(super) fn identity(issuer: &str, subject: &str) -> String {
    // No issuer has a line end, so that no two pairs are the same text.
    Digest::of(format!("{issuer}\n{subject}").as_bytes()).hex(64)
}

pub(super) fn identity_key(identity: &str) -> Result<RecordKey, PortError> {
    key("sso", identity)
}

pub(super) fn record_key(user: &UserId) -> Result<RecordKey, PortError> {
    key("sso-user", user.as_str())
}

impl SsoSettings {
    /// The role that groups give, true for an admin; `None` where the server's own roles count.
    pub(super) fn is_admin(&self, groups: &[String]) -> Option<bool> {
        let is_listed = |group: &String| self.admins.contains(group);
        (!self.admins.is_empty()).then(|| groups.iter().any(is_listed))
    }
}

impl Accounts {
    pub(super) async fn sso_record(
        &self,
        user: &UserId,
    ) -> Result<Option<StoredValue<SsoRecord>>, PortError> {
        self.read(&record_key(user)?).await
    }

    pub(super) fn seal_refresh_token(
        &self,
        user: &UserId,
        token: &str,
    ) -> Result<String, PortError> {
        let (context, message) = (user.as_str().as_bytes(), token.as_bytes());
        let sealed = self.parts.secrets.seal(PURPOSE, context, message)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The refresh token of a record; `None` if it is missing, or the server has another key since.
    pub(super) fn unseal_refresh_token(&self, user: &UserId, record: &SsoRecord) -> Option<String> {
        let sealed = URL_SAFE_NO_PAD
            .decode(record.refresh_token.as_ref()?)
            .ok()?;
        let context = user.as_str().as_bytes();
        let token = self.parts.secrets.unseal(PURPOSE, context, &sealed)?;
        String::from_utf8(token).ok()
    }

    /// The writes for a person for whom the provider vouches now: their record, and their role where groups decide it.
    pub(super) async fn vouched_writes(
        &self,
        settings: &SsoSettings,
        user: &mut User,
        person: &ProviderPerson,
        before: Option<StoredValue<SsoRecord>>,
    ) -> Result<Vec<Write>, AccountError> {
        let (before, version) = match before {
            Some(before) => (Some(before.value), Some(before.version)),
            None => (None, None),
        };
        let before = before.unwrap_or_else(|| SsoRecord {
            issuer: settings.issuer.clone(),
            subject: person.subject.clone(),
            checked: 0,
            refresh_token: None,
            is_refused: false,
        });
        let mut record = SsoRecord {
            checked: self.now().0,
            is_refused: false,
            ..before
        };
        if let Some(token) = &person.refresh_token {
            record.refresh_token = Some(self.seal_refresh_token(&user.id, token)?);
        }
        let mut writes = Vec::new();
        if let Some(groups) = &person.groups
            && let Some(is_admin) = settings.is_admin(groups)
            && is_admin != user.is_admin
        {
            match self.admin_write(&user.id, is_admin && user.is_active).await {
                Ok(write) => {
                    user.is_admin = is_admin;
                    writes.extend(write);
                }
                // A server keeps its last admin, whatever a group says.
                Err(AccountError::LastAdmin) => {}
                Err(error) => return Err(error),
            }
        }
        writes.push(Write::put(record_key(&user.id)?, version, &record)?);
        Ok(writes)
    }

    /// The writes that forget who a user is at the provider.
    pub(in crate::registry) async fn forget_provider(
        &self,
        user: &User,
    ) -> Result<Vec<Write>, PortError> {
        let Some(identity) = &user.provider else {
            return Ok(Vec::new());
        };
        let mut writes = Vec::new();
        let key = identity_key(identity)?;
        let claim: Option<StoredValue<Claim>> = self.read(&key).await?;
        writes.extend(claim.map(|claim| Write::remove(key, claim.version)));
        let record = self.sso_record(&user.id).await?;
        if let Some(record) = record {
            writes.push(Write::remove(record_key(&user.id)?, record.version));
        }
        Ok(writes)
    }
}

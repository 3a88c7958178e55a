//! The user behind a person of the provider: known, linked or created.

use super::super::hex::hex;
use super::super::{
    Accounts, Claim, MAX_ATTEMPTS, StoredValue, Write, busy, email_key, user_key, username_key,
};
use super::record::{identity, identity_key};
use super::{Sso, SsoError};
use crate::account::{Email, User, UserId, UserQuota, Username};
use crate::port::{PortError, ProviderPerson, Version};

/// The most numbers that are tried behind a name that is taken.
const MAX_NUMBER: u32 = 50;
/// The most characters of a name before its number.
const MAX_NAME: usize = 48;

/// A user, and the writes that let them in.
struct Admission {
    user: User,
    /// The version of their record, where there is one.
    version: Option<Version>,
    writes: Vec<Write>,
    event: &'static str,
}

impl Accounts {
    /// Lets a person in for whom the provider vouched just now.
    pub(super) async fn admit(&self, sso: &Sso, person: ProviderPerson) -> Result<User, SsoError> {
        let settings = &sso.settings;
        let identity = identity(&settings.issuer, &person.subject);
        for _ in 0..MAX_ATTEMPTS {
            let Admission {
                mut user,
                version,
                mut writes,
                event,
            } = self.admission(&person, &identity).await?;
            let record = self.sso_record(&user.id).await?;
            // Another issuer's word is no longer the one that counts.
            let record = record.map(|mut record| {
                record.value.issuer.clone_from(&settings.issuer);
                record.value.subject.clone_from(&person.subject);
                // The provider gives a new one, or none that counts.
                record.value.refresh_token = None;
                record
            });
            let mut person = person.clone();
            person.groups.get_or_insert_default();
            let vouched = self.vouched_writes(settings, &mut user, &person, record);
            writes.extend(vouched.await?);
            user.updated = self.now().0;
            writes.push(Write::put(user_key(&user.id)?, version, &user)?);
            let id = &user.id;
            match self.commit(&writes, event, Some(id), id, None).await {
                Ok(()) => return Ok(user),
                Err(PortError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy("user").into())
    }

    async fn admission(
        &self,
        person: &ProviderPerson,
        identity: &str,
    ) -> Result<Admission, SsoError> {
        let key = identity_key(identity)?;
        if let Some(claim) = self.read::<Claim>(&key).await? {
            let found = self.versioned_user(&claim.value.user).await?;
            if !found.value.is_active {
                return Err(SsoError::Disabled);
            }
            return Ok(Admission {
                version: Some(found.version),
                user: found.value,
                writes: Vec::new(),
                event: "sso.sign_in",
            });
        }
        let is_proved = person.is_email_verified != Some(false);
        let email = person.email.as_deref().filter(|_| is_proved);
        let email = email.and_then(|email| Email::new(email).ok());
        let email = email.ok_or(SsoError::Address)?;
        let taken: Option<StoredValue<Claim>> = self.read(&email_key(&email)?).await?;
        let linked = match taken {
            Some(claim) => {
                let found = self.versioned_user(&claim.value.user).await?;
                let user = &found.value;
                if user.password.is_some() || user.provider.is_some() {
                    return Err(SsoError::Taken);
                }
                if !user.is_active {
                    return Err(SsoError::Disabled);
                }
                Some(found)
            }
            None => None,
        };
        let mut writes = Vec::new();
        let (mut user, version, event) = if let Some(found) = linked {
            (found.value, Some(found.version), "sso.link")
        } else {
            let user = self.newcomer(person, email).await?;
            let claim = Claim {
                user: user.id.clone(),
            };
            writes.push(Write::put(email_key(&user.email)?, None, &claim)?);
            writes.push(Write::put(username_key(&user.username)?, None, &claim)?);
            (user, None, "sso.create")
        };
        let claim = Claim {
            user: user.id.clone(),
        };
        writes.push(Write::put(key, None, &claim)?);
        user.provider = Some(identity.to_owned());
        Ok(Admission {
            user,
            version,
            writes,
            event,
        })
    }

    /// A user for somebody who was never here.
    async fn newcomer(&self, person: &ProviderPerson, email: Email) -> Result<User, SsoError> {
        let id = hex(&self.random::<16>()?);
        let now = self.now().0;
        let number = id.get(..8).unwrap_or_default();
        Ok(User {
            username: self.free_username(person, &email, number).await?,
            id: UserId::new(&id).map_err(|error| PortError::Other(error.into()))?,
            email,
            is_active: true,
            is_admin: false,
            password: None,
            provider: None,
            quota: UserQuota::default(),
            generation: 0,
            created: now,
            updated: now,
        })
    }

    /// A name that nobody has: the person's own, with a number where it is taken.
    async fn free_username(
        &self,
        person: &ProviderPerson,
        email: &Email,
        unlikely: &str,
    ) -> Result<Username, SsoError> {
        let own = person.username.as_deref().and_then(plain_name);
        let name = own.or_else(|| plain_name(email.as_str()));
        let name = name.unwrap_or_else(|| "user".to_owned());
        let numbered = (2..=MAX_NUMBER).map(|number| format!("{name}-{number}"));
        let names = [name.clone()].into_iter().chain(numbered);
        for name in names.chain([format!("{name}-{unlikely}")]) {
            let name = Username::new(&name).map_err(|error| PortError::Other(error.into()))?;
            if self.read::<Claim>(&username_key(&name)?).await?.is_none() {
                return Ok(name);
            }
        }
        Err(busy("list of names").into())
    }
}

/// The part of a text before an `@`, as a user name; `None` where too little can be in one.
fn plain_name(text: &str) -> Option<String> {
    let local = text.split('@').next().unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
    let plain: String = local.chars().filter(is_plain).take(MAX_NAME).collect();
    let plain = plain.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    Username::new(plain).ok()?;
    Some(plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn names_become_user_names() {
        for (text, name) in [
            ("ann", Some("ann")),
            ("Ann.Lee@example.com", Some("Ann.Lee")),
            ("..ann lee", Some("annlee")),
            ("李雷", None),
            ("a@example.com", None),
            ("", None),
        ] {
            assert_eq!(plain_name(text).as_deref(), name, "{text}");
        }
        let long = plain_name(&"x".repeat(100)).unwrap();
        assert_eq!(long.len(), super::MAX_NAME);
    }
}

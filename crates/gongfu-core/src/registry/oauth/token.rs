//! The token endpoint and revocation (RFC 6749, section 3.2; RFC 7636; RFC 7009).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::code::{Code, CodeRecord};
use super::{AuthorizationServer, OAuthError, OAuthErrorCode, Parameters};
use crate::account::{Scopes, User};
use crate::port::PortError;
use crate::registry::access_token::AccessToken;
use crate::registry::refresh_token::{FamilyId, RefreshToken};
use crate::registry::{AccountError, MAX_ATTEMPTS, SignIn, SignInError, StoredValue, Write, busy};
use crate::skill::Digest;

/// The length of a verifier (RFC 7636, section 4.1).
const VERIFIER_LENGTH: std::ops::RangeInclusive<usize> = 43..=128;

impl AuthorizationServer {
    /// Answers a request for tokens.
    ///
    /// # Errors
    /// There are none for it.
    pub async fn exchange(&self, parameters: &Parameters) -> Result<SignIn, OAuthError> {
        parameters.check_single()?;
        if parameters.get("client_secret")?.is_some() {
            return Err(OAuthError::new(
                OAuthErrorCode::InvalidClient,
                "clients have no secret here; leave it out",
            ));
        }
        match parameters.require("grant_type")? {
            "authorization_code" => self.redeem(parameters).await,
            "refresh_token" => self.renew(parameters).await,
            _ => Err(OAuthError::new(
                OAuthErrorCode::UnsupportedGrantType,
                "the grant types are authorization_code and refresh_token",
            )),
        }
    }

    /// Tokens for a code, which is used up whatever comes of it.
    async fn redeem(&self, parameters: &Parameters) -> Result<SignIn, OAuthError> {
        let client = parameters.require("client_id")?;
        let redirect = parameters.require("redirect_uri")?;
        let verifier = parameters.require("code_verifier")?;
        let refused = || {
            OAuthError::grant(
                "the code has expired, was used, or isn't this client's; sign in again",
            )
        };
        let code = Code::parse(parameters.require("code")?).ok_or_else(refused)?;
        self.check_resource(parameters)?;
        for _ in 0..MAX_ATTEMPTS {
            let key = code.key()?;
            let found: Option<StoredValue<CodeRecord>> = self.accounts.read(&key).await?;
            let Some(StoredValue { mut value, version }) = found else {
                return Err(refused());
            };
            if value.is_used {
                self.end_given(&value).await?;
                return Err(refused());
            }
            value.is_used = true;
            let user = self.user_of(&value).await?;
            let user = user.filter(|_| {
                self.accounts.now().0 < value.expires
                    && value.client == client
                    && value.redirect == redirect
                    && is_verifier(verifier, &value.challenge)
            });
            let mut begun = None;
            let mut writes = Vec::new();
            if let Some(user) = &user {
                let (scopes, resource) = (value.scopes.clone(), &self.settings.resource);
                let client = Some(value.client.clone());
                let (id, family) = self.accounts.new_family(user, client, scopes, resource)?;
                value.family = Some(id.as_str().to_owned());
                writes = self.connect(user, &id, &family, &value).await?;
                begun = Some((id, family));
            }
            writes.push(Write::put(key, Some(version), &value)?);
            let (event, about) = match &value.family {
                Some(family) => ("session.begin", family.as_str()),
                None => ("code.refuse", value.client.as_str()),
            };
            let by = Some(&value.user);
            let commit = self
                .accounts
                .commit(&writes, event, by, &value.user, Some(about));
            match (commit.await, begun) {
                (Ok(()), Some((id, family))) => {
                    return self
                        .accounts
                        .issue(&id, &family, None)
                        .map_err(sign_in_error);
                }
                (Ok(()), None) => return Err(refused()),
                // Used at the same time by somebody else.
                (Err(PortError::Conflict(_)), _) => {}
                (Err(error), _) => return Err(error.into()),
            }
        }
        Err(busy("code").into())
    }

    /// The user of a code, if they are as they were when they said yes.
    async fn user_of(&self, code: &CodeRecord) -> Result<Option<User>, OAuthError> {
        match self.accounts.user(&code.user).await {
            Ok(user) => {
                let is_same = user.is_active && user.generation == code.generation;
                Ok(is_same.then_some(user))
            }
            Err(AccountError::Unknown(_)) => Ok(None),
            Err(error) => Err(error.into_store().into()),
        }
    }

    /// Ends what a code gave: it came a second time, so somebody else has it.
    async fn end_given(&self, code: &CodeRecord) -> Result<(), OAuthError> {
        let Some(id) = code.family.as_deref().and_then(FamilyId::parse) else {
            return Ok(());
        };
        let ending = self
            .accounts
            .end_family(&id, |family| !family.is_ended, "code.reuse");
        ending.await.map_err(sign_in_error)
    }

    /// Tokens for a refresh token.
    async fn renew(&self, parameters: &Parameters) -> Result<SignIn, OAuthError> {
        let client = parameters.require("client_id")?;
        let token = parameters.require("refresh_token")?;
        self.check_resource(parameters)?;
        let scopes = match parameters.get("scope")? {
            None => None,
            Some(text) => Some(self.narrowed(token, text).await?),
        };
        let refreshing = self
            .accounts
            .refresh_of(Some(client), token, scopes.as_ref());
        refreshing.await.map_err(sign_in_error)
    }

    /// The scopes of a refresh, if they were agreed to. The scopes of a family never change.
    async fn narrowed(&self, token: &str, text: &str) -> Result<Scopes, OAuthError> {
        let read = RefreshToken::read(token, &*self.accounts.parts.secrets);
        let (id, _) = read.ok_or_else(|| sign_in_error(SignInError::Ended))?;
        let (_, family) = self.accounts.family(&id).await.map_err(sign_in_error)?;
        text.parse::<Scopes>()
            .ok()
            .filter(|scopes| !scopes.is_empty() && scopes.within(&family.value.scopes) == *scopes)
            .ok_or_else(|| {
                let why = "a refresh can only have scopes of its sign-in; sign in again for others";
                OAuthError::new(OAuthErrorCode::InvalidScope, why)
            })
    }

    /// Ends the connection of a token of a client. Nobody learns whether there was one.
    ///
    /// # Errors
    /// The request is malformed, or the store fails.
    pub async fn revoke(&self, parameters: &Parameters) -> Result<(), OAuthError> {
        parameters.check_single()?;
        let client = parameters.require("client_id")?;
        let token = parameters.require("token")?;
        let secrets = &*self.accounts.parts.secrets;
        let refresh = RefreshToken::read(token, secrets).map(|(id, _)| id);
        let id = refresh.or_else(|| {
            let audiences = [self.settings.resource.as_str()];
            let claims = AccessToken::read(token, &audiences, self.accounts.now(), secrets);
            FamilyId::parse(&claims.ok()?.sid)
        });
        let Some(id) = id else { return Ok(()) };
        let ending = self.accounts.end_family(
            &id,
            |family| family.client.as_deref() == Some(client),
            "session.end",
        );
        ending.await.map_err(sign_in_error)
    }
}

/// Returns true if a verifier has a challenge. A challenge is no secret, so the time of the comparison may tell.
fn is_verifier(verifier: &str, challenge: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    VERIFIER_LENGTH.contains(&verifier.len())
        && verifier.bytes().all(is_plain)
        && URL_SAFE_NO_PAD.encode(Digest::of(verifier.as_bytes()).as_bytes()) == challenge
}

fn sign_in_error(error: SignInError) -> OAuthError {
    match error {
        SignInError::Store(error) => error.into(),
        SignInError::Reused => OAuthError::grant(
            "the refresh token was used twice, so this sign-in was ended; sign in again",
        ),
        SignInError::Refused | SignInError::PasswordsOff | SignInError::Ended => OAuthError::grant(
            "the refresh token has expired, was revoked, or isn't this client's; sign in again",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::is_verifier;

    #[test]
    fn verifier_matches_its_challenge_alone() {
        // RFC 7636, appendix B.
        let (verifier, challenge) = (
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        );
        assert!(is_verifier(verifier, challenge));
        assert!(!is_verifier(challenge, challenge));
        assert!(!is_verifier("", challenge));
        assert!(!is_verifier(&verifier[..42], challenge));
        assert!(!is_verifier(&format!("{verifier}="), challenge));
    }
}

//! Authorization requests: which ones are shown to their user, and where an answer may go.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::{AuthorizationServer, Client, OAuthError, OAuthErrorCode, Parameters, RedirectUri};
use crate::account::{Scopes, User};
use crate::registry::browser::BrowserId;

const PURPOSE: &str = "authorization request";
/// The time in which a request is answered, in milliseconds.
const LIFE: i64 = 10 * 60 * 1_000;
/// The length of a challenge: SHA-256 in base64url (RFC 7636, section 4.2).
const CHALLENGE_LENGTH: usize = 43;
/// The longest state of a client, in bytes.
const MAX_STATE: usize = 2_048;

/// An authorization request that its user may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthorizationRequest {
    /// The client.
    pub client: Client,
    /// The URI that the answer goes to.
    pub redirect: RedirectUri,
    /// The scopes that it asks for.
    pub scopes: Scopes,
    /// The challenge that its verifier must match.
    pub(super) challenge: String,
    /// The text that the client gets back.
    state: Option<String>,
}

/// Why an authorization request isn't shown to its user.
#[derive(Debug)]
pub enum AuthorizationRefusal {
    /// The client or its redirect isn't known to be good, so the user is told and nobody else.
    Page(OAuthError),
    /// The client is told, by this URI.
    Redirect(String),
}

/// A request as a form carries it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedRequest {
    request: AuthorizationRequest,
    session: String,
    expires: i64,
}

impl AuthorizationServer {
    /// Checks an authorization request of a user.
    ///
    /// # Errors
    /// It isn't good.
    pub async fn check(
        &self,
        parameters: &Parameters,
        user: &User,
    ) -> Result<AuthorizationRequest, AuthorizationRefusal> {
        let (client, redirect) = self
            .destination(parameters)
            .await
            .map_err(AuthorizationRefusal::Page)?;
        let state = parameters.get("state");
        let shown_state = state.ok().flatten().filter(|state| is_state(state));
        match self.details(parameters, user) {
            Ok((scopes, challenge)) => Ok(AuthorizationRequest {
                client,
                redirect,
                scopes,
                challenge,
                state: shown_state.map(str::to_owned),
            }),
            Err(error) => Err(AuthorizationRefusal::Redirect(self.refusal(
                &redirect,
                shown_state,
                &error,
            ))),
        }
    }

    /// The client of a request and the URI that the answer goes to.
    async fn destination(
        &self,
        parameters: &Parameters,
    ) -> Result<(Client, RedirectUri), OAuthError> {
        let mut client = self.client(parameters.require("client_id")?).await?;
        let requested = parameters.require("redirect_uri")?;
        let redirect = client.redirect(requested).ok_or_else(|| {
            OAuthError::request("`redirect_uri` isn't one of those that the client registered")
        })?;
        client.redirects = vec![redirect.clone()];
        Ok((client, redirect))
    }

    /// The scopes and the challenge of a request.
    fn details(
        &self,
        parameters: &Parameters,
        user: &User,
    ) -> Result<(Scopes, String), OAuthError> {
        parameters.check_single()?;
        for name in ["request", "request_uri"] {
            if parameters.get(name)?.is_some() {
                let why = "parameters come in the query alone";
                return Err(OAuthError::new(OAuthErrorCode::RequestNotSupported, why));
            }
        }
        if parameters.require("response_type")? != "code" {
            let why = "the response type is `code`";
            return Err(OAuthError::new(
                OAuthErrorCode::UnsupportedResponseType,
                why,
            ));
        }
        if parameters.get("response_mode")?.unwrap_or("query") != "query" {
            return Err(OAuthError::request("the response mode is `query`"));
        }
        if parameters
            .get("state")?
            .is_some_and(|state| !is_state(state))
        {
            let why = "`state` has at most 2048 printable ASCII characters";
            return Err(OAuthError::request(why));
        }
        if parameters.get("code_challenge_method")? != Some("S256") {
            return Err(OAuthError::request(
                "`code_challenge_method` is `S256` (RFC 7636)",
            ));
        }
        let challenge = parameters.require("code_challenge")?;
        let is_digest = challenge.len() == CHALLENGE_LENGTH
            && URL_SAFE_NO_PAD
                .decode(challenge)
                .is_ok_and(|digest| digest.len() == 32);
        if !is_digest {
            return Err(OAuthError::request(
                "`code_challenge` is the SHA-256 of the verifier in base64url without padding",
            ));
        }
        self.check_resource(parameters)?;
        let offered = Self::scopes().within(&Scopes::of_user(user.is_admin));
        let scopes = match parameters.get("scope")? {
            None => offered,
            Some(text) => text
                .parse::<Scopes>()
                .ok()
                .filter(|scopes| !scopes.is_empty() && scopes.within(&offered) == *scopes)
                .ok_or_else(|| {
                    let why = format!("the scopes of a client are {offered}");
                    OAuthError::new(OAuthErrorCode::InvalidScope, why)
                })?,
        };
        Ok((scopes, challenge.to_owned()))
    }

    /// Checks that a request is for the MCP endpoint, if it says so.
    pub(super) fn check_resource(&self, parameters: &Parameters) -> Result<(), OAuthError> {
        let wanted = parameters.get("resource")?;
        if wanted.is_none_or(|wanted| wanted == self.settings.resource) {
            return Ok(());
        }
        let why = format!("the one `resource` here is {}", self.settings.resource);
        Err(OAuthError::new(OAuthErrorCode::InvalidTarget, why))
    }

    /// The URI by which a client learns of an error.
    fn refusal(&self, redirect: &RedirectUri, state: Option<&str>, error: &OAuthError) -> String {
        let mut parameters = vec![
            ("error", error.code.as_str()),
            ("error_description", &*error.text),
        ];
        parameters.extend(state.map(|state| ("state", state)));
        parameters.push(("iss", &self.accounts.settings.issuer));
        redirect.with(&parameters)
    }

    /// The URI by which a client learns that the user said no.
    pub fn deny(&self, request: &AuthorizationRequest) -> String {
        let error = OAuthError::new(OAuthErrorCode::AccessDenied, "the user said no");
        self.refusal(&request.redirect, request.state.as_deref(), &error)
    }

    /// The URI by which a client gets its code.
    pub(super) fn answer(&self, request: &AuthorizationRequest, code: &str) -> String {
        let mut parameters = vec![("code", code)];
        parameters.extend(request.state.as_deref().map(|state| ("state", state)));
        parameters.push(("iss", &self.accounts.settings.issuer));
        request.redirect.with(&parameters)
    }

    /// A request as a text for a form: what the user saw is what they answer, in the same session.
    ///
    /// # Errors
    /// It can't be written.
    pub fn seal(
        &self,
        request: AuthorizationRequest,
        session: &BrowserId,
    ) -> Result<String, OAuthError> {
        let sealed = SealedRequest {
            request,
            session: session.as_str().to_owned(),
            expires: self.accounts.now().0.saturating_add(LIFE),
        };
        let json = serde_json::to_vec(&sealed)
            .map_err(|error| crate::port::PortError::Other(error.into()))?;
        let signature = self.accounts.parts.secrets.sign(PURPOSE, &json);
        let (json, signature) = (
            URL_SAFE_NO_PAD.encode(json),
            URL_SAFE_NO_PAD.encode(signature),
        );
        Ok(format!("{json}.{signature}"))
    }

    /// The request in such a text; `None` for a text that is too old, or of another session.
    pub fn open(&self, text: &str, session: &BrowserId) -> Option<AuthorizationRequest> {
        let (json, signature) = text.split_once('.')?;
        let json = URL_SAFE_NO_PAD.decode(json).ok()?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        if !self
            .accounts
            .parts
            .secrets
            .verify(PURPOSE, &json, &signature)
        {
            return None;
        }
        let sealed: SealedRequest = serde_json::from_slice(&json).ok()?;
        let is_good = sealed.session == session.as_str() && self.accounts.now().0 < sealed.expires;
        is_good.then_some(sealed.request)
    }
}

/// Returns true for a state as clients may send it (RFC 6749, appendix A.5).
fn is_state(state: &str) -> bool {
    state.len() <= MAX_STATE && state.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

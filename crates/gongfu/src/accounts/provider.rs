//! Asks the company's provider of identities (OIDC).
//!
//! The operator names the provider, so its address may be an internal one. Everything that it names itself is asked over
//! `https`, too, unless all of it is on this machine. No redirect is followed, and no proxy asked.

mod http;
mod token;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gongfu_core::port::{
    Clock, IdentityProvider, Pending, PortError, ProviderPerson, ProviderRequest, Timestamp,
};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClientAuthMethod, CoreProviderMetadata as Metadata,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, IssuerUrl, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, Scope,
};
use tokio::sync::Semaphore;

use self::http::HttpClient;
use self::token::{Client, Refusal, person, refusal};

/// The time for which the provider's own description counts, in milliseconds.
const KEPT: i64 = 60 * 60 * 1_000;
/// The time in which it isn't asked for again because of an unknown key, in milliseconds.
const MIN_KEPT: i64 = 10 * 1_000;
/// The most questions at once.
const MAX_ASKING: usize = 8;

/// The settings of a provider.
pub(crate) struct ProviderSettings {
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    /// `None` for a public client.
    pub(crate) client_secret: Option<String>,
    pub(crate) scopes: Vec<String>,
    /// The claim that has the groups of a person.
    pub(crate) groups_claim: String,
}

/// The company's provider.
#[derive(Clone)]
pub(crate) struct OidcProvider {
    shared: Arc<Parts>,
    asking: Arc<Semaphore>,
}

struct Parts {
    http: HttpClient,
    issuer: IssuerUrl,
    settings: ProviderSettings,
    known: Mutex<Option<(Timestamp, Arc<Metadata>)>>,
    clock: Arc<dyn Clock>,
}

impl OidcProvider {
    /// A provider. The certificates of a file count in place of the usual ones.
    ///
    /// # Errors
    /// The issuer is no `https` URL, or the file has no certificate.
    pub(crate) fn new(
        settings: ProviderSettings,
        certificates: Option<&Path>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let issuer = IssuerUrl::new(settings.issuer.clone())?;
        let shared = Parts {
            http: HttpClient::new(issuer.url(), certificates)?,
            issuer,
            settings,
            known: Mutex::default(),
            clock,
        };
        Ok(Self {
            shared: Arc::new(shared),
            asking: Arc::new(Semaphore::new(MAX_ASKING)),
        })
    }

    /// Does what waits for the network in a thread of its own.
    fn ask<'a, T: Send + 'static>(
        &self,
        question: impl FnOnce(&Parts) -> Result<T, PortError> + Send + 'static,
    ) -> Pending<'a, T> {
        let provider = self.clone();
        Box::pin(async move {
            let permit = provider.asking.acquire().await;
            let _permit = permit.map_err(|error| PortError::Other(error.into()))?;
            let shared = Arc::clone(&provider.shared);
            let asked = tokio::task::spawn_blocking(move || question(&shared)).await;
            let answer = asked.map_err(|error| PortError::Other(error.into()))?;
            if let Err(PortError::Unavailable(why)) = &answer {
                tracing::warn!("the provider of identities can't be asked: {why}");
            }
            answer
        })
    }
}

impl IdentityProvider for OidcProvider {
    fn page<'a>(&'a self, request: &'a ProviderRequest) -> Pending<'a, String> {
        let request = request.clone();
        self.ask(move |shared| {
            let client = shared.client(&*shared.metadata(KEPT)?, Some(&request.redirect))?;
            let verifier = PkceCodeVerifier::new(request.verifier);
            let (state, nonce) = (request.state, request.nonce);
            let mut page = client
                .authorize_url(
                    CoreAuthenticationFlow::AuthorizationCode,
                    move || CsrfToken::new(state),
                    move || Nonce::new(nonce),
                )
                .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
            let scopes = shared.settings.scopes.iter();
            for scope in scopes.filter(|scope| *scope != "openid") {
                page = page.add_scope(Scope::new(scope.clone()));
            }
            let (url, ..) = page.url();
            shared.http.check(&url).map_err(PortError::Unavailable)?;
            Ok(url.into())
        })
    }

    fn exchange<'a>(
        &'a self,
        code: &'a str,
        request: &'a ProviderRequest,
    ) -> Pending<'a, ProviderPerson> {
        let (code, request) = (AuthorizationCode::new(code.to_owned()), request.clone());
        self.ask(move |shared| {
            let metadata = shared.metadata(KEPT)?;
            let client = shared.client(&metadata, Some(&request.redirect))?;
            let exchange = client.exchange_code(code).map_err(no_endpoint)?;
            let tokens = exchange
                .set_pkce_verifier(PkceCodeVerifier::new(request.verifier))
                .request(&shared.http);
            let tokens = tokens.map_err(|error| refusal(error, Refusal::Any))?;
            let nonce = Nonce::new(request.nonce);
            person(shared, client, &tokens, Some(&nonce), None)
        })
    }

    fn refresh<'a>(
        &'a self,
        subject: &'a str,
        refresh_token: &'a str,
    ) -> Pending<'a, ProviderPerson> {
        let token = RefreshToken::new(refresh_token.to_owned());
        let subject = subject.to_owned();
        self.ask(move |shared| {
            let client = shared.client(&*shared.metadata(KEPT)?, None)?;
            let tokens = client
                .exchange_refresh_token(&token)
                .map_err(no_endpoint)?
                .request(&shared.http)
                .map_err(|error| refusal(error, Refusal::OfPerson))?;
            person(shared, client, &tokens, None, Some(&subject))
        })
    }

    fn finish(&self, work: Pending<'static, ()>) -> Pending<'static, ()> {
        Box::pin(async move {
            let done = tokio::spawn(work).await;
            done.map_err(|error| PortError::Other(error.into()))?
        })
    }
}

impl Parts {
    /// The provider's description of itself with its keys, not older than this many milliseconds. An old one counts where
    /// there is no new one.
    fn metadata(&self, max_age: i64) -> Result<Arc<Metadata>, PortError> {
        let now = self.clock.now();
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.clone()
        };
        if let Some((at, metadata)) = &known
            && (0..max_age).contains(&now.0.saturating_sub(at.0))
        {
            return Ok(Arc::clone(metadata));
        }
        match Metadata::discover(&self.issuer, &self.http) {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                *known = Some((now, Arc::clone(&metadata)));
                Ok(metadata)
            }
            Err(error) => match known {
                Some((_, metadata)) => Ok(metadata),
                None => Err(PortError::Unavailable(described(&error))),
            },
        }
    }

    fn client(&self, metadata: &Metadata, redirect: Option<&str>) -> Result<Client, PortError> {
        let settings = &self.settings;
        let secret = settings.client_secret.clone().map(ClientSecret::new);
        let id = ClientId::new(settings.client_id.clone());
        let methods = metadata.token_endpoint_auth_methods_supported();
        let auth_type = match methods {
            Some(methods) if !methods.contains(&CoreClientAuthMethod::ClientSecretBasic) => {
                AuthType::RequestBody
            }
            _ => AuthType::BasicAuth,
        };
        let client = Client::from_provider_metadata(metadata.clone(), id, secret);
        let client = client.set_auth_type(auth_type);
        Ok(match redirect {
            Some(redirect) => {
                let redirect = RedirectUrl::new(redirect.to_owned());
                client.set_redirect_uri(redirect.map_err(|error| PortError::Other(error.into()))?)
            }
            None => client,
        })
    }
}

fn no_endpoint(error: impl std::fmt::Display) -> PortError {
    PortError::Unavailable(error.to_string())
}

/// An error with what is behind it.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

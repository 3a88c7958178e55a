//! Sign-ins: the tokens of a connection, encrypted in a record, and the way to new ones.
//!
//! One process at a time refreshes a token, and writes the new ones before it uses them. A network that fails changes
//! nothing; only a server that refuses a token ends a sign-in.

use std::any::Any;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use gongfu_core::connection::{ConnectionName, Url};
use gongfu_core::port::{
    self, Locks, Pending, PortError, RecordKey, Records, read_record, update_record,
};
use reqwest::Client;
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, AuthorizationRequest, AuthorizationSession, CredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use serde::{Deserialize, Serialize};

use crate::parts::SecretsSource;
use crate::trouble::words;
use crate::web::{self, Reach, SignInClient, chain};

/// The purpose of the key that encrypts sign-ins.
const PURPOSE: &str = "sign-in of a connection";
/// The name by which gongfu registers at an authorization server.
const CLIENT_NAME: &str = "gongfu";

/// A record as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignInRecord {
    /// The sign-in, encrypted, in base64.
    sealed: String,
}

/// The sign-in of a connection.
#[derive(Default, Serialize, Deserialize)]
struct SignIn {
    /// The client as which gongfu is registered, and its secret.
    client_id: String,
    client_secret: Option<String>,
    /// The address to which the browser came back.
    redirect: String,
    /// The tokens, while there are some.
    credentials: Option<StoredCredentials>,
    /// Scopes that the server asked for since.
    wanted: Vec<String>,
    /// The last challenge of the server, which says where to sign in.
    challenge: Option<String>,
}

/// The sign-in of one connection, wherever it is used.
#[derive(Clone)]
pub(crate) struct SignIns {
    pub(crate) connection: ConnectionName,
    pub(crate) records: Arc<dyn Records>,
    pub(crate) secrets: SecretsSource,
    pub(crate) locks: Arc<dyn Locks>,
}

impl SignIns {
    fn key(&self) -> Result<RecordKey, PortError> {
        Ok(RecordKey::new(format!("sign-ins/{}", self.connection))?)
    }

    fn opened(&self, record: &SignInRecord) -> Result<SignIn, PortError> {
        if record.sealed.is_empty() {
            return Ok(SignIn::default());
        }
        let sealed = STANDARD_NO_PAD.decode(&record.sealed).unwrap_or_default();
        let context = self.connection.as_str().as_bytes();
        let opened = (self.secrets)()?.unseal(PURPOSE, context, &sealed);
        // With another key than that which encrypted it, there is no sign-in any more.
        let sign_in = opened.and_then(|opened| serde_json::from_slice(&opened).ok());
        Ok(sign_in.unwrap_or_default())
    }

    async fn read(&self) -> Result<SignIn, PortError> {
        let record: SignInRecord = read_record(&*self.records, &self.key()?).await?;
        self.opened(&record)
    }

    async fn update(&self, mut change: impl FnMut(&mut SignIn) + Send) -> Result<(), PortError> {
        let key = self.key()?;
        let updating = update_record(&*self.records, &key, |record: &mut SignInRecord| {
            let mut sign_in = self.opened(record)?;
            change(&mut sign_in);
            let text = serde_json::to_vec(&sign_in);
            let text = text.map_err(|error| PortError::Other(error.into()))?;
            let context = self.connection.as_str().as_bytes();
            let sealed = (self.secrets)()?.seal(PURPOSE, context, &text)?;
            record.sealed = STANDARD_NO_PAD.encode(sealed);
            Ok(())
        });
        updating.await?
    }

    /// The id of the client that is signed in, if one is.
    pub(crate) async fn client(&self) -> Option<String> {
        let sign_in = self.read().await.ok()?;
        sign_in.credentials.map(|_| sign_in.client_id)
    }

    /// Notes that the server asks for more scopes, for the next sign-in.
    pub(crate) async fn want(&self, scopes: &str) {
        let update = self.update(|sign_in| {
            for scope in scopes.split_whitespace() {
                if !sign_in.wanted.iter().any(|known| known == scope) {
                    sign_in.wanted.push(scope.to_owned());
                }
            }
        });
        if let Err(error) = update.await {
            tracing::warn!(connection = %self.connection, "its scopes can't be stored: {error}");
        }
    }

    /// Notes the challenge of a server, for the next sign-in.
    pub(crate) async fn challenged(&self, challenge: &str) {
        let given = (!challenge.is_empty()).then(|| challenge.to_owned());
        let update = self.update(|sign_in| sign_in.challenge.clone_from(&given));
        if let Err(error) = update.await {
            tracing::warn!(connection = %self.connection, "its challenge can't be stored: {error}");
        }
    }

    /// Forgets the sign-in; answers whether there was one.
    pub(crate) async fn remove(&self) -> Result<bool, PortError> {
        let key = self.key()?;
        let Some(record) = self.records.get(&key).await? else {
            return Ok(false);
        };
        self.records.set(&key, Some(record.version), None).await?;
        Ok(true)
    }

    /// Keeps everybody else from changing the tokens for as long as it is held.
    pub(crate) async fn lock(&self) -> Result<Box<dyn Any + Send>, AuthError> {
        let name = format!("sign-in-{}", self.connection);
        self.locks.lock(&name).await.map_err(stored)
    }

    async fn empty_manager(
        &self,
        url: &Url,
        client: Client,
        reach: Reach,
    ) -> Result<AuthorizationManager, AuthError> {
        let client = Arc::new(SignInClient { client, reach });
        let address = url.url.as_str();
        let manager = AuthorizationManager::new_with_oauth_http_client(address, client);
        let mut manager = manager.await?;
        manager.set_credential_store(self.clone());
        Ok(manager)
    }

    /// Gives tokens to requests of an address, where a person signed in.
    ///
    /// # Errors
    /// The sign-in can't be used now, for people.
    pub(crate) async fn manager(
        &self,
        url: &Url,
        client: Client,
        reach: Reach,
    ) -> Result<AuthorizationManager, String> {
        let preparing = async {
            let mut manager = self.empty_manager(url, client, reach).await?;
            let sign_in = self.read().await.map_err(stored)?;
            if sign_in.credentials.is_some() && manager.initialize_from_store().await? {
                let config = OAuthClientConfig::new(sign_in.client_id, sign_in.redirect);
                manager.configure_client(match sign_in.client_secret {
                    Some(secret) => config.with_client_secret(secret),
                    None => config,
                })?;
            }
            Ok(manager)
        };
        let prepared: Result<_, AuthError> = preparing.await;
        prepared.map_err(|error| words(&chain(&error)))
    }

    /// Begins a sign-in that comes back to `redirect`.
    ///
    /// # Errors
    /// The server has no sign-in, or can't be asked, for people.
    pub(crate) async fn begin(&self, url: &Url, redirect: String) -> Result<Login, String> {
        let (client, reach) = web::client(url)?;
        let beginning = async {
            let mut manager = self.empty_manager(url, client, reach).await?;
            let challenge = self.read().await.map_err(stored)?.challenge;
            let found = manager.resolve_metadata_from_challenge(challenge.as_deref());
            let found = found.await?;
            let is_found = found.source.is_discovered();
            let takes_documents = found
                .metadata
                .additional_fields
                .get("client_id_metadata_document_supported")
                .is_some_and(|takes| takes.as_bool() == Some(true));
            manager.set_metadata(found.metadata);
            let scopes = self.scopes(url, &manager).await?;
            let own = url.client.clone().unwrap_or_default();
            let is_document = own.id.starts_with("https://");
            let mut request = AuthorizationRequest::new(&redirect)
                .with_initial_scope_selection()
                .with_scopes(&scopes)
                .with_application_type("native");
            let mut secret = None;
            if !own.id.is_empty() && is_document && takes_documents {
                request = request.with_client_metadata_url(&own.id);
            } else if !own.id.is_empty() && !is_document {
                request = request.with_preregistered_client(&own.id);
                secret = own.secret;
            } else {
                let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
                let registering = manager.register_client(CLIENT_NAME, &redirect, &scopes);
                let config = registering.await;
                let config = config.map_err(|error| {
                    if is_found {
                        error
                    } else {
                        AuthError::NoAuthorizationSupport
                    }
                })?;
                request = request.with_preregistered_client(config.client_id);
                secret = config.client_secret;
            }
            if let Some(secret) = &secret {
                request = request.with_client_secret(secret);
            }
            let session = AuthorizationSession::new(manager, request).await;
            Ok((session.map_err(|(_, error)| error)?, secret))
        };
        let begun: Result<_, AuthError> = beginning.await;
        let (session, client_secret) = begun.map_err(|error| match error {
            AuthError::NoAuthorizationSupport => "it has no sign-in".to_owned(),
            error => words(&chain(&error)),
        })?;
        Ok(Login {
            sign_ins: self.clone(),
            session,
            client_secret,
        })
    }

    /// The scopes of the next sign-in: those of the connection, else those that the server names and all that it
    /// granted or asked for before.
    async fn scopes(
        &self,
        url: &Url,
        manager: &AuthorizationManager,
    ) -> Result<Vec<String>, AuthError> {
        let own = url.client.iter().flat_map(|client| client.scopes.clone());
        let mut scopes: Vec<String> = own.collect();
        if scopes.is_empty() {
            scopes = manager.select_initial_scopes(&[]).await;
        }
        let sign_in = self.read().await.map_err(stored)?;
        if !sign_in.wanted.is_empty() {
            let granted = sign_in.credentials.map(|known| known.granted_scopes);
            let more = granted.into_iter().flatten().chain(sign_in.wanted);
            for scope in more {
                if !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
        }
        Ok(scopes)
    }
}

fn stored(error: PortError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait::async_trait]
impl CredentialStore for SignIns {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.read().await.map_err(stored)?.credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let save = self.update(|sign_in| sign_in.credentials = Some(credentials.clone()));
        save.await.map_err(stored)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let clear = self.update(|sign_in| sign_in.credentials = None);
        clear.await.map_err(stored)
    }

    async fn on_refresh_token_rejected(&self, _used: &StoredCredentials) -> Result<(), AuthError> {
        // The lock is held, so these are the tokens that were refused. Without them the server is asked no more.
        self.clear().await
    }
}

/// A sign-in that a person is in the middle of.
pub(crate) struct Login {
    sign_ins: SignIns,
    session: AuthorizationSession,
    client_secret: Option<String>,
}

impl port::SignIn for Login {
    fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    fn finish(self: Box<Self>, callback: String) -> Pending<'static, ()> {
        Box::pin(async move {
            let refused = |error: AuthError| PortError::Denied(words(&chain(&error)));
            let _lock = self.sign_ins.lock().await.map_err(refused)?;
            let exchange = self.session.handle_callback_url(&callback).await;
            exchange.map_err(refused)?;
            let update = self.sign_ins.update(|sign_in| {
                let credentials = sign_in.credentials.as_ref();
                sign_in.client_id = credentials.map_or_else(String::new, |c| c.client_id.clone());
                sign_in.client_secret.clone_from(&self.client_secret);
                sign_in.redirect.clone_from(&self.session.redirect_uri);
                sign_in.wanted.clear();
                sign_in.challenge = None;
            });
            update.await
        })
    }
}

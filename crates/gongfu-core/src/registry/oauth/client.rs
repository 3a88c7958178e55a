//! Clients: those that registered themselves, and those whose id is the URL of a document.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::{
    AuthorizationServer, OAuthError, OAuthErrorCode, RedirectError, RedirectTarget, RedirectUri,
};
use crate::port::{MAX_CLIENT_DOCUMENT, PortError, RecordKey};
use crate::registry::hex::hex;
use crate::registry::{StoredValue, Write, key};
use crate::text::visible;

/// The start of the id of a registered client; its digits follow.
const PREFIX: &str = "gfc_";
/// The longest id, in bytes.
const MAX_ID: usize = 512;
/// The longest name, in characters.
const MAX_NAME: usize = 100;
/// The most redirect URIs of a client.
const MAX_REDIRECTS: usize = 10;
/// The most registered clients.
const MAX_CLIENTS: usize = 500;
const HOUR: i64 = 60 * 60 * 1_000;
/// The time after which a client that nobody signed in with is forgotten, in milliseconds.
const UNUSED_LIFE: i64 = 24 * HOUR;
/// The same when there are too many clients.
const CROWDED_LIFE: i64 = HOUR;
/// The time after the last sign-in at which a client is forgotten. Longer than any family lives.
const USED_LIFE: i64 = 90 * 24 * HOUR;
/// The time after which another sign-in is noted.
const USE_STEP: i64 = 24 * HOUR;

/// The source of what is known of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// It registered itself: nothing that it says of itself is known to be true.
    Registered,
    /// Its document is at the URL that is its id, so the host says that it is its client.
    Document,
}

/// A client of the authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its name for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The source of all this.
    pub kind: ClientKind,
    /// The redirect URIs that it may ask for; only the one that was asked for in a request.
    pub redirects: Vec<RedirectUri>,
}

impl Client {
    /// The host of its document; `None` for one that registered itself.
    pub fn host(&self) -> Option<String> {
        let url = (self.kind == ClientKind::Document).then(|| Url::parse(&self.id).ok())??;
        url.host_str().map(str::to_owned)
    }

    /// The redirect URI that it asks for, if it may.
    pub(super) fn redirect(&self, requested: &str) -> Option<RedirectUri> {
        let requested = RedirectUri::new(requested).ok()?;
        let mut registered = self.redirects.iter();
        registered
            .any(|redirect| redirect.allows(&requested))
            .then_some(requested)
    }

    /// Returns true if only this client is reached by a redirect, so that a consent may be remembered.
    pub(super) fn is_certain(&self, redirect: &RedirectUri) -> bool {
        self.kind == ClientKind::Document && redirect.target() == RedirectTarget::Web
    }
}

/// A client that wants to be registered, or the document of one (RFC 7591). Other members are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Registration {
    /// The id, in a document.
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default)]
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    #[serde(default)]
    grant_types: Option<Vec<String>>,
    #[serde(default)]
    response_types: Option<Vec<String>>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    client_secret: Option<serde_json::Value>,
}

impl Registration {
    /// Reads the JSON of a client.
    ///
    /// # Errors
    /// It isn't such an object.
    pub fn read(json: &[u8]) -> Result<Self, OAuthError> {
        serde_json::from_slice(json).map_err(|error| metadata(error.to_string()))
    }

    /// The client of this id, if everything is good.
    fn client(self, id: String, kind: ClientKind) -> Result<Client, OAuthError> {
        let name = self.client_name.as_deref().map(str::trim);
        let name = name.filter(|name| !name.is_empty());
        if let Some(name) = name
            && (name.chars().count() > MAX_NAME
                || name.contains(char::is_control)
                || visible(name) != name)
        {
            let why =
                format!("`client_name` has at most {MAX_NAME} characters, and no hidden ones");
            return Err(metadata(why));
        }
        let has = |list: &Option<Vec<String>>, value: &str| {
            list.as_ref()
                .is_none_or(|list| list.iter().any(|entry| entry == value))
        };
        if !has(&self.grant_types, "authorization_code") || !has(&self.response_types, "code") {
            let why = "the one grant that begins a sign-in is `authorization_code` with the response type `code`";
            return Err(metadata(why));
        }
        if !(1..=MAX_REDIRECTS).contains(&self.redirect_uris.len()) {
            let why = format!("a client has 1 to {MAX_REDIRECTS} `redirect_uris`");
            return Err(OAuthError::new(OAuthErrorCode::InvalidRedirectUri, why));
        }
        let redirects = self.redirect_uris.iter().map(|text| RedirectUri::new(text));
        let redirects: Result<Vec<RedirectUri>, RedirectError> = redirects.collect();
        Ok(Client {
            id,
            name: name.map(str::to_owned),
            kind,
            redirects: redirects.map_err(|error| {
                OAuthError::new(OAuthErrorCode::InvalidRedirectUri, error.to_string())
            })?,
        })
    }
}

/// A registered client, as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientRecord {
    client: Client,
    /// The time of the registration, in milliseconds since 1970.
    created: i64,
    /// The time of a late sign-in; `None` where nobody signed in with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<i64>,
}

impl ClientRecord {
    fn is_over(&self, now: i64, unused_life: i64) -> bool {
        match self.used {
            Some(used) => used.saturating_add(USED_LIFE) <= now,
            None => self.created.saturating_add(unused_life) <= now,
        }
    }
}

impl AuthorizationServer {
    /// Registers a client.
    ///
    /// # Errors
    /// It isn't good, this server registers none, or there are too many.
    pub async fn register(&self, registration: Registration) -> Result<Client, OAuthError> {
        if !self.settings.registers_clients {
            let why = "clients can't register here; use a client whose id is the URL of its document, or an API token";
            return Err(OAuthError::new(OAuthErrorCode::InvalidRequest, why));
        }
        let now = self.accounts.now().0;
        let id = format!("{PREFIX}{}", hex(&self.accounts.random::<16>()?));
        let client = registration.client(id, ClientKind::Registered)?;
        let all = self.accounts.parts.records.list(&key_of("client")?).await?;
        let is_crowded = all.len() >= MAX_CLIENTS;
        let life = if is_crowded {
            CROWDED_LIFE
        } else {
            UNUSED_LIFE
        };
        let is_over = |record: &[u8]| {
            serde_json::from_slice(record)
                .is_ok_and(|record: ClientRecord| record.is_over(now, life))
        };
        let over = all.iter().filter(|(_, record)| is_over(&record.value));
        let mut writes: Vec<Write> = over
            .map(|(key, record)| Write::remove(key.clone(), record.version))
            .collect();
        if is_crowded && all.len() - writes.len() >= MAX_CLIENTS {
            return Err(OAuthError::new(
                OAuthErrorCode::TemporarilyUnavailable,
                "too many clients are registered; try again later",
            ));
        }
        let record = ClientRecord {
            client,
            created: now,
            used: None,
        };
        writes.push(Write::put(
            key("client", &record.client.id)?,
            None,
            &record,
        )?);
        let about = Some(record.client.id.as_str());
        let commit = self
            .accounts
            .commit(&writes, "client.register", None, None, about);
        match commit.await {
            // Another registration removed the same old clients.
            Err(PortError::Conflict(_)) => Err(OAuthError::new(
                OAuthErrorCode::TemporarilyUnavailable,
                "another client is being registered; try again",
            )),
            other => other.map(|()| record.client).map_err(OAuthError::from),
        }
    }

    /// The client with an id, whose document is fetched if the id is a URL.
    ///
    /// # Errors
    /// Nobody has it, or its document isn't good.
    pub(super) async fn client(&self, id: &str) -> Result<Client, OAuthError> {
        if id.starts_with(PREFIX) {
            let found = self.registered(id).await?;
            return found
                .map(|found| found.value.client)
                .ok_or_else(unknown_client);
        }
        let documents = self.documents.as_ref().ok_or_else(unknown_client)?;
        check_document_url(id)?;
        let document = match documents.fetch(id).await {
            Ok(document) if document.len() > MAX_CLIENT_DOCUMENT => {
                return Err(invalid("the document of this client is too long"));
            }
            Ok(document) => document,
            Err(PortError::Denied(why)) => {
                return Err(invalid(format!("the document of this client: {why}")));
            }
            Err(error) => return Err(error.into()),
        };
        let registration =
            Registration::read(&document).map_err(|error| invalid(error.text.into_owned()))?;
        if registration.client_id.as_deref() != Some(id) {
            return Err(invalid(
                "the document of this client is for another `client_id`",
            ));
        }
        let method = registration.token_endpoint_auth_method.as_deref();
        if method.unwrap_or("none") != "none" || registration.client_secret.is_some() {
            return Err(invalid(
                "a client with a public document has no secret; its `token_endpoint_auth_method` is `none`",
            ));
        }
        registration.client(id.to_owned(), ClientKind::Document)
    }

    async fn registered(&self, id: &str) -> Result<Option<StoredValue<ClientRecord>>, OAuthError> {
        // An id with other characters is nobody's.
        let Ok(key) = key("client", id) else {
            return Ok(None);
        };
        let found: Option<StoredValue<ClientRecord>> = self.accounts.read(&key).await?;
        let now = self.accounts.now().0;
        Ok(found.filter(|found| !found.value.is_over(now, UNUSED_LIFE)))
    }

    /// The write that notes a sign-in with a registered client; `None` where there is nothing to note.
    pub(super) async fn use_of(&self, client: &Client) -> Result<Option<Write>, OAuthError> {
        if client.kind != ClientKind::Registered {
            return Ok(None);
        }
        let found = self.registered(&client.id).await?;
        let mut found = found.ok_or_else(unknown_client)?;
        let now = self.accounts.now().0;
        let used = found.value.used.replace(now);
        if used.is_some_and(|used| now.saturating_sub(used) < USE_STEP) {
            return Ok(None);
        }
        let key = key("client", &client.id)?;
        Ok(Some(Write::put(key, Some(found.version), &found.value)?))
    }
}

/// Checks that an id is the URL of a document on a public host, with exactly the text that browsers read it as.
fn check_document_url(id: &str) -> Result<(), OAuthError> {
    let url = (id.len() <= MAX_ID).then(|| Url::parse(id).ok()).flatten();
    let is_good = url.is_some_and(|url| {
        let is_public = match url.host() {
            Some(Host::Domain(name)) => {
                let last = name.rsplit('.').next().unwrap_or_default();
                name.contains('.') && !matches!(last, "" | "localhost" | "local" | "internal")
            }
            _ => false,
        };
        url.scheme() == "https"
            && url.as_str() == id
            && is_public
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.path() != "/"
            && !url.path().to_ascii_lowercase().contains("%2")
    });
    if is_good {
        return Ok(());
    }
    Err(unknown_client())
}

fn unknown_client() -> OAuthError {
    invalid(
        "there is no such client; a client registers itself first, or its `client_id` is the https URL of its document",
    )
}

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidClient, text)
}

fn metadata(text: impl Into<std::borrow::Cow<'static, str>>) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidClientMetadata, text)
}

fn key_of(kind: &str) -> Result<RecordKey, PortError> {
    Ok(RecordKey::new(kind)?)
}

#[cfg(test)]
mod tests {
    use super::check_document_url;

    #[test]
    fn documents_are_at_public_https_urls_alone() {
        for good in [
            "https://vscode.dev/oauth/client-metadata.json",
            "https://claude.ai/oauth/claude-code-client-metadata",
            "https://a.example:8443/x",
        ] {
            assert!(check_document_url(good).is_ok(), "{good}");
        }
        let long = format!("https://a.example/{}", "x".repeat(512));
        for bad in [
            "",
            "x",
            "http://a.example/x",
            "https://a.example",
            "https://a.example/",
            "https://A.example/x",
            "https://a.example:443/x",
            "https://a.example/y/../x",
            "https://a.example/y/%2e%2e/x",
            "https://a.example/x#y",
            "https://a.example/x?y",
            "https://u@a.example/x",
            "https://u:p@a.example/x",
            "https://localhost/x",
            "https://a.localhost/x",
            "https://box/x",
            "https://box.local/x",
            "https://metadata.google.internal/x",
            "https://a.example./x",
            "https://127.0.0.1/x",
            "https://10.0.0.1/x",
            "https://169.254.169.254/latest",
            "https://[::1]/x",
            "https://8.8.8.8/x",
            "https://0x7f.1/x",
            "javascript:alert(1)",
            "file:///etc/passwd",
            &long,
        ] {
            assert!(check_document_url(bad).is_err(), "{bad}");
        }
    }
}

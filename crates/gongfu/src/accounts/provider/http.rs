//! The client for requests to a provider of identities.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use openidconnect::url::{Host, Url};
use openidconnect::{HttpRequest, HttpResponse, SyncHttpClient};
use ureq::Agent;

use crate::accounts::client_document::tls;

/// The time that an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer, in bytes.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Sends requests to a provider.
pub(super) struct HttpClient {
    agent: Agent,
    /// True if the provider is on this machine without TLS.
    is_local: bool,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct HttpError(String);

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for HttpError {}

impl HttpClient {
    /// A client for the provider at a URL.
    ///
    /// # Errors
    /// The URL is neither `https` nor on this machine, or the file has no certificate.
    pub(super) fn new(issuer: &Url, certificates: Option<&Path>) -> anyhow::Result<Self> {
        let config = Agent::config_builder()
            .tls_config(tls(certificates)?)
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        let client = Self {
            agent: Agent::new_with_config(config),
            is_local: issuer.scheme() == "http" && is_loopback(issuer),
        };
        client.check(issuer).map_err(anyhow::Error::msg)?;
        Ok(client)
    }

    /// Checks that a URL is one where secrets are safe.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let is_safe =
            url.scheme() == "https" || self.is_local && url.scheme() == "http" && is_loopback(url);
        is_safe
            .then_some(())
            .ok_or_else(|| format!("`{url}` is not an https URL"))
    }
}

impl SyncHttpClient for HttpClient {
    type Error = HttpError;

    fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let url = Url::parse(&request.uri().to_string());
        let url = url.map_err(|error| HttpError(error.to_string()))?;
        self.check(&url).map_err(HttpError)?;
        let failed = |error: ureq::Error| HttpError(format!("{url}: {error}"));
        let (parts, body) = self.agent.run(request).map_err(failed)?.into_parts();
        let mut body = body;
        let bytes = body.with_config().limit(MAX_ANSWER).read_to_vec();
        let bytes = bytes.map_err(failed)?;
        Ok(HttpResponse::from_parts(parts, bytes))
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

//! A client for the web: what a person typed may be anywhere, what a stranger names only in public.
//!
//! Knows no format. A redirect is followed only after the same check as any other address.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_core::netrc::Netrc;
use ureq::config::Config;
use ureq::http::header::{AUTHORIZATION, CONTENT_ENCODING, LOCATION};
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error};
use url::{Origin, Url};

use super::public_addresses::PublicAddresses;
use crate::error::{ImportCode, ImportError};
use crate::source::is_loopback;

/// The most bytes of an archive or a document.
pub const MAX_ARTIFACT: u64 = 64 * 1024 * 1024;
/// The time that a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a fetch may take, redirects and all.
const TIMEOUT: Duration = Duration::from_mins(2);
/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The longest address in a message, in characters.
const MAX_SHOWN: usize = 200;

/// A person's login for one origin.
pub struct Login {
    /// The scheme, host and port that it is sent to. No other origin gets it.
    pub origin: Origin,
    /// The value of the header: of the user and the password (RFC 7617).
    authorization: String,
}

impl Login {
    /// The login for an address, where a person's `.netrc` names its host.
    pub fn of(url: &Url, logins: &Netrc) -> Option<Self> {
        let (user, password) = logins.login_of(url.host_str()?)?;
        let words = STANDARD.encode(format!("{user}:{password}"));
        Some(Self {
            origin: url.origin(),
            authorization: format!("Basic {words}"),
        })
    }
}

/// Fetches what a person typed, and what that names.
pub struct Web {
    origin: Origin,
    login: Option<Login>,
    timeout: Duration,
    /// For the origin that was typed.
    typed: Agent,
    /// For all others.
    named: Agent,
}

/// An answer.
#[derive(Debug)]
pub struct Page {
    /// Its address after all redirects.
    pub url: Url,
    /// Its HTTP status.
    pub status: u16,
    /// Its content; empty if the status isn't 200.
    pub bytes: Vec<u8>,
}

impl Web {
    /// A client for an address that a person typed, and that [`Source`](crate::source::Source) checked.
    pub fn new(typed: &Url, tls: TlsConfig, login: Option<Login>) -> Self {
        let settings = || {
            Agent::config_builder()
                .tls_config(tls.clone())
                .timeout_connect(Some(CONNECT_TIMEOUT))
                .timeout_resolve(Some(CONNECT_TIMEOUT))
                .http_status_as_error(false)
                .max_redirects(0)
                .user_agent(concat!("gongfu/", env!("CARGO_PKG_VERSION")))
        };
        // A proxy of the system is asked for what was typed, but never for this machine. It isn't for addresses that
        // a stranger names: it would resolve them, and their addresses couldn't be checked.
        let typed_config: Config = if is_loopback(typed) {
            settings().proxy(None).build()
        } else {
            settings().build()
        };
        let named_config = settings().proxy(None).https_only(true).build();
        let connector = DefaultConnector::default;
        Self {
            origin: typed.origin(),
            login,
            timeout: TIMEOUT,
            typed: Agent::with_parts(typed_config, connector(), DefaultResolver::default()),
            named: Agent::with_parts(named_config, connector(), PublicAddresses::default()),
        }
    }

    /// The same with another limit of time.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The end of a fetch that starts now.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Fetches an address whole.
    ///
    /// # Errors
    /// It isn't there, may not be reached, is longer than `max` bytes, or takes longer than until `deadline`.
    pub fn fetch(&self, url: &Url, max: u64, deadline: Instant) -> Result<Page, ImportError> {
        let page = self.get(url, max, deadline)?;
        if page.status == 200 {
            return Ok(page);
        }
        let message = format!("{} answers with status {}", shown(&page.url), page.status);
        let hint = match page.status {
            401 | 403 => {
                "it needs a sign-in: add the host to ~/.netrc (machine HOST login USER password TOKEN), or check the URL"
            }
            404 | 410 => "check the URL",
            _ => "try again later",
        };
        Err(ImportError::unreachable(message, hint))
    }

    /// Asks for an address, whatever the status of the answer is.
    ///
    /// # Errors
    /// It may not be reached, doesn't answer, is longer than `max` bytes, or takes longer than until `deadline`.
    pub fn get(&self, url: &Url, max: u64, deadline: Instant) -> Result<Page, ImportError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            url.set_fragment(None);
            let failed = |error: Error| self.failed(&url, max, &error);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.late(&url));
            }
            let request = self.agent(&url)?.get(url.as_str());
            let mut request = request.config().timeout_global(Some(left)).build();
            let login = self.login.as_ref();
            if let Some(login) = login.filter(|login| login.origin == url.origin()) {
                request = request.header(AUTHORIZATION, &login.authorization);
            }
            let mut response = request.call().map_err(failed)?;
            let status = response.status().as_u16();
            let header = |name| {
                let value = response.headers().get(name);
                value.map(|value| value.to_str().unwrap_or_default().to_owned())
            };
            if matches!(status, 301 | 302 | 303 | 307 | 308)
                && let Some(location) = header(LOCATION)
            {
                let next = url.join(&location).map_err(|why| {
                    let message = format!("{} leads to something that isn't a URL", shown(&url));
                    ImportError::refused(format!("{message}: {why}"))
                })?;
                url = next;
                continue;
            }
            let encoding = header(CONTENT_ENCODING);
            if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
                let message = format!(
                    "{} is sent in an encoding that wasn't asked for",
                    shown(&url)
                );
                return Err(ImportError::refused(message));
            }
            let bytes = match status {
                200 => {
                    let body = response.body_mut().with_config();
                    // The last byte of the limit is refused already.
                    let body = body.limit(max.saturating_add(1));
                    body.read_to_vec().map_err(failed)?
                }
                _ => Vec::new(),
            };
            return Ok(Page { url, status, bytes });
        }
        let message = format!("{} redirects more than {MAX_REDIRECTS} times", shown(&url));
        Err(ImportError::unreachable(message, "check the URL"))
    }

    /// The client for an address.
    ///
    /// # Errors
    /// The address may not be reached.
    fn agent(&self, url: &Url) -> Result<&Agent, ImportError> {
        if !url.username().is_empty() || url.password().is_some() {
            let message = format!("{} has a user name or a password", shown(url));
            return Err(ImportError::refused(message));
        }
        if url.origin() == self.origin {
            return Ok(&self.typed);
        }
        if url.scheme() == "https" {
            return Ok(&self.named);
        }
        let message = format!(
            "{} is another place than the source, without https",
            shown(url)
        );
        Err(ImportError::refused(message))
    }

    fn late(&self, url: &Url) -> ImportError {
        let seconds = self.timeout.as_secs();
        let message = format!("{} takes longer than {seconds} s", shown(url));
        ImportError::unreachable(message, "try again later")
    }

    fn failed(&self, url: &Url, max: u64, error: &Error) -> ImportError {
        let place = shown(url);
        let why = error.to_string().replace(url.as_str(), &place);
        match error {
            Error::Timeout(_) => self.late(url),
            Error::BodyExceedsLimit(_) => {
                ImportError::too_large(format!("{place} is longer than {max} bytes"))
            }
            Error::HostNotFound if url.origin() != self.origin => {
                ImportError::refused(format!("the host of {place} has no public address"))
            }
            Error::HostNotFound => {
                let message = format!("the host of {place} isn't found");
                ImportError::unreachable(message, "check the URL and your connection")
            }
            Error::Http(_) | Error::BadUri(_) => {
                let message = format!("{place} can't be asked for: {why}");
                ImportError::new(ImportCode::SourceInvalid, message, "check the URL")
            }
            _ => {
                let message = format!("{place} can't be fetched: {why}");
                ImportError::unreachable(message, "check the URL and your connection")
            }
        }
    }
}

/// An address for a message, without its query, which may have a secret.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // An address that can't have a password has none.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    gongfu_core::text::clipped(url.as_str(), MAX_SHOWN, char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests;

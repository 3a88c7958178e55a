//! Redirect URIs: which ones a client may have, and which one it may ask for.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// The longest redirect URI, in bytes.
const MAX_LENGTH: usize = 512;
/// Schemes that a browser or a system acts on by itself; no client may have them sent to.
const REFUSED_SCHEMES: [&str; 18] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "filesystem",
    "ftp",
    "http",
    "intent",
    "javascript",
    "jar",
    "mailto",
    "resource",
    "search",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];
/// The start of schemes by which Windows starts its own programs.
const REFUSED_PREFIXES: [&str; 3] = ["ms-", "search-", "shell"];

/// A URI to which the browser of a user may be sent with a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri(Url);

/// The program that a redirect reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectTarget {
    /// A web site, whose host is known by its certificate.
    Web,
    /// A program on the machine of the user that listens on a port: any program can.
    Loopback,
    /// A program on the machine of the user that took a scheme: any program can.
    Scheme,
}

/// Why a text is no redirect URI of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// It isn't an absolute URI, or browsers read it as another one.
    #[error(
        "a redirect URI is an absolute URI of at most 512 bytes, written as browsers write it: host in lower case, no `..`, no default port, no spaces"
    )]
    Form,
    /// It has a fragment.
    #[error("a redirect URI has no fragment; leave out the `#` and what follows it")]
    Fragment,
    /// It has a user name or a password.
    #[error("a redirect URI has no user name; leave out what is before the `@`")]
    User,
    /// It would send a code where it doesn't belong.
    #[error(
        "a redirect URI starts with https://, with http:// and 127.0.0.1, [::1] or localhost, or with a scheme of the client's own"
    )]
    Scheme,
}

impl RedirectUri {
    /// Checks a redirect URI of a client.
    ///
    /// # Errors
    /// It isn't one that a client may have.
    pub fn new(text: &str) -> Result<Self, RedirectError> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>^`{|}*".contains(&byte);
        if text.len() > MAX_LENGTH || !text.bytes().all(is_plain) {
            return Err(RedirectError::Form);
        }
        let url = Url::parse(text).map_err(|_| RedirectError::Form)?;
        if url.fragment().is_some() {
            return Err(RedirectError::Fragment);
        }
        if text.contains('@') && (!url.username().is_empty() || url.password().is_some()) {
            return Err(RedirectError::User);
        }
        // What a browser would read otherwise isn't compared as text either. Only the slash of an empty path may
        // be missing.
        let is_as_written =
            url.as_str() == text || (url.path() == "/" && url.as_str() == format!("{text}/"));
        // A dot in an escape is one for some servers.
        let lower = text.to_ascii_lowercase();
        let has_odd_escape = ["%2e", "%2f", "%5c", "%00", "%0a", "%0d"]
            .iter()
            .any(|escape| lower.contains(escape));
        if !is_as_written || has_odd_escape {
            return Err(RedirectError::Form);
        }
        let uri = Self(url);
        match uri.0.scheme() {
            "https" => Ok(uri),
            "http" if uri.target() == RedirectTarget::Loopback => Ok(uri),
            scheme if is_own_scheme(scheme) && uri.0.path().starts_with('/') => Ok(uri),
            // Such as `cursor://host`, which has no path.
            scheme if is_own_scheme(scheme) && uri.0.has_host() => Ok(uri),
            _ => Err(RedirectError::Scheme),
        }
    }

    /// Returns true if a client with this URI may ask for that one: the same text, but any port on loopback
    /// (RFC 8252, section 7.3).
    pub fn allows(&self, requested: &Self) -> bool {
        if self == requested {
            return true;
        }
        if self.target() != RedirectTarget::Loopback || self.0.scheme() != "http" {
            return false;
        }
        let without_port = |uri: &Self| {
            let mut url = uri.0.clone();
            // A URL with a host can have none.
            url.set_port(None).ok().map(|()| url)
        };
        without_port(self).is_some() && without_port(self) == without_port(requested)
    }

    /// The program that it reaches.
    pub fn target(&self) -> RedirectTarget {
        let is_loopback = match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
            Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
            None => false,
        };
        match self.0.scheme() {
            "http" | "https" if is_loopback => RedirectTarget::Loopback,
            "http" | "https" => RedirectTarget::Web,
            _ => RedirectTarget::Scheme,
        }
    }

    /// The host of a web site or of this machine, or the scheme, for people.
    pub fn place(&self) -> String {
        match (self.target(), self.0.host_str()) {
            (RedirectTarget::Web | RedirectTarget::Loopback, Some(host)) => host.to_owned(),
            _ => format!("{}:", self.0.scheme()),
        }
    }

    /// The source for a page's policy that a form may lead to (CSP, `form-action`).
    pub fn form_source(&self) -> String {
        match self.0.host() {
            // A policy can't name such a host.
            Some(Host::Ipv6(_)) | None => format!("{}:", self.0.scheme()),
            Some(_) if self.target() == RedirectTarget::Scheme => format!("{}:", self.0.scheme()),
            Some(_) => self.0.origin().ascii_serialization(),
        }
    }

    /// The URI with parameters added.
    pub fn with(&self, parameters: &[(&str, &str)]) -> String {
        let mut url = self.0.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }

    /// The URI as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Returns true for a scheme that a program may have registered for itself.
fn is_own_scheme(scheme: &str) -> bool {
    !REFUSED_SCHEMES.contains(&scheme)
        && !REFUSED_PREFIXES
            .iter()
            .any(|prefix| scheme.starts_with(prefix))
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl TryFrom<String> for RedirectUri {
    type Error = RedirectError;

    fn try_from(text: String) -> Result<Self, RedirectError> {
        Self::new(&text)
    }
}

impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> Self {
        uri.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{RedirectError, RedirectTarget, RedirectUri};

    fn uri(text: &str) -> RedirectUri {
        RedirectUri::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn clients_of_today_may_have_theirs() {
        for (text, target, place, source) in [
            (
                "https://claude.ai/api/mcp/auth_callback",
                RedirectTarget::Web,
                "claude.ai",
                "https://claude.ai",
            ),
            (
                "https://vscode.dev/redirect",
                RedirectTarget::Web,
                "vscode.dev",
                "https://vscode.dev",
            ),
            (
                "http://127.0.0.1:33418",
                RedirectTarget::Loopback,
                "127.0.0.1",
                "http://127.0.0.1:33418",
            ),
            (
                "http://localhost/callback",
                RedirectTarget::Loopback,
                "localhost",
                "http://localhost",
            ),
            (
                "http://[::1]:1/cb?x=1",
                RedirectTarget::Loopback,
                "[::1]",
                "http:",
            ),
            (
                "cursor://anysphere.cursor-mcp/oauth/callback",
                RedirectTarget::Scheme,
                "cursor:",
                "cursor:",
            ),
            (
                "com.example.app:/callback",
                RedirectTarget::Scheme,
                "com.example.app:",
                "com.example.app:",
            ),
        ] {
            let uri = uri(text);
            assert_eq!(
                (uri.target(), uri.place().as_str(), uri.form_source()),
                (target, place, source.to_owned()),
                "{text}"
            );
            assert!(uri.allows(&uri));
            let sent = uri.with(&[("code", "a b"), ("state", "&=")]);
            assert!(
                sent.starts_with(text) && sent.ends_with("code=a+b&state=%26%3D"),
                "{sent}"
            );
        }
    }

    #[test]
    fn nobody_may_have_others() {
        let long = format!("https://a.example/{}", "x".repeat(512));
        for (text, why) in [
            ("", RedirectError::Form),
            ("/callback", RedirectError::Form),
            ("https://", RedirectError::Form),
            ("https://A.example/cb", RedirectError::Form),
            ("HTTPS://a.example/cb", RedirectError::Form),
            ("https://a.example:443/cb", RedirectError::Form),
            ("https://a.example/x/../cb", RedirectError::Form),
            ("https://a.example/x/%2e%2e/cb", RedirectError::Form),
            ("https://a.example/x%2Fcb", RedirectError::Form),
            ("https://a.example\\@b.example/cb", RedirectError::Form),
            ("https:a.example/cb", RedirectError::Form),
            ("https:///a.example/cb", RedirectError::Form),
            ("https://a.example/c b", RedirectError::Form),
            ("https://a.example/\ncb", RedirectError::Form),
            ("https://*.a.example/cb", RedirectError::Form),
            ("https://ä.example/cb", RedirectError::Form),
            ("http://0x7f.1/cb", RedirectError::Form),
            ("http://2130706433/cb", RedirectError::Form),
            (&long, RedirectError::Form),
            ("https://a.example/cb#x", RedirectError::Fragment),
            ("https://a.example/cb#", RedirectError::Fragment),
            ("https://u@a.example/cb", RedirectError::User),
            ("https://u:p@a.example/cb", RedirectError::User),
            ("http://localhost@a.example/cb", RedirectError::User),
            ("http://a.example/cb", RedirectError::Scheme),
            ("http://127.0.0.2/cb", RedirectError::Scheme),
            ("http://localhost.a.example/cb", RedirectError::Scheme),
            ("http://127.0.0.1.a.example/cb", RedirectError::Scheme),
            ("http://localhost./cb", RedirectError::Scheme),
            ("http://[::ffff:7f00:1]/cb", RedirectError::Scheme),
            ("javascript:alert(1)", RedirectError::Scheme),
            (
                "javascript://a.example/%250aalert(1)",
                RedirectError::Scheme,
            ),
            ("data:text/html,x", RedirectError::Scheme),
            ("vbscript:x", RedirectError::Scheme),
            ("file:///etc/passwd", RedirectError::Scheme),
            ("blob:https://a.example/x", RedirectError::Scheme),
            ("ms-msdt:/id", RedirectError::Scheme),
            ("search-ms:query", RedirectError::Scheme),
            ("mailto:a@b.example", RedirectError::Scheme),
            ("urn:ietf:wg:oauth:2.0:oob", RedirectError::Scheme),
        ] {
            assert_eq!(RedirectUri::new(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn only_the_same_uri_is_allowed_and_any_port_on_loopback() {
        let registered = uri("https://a.example/cb");
        for other in [
            "https://a.example/cb/",
            "https://a.example/cb2",
            "https://a.example/c",
            "https://a.example/CB",
            "https://a.example/cb?x",
            "https://a.example/%63b",
            "https://a.example:8443/cb",
            "https://b.a.example/cb",
            "https://a.example.b.example/cb",
            "http://localhost/cb",
        ] {
            assert!(!registered.allows(&uri(other)), "{other}");
        }
        let local = uri("http://127.0.0.1:1/cb");
        for port in [
            "http://127.0.0.1/cb",
            "http://127.0.0.1:8080/cb",
            "http://127.0.0.1:65535/cb",
        ] {
            assert!(local.allows(&uri(port)), "{port}");
        }
        for other in [
            "http://localhost:1/cb",
            "http://[::1]:1/cb",
            "http://127.0.0.1:1/",
            "http://127.0.0.1:1/cb?x",
            "https://127.0.0.1:1/cb",
        ] {
            assert!(!local.allows(&uri(other)), "{other}");
        }
        // A scheme of its own has no port that may differ.
        assert!(!uri("app.x://a:1/cb").allows(&uri("app.x://a:2/cb")));
    }
}

//! HTTP as connections use it: no address that the person didn't allow, no redirect, no answer without an end.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use gongfu_core::connection::Url;
use gongfu_core::network::{is_of_a_host, is_public};
use http::{HeaderName, HeaderValue};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};

/// The time that a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The time that a request of a sign-in may take.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest answer of a request of a sign-in, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// The addresses that a connection may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of the public internet.
    Public,
    /// The same, and this machine.
    Machine,
    /// The same, and networks around it.
    Network,
}

impl Reach {
    /// The reach of an address that a person approved. They saw it, so a number in it counts as allowed; a name
    /// doesn't, as it may lead to another number tomorrow.
    pub(crate) fn of(url: &Url) -> Result<Self, String> {
        let parsed = reqwest::Url::parse(&url.url);
        let parsed = parsed.map_err(|error| format!("its address is not one: {error}"))?;
        let host = parsed.host_str().unwrap_or_default();
        let number = number(host);
        Ok(if url.is_private {
            Self::Network
        } else if host == "localhost" || number.is_some_and(|address| address.is_loopback()) {
            Self::Machine
        } else if number.is_some_and(|address| !is_public(address)) {
            Self::Network
        } else {
            Self::Public
        })
    }

    fn allows(self, address: IpAddr) -> bool {
        let is_local = match self {
            Self::Public => false,
            Self::Machine => address.is_loopback(),
            Self::Network => is_of_a_host(address),
        };
        is_local || is_public(address)
    }

    /// Refuses a host that is written as a number and can't be reached: no resolver sees it.
    fn check(self, url: &reqwest::Url) -> Result<(), Unreachable> {
        let host = url.host_str().unwrap_or_default();
        match number(host) {
            Some(address) if !self.allows(address) => Err(Unreachable(host.to_owned())),
            _ => Ok(()),
        }
    }
}

/// The address that a host is written as.
fn number(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// A host that a connection may not reach.
#[derive(Debug)]
struct Unreachable(String);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "`{}` has no public address; where that is right, set `private` of the connection to true",
            self.0
        )
    }
}

impl Error for Unreachable {}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = *self;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let usable: Vec<SocketAddr> =
                found.filter(|address| reach.allows(address.ip())).collect();
            if usable.is_empty() {
                return Err(Unreachable(host).into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

/// A client for an address, and all that it may reach.
///
/// # Errors
/// Why there is no client, for people.
pub(crate) fn client(url: &Url) -> Result<(Client, Reach), String> {
    let reach = Reach::of(url)?;
    // A second provider is refused, and the first one is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .dns_resolver(reach)
        .redirect(Policy::none())
        .user_agent(concat!("gongfu/", env!("CARGO_PKG_VERSION")));
    if reach == Reach::Machine {
        builder = builder.no_proxy();
    }
    let client = builder.build();
    let client = client.map_err(|error| format!("there is no HTTP client: {}", chain(&error)))?;
    Ok((client, reach))
}

/// The headers of each request to an address.
///
/// # Errors
/// One of them can't be a header, for people.
pub(crate) fn headers(url: &Url) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let parsed = url.headers.iter().map(|(name, value)| {
        let wrong = || format!("`headers`: {name:?} has a name or value that can't be sent");
        let header = HeaderName::try_from(name).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((header, value))
    });
    parsed.collect()
}

/// Makes the requests of a sign-in.
pub(crate) struct SignInClient {
    pub(crate) client: Client,
    pub(crate) reach: Reach,
}

impl OAuthHttpClient for SignInClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request).map_err(boxed)?;
            self.reach.check(request.url()).map_err(boxed)?;
            let answering = async {
                let response = self.client.execute(request).await.map_err(boxed)?;
                whole(response).await
            };
            let answer = tokio::time::timeout(SIGN_IN_TIMEOUT, answering).await;
            answer.map_err(boxed)?
        })
    }
}

fn boxed(error: impl Error + Send + Sync + 'static) -> OAuthHttpClientError {
    Box::new(error)
}

/// An answer with its body.
async fn whole(mut response: Response) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
    let mut answer = http::Response::new(Vec::new());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = std::mem::take(response.headers_mut());
    while let Some(chunk) = response.chunk().await.map_err(boxed)? {
        if answer.body().len() + chunk.len() > MAX_ANSWER {
            return Err(format!("the answer has more than {MAX_ANSWER} bytes").into());
        }
        answer.body_mut().extend_from_slice(&chunk);
    }
    Ok(answer)
}

/// An error and its causes in one line: the last cause is often the only one that helps.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// The first of an error and its causes that is of a type.
pub(crate) fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gongfu_core::connection::Url;

    use super::{Reach, headers};

    fn url(url: &str, is_private: bool) -> Url {
        Url {
            url: url.to_owned(),
            headers: BTreeMap::new(),
            is_private,
            client: None,
        }
    }

    #[test]
    fn number_in_an_approved_address_counts_as_allowed_and_a_name_does_not() {
        for (text, is_private, reach) in [
            ("https://mcp.example.com/mcp", false, Reach::Public),
            ("https://8.8.8.8/mcp", false, Reach::Public),
            ("http://localhost:3000/mcp", false, Reach::Machine),
            ("http://127.0.0.1:3000/mcp", false, Reach::Machine),
            ("http://[::1]:3000/mcp", false, Reach::Machine),
            ("http://10.1.2.3/mcp", false, Reach::Network),
            ("https://mcp.corp/mcp", true, Reach::Network),
        ] {
            assert_eq!(Reach::of(&url(text, is_private)), Ok(reach), "{text}");
        }
        assert!(Reach::of(&url("https://[::1", false)).is_err());
    }

    #[test]
    fn only_addresses_within_reach_are_allowed() {
        for (address, public, machine, network) in [
            ("8.8.8.8", true, true, true),
            ("127.0.0.1", false, true, true),
            ("::1", false, true, true),
            ("10.1.2.3", false, false, true),
            ("fd00::1", false, false, true),
            ("169.254.169.254", false, false, false),
            ("::ffff:169.254.169.254", false, false, false),
            ("0.0.0.0", false, false, false),
        ] {
            let address = address.parse().unwrap();
            let allowed = [Reach::Public, Reach::Machine, Reach::Network];
            let allowed = allowed.map(|reach| reach.allows(address));
            assert_eq!(allowed, [public, machine, network], "{address}");
        }
        let metadata = "http://169.254.169.254/latest".parse().unwrap();
        assert!(Reach::Network.check(&metadata).is_err());
        let loopback = "http://[::1]/register".parse().unwrap();
        assert!(Reach::Public.check(&loopback).is_err());
        assert!(Reach::Machine.check(&loopback).is_ok());
    }

    #[test]
    fn header_that_cannot_be_sent_is_refused_without_its_value() {
        let mut url = url("https://mcp.example.com/mcp", false);
        url.headers
            .insert("X-Key".to_owned(), "s3cret\n".to_owned());
        let error = headers(&url).unwrap_err();
        assert!(
            error.contains("X-Key") && !error.contains("s3cret"),
            "{error}"
        );
        url.headers.insert("X-Key".to_owned(), "s3cret".to_owned());
        let sent = headers(&url).unwrap();
        assert!(sent["x-key"].is_sensitive());
    }
}

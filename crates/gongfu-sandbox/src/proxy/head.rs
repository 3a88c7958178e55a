//! The request of a program to its proxy: `CONNECT`, or the download of a build by plain HTTP.

use gongfu_core::network::{Destination, Endpoint};
use gongfu_core::sandbox::Reach;

use super::plain::{self, PlainRequest};
use super::refusal::Refusal;

/// The longest request, in bytes.
pub(super) const MAX_LENGTH: usize = 8 * 1024;
/// The most fields of a request.
const MAX_FIELDS: usize = 64;

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) endpoint: Endpoint,
    /// The download; `None` for `CONNECT`.
    pub(super) plain: Option<PlainRequest>,
    /// The bytes behind it.
    pub(super) early: Vec<u8>,
}

/// Reads a request; returns `None` while it is incomplete.
///
/// # Errors
/// It isn't HTTP, or isn't what a run, or a build with this reach, may ask for.
pub(super) fn read(bytes: &[u8], reach: &Reach) -> Result<Option<Request>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_LENGTH => return Ok(None),
        Ok(httparse::Status::Partial) => {
            return Err(Refusal::new(
                "431 Request Header Fields Too Large",
                "a request to the proxy must be at most 8 KiB",
            ));
        }
        Err(error) => {
            let why = format!("not an HTTP request: {error}");
            return Err(Refusal::new("400 Bad Request", why));
        }
    };
    let early = bytes.get(length..).unwrap_or_default().to_vec();
    if request.method != Some("CONNECT") {
        let (endpoint, plain) = plain::read(&request, reach)?;
        return Ok(Some(Request {
            endpoint,
            plain: Some(plain),
            early,
        }));
    }
    let path = request.path.unwrap_or_default();
    // Addresses are only parsed for a build: for everybody else there are none.
    let address = path.parse::<Endpoint>().ok();
    let address = address
        .filter(|endpoint| matches!(endpoint, Endpoint::Address(_)) && reach.allows(endpoint));
    let endpoint = match address {
        Some(address) => address,
        None => Endpoint::Name(path.parse::<Destination>().map_err(|error| {
            let why = format!("not a host and port: {error}");
            Refusal::new("400 Bad Request", why)
        })?),
    };
    Ok(Some(Request {
        endpoint,
        plain: None,
        early,
    }))
}

#[cfg(test)]
mod tests {
    use gongfu_core::sandbox::{BuildReach, Reach};

    use super::{MAX_LENGTH, Refusal, Request};

    fn read(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
        super::read(bytes, &Reach::default())
    }

    fn refused(bytes: &[u8]) -> &'static str {
        read(bytes).unwrap_err().status
    }

    #[test]
    fn reads_only_the_addresses_of_a_build() {
        let addresses = ["10.0.0.1:443", "[fd00::1]:8443"];
        let reach = Reach {
            build: Some(BuildReach {
                addresses: addresses.map(|text| text.parse().unwrap()).to_vec(),
                ..BuildReach::default()
            }),
            ..Reach::default()
        };
        let asks = |address: &str| format!("CONNECT {address} HTTP/1.1\r\n\r\n").into_bytes();
        for address in addresses {
            let request = super::read(&asks(address), &reach).unwrap().unwrap();
            assert_eq!(request.endpoint.to_string(), address);
            assert_eq!(refused(&asks(address)), "400 Bad Request");
        }
        for other in [
            "10.0.0.1:80",
            "10.0.0.2:443",
            "[fd00::1]:443",
            "167772161:443",
        ] {
            let refusal = super::read(&asks(other), &reach).unwrap_err();
            assert_eq!(refusal.status, "400 Bad Request", "{other}");
        }
    }

    #[test]
    fn refuses_everything_but_connect() {
        let request = b"CONNECT example.com:443 HTTP/1.1\r\nHost: other\r\n\r\nmore";
        let whole = read(request).unwrap().unwrap();
        assert_eq!(whole.endpoint.to_string(), "example.com:443");
        assert_eq!((whole.plain, &*whole.early), (None, b"more".as_slice()));
        for cut in 0..request.len() - whole.early.len() {
            assert_eq!(read(request.get(..cut).unwrap()), Ok(None), "{cut}");
        }
        for other in [
            "GET http://example.com/ HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\n\r\n",
            "connect example.com:443 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(refused(other.as_bytes()), "403 Forbidden", "{other:?}");
        }
        for wrong in [
            "CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n",
            "CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
            "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.com.:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "CONNECT https://example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT a@example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT exa\0mple.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT  example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.com:443 HTTP/2.0\r\n\r\n",
            "\x16\x03\x01 hello\r\n\r\n",
        ] {
            assert_eq!(refused(wrong.as_bytes()), "400 Bad Request", "{wrong:?}");
        }
    }

    #[test]
    fn refuses_a_request_that_never_ends() {
        let long = format!(
            "CONNECT example.com:443 HTTP/1.1\r\nX: {}",
            "x".repeat(MAX_LENGTH)
        );
        assert!(refused(long.as_bytes()).starts_with("431"));
        let many = format!(
            "CONNECT example.com:443 HTTP/1.1\r\n{}\r\n",
            "X: y\r\n".repeat(100)
        );
        assert!(refused(many.as_bytes()).starts_with("400"));
    }
}

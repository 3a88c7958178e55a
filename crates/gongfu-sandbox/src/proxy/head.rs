//! The request of a program to its proxy, which must be `CONNECT`.

use gongfu_core::network::Destination;

/// The longest request, in bytes.
pub(super) const MAX_LENGTH: usize = 8 * 1024;
/// The most fields of a request.
const MAX_FIELDS: usize = 64;

/// The refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(status: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { status, why }
    }

    /// The whole answer.
    pub(super) fn answer(&self) -> String {
        let Self { status, why } = self;
        let length = why.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
        )
    }
}

/// Reads a request; returns its destination and its length, or `None` while it is incomplete.
///
/// # Errors
/// It isn't HTTP, or isn't `CONNECT`.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Destination, usize)>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_LENGTH => return Ok(None),
        Ok(httparse::Status::Partial) => {
            return Err(Refusal::new(
                "431 Request Header Fields Too Large",
                "a request to the proxy has at most 8 KiB",
            ));
        }
        Err(error) => {
            let why = format!("this is no request of HTTP: {error}");
            return Err(Refusal::new("400 Bad Request", why));
        }
    };
    if request.method != Some("CONNECT") {
        return Err(Refusal::new(
            "403 Forbidden",
            "hosts are reached by TLS alone; use an address that begins with https://",
        ));
    }
    let destination = request.path.unwrap_or_default().parse();
    let destination = destination.map_err(|error| {
        let why = format!("where to connect is no host and port: {error}");
        Refusal::new("400 Bad Request", why)
    })?;
    Ok(Some((destination, length)))
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, read};

    fn refused(bytes: &[u8]) -> &'static str {
        read(bytes).unwrap_err().status
    }

    #[test]
    fn refuses_everything_but_connect() {
        let request = b"CONNECT example.com:443 HTTP/1.1\r\nHost: other\r\n\r\nmore";
        let (destination, length) = read(request).unwrap().unwrap();
        assert_eq!(destination.to_string(), "example.com:443");
        assert_eq!(request.get(length..), Some(b"more".as_slice()));
        for cut in 0..length {
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

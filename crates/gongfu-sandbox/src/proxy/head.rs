//! What a program asks a proxy for: one request, of which only `CONNECT` is known.

use gongfu_core::network::Destination;

/// The longest request, in bytes.
pub(super) const LONGEST: usize = 8 * 1024;
/// How many fields it may have.
const FIELDS: usize = 64;

/// Why a request isn't carried out: the status, and what is said.
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

    /// The answer, after which nothing comes.
    pub(super) fn answer(&self) -> String {
        let Self { status, why } = self;
        let length = why.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
        )
    }
}

/// Reads a request; `None` when there is more to come, else where it leads and how long it is.
///
/// # Errors
/// It is none, or not one that is carried out here.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Destination, usize)>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Ok(None),
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
    use super::{LONGEST, read};

    fn refused(bytes: &[u8]) -> &'static str {
        read(bytes).unwrap_err().status
    }

    #[test]
    fn only_connect_is_known() {
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
    fn a_request_without_an_end_is_cut_off() {
        let long = format!(
            "CONNECT example.com:443 HTTP/1.1\r\nX: {}",
            "x".repeat(LONGEST)
        );
        assert!(refused(long.as_bytes()).starts_with("431"));
        let many = format!(
            "CONNECT example.com:443 HTTP/1.1\r\n{}\r\n",
            "X: y\r\n".repeat(100)
        );
        assert!(refused(many.as_bytes()).starts_with("400"));
    }
}

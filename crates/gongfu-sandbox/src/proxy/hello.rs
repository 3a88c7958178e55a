//! The greeting of TLS, and the host that it names (RFC 8446, 4.1.2; RFC 6066, 3).

use gongfu_core::network::Host;
use rustls::server::Acceptor;

/// The longest greeting, in bytes, with its records.
const MAX_LENGTH: usize = 64 * 1024;

/// A greeting that arrives in pieces; its bytes go on to the host.
pub(super) struct Hello {
    acceptor: Acceptor,
    pub(super) bytes: Vec<u8>,
}

/// The state of a greeting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More must come.
    Part,
    /// It is complete, and for the host.
    Whole,
}

impl Hello {
    pub(super) fn new() -> Self {
        Self {
            acceptor: Acceptor::default(),
            bytes: Vec::new(),
        }
    }

    /// Takes a piece of a greeting for a host, or for an address, which has no name.
    ///
    /// # Errors
    /// It isn't TLS, or names another host; the text says so.
    pub(super) fn take(&mut self, more: &[u8], host: Option<&Host>) -> Result<Progress, String> {
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > MAX_LENGTH {
            return Err("the TLS ClientHello is too long".to_owned());
        }
        let mut rest = more;
        while !rest.is_empty() {
            let invalid = |error: &dyn std::fmt::Display| format!("not TLS: {error}");
            self.acceptor
                .read_tls(&mut rest)
                .map_err(|error| invalid(&error))?;
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => {
                    let name = accepted.client_hello().server_name().map(str::to_owned);
                    return match (name, host) {
                        (Some(name), Some(host)) if name.eq_ignore_ascii_case(host.as_str()) => {
                            Ok(Progress::Whole)
                        }
                        (None, None) => Ok(Progress::Whole),
                        (Some(name), _) => {
                            Err(format!("its TLS server name is another host, {name}"))
                        }
                        (None, Some(_)) => Err("it has no TLS server name".to_owned()),
                    };
                }
                Err((error, _)) => return Err(invalid(&error)),
            }
        }
        Ok(Progress::Part)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Hello, Progress};

    /// Bytes with their length in front.
    fn sized(bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).expect("it is short");
        [&length.to_be_bytes(), bytes].concat()
    }

    /// A greeting for a host, if one is named, in records of so many bytes.
    pub(crate) fn greeting(host: Option<&str>, record: usize) -> Vec<u8> {
        let mut extensions = Vec::new();
        if let Some(host) = host {
            let entry = [vec![0], sized(host.as_bytes())].concat();
            extensions.extend([0, 0]);
            extensions.extend(sized(&sized(&entry)));
        }
        // Versions, groups and signatures, without which it is invalid.
        for (kind, body) in [
            (43_u16, &[2, 3, 4][..]),
            (10, &[0, 2, 0, 29]),
            (13, &[0, 2, 8, 4]),
        ] {
            extensions.extend(kind.to_be_bytes());
            extensions.extend(sized(body));
        }
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.push(0);
        body.extend([0, 2, 0x13, 1, 1, 0]);
        body.extend(sized(&extensions));
        let message = [vec![1, 0], sized(&body)].concat();
        let records = message.chunks(record);
        records
            .flat_map(|chunk| [vec![22, 3, 1], sized(chunk)].concat())
            .collect()
    }

    #[test]
    fn accepts_the_host_however_the_greeting_is_cut() {
        let host = "example.com".parse().unwrap();
        for (record, piece) in [(16_384, 16_384), (16_384, 1), (5, 7), (1, 1)] {
            let bytes = greeting(Some("Example.COM"), record);
            let mut hello = Hello::new();
            let heard = bytes
                .chunks(piece)
                .map(|piece| hello.take(piece, Some(&host)).unwrap());
            let heard: Vec<Progress> = heard.collect();
            let (last, before) = heard.split_last().unwrap();
            assert_eq!(last, &Progress::Whole, "{record} {piece}");
            assert!(before.iter().all(|heard| *heard == Progress::Part));
            assert_eq!(hello.bytes, bytes);
        }
    }

    #[test]
    fn accepts_no_name_for_an_address_alone() {
        let bytes = greeting(None, 99);
        assert_eq!(Hello::new().take(&bytes, None), Ok(Progress::Whole));
        let named = Hello::new().take(&greeting(Some("evil.test"), 99), None);
        assert!(named.unwrap_err().contains("evil.test"));
        let plain = Hello::new().take(b"GET / HTTP/1.1\r\n\r\n", None);
        assert!(plain.unwrap_err().contains("not TLS"));
    }

    #[test]
    fn refuses_another_host_or_none() {
        let host = "example.com".parse().unwrap();
        let said = |bytes: &[u8]| Hello::new().take(bytes, Some(&host)).unwrap_err();
        assert!(said(&greeting(Some("evil.test"), 99)).contains("evil.test"));
        assert!(said(&greeting(Some("a.example.com"), 99)).contains("another host"));
        assert!(said(&greeting(None, 99)).contains("no TLS server name"));
        assert!(said(b"GET / HTTP/1.1\r\n\r\n").contains("not TLS"));
        assert!(said(b"SSH-2.0-x\r\n").contains("not TLS"));
        // A greeting for the host after another one isn't looked at any more than that one.
        let mut two = greeting(Some("evil.test"), 99);
        two.extend(greeting(Some("example.com"), 99));
        assert!(said(&two).contains("evil.test"));
        let mut hello = Hello::new();
        let endless = [22, 3, 1, 0, 1, 1].repeat(20_000);
        let ended = endless
            .chunks(1_000)
            .find_map(|piece| hello.take(piece, Some(&host)).err());
        assert!(ended.is_some());
    }
}

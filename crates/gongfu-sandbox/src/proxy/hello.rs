//! The first thing that is said over TLS: whom it is for (RFC 8446, 4.1.2; RFC 6066, 3).

use gongfu_core::network::Host;
use rustls::server::Acceptor;

/// The longest one, in bytes, with what it is wrapped in.
const LONGEST: usize = 64 * 1024;

/// A greeting that is read bit by bit; what was read goes on to the host.
pub(super) struct Hello {
    acceptor: Acceptor,
    pub(super) bytes: Vec<u8>,
}

/// What is known of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// There is more to come.
    Part,
    /// It is for this host.
    Whole,
}

impl Hello {
    pub(super) fn new() -> Self {
        Self {
            acceptor: Acceptor::default(),
            bytes: Vec::new(),
        }
    }

    /// Takes more of it.
    ///
    /// # Errors
    /// It is none, or for another host; the text says so.
    pub(super) fn take(&mut self, more: &[u8], host: &Host) -> Result<Heard, String> {
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > LONGEST {
            return Err("what is said first is too long for a greeting of TLS".to_owned());
        }
        let mut rest = more;
        while !rest.is_empty() {
            let none = |error: &dyn std::fmt::Display| format!("it isn't TLS: {error}");
            self.acceptor
                .read_tls(&mut rest)
                .map_err(|error| none(&error))?;
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => {
                    let name = accepted.client_hello().server_name().map(str::to_owned);
                    return match name {
                        Some(name) if name.eq_ignore_ascii_case(host.as_str()) => Ok(Heard::Whole),
                        Some(name) => Err(format!("by TLS it is for another host, {name}")),
                        None => Err("by TLS it names no host".to_owned()),
                    };
                }
                Err((error, _)) => return Err(none(&error)),
            }
        }
        Ok(Heard::Part)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Heard, Hello};

    /// Bytes behind their length.
    fn sized(bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).expect("it is short");
        [&length.to_be_bytes(), bytes].concat()
    }

    /// A greeting for a host, in records of so many bytes; none is named where there is none.
    pub(crate) fn greeting(host: Option<&str>, record: usize) -> Vec<u8> {
        let mut extensions = Vec::new();
        if let Some(host) = host {
            let entry = [vec![0], sized(host.as_bytes())].concat();
            extensions.extend([0, 0]);
            extensions.extend(sized(&sized(&entry)));
        }
        // Which versions, groups and signatures there are: without them it is none.
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
    fn a_greeting_is_for_its_host_however_it_comes() {
        let host = "example.com".parse().unwrap();
        for (record, piece) in [(16_384, 16_384), (16_384, 1), (5, 7), (1, 1)] {
            let bytes = greeting(Some("Example.COM"), record);
            let mut hello = Hello::new();
            let heard = bytes
                .chunks(piece)
                .map(|piece| hello.take(piece, &host).unwrap());
            let heard: Vec<Heard> = heard.collect();
            let (last, before) = heard.split_last().unwrap();
            assert_eq!(last, &Heard::Whole, "{record} {piece}");
            assert!(before.iter().all(|heard| *heard == Heard::Part));
            assert_eq!(hello.bytes, bytes);
        }
    }

    #[test]
    fn what_is_for_nobody_or_another_is_refused() {
        let host = "example.com".parse().unwrap();
        let said = |bytes: &[u8]| Hello::new().take(bytes, &host).unwrap_err();
        assert!(said(&greeting(Some("evil.test"), 99)).contains("evil.test"));
        assert!(said(&greeting(Some("a.example.com"), 99)).contains("another host"));
        assert!(said(&greeting(None, 99)).contains("no host"));
        assert!(said(b"GET / HTTP/1.1\r\n\r\n").contains("isn't TLS"));
        assert!(said(b"SSH-2.0-x\r\n").contains("isn't TLS"));
        // A greeting for the host after another one isn't looked at any more than that one.
        let mut two = greeting(Some("evil.test"), 99);
        two.extend(greeting(Some("example.com"), 99));
        assert!(said(&two).contains("evil.test"));
        let mut hello = Hello::new();
        let endless = [22, 3, 1, 0, 1, 1].repeat(20_000);
        let ended = endless
            .chunks(1_000)
            .find_map(|piece| hello.take(piece, &host).err());
        assert!(ended.is_some());
    }
}

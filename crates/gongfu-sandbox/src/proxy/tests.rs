//! Tests of names that lead to forbidden addresses: the resolver is a fake, and the hosts are on loopback.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::network::{Destination, Rules};
use gongfu_core::sandbox::Reach;

mod build;

use super::Proxy;
use super::hello::tests::greeting;
use super::resolver::{Resolver, Resolving};

/// Knows some names, and how often it was asked; a name that isn't known is never resolved.
#[derive(Default)]
struct Names {
    known: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    asked: AtomicUsize,
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, destination: &'a Destination, _is_private: bool) -> Resolving<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut known = self.known.lock().unwrap();
        let answers = known.get_mut(destination.host.as_str());
        // Each time the next answer, the last one again and again.
        let answer = answers.map(|answers| {
            if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            }
        });
        let port = destination.port;
        Box::pin(async move {
            let Some(answer) = answer else {
                return std::future::pending().await;
            };
            let with_port = |address| SocketAddr::new(address, port);
            Ok(answer.into_iter().map(with_port).collect())
        })
    }
}

/// A host that answers `hi` to any bytes.
struct Host {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Host {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
                if matches!(stream.read(&mut [0; 4_096]), Ok(1..)) {
                    let _ = stream.write_all(b"hi");
                }
            }
        });
        Self { port, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A proxy and where it listens.
struct Fixture {
    proxy: Proxy,
    at: SocketAddr,
    names: Arc<Names>,
}

impl Fixture {
    /// Grants the port at these names, which lead to these addresses, and those of `private` as well where
    /// they aren't of the internet.
    fn new(port: u16, names: &[(&str, &[&[&str]])], private: &[&str]) -> Self {
        let rule = |name: &str| format!("{name}:{port}").parse().unwrap();
        let reach = Reach {
            rules: Rules(names.iter().map(|(name, _)| rule(name)).collect()),
            private: Rules(private.iter().map(|name| rule(name)).collect()),
            ..Reach::default()
        };
        let known = names.iter().filter(|(_, answers)| !answers.is_empty());
        let known = known.map(|(name, answers)| {
            let of = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
            ((*name).to_owned(), answers.iter().map(of).collect())
        });
        let names = Arc::new(Names {
            known: Mutex::new(known.collect()),
            asked: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let resolver = Arc::<Names>::clone(&names);
        let proxy = Proxy::with(OwnedFd::from(listener), reach, resolver).unwrap();
        Self { proxy, at, names }
    }

    /// Asks the proxy for a host; returns the status, and the host's reply.
    fn ask(&self, name: &str, port: u16) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.at)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        write!(stream, "CONNECT {name}:{port} HTTP/1.1\r\n\r\n")?;
        let mut bytes = [0; 4_096];
        let read = stream.read(&mut bytes)?;
        let answer = String::from_utf8_lossy(&bytes[..read]).into_owned();
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        if status != "200" {
            return Ok(status);
        }
        stream.write_all(&greeting(Some(name), 16_384))?;
        let read = stream.read(&mut bytes)?;
        Ok(format!("200 {}", String::from_utf8_lossy(&bytes[..read])))
    }
}

#[test]
fn name_is_resolved_once_and_that_address_is_used() {
    let host = Host::new();
    // What is looked at is of no use if something else is connected to: the second answer never counts.
    let names: &[(&str, &[&[&str]])] = &[("turns.test", &[&["169.254.1.1"], &["127.0.0.1"]])];
    let fixture = Fixture::new(host.port, names, &[]);
    assert_eq!(fixture.ask("turns.test", host.port).unwrap(), "403");
    assert_eq!(
        (
            fixture.names.asked.load(Ordering::Relaxed),
            host.connections()
        ),
        (1, 0)
    );
    assert_eq!(fixture.ask("turns.test", host.port).unwrap(), "403");
    // A host that isn't granted isn't even resolved: the server of names would learn it.
    assert_eq!(fixture.ask("secret.turns.test", host.port).unwrap(), "403");
    assert_eq!(
        (
            fixture.names.asked.load(Ordering::Relaxed),
            host.connections()
        ),
        (2, 0)
    );
    drop(fixture);
    // The control: it is the second answer that would lead there.
    let names: &[(&str, &[&[&str]])] = &[("turns.test", &[&["127.0.0.1"]])];
    let fixture = Fixture::new(host.port, names, &["turns.test"]);
    assert_eq!(fixture.ask("turns.test", host.port).unwrap(), "200 hi");
}

#[test]
fn reached_host_is_reported_among_many_refused_ones() {
    let host = Host::new();
    let names: &[(&str, &[&[&str]])] = &[
        ("host.test", &[&["127.0.0.1"]]),
        ("metadata.test", &[&["169.254.169.254"]]),
        ("nobody.test", &[&["0.0.0.0"]]),
    ];
    let fixture = Fixture::new(
        host.port,
        names,
        &["host.test", "metadata.test", "nobody.test"],
    );
    for number in 0..150 {
        assert_eq!(
            fixture.ask(&format!("no{number}.test"), host.port).unwrap(),
            "403"
        );
    }
    assert_eq!(fixture.ask("host.test", host.port).unwrap(), "200 hi");
    // Not even a private host may be unspecified, or a metadata service.
    assert_eq!(fixture.ask("metadata.test", host.port).unwrap(), "403");
    assert_eq!(fixture.ask("nobody.test", host.port).unwrap(), "403");
    let contacts = fixture.proxy.end();
    assert_eq!(contacts.len(), super::contacts::MAX_CONTACTS);
    assert!(
        contacts.iter().any(|contact| contact.refused.is_none()),
        "it is hidden"
    );
}

#[test]
fn end_waits_for_no_lookup_and_no_connection() {
    let host = Host::new();
    // One name is never resolved, and one connection never ends.
    let names: &[(&str, &[&[&str]])] = &[("never.test", &[]), ("host.test", &[&["127.0.0.1"]])];
    let fixture = Fixture::new(host.port, names, &["host.test", "never.test"]);
    let mut waits = TcpStream::connect(fixture.at).unwrap();
    write!(waits, "CONNECT never.test:{} HTTP/1.1\r\n\r\n", host.port).unwrap();
    let silent = TcpStream::connect(fixture.at).unwrap();
    assert_eq!(fixture.ask("host.test", host.port).unwrap(), "200 hi");
    let ended = fixture.proxy.end();
    // What wasn't answered yet was asked for all the same.
    let hosts: Vec<&str> = ended.iter().map(|contact| contact.host.as_str()).collect();
    assert!(
        hosts.iter().any(|host| host.starts_with("never.test")),
        "{hosts:?}"
    );
    assert_eq!(hosts.len(), 2);
    for mut stream in [waits, silent] {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // Closed in any way.
        assert!(matches!(stream.read(&mut [0; 10]), Ok(0) | Err(_)));
    }
}

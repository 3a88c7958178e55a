//! Tests of what builds alone may do: plain HTTP, exact addresses, and a proxy of the operator on the way.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::network::{Bypass, Endpoint, Proxies, ProxyServer, Rules, Secret};
use gongfu_core::sandbox::{BuildReach, Contact, Reach};

use super::super::Proxy;
use super::super::hello::tests::greeting;
use super::super::resolver::System;

const LOGIN: &str = "Basic dXNlcjp2ZXJ5c2VjcmV0";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
const LOGIN_WANTED: &str =
    "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";

/// A server that keeps the first bytes of each connection. It is a proxy where it is asked to be one, and says `hi`
/// in the name of every host.
struct Server {
    at: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(address: &str, wants_login: bool) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        let at = listener.local_addr()?;
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = serve(stream.unwrap(), &kept, wants_login);
            }
        });
        Ok(Self { at, heard })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn server(&self, login: Option<&str>) -> ProxyServer {
        ProxyServer {
            endpoint: Endpoint::Address(self.at),
            authorization: login.map(Secret::new),
        }
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<String>>, wants_login: bool) -> io::Result<()> {
    let mut bytes = [0; 4_096];
    let read = stream.read(&mut bytes)?;
    let said = String::from_utf8_lossy(&bytes[..read]).into_owned();
    kept.lock().unwrap().push(said.clone());
    if wants_login && !said.contains(LOGIN) {
        return stream.write_all(LOGIN_WANTED.as_bytes());
    }
    if said.starts_with("CONNECT ") {
        stream.write_all(b"HTTP/1.0 200 Fine\r\nVia: x\r\n\r\n")?;
        let read = stream.read(&mut bytes)?;
        return stream.write_all(if read > 0 { b"hi" } else { b"" });
    }
    stream.write_all(if said.starts_with(['G', 'H']) {
        OK.as_bytes()
    } else {
        b"hi"
    })
}

/// Asks a proxy with this reach by a request, and then by these bytes; returns what it answers, and the contacts.
fn ask(reach: Reach, request: &str, then: &[u8]) -> (String, Vec<Contact>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let proxy = Proxy::with(OwnedFd::from(listener), reach, Arc::new(System)).unwrap();
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    let answer = exchange(&mut stream, request, then).unwrap_or_else(|error| error.to_string());
    (answer, proxy.end())
}

fn exchange(stream: &mut TcpStream, request: &str, then: &[u8]) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    if !then.is_empty() {
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            answer.extend(byte);
        }
        stream.write_all(then)?;
    }
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The reach of a build whose index is at this address, perhaps by plain HTTP.
fn build_reach(at: SocketAddr, is_plain: bool) -> BuildReach {
    BuildReach {
        addresses: vec![at],
        plain: is_plain
            .then_some(Endpoint::Address(at))
            .into_iter()
            .collect(),
        proxies: Proxies::default(),
    }
}

fn of(build: BuildReach) -> Reach {
    Reach {
        build: Some(build),
        ..Reach::default()
    }
}

fn get(host: &str) -> String {
    format!("GET http://{host}/simple HTTP/1.1\r\nProxy-Connection: keep-alive\r\n\r\n")
}

fn connect_to(host: &str) -> String {
    format!("CONNECT {host} HTTP/1.1\r\n\r\n")
}

#[test]
fn index_is_reached_at_its_address_by_plain_http() {
    let others = Server::new("127.0.0.1", false).unwrap();
    for address in ["127.0.0.1", "::1"] {
        // Some machines have no IPv6.
        let Ok(index) = Server::new(address, false) else {
            assert_eq!(address, "::1");
            continue;
        };
        let (at, other) = (index.at.to_string(), others.at.to_string());
        let reach = || of(build_reach(index.at, true));
        let (answer, contacts) = ask(reach(), &get(&at), b"");
        assert_eq!(answer, OK);
        assert_eq!(
            (contacts[0].host.as_str(), &contacts[0].refused),
            (&*at, &None)
        );
        let heard = format!("GET /simple HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
        assert_eq!(index.heard(), [heard]);
        let (answer, _) = ask(reach(), &connect_to(&at), b"GET / HTTP/1.1\r\n\r\n");
        assert!(answer.ends_with(OK), "{answer}");
        // The same of a host that isn't the index.
        assert!(
            ask(reach(), &get(&other), b"")
                .0
                .starts_with("HTTP/1.1 403")
        );
        assert!(
            ask(reach(), &connect_to(&other), b"")
                .0
                .starts_with("HTTP/1.1 400")
        );
    }
    assert!(others.heard().is_empty());
}

#[test]
fn index_by_https_and_a_granted_host_get_no_plain_text() {
    let host = Server::new("127.0.0.1", false).unwrap();
    let at = host.at.to_string();
    let secure = || of(build_reach(host.at, false));
    let (_, contacts) = ask(secure(), &connect_to(&at), b"GET / HTTP/1.1\r\n\r\n");
    assert!(contacts[0].refused.as_ref().unwrap().contains("not TLS"));
    assert!(ask(secure(), &get(&at), b"").0.starts_with("HTTP/1.1 403"));
    // By TLS nothing is named for an address.
    let (_, contacts) = ask(secure(), &connect_to(&at), &greeting(Some("evil.test"), 99));
    assert!(
        contacts[0]
            .refused
            .as_ref()
            .unwrap()
            .contains("another host")
    );
    assert!(
        host.heard().iter().all(String::is_empty),
        "{:?}",
        host.heard()
    );
    let (answer, _) = ask(secure(), &connect_to(&at), &greeting(None, 99));
    assert!(answer.ends_with("hi"), "{answer}");

    let name = format!("localhost:{}", host.at.port());
    let rules = || Rules(vec![name.parse().unwrap()]);
    let granted = || Reach {
        rules: rules(),
        private: rules(),
        ..Reach::default()
    };
    let before = host.heard().len();
    for request in [get(&name), get(&at)] {
        assert!(ask(granted(), &request, b"").0.starts_with("HTTP/1.1 403"));
    }
    assert!(
        ask(granted(), &connect_to(&at), b"")
            .0
            .starts_with("HTTP/1.1 400")
    );
    let (_, contacts) = ask(granted(), &connect_to(&name), b"GET / HTTP/1.1\r\n\r\n");
    assert!(contacts[0].refused.as_ref().unwrap().contains("not TLS"));
    // The control: it is granted, and by TLS it is reached.
    let (answer, _) = ask(
        granted(),
        &connect_to(&name),
        &greeting(Some("localhost"), 99),
    );
    assert!(answer.ends_with("hi"), "{answer}");
    let heard = host.heard().split_off(before);
    assert!(heard.iter().all(|said| !said.contains("GET")), "{heard:?}");
}

#[test]
fn services_of_clouds_are_no_index_whatever_their_address_is() {
    let at: SocketAddr = "169.254.169.254:80".parse().unwrap();
    let (answer, _) = ask(of(build_reach(at, true)), &get(&at.to_string()), b"");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn build_goes_by_the_proxy_of_the_operator() {
    let proxy = Server::new("127.0.0.1", true).unwrap();
    // Only that proxy could resolve them.
    let rules = ["index.invalid", "plain.invalid:80"].map(|rule| rule.parse().unwrap());
    let reach = |login: Option<&str>| Reach {
        rules: Rules(rules.to_vec()),
        build: Some(BuildReach {
            plain: vec!["plain.invalid:80".parse().unwrap()],
            proxies: Proxies {
                https: Some(proxy.server(login)),
                http: Some(proxy.server(login)),
                bypasses: Vec::new(),
            },
            ..BuildReach::default()
        }),
        ..Reach::default()
    };
    let greeting = greeting(Some("index.invalid"), 99);
    let tunnel = connect_to("index.invalid:443");
    let (answer, contacts) = ask(reach(Some(LOGIN)), &tunnel, &greeting);
    assert!(answer.ends_with("hi"), "{answer}");
    assert_eq!(contacts[0].refused, None);
    let (answer, _) = ask(reach(Some(LOGIN)), &get("plain.invalid"), b"");
    assert_eq!(answer, OK);
    assert_eq!(
        proxy.heard(),
        [
            format!(
                "CONNECT index.invalid:443 HTTP/1.1\r\nHost: index.invalid:443\r\nProxy-Authorization: {LOGIN}\r\n\r\n"
            ),
            format!(
                "GET http://plain.invalid/simple HTTP/1.1\r\nHost: plain.invalid\r\nProxy-Authorization: {LOGIN}\r\nConnection: close\r\n\r\n"
            ),
        ]
    );
    // Without a login, and with another one.
    for login in [None, Some("Basic b3RoZXI=")] {
        for request in [&tunnel, &get("plain.invalid")] {
            let (answer, contacts) = ask(reach(login), request, b"");
            assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
            assert!(
                answer.contains("407") && answer.contains("`proxy`"),
                "{answer}"
            );
            let why = contacts[0].refused.as_ref().unwrap();
            assert!(why.contains(&proxy.at.to_string()), "{why}");
            assert!(!answer.contains("b3RoZXI="), "{answer}");
        }
    }
    // What isn't the index isn't even asked of the proxy.
    let before = proxy.heard().len();
    for request in [connect_to("other.invalid:443"), get("other.invalid")] {
        let (answer, _) = ask(reach(Some(LOGIN)), &request, b"");
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    }
    let (_, contacts) = ask(reach(Some(LOGIN)), &tunnel, b"GET / HTTP/1.1\r\n\r\n");
    assert!(contacts[0].refused.as_ref().unwrap().contains("not TLS"));
    assert_eq!(proxy.heard().len(), before + 1);
}

#[test]
fn bypassed_host_is_reached_without_the_proxy() {
    let (index, proxy) = (
        Server::new("127.0.0.1", false).unwrap(),
        Server::new("127.0.0.1", false).unwrap(),
    );
    let reach = |bypasses: &str| {
        let mut build = build_reach(index.at, true);
        build.proxies.http = Some(proxy.server(None));
        build.proxies.bypasses = Bypass::list(bypasses);
        of(build)
    };
    let request = get(&index.at.to_string());
    assert_eq!(ask(reach("10.0.0.0/8"), &request, b"").0, OK);
    assert_eq!((index.heard().len(), proxy.heard().len()), (0, 1));
    assert_eq!(ask(reach("127.0.0.0/8"), &request, b"").0, OK);
    assert_eq!((index.heard().len(), proxy.heard().len()), (1, 1));
}

#[test]
fn proxy_that_is_not_there_is_named() {
    // Nobody listens at the port of `discard`.
    let at: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let mut build = build_reach("127.0.0.1:1".parse().unwrap(), false);
    build.proxies.https = Some(ProxyServer {
        endpoint: Endpoint::Address(at),
        authorization: Some(Secret::new(LOGIN)),
    });
    let (answer, contacts) = ask(of(build), &connect_to("127.0.0.1:1"), b"");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    let why = contacts[0].refused.as_ref().unwrap();
    assert!(
        why.contains(&format!("the proxy {at} can't be reached")),
        "{why}"
    );
    assert!(!answer.contains(LOGIN), "{answer}");
}

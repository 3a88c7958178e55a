//! Servers that behave, and servers that don't.

use std::io::Write as _;
use std::time::Duration;

use ureq::tls::TlsConfig;
use url::Url;

use super::{Login, Page, Web};
use crate::error::{ImportCode, ImportError};
use crate::fetch::test_server::{TestServer, redirect, respond};
use gongfu_core::netrc::Netrc;

fn client(url: &Url) -> Web {
    Web::new(url, TlsConfig::default(), None)
}

fn fetch(url: &Url) -> Result<Page, ImportError> {
    let web = client(url);
    web.fetch(url, 1_000, web.deadline())
}

/// The code and the message of a failure, without the address of the server.
fn failure(server: &TestServer, path: &str) -> (ImportCode, String) {
    let error = fetch(&server.url(path)).unwrap_err();
    let root = server.url("").to_string();
    (error.code, error.message.replace(&root, "/"))
}

#[test]
fn a_page_is_fetched_whole() {
    let server = TestServer::with(vec![("/a?b=c", b"content".to_vec())]);
    let page = fetch(&server.url("/a?b=c#d")).unwrap();
    assert_eq!((page.status, &page.bytes[..]), (200, &b"content"[..]));
    let head = &server.requests()[0];
    assert!(head.contains("user-agent: gongfu/"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
}

#[test]
fn another_status_is_an_error() {
    let server = TestServer::start(|path, stream| match path {
        "/closed?secret" => respond(stream, "401 Unauthorized", "", b"x"),
        _ => respond(stream, "404 Not Found", "", b"x"),
    });
    let error = fetch(&server.url("/closed?secret")).unwrap_err();
    assert!(
        error.message.ends_with("/closed answers with status 401"),
        "{error}"
    );
    assert!(error.hint.contains(".netrc"));
    let (code, message) = failure(&server, "/a");
    assert_eq!(code, ImportCode::SourceUnreachable);
    assert_eq!(message, "/a answers with status 404");
    let web = client(&server.url("/"));
    let page = web.get(&server.url("/a"), 10, web.deadline()).unwrap();
    assert_eq!((page.status, page.bytes.len()), (404, 0));
}

#[test]
fn redirects_are_followed_within_the_source() {
    let server = TestServer::start(|path, stream| match path {
        "/1" => redirect(stream, "/2"),
        "/2" => redirect(stream, "3#part"),
        "/3" => respond(stream, "200 OK", "", b"there"),
        _ => redirect(stream, path),
    });
    let page = fetch(&server.url("/1")).unwrap();
    assert_eq!(page.bytes, b"there");
    assert_eq!(page.url, server.url("/3"));
    let (code, message) = failure(&server, "/loop");
    assert_eq!(code, ImportCode::SourceUnreachable);
    assert_eq!(message, "/loop redirects more than 5 times");
    let loops = server
        .paths()
        .iter()
        .filter(|path| *path == "/loop")
        .count();
    assert_eq!(loops, 6);
}

#[test]
fn redirects_into_a_network_are_refused() {
    let other = TestServer::with(vec![("/", b"secret".to_vec())]);
    let port = other.url("").port().unwrap();
    let server = TestServer::start(move |path, stream| {
        let location = match path {
            "/port" => &format!("http://127.0.0.1:{port}/"),
            "/https-port" => &format!("https://127.0.0.1:{port}/"),
            "/name" => &format!("https://localhost:{port}/"),
            "/metadata" => "http://169.254.169.254/latest/meta-data",
            "/https-metadata" => "https://169.254.169.254/latest/meta-data",
            "/six" => "https://[::1]/",
            "/mapped" => "https://[::ffff:10.0.0.1]/",
            "/hexadecimal" => "https://0x7f000001/",
            "/private" => "https://10.0.0.1/",
            "/file" => "file:///etc/passwd",
            "/data" => "data:text/plain,x",
            "/password" => &format!("http://me:secret@127.0.0.1:{port}/"),
            _ => "https://",
        };
        redirect(stream, location);
    });
    for path in [
        "/port",
        "/https-port",
        "/name",
        "/metadata",
        "/https-metadata",
        "/six",
        "/mapped",
        "/hexadecimal",
        "/private",
        "/file",
        "/data",
        "/password",
        "/nothing",
    ] {
        let (code, message) = failure(&server, path);
        assert_eq!(code, ImportCode::SourceRefused, "{path}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn length_is_limited() {
    let server = TestServer::start(|path, stream| match path {
        "/exact" => respond(stream, "200 OK", "", &[b'x'; 1_000]),
        "/long" => respond(stream, "200 OK", "", &[b'x'; 1_001]),
        "/short" => {
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 900\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(b"too short").unwrap();
        }
        "/more" => {
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(b"abcdef").unwrap();
        }
        "/packed" => respond(stream, "200 OK", "content-encoding: gzip\r\n", b"x"),
        _ => {
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            // It ends when the client leaves.
            while stream.write_all(&[b'x'; 1_000]).is_ok() {}
        }
    });
    assert_eq!(fetch(&server.url("/exact")).unwrap().bytes.len(), 1_000);
    assert_eq!(fetch(&server.url("/more")).unwrap().bytes, b"abc");
    let code = |path| failure(&server, path).0;
    assert_eq!(code("/long"), ImportCode::SourceTooLarge);
    assert_eq!(code("/endless"), ImportCode::SourceTooLarge);
    assert_eq!(code("/short"), ImportCode::SourceUnreachable);
    assert_eq!(code("/packed"), ImportCode::SourceRefused);
}

#[test]
fn time_is_limited() {
    let server = TestServer::start(|path, stream| {
        let head = match path {
            "/body" => "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n",
            _ => "HTTP/1.1 200 OK\r\nslow: ",
        };
        stream.write_all(head.as_bytes()).unwrap();
        let mut byte = || {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b"H").is_ok()
        };
        while byte() {}
    });
    for path in ["/body", "/head"] {
        let url = server.url(path);
        let web = client(&url).with_timeout(Duration::from_millis(200));
        let error = web.fetch(&url, 1_000_000, web.deadline()).unwrap_err();
        assert_eq!(error.code, ImportCode::SourceUnreachable, "{error}");
        assert!(error.message.contains("takes longer than"), "{error}");
    }
    let url = server.url("/late");
    let web = client(&url);
    let past = std::time::Instant::now();
    assert!(web.fetch(&url, 10, past).is_err());
}

#[test]
fn a_login_is_sent_to_its_origin_alone() {
    let other = TestServer::with(vec![("/", b"x".to_vec())]);
    let server = TestServer::with(vec![("/", b"x".to_vec())]);
    let logins = Netrc::parse("machine 127.0.0.1 login me password secret");
    let login = || Login::of(&server.url("/"), &logins);
    let sent = |server: &TestServer| {
        let url = server.url("/");
        let web = Web::new(&url, TlsConfig::default(), login());
        web.fetch(&url, 10, web.deadline()).unwrap();
        let head = server.requests().pop().unwrap();
        head.contains("authorization: Basic bWU6c2VjcmV0\r\n")
    };
    assert!(sent(&server));
    assert!(!sent(&other), "another port is another origin");
    // A login for every host would go to any address that a document names.
    let all = Netrc::parse("default login me password secret");
    assert!(Login::of(&server.url("/"), &all).is_none());
}

#[test]
fn nobody_there_is_an_error() {
    let url = TestServer::with(Vec::new()).url("/");
    assert_eq!(fetch(&url).unwrap_err().code, ImportCode::SourceUnreachable);
}

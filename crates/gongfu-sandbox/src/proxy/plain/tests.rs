//! Requests by plain HTTP, and what of them reaches a host.

use gongfu_core::network::{ProxyServer, Secret};
use gongfu_core::sandbox::{BuildReach, Reach};

use super::super::head::{self, Request};
use super::super::refusal::Refusal;

/// The reach of a build whose index is at these hosts, by plain HTTP.
fn reach() -> Reach {
    Reach {
        rules: gongfu_core::network::Rules(vec![
            "index.test:80".parse().unwrap(),
            "index.test:8080".parse().unwrap(),
            "secure.test".parse().unwrap(),
        ]),
        build: Some(BuildReach {
            addresses: vec!["[fd00::1]:80".parse().unwrap()],
            plain: [
                "index.test:80",
                "index.test:8080",
                "[fd00::1]:80",
                "elsewhere.test:80",
            ]
            .map(|text| text.parse().unwrap())
            .to_vec(),
            ..BuildReach::default()
        }),
        ..Reach::default()
    }
}

fn read(text: &str, reach: &Reach) -> Result<Request, Refusal> {
    head::read(text.as_bytes(), reach).map(Option::unwrap)
}

fn status(text: &str, reach: &Reach) -> &'static str {
    read(text, reach).unwrap_err().status
}

#[test]
fn request_is_written_anew_for_the_host() {
    let asked = "GET http://Index.test:8080/simple/a?b=c#d HTTP/1.1\r\nHost: other.test\r\nAccept: x\r\nProxy-Authorization: Basic verysecret\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nContent-Length: 0\r\nAuthorization: Basic bWU6a2V5\r\n\r\n";
    let request = read(asked, &reach()).unwrap();
    let plain = request.plain.unwrap();
    let said = String::from_utf8(plain.head(&request.endpoint, None)).unwrap();
    assert_eq!(
        said,
        "GET /simple/a?b=c HTTP/1.1\r\nHost: index.test:8080\r\nAccept: x\r\nAuthorization: Basic bWU6a2V5\r\nConnection: close\r\n\r\n"
    );
    let server = ProxyServer {
        endpoint: "proxy.corp:3128".parse().unwrap(),
        authorization: Some(Secret::new("Basic dTpw")),
    };
    let said = String::from_utf8(plain.head(&request.endpoint, Some(&server))).unwrap();
    assert!(
        said.starts_with("GET http://index.test:8080/simple/a?b=c HTTP/1.1\r\n"),
        "{said}"
    );
    assert!(
        said.contains("\r\nProxy-Authorization: Basic dTpw\r\n"),
        "{said}"
    );
    for (url, first) in [
        (
            "http://index.test",
            "HEAD / HTTP/1.1\r\nHost: index.test\r\n",
        ),
        (
            "http://index.test?a",
            "HEAD /?a HTTP/1.1\r\nHost: index.test\r\n",
        ),
        (
            "http://[fd00::1]/x",
            "HEAD /x HTTP/1.1\r\nHost: [fd00::1]\r\n",
        ),
    ] {
        let request = read(&format!("HEAD {url} HTTP/1.1\r\n\r\n"), &reach()).unwrap();
        let said = request.plain.unwrap().head(&request.endpoint, None);
        assert!(said.starts_with(first.as_bytes()), "{url}");
    }
}

#[test]
fn only_downloads_from_the_index_are_plain() {
    let get = |url: &str| format!("GET {url} HTTP/1.1\r\n\r\n");
    assert!(read(&get("http://index.test/"), &reach()).is_ok());
    for url in [
        "http://other.test/",
        // A host of the build, but not by plain HTTP; and one that is no host of the build at all.
        "http://secure.test:443/",
        "http://elsewhere.test/",
        "http://index.test:81/",
        "http://index.test.evil.test/",
        "http://me:key@index.test/",
        "http://[fd00::2]/",
        "http://127.0.0.1/",
        "http:///x",
        "https://index.test/",
        "ftp://index.test/",
        "/simple/",
    ] {
        assert_eq!(status(&get(url), &reach()), "403 Forbidden", "{url}");
    }
    // What has no build gets nothing, whatever was granted.
    let granted = Reach {
        build: None,
        ..reach()
    };
    assert_eq!(
        status(&get("http://index.test/"), &granted),
        "403 Forbidden"
    );
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let asked = format!("{method} http://index.test/ HTTP/1.1\r\n\r\n");
        assert_eq!(
            status(&asked, &reach()),
            "405 Method Not Allowed",
            "{method}"
        );
    }
    for field in [
        "Content-Length: 5",
        "Content-Length: 0, 5",
        "Transfer-Encoding: chunked",
    ] {
        let asked = format!("GET http://index.test/ HTTP/1.1\r\n{field}\r\n\r\n");
        assert_eq!(status(&asked, &reach()), "400 Bad Request", "{field}");
    }
}

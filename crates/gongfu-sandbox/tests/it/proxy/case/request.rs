//! Requests other than one plain `CONNECT`.

use super::super::session::Place;
use super::{Case, Need, case};

const EVIL: &str = "GET http://evil.test:8443/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for method in [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND",
    ] {
        let line = format!(
            "each(*[tell(b'{method} ' + at + b' HTTP/1.1\\r\\nHost: good.test:8443\\r\\n\\r\\n') for at in \
             (b'http://good.test:8443/', b'https://good.test:8443/', b'http://evil.test:8443/', b'/', b'*', b'good.test:8443')])"
        );
        cases.push(case(format!("{method} without TLS"), line, &["403"]));
    }
    let tried = |name: &str, line: String, refused: &[&'static str]| case(name, line, refused);
    let request = |name: &str, request: &str, refused: &[&'static str]| {
        case(name, format!("tell(b'{request}')"), refused)
    };
    cases.extend([
        request("a lower-case method", "connect good.test:8443 HTTP/1.1\\r\\n\\r\\n", &["403"]),
        request("the newer HTTP", "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n", &["400"]),
        request("an unknown version", "CONNECT good.test:8443 HTTP/9.9\\r\\n\\r\\n", &["400"]),
        request("no version", "CONNECT good.test:8443\\r\\n\\r\\n", &["400"]),
        request("two blanks", "CONNECT  good.test:8443 HTTP/1.1\\r\\n\\r\\n", &["400"]),
        request("two hosts", "CONNECT good.test:8443 evil.test:8443 HTTP/1.1\\r\\n\\r\\n", &["400"]),
        request("SOCKS 4", "\\4\\1\\x20\\xfb\\x0b\\x16\\0\\2\\0", &["400"]),
        request("SOCKS 5", "\\5\\1\\0\\5\\1\\0\\1\\x0b\\x16\\0\\2\\x20\\xfb", &["400"]),
        request(
            "an upgrade to WebSocket elsewhere",
            "GET http://evil.test:8443/ HTTP/1.1\\r\\nHost: evil.test:8443\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n",
            &["403"],
        )
        .control(Place::Granted, "fetched('good.test', Upgrade='websocket')", "101")
        .needs(Need::Certificate),
        request(
            "an upgrade to the newer HTTP",
            "OPTIONS * HTTP/1.1\\r\\nHost: evil.test:8443\\r\\nConnection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\nHTTP2-Settings: AAMAAABkAAQAAP__\\r\\n\\r\\n",
            &["403"],
        ),
        tried("TLS with the proxy itself", "tell(hello(b'good.test'))".to_owned(), &["400"]),
        request("another host in a field", "CONNECT evil.test:8443 HTTP/1.1\\r\\nHost: good.test:8443\\r\\n\\r\\n", &["403"]),
        request(
            "a line end in the host, and a field",
            "CONNECT good.test:8443\\r\\nHost: evil.test:8443 HTTP/1.1\\r\\n\\r\\n",
            &["400"],
        ),
        request(
            "a line end in the host, and a request",
            "CONNECT good.test:8443 HTTP/1.1 x\\r\\nCONNECT evil.test:8443 HTTP/1.1\\r\\n\\r\\n",
            &["400"],
        ),
        request("a field that goes on in the next line", "CONNECT good.test:8443 HTTP/1.1\\r\\nX: y\\r\\n z\\r\\n\\r\\n", &["400"]),
        request("a blank before the colon", "CONNECT good.test:8443 HTTP/1.1\\r\\nHost : evil.test\\r\\n\\r\\n", &["400"]),
        request("a NUL in a field", "CONNECT good.test:8443 HTTP/1.1\\r\\nX: a\\0b\\r\\n\\r\\n", &["400"]),
        // What comes behind is said to the host, if it is TLS and for it; it is never a request to the proxy.
        request(
            "a length, and a request in what it counts",
            &format!("CONNECT good.test:8443 HTTP/1.1\\r\\nContent-Length: 62\\r\\n\\r\\n{EVIL}"),
            &["200 closed"],
        ),
        request(
            "pieces, and a request behind the last one",
            &format!("CONNECT good.test:8443 HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{EVIL}"),
            &["200 closed"],
        ),
        request(
            "a length and pieces",
            &format!("CONNECT good.test:8443 HTTP/1.1\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{EVIL}"),
            &["200 closed"],
        ),
        tried("two requests at once", "tell(connect(GOOD) + connect(b'evil.test:8443'))".to_owned(), &["200 closed"])
            .control(Place::Granted, "tell(connect(GOOD) + hello(b'good.test'))", "200 hi from 11.22.0.2"),
        tried("two requests at once, the first one refused", "tell(connect(b'evil.test:8443') + connect(GOOD) + hello(b'good.test'))".to_owned(), &["403"]),
        tried("a second request after a refusal", "again(connect(b'evil.test:8443'), connect(GOOD))".to_owned(), &["closed"]),
        tried("a second request after one that is none", "again(b'x\\r\\n\\r\\n', connect(GOOD))".to_owned(), &["closed"]),
        tried("a request instead of a greeting", "tell(connect(GOOD), connect(b'evil.test:8443'))".to_owned(), &["200 closed"]),
        tried("a thousand fields", "tell(connect(GOOD, more=b'X: y\\r\\n' * 1000))".to_owned(), &["400"])
            .control(Place::Granted, "tell(connect(GOOD, more=b'X: y\\r\\n' * 50), hello(b'good.test'))", "200 hi"),
        tried("a field without an end", "tell(b'CONNECT good.test:8443 HTTP/1.1\\r\\nX: ' + b'y' * 100000)".to_owned(), &["431", "closed"])
            .control(Place::Granted, "tell(connect(GOOD, more=b'X: ' + b'y' * 4000 + b'\\r\\n'), hello(b'good.test'))", "200 hi"),
        tried("a name of a field without an end", "tell(b'CONNECT good.test:8443 HTTP/1.1\\r\\n' + b'y' * 100000)".to_owned(), &["431", "closed"]),
        tried("lines without anything", "tell(b'\\r\\n' * 50000)".to_owned(), &["400", "431", "closed"]),
        tried("a megabyte of nothing", "tell(b'\\0' * 1000000)".to_owned(), &["400", "closed"]),
        tried("half a request, and the end", "half(b'CONNECT good.test:84')".to_owned(), &["closed"])
            .control(Place::Granted, "half(connect(GOOD), hello(b'good.test'))", "200 hi from 11.22.0.2"),
        tried("a request, half a greeting, and the end", "half(connect(GOOD), hello(b'good.test')[:40])".to_owned(), &["200 closed"]),
        tried("a request that never ends, thirty times", "slowly(0.5)".to_owned(), &["closed"])
            .control(Place::Granted, "trickled()", "200 hi from 11.22.0.2")
            .slow(),
        tried("10,000 connections, and what is forbidden behind them", "crowd(10000) + ' ' + via(b'evil.test:8443')".to_owned(), &["400 403"]),
        tried("more connections than may be carried at once", "together(120)".to_owned(), &["bounded"]).heard(),
    ]);
    cases
}

//! `gongfu serve` from outside: both eras on one address, hygiene, health, an orderly end.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, context, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::site::{Reply, Site};

fn serve(fixture: &Fixture) -> Site {
    Site::start(&fixture.only(["serve", "--listen", "127.0.0.1:0"]))
}

#[test]
fn every_revision_is_served_at_one_address() {
    let fixture = Fixture::with_skills();
    let site = serve(&fixture);
    let found = site.ask("server/discover", json!({}));
    let versions: Vec<&str> = list_at(&found, "/supportedVersions")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        versions.contains(&"2026-07-28") && versions.contains(&"2024-11-05"),
        "{versions:?}"
    );
    assert!(
        text_at(&found, "/instructions").contains("- pdf-tools:"),
        "{found:#}"
    );
    let tools = at(&site.ask("tools/list", json!({})), "/tools")
        .as_array()
        .unwrap()
        .len();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.open(version);
        let listed = site.ask_in(&session, "tools/list", json!({}));
        assert_eq!(list_at(&listed, "/tools").len(), tools, "{version}");
        let ended = site.send("DELETE", "/mcp", &[("mcp-session-id", &session)], "");
        assert_eq!(ended.status, 204, "{ended:#?}");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let late = site.send("POST", "/mcp", &[("mcp-session-id", &session)], &body);
        assert_eq!(
            (late.status, at(&late.json(), "/error/code")),
            (404, &json!(-32_001))
        );
    }
    // A handshake has no place in the newest one.
    let wrong = site.ask_at("/mcp", "initialize", json!({}));
    assert_eq!(
        (wrong.status, at(&wrong.json(), "/error/code")),
        (404, &json!(-32_601))
    );
}

#[test]
fn foreign_host_or_origin_is_refused_with_a_problem_document() {
    let fixture = Fixture::with_skills();
    let site = serve(&fixture);
    for (method, path, headers, status, code) in [
        (
            "GET",
            "/health",
            vec![("host", "evil.example")],
            403,
            "HOST_UNKNOWN",
        ),
        (
            "POST",
            "/mcp",
            vec![("host", "evil.example")],
            403,
            "HOST_UNKNOWN",
        ),
        (
            "GET",
            "/mcp",
            vec![("origin", "https://evil.example")],
            403,
            "ORIGIN_FOREIGN",
        ),
        (
            "GET",
            "/health",
            vec![("origin", "null")],
            403,
            "ORIGIN_FOREIGN",
        ),
        ("GET", "/nowhere", vec![], 404, "NOT_FOUND"),
        ("POST", "/metrics", vec![], 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/sse", vec![], 410, "TRANSPORT_GONE"),
        ("POST", "/sse", vec![], 410, "TRANSPORT_GONE"),
    ] {
        let reply = site.send(method, path, &headers, "");
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (status, "application/problem+json"),
            "{method} {path}"
        );
        assert_hygiene(&reply);
        let told = reply.json();
        assert_eq!(text_at(&told, "/code"), code, "{told:#}");
        assert_eq!(at(&told, "/status"), status);
        assert!(
            !text_at(&told, "/detail").is_empty() && text_at(&told, "/timestamp").ends_with('Z')
        );
    }
    let good = site.send(
        "GET",
        "/health",
        &[
            ("host", site.authority()),
            ("origin", "http://localhost:6274"),
        ],
        "",
    );
    assert_eq!(good.status, 200);
    assert_hygiene(&good);
    for path in ["/health/ready", "/metrics"] {
        assert_hygiene(&site.send("GET", path, &[], ""));
    }
}

/// Nothing that is answered can become a page of a browser.
fn assert_hygiene(reply: &Reply) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        (
            "content-security-policy",
            "default-src 'none'; frame-ancestors 'none'",
        ),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(reply.header(name), value, "{reply:#?}");
    }
}

#[test]
fn health_and_metrics_count_calls() {
    let fixture = Fixture::with_skills();
    let site = serve(&fixture);
    assert_eq!(
        text_at(&site.send("GET", "/health", &[], "").json(), "/status"),
        "ok"
    );
    let mut ready = site.send("GET", "/health/ready", &[], "");
    for _ in 0..100 {
        if ready.status == 200 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        ready = site.send("GET", "/health/ready", &[], "");
    }
    assert_eq!(
        (ready.status, text_at(&ready.json(), "/status")),
        (200, "ready")
    );
    let call = json!({"name": "skill_load", "arguments": {"skill_name": "pdf-tools"}});
    site.ask("tools/call", call);
    site.ask(
        "tools/call",
        json!({"name": "skill_load", "arguments": {"skill_name": "none"}}),
    );
    site.open("2025-11-25");
    let reply = site.send("GET", "/metrics", &[("x-request-id", "mine-1")], "");
    assert_eq!(reply.header("x-request-id"), "mine-1");
    for line in [
        "gongfu_tool_calls_total{tool=\"skill_load\",outcome=\"ok\"} 1",
        "gongfu_tool_calls_total{tool=\"skill_load\",outcome=\"SKILL_NOT_FOUND\"} 1",
        "gongfu_http_requests_total{method=\"POST\",route=\"/mcp\",status=\"200\"} 3",
        "gongfu_skills 2",
        "gongfu_mcp_sessions 1",
        "# EOF",
    ] {
        assert!(
            reply.body.lines().any(|seen| seen == line),
            "no {line} in\n{}",
            reply.body
        );
    }
}

#[test]
fn address_of_another_machine_is_refused_with_the_reason() {
    let fixture = Fixture::with_skills();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ran = fixture.only(["serve", "--listen", address]).ends(2);
        assert!(
            ran.stderr.contains("is open to other machines") && ran.stderr.contains("--accounts"),
            "{}",
            ran.stderr
        );
    }
    let ran = fixture
        .only(["serve"])
        .with("GONGFU_LISTEN", "192.0.2.1:80")
        .ends(2);
    assert!(
        ran.stderr.contains("is open to other machines"),
        "{}",
        ran.stderr
    );
    let ran = fixture
        .only(["serve", "--public-url", "https://a,https://b"])
        .ends(2);
    assert!(
        ran.stderr.contains("it is more than one; use the one"),
        "{}",
        ran.stderr
    );
    let ran = fixture
        .only(["serve"])
        .with("GONGFU_PUBLIC_URL", "https://*")
        .ends(1);
    assert!(
        ran.stderr.contains("`*` is not a host; use"),
        "{}",
        ran.stderr
    );
    let site = serve(&fixture);
    let ran = fixture
        .only(["serve", "--listen", site.authority()])
        .ends(1);
    assert!(ran.stderr.contains("is in use"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn unix_socket_is_private_and_removed() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = Fixture::with_skills();
    let path = fixture.path("gongfu.sock");
    let address = format!("unix:{}", path.display());
    let start = || Site::start(&fixture.only(["serve", "--listen", &address]));
    let site = start();
    assert_eq!(site.url, address);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        text_at(&site.send("GET", "/health", &[], "").json(), "/status"),
        "ok"
    );
    let second = fixture.only(["serve", "--listen", &address]).ends(1);
    assert!(
        second.stderr.contains("is in use by another server"),
        "{}",
        second.stderr
    );
    assert_eq!(site.terminate().0, Some(0));
    assert!(!path.exists());
    // One that nobody listens at is replaced; a file is not.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert_eq!(start().terminate().0, Some(0));
    std::fs::write(&path, "mine").unwrap();
    let refused = fixture.only(["serve", "--listen", &address]).ends(1);
    assert!(
        refused.stderr.contains("not a socket"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn hundred_open_streams_do_not_delay_shutdown() {
    let fixture = Fixture::with_skills();
    let site = serve(&fixture);
    let meta = context("2026-07-28");
    let mut streams = Vec::new();
    for id in 0..50 {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": true}, "_meta": meta}});
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "subscriptions/listen"),
        ];
        let mut stream = site.connect();
        stream
            .write_all(Site::wire("POST", "/mcp", &headers, &body.to_string()).as_bytes())
            .unwrap();
        streams.push(stream);
        let session = site.open("2025-11-25");
        let mut stream = site.connect();
        let headers = [
            ("accept", "text/event-stream"),
            ("mcp-session-id", session.as_str()),
        ];
        stream
            .write_all(Site::wire("GET", "/mcp", &headers, "").as_bytes())
            .unwrap();
        streams.push(stream);
    }
    for stream in &mut streams {
        let mut head = [0; 15];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK");
    }
    let (code, log) = site.terminate();
    assert_eq!((code, log.as_str()), (Some(0), ""));
    for stream in &mut streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn request_joins_the_trace_that_it_names() {
    let fixture = Fixture::with_skills();
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let (mut stream, _) = collector.accept().unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut all = Vec::new();
        let mut piece = [0; 4096];
        while !all.windows(4).any(|four| four == b"\r\n\r\n")
            || !all.windows(8).any(|name| name == b"skill_lo")
        {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&piece[..read]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        all
    });
    let run = fixture
        .only(["serve", "--listen", ":0"])
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint);
    let site = Site::start(&run);
    let session = site.open("2025-11-25");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let params = json!({"name": "skill_load", "arguments": {"skill_name": "pdf-tools"},
        "_meta": {"traceparent": format!("00-{trace}-b7ad6b7169203331-01")}});
    site.ask_in(&session, "tools/call", params);
    assert_eq!(site.terminate().0, Some(0));
    let sent = received.join().unwrap();
    let bytes: Vec<u8> = (0..16)
        .map(|at| u8::from_str_radix(&trace[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    assert!(
        sent.starts_with(b"POST /v1/traces "),
        "{}",
        String::from_utf8_lossy(&sent)
    );
    assert!(
        sent.windows(16).any(|window| window == bytes),
        "the trace isn't in what was sent"
    );
}

#[cfg(unix)]
#[test]
fn wrong_folder_of_skills_is_logged_at_start() {
    let fixture = Fixture::with_skills();
    fixture.write("project/a-file", "");
    let run = fixture.only([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--skills-dir",
        "gone",
        "--skills-dir",
        "a-file",
    ]);
    let (_, log) = Site::start(&run).terminate();
    for (folder, what) in [("gone", "not there"), ("a-file", "not a folder")] {
        let told = |line: &str| line.contains(folder) && line.contains(what);
        assert!(log.lines().any(told), "{folder}: {log}");
    }
}

//! `gongfu serve` from outside: both eras on one address, hygiene, health, an orderly end.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::site::{Reply, Site};
use crate::world::{World, at, text_at};

fn serve(world: &World) -> Site {
    Site::start(&world.only(["serve", "--listen", "127.0.0.1:0"]))
}

#[test]
fn every_revision_is_served_at_one_address() {
    let world = World::with_skills();
    let site = serve(&world);
    let found = site.ask("server/discover", json!({}));
    let versions: Vec<&str> = at(&found, "/supportedVersions")
        .as_array()
        .unwrap()
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
        assert_eq!(
            at(&listed, "/tools").as_array().unwrap().len(),
            tools,
            "{version}"
        );
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
fn the_address_picks_the_profile() {
    let world = World::with_skills();
    let site = serve(&world);
    let names = |path: &str| -> Vec<String> {
        let listed = site.ask_at(path, "tools/list", json!({})).json();
        let tools = at(&listed, "/result/tools").as_array().unwrap().iter();
        tools
            .map(|tool| text_at(tool, "/name").to_owned())
            .collect()
    };
    assert!(names("/mcp").contains(&"skill_load".to_owned()));
    assert_eq!(names("/mcp?profile=read_skill"), ["read_skill"]);
    let called = site.ask_at(
        "/mcp?profile=read_skill",
        "tools/call",
        json!({"name": "skill_load", "arguments": {"skill_name": "pdf-tools"}}),
    );
    assert_eq!(at(&called.json(), "/error/code"), -32_602);
    let unknown = site.ask_at("/mcp?profile=nobody", "tools/list", json!({}));
    assert_eq!(unknown.status, 400);
    assert!(text_at(&unknown.json(), "/error/message").contains("there is no profile `nobody`"));
}

#[test]
fn strangers_are_refused_and_the_refusals_are_documents() {
    let world = World::with_skills();
    let site = serve(&world);
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
fn health_and_metrics_tell_what_happens() {
    let world = World::with_skills();
    let site = serve(&world);
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
fn other_machines_are_refused_with_the_reason() {
    let world = World::with_skills();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ran = world.only(["serve", "--listen", address]).ends(2);
        assert!(
            ran.stderr.contains("there are no accounts yet"),
            "{}",
            ran.stderr
        );
    }
    let ran = world
        .only(["serve"])
        .with("GONGFU_LISTEN", "192.0.2.1:80")
        .ends(1);
    assert!(
        ran.stderr.contains("there are no accounts yet"),
        "{}",
        ran.stderr
    );
    let ran = world
        .only(["serve", "--public-url", "https://a,https://b"])
        .ends(2);
    assert!(
        ran.stderr.contains("it is more than one; give the one"),
        "{}",
        ran.stderr
    );
    let ran = world
        .only(["serve"])
        .with("GONGFU_PUBLIC_URL", "https://*")
        .ends(1);
    assert!(
        ran.stderr.contains("`*` is no host; name"),
        "{}",
        ran.stderr
    );
    let site = serve(&world);
    let ran = world.only(["serve", "--listen", site.authority()]).ends(1);
    assert!(
        ran.stderr.contains("can't be listened at"),
        "{}",
        ran.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_unix_socket_is_its_owners_alone_and_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::with_skills();
    let path = world.path("gongfu.sock");
    let address = format!("unix:{}", path.display());
    let start = || Site::start(&world.only(["serve", "--listen", &address]));
    let site = start();
    assert_eq!(site.url, address);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        text_at(&site.send("GET", "/health", &[], "").json(), "/status"),
        "ok"
    );
    let second = world.only(["serve", "--listen", &address]).ends(1);
    assert!(
        second.stderr.contains("another program listens there"),
        "{}",
        second.stderr
    );
    assert_eq!(site.terminate().0, Some(0));
    assert!(!path.exists());
    // One that nobody listens at is replaced; a file is not.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert_eq!(start().terminate().0, Some(0));
    std::fs::write(&path, "mine").unwrap();
    let refused = world.only(["serve", "--listen", &address]).ends(1);
    assert!(refused.stderr.contains("no socket"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn a_hundred_open_streams_do_not_hold_the_end_up() {
    let world = World::with_skills();
    let site = serve(&world);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
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

#[test]
fn half_requests_do_not_hold_others_up() {
    let world = World::with_skills();
    let site = serve(&world);
    let mut halves = Vec::new();
    for part in [
        "",
        "POST /mcp HT",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\n",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"json",
    ] {
        for _ in 0..50 {
            let mut stream = site.connect();
            stream.write_all(part.as_bytes()).unwrap();
            halves.push(stream);
        }
    }
    assert!(
        at(&site.ask("tools/list", json!({})), "/tools")
            .as_array()
            .unwrap()
            .len()
            > 3
    );
    drop(halves);
}

#[cfg(unix)]
#[test]
fn half_a_head_does_not_hold_the_end_up_and_half_a_body_is_waited_for() {
    let world = World::with_skills();
    let site = serve(&world);
    let mut half = site.connect();
    half.write_all(b"POST /mcp HTTP/1.1\r\nHost:").unwrap();
    site.open("2025-11-25");
    let started = std::time::Instant::now();
    assert_eq!(site.terminate().0, Some(0));
    // The server's own deadline is 10 s.
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(half.read_to_end(&mut Vec::new()).unwrap_or_default(), 0);

    let site = serve(&world);
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let wire = Site::wire("POST", "/mcp", &[], &body.to_string());
    let (sent, rest) = wire.split_at(wire.len() - 5);
    let mut stream = site.connect();
    stream.write_all(sent.as_bytes()).unwrap();
    // Another request has been answered behind it: the first one has been read.
    site.send("GET", "/health", &[], "");
    let late = std::thread::spawn({
        let rest = rest.to_owned();
        move || {
            std::thread::sleep(Duration::from_millis(300));
            let mut answer = String::new();
            stream.write_all(rest.as_bytes()).unwrap();
            stream.read_to_string(&mut answer).unwrap();
            answer
        }
    });
    assert_eq!(site.terminate().0, Some(0));
    let answer = late.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[cfg(unix)]
#[test]
fn a_request_is_part_of_the_trace_that_it_names() {
    let world = World::with_skills();
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let (mut stream, _) = collector.accept().unwrap();
        stream
            .set_read_timeout(Some(crate::world::PATIENCE))
            .unwrap();
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
    let run = world
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

#[test]
fn older_clients_get_no_event_without_data() {
    let world = World::with_skills();
    let site = serve(&world);
    for (version, primed) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ] {
        let session = site.open(version);
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", version),
        ];
        let body = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}).to_string();
        let reply = site.send("POST", "/mcp", &headers, &body);
        assert_eq!(reply.status, 200, "{reply:#?}");
        let data: Vec<&str> = reply
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(str::trim)
            .collect();
        let empty = data.iter().filter(|data| data.is_empty()).count();
        assert_eq!(empty, usize::from(primed), "{version}: {}", reply.body);
        assert!(data.iter().any(|data| data.contains("\"id\":3")));
    }
}

#[test]
fn requests_of_one_id_at_once_are_answered_each() {
    let world = World::with_skills();
    let site = serve(&world);
    let session = site.open("2025-11-25");
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "skill_load", "arguments": {"skill_name": "pdf-tools"}}});
    let body = call.to_string();
    let mut refused = 0;
    for _ in 0..20 {
        let replies = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| site.send("POST", "/mcp", &headers, &body)))
                .collect();
            let replies = asked.into_iter().map(|asked| asked.join().unwrap());
            replies.collect::<Vec<_>>()
        });
        for reply in &replies {
            match reply.status {
                200 => assert!(reply.body.contains("\"result\""), "{reply:#?}"),
                400 => {
                    refused += 1;
                    let error = reply.json();
                    assert_eq!(at(&error, "/error/code"), -32_600);
                    assert!(error.get("id").is_none(), "{error:#}");
                    assert!(text_at(&error, "/error/message").contains("its own id"));
                }
                _ => panic!("{reply:#?}"),
            }
        }
        assert!(replies.iter().any(|reply| reply.status == 200));
    }
    assert!(refused > 0, "no two requests were ever there at once");
    // Afterwards the id is free again.
    assert_eq!(site.send("POST", "/mcp", &headers, &body).status, 200);
}

#[test]
fn a_greeting_that_is_none_is_told_what_it_lacks() {
    let world = World::with_skills();
    let site = serve(&world);
    for (params, named) in [
        (
            json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
            "clientInfo",
        ),
        (json!({}), "protocolVersion"),
        (
            json!({"protocolVersion": 5, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
            "string",
        ),
        (
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}),
            "name",
        ),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": params});
        let reply = site.send("POST", "/mcp", &[], &body.to_string());
        let error = reply.json();
        assert_eq!(
            (reply.status, at(&error, "/error/code"), at(&error, "/id")),
            (400, &json!(-32_602), &json!(9)),
            "{reply:#?}"
        );
        let message = text_at(&error, "/error/message");
        assert!(
            message.contains("initialize") && message.contains(named),
            "{message}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_folder_of_skills_that_is_none_is_told_at_the_start() {
    let world = World::with_skills();
    world.write("project/a-file", "");
    let run = world.only([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--skills-dir",
        "gone",
        "--skills-dir",
        "a-file",
    ]);
    let (_, log) = Site::start(&run).terminate();
    for (folder, what) in [("gone", "not there"), ("a-file", "no folder")] {
        let told = |line: &str| line.contains(folder) && line.contains(what);
        assert!(log.lines().any(told), "{folder}: {log}");
    }
}

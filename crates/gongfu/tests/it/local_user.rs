//! `gongfu serve` on TCP answers its own user: any other local user was that user once (finding 9 of the
//! attack review).
//!
//! Other users are threads of this test with another user id, which only root can make.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::text_at;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
use rustix::process::Uid;
use serde_json::json;

use crate::fixture::Fixture;
use crate::site::{Reply, Site};

const ADDRESSES: [&str; 4] = [
    "127.0.0.1:0",
    "127.8.8.8:0",
    "[::1]:0",
    "[::ffff:127.0.0.1]:0",
];
const OTHER: u32 = 65_533;

/// The addresses that this machine has.
fn addresses() -> impl Iterator<Item = &'static str> {
    ADDRESSES.into_iter().filter(|address| {
        let is_there = TcpListener::bind(address).is_ok();
        if !is_there {
            eprintln!("not tried, as this machine has no such address: {address}");
        }
        is_there
    })
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("not tried: only root can be another user");
    }
    is_root
}

fn as_other<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    as_user(OTHER, action)
}

/// Does something as another user.
fn as_user<T: Send>(user: u32, action: impl FnOnce() -> T + Send) -> T {
    let other = || {
        let user = Uid::from_raw(user);
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        action()
    };
    std::thread::scope(|scope| scope.spawn(other).join().unwrap())
}

fn serve(fixture: &Fixture, address: &str) -> Site {
    Site::start(&fixture.only(["serve", "--listen", address]))
}

/// A call of a tool, as a whole request.
fn call(headers: &[(&str, &str)]) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
    let headers = [headers, &[("connection", "close")]].concat();
    Site::wire("POST", "/mcp", &headers, &body.to_string())
}

/// The token of the server, with the scheme.
fn bearer(fixture: &Fixture) -> String {
    format!("Bearer {}", fixture.read("home/token"))
}

fn assert_refused(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.header("www-authenticate")),
        (401, "Bearer"),
        "{reply:#?}"
    );
    assert_eq!(reply.header("content-type"), "application/problem+json");
    let told = reply.json();
    assert_eq!(text_at(&told, "/code"), "UNAUTHENTICATED");
    assert!(text_at(&told, "/detail").contains("GONGFU_HOME"), "{told}");
}

/// The number of requests to MCP that were answered with a status, as soon as there is one.
fn answered(site: &Site, status: u16) -> usize {
    let name = format!(
        "gongfu_http_requests_total{{method=\"POST\",route=\"/mcp\",status=\"{status}\"}} "
    );
    let metrics = site.send("GET", "/metrics", &[], "").body;
    let number = metrics.lines().find_map(|line| line.strip_prefix(&name));
    number.map_or(0, |number| number.parse().unwrap())
}

#[test]
fn finding_9_only_the_servers_user_is_answered_over_tcp() {
    for address in addresses() {
        let fixture = Fixture::with_skills();
        let site = serve(&fixture, address);
        site.ask("tools/list", json!({}));
        let session = site.open("2025-11-25");
        assert!(
            site.send("GET", "/health", &[], "")
                .body
                .contains("version")
        );
        // A token that is wrong takes nothing from the server's user.
        let reply = site.send("GET", "/metrics", &[("authorization", "Bearer x")], "");
        assert_eq!(reply.status, 200);
        if !is_root() {
            continue;
        }
        as_other(|| {
            assert_refused(&site.ask_at("/mcp", "tools/list", json!({})));
            for (method, path) in [
                ("GET", "/mcp"),
                ("DELETE", "/mcp"),
                ("GET", "/metrics"),
                ("GET", "/health/ready"),
                ("GET", "/health/"),
                ("GET", "/nowhere"),
                ("GET", "/sse"),
            ] {
                let headers = [
                    ("mcp-session-id", session.as_str()),
                    ("authorization", "Bearer x"),
                ];
                assert_refused(&site.send(method, path, &headers, ""));
            }
            let health = site.send("GET", "/health", &[], "");
            assert_eq!(
                (health.status, health.json()),
                (200, json!({"status": "ok"}))
            );
        });
        let token = bearer(&fixture);
        let sent = [("authorization", token.as_str())];
        as_other(|| {
            assert_eq!(site.send("GET", "/metrics", &sent, "").status, 200);
            assert!(
                site.send("GET", "/health", &sent, "")
                    .body
                    .contains("version")
            );
            let mut stream = site.connect();
            stream.write_all(call(&sent).as_bytes()).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            let reply = Reply::read(&answer);
            assert_eq!(reply.status, 200, "{reply:#?}");
        });
    }
}

#[test]
fn finding_9_server_of_a_user_answers_not_even_root() {
    if !is_root() {
        return;
    }
    let fixture = Fixture::with_skills();
    std::fs::create_dir(fixture.path("home")).unwrap();
    let program = fixture.path("gongfu");
    std::fs::copy(env!("CARGO_BIN_EXE_gongfu"), &program).unwrap();
    for folder in ["", "project", "user", "skills", "home"] {
        std::os::unix::fs::chown(fixture.path(folder), Some(OTHER), None).unwrap();
    }
    let run = fixture.only(["serve", "--listen", "127.0.0.1:0"]);
    let site = Site::start(&run.owned_by(program, OTHER));
    assert_refused(&site.ask_at("/mcp", "tools/list", json!({})));
    as_other(|| site.ask("tools/list", json!({})));
}

#[test]
fn finding_9_client_that_has_closed_its_end_is_nobody() {
    for address in addresses() {
        let fixture = Fixture::with_skills();
        let run = fixture.only(["serve", "--listen", address]);
        let site = Site::start(&run.with("GONGFU_LOG", "info"));
        let send = || {
            let mut stream = site.connect();
            stream.write_all(call(&[]).as_bytes()).unwrap();
            stream
        };
        // The kernel takes connections while the server stands still.
        site.halt();
        let half = send();
        half.shutdown(Shutdown::Write).unwrap();
        drop(send());
        if is_root() {
            as_other(|| drop(send()));
        }
        site.resume();
        // Taken after the others.
        site.ask("tools/list", json!({}));
        assert_eq!(answered(&site, 200), 1, "{address}");
        let (_, log) = site.terminate();
        assert_eq!(log.matches("status=200").count(), 2, "{log}");
    }
}

/// A socket of a chosen port, which another one may have had, at an address that only this test uses.
fn socket_at(port: u16) -> OwnedFd {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddr::from(([127, 77, 7, 7], port))).unwrap();
    socket
}

#[test]
fn finding_9_reset_connection_has_not_the_user_of_the_next_at_its_port() {
    if !is_root() {
        return;
    }
    let fixture = Fixture::with_skills();
    let run = fixture.only(["serve", "--listen", "127.0.0.1:0"]);
    let site = Site::start(&run.with("GONGFU_LOG", "info"));
    let server: SocketAddr = site.authority().parse().unwrap();
    site.halt();
    let port = as_other(|| {
        let socket = socket_at(0);
        connect(&socket, &server).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.write_all(call(&[]).as_bytes()).unwrap();
        let port = stream.local_addr().unwrap().port();
        // What was sent may still be read after a reset.
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        port
    });
    let socket = socket_at(port);
    connect(&socket, &server).unwrap();
    let mut own = TcpStream::from(socket);
    own.set_read_timeout(Some(TIMEOUT)).unwrap();
    site.resume();
    // Taken after the other one, and not mistaken for it.
    own.write_all(Site::wire("GET", "/metrics", &[("connection", "close")], "").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    own.read_to_end(&mut answer).unwrap();
    assert_eq!(Reply::read(&answer).status, 200);
    assert_eq!(answered(&site, 200), 0);
    // Both answers are about the metrics; the request of the other one is refused, or never read.
    let (_, log) = site.terminate();
    assert_eq!(log.matches("status=200").count(), 2, "{log}");
}

/// The files and folders below a folder, itself included.
fn all_below(folder: PathBuf) -> Vec<PathBuf> {
    let mut all = vec![folder];
    let mut next = 0;
    while let Some(path) = all.get(next).cloned() {
        next += 1;
        if std::fs::symlink_metadata(&path).unwrap().is_dir() {
            let entries = std::fs::read_dir(path).unwrap();
            all.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    all
}

#[test]
fn finding_9_other_users_open_neither_the_socket_nor_the_home() {
    if !is_root() {
        return;
    }
    let fixture = Fixture::with_skills();
    fixture.skill("writer", "Writes.");
    let write = "echo a >note; echo a >/workspace/note";
    fixture
        .only(["run", "writer", "--", "sh", "-c", write])
        .within(fixture.path("user"))
        .good();
    fixture
        .only(["grant", "add", "writer", "example.com"])
        .good();
    fixture.write("home/config.toml", "");
    let socket = fixture.path("socket");
    let address = format!("unix:{}", socket.display());
    let site = serve(&fixture, &address);
    // Not what is around them keeps others out.
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.path(""), open).unwrap();
    let all = all_below(fixture.path("home"));
    for part in [
        "audit",
        "grants.json",
        "config.toml",
        "layers",
        "workspaces",
    ] {
        let is_there = |path: &PathBuf| path.components().any(|name| name.as_os_str() == part);
        assert!(all.iter().any(is_there), "there is no {part} in {all:#?}");
    }
    // The control: the server's user opens all of it.
    assert_eq!(site.send("GET", "/metrics", &[], "").status, 200);
    let refused = |path: &PathBuf| File::open(path).err().map(|error| error.kind());
    assert!(all.iter().all(|path| refused(path).is_none()));
    for other in [65_534, 12_345] {
        as_user(other, || {
            let connected = UnixStream::connect(&socket).map_err(|error| error.kind());
            assert_eq!(
                connected.err(),
                Some(ErrorKind::PermissionDenied),
                "{other}"
            );
            assert!(std::fs::read_dir(fixture.path("")).is_ok(), "{other}");
            for path in &all {
                let found = refused(path);
                let denied = Some(ErrorKind::PermissionDenied);
                assert_eq!(found, denied, "{other}: {}", path.display());
            }
        });
    }
}

#[test]
fn finding_9_behind_a_proxy_everybody_needs_the_token() {
    let fixture = Fixture::with_skills();
    let arguments = [
        "serve",
        "--listen",
        ":0",
        "--public-url",
        "https://a.example",
    ];
    let site = Site::start(&fixture.only(arguments));
    assert_refused(&site.ask_at("/mcp", "tools/list", json!({})));
    let token = bearer(&fixture);
    let sent = [("authorization", token.as_str())];
    assert_eq!(site.send("GET", "/metrics", &sent, "").status, 200);
    let wrong = token.replace(['0', '1', '2', '3', '4'], "5");
    assert_refused(&site.send("GET", "/metrics", &[("authorization", &wrong)], ""));
    // Only its owner may open a Unix socket.
    let address = format!("unix:{}", fixture.path("s").display());
    let arguments = [
        "serve",
        "--listen",
        &address,
        "--public-url",
        "https://a.example",
    ];
    let site = Site::start(&fixture.only(arguments));
    assert_eq!(site.send("GET", "/metrics", &[], "").status, 200);
}

#[test]
fn token_is_made_once_and_only_its_owner_may_read_it() {
    let fixture = Fixture::with_skills();
    drop(serve(&fixture, ":0"));
    let path = fixture.path("home/token");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let token = fixture.read("home/token");
    assert_eq!((mode(), token.len()), (0o600, 64));
    drop(serve(&fixture, ":0"));
    assert_eq!(fixture.read("home/token"), token);

    // One that others may know is no token; the server's user needs none.
    let proxied = fixture.only([
        "serve",
        "--listen",
        ":0",
        "--public-url",
        "https://a.example",
    ]);
    for (text, mode, what) in [
        (token.as_str(), 0o644, "is readable by others; remove it"),
        ("x", 0o600, "contains no token; remove it"),
    ] {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let refused = proxied.ends(1);
        assert!(refused.stderr.contains(what), "{}", refused.stderr);
        let site = serve(&fixture, ":0");
        site.ask("tools/list", json!({}));
        let (_, log) = site.terminate();
        assert!(log.contains(what), "{log}");
    }
}

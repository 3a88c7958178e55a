//! Hosts that a person grants to a skill, from the command line to the script.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use gongfu_testing::json::text_at;
use serde_json::json;

use crate::fixture::Fixture;

/// Asks the proxy for a host, greets it by TLS, and says what comes back.
pub(crate) const ASK: &str = r#"
import errno, socket, ssl, sys
try:
    end = socket.create_connection(("127.0.0.1", 3128), 20)
    end.sendall(f"CONNECT {sys.argv[1]} HTTP/1.1\r\n\r\n".encode())
    status = end.recv(65536).decode().split(" ")[1]
    if status == "200":
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        talk = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
        try:
            talk.do_handshake()
        except ssl.SSLWantReadError:
            end.sendall(outgoing.read())
        status += " " + end.recv(100).decode()
    print(status)
except OSError as error:
    print(errno.errorcode[error.errno])
"#;

/// A host that says `hi` to whoever says anything; answers where it is.
pub(crate) fn host() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if matches!(stream.read(&mut [0; 4_096]), Ok(1..)) {
                let _ = stream.write_all(b"hi");
            }
        }
    });
    format!("localhost:{port}")
}

#[test]
fn grant_opens_a_host_to_one_skill() {
    let fixture = Fixture::new();
    for skill in ["asker", "other"] {
        fixture.skill(skill, "Asks a host.");
        fixture.write(format!("skills/{skill}/ask.py"), ASK);
    }
    let host = host();
    let mut client = fixture.client();
    let says = |skill: &str| {
        let run = fixture.only(["run", skill, "--", "python3", "ask.py", &host]);
        run.good().text()
    };
    let grant = |words: &[&str]| fixture.only([&["grant"], words].concat());
    assert_eq!(says("asker"), "EPERM\n");
    assert_eq!(grant(&["list"]).good().text(), "");
    // It leads to this machine, which isn't the internet, and whoever runs it is told.
    let told = grant(&[
        "add",
        "asker",
        &host,
        "api.example.com",
        "*.example.org:8443",
    ])
    .good();
    assert!(
        told.text().contains("can now reach localhost"),
        "{}",
        told.text()
    );
    assert_eq!(says("asker"), "403\n");
    let run = fixture
        .only(["run", "asker", "--", "python3", "ask.py", &host])
        .good();
    assert!(
        run.stderr
            .contains("gongfu: not reached: localhost resolves to this machine"),
        "{}",
        run.stderr
    );
    grant(&["add", "asker", &host, "--private"]).good();
    assert_eq!(says("asker"), "200 hi\n");
    assert_eq!(says("other"), "EPERM\n");
    // A server that runs already knows it as well.
    let call = json!({ "skill_name": "asker", "command": format!("python3 ask.py {host}; python3 ask.py evil.test:443") });
    let ran = client.good("skill_run", call);
    assert_eq!(text_at(&ran, "/structuredContent/stdout"), "200 hi\n403\n");
    assert_eq!(text_at(&ran, "/structuredContent/network/0/host"), host);
    assert_eq!(ran.pointer("/structuredContent/network/0/refused"), None);
    let why = text_at(&ran, "/structuredContent/network/1/refused");
    assert!(
        why.contains("gongfu grant add asker evil.test:443"),
        "{why}"
    );
    let words = text_at(&ran, "/content/0/text");
    assert!(words.contains("not reached: evil.test:443"), "{words}");
    let listed = grant(&["list", "--json"]).good().json();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    assert_eq!(listed.pointer("/2/private"), Some(&json!(true)));
    assert_eq!(text_at(&listed, "/2/host"), host);
    let gone = grant(&["remove", "asker", &host]).good().text();
    assert!(gone.contains("can no longer reach"), "{gone}");
    assert_eq!(says("asker"), "403\n");
    grant(&["remove", "asker", "api.example.com", "*.example.org:8443"]).good();
    assert_eq!(says("asker"), "EPERM\n");
    // What comes to lie where a skill lay that was granted something is another skill, and what was granted
    // to one that has gone can be taken back.
    grant(&["add", "asker", &host, "--private"]).good();
    assert_eq!(says("asker"), "200 hi\n");
    std::fs::rename(fixture.path("skills/asker"), fixture.path("gone")).unwrap();
    std::fs::rename(fixture.path("skills/other"), fixture.path("skills/asker")).unwrap();
    assert_eq!(says("other"), "EPERM\n");
    let gone = grant(&["remove", "skills/asker", &host]).good().text();
    assert!(gone.contains("can no longer reach"), "{gone}");
    assert_eq!(grant(&["list"]).good().text(), "");
    client.close();
    // Each is in the audit, with the call that it was of.
    let audit = fixture.read("home/audit/audit.jsonl");
    let of_server = audit
        .lines()
        .find(|line| line.contains("evil.test"))
        .unwrap();
    assert!(
        of_server.contains("skill_run") && of_server.contains(&host),
        "{of_server}"
    );
}

#[test]
fn wrong_host_or_skill_is_refused_with_the_reason() {
    let fixture = Fixture::new();
    fixture.skill("asker", "Asks a host.");
    let grant = |words: &[&str]| fixture.only([&["grant"], words].concat());
    let unknown = grant(&["add", "nobody", "example.com"]).ends(1);
    assert!(
        unknown.stderr.contains("SKILL_NOT_FOUND"),
        "{}",
        unknown.stderr
    );
    for (host, why) in [
        ("127.0.0.1", "an IP address is not a host name"),
        ("*.com", "*.example.com"),
        ("example.com.", "no dot at the end"),
        ("https://example.com", "not a URL: example.com"),
    ] {
        let refused = grant(&["add", "asker", host]).ends(2);
        assert!(refused.stderr.contains(why), "{host}: {}", refused.stderr);
    }
    // What nobody can read grants nothing, and nothing is run by it.
    fixture.write("home/grants.json", "{");
    let run = fixture.only(["run", "asker", "--", "true"]).ends(1);
    assert!(
        run.stderr.contains("grants.json is damaged"),
        "{}",
        run.stderr
    );
    let add = grant(&["add", "asker", "example.com"]).ends(1);
    assert!(add.stderr.contains("damaged"), "{}", add.stderr);
    assert_eq!(fixture.read("home/grants.json"), "{");
}

#[test]
fn run_that_finds_no_network_says_which_host_to_grant() {
    const LOOK_UP: &str = "import socket; socket.getaddrinfo('api.example.com', 443)";
    let fixture = Fixture::new();
    fixture.skill("asker", "Asks a host.");
    let run = |line: &str| fixture.only(["run", "asker", "--", "sh", "-c", line]);
    let hint = "gongfu: a run has no network; allow a host with `gongfu grant add asker";
    // What the C library says names no host, and the command has a URL.
    let looked_up = format!("python3 -c \"{LOOK_UP}\" # https://api.example.com/v1");
    let ran = run(&looked_up).ends(1);
    assert!(
        ran.stderr.contains(&format!("{hint} api.example.com`")),
        "{}",
        ran.stderr
    );
    let ran = run(&format!("python3 -c \"{LOOK_UP}\"")).ends(1);
    assert!(
        ran.stderr.contains(&format!("{hint} HOST`")),
        "{}",
        ran.stderr
    );
    // A run that went well, or failed for another reason, needs no network.
    for (line, code) in [
        ("echo 'Could not resolve host: x.test' >&2", 0),
        ("echo 'no such file' >&2; exit 3", 3),
    ] {
        let ran = run(line).ends(code);
        assert!(!ran.stderr.contains("no network"), "{}", ran.stderr);
    }
    // An agent learns it as well, and asks.
    let failed = "echo 'curl: (6) Could not resolve host: x.test' >&2; exit 6";
    let call = json!({ "skill_name": "asker", "command": failed });
    let ran = fixture.client().good("skill_run", call);
    assert_eq!(
        text_at(&ran, "/structuredContent/no_network/host"),
        "x.test"
    );
    let told = "a person can allow a host with `gongfu grant add asker x.test`";
    assert!(text_at(&ran, "/content/0/text").contains(told), "{ran}");
}

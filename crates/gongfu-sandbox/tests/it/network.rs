//! Tests of the network of a run: granted hosts are reached by the proxy, and nothing else is.
//!
//! All hosts are on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::network::{Grantee, Rules};
use gongfu_core::sandbox::{Command, Contact, Outcome, Reach};
use gongfu_sandbox::Runner;
use libtest_mimic::Trial;

use crate::fixture::{Fixture, NAMESPACES, runtime, tests, text};

/// The beginning of each program: functions that ask the proxy, and describe the result in a line.
const ASK: &str = r#"
import errno, os, socket, ssl, sys

PROXY = ("127.0.0.1", 3128)

def hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    talk = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        talk.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()

def ask(request, first=b"", pieces=None):
    """What the proxy says first, and what the host says after that was sent to it."""
    with socket.create_connection(PROXY, 20) as end:
        end.sendall(request)
        answer = end.recv(65536).decode(errors="replace")
        status = answer.split(" ")[1] if " " in answer else "none"
        if status != "200":
            return status
        said = answer.partition("\r\n\r\n")[2]
        for piece in pieces or [first]:
            end.sendall(piece)
        try:
            return status + " " + (said or end.recv(100).decode(errors="replace"))
        except OSError as error:
            return status + " " + errno.errorcode.get(error.errno, str(error))

def connect(authority):
    return b"CONNECT " + authority + b" HTTP/1.1\r\nHost: x\r\n\r\n"

"#;

/// A host on this machine that answers `hi` to any bytes, and records them.
struct Host {
    port: u16,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Host {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let keeps = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, keeps) = (stream.unwrap(), Arc::clone(&keeps));
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    let mut bytes = vec![0; 65_536];
                    if let Ok(read @ 1..) = stream.read(&mut bytes) {
                        bytes.truncate(read);
                        keeps.lock().unwrap().push(bytes);
                        let _ = stream.write_all(b"hi");
                    }
                });
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

/// The reach of these rules; the hosts of these names may be private.
fn reach(rules: &[String], private: &[&str]) -> Reach {
    let is_private = |rule: &&String| private.contains(&rule.split(':').next().unwrap());
    let of = |rule: &String| rule.parse().unwrap();
    Reach {
        rules: Rules(rules.iter().map(of).collect()),
        private: Rules(rules.iter().filter(is_private).map(of).collect()),
        ..Reach::default()
    }
}

/// Runs a Python program after [`ASK`].
fn run(runner: &Runner, fixture: &Fixture, reach: Reach, program: &str) -> Outcome {
    fixture.write("skill/ask.py", &format!("{ASK}{program}"));
    let mut spec = fixture.spec(Command::Line("python3 ask.py".to_owned()));
    spec.reach = reach;
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    runtime().block_on(running).unwrap()
}

/// Runs a program that must succeed; returns its lines, and the hosts that it asked for.
fn output_of(fixture: &Fixture, reach: Reach, program: &str) -> (Vec<String>, Vec<Contact>) {
    let runner = Runner::new(Some(NAMESPACES));
    let outcome = run(&runner, fixture, reach, program);
    let errors = String::from_utf8_lossy(&outcome.stderr.head).into_owned();
    let lines = text(&outcome.stdout).lines().map(str::to_owned).collect();
    assert_eq!(errors, "");
    (lines, outcome.contacts)
}

fn granted_host_is_reached() {
    let (fixture, host) = (Fixture::new(NAMESPACES), Host::new());
    let port = host.port;
    let program = format!(
        r#"
print(os.environ["HTTPS_PROXY"], os.environ["https_proxy"])
at = b"localhost:{port}"
print(ask(connect(at), hello("localhost")))
print(ask(connect(b"LocalHost:{port}"), hello("LOCALHOST")))
print(ask(connect(at), pieces=[bytes([byte]) for byte in hello("localhost")]))
# Bytes that come together with the request aren't lost.
print(ask(connect(at) + hello("localhost"), b""))
"#
    );
    let granted = reach(&[format!("localhost:{port}")], &["localhost"]);
    let (lines, contacts) = output_of(&fixture, granted, &program);
    assert_eq!(
        lines,
        [
            "http://127.0.0.1:3128 http://127.0.0.1:3128",
            "200 hi",
            "200 hi",
            "200 hi",
            "200 hi"
        ]
    );
    assert_eq!(host.heard(), 4);
    assert!(
        host.heard
            .lock()
            .unwrap()
            .iter()
            .all(|bytes| bytes[0] == 22)
    );
    let it = Contact {
        host: format!("localhost:{port}"),
        refused: None,
    };
    assert_eq!(contacts, [it]);
}

fn refused_host_is_reported_with_the_reason() {
    let (fixture, host) = (Fixture::new(NAMESPACES), Host::new());
    let port = host.port;
    let program = format!(
        r#"
for name in ["other.test", "localhost"]:
    print(ask(connect(name.encode() + b":{port}"), hello(name)))
"#
    );
    let granted = Reach {
        grantee: Some(Grantee {
            skill: "asker".to_owned(),
            has_account: false,
        }),
        ..reach(&[format!("localhost:{port}")], &["other.test"])
    };
    let (lines, contacts) = output_of(&fixture, granted, &program);
    assert_eq!((lines, host.heard()), (vec!["403".to_owned(); 2], 0));
    let reasons: Vec<&str> = contacts
        .iter()
        .filter_map(|contact| contact.refused.as_deref())
        .collect();
    let [other, localhost] = reasons[..] else {
        panic!("{contacts:?}");
    };
    assert!(
        other.contains("gongfu grant add asker other.test"),
        "{other}"
    );
    assert!(localhost.contains("this machine"), "{localhost}");
}

fn run_without_hosts_has_no_network_after_one_with_hosts() {
    let (fixture, host) = (Fixture::new(NAMESPACES), Host::new());
    let port = host.port;
    let runner = Runner::new(Some(NAMESPACES));
    let granted = || reach(&[format!("localhost:{port}")], &["localhost"]);
    let asks = format!(
        r#"
try:
    print(ask(connect(b"localhost:{port}"), hello("localhost")))
except OSError as error:
    print(errno.errorcode[error.errno])
print(sorted(name for name in os.environ if "proxy" in name.lower()) != [])
"#
    );
    for _ in 0..3 {
        let with_hosts = run(&runner, &fixture, granted(), &asks);
        assert_eq!(text(&with_hosts.stdout), "200 hi\nTrue\n");
        let without = run(&runner, &fixture, Reach::default(), &asks);
        assert_eq!(text(&without.stdout), "EPERM\nFalse\n");
        // The grant of another run doesn't count.
        let other = run(
            &runner,
            &fixture,
            reach(&["other.test".to_owned()], &[]),
            &asks,
        );
        assert_eq!(text(&other.stdout), "403\nTrue\n");
    }
    assert_eq!(host.heard(), 3);
}

fn connections_end_with_the_run() {
    let (fixture, host) = (Fixture::new(NAMESPACES), Host::new());
    let port = host.port;
    // More silent connections than the limit, and one that works after them.
    let program = format!(
        r#"
ends = [socket.create_connection(PROXY, 20) for _ in range(150)]
for end in ends:
    end.sendall(b"CONN")
for end in ends:
    end.close()
print(ask(connect(b"localhost:{port}"), hello("localhost")))
end = socket.create_connection(PROXY, 20)
end.sendall(connect(b"localhost:{port}"))
end.recv(100)
end.sendall(hello("localhost"))
print(end.recv(100).decode(), flush=True)
os._exit(0)
"#
    );
    let granted = reach(&[format!("localhost:{port}")], &["localhost"]);
    let (lines, _) = output_of(&fixture, granted, &program);
    assert_eq!(lines, ["200 hi", "hi"]);
}

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, fn()); 4] = tests![
        "network": granted_host_is_reached,
        refused_host_is_reported_with_the_reason,
        run_without_hosts_has_no_network_after_one_with_hosts,
        connections_end_with_the_run,
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    all.into_iter().map(trial).collect()
}

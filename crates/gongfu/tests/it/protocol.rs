//! The server as a process: each revision, its memory, its end, and its streams.

use std::time::Duration;

use gongfu_testing::client::TIMEOUT;
use gongfu_testing::json::{at, context, list_at, text_at};
use serde_json::json;

use crate::fixture::Fixture;
use crate::stdio::{Client, End};

/// The time without progress after which a server counts as having stopped reading.
const SOON: Duration = Duration::from_secs(2);

/// The server still answers.
fn alive(client: &mut Client) {
    let listed = client.good("skill_list", json!({}));
    assert_eq!(at(&listed, "/structuredContent/total"), 2);
}

#[test]
fn each_revision_is_spoken() {
    let fixture = Fixture::with_skills();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = fixture.silent_client();
        let itself = client.initialize(version);
        assert_eq!(text_at(&itself, "/protocolVersion"), version);
        assert_eq!(text_at(&itself, "/serverInfo/name"), "gongfu");
        assert!(
            at(&itself, "/capabilities").get("tools").is_some(),
            "{itself:#}"
        );
        let instructions = text_at(&itself, "/instructions");
        assert!(instructions.contains("skill_search"), "{instructions}");
        assert!(instructions.contains("\n- pdf-tools: "), "{instructions}");
        let tools = client.ask("tools/list", json!({}));
        assert!(list_at(&tools, "/tools").len() >= 3);
        alive(&mut client);
        assert_eq!(client.ask("ping", json!({})), json!({}));
        assert_eq!(client.close().code, Some(0));
    }
}

#[test]
fn missing_greeting_ends_without_internal_names() {
    let fixture = Fixture::with_skills();
    for method in ["notifications/initialized", "notifications/cancelled"] {
        let mut client = fixture.silent_client();
        client.notify(method, json!({ "requestId": 1 }));
        let end = client.close();
        // How the library writes its types down is nothing for a person.
        assert!(!end.stderr.contains("JsonRpc"), "{method}: {}", end.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn client_that_never_reads_costs_little_memory() {
    use std::io::Write as _;
    let fixture = Fixture::with_skills();
    fixture.write("skills/pdf-tools/long.md", "long text ".repeat(20_000));
    let mut child = fixture.only(["mcp"]).start();
    let mut input = child.stdin.take().unwrap();
    let memory = |name: &str| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1024
    };
    let (sender, written) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let hello = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } } });
        let _ = writeln!(input, "{hello}");
        for id in 0..20_000 {
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "skill_read",
                "arguments": { "skill_name": "pdf-tools", "path": "long.md" } } });
            if writeln!(input, "{call}").is_err() {
                return;
            }
            let _ = sender.send(id);
        }
    });
    // Writing goes on until the server reads no more, and not for ever.
    let mut last = 0;
    while let Ok(id) = written.recv_timeout(SOON) {
        last = id;
    }
    assert!((50..19_999).contains(&last), "{last} requests were taken");
    let peak = memory("VmHWM:");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(peak < 150, "{peak} MiB after {last} requests");
}

/// Expects that a server ends in less time than the library of the protocol waits for what hangs,
/// which is five seconds. A busy machine may delay an attempt, but not every one.
#[track_caller]
fn check_ends_early(what: &str, attempt: impl Fn() -> End) {
    let ends_early = |_| {
        let end = attempt();
        assert_eq!(end.code, Some(0), "{what}: {}", end.stderr);
        end.took < Duration::from_secs(4)
    };
    assert!((0..3).any(ends_early), "{what}: each attempt took too long");
}

#[test]
fn end_of_input_ends_the_server() {
    let fixture = Fixture::with_skills();
    let meta = context("2026-07-28");
    check_ends_early("greeted", || fixture.client().close());
    check_ends_early("silent", || fixture.silent_client().close());
    check_ends_early("busy", || {
        let mut client = fixture.client();
        let call = json!({ "name": "skill_list", "arguments": {} });
        client.begin(5, "tools/call", call);
        client.close()
    });
    check_ends_early("probing", || {
        let mut client = fixture.silent_client();
        client.begin(6, "server/discover", json!({ "_meta": meta }));
        client.close()
    });
}

#[test]
fn end_of_input_ends_a_subscription() {
    let fixture = Fixture::with_skills();
    let meta = context("2026-07-28");
    check_ends_early("subscribed", || {
        let mut client = fixture.silent_client();
        let listen = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
        client.begin("s", "subscriptions/listen", listen);
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert_eq!(client.notified(acknowledged, TIMEOUT), 1);
        for id in 0..20 {
            let call = json!({ "name": "skill_list", "arguments": {}, "_meta": meta });
            client.begin(id, "tools/call", call);
        }
        let end = client.close();
        for id in 0..20 {
            let answered = end.messages.iter().any(|message| message["id"] == id);
            assert!(answered, "{id} is among {:?}", end.messages);
        }
        end
    });
}

#[cfg(unix)]
#[test]
fn signal_ends_the_server() {
    use rustix::process::{Pid, Signal, kill_process};
    let fixture = Fixture::with_skills();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        for is_greeted in [true, false] {
            check_ends_early(&format!("{signal:?}"), || {
                let mut client = fixture.silent_client();
                if is_greeted {
                    client.initialize("2025-11-25");
                }
                // The answer to a ping says that the server has come as far as handling signals.
                assert_eq!(client.ask("ping", json!({})), json!({}));
                let process = Pid::from_raw(client.id().try_into().unwrap()).unwrap();
                kill_process(process, signal).unwrap();
                client.ended()
            });
        }
    }
}

#[test]
fn stdout_carries_only_the_protocol() {
    let fixture = Fixture::with_skills();
    fixture.write("skills/broken/SKILL.md", b"\0\0");
    let mut client = Client::start(&fixture.only(["mcp"]).with("GONGFU_LOG", "trace"));
    client.initialize("2025-11-25");
    client.good("skill_list", json!({}));
    client.bad("skill_load", json!({ "skill_name": "broken" }));
    client.request("no/such/method", json!({}));
    // Every line was parsed as a message on its way; the log is elsewhere.
    let end = client.close();
    assert!(end.messages.is_empty() && !end.stderr.is_empty());
}

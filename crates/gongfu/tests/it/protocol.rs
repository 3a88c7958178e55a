//! The protocol: every version of the greeting, the era without one, and what is not in the book.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stdio::{Client, result};
use crate::world::{PATIENCE, World, at, text_at};

/// How soon a server ends that nobody needs any more.
const SOON: Duration = Duration::from_secs(2);

/// What a request of the era without a greeting says about its sender.
fn context(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The code of a response that is an error.
fn error_code(response: &Value) -> i64 {
    at(response, "/error/code").as_i64().unwrap()
}

/// The server still answers.
fn alive(client: &mut Client) {
    let listed = client.good("skill_list", json!({}));
    assert_eq!(at(&listed, "/structuredContent/total"), 2);
}

#[test]
fn each_version_is_spoken() {
    let world = World::with_skills();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = world.silent_client();
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
        assert!(
            at(&result(client.request("tools/list", json!({}))), "/tools")
                .as_array()
                .unwrap()
                .len()
                >= 3
        );
        alive(&mut client);
        assert_eq!(result(client.request("ping", json!({}))), json!({}));
        assert_eq!(client.close().code, Some(0));
    }
}

#[test]
fn an_unknown_version_is_answered_with_a_known_one() {
    let world = World::with_skills();
    for version in ["1999-01-01", "2026-07-28", "2999-01-01", ""] {
        let mut client = world.silent_client();
        assert_eq!(
            text_at(&client.initialize(version), "/protocolVersion"),
            "2025-11-25",
            "{version}"
        );
        alive(&mut client);
    }
}

#[test]
fn the_era_without_a_greeting() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    let itself =
        result(client.request("server/discover", json!({ "_meta": context("2026-07-28") })));
    let versions = at(&itself, "/supportedVersions").as_array().unwrap();
    for version in [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ] {
        assert!(versions.contains(&version.into()), "{version}: {itself:#}");
    }
    assert!(at(&itself, "/capabilities").get("tools").is_some());
    assert_eq!(
        text_at(
            at(&itself, "/_meta"),
            "/io.modelcontextprotocol~1serverInfo/name"
        ),
        "gongfu"
    );

    let listed = result(client.request("tools/list", json!({ "_meta": context("2026-07-28") })));
    assert_eq!(text_at(&listed, "/resultType"), "complete");
    assert!(
        at(&listed, "/ttlMs").is_u64() && at(&listed, "/cacheScope").is_string(),
        "{listed:#}"
    );
    let call = |name: &str| json!({ "name": "skill_load", "arguments": { "skill_name": name }, "_meta": context("2026-07-28") });
    let loaded = result(client.request("tools/call", call("pdf-tools")));
    assert_eq!(text_at(&loaded, "/resultType"), "complete");
    assert!(text_at(&loaded, "/content/0/text").starts_with("---\nname: pdf-tools"));
    let wrong = result(client.request("tools/call", call("pdf")));
    assert_eq!(
        (
            at(&wrong, "/isError"),
            text_at(&wrong, "/structuredContent/code")
        ),
        (&Value::Bool(true), "SKILL_NOT_FOUND")
    );

    let bare = client.request("tools/list", json!({}));
    assert_eq!(
        error_code(&bare),
        -32602,
        "a request that says nothing about its sender: {bare:#}"
    );
    let far = client.request("tools/list", json!({ "_meta": context("2999-01-01") }));
    assert!(far.get("error").is_some(), "{far:#}");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn a_look_before_the_greeting_binds_nobody() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    assert_eq!(result(client.request("ping", json!({}))), json!({}));
    result(client.request("server/discover", json!({ "_meta": context("2026-07-28") })));
    assert_eq!(error_code(&client.request("tools/list", json!({}))), -32602);
    client.raw(b"{ this is no JSON\n\n\r\n[]\n");
    client.initialize("2025-06-18");
    alive(&mut client);
}

#[test]
fn who_does_not_greet_is_told_in_words() {
    let world = World::with_skills();
    for method in ["notifications/initialized", "notifications/cancelled"] {
        let mut client = world.silent_client();
        client.notify(method, json!({ "requestId": 1 }));
        let end = client.close();
        assert!(end.took < SOON);
        // How the library writes its types down is nothing for a person.
        assert!(!end.stderr.contains("JsonRpc"), "{method}: {}", end.stderr);
    }
}

#[test]
fn what_is_no_message_is_answered_and_does_no_harm() {
    let world = World::with_skills();
    let mut client = world.client();
    let not_json: [&[u8]; 6] = [
        b"{",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":",
        b"\xff\xfe\x00",
        b"Content-Length: 12",
        b"\0",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\udc00\"}",
    ];
    let not_messages: [&[u8]; 8] = [
        b"null",
        b"\"text\"",
        b"12",
        b"[]",
        b"{}",
        b"{\"id\":1,\"method\":\"ping\"}",
        b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
    ];
    let lines = not_json.map(|line| (line, -32700)).into_iter();
    for (line, code) in lines.chain(not_messages.map(|line| (line, -32600))) {
        client.raw(line);
        client.raw(b"\n");
        let refused = client.receive(PATIENCE).expect("each line has its answer");
        assert_eq!(error_code(&refused), code, "{refused:#}");
        let id = refused.get("id").and_then(Value::as_i64);
        let told = line.windows(6).any(|part| part == b"\"id\":1");
        assert_eq!(id, told.then_some(1), "{refused:#}");
        alive(&mut client);
    }
    // A notification that nobody knows, and a response that nobody asked for.
    client.notify("notifications/unheard/of", json!({ "x": [1] }));
    client.send(&json!({ "jsonrpc": "2.0", "id": 4711, "result": {} }));
    client.send(&json!({ "jsonrpc": "2.0", "id": 4712, "error": { "code": 1, "message": "no" } }));
    alive(&mut client);
    let end = client.close();
    assert_eq!((end.code, end.messages.len()), (Some(0), 0));
}

#[test]
fn a_batch_is_refused_and_the_next_request_answered() {
    let world = World::with_skills();
    let mut client = world.client();
    client.raw(b"[{\"jsonrpc\":\"2.0\",\"id\":\"b1\",\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":\"b2\",\"method\":\"ping\"}]\n");
    let refused = client
        .receive(SOON)
        .expect("a batch is JSON, so it gets an answer");
    assert_eq!(error_code(&refused), -32600, "{refused:#}");
    alive(&mut client);
}

#[test]
fn wrong_requests_have_the_codes_of_json_rpc() {
    let world = World::with_skills();
    let mut client = world.client();
    assert_eq!(
        error_code(&client.request("no/such/method", json!({}))),
        -32601
    );
    let unknown = client.request(
        "tools/call",
        json!({ "name": "skill_loads", "arguments": {} }),
    );
    assert_eq!(error_code(&unknown), -32602);
    assert_eq!(text_at(&unknown, "/error/data/code"), "TOOL_NOT_FOUND");
    assert_eq!(text_at(&unknown, "/error/data/available/0"), "skill_load");
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "skill_list", "arguments": [] }),
        json!({ "name": "skill_list", "arguments": "{}" }),
        json!({ "name": null, "arguments": {} }),
    ] {
        let response = client.request("tools/call", params.clone());
        assert_eq!(
            error_code(&response),
            -32602,
            "the method is there, its parameters are wrong: {params} {response:#}"
        );
    }
    alive(&mut client);
}

#[test]
fn ids_come_back_as_they_were() {
    let world = World::with_skills();
    let mut client = world.client();
    for id in [
        json!("text"),
        json!(""),
        json!("7"),
        json!(7),
        json!(0),
        json!(9_007_199_254_740_991_i64),
        json!(-3),
        json!("ü\u{0}\n"),
    ] {
        let response = client.request_as(id.clone(), "ping", json!({}));
        assert_eq!(response.get("id"), Some(&id));
    }
}

#[test]
fn a_huge_line_is_survived() {
    let world = World::with_skills();
    let mut client = world.client();
    // Above the transport's limit: it is read past, and answered.
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"");
    let line = vec![b'x'; 17 * 1024 * 1024];
    client.raw(&line);
    client.raw(b"\"}\n");
    let refused = client.response(&1.into());
    assert_eq!(error_code(&refused), -32600);
    assert_eq!(at(&refused, "/error/data/limit"), 16 * 1024 * 1024);
    alive(&mut client);
    // Below it, but more than a call may carry.
    let error = client.bad(
        "skill_load",
        json!({ "skill_name": "x".repeat(5 * 1024 * 1024) }),
    );
    assert_eq!(text_at(&error, "/code"), "ARGUMENTS_TOO_LARGE");
    assert!(
        error.to_string().len() < 2_000,
        "an error doesn't repeat the arguments"
    );
    // What the end of input cuts is no message.
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,");
    let end = client.close();
    assert_eq!(end.code, Some(0));
    assert!(end.messages.is_empty() && end.took < SOON, "{:?}", end.took);
}

#[test]
fn a_cancelled_request_is_answered_at_most_once() {
    let world = World::with_skills();
    let mut client = world.client();
    for round in 0..50 {
        let id = format!("c{round}");
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "skill_read", "arguments": { "skill_name": "pdf-tools" } } }));
        client.notify(
            "notifications/cancelled",
            json!({ "requestId": id, "reason": "changed my mind" }),
        );
    }
    client.notify(
        "notifications/cancelled",
        json!({ "requestId": "never sent" }),
    );
    client.notify("notifications/cancelled", json!({}));
    alive(&mut client);
    let end = client.close();
    assert_eq!(end.code, Some(0));
    let mut ids: Vec<String> = end
        .messages
        .iter()
        .map(|message| message["id"].to_string())
        .collect();
    let answers = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), answers, "an answer came twice");
}

#[test]
fn many_requests_at_once_are_all_answered() {
    let world = World::with_skills();
    let mut client = world.client();
    for id in 1000..1200 {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "skill_load", "arguments": { "skill_name": "pdf-tools" } } }));
    }
    for id in 1000..1200 {
        let loaded = result(client.response(&id.into()));
        assert!(text_at(&loaded, "/content/0/text").contains("# PDF tools"));
    }
}

#[test]
fn an_id_that_is_in_use_is_refused_and_its_request_goes_on() {
    let world = World::with_skills();
    let mut client = world.client();
    // Whether the second is read before the first is answered is a matter of moments.
    let call = |name: &str| json!({ "jsonrpc": "2.0", "id": "twice", "method": "tools/call", "params": { "name": name, "arguments": {} } });
    client.raw(format!("{}\n{}\n", call("skill_list"), call("skill_list")).as_bytes());
    let answers = [
        client.response(&"twice".into()),
        client.response(&"twice".into()),
    ];
    let refused: Vec<i64> = answers
        .iter()
        .filter(|answer| answer.get("error").is_some())
        .map(error_code)
        .collect();
    assert!(refused.is_empty() || refused == [-32600], "{refused:?}");
    alive(&mut client);
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_never_reads_costs_little() {
    use std::io::Write as _;
    let world = World::with_skills();
    world.write("skills/pdf-tools/long.md", "long text ".repeat(20_000));
    let mut child = world.only(["mcp"]).start();
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

#[test]
fn the_end_of_input_ends_the_server() {
    let world = World::with_skills();
    let greeted = world.client();
    let silent = world.silent_client();
    let mut busy = world.client();
    busy.send(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "skill_list", "arguments": {} } }));
    let mut probing = world.silent_client();
    probing.send(&json!({ "jsonrpc": "2.0", "id": 6, "method": "server/discover", "params": { "_meta": context("2026-07-28") } }));
    for (name, client) in [
        ("greeted", greeted),
        ("silent", silent),
        ("busy", busy),
        ("probing", probing),
    ] {
        let end = client.close();
        assert_eq!(end.code, Some(0), "{name}: {}", end.stderr);
        assert!(end.took < SOON, "{name} took {:?}", end.took);
    }
}

#[test]
fn the_end_of_input_ends_a_subscription() {
    let world = World::with_skills();
    let mut client = world.silent_client();
    let meta = context("2026-07-28");
    let listen = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    client.send(
        &json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": listen }),
    );
    let acknowledged = "notifications/subscriptions/acknowledged";
    assert_eq!(client.notified(acknowledged, PATIENCE), 1);
    for id in 0..20 {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "skill_list", "arguments": {}, "_meta": meta } }));
    }
    let end = client.close();
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    // The protocol's library waits for five seconds.
    assert!(end.took < Duration::from_secs(4), "{:?}", end.took);
    for id in 0..20 {
        let answered = end.messages.iter().any(|message| message["id"] == id);
        assert!(answered, "{id} is among {:?}", end.messages);
    }
}

#[cfg(unix)]
#[test]
fn signals_end_the_server() {
    use rustix::process::{Pid, Signal, kill_process};
    let world = World::with_skills();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        for mut client in [world.client(), world.silent_client()] {
            // The answer to a ping says that the server has come as far as handling signals.
            assert_eq!(result(client.request("ping", json!({}))), json!({}));
            kill_process(
                Pid::from_raw(client.id().try_into().unwrap()).unwrap(),
                signal,
            )
            .unwrap();
            let end = client.ended();
            assert_eq!(end.code, Some(0), "{signal:?}: {}", end.stderr);
            assert!(end.took < SOON, "{signal:?} took {:?}", end.took);
        }
    }
}

#[test]
fn standard_output_carries_the_protocol_alone() {
    let world = World::with_skills();
    world.write("skills/broken/SKILL.md", b"\0\0");
    let mut client = Client::start(&world.only(["mcp"]).with("GONGFU_LOG", "trace"));
    client.initialize("2025-11-25");
    client.good("skill_list", json!({}));
    client.bad("skill_load", json!({ "skill_name": "broken" }));
    client.request("no/such/method", json!({}));
    // Every line was parsed as a message on its way; the log is elsewhere.
    let end = client.close();
    assert!(end.messages.is_empty() && !end.stderr.is_empty());
}

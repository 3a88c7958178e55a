//! Requests of every revision, and what is no request of any.

use gongfu_core::port::{RecordKey, Records as _};
use gongfu_testing::json::{at, case, context, error_code, list_at, result, text_at};
use gongfu_testing::now;
use serde_json::{Value, json};

use crate::fixture::{Fixture, LocalClient, close};

/// The revision without a greeting.
const NEWEST: &str = "2026-07-28";

/// Expects that the server still answers.
fn check_alive(client: &mut LocalClient) {
    let listed = client.good("skill_list", json!({}));
    assert_eq!(at(&listed, "/structuredContent/total"), 2);
}

/// Asks with a greeting and without one; returns both responses.
fn asked(fixture: &Fixture, method: &str, params: &Value) -> [Value; 2] {
    let mut newer = params.clone();
    newer["_meta"] = context(NEWEST);
    [
        fixture.client().request(method, params.clone()),
        fixture.silent_client().request(method, newer),
    ]
}

#[test]
fn unknown_revision_is_answered_with_a_known_one() {
    let fixture = Fixture::with_skills();
    for revision in ["1999-01-01", NEWEST, "2999-01-01", ""] {
        let mut client = fixture.silent_client();
        let itself = client.initialize(revision);
        assert_eq!(text_at(&itself, "/protocolVersion"), "2025-11-25");
        check_alive(&mut client);
    }
}

#[test]
fn newest_revision_needs_no_greeting() {
    let mut client = Fixture::with_skills().silent_client();
    let meta = json!({ "_meta": context(NEWEST) });
    let itself = client.ask("server/discover", meta.clone());
    let revisions = [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        NEWEST,
    ];
    let supported = list_at(&itself, "/supportedVersions");
    for revision in revisions {
        assert!(supported.contains(&revision.into()), "{itself:#}");
    }
    assert!(at(&itself, "/capabilities").get("tools").is_some());
    let name = at(&itself, "/_meta/io.modelcontextprotocol~1serverInfo/name");
    assert_eq!(name, "gongfu");

    let listed = client.ask("tools/list", meta);
    assert_eq!(text_at(&listed, "/resultType"), "complete");
    assert!(at(&listed, "/ttlMs").is_u64() && at(&listed, "/cacheScope").is_string());
    let call = |name: &str| json!({ "name": "skill_load", "arguments": { "skill_name": name }, "_meta": context(NEWEST) });
    let loaded = client.ask("tools/call", call("pdf-tools"));
    assert_eq!(text_at(&loaded, "/resultType"), "complete");
    assert!(text_at(&loaded, "/content/0/text").starts_with("---\nname: pdf-tools"));
    let wrong = client.ask("tools/call", call("pdf"));
    assert_eq!(at(&wrong, "/isError"), true);
    assert_eq!(
        text_at(&wrong, "/structuredContent/code"),
        "SKILL_NOT_FOUND"
    );

    let bare = client.request("tools/list", json!({}));
    assert_eq!(
        error_code(&bare),
        -32602,
        "it says nothing about its sender"
    );
    let far = client.request("tools/list", json!({ "_meta": context("2999-01-01") }));
    assert!(far.get("error").is_some(), "{far:#}");
    assert!(close(client).is_empty());
}

#[test]
fn requests_before_the_greeting_bind_nobody() {
    let mut client = Fixture::with_skills().silent_client();
    assert_eq!(client.ask("ping", json!({})), json!({}));
    client.ask("server/discover", json!({ "_meta": context(NEWEST) }));
    let bare = client.request("tools/list", json!({}));
    assert_eq!(error_code(&bare), -32602);
    client.raw(b"{ this is no JSON\n\n\r\n[]\n");
    client.initialize("2025-06-18");
    check_alive(&mut client);
}

#[test]
fn wrong_requests_have_the_codes_of_json_rpc() {
    let mut client = Fixture::with_skills().client();
    let unknown = client.request("no/such/method", json!({}));
    assert_eq!(error_code(&unknown), -32601);
    let call = json!({ "name": "skill_loads", "arguments": {} });
    let unknown = client.request("tools/call", call);
    assert_eq!(error_code(&unknown), -32602);
    assert_eq!(text_at(&unknown, "/error/data/code"), "TOOL_NOT_FOUND");
    assert_eq!(text_at(&unknown, "/error/data/available/0"), "skill_load");
    for params in [
        json!({ "name": 5 }),
        json!({ "name": "skill_list", "arguments": [] }),
        json!({ "name": "skill_list", "arguments": "{}" }),
        json!({ "name": null, "arguments": {} }),
    ] {
        let response = client.request("tools/call", params.clone());
        assert_eq!(error_code(&response), -32602, "{params} {response:#}");
    }
    check_alive(&mut client);
}

#[test]
fn id_comes_back_as_it_was() {
    let mut client = Fixture::with_skills().client();
    let large = 9_007_199_254_740_991_i64;
    let ids = json!(["text", "", "7", 7, 0, large, -3, "ü\u{0}\n"]);
    for id in ids.as_array().unwrap() {
        let response = client.request_as(id.clone(), "ping", json!({}));
        assert_eq!(response.get("id"), Some(id));
    }
}

#[test]
fn cancelled_request_is_answered_at_most_once() {
    let mut client = Fixture::with_skills().client();
    let cancelled = "notifications/cancelled";
    for round in 0..50 {
        let id = format!("c{round}");
        let call = json!({ "name": "skill_read", "arguments": { "skill_name": "pdf-tools" } });
        client.begin(&*id, "tools/call", call);
        client.notify(
            cancelled,
            json!({ "requestId": id, "reason": "changed my mind" }),
        );
    }
    client.notify(cancelled, json!({ "requestId": "never sent" }));
    client.notify(cancelled, json!({}));
    client.begin("last", "ping", json!({}));
    let rest = close(client);
    let mut ids: Vec<String> = rest
        .iter()
        .map(|message| message["id"].to_string())
        .collect();
    let answers = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), answers, "an answer came twice");
    assert!(ids.contains(&"\"last\"".to_owned()));
}

#[test]
fn two_hundred_requests_at_once_are_all_answered() {
    let mut client = Fixture::with_skills().client();
    for id in 1000..1200 {
        let call = json!({ "name": "skill_load", "arguments": { "skill_name": "pdf-tools" } });
        client.begin(id, "tools/call", call);
    }
    for id in 1000..1200 {
        let loaded = result(client.response(&id.into()));
        assert!(text_at(&loaded, "/content/0/text").contains("# PDF tools"));
    }
}

#[test]
fn cursor_that_is_none_is_refused() {
    let fixture = Fixture::with_skills();
    let subjects = [
        "prompts",
        "resources",
        "resources/templates",
        "skills",
        "tools",
    ];
    for method in subjects.map(|subject| format!("{subject}/list")) {
        for cursor in [json!(5), json!({}), json!([]), json!(true)] {
            for response in asked(&fixture, &method, &json!({ "cursor": cursor })) {
                assert_eq!(
                    error_code(&response),
                    -32602,
                    "{method} {cursor}: {response:#}"
                );
                let text = text_at(&response, "/error/message");
                assert!(text.contains("`cursor`"), "{method} {cursor}: {text}");
            }
        }
        for response in asked(&fixture, &method, &json!({ "cursor": "bm9uZQ" })) {
            assert_eq!(error_code(&response), -32602, "{method}: {response:#}");
            assert_eq!(text_at(&response, "/error/data/code"), "INVALID_CURSOR");
        }
        for params in [json!({}), json!({ "cursor": null })] {
            for response in asked(&fixture, &method, &params) {
                assert!(response.get("result").is_some(), "{method}: {response:#}");
            }
        }
    }
}

#[test]
fn wrong_parameter_is_named_with_its_place() {
    let fixture = Fixture::with_skills();
    for wrong in [
        "skills/get {} missing field `uri`",
        r#"skills/get {"uri":5} `uri`: invalid type"#,
        r#"resources/read {"uri":[]} `uri`: invalid type"#,
        r#"resources/directory/read {"uri":"skill://lib","cursor":5} `cursor`: invalid type"#,
        r#"prompts/get {"name":{}} `name`: invalid type"#,
        "tools/call {} missing field `name`",
        r#"tools/call {"name":"skill_list","arguments":"xxx"} `arguments`: invalid type"#,
        r#"completion/complete {"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":1,"value":""}} `argument.name`: invalid type"#,
    ] {
        let wrong = wrong.replace("xxx", &"x".repeat(5_000));
        let (method, params, named) = case(&wrong);
        for response in asked(&fixture, method, &params) {
            assert_eq!(error_code(&response), -32602, "{wrong}: {response:#}");
            let text = text_at(&response, "/error/message");
            assert!(text.contains(named) && text.len() < 500, "{wrong}: {text}");
        }
    }
}

#[test]
fn call_is_in_the_audit_without_its_arguments() {
    let fixture = Fixture::with_skills();
    let mut client = fixture.client();
    client.good("skill_load", json!({ "skill_name": "pdf-tools" }));
    client.bad(
        "skill_load",
        json!({ "skill_name": "a-private-name", "section": "a-private-section" }),
    );
    let log = RecordKey::new("audit").unwrap();
    let entries = now(fixture.space.records.entries(&log, usize::MAX)).unwrap();
    let outcomes = ["ok", "SKILL_NOT_FOUND"];
    assert_eq!(entries.len(), outcomes.len());
    for (entry, outcome) in entries.iter().zip(outcomes) {
        let entry: Value = serde_json::from_slice(entry).unwrap();
        for (part, wanted) in [
            ("tool", "skill_load"),
            ("outcome", outcome),
            ("client", "test 1"),
        ] {
            assert_eq!(entry[part], wanted, "{entry}");
        }
        // The skill is named; everything else of the arguments is a digest.
        assert!(!entry.to_string().contains("section"), "{entry}");
    }
}

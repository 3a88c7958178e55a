//! Parameters of the wrong form: the answer names the place, and never takes them for others.

use serde_json::{Value, json};

use crate::stdio::Client;
use crate::world::{World, at, text_at};

const LISTS: [&str; 5] = [
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "skills/list",
    "tools/list",
];

/// What a request of 2026-07-28 says about its sender.
fn context() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Asks in both eras, and answers what was said in each.
fn asked(world: &World, method: &str, params: &Value) -> [Value; 2] {
    let mut older = world.silent_client();
    older.initialize("2025-11-25");
    let mut newer: Client = world.silent_client();
    let mut with = params.clone();
    with["_meta"] = context();
    [
        older.request(method, params.clone()),
        newer.request(method, with),
    ]
}

fn code(response: &Value) -> i64 {
    let code = at(response, "/error/code").as_i64();
    code.unwrap_or_else(|| panic!("no code: {response:#}"))
}

#[test]
fn a_cursor_that_is_none_is_refused() {
    let world = World::with_skills();
    for method in LISTS {
        for cursor in [json!(5), json!({}), json!([]), json!(true)] {
            for response in asked(&world, method, &json!({ "cursor": cursor })) {
                assert_eq!(code(&response), -32602, "{method} {cursor}: {response:#}");
                let text = text_at(&response, "/error/message");
                assert!(text.contains("`cursor`"), "{method} {cursor}: {text}");
            }
        }
        for response in asked(&world, method, &json!({ "cursor": "bm9uZQ" })) {
            assert_eq!(code(&response), -32602, "{method}: {response:#}");
            let kind = text_at(&response, "/error/data/code");
            assert_eq!(kind, "INVALID_CURSOR");
        }
        for params in [json!({}), json!({ "cursor": null })] {
            for response in asked(&world, method, &params) {
                assert!(response.get("result").is_some(), "{method}: {response:#}");
            }
        }
    }
}

#[test]
fn the_place_of_a_fault_is_named() {
    let world = World::with_skills();
    let long = "x".repeat(5_000);
    for (method, params, named) in [
        ("skills/get", json!({}), "missing field `uri`"),
        ("skills/get", json!({ "uri": 5 }), "`uri`: invalid type"),
        (
            "resources/read",
            json!({ "uri": [] }),
            "`uri`: invalid type",
        ),
        (
            "resources/directory/read",
            json!({ "uri": "skill://skills", "cursor": 5 }),
            "`cursor`: invalid type",
        ),
        ("prompts/get", json!({ "name": {} }), "`name`: invalid type"),
        ("tools/call", json!({}), "missing field `name`"),
        (
            "tools/call",
            json!({ "name": "skill_list", "arguments": long }),
            "`arguments`: invalid type",
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "a" }, "argument": { "name": 1, "value": "" } }),
            "`argument.name`: invalid type",
        ),
    ] {
        for response in asked(&world, method, &params) {
            assert_eq!(code(&response), -32602, "{method}: {response:#}");
            let text = text_at(&response, "/error/message");
            assert!(text.contains(named), "{method}: {text}");
            assert!(text.len() < 500, "{method}: {} bytes", text.len());
        }
    }
}

//! Arguments of calls that are missing, wrong or huge.

use serde_json::{Value, json};

use super::{fails, guarded_world as world};
use crate::world::{at, text_at};

/// Calls that are wrong, the code that each is refused with, and what the error names.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("skill_load", "{}", "MISSING_ARGUMENT", "skill_name"),
    (
        "skill_load",
        r#"{ "skill_name": null }"#,
        "MISSING_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_read",
        r#"{ "path": "hello.txt" }"#,
        "MISSING_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_load",
        r#"{ "name": "pdf-tools" }"#,
        "UNKNOWN_ARGUMENT",
        "name",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "": 1 }"#,
        "UNKNOWN_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_list",
        r#"{ "skill_name": "pdf-tools" }"#,
        "UNKNOWN_ARGUMENT",
        "source",
    ),
    (
        "skill_load",
        r#"{ "skill_name": 5 }"#,
        "INVALID_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_load",
        r#"{ "skill_name": ["pdf-tools"] }"#,
        "INVALID_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_load",
        r#"{ "skill_name": { "a": 1 } }"#,
        "INVALID_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_load",
        r#"{ "skill_name": true }"#,
        "INVALID_ARGUMENT",
        "skill_name",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "part": "half" }"#,
        "INVALID_ARGUMENT",
        "whole, body",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "part": 1 }"#,
        "INVALID_ARGUMENT",
        "part",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": "1" }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": 0 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": -1 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": 1.5 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": 1e300 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": 9999 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": 18446744073709551615 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_line": 3, "end_line": 2 }"#,
        "INVALID_ARGUMENT",
        "end_line",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "start_column": 18446744073709551615 }"#,
        "INVALID_ARGUMENT",
        "start_column",
    ),
    (
        "skill_load",
        r#"{ "skill_name": "pdf-tools", "section": "Merge", "start_line": 1 }"#,
        "INVALID_ARGUMENT",
        "section",
    ),
    (
        "skill_read",
        r#"{ "skill_name": "pdf-tools", "path": "assets/dot.png", "start_line": 1 }"#,
        "INVALID_ARGUMENT",
        "start_line",
    ),
    (
        "skill_list",
        r#"{ "limit": 0 }"#,
        "INVALID_ARGUMENT",
        "limit",
    ),
    (
        "skill_list",
        r#"{ "limit": "many" }"#,
        "INVALID_ARGUMENT",
        "limit",
    ),
    (
        "skill_list",
        r#"{ "include_disabled": "yes" }"#,
        "INVALID_ARGUMENT",
        "include_disabled",
    ),
    (
        "skill_list",
        r#"{ "source": "nowhere" }"#,
        "INVALID_ARGUMENT",
        "skills",
    ),
    (
        "skill_list",
        r#"{ "after": "nowhere" }"#,
        "INVALID_ARGUMENT",
        "after",
    ),
];

#[test]
fn each_wrong_argument_is_named() {
    let world = world();
    let mut client = world.client();
    for (tool, arguments, code, named) in WRONG {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let error = fails(&mut client, tool, &arguments);
        assert_eq!(
            text_at(&error, "/code"),
            *code,
            "{tool} {arguments}: {error:#}"
        );
        let said = format!(
            "{} {}",
            text_at(&error, "/message"),
            text_at(&error, "/hint")
        );
        assert!(said.contains(named), "{tool} {arguments}: {said}");
    }
}

#[test]
fn an_explicit_null_is_an_argument_that_is_not_given() {
    let world = world();
    let mut client = world.client();
    for (tool, with, without) in [
        (
            "skill_list",
            json!({ "source": null, "after": null, "limit": null, "include_disabled": null }),
            json!({}),
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf-tools", "part": null, "section": null, "start_line": null, "end_line": null, "start_column": null }),
            json!({ "skill_name": "pdf-tools" }),
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf-tools", "path": null, "after": null }),
            json!({ "skill_name": "pdf-tools" }),
        ),
    ] {
        assert_eq!(
            client.good(tool, with),
            client.good(tool, without),
            "{tool}"
        );
    }
    // No arguments at all are none.
    let response = client.request("tools/call", json!({ "name": "skill_list" }));
    assert_eq!(at(&response, "/result/structuredContent/total"), 2);
}

#[test]
fn huge_arguments_are_refused_quickly() {
    let world = world();
    let mut client = world.client();
    let huge = "../".repeat(1_700_000);
    for arguments in [
        json!({ "skill_name": huge }),
        json!({ "skill_name": "pdf-tools", "path": huge }),
        json!({ "skill_name": "pdf-tools", "path": vec!["x".repeat(100); 50_000] }),
        json!({ huge.clone(): 1 }),
    ] {
        let error = fails(&mut client, "skill_read", &arguments);
        assert_eq!(text_at(&error, "/code"), "ARGUMENTS_TOO_LARGE");
    }
    // Just below the limit the argument itself is judged.
    let large = "x".repeat(4_000_000);
    assert_eq!(
        text_at(
            &fails(&mut client, "skill_load", &json!({ "skill_name": large })),
            "/code"
        ),
        "INVALID_SKILL_NAME"
    );
    assert_eq!(
        text_at(
            &fails(
                &mut client,
                "skill_read",
                &json!({ "skill_name": "pdf-tools", "path": large })
            ),
            "/code"
        ),
        "INVALID_FILE_PATH"
    );
    assert_eq!(
        text_at(
            &fails(
                &mut client,
                "skill_load",
                &json!({ "skill_name": "pdf-tools", "section": large })
            ),
            "/code"
        ),
        "SECTION_NOT_FOUND"
    );
    let typed = json!({ "skill_name": "x".repeat(5_000_000) }).to_string();
    let ran = world
        .only(["tool", "call", "skill_load", "-"])
        .reading(typed)
        .ends(2);
    assert!(
        ran.stderr.contains("ARGUMENTS_TOO_LARGE") && ran.stderr.len() < 2_000,
        "{}",
        ran.stderr.len()
    );
    let deep = format!(
        "{{\"skill_name\": {}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    world
        .only(["tool", "call", "skill_load", "-"])
        .reading(deep.clone())
        .ends(2);
    client.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"deep\",\"method\":\"tools/call\",\"params\":{{\"name\":\"skill_load\",\"arguments\":{deep}}}}}\n").as_bytes());
    assert_eq!(
        at(
            &client.good("skill_list", json!({})),
            "/structuredContent/total"
        ),
        2
    );
}

//! Arguments of calls that are missing, wrong or huge.

use gongfu_testing::json::{at, case, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Calls of tools, the code that each is refused with, and a part of the message or hint.
const WRONG: &[&str] = &[
    "skill_load {} MISSING_ARGUMENT skill_name",
    r#"skill_load {"skill_name":null} MISSING_ARGUMENT skill_name"#,
    r#"skill_read {"path":"hello.txt"} MISSING_ARGUMENT skill_name"#,
    r#"skill_load {"name":"pdf-tools"} UNKNOWN_ARGUMENT name"#,
    r#"skill_load {"skill_name":"pdf-tools","":1} UNKNOWN_ARGUMENT skill_name"#,
    r#"skill_list {"skill_name":"pdf-tools"} UNKNOWN_ARGUMENT source"#,
    r#"skill_load {"skill_name":5} INVALID_ARGUMENT skill_name"#,
    r#"skill_load {"skill_name":["pdf-tools"]} INVALID_ARGUMENT skill_name"#,
    r#"skill_load {"skill_name":{"a":1}} INVALID_ARGUMENT skill_name"#,
    r#"skill_load {"skill_name":true} INVALID_ARGUMENT skill_name"#,
    r#"skill_load {"skill_name":"pdf-tools","part":"half"} INVALID_ARGUMENT whole, body"#,
    r#"skill_load {"skill_name":"pdf-tools","part":1} INVALID_ARGUMENT part"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":"1"} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":0} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":-1} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":1.5} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":1e300} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":9999} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":18446744073709551615} INVALID_ARGUMENT start_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_line":3,"end_line":2} INVALID_ARGUMENT end_line"#,
    r#"skill_load {"skill_name":"pdf-tools","start_column":18446744073709551615} INVALID_ARGUMENT start_column"#,
    r#"skill_load {"skill_name":"pdf-tools","section":"Merge","start_line":1} INVALID_ARGUMENT section"#,
    r#"skill_read {"skill_name":"pdf-tools","path":"assets/dot.png","start_line":1} INVALID_ARGUMENT start_line"#,
    r#"skill_list {"limit":0} INVALID_ARGUMENT limit"#,
    r#"skill_list {"limit":"many"} INVALID_ARGUMENT limit"#,
    r#"skill_list {"include_disabled":"yes"} INVALID_ARGUMENT include_disabled"#,
    r#"skill_list {"source":"nowhere"} INVALID_ARGUMENT lib"#,
    r#"skill_list {"after":"nowhere"} INVALID_ARGUMENT after"#,
];

#[test]
fn wrong_argument_is_named() {
    let mut client = Fixture::with_skills().client();
    for wrong in WRONG {
        let (tool, arguments, rest) = case(wrong);
        let (code, named) = rest.split_once(' ').unwrap();
        let error = client.bad(tool, arguments);
        assert_eq!(text_at(&error, "/code"), code, "{wrong}: {error:#}");
        let texts = ["/message", "/hint"].map(|part| text_at(&error, part));
        assert!(texts.concat().contains(named), "{wrong}: {error:#}");
    }
}

#[test]
fn null_means_that_an_argument_is_not_given() {
    let mut client = Fixture::with_skills().client();
    let pdf = json!({ "skill_name": "pdf-tools" });
    for (tool, required, optional) in [
        (
            "skill_list",
            json!({}),
            "source after limit include_disabled",
        ),
        (
            "skill_load",
            pdf.clone(),
            "part section start_line end_line start_column",
        ),
        ("skill_read", pdf, "path after"),
    ] {
        let mut with = required.clone();
        for name in optional.split(' ') {
            with[name] = Value::Null;
        }
        assert_eq!(
            client.good(tool, with),
            client.good(tool, required),
            "{tool}"
        );
    }
    let listed = client.ask("tools/call", json!({ "name": "skill_list" }));
    assert_eq!(at(&listed, "/structuredContent/total"), 2);
}

#[test]
fn huge_arguments_are_refused_and_not_repeated() {
    let mut client = Fixture::with_skills().client();
    let huge = "../".repeat(1_700_000);
    let large = "x".repeat(4_000_000);
    // Just below the limit the argument itself is judged.
    for (tool, arguments, code) in [
        (
            "skill_read",
            json!({ "skill_name": huge }),
            "ARGUMENTS_TOO_LARGE",
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf-tools", "path": huge }),
            "ARGUMENTS_TOO_LARGE",
        ),
        (
            "skill_read",
            json!({ "path": vec!["x".repeat(100); 50_000] }),
            "ARGUMENTS_TOO_LARGE",
        ),
        (
            "skill_read",
            json!({ huge.clone(): 1 }),
            "ARGUMENTS_TOO_LARGE",
        ),
        (
            "skill_load",
            json!({ "skill_name": large }),
            "INVALID_SKILL_NAME",
        ),
        (
            "skill_read",
            json!({ "skill_name": "pdf-tools", "path": large }),
            "INVALID_FILE_PATH",
        ),
        (
            "skill_load",
            json!({ "skill_name": "pdf-tools", "section": large }),
            "SECTION_NOT_FOUND",
        ),
    ] {
        let error = client.bad(tool, arguments);
        assert_eq!(text_at(&error, "/code"), code, "{tool}");
        assert!(error.to_string().len() < 20_000, "{tool}");
    }
    let deep = ["[".repeat(100_000), "]".repeat(100_000)].join("1");
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"skill_load","arguments":{{"skill_name":{deep}}}}}}}"#
    );
    client.raw(format!("{call}\n").as_bytes());
    let listed = client.good("skill_list", json!({}));
    assert_eq!(at(&listed, "/structuredContent/total"), 2);
}

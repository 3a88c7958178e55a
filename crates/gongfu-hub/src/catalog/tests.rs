//! The tools against skills in memory, called as every surface calls them.

mod approval;
mod capability;
mod changed;
mod dependency;
mod dialect;
mod directory;
mod interleaving;
mod run;
mod script;
mod surface;
mod world;
mod writing;

use gongfu_core::account::{Actor, Role};
use gongfu_core::skill::Digest;
use gongfu_testing::json::case;
use gongfu_testing::now;
use serde_json::{Value, json};

use super::{Catalog, Request};
use crate::error::ToolError;
use crate::output::{Content, ToolResult};
use crate::profile::Profile;
use world::{DOCUMENT, catalog};

fn call(name: &str, arguments: Value) -> Result<ToolResult, ToolError> {
    call_in(&catalog(), Profile::Standard, name, arguments)
}

fn call_in(
    catalog: &Catalog,
    profile: Profile,
    name: &str,
    arguments: Value,
) -> Result<ToolResult, ToolError> {
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let actor = Actor::local(Role::ExternalAgent, "test");
    let profiles = [profile];
    now(catalog.call(Request::new(&profiles, name, arguments, &actor)))
}

/// The text of an answer, or the code of an error.
fn text(name: &str, arguments: Value) -> String {
    match call(name, arguments) {
        Ok(result) => shown(&result),
        Err(error) => error.code().to_string(),
    }
}

/// The texts of an answer together.
fn shown(result: &ToolResult) -> String {
    result
        .content
        .iter()
        .map(|content| match content {
            Content::Text { text } => text.clone(),
            Content::Resource { resource } => format!(
                "[{} {} {}]",
                resource.uri, resource.mime_type, resource.blob
            ),
            Content::Foreign(block) => block.to_string(),
        })
        .collect()
}

#[test]
fn skill_load_returns_the_whole_or_a_part() {
    assert_eq!(text("skill_load", json!({ "skill_name": "pdf" })), DOCUMENT);
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "lib/pdf", "part": "body" })
        ),
        &DOCUMENT[DOCUMENT.find("# PDF").unwrap()..]
    );
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "pdf", "section": "use" })
        ),
        "## Use\n\nuse it\n\n"
    );
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "pdf", "start_line": 2, "end_line": 2 })
        ),
        "name: pdf\n"
    );
    assert_eq!(
        text(
            "skill_load",
            json!({ "skill_name": "user/pdf", "section": null })
        ),
        "lower"
    );
    assert!(
        call("skill_load", json!({ "skill_name": "pdf" }))
            .unwrap()
            .structured_content
            .is_none(),
        "a document is sent once"
    );
}

#[test]
fn wrong_call_is_refused_with_a_hint() {
    for wrong in [
        "skill_load {} MISSING_ARGUMENT skill_list",
        r#"skill_load {"skill_name": "pd"} SKILL_NOT_FOUND pdf"#,
        r#"skill_load {"skill_name": "off"} SKILL_DEACTIVATED gongfu skill enable lib/off"#,
        r#"skill_load {"skill_name": "../pdf"} INVALID_SKILL_NAME not a path"#,
        r#"skill_load {"skill_name": "pdf", "section": "usage"} SECTION_NOT_FOUND Use, "#,
        r#"skill_load {"skill_name": "pdf", "section": "use", "start_line": 1} INVALID_ARGUMENT one of them"#,
        r#"skill_load {"skill_name": "pdf", "part": "half"} INVALID_ARGUMENT whole, body"#,
        r#"skill_load {"skill_name": "pdf", "start_line": 0} INVALID_ARGUMENT 1 or more"#,
        r#"skill_load {"skill_name": "pdf", "sektion": "x"} UNKNOWN_ARGUMENT section"#,
        r#"skill_load {"skill_name": ["pdf"]} INVALID_ARGUMENT a string"#,
        r#"skill_read {"skill_name": "pdf", "path": "ref/y.md"} FILE_NOT_FOUND ref/x.md"#,
        r#"skill_read {"skill_name": "pdf", "path": "../x"} INVALID_FILE_PATH relative"#,
        r#"skill_read {"skill_name": "pdf", "path": "a.png", "start_line": 1} INVALID_ARGUMENT whole"#,
        r#"skill_list {"source": "nowhere"} INVALID_ARGUMENT lib, user"#,
        r#"skill_list {"after": "nowhere"} INVALID_ARGUMENT without `after`"#,
        "skill_lst {} TOOL_NOT_FOUND skill_list",
    ] {
        let (name, arguments, rest) = case(wrong);
        let (code, hint) = rest.split_once(' ').unwrap();
        let error = call(name, arguments).unwrap_err();
        assert_eq!(error.code().as_str(), code, "{wrong}");
        assert!(
            error.problem.text().hint.contains(hint),
            "{wrong}: {}",
            error.problem.text().hint
        );
    }
}

#[test]
fn skill_read_lists_and_reads_files() {
    assert_eq!(
        text(
            "skill_read",
            json!({ "skill_name": "pdf", "path": "ref/x.md", "start_line": 2 })
        ),
        "two\n"
    );
    assert_eq!(
        text(
            "skill_read",
            json!({ "skill_name": "pdf", "path": "a.png" })
        ),
        "[skill://lib/pdf/a.png image/png iVBORwA=]"
    );
    let listing = call("skill_read", json!({ "skill_name": "pdf" }))
        .unwrap()
        .structured_content
        .unwrap();
    assert_eq!(
        listing["files"][2],
        json!({ "path": "ref/x.md", "size": 8, "kind": "text", "digest": Digest::of(b"one\ntwo\n").to_string() })
    );
    let first = call(
        "skill_read",
        json!({ "skill_name": "wide", "path": "assets" }),
    )
    .unwrap()
    .structured_content
    .unwrap();
    assert_eq!(
        (
            first["total"].as_u64(),
            first["files"].as_array().map(Vec::len)
        ),
        (Some(600), Some(512))
    );
    let rest = call(
        "skill_read",
        json!({ "skill_name": "wide", "after": first["next"] }),
    )
    .unwrap()
    .structured_content
    .unwrap();
    assert_eq!(
        (rest["files"].as_array().map(Vec::len), rest.get("next")),
        (Some(88), None)
    );
}

#[test]
fn skill_list_returns_pages() {
    assert_eq!(
        text("skill_list", json!({})),
        "- pdf: Read PDFs.\n- wide: Read PDFs.\n- user/pdf: Read PDFs.\n"
    );
    let page = call(
        "skill_list",
        json!({ "limit": 1, "include_disabled": true }),
    )
    .unwrap();
    let data = page.structured_content.unwrap();
    assert_eq!(
        (data["total"].as_u64(), data["next"].as_str()),
        (Some(4), Some("lib/pdf"))
    );
    let next = text(
        "skill_list",
        json!({ "limit": 2, "include_disabled": true, "after": "lib/pdf" }),
    );
    assert_eq!(
        next,
        "- wide: Read PDFs.\n- off (disabled): Read PDFs.\n… and 1 more: call skill_list with after=\"lib/off\"\n"
    );
    assert_eq!(
        text("skill_list", json!({ "source": "user" })),
        "- user/pdf: Read PDFs.\n"
    );
}

#[test]
fn skill_search_returns_what_fits() {
    let result = call("skill_search", json!({ "query": "a pdf", "limit": 1 })).unwrap();
    let found = result.structured_content.unwrap();
    assert_eq!(found["total"], 2);
    assert_eq!(
        found["results"],
        json!([{
            "name": "pdf", "full_name": "lib/pdf", "score": 1.5, "description": "Read PDFs.",
            "snippet": "the place", "path": "/x/lib/pdf",
        }])
    );
    let [Content::Text { text }] = result.content.as_slice() else {
        panic!("one text")
    };
    assert_eq!(
        text,
        "- pdf: Read PDFs.\n  > the place\n… and 1 weaker matches: raise `limit` to see them\n"
    );
    for (arguments, code) in [
        (json!({ "query": "" }), "INVALID_ARGUMENT"),
        (json!({ "query": "?! -" }), "INVALID_ARGUMENT"),
        (
            json!({ "query": "pdf", "source": "no" }),
            "INVALID_ARGUMENT",
        ),
        (json!({ "query": "pdf", "limit": 0 }), "INVALID_ARGUMENT"),
        (json!({}), "MISSING_ARGUMENT"),
    ] {
        let error = call("skill_search", arguments.clone()).unwrap_err();
        assert_eq!(error.code().as_str(), code, "{arguments}");
    }
}

//! The tools that write: what they mean, keep and refuse.

use gongfu_testing::json::case;
use serde_json::{Value, json};

use super::world::{DOCUMENT, catalog};
use super::{Catalog, call_in, shown};
use crate::profile::Profile;

/// The text of an answer, or the code of an error and its hint.
fn tried(catalog: &Catalog, tool: &str, arguments: Value) -> String {
    match call_in(catalog, Profile::Standard, tool, arguments) {
        Ok(result) => shown(&result),
        Err(error) => format!("{}: {}", error.code(), error.problem.text().hint),
    }
}

#[test]
fn file_write_creates_and_edits() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| tried(&catalog, tool, arguments);
    assert_eq!(
        said("file_list", json!({})),
        "the folder is empty\n(/workspace is workspace on this machine)\n"
    );
    let write = json!({ "path": "a.txt", "content": "one\r\ntwo\r\n" });
    assert_eq!(said("file_write", write), "wrote 10 bytes to a.txt\n");
    let edit = json!({ "path": "/workspace/a.txt", "old_text": "two\n", "new_text": "2\n3\n" });
    assert_eq!(
        said("file_write", edit),
        "wrote 11 bytes to /workspace/a.txt\n"
    );
    assert_eq!(
        said("file_read", json!({ "path": "./a.txt" })),
        "one\r\n2\r\n3\r\n"
    );
    assert_eq!(
        said(
            "file_read",
            json!({ "path": "a.txt", "start_line": 2, "end_line": 2 })
        ),
        "2\r\n"
    );
    assert_eq!(
        said("file_list", json!({})),
        "a.txt  (11 bytes)\n(/workspace is workspace on this machine)\n"
    );
    for refused in [
        r#"file_write {"path": "a.txt"} MISSING_ARGUMENT: pass `content`"#,
        r#"file_write {"path": "a.txt", "old_text": "1"} MISSING_ARGUMENT: pass `new_text`"#,
        r#"file_write {"path": "a.txt", "new_text": "1"} MISSING_ARGUMENT: pass `old_text`"#,
        r#"file_write {"path": "a.txt", "content": "", "old_text": "1", "new_text": ""} INVALID_ARGUMENT: pass either"#,
        r#"file_write {"path": "a.txt", "old_text": "\r\n", "new_text": ""} EDIT_REFUSED: include more"#,
        r#"file_write {"path": "a.txt", "old_text": "four", "new_text": ""} EDIT_REFUSED: read the file again"#,
        r#"file_write {"path": "b.txt", "old_text": "four", "new_text": ""} FILE_NOT_FOUND"#,
        r#"file_write {"path": "/etc/x", "content": ""} INVALID_FILE_PATH"#,
        r#"file_write {"path": "../x", "content": ""} INVALID_FILE_PATH"#,
        r#"file_write {"path": "%2e%2e/x", "content": ""} INVALID_FILE_PATH"#,
    ] {
        let (tool, arguments, wanted) = case(refused);
        let said = said(tool, arguments);
        assert!(said.starts_with(wanted), "{refused}: {said}");
    }
}

#[test]
fn edit_of_a_skill_keeps_the_rest_and_reports_findings() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| tried(&catalog, tool, arguments);
    let edit = json!({ "skill_name": "pdf", "old_text": "use it", "new_text": "see none.md" });
    let answer = said("skill_write", edit);
    assert!(answer.starts_with("wrote"), "{answer}");
    let whole = said("skill_load", json!({ "skill_name": "pdf" }));
    assert_eq!(whole, DOCUMENT.replace("use it", "see none.md"));
    let bad = json!({ "skill_name": "pdf", "content": "---\nname: PDF\n---\nbody\n" });
    let answer = call_in(&catalog, Profile::Standard, "skill_write", bad).unwrap();
    let data = answer.structured_content.unwrap();
    let codes: Vec<&str> = data["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"description-missing"), "{codes:?}");
}

#[test]
fn invalid_skill_is_refused_before_anything_is_written() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| tried(&catalog, tool, arguments);
    for (arguments, wanted) in [
        (
            json!({ "skill_name": "pdf", "content": " \n" }),
            "SKILL_INVALID",
        ),
        (
            json!({ "skill_name": "pdf", "content": "\u{1}\u{2}\u{3}\u{4}" }),
            "SKILL_INVALID",
        ),
        (
            json!({ "skill_name": "pdf", "old_text": DOCUMENT, "new_text": "" }),
            "SKILL_INVALID",
        ),
        (
            json!({ "skill_name": "user/pdf", "content": DOCUMENT }),
            "SOURCE_READ_ONLY: new skills go to /x/lib",
        ),
        (
            json!({ "skill_name": "pdf", "path": "..%2fx", "content": "" }),
            "INVALID_FILE_PATH",
        ),
        (
            json!({ "skill_name": "off", "content": DOCUMENT }),
            "SKILL_DEACTIVATED",
        ),
        (
            json!({ "skill_name": "none", "content": "" }),
            "SKILL_NOT_FOUND",
        ),
    ] {
        let said = said("skill_write", arguments.clone());
        assert!(said.starts_with(wanted), "{arguments}: {said}");
    }
    let whole = said("skill_load", json!({ "skill_name": "pdf" }));
    assert_eq!(whole, DOCUMENT);
}

#[test]
fn new_skill_needs_a_valid_name_and_is_loaded_at_once() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| tried(&catalog, tool, arguments);
    let create = |name: &str| json!({ "name": name, "description": "It: \"folds\"\npaper" });
    assert_eq!(
        said("skill_create", create("my-tool")),
        "created the skill lib/my-tool\nwarning[template-untouched] line 10: text of the template: \"What this skill achieves, and when to use it.\"; replace it with your own\n"
    );
    let whole = said("skill_load", json!({ "skill_name": "my-tool" }));
    assert!(
        whole.contains("description: \"It: \\\"folds\\\"\\npaper\"\n"),
        "{whole}"
    );
    assert!(whole.contains("## Quality standards"), "{whole}");
    for (name, wanted) in [
        ("my-tool", "SKILL_EXISTS"),
        ("pdf", "SKILL_EXISTS"),
        ("off", "SKILL_EXISTS"),
        ("My-Tool", "INVALID_ARGUMENT"),
        ("my_tool", "INVALID_ARGUMENT"),
        ("-x", "INVALID_ARGUMENT"),
        ("1x", "INVALID_ARGUMENT"),
        ("a--b", "INVALID_ARGUMENT"),
        (" a", "INVALID_ARGUMENT"),
        ("../a", "INVALID_ARGUMENT"),
        // A Cyrillic letter among Latin ones; beside it, names of one script.
        ("\u{430}pple", "INVALID_ARGUMENT"),
        ("apple", "created the skill"),
        ("яблоко", "created the skill"),
        ("", "INVALID_ARGUMENT"),
        (&"a".repeat(65), "INVALID_ARGUMENT"),
    ] {
        let said = said("skill_create", create(name));
        assert!(said.starts_with(wanted), "{name}: {said}");
    }
    let nothing = json!({ "name": "x", "description": " " });
    assert!(said("skill_create", nothing).starts_with("MISSING_ARGUMENT"));
}

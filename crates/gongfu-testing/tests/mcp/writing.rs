//! A write changes its own bytes and no others, and nothing is written without an audit.

use gongfu_testing::json::{list_at, text_at, texts};
use serde_json::json;

use crate::folders::Folders;

#[test]
fn only_the_first_source_is_written_to() {
    let folders = Folders::with_skills();
    let document = gongfu_testing::sample::plain("other", "Lies elsewhere.");
    folders.write("second/other/SKILL.md", document);
    let mut client = folders.client_with(&["second"], &[]);
    let write = json!({ "skill_name": "other", "path": "x.md", "content": "planted" });
    let error = client.bad("skill_write", write);
    assert_eq!(text_at(&error, "/code"), "SOURCE_READ_ONLY");
    let first = folders.path("skills").display().to_string();
    assert!(text_at(&error, "/hint").contains(&first), "{error}");
    assert!(!folders.path("second/other/x.md").exists());
    let listed = client.ask("tools/list", json!({}));
    let names = texts(list_at(&listed, "/tools"), "/name");
    assert!(names.contains(&"skill_write"));
}

#[test]
fn edit_keeps_every_other_byte() {
    let folders = Folders::with_skills();
    let odd = b"\xEF\xBB\xBF---\r\nname: pdf-tools\r\ndescription:   Old text.  # why\r\n---\r\n\r\n\tBody \r\nlast\xE9";
    let path = folders.write("skills/pdf-tools/SKILL.md", odd);
    let mut client = folders.client();
    let edit = json!({ "skill_name": "pdf-tools", "old_text": "Old text", "new_text": "New text" });
    client.good("skill_write", edit);
    let mut wanted = odd.to_vec();
    let start = odd.windows(3).position(|three| three == b"Old").unwrap();
    wanted[start..start + 3].copy_from_slice(b"New");
    assert_eq!(std::fs::read(path).unwrap(), wanted);
    let listed = client.good("skill_list", json!({})).to_string();
    assert!(
        listed.contains("New text"),
        "the next call sees it: {listed}"
    );
}

#[test]
fn nothing_is_written_without_an_audit() {
    let folders = Folders::with_skills();
    let mut client = folders.client();
    let write = |name: &str| json!({ "path": name, "content": "x" });
    client.good("file_write", write("one"));
    let file = folders.path("home/audit/audit.jsonl");
    std::fs::remove_file(&file).unwrap();
    client.good("file_write", write("two"));
    let audit = folders.read("home/audit/audit.jsonl");
    assert_eq!(audit.matches("file_write").count(), 2, "{audit}");
    // Nothing can be written where a folder stands.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    client.bad("file_write", write("three"));
    std::fs::remove_dir(&file).unwrap();
    assert!(!folders.path("work/three").exists());
    client.good("file_write", write("four"));
    let audit = folders.read("home/audit/audit.jsonl");
    assert!(audit.contains("file_write"), "{audit}");
}

#[test]
fn read_only_file_is_unavailable_and_stays() {
    let folders = Folders::with_skills();
    let mut client = folders.client();
    let skill = folders.path("skills/pdf-tools/SKILL.md");
    for path in [folders.write("work/f", "abc"), skill] {
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
    }
    let edit = json!({ "skill_name": "pdf-tools", "old_text": "Fills forms", "new_text": "Fills" });
    let write = json!({ "path": "f", "content": "x" });
    for (tool, arguments) in [("file_write", write), ("skill_write", edit)] {
        let error = client.bad(tool, arguments);
        assert_eq!(text_at(&error, "/code"), "UNAVAILABLE", "{error:#}");
        let message = text_at(&error, "/message");
        assert!(message.contains("read-only"), "{error:#}");
    }
    assert_eq!(folders.read("work/f"), "abc");
}

//! Documents and folders that are too long for one answer.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use gongfu_testing::json::{at, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::fixture::LocalClient;
use crate::folders::Folders;

/// Reads on as every note says; returns the parts together.
fn read_on(client: &mut LocalClient, tool: &str, mut arguments: Value) -> String {
    let mut all = String::new();
    for _ in 0..1_000 {
        let result = client.good(tool, arguments.clone());
        let text = text_at(&result, "/content/0/text");
        assert!(
            text.len() <= 64 * 1024,
            "{} bytes in one answer",
            text.len()
        );
        all.push_str(text);
        let Some(note) = result.pointer("/content/1/text").and_then(Value::as_str) else {
            return all;
        };
        let number = |name: &str| -> Option<u64> {
            let (_, rest) = note.split_once(&format!("{name}="))?;
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        arguments["start_line"] = json!(number("start_line").unwrap_or_else(|| panic!("{note}")));
        arguments["start_column"] = number("start_column").map_or(Value::Null, Value::from);
        if let Some(end) = number("end_line") {
            arguments["end_line"] = json!(end);
        }
    }
    panic!("the notes lead nowhere: {arguments}")
}

#[test]
fn line_ends_of_every_kind_arrive_as_they_are() {
    let folders = Folders::new();
    let text = "---\r\nname: planted\r\ndescription: Grows.\r\n---\r\n\r\n# One\r\nfirst\r\n# Two\nsecond\r# Three\r\n";
    folders.write("skills/planted/SKILL.md", text);
    let mut client = folders.client();
    for (arguments, wanted) in [
        (json!({}), text),
        (json!({ "section": "One" }), "# One\r\nfirst\r\n"),
        (json!({ "start_line": 7, "end_line": 7 }), "first\r\n"),
    ] {
        let mut arguments = arguments;
        arguments["skill_name"] = "planted".into();
        let loaded = client.good("skill_load", arguments);
        assert_eq!(text_at(&loaded, "/content/0/text"), wanted);
    }
}

#[test]
fn long_document_is_read_on_to_its_end() {
    let folders = Folders::new();
    let head = "---\nname: long\ndescription: Goes on and on.\n---\n";
    let mut lines = String::new();
    for number in 0..30_000 {
        let _ = writeln!(lines, "line {number}");
    }
    let one = format!("{}é{}", "x".repeat(200_000), "ü".repeat(60_000));
    let crlf = "a line that is ended in two\r\n".repeat(11_000);
    for body in [
        lines,
        one.clone(),
        format!("short\n{one}\nshort\n"),
        crlf,
        "\n".repeat(300_000),
    ] {
        assert!(body.len() >= 300_000, "{}", body.len());
        let whole = format!("{head}{body}");
        folders.write("skills/long/SKILL.md", &whole);
        folders.write("skills/long/references/copy.md", &whole);
        let mut client = folders.client();
        let loaded = read_on(&mut client, "skill_load", json!({ "skill_name": "long" }));
        assert_eq!((loaded.len(), loaded == whole), (whole.len(), true));
        let copy = json!({ "skill_name": "long", "path": "references/copy.md" });
        assert!(read_on(&mut client, "skill_read", copy) == whole);
    }
}

#[test]
fn file_larger_than_any_answer_is_refused() {
    let folders = Folders::new();
    folders.skill("big", "Has large files.");
    folders.write("skills/big/huge.bin", vec![0; 5 * 1024 * 1024]);
    folders.write("skills/big/huge.txt", vec![b'x'; 17 * 1024 * 1024]);
    let mut client = folders.client();
    for path in ["huge.bin", "huge.txt"] {
        let error = client.bad("skill_read", json!({ "skill_name": "big", "path": path }));
        assert_eq!(text_at(&error, "/code"), "FILE_TOO_LARGE", "{path}");
    }
    let listed = client.good("skill_read", json!({ "skill_name": "big" }));
    assert_eq!(at(&listed, "/structuredContent/total"), 3);
}

#[test]
fn ten_thousand_files_are_listed_page_by_page() {
    let folders = Folders::new();
    folders.skill("many", "Has many files.");
    for number in 0..9_999 {
        let folder = folders.path(format!("skills/many/data/{}", number % 10));
        if number < 10 {
            std::fs::create_dir_all(&folder).unwrap();
        }
        std::fs::write(folder.join(format!("{number}.txt")), "x").unwrap();
    }
    let mut client = folders.client();
    let (mut seen, mut after, mut pages) = (BTreeSet::new(), Value::Null, 0);
    loop {
        let read = json!({ "skill_name": "many", "after": after });
        let page = client.good("skill_read", read);
        let data = at(&page, "/structuredContent");
        assert_eq!(at(data, "/total"), 10_000);
        for path in texts(list_at(data, "/files"), "/path") {
            assert!(seen.insert(path.to_owned()), "{path} comes twice");
        }
        pages += 1;
        match data.get("next") {
            Some(next) => after = next.clone(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 10_000);
    assert!(pages < 100, "{pages} pages");
    let read = json!({ "skill_name": "many", "path": "data/3/nope.txt" });
    let error = client.bad("skill_read", read);
    assert!(
        error.to_string().len() < 20_000,
        "it doesn't list ten thousand names"
    );
}

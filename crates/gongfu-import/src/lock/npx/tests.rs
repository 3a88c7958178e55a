//! The bytes of locks, as the other program writes them.

use std::path::Path;

use super::{NpxEntry, NpxLock};
use crate::error::ImportCode;

const NOW: &str = "2026-01-02T03:04:05.678Z";

fn entry(hash: &str) -> NpxEntry {
    NpxEntry {
        source: "o/r".to_owned(),
        source_type: "github".to_owned(),
        source_url: Some("https://github.com/o/r.git".to_owned()),
        skill_path: Some("skills/a/SKILL.md".to_owned()),
        hash: hash.to_owned(),
        ..NpxEntry::default()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests make the files that they read"
)]
fn changed(lock: NpxLock, text: Option<&str>, put: &[&str], removed: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    if let Some(text) = text {
        std::fs::write(&path, text).unwrap();
    }
    let document = lock.read(&path).unwrap();
    let put: Vec<_> = put
        .iter()
        .map(|name| ((*name).to_owned(), entry("h")))
        .collect();
    let removed: Vec<String> = removed.iter().map(|name| (*name).to_owned()).collect();
    String::from_utf8(lock.changed(&document, &put, &removed, NOW).unwrap()).unwrap()
}

#[test]
fn a_project_lock_is_sorted_and_keeps_what_is_unknown() {
    let before = r#"{"skills": {"z": {"source": "x", "mine": 1, "computedHash": "old"}, "gone": {}}, "version": 1, "extra": [1]}"#;
    let text = changed(NpxLock::Project, Some(before), &["z", "B", "a"], &["gone"]);
    let entry = r#"{
      "source": "o/r",
      "sourceUrl": "https://github.com/o/r.git",
      "sourceType": "github",
      "skillPath": "skills/a/SKILL.md",
      "computedHash": "h"
    }"#;
    let with_mine = entry.replace("\"h\"", "\"h\",\n      \"mine\": 1");
    let expected = format!(
        "{{\n  \"version\": 1,\n  \"skills\": {{\n    \"B\": {entry},\n    \"a\": {entry},\n    \"z\": {with_mine}\n  }},\n  \"extra\": [\n    1\n  ]\n}}\n"
    );
    assert_eq!(text, expected);
}

#[test]
fn a_persons_lock_keeps_its_order_and_the_time_of_the_installation() {
    let text = changed(NpxLock::User, None, &["b", "a"], &[]);
    assert!(text.ends_with("  \"dismissed\": {}\n}"), "{text}");
    let first = "\"installedAt\": \"2026-01-02T03:04:05.678Z\"";
    assert_eq!(text.matches(first).count(), 2);
    assert!(text.find("\"b\"") < text.find("\"a\""), "{text}");
    let before = r#"{"version": 3, "skills": {"b": {"installedAt": "then", "pinnedRef": "v1"}, "a": {}}, "lastSelectedAgents": ["codex"]}"#;
    let text = changed(NpxLock::User, Some(before), &["b"], &[]);
    assert!(text.contains("\"installedAt\": \"then\""), "{text}");
    assert!(text.contains("\"pinnedRef\": \"v1\""), "{text}");
    assert!(!text.contains("dismissed"), "{text}");
    let older = r#"{"version": 2, "skills": {"old": {"source": "x"}}}"#;
    let text = changed(NpxLock::User, Some(older), &["b"], &[]);
    assert!(text.starts_with("{\n  \"version\": 3"), "{text}");
    assert!(
        text.contains("\"old\""),
        "an older lock loses nothing: {text}"
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the files that they read"
)]
fn a_lock_that_cannot_be_understood_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("skills-lock.json");
    let fails = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let error = NpxLock::Project.read(&path).unwrap_err();
        (error.code, error.message)
    };
    for (text, part) in [
        ("", "line 1"),
        ("[]", "not a JSON object"),
        (
            "{\"version\": 1,\n<<<<<<< ours\n\"skills\": {}\n=======\n>>>>>>> theirs\n}",
            "line 2",
        ),
        ("{\"version\": 1, \"skills\": []}", "`skills`"),
        ("{\"version\": 1, \"skills\": {\"a\": 1}}", "`a`"),
        ("{\"version\": \"1\", \"skills\": {}}", "`version`"),
        ("{\"skills\": {}}", "`version`"),
    ] {
        let (code, message) = fails(text);
        assert_eq!(code, ImportCode::LockUnreadable, "{text}");
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(
        fails("{\"version\": 2, \"skills\": {}}").0,
        ImportCode::LockNewer
    );
    let home = Path::new("/h");
    let user = NpxLock::of_user(home, Some(Path::new("/s")));
    assert_eq!(user, Path::new("/s/skills/.skill-lock.json"));
    assert_eq!(
        NpxLock::of_user(home, None),
        Path::new("/h/.agents/.skill-lock.json")
    );
}

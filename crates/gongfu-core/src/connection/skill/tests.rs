//! Tests of entries of other servers: hostile paths, lies, too many of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    MAX_FILES, MAX_SIZE, MAX_SKILLS_BYTES, OfferedSkill, SkillList, SkillOffer, same_fields,
};
use crate::skill::{Digest, SkillPath};

const ROOT: &str = "skill://user/tools/pdf/";

fn file(uri: &str) -> Value {
    json!({ "uri": uri, "digest": Digest::of(b"x").to_string(), "size": 1 })
}

/// The entry of a skill, with more files than its SKILL.md.
fn entry(files: &[&str]) -> Value {
    let all = std::iter::once("SKILL.md").chain(files.iter().copied());
    let all: Vec<Value> = all.map(|path| file(&format!("{ROOT}{path}"))).collect();
    json!({
        "uri": format!("{ROOT}SKILL.md"),
        "frontmatter": { "name": "pdf", "description": "Fills forms.", "license": "MIT" },
        "resources": all,
    })
}

fn why(entry: &Value) -> String {
    OfferedSkill::read(entry).unwrap_err()
}

#[test]
fn entry_becomes_a_skill() {
    let skill = OfferedSkill::read(&entry(&["scripts/a.py", "a%20b.md"])).unwrap();
    assert_eq!(skill.name(), "pdf");
    assert_eq!(skill.parts(), ["user", "tools", "pdf"]);
    let paths: Vec<&str> = skill.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["SKILL.md", "a b.md", "scripts/a.py"]);
    let blank = skill.file(&SkillPath::new("a b.md").unwrap()).unwrap();
    assert_eq!(skill.uri_of(blank), format!("{ROOT}a%20b.md"));
    let again: OfferedSkill = serde_json::from_value(json!(skill)).unwrap();
    assert_eq!((again.digest(), &again), (skill.digest(), &skill));
}

#[test]
fn path_that_leads_elsewhere_is_refused() {
    for bad in [
        "../other/SKILL.md",
        "a/../../b",
        "a/%2e%2e/b",
        "%2E%2E/b",
        "a%2fb",
        "a%5Cb",
        "a%00b",
        "a%0ab",
        "./a",
        "a//b",
        "a/",
        "",
        "/etc/passwd",
        "a?b",
        "a#b",
        "a%",
        "a%g0",
        "a%+1",
        "~/a",
        "%ff",
    ] {
        let refused = OfferedSkill::read(&entry(&[bad]));
        assert!(refused.is_err(), "{bad}: {refused:?}");
    }
    let mut outside = entry(&[]);
    outside["resources"][0]["uri"] = json!("skill://other/pdf/SKILL.md");
    assert!(why(&outside).contains("isn't inside of it"));
}

#[test]
fn entry_that_breaks_a_rule_is_refused_with_the_reason() {
    let changed = |pointer: &str, value: Value| {
        let mut entry = entry(&["a.md"]);
        *entry.pointer_mut(pointer).unwrap() = value;
        why(&entry)
    };
    for (pointer, value, reason) in [
        (
            "/uri",
            json!("skill://user/pdf"),
            "doesn't end in /SKILL.md",
        ),
        ("/uri", json!("skill://user/pdf?a=/SKILL.md"), "no URI has"),
        (
            "/uri",
            json!("skill://other/pdf2/SKILL.md"),
            "isn't the last part",
        ),
        ("/uri", json!(7), "doesn't end in"),
        ("/frontmatter", json!("text"), "no frontmatter"),
        ("/frontmatter/name", json!("other"), "isn't the last part"),
        ("/frontmatter/name", json!("p/df"), "path separator"),
        ("/frontmatter/name", json!("pdf "), "can't stand in a URI"),
        ("/frontmatter/name", json!(["pdf"]), "empty"),
        ("/frontmatter/description", json!(" "), "no description"),
        ("/frontmatter/license", json!("x".repeat(70_000)), "64 KiB"),
        ("/resources", json!("dynamic"), "no digests"),
        ("/resources", json!("static"), "no files"),
        ("/resources", json!([]), "have no SKILL.md"),
        ("/resources/0", json!("SKILL.md"), "isn't inside of it"),
        ("/resources/0/digest", json!("md5:00"), "64 lower-case"),
        ("/resources/0/size", json!(-1), "no size"),
        ("/resources/0/size", json!(1.5), "no size"),
        ("/resources/1/size", json!(MAX_SIZE), "16 MiB"),
        ("/resources/1/size", json!(u64::MAX), "16 MiB"),
    ] {
        let said = changed(pointer, value.clone());
        assert!(said.contains(reason), "{pointer} {value}: {said}");
    }
    assert!(why(&entry(&["a.md", "a.md"])).contains("a.md is listed twice"));
    assert!(why(&entry(&["a.md", "%61.md"])).contains("a.md is listed twice"));
    assert!(why(&entry(&["a/b/c.md", "a-b", "a"])).contains("folder of a/b/c.md"));
    let many: Vec<String> = (0..MAX_FILES).map(|at| format!("{at}.md")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(why(&entry(&many)).contains("more than 512 files"));
    assert!(why(&json!(null)).contains("doesn't end in"));
}

fn offer<'a>(entries: impl IntoIterator<Item = &'a Value>) -> SkillOffer {
    let mut list = SkillList::default();
    entries.into_iter().for_each(|entry| list.add(entry));
    list.into_offer()
}

#[test]
fn bad_entry_costs_only_itself() {
    let (good, mut bad) = (entry(&[]), entry(&[]));
    bad["resources"] = json!("dynamic");
    let offered = offer([&bad, &good, &good, &json!([])]);
    assert_eq!(offered.skills.len(), 1);
    let reasons: Vec<&str> = offered.left_out.iter().map(|left| &*left.why).collect();
    assert!(reasons[0].contains("no digests"), "{reasons:?}");
    assert!(reasons[1].contains("listed twice"), "{reasons:?}");
    assert_eq!(reasons.len(), 3);
    assert_eq!(offer([]), SkillOffer::default());
}

#[test]
fn ten_thousand_skills_take_no_more_than_their_room() {
    let text = "x".repeat(1_000);
    let all: Vec<Value> = (0..10_000)
        .map(|at| {
            let uri = format!("skill://many/skill-{at}/SKILL.md");
            let frontmatter = json!({ "name": format!("skill-{at}"), "description": text });
            json!({ "uri": uri, "frontmatter": frontmatter, "resources": [file(&uri)] })
        })
        .collect();
    let offered = offer(&all);
    let length = serde_json::to_vec(&offered.skills).unwrap().len();
    assert!(length < MAX_SKILLS_BYTES + 10_000, "{length}");
    assert!(offered.skills.len() > 5_000, "{}", offered.skills.len());
    assert_eq!(offered.skills.len() + offered.left_out.len(), 10_000);
    assert!(offered.left_out[0].why.contains("more skills than"));
}

#[test]
fn person_sees_every_character() {
    let mut hidden = entry(&[]);
    hidden["frontmatter"]["description"] = json!("Fills forms.\u{200b}\nfile: a.md, 1 bytes, none");
    let skill = OfferedSkill::read(&hidden).unwrap();
    assert!(skill.has_hidden_characters());
    let text = skill.text();
    assert!(
        text.contains("\\u{200b}") || text.contains("\\u{200B}"),
        "{text}"
    );
    assert!(text.contains("\n  file: a.md"), "{text}");
    assert!(
        !skill.description().contains('\n'),
        "{}",
        skill.description()
    );
    let plain = OfferedSkill::read(&entry(&[])).unwrap();
    assert!(!plain.has_hidden_characters());
    assert!(plain.text().contains("license: MIT"), "{}", plain.text());
}

#[test]
fn frontmatters_are_compared_by_what_they_say() {
    let fields = |value: Value| value.as_object().unwrap().clone();
    let one = fields(json!({ "name": "a", "version": 1, "metadata": { "tags": ["x", "y"] } }));
    for (other, is_same) in [
        (
            json!({ "metadata": { "tags": ["x", "y"] }, "version": 1.0, "name": "a" }),
            true,
        ),
        (
            json!({ "name": "a", "version": "1", "metadata": { "tags": ["x", "y"] } }),
            false,
        ),
        (
            json!({ "name": "a", "version": 2, "metadata": { "tags": ["x", "y"] } }),
            false,
        ),
        (
            json!({ "name": "a", "version": 1, "metadata": { "tags": ["y", "x"] } }),
            false,
        ),
        (
            json!({ "name": "a", "version": 1, "metadata": { "tags": ["x"] } }),
            false,
        ),
        (json!({ "name": "a", "version": 1 }), false),
        (
            json!({ "name": "a", "version": 1, "metadata": {}, "more": null }),
            false,
        ),
    ] {
        assert_eq!(
            same_fields(&one, &fields(other.clone())),
            is_same,
            "{other}"
        );
        assert_eq!(same_fields(&fields(other), &one), is_same);
    }
}

proptest! {
    #[test]
    fn file_that_is_taken_is_below_its_skill(below in "[a-zA-Z0-9%./~?#:\\\\ é-]{0,20}|(%2e|\\.|/|a|%2F|%5c){0,8}") {
        let Ok(skill) = OfferedSkill::read(&entry(&[&below])) else {
            return Ok(());
        };
        prop_assert_eq!(skill.files.len(), 2);
        let other = skill.files.iter().find(|file| file.path.as_str() != "SKILL.md").unwrap();
        let path = other.path.as_str();
        prop_assert!(SkillPath::is_exact(path) && !path.is_empty());
        prop_assert!(path.split('/').all(|part| !["", ".", ".."].contains(&part)), "{}", path);
        prop_assert_eq!(skill.uri_of(other), format!("{ROOT}{below}"));
    }
}

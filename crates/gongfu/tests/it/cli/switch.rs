//! `gongfu skill enable|disable` and what `show` says of skills that share a name.

use gongfu_testing::json::at;
use serde_json::json;

use crate::fixture::Fixture;

/// Three sources with a skill `pdf`.
fn three() -> Fixture {
    let fixture = Fixture::new();
    for source in ["first", "second", "third"] {
        let text = "---\nname: pdf\ndescription: Reads PDF files.\n---\n\nRead them.\n";
        fixture.write(format!("{source}/pdf/SKILL.md"), text);
    }
    fixture
}

const SOURCES: [&str; 3] = ["first", "second", "third"];

#[test]
fn disabling_says_which_skill_takes_the_name() {
    let fixture = three();
    let disable = |name: &str| fixture.over(&SOURCES, ["skill", "disable", name]).good();
    let said = disable("pdf").text();
    assert!(said.contains("first/pdf is disabled"), "{said}");
    assert!(said.contains("pdf is now second/pdf"), "{said}");
    assert!(said.contains("--all pdf"), "{said}");
    let json = fixture
        .over(&SOURCES, ["skill", "disable", "second/pdf", "--json"])
        .good()
        .json();
    assert_eq!(at(&json, "/shadowed_by"), "third/pdf");
    let said = disable("pdf").text();
    assert_eq!(said.trim(), "third/pdf is disabled");
    let said = fixture.over(&SOURCES, ["skill", "enable", "third/pdf"]);
    assert_eq!(said.good().text().trim(), "third/pdf is enabled");
    let again = fixture.over(&SOURCES, ["skill", "enable", "second/pdf"]);
    assert_eq!(again.good().text().trim(), "second/pdf is enabled");
    let shadowed = fixture.over(&SOURCES, ["skill", "enable", "third/pdf"]);
    let said = shadowed.good().text();
    assert!(said.contains("pdf is still second/pdf"), "{said}");
}

#[test]
fn all_skills_of_a_name_are_disabled_at_once() {
    let fixture = three();
    fixture.write(
        "first/other/SKILL.md",
        "---\nname: other\ndescription: Other work.\n---\n\nDo it.\n",
    );
    let run = |arguments: [&str; 4]| fixture.over(&SOURCES, arguments);
    let said = run(["skill", "disable", "--all", "pdf"]).good().text();
    assert_eq!(said.lines().count(), 3, "{said}");
    let listed = fixture.over(&SOURCES, ["skill", "list", "--json"]);
    let listed = listed.good().json();
    for skill in listed.as_array().unwrap() {
        let enabled = at(skill, "/name") == "other";
        assert_eq!(at(skill, "/enabled"), enabled, "{skill:#}");
    }
    let said = run(["skill", "enable", "--all", "pdf"]).good().text();
    assert_eq!(said.matches("is enabled").count(), 3, "{said}");
    let unknown = run(["skill", "disable", "--all", "pdff"]).ends(1);
    assert!(unknown.stderr.contains("pdf"), "{}", unknown.stderr);
}

#[test]
fn show_names_what_a_skill_shadows() {
    let fixture = three();
    let said = fixture.over(&SOURCES, ["skill", "show", "pdf"]).good();
    let said = said.text();
    assert!(said.contains("shadows    second/pdf\n"), "{said}");
    assert!(said.contains("third/pdf\n"), "{said}");
    let json = fixture.over(&SOURCES, ["skill", "show", "pdf", "--json"]);
    let json = json.good().json();
    assert_eq!(*at(&json, "/shadows"), json!(["second/pdf", "third/pdf"]));
    let other = fixture.over(&SOURCES, ["skill", "show", "second/pdf"]);
    let said = other.good().text();
    assert!(said.contains("shadowed   by first/pdf"), "{said}");
}

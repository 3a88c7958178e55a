//! Texts that speak to the terminal instead of the person: none arrives as it is.

use gongfu_testing::json::{at, text_at};
use serde_json::Value;

use crate::fixture::Fixture;

const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31mred\u{9b}31m\u{8}\u{202e}";

fn planted() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    let escaped = r#""\e]0;owned\a\e[2J\e[31mred\x9b31m\b\u202e""#;
    fixture.write(
        "skills/one/SKILL.md",
        format!("---\nname: one\ndescription: {escaped}\nlicense: {escaped}\n{escaped}: x\n{escaped}: y\nmetadata:\n  {escaped}: [1]\nallowed-tools: {escaped}\n---\n\n[x]({ESCAPES}.md)\n\n# {ESCAPES}\n"),
    );
    fixture.write(
        "skills/two/SKILL.md",
        format!("---\nname: {escaped}\ndescription: Fine.\n---\n\nText.\n"),
    );
    fixture.write(
        "skills/three/SKILL.md",
        format!(
            "---\nname: three\ndescription: a: {} \u{1b}[31m red\n---\n\nText.\n",
            "plain words ".repeat(4)
        ),
    );
    fixture.write("skills/four/SKILL.md", format!("{ESCAPES}\n"));
    if cfg!(unix) {
        fixture.write(
            format!("skills/{ESCAPES}/SKILL.md"),
            "---\nname: five\ndescription: Fine.\n---\n\nText.\n",
        );
        fixture.write(format!("skills/one/{ESCAPES}.md"), "x");
    }
    fixture
}

/// What a text for people holds that a terminal would obey.
fn obeyed(text: &str) -> Option<char> {
    text.chars()
        .find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Asserts that a text for people holds nothing that a terminal would obey.
fn is_plain(what: &[&str], text: &str) {
    let bad = obeyed(text);
    assert!(bad.is_none(), "{what:?} says {bad:?}: {text:?}");
}

#[test]
fn text_for_people_has_no_escapes() {
    let fixture = planted();
    let mut found = Vec::new();
    for arguments in [
        &["skill", "list"][..],
        &["list", "--tag", ESCAPES],
        &["list", "--source", ESCAPES],
        &["search", "red", "fine"],
        &["search", ESCAPES],
        &["complete", "--", "skill", "show", ""],
        &[ESCAPES],
        &["skill", ESCAPES],
        &["run", "one", "--timeout", ESCAPES, "x"],
        &["client", "install", ESCAPES],
        &["grant", "add", "one", ESCAPES],
        &["mcp", "--profile", ESCAPES],
        &["skill", "show", "one"],
        &["skill", "show", "skills/two"],
        &["skill", "show", "three"],
        &["skill", "show", ESCAPES],
        &["skill", "read", ESCAPES],
        &["skill", "read", "one", ESCAPES],
        &["skill", "read", "one", "--section", "nope"],
        &["skill", "check"],
        &["skill", "check", "--strict"],
        &["skill", "check", ESCAPES],
        &["skill", "disable", ESCAPES],
        &["tool", "call", "skill_list"],
        &["tool", "call", "skill_read", "skill_name=one"],
        &["tool", "call", ESCAPES],
        &["tool", "call", "skill_list", ESCAPES],
        &[
            "tool",
            "call",
            "skill_load",
            "skill_name=one",
            "section=nope",
        ],
        &["doctor"],
        &["init", "--offline"],
        &["skill", "list", "--skills-dir", ESCAPES],
        &["skill", "list", "--workspace", ESCAPES],
        &["skill", "disable", "one"],
    ] {
        let ran = fixture.only(arguments).run();
        let texts = [ran.text(), ran.stderr];
        let bad = texts.into_iter().filter(|text| obeyed(text).is_some());
        found.extend(bad.map(|text| format!("{arguments:?} says {text:?}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn preview_of_a_fix_has_no_escapes() {
    let fixture = planted();
    let ran = fixture.only(["skill", "check", "--fix", "--dry-run"]).run();
    is_plain(&["skill", "check", "--fix", "--dry-run"], &ran.text());
    is_plain(&["skill", "check", "--fix", "--dry-run"], &ran.stderr);
}

#[test]
fn json_for_programs_keeps_the_text() {
    let fixture = planted();
    let listed = fixture.listed();
    let one = listed
        .iter()
        .find(|skill| text_at(skill, "/name") == "one")
        .unwrap();
    assert_eq!(text_at(one, "/description"), ESCAPES);
    // JSON itself escapes what is below a blank.
    let is_plain = |what: &[&str], text: &str| is_plain(what, &text.replace('\u{9b}', ""));
    is_plain(
        &["--json"],
        &fixture.only(["skill", "list", "--json"]).good().text(),
    );
    is_plain(
        &["--json"],
        &fixture.only(["skill", "check", "--json"]).run().text(),
    );
    let names: Vec<&Value> = listed.iter().map(|skill| at(skill, "/name")).collect();
    assert!(
        names
            .iter()
            .all(|name| !name.as_str().unwrap().chars().any(char::is_control)),
        "no name holds one: {names:?}"
    );
    let raw = fixture.only(["skill", "read", "one"]).good().stdout;
    assert_eq!(
        raw,
        std::fs::read(fixture.path("skills/one/SKILL.md")).unwrap()
    );
}

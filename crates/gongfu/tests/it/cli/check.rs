//! `gongfu skill check`: its shape, its exit codes, and what can be given to it.

use std::fs;

use gongfu_testing::json::{at, codes, keys, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;

fn checked(fixture: &Fixture, paths: &[&str], more: &[&str], code: i32) -> Value {
    let mut arguments = vec!["skill".to_owned(), "check".to_owned(), "--json".to_owned()];
    arguments.extend(
        paths
            .iter()
            .map(|path| fixture.path(path).to_string_lossy().into_owned()),
    );
    arguments.extend(more.iter().map(|&argument| argument.to_owned()));
    fixture.gongfu(arguments).ends(code).json()
}

#[test]
fn check_json_has_exactly_this_shape() {
    let fixture = Fixture::new();
    fixture.skill("good", "Does good deeds.");
    fixture.write(
        "skills/bad/SKILL.md",
        "---\nname: Bad\ndescription: Does harm: badly.\n---\n\n[gone](gone.md)\n",
    );
    let answer = checked(&fixture, &["skills"], &[], 1);
    assert_eq!(keys(&answer), ["skills", "summary"]);
    assert_eq!(
        keys(at(&answer, "/summary")),
        ["errors", "loadable", "skills", "valid", "warnings"]
    );
    assert_eq!(at(&answer, "/summary/skills"), 2);
    assert_eq!(at(&answer, "/summary/loadable"), 2);
    assert_eq!(at(&answer, "/summary/valid"), 1);
    for skill in list_at(&answer, "/skills") {
        assert_eq!(
            keys(skill),
            ["diagnostics", "loadable", "name", "path", "valid"]
        );
        for found in list_at(skill, "/diagnostics") {
            assert_eq!(
                keys(found),
                [
                    "code", "column", "file", "fixable", "hint", "line", "message", "severity"
                ]
            );
            assert!(["error", "warning", "info"].contains(&text_at(found, "/severity")));
            for part in ["/code", "/message", "/hint"] {
                assert!(!text_at(found, part).is_empty(), "{part}: {found:#}");
            }
        }
    }
    let bad = at(&answer, "/skills/0");
    assert_eq!(
        text_at(bad, "/path"),
        fixture.path("skills/bad").to_str().unwrap()
    );
    let found = codes(bad);
    for code in ["name-uppercase", "yaml-unquoted", "reference-dangling"] {
        assert!(found.contains(&code.to_owned()), "{code}: {found:?}");
    }
    let unquoted = list_at(bad, "/diagnostics")
        .iter()
        .find(|found| text_at(found, "/code") == "yaml-unquoted")
        .unwrap();
    assert_eq!(
        (
            at(unquoted, "/file"),
            at(unquoted, "/line"),
            at(unquoted, "/fixable")
        ),
        (&json!("SKILL.md"), &json!(3), &json!(true))
    );
    assert_eq!(at(at(&answer, "/skills/1"), "/diagnostics"), &json!([]));
}

#[test]
fn exit_codes_are_0_for_good_1_for_findings_2_for_wrong_use() {
    let fixture = Fixture::new();
    fixture.skill("good", "Does good deeds.");
    fixture.write(
        "skills/warned/SKILL.md",
        "---\nname: warned\ndescription: Warns.\ncolour: red\n---\n\nText.\n",
    );
    checked(&fixture, &["skills"], &[], 0);
    fixture.write("skills/bad/SKILL.md", "no frontmatter\n");
    checked(&fixture, &["skills"], &[], 1);
    checked(&fixture, &["skills/good", "skills/warned"], &[], 0);
    fixture.gongfu(["skill", "check", "--no-such-flag"]).ends(2);
    // Without a path it is the library that is judged.
    let all = fixture.only(["skill", "check", "--json"]).ends(1).json();
    assert_eq!(at(&all, "/summary/skills"), 3);
}

#[test]
fn strict_is_the_verdict_of_the_reference() {
    let fixture = Fixture::new();
    fixture.skill("good", "Does good deeds.");
    // A field of one's own is a warning here, and a refusal there.
    fixture.write(
        "skills/own/SKILL.md",
        "---\nname: own\ndescription: Has a field.\ncolour: red\n---\n\nText.\n",
    );
    // A flow collection is YAML, and nothing that the reference reads.
    fixture.write(
        "skills/flow/SKILL.md",
        "---\nname: flow\ndescription: Flows.\nmetadata: {a: b}\n---\n\nText.\n",
    );
    checked(&fixture, &["skills"], &[], 0);
    let strict = checked(&fixture, &["skills"], &["--strict"], 1);
    let valid: Vec<(&str, bool)> = list_at(&strict, "/skills")
        .iter()
        .map(|skill| {
            (
                text_at(skill, "/name"),
                at(skill, "/valid").as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(valid, [("flow", false), ("good", true), ("own", false)]);
    checked(&fixture, &["skills/good"], &["--strict"], 0);
}

#[test]
fn path_without_a_skill_is_a_finding() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("empty")).unwrap();
    fixture.write("code/skill.py", "SKILL_MANIFEST = {}\n");
    fixture.write("readme.md", "text");
    for (path, code) in [
        ("empty", "skill-file-missing"),
        ("code", "skill-file-is-code"),
        ("nowhere", "path-missing"),
        ("nowhere/SKILL.md", "path-missing"),
        ("readme.md", "path-not-a-folder"),
        ("readme.md/x", "path-missing"),
    ] {
        let answer = checked(&fixture, &[path], &[], 1);
        let skill = at(&answer, "/skills/0");
        let found = codes(skill);
        assert!(
            found.contains(&code.to_owned())
                || (path == "readme.md/x" && found == ["path-not-a-folder"]),
            "{path}: {found:?}"
        );
        assert_eq!(
            (at(skill, "/loadable"), at(skill, "/valid")),
            (&json!(false), &json!(false)),
            "{path}"
        );
        assert!(
            !text_at(skill, "/path").is_empty() && !text_at(skill, "/name").is_empty(),
            "{path}: {skill:#}"
        );
    }
}

#[test]
fn check_takes_a_skill_its_file_or_the_folder_above() {
    let fixture = Fixture::new();
    fixture.skill("good", "Does good deeds.");
    let wanted = fixture.path("skills/good");
    for path in [
        "skills",
        "skills/good",
        "skills/good/",
        "skills/good/SKILL.md",
        "skills/good/../good",
    ] {
        let answer = checked(&fixture, &[path], &[], 0);
        assert_eq!(
            text_at(&answer, "/skills/0/path"),
            wanted.to_str().unwrap(),
            "{path}"
        );
        assert_eq!(at(&answer, "/summary/skills"), 1, "{path}");
    }
    // Relative paths start in the current folder.
    for path in [".", "SKILL.md", "./SKILL.md", "../good"] {
        let answer = fixture
            .gongfu(["skill", "check", "--json", path])
            .within(wanted.clone())
            .good()
            .json();
        assert_eq!(
            text_at(&answer, "/skills/0/path"),
            wanted.to_str().unwrap(),
            "{path}"
        );
    }
    // One skill named twice is judged once.
    let twice = checked(&fixture, &["skills", "skills/good"], &[], 0);
    assert_eq!(at(&twice, "/summary/skills"), 1);
    fixture.write(
        "lower/skill.md",
        "---\nname: lower\ndescription: Small letters.\n---\n\nText.\n",
    );
    let lower = checked(&fixture, &["lower/skill.md"], &[], 0);
    assert_eq!(codes(at(&lower, "/skills/0")), ["skill-file-spelling"]);
}

#[test]
fn check_shows_finding_place_and_repair() {
    let fixture = Fixture::new();
    fixture.write(
        "skills/bad/SKILL.md",
        "---\nname: bad\ndescription: Does harm: badly.\n---\n\nText.\n",
    );
    let shown = fixture
        .gongfu(
            ["skill", "check"]
                .map(std::path::PathBuf::from)
                .into_iter()
                .chain([fixture.path("skills")]),
        )
        .ends(1)
        .text();
    for part in [
        "error[yaml-unquoted]",
        "SKILL.md:3:",
        "description: Does harm: badly.",
        "--fix does it",
        "1 skill, 1 loadable, 0 valid; 1 error, 0 warnings; --fix can fix 1",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn missing_skills_dir_is_an_error() {
    let fixture = Fixture::new();
    fixture.skill("good", "Does good deeds.");
    let ran = fixture
        .gongfu([
            "skill",
            "check",
            "--json",
            "--no-default-dirs",
            "--skills-dir",
            "/no/such/folder",
        ])
        .ends(1);
    assert_eq!(codes(at(&ran.json(), "/skills/0")), ["path-missing"]);
}

#[test]
fn files_left_out_do_not_hide_their_skill() {
    let fixture = Fixture::new();
    let deep = "d/".repeat(70);
    fixture.write("skills/deep/SKILL.md", "---\nname: Deep\n---\n\nText.\n");
    fixture.write(format!("skills/deep/{deep}x"), "x");
    let answer = checked(&fixture, &["skills/deep"], &[], 1);
    assert_eq!(at(&answer, "/summary/skills"), 1);
    let found = codes(at(&answer, "/skills/0"));
    for code in ["description-missing", "depth-left-out"] {
        assert!(found.iter().any(|known| known == code), "{found:?}");
    }
}

#[test]
fn second_skill_of_a_name_is_reported() {
    let fixture = Fixture::new();
    fixture.skill_in("one/a", "same", "First.");
    fixture.skill_in("one/b", "same", "Second.");
    fixture.skill_in("two", "same", "Third.");
    for paths in [&["one"][..], &["one/a", "two"]] {
        let answer = checked(&fixture, paths, &[], 0);
        assert_eq!(codes(at(&answer, "/skills/0")), [""; 0]);
        assert_eq!(codes(at(&answer, "/skills/1")), ["name-taken"]);
    }
}

#[test]
fn too_many_files_are_reported() {
    let fixture = Fixture::new();
    fixture.skill("many", "Has many files.");
    for number in 0..512 {
        fixture.write(format!("skills/many/{number}.txt"), "x");
    }
    let answer = checked(&fixture, &["skills"], &[], 0);
    assert_eq!(codes(at(&answer, "/skills/0")), ["files-too-many"]);
}

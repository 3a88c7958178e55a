//! The commands for authors of skills: `skill new`, `explain`, SARIF, fixes of common errors, and skills that don't
//! load.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use gongfu_testing::json::{at, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;

const GOOD: &str = "---\nname: pdf\ndescription: Reads PDF files.\n---\n\nRead them.\n";

/// The codes of a check of a path.
fn codes(fixture: &Fixture, path: &str) -> Vec<String> {
    let path = fixture.path(path);
    let run = fixture.gongfu(["skill", "check", path.to_str().unwrap(), "--json"]);
    let json = run.run().json();
    let skills = list_at(&json, "/skills").iter();
    let found = skills.flat_map(|skill| list_at(skill, "/diagnostics"));
    found
        .map(|found| text_at(found, "/code").to_owned())
        .collect()
}

/// The full names that are listed with the conventional folders, and what is noted.
fn listed(fixture: &Fixture) -> (Vec<String>, String) {
    let ran = fixture.gongfu(["skill", "list", "--json"]).good();
    let json = ran.json();
    let skills = json.as_array().unwrap().iter();
    let names = skills.map(|skill| text_at(skill, "/full_name").to_owned());
    let names = names.filter(|name| !name.starts_with("built-in/"));
    (names.collect(), ran.stderr.clone())
}

#[test]
fn links_of_the_installer_are_ordinary() {
    let fixture = Fixture::new();
    for base in ["project", "user"] {
        fixture.write(format!("{base}/.agents/skills/{base}-pdf/SKILL.md"), GOOD);
        let claude = fixture.path(format!("{base}/.claude/skills"));
        fs::create_dir_all(&claude).unwrap();
        let target = format!("../../.agents/skills/{base}-pdf");
        symlink(target, claude.join(format!("{base}-pdf"))).unwrap();
    }
    let (names, noted) = listed(&fixture);
    assert_eq!(
        names,
        ["user-agents/user-pdf", "project-agents/project-pdf"]
    );
    assert!(!noted.contains("note"), "{noted}");
    let checked = fixture.gongfu(["skill", "check", "--json"]).run().json();
    let text = checked.to_string();
    assert!(!text.contains("skill-link-outside"), "{text}");
    let path = fixture.path("user/.claude/skills");
    let ran = fixture.gongfu(["skill", "check", path.to_str().unwrap()]);
    let ran = ran.within(fixture.path("skills")).run();
    assert!(!ran.text().contains("link"), "{}", ran.text());
}

#[test]
fn linked_skill_of_a_person_has_a_proper_name_and_others_stay_refused() {
    let fixture = Fixture::new();
    fixture.write("elsewhere/docx/SKILL.md", GOOD.replace("pdf", "docx"));
    fixture.write("elsewhere/many/one/SKILL.md", GOOD.replace("pdf", "one"));
    for base in ["user", "project"] {
        let claude = fixture.path(format!("{base}/.claude/skills"));
        fs::create_dir_all(&claude).unwrap();
        symlink(fixture.path("elsewhere/docx"), claude.join("docx")).unwrap();
    }
    let many = fixture.path("user/.claude/skills/many");
    symlink(fixture.path("elsewhere/many"), many).unwrap();
    let (names, noted) = listed(&fixture);
    assert_eq!(names, ["user-claude/docx", "user-claude/many/one"]);
    // Its target became a source by the person's own link.
    assert!(!noted.contains("note"), "{noted}");
    for name in ["docx", "user-claude/docx", "user-claude/many/one"] {
        let shown = fixture.gongfu(["skill", "read", name]).good().text();
        assert!(shown.starts_with("---"), "{name}: {shown}");
    }
    let disabled = fixture.gongfu(["skill", "disable", "user-claude/docx"]);
    disabled.good();
    fs::remove_file(fixture.path("user/.claude/skills/docx")).unwrap();
    let (names, noted) = listed(&fixture);
    assert_eq!(names, ["user-claude/many/one"]);
    assert!(noted.contains("not a source of skills"), "{noted}");
}

/// A zip of stored files, with their names in its directory.
fn archive(names: &[&str]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        bytes.extend(b"PK\x03\x04");
        bytes.extend([0; 22]);
        bytes.extend((u32::try_from(name.len()).unwrap()).to_le_bytes());
        bytes.extend(name.as_bytes());
        directory.extend(b"PK\x01\x02");
        directory.extend([0; 42]);
        directory.extend(name.as_bytes());
    }
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 18]);
    bytes
}

#[test]
fn packed_skills_are_reported_with_what_to_do() {
    let fixture = Fixture::new();
    let folder = fixture.path("user/.claude/skills");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("docx.skill"), archive(&["docx/SKILL.md"])).unwrap();
    fs::write(folder.join("pdf.zip"), archive(&["pdf/SKILL.md", "x"])).unwrap();
    fs::write(folder.join("fonts.zip"), archive(&["a.ttf"])).unwrap();
    let (names, noted) = listed(&fixture);
    assert!(names.is_empty());
    for part in ["docx.skill", "pdf.zip", "unpack it"] {
        assert!(noted.contains(part), "{part}: {noted}");
    }
    assert!(!noted.contains("fonts.zip"), "{noted}");
    let doctor = fixture.gongfu(["doctor", "-v"]).run().text();
    assert!(doctor.contains("docx.skill"), "{doctor}");
    assert_eq!(codes(&fixture, "user/.claude/skills"), ["skill-packed"; 2]);
    let zip = folder.join("pdf.zip");
    let ran = fixture
        .gongfu(["skill", "check", zip.to_str().unwrap()])
        .ends(1);
    assert!(ran.text().contains("is an archive"), "{}", ran.text());
    assert!(ran.text().contains("unpack it"), "{}", ran.text());
}

#[test]
fn untouched_templates_and_vague_descriptions_are_findings() {
    let fixture = Fixture::new();
    let call = [
        "tool",
        "call",
        "skill_create",
        "name=report",
        "description=Does things.",
    ];
    fixture.gongfu(call).good();
    let found = codes(&fixture, "home/skills/report");
    assert_eq!(found, ["description-vague", "template-untouched"]);
}

#[test]
fn new_skill_passes_a_check_but_for_its_template() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("project/.git")).unwrap();
    fs::create_dir_all(fixture.path("project/sub")).unwrap();
    let ran = fixture.gongfu(["skill", "new", "csv-report"]);
    let ran = ran.within(fixture.path("project/sub")).good();
    let folder = fixture.path("project/.agents/skills/csv-report");
    assert_eq!(ran.text().trim(), folder.to_str().unwrap());
    for part in ["Codex", "Claude Code reads only", "skill check"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let found = codes(&fixture, "project/.agents/skills/csv-report");
    assert_eq!(found, ["template-untouched"]);
    let again = fixture.gongfu(["skill", "new", "csv-report"]).ends(1);
    assert!(again.stderr.contains("SKILL_EXISTS"), "{}", again.stderr);

    fs::create_dir_all(fixture.path("user/.claude")).unwrap();
    let new = ["skill", "new", "notes", "--in", "user", "--json"];
    let json = fixture.gongfu(new).good().json();
    let link = fixture.path("user/.claude/skills/notes");
    assert_eq!(text_at(&json, "/link"), link.to_str().unwrap());
    assert_eq!(at(&json, "/clients/0"), "Claude Code");
    assert!(
        fs::read_to_string(link.join("SKILL.md"))
            .unwrap()
            .contains("name: notes")
    );
    assert_eq!(
        fs::read_link(&link).unwrap(),
        Path::new("../../.agents/skills/notes")
    );

    let described = [
        "skill",
        "new",
        "merge",
        "--in",
        "home",
        "--description",
        "Use: \"now\"",
    ];
    let ran = fixture.gongfu(described).good();
    let folder = fixture.path("home/skills/merge");
    assert_eq!(ran.text().trim(), folder.to_str().unwrap());
    let (names, noted) = listed(&fixture);
    let expected = [
        "home/merge",
        "user-agents/notes",
        "project-agents/csv-report",
    ];
    assert_eq!(names, expected, "{noted}");
}

#[test]
fn new_skill_needs_a_valid_name_and_overwrites_nothing() {
    let fixture = Fixture::new();
    for (name, said) in [
        ("CSV Report", "csv-report"),
        ("../x", "x"),
        ("a--b", "a-b"),
        ("p\u{434}f", "several scripts"),
        ("\u{1b}[31m", "error"),
        ("", "empty"),
    ] {
        let ran = fixture.gongfu(["skill", "new", name]).ends(2);
        assert!(ran.stderr.contains(said), "{name:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    }
    assert_eq!(fs::read_dir(fixture.path("project")).unwrap().count(), 0);
    let mine = fixture.write("project/.claude/skills/pdf/SKILL.md", GOOD);
    fixture.gongfu(["skill", "new", "pdf"]).ends(1);
    assert_eq!(fs::read_to_string(&mine).unwrap(), GOOD);
    assert!(!fixture.path("project/.agents/skills/pdf").exists());
    // Where one folder is a link to the other, there is no second link.
    fs::create_dir_all(fixture.path("user/.agents/skills")).unwrap();
    fs::create_dir_all(fixture.path("user/.claude")).unwrap();
    symlink("../.agents/skills", fixture.path("user/.claude/skills")).unwrap();
    fixture.gongfu(["skill", "new", "x", "--in", "user"]).good();
    let entries = fs::read_dir(fixture.path("user/.agents/skills/x")).unwrap();
    assert_eq!(entries.count(), 1);
    fixture
        .gongfu(["skill", "new", "y"])
        .within("/".into())
        .ends(1);
}

#[test]
fn every_code_is_explained() {
    let fixture = Fixture::new();
    let all = fixture.gongfu(["explain", "--json"]).good().json();
    let all = all.as_array().unwrap();
    assert!(all.len() > 140, "{}", all.len());
    let shown = fixture.gongfu(["explain", "NAME-uppercase"]).good().text();
    for part in ["name-uppercase", "Example:", "Fix:"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = fixture.gongfu(["explain", "SKILL_NOT_FOUND"]).good().text();
    assert!(shown.contains("gongfu skill search"), "{shown}");
    let wrong = fixture.gongfu(["explain", "name-upercase"]).ends(2); // typos: ignore
    assert!(
        wrong
            .stderr
            .contains("did you mean `gongfu explain name-uppercase`?"),
        "{}",
        wrong.stderr
    );
    let list = fixture.gongfu(["explain"]).good();
    assert_eq!(list.text().lines().count(), all.len());
}

#[test]
fn sarif_names_rules_places_and_relative_paths() {
    let fixture = Fixture::new();
    fixture.write("project/skills/a b:c/SKILL.md", GOOD.replace("pdf", "PDF"));
    fixture.write("skills/pdf/SKILL.md", "\u{feff}# PDF\n\nReads PDF files.\n");
    let outside = fixture.path("skills");
    let check = [
        "skill",
        "check",
        "skills",
        outside.to_str().unwrap(),
        "--format",
        "sarif",
    ];
    let log = fixture.gongfu(check).ends(1).json();
    assert_eq!(text_at(&log, "/version"), "2.1.0");
    let run = at(&log, "/runs/0");
    let rules: Vec<&Value> = list_at(run, "/tool/driver/rules").iter().collect();
    let results = list_at(run, "/results");
    assert!(results.len() >= 4, "{log:#}");
    for result in results {
        let index = usize::try_from(at(result, "/ruleIndex").as_u64().unwrap()).unwrap();
        assert_eq!(at(rules[index], "/id"), at(result, "/ruleId"));
        assert!(!text_at(rules[index], "/shortDescription/text").is_empty());
        let place = at(result, "/locations/0/physicalLocation");
        assert!(at(place, "/region/startLine").as_u64() >= Some(1));
        let uri = text_at(place, "/artifactLocation/uri");
        if uri.starts_with("file:///") {
            assert!(uri.ends_with("/skills/pdf/SKILL.md"), "{uri}");
        } else {
            assert_eq!(uri, "skills/a%20b%3Ac/SKILL.md");
            assert_eq!(text_at(place, "/artifactLocation/uriBaseId"), "%SRCROOT%");
        }
    }
    let base = text_at(run, "/originalUriBaseIds/%SRCROOT%/uri");
    assert!(
        base.starts_with("file:///") && base.ends_with("/project/"),
        "{base}"
    );
    let json = ["skill", "check", "skills", "--format", "json"];
    let alias = ["skill", "check", "skills", "--json"];
    let shown = |arguments: &[&str]| fixture.gongfu(arguments).ends(1).json();
    assert_eq!(shown(&json), shown(&alias));
    fixture
        .gongfu(["skill", "check", "--json", "--format", "text"])
        .ends(2);
}

#[test]
fn common_errors_are_fixed_in_one_go() {
    let fixture = Fixture::new();
    fixture.write("skills/plain/skill.md", "# Plain\n\nReads plain files.\n");
    fixture.write(
        "skills/shouted/Skill.MD",
        "---\nname: Other\ndescription: Shouts loudly.\n\n# Shout\n",
    );
    fixture.write(
        "skills/tools/SKILL.md",
        "name: tools\ndescription: Uses hammers.\nallowed-tools: Read, Bash(ls:*)\n---\n\nHit.\n",
    );
    let path = fixture.path("skills");
    let path = path.to_str().unwrap();
    let dry = fixture
        .gongfu(["skill", "check", path, "--fix", "--dry-run"])
        .ends(1);
    let diff = dry.text();
    assert!(
        diff.contains("rename from ") && diff.contains("skills/plain/SKILL.md\n"),
        "{diff}"
    );
    assert!(fixture.path("skills/plain/skill.md").exists());
    let fixed = fixture.gongfu(["skill", "check", path, "--fix"]).good();
    assert!(
        fixed.text().contains("3 valid; 0 errors, 0 warnings"),
        "{}",
        fixed.text()
    );
    assert_eq!(
        fixture.read("skills/plain/SKILL.md"),
        "---\nname: plain\ndescription: Reads plain files.\n---\n\n# Plain\n\nReads plain files.\n"
    );
    assert_eq!(
        fixture.read("skills/shouted/SKILL.md"),
        "---\nname: shouted\ndescription: Shouts loudly.\n---\n\n# Shout\n"
    );
    assert_eq!(
        fixture.read("skills/tools/SKILL.md"),
        "---\nname: tools\ndescription: Uses hammers.\nallowed-tools: Read Bash(ls:*)\n---\n\nHit.\n"
    );
    for skill in ["plain", "shouted", "tools"] {
        let entries = fs::read_dir(fixture.path(format!("skills/{skill}"))).unwrap();
        assert_eq!(entries.count(), 1, "{skill}");
    }
    let again = fixture.gongfu(["skill", "check", path, "--fix", "--json"]);
    assert_eq!(*at(&again.good().json(), "/summary/fixed"), json!(0));
}

#[test]
fn fix_gives_no_skill_the_name_of_another_or_of_a_clone() {
    let fixture = Fixture::new();
    let other = |name: &str| GOOD.replace("pdf", name);
    fixture.write("skills/a/pdf/SKILL.md", other("pdf-a"));
    fixture.write("skills/b/pdf/SKILL.md", other("pdf-b"));
    fixture.write("skills/c/taken/SKILL.md", other("free"));
    fixture.write("skills/d/word/SKILL.md", other("taken"));
    fixture.write("skills/clone/SKILL.md", other("real-name"));
    fixture.write("skills/clone/.git/HEAD", "ref: refs/heads/main\n");
    let path = fixture.path("skills");
    let check = ["skill", "check", path.to_str().unwrap(), "--fix", "--json"];
    let json = fixture.gongfu(check).ends(1).json();
    assert_eq!(*at(&json, "/summary/fixed"), json!(2), "{json:#}");
    for (file, name) in [
        ("a/pdf", "pdf-a"),
        ("b/pdf", "pdf-b"),
        ("d/word", "word"),
        ("clone", "real-name"),
    ] {
        let text = fixture.read(format!("skills/{file}/SKILL.md"));
        assert_eq!(text, other(name), "{file}");
    }
}

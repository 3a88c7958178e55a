//! `gongfu skills`: the words of `npx skills`. What it leaves on disk is compared with that program by
//! `scripts/compare_skills_words.py`.

use std::fs;

use gongfu_testing::json::{at, text_at};
use serde_json::json;

use crate::fixture::{Fixture, Run};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill_in("source", "pdf", "Reads PDF.");
    fixture.skill_in("source", "docx", "Reads Word.");
    fixture.write("source/pdf/scripts/run.sh", "echo\n");
    fixture.write(
        "source/nameless/SKILL.md",
        "---\ndescription: It has no name.\n---\n",
    );
    // The folder of the command counts, not the project around it.
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("project/part/file", "");
    fixture
}

/// `gongfu skills` in a folder of a project.
fn skills(fixture: &Fixture, words: &[&str]) -> Run {
    let run = fixture.gongfu([&["skills"], words].concat());
    run.within(fixture.path("project/part"))
}

#[test]
fn agents_get_links_or_copies_that_are_locked_and_removed() {
    let fixture = fixture();
    let source = fixture.path("source");
    let source = source.to_str().unwrap();
    let part = fixture.path("project/part");
    let kind = |path: &str| {
        let metadata = fs::symlink_metadata(part.join(path)).ok()?;
        Some(if metadata.is_symlink() {
            "link"
        } else {
            "folder"
        })
    };
    let add = |words: &[&str]| skills(&fixture, &[&["add", source, "-y"], words].concat());
    add(&["-a", "claude-code"]).good();
    assert_eq!(kind(".claude/skills/pdf"), Some("folder"));
    assert_eq!(kind(".claude/skills/nameless"), None);
    assert_eq!(kind(".agents"), None, "nothing is shared");
    // The same skills, now as links: the copies aren't changed, so they go.
    add(&["-a", "claude-code", "codex", "-s", "pdf"]).good();
    assert_eq!(kind(".claude/skills/pdf"), Some("link"));
    assert_eq!(kind(".agents/skills/pdf"), Some("folder"));
    let lock = fs::read_to_string(part.join("gongfu.lock")).unwrap();
    assert!(lock.contains("\".claude/skills/docx\"") && !lock.contains("\".claude/skills/pdf\""));
    let listed = skills(&fixture, &["ls", "--json"]).good().json();
    assert_eq!(at(&listed, "/1/agents"), &json!(["Claude Code"]));
    assert_eq!(text_at(&listed, "/1/source"), "../../source");
    // A copy that a person changed isn't replaced by a link.
    fs::write(part.join(".claude/skills/docx/SKILL.md"), "mine").unwrap();
    let refused = add(&["-a", "claude-code", "codex"]).ends(1);
    assert!(
        refused.stderr.contains("SKILL_CHANGED"),
        "{}",
        refused.stderr
    );
    assert_eq!(kind(".claude/skills/docx"), Some("folder"));
    skills(&fixture, &["rm", "pdf", "-y"]).good();
    assert_eq!(kind(".claude/skills/pdf"), None);
    assert_eq!(kind(".agents/skills/pdf"), None);
    let refused = skills(&fixture, &["remove", "--all"]).ends(1);
    assert!(
        refused.stderr.contains("SKILL_CHANGED"),
        "{}",
        refused.stderr
    );
    skills(&fixture, &["remove", "--all", "--replace"]).good();
    assert_eq!(kind(".claude/skills/docx"), None);
    let lock = fs::read_to_string(part.join("skills-lock.json")).unwrap();
    assert!(lock.contains("\"skills\": {}"), "{lock}");
}

#[test]
fn words_that_are_wrong_or_unanswered_change_nothing() {
    let fixture = fixture();
    let source = fixture.path("source");
    let source = source.to_str().unwrap();
    for (words, code) in [
        (&["add", source, "-a", "codex"][..], "CONFIRMATION_REQUIRED"),
        (&["add", source, "-y", "-a", "code"], "INVALID_VALUE"),
        (
            &["add", source, "-y", "-g", "-a", "promptscript"],
            "INVALID_VALUE",
        ),
        (&["remove"], "MISSING_ARGUMENT"),
        (&["remove", "pdf", "--all"], "MISSING_ARGUMENT"),
        (&["remove", "pdf", "-y"], "NOT_LOCKED"),
        (&["use", source], "MISSING_ARGUMENT"),
        (&["init", "../x"], "INVALID_VALUE"),
    ] {
        let ran = skills(&fixture, words).run();
        assert!(ran.stderr.contains(code), "{words:?}: {}", ran.stderr);
    }
    let left = fs::read_dir(fixture.path("project/part")).unwrap().count();
    assert_eq!(left, 1);
}

#[test]
fn a_skill_is_used_without_being_installed() {
    let fixture = fixture();
    let source = fixture.path("source");
    let source = source.to_str().unwrap();
    let temporary = fixture.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let used = |name| {
        let run = skills(&fixture, &["use", source, "--skill", name]);
        run.with("TMPDIR", &temporary).good().text()
    };
    let prompt = used("docx");
    assert!(prompt.contains("Reads Word."), "{prompt}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    // Its other files stay where the prompt says.
    let prompt = used("pdf");
    let folder = prompt
        .split_whitespace()
        .find(|word| word.contains("gongfu-use-"));
    let folder = folder.unwrap().trim_end_matches(',');
    let script = fs::read_to_string(format!("{folder}/scripts/run.sh"));
    assert_eq!(script.unwrap(), "echo\n");
    assert!(!fixture.path("project/part/.agents").exists());
}

#[test]
fn other_words_are_those_of_gongfu_skill() {
    let fixture = fixture();
    let folder = fixture.path("project/part");
    skills(&fixture, &["init", "draft"]).good();
    skills(&fixture, &["init", "draft"]).good();
    let file = folder.join("draft/SKILL.md");
    assert!(fs::read_to_string(&file).unwrap().contains("name: draft"));
    let checked = skills(&fixture, &["check", "draft"]).run();
    let same = fixture
        .gongfu(["skill", "check", "draft"])
        .within(folder)
        .run();
    assert_eq!(checked.stdout, same.stdout);
    let shown = skills(&fixture, &["show", "nosuch"]).ends(1);
    assert!(shown.stderr.contains("nosuch"));
    let found = skills(&fixture, &["find", "pdf"]).run();
    assert!(
        found.stderr.contains("no site is asked"),
        "{}",
        found.stderr
    );
}

//! Skills that are added, verified and removed.

use std::fs;

use gongfu_testing::json::{at, text_at};
use serde_json::json;

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("project/.claude/settings.json", "{}");
    fixture.skill_in("project/source", "pdf", "Reads PDF.");
    fixture.skill_in("project/source", "docx", "Reads Word.");
    fixture.write(
        "project/source/pdf/scripts/get.py",
        "# /// script\n# dependencies = [\"requests\"]\n# ///\nget('https://api.example.com')\n",
    );
    fixture
}

#[test]
fn an_added_skill_is_locked_verified_and_removed() {
    let fixture = fixture();
    let project = fixture.path("project");
    let place = ["--workspace", project.to_str().unwrap()];
    let source = fixture.path("project/source");
    let source = source.to_str().unwrap();
    let add = |more: &[&str]| {
        let arguments = [&["skill", "add", source], &place[..], more].concat();
        fixture.gongfu(arguments)
    };
    let listed = add(&["--list", "--json"]).good().json();
    assert_eq!(at(&listed, "/0/skills").as_array().unwrap().len(), 2);
    let shown = add(&["--dry-run"]).good().text();
    assert!(
        shown.contains("packages: requests") && shown.contains("hosts: api.example.com"),
        "{shown}"
    );
    assert!(
        !project.join(".agents").exists(),
        "nothing comes before it is shown"
    );
    let refused = add(&[]).run();
    assert!(
        refused.stderr.contains("CONFIRMATION_REQUIRED"),
        "{}",
        refused.stderr
    );
    let added = add(&["--skill", "pdf", "--yes", "--json"]).good().json();
    assert_eq!(at(&added, "/0/added"), &json!(true));
    assert!(
        project.join(".claude/skills/pdf/SKILL.md").exists(),
        "linked for Claude Code"
    );
    let lock = fs::read_to_string(project.join("skills-lock.json")).unwrap();
    assert!(lock.contains("\"source\": \"./source\""), "{lock}");
    let verify = || fixture.gongfu([&["skill", "verify", "--json"], &place[..]].concat());
    assert_eq!(at(&verify().good().json(), "/valid"), &json!(true));
    fs::write(project.join(".agents/skills/pdf/scripts/get.py"), "mine").unwrap();
    let differing = verify().run().json();
    assert_eq!(text_at(&differing, "/skills/pdf/0/kind"), "content");
    assert_eq!(text_at(&differing, "/skills/pdf/0/path"), "scripts/get.py");
    let changed = add(&["--yes"]).run();
    assert!(
        changed.stderr.contains("SKILL_CHANGED"),
        "{}",
        changed.stderr
    );
    assert!(
        !project.join(".agents/skills/docx").exists(),
        "all or nothing"
    );
    let remove = ["skill", "remove", "pdf", "--yes", "--replace"];
    fixture.gongfu([&remove[..], &place[..]].concat()).good();
    assert!(!project.join(".agents/skills/pdf").exists());
    assert!(fs::symlink_metadata(project.join(".claude/skills/pdf")).is_err());
}

#[test]
fn claude_code_finds_skills_of_a_project_where_it_is_installed() {
    let fixture = Fixture::new();
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.skill_in("project/source", "pdf", "Reads PDF.");
    let project = fixture.path("project");
    let source = fixture.path("project/source");
    let words = ["skill", "add", source.to_str().unwrap(), "--yes"];
    let place = ["--workspace", project.to_str().unwrap()];
    let add = || fixture.gongfu([&words[..], &place[..]].concat()).good();
    add();
    assert!(!project.join(".claude").exists(), "it isn't installed");
    fixture.write("user/.claude/settings.json", "{}");
    add();
    let document = project.join(".claude/skills/pdf/SKILL.md");
    assert!(document.exists(), "it reads no shared folder");
}

#[test]
fn a_source_without_a_skill_to_add_is_no_success() {
    let fixture = fixture();
    let project = fixture.path("project");
    let internal = "---\nname: own\ndescription: d\nmetadata:\n  internal: true\n---\n";
    fixture.write("project/internal/own/SKILL.md", internal);
    let source = fixture.path("project/internal");
    let source = source.to_str().unwrap();
    let place = ["--workspace", project.to_str().unwrap(), "--yes"];
    let add = |more: &[&str]| {
        let arguments = [&["skill", "add", source], &place[..], more].concat();
        fixture.gongfu(arguments)
    };
    let refused = add(&[]).run();
    assert!(
        refused.stderr.contains("SKILL_NOT_IN_SOURCE"),
        "{}",
        refused.stderr
    );
    assert!(!project.join("gongfu.lock").exists());
    add(&["--all"]).good();
}

#[test]
fn linked_skill_follows_its_source_and_never_takes_it_along() {
    let fixture = fixture();
    let project = fixture.path("project");
    let place = ["--workspace", project.to_str().unwrap(), "--yes"];
    let source = fixture.path("project/source");
    let source = source.to_str().unwrap();
    let gongfu = |words: &[&str]| fixture.gongfu([&["skill"], words, &place].concat());
    let refused = gongfu(&["add", "owner/repo", "--link"]).run();
    assert!(refused.stderr.contains("--link"), "{}", refused.stderr);
    gongfu(&["add", source, "--skill", "pdf", "--link"]).good();
    let installed = project.join(".agents/skills/pdf");
    let target = fs::read_link(&installed).unwrap();
    assert_eq!(target.to_str(), Some("../../source/pdf"));
    fixture.write("project/source/pdf/notes.md", "New.\n");
    let seen = project.join(".claude/skills/pdf/notes.md");
    assert_eq!(fs::read_to_string(seen).unwrap(), "New.\n");
    let verify = ["skill", "verify", place[0], place[1]];
    fixture.gongfu(verify).good();
    // A copy takes its place, and then it is removed.
    gongfu(&["add", source, "--skill", "pdf"]).good();
    assert!(!fs::symlink_metadata(&installed).unwrap().is_symlink());
    gongfu(&["add", source, "--skill", "pdf", "--link", "--replace"]).good();
    gongfu(&["remove", "pdf"]).good();
    assert!(fs::symlink_metadata(&installed).is_err());
    assert!(project.join("source/pdf/SKILL.md").exists());
}

#[test]
fn skills_that_share_the_name_are_told_first() {
    let fixture = fixture();
    fixture.skill_in("user/.agents/skills", "pdf", "Another one.");
    let project = fixture.path("project");
    let source = fixture.path("project/source");
    let place = ["--workspace", project.to_str().unwrap()];
    let words = ["skill", "add", source.to_str().unwrap(), "--dry-run"];
    let words = [&words[..], &place[..], &["--skill", "pdf"]].concat();
    let shown = |words: &[&str]| fixture.gongfu(words).good();
    // Skills of a project that nobody trusts take no name.
    let text = shown(&words).text();
    assert!(
        text.contains("(gongfu trust), by: user-agents/pdf"),
        "{text}"
    );
    let trusted = fixture.gongfu(["trust", project.to_str().unwrap()]);
    trusted.good();
    let text = shown(&words).text();
    assert!(text.contains("hides: user-agents/pdf"), "{text}");
    let json = shown(&[&words[..], &["--json"]].concat()).json();
    assert_eq!(at(&json, "/0/skills/0/hides"), &json!(["user-agents/pdf"]));
    assert_eq!(at(&json, "/0/skills/0/hidden_by"), &json!([]));
}

#[test]
fn plugins_in_other_places_are_told() {
    let fixture = fixture();
    let project = fixture.path("project");
    let market = r#"{"plugins": [{"name": "far", "source": {"source": "github", "repo": "o/r", "ref": "v1"}}]}"#;
    fixture.write("market/.claude-plugin/marketplace.json", market);
    let source = fixture.path("market");
    let place = ["--workspace", project.to_str().unwrap()];
    let words = ["skill", "add", source.to_str().unwrap()];
    let words = [&words[..], &place[..]].concat();
    let listed = fixture.gongfu([&words[..], &["--list"]].concat()).good();
    assert!(
        listed.stderr.contains("gongfu skill add o/r#v1"),
        "{}",
        listed.stderr
    );
    let named = fixture.gongfu([&words[..], &["--skill", "far", "--yes"]].concat());
    let named = named.run();
    assert!(
        named.stderr.contains("gongfu skill add o/r#v1"),
        "{}",
        named.stderr
    );
}

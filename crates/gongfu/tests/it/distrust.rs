//! A project that nobody trusts takes no name, doesn't trust itself, and has no links out of itself.

use std::fs;
use std::os::unix::fs::symlink;

use gongfu_testing::json::{list_at, text_at};
use serde_json::json;

use crate::fixture::{Fixture, Run};
use crate::stdio::Client;

/// A cloned project with a skill.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("project/.git/HEAD", "ref: refs/heads/main\n");
    fixture.skill_in("project/.claude/skills", "lint", "The project's.");
    fixture
}

fn project(fixture: &Fixture) -> String {
    fixture.path("project").to_string_lossy().into_owned()
}

fn run(fixture: &Fixture, skill: &str) -> Run {
    fixture.gongfu(["run", skill, "--", "echo", "ran"])
}

/// Asserts that scripts of a skill don't run, because its project isn't trusted.
fn refused(run: &Run) {
    let ran = run.ends(1);
    assert!(
        ran.stderr.contains("PROJECT_UNTRUSTED") && !ran.text().contains("ran"),
        "{}",
        ran.stderr
    );
}

/// The description of the skill that a name means, and whether that is enabled.
fn meant(fixture: &Fixture, name: &str) -> (String, bool) {
    let listed = fixture.gongfu(["skill", "list", "--json"]).good().json();
    let skills = listed.as_array().unwrap().iter();
    let mut named = skills
        .filter(|skill| text_at(skill, "/name") == name && skill.get("shadowed_by").is_none());
    let skill = named.next().unwrap();
    assert!(named.next().is_none(), "{listed:#}");
    let is_enabled = skill.get("enabled").unwrap().as_bool().unwrap();
    (text_at(skill, "/description").to_owned(), is_enabled)
}

#[test]
fn disabled_skill_keeps_its_name_and_a_new_one_takes_it() {
    let fixture = fixture();
    fixture.skill_in("project/.claude/skills", "pdf", "The project's.");
    fixture.skill_in("user/.claude/skills", "pdf", "The person's.");
    fixture.gongfu(["skill", "disable", "pdf"]).good();
    assert_eq!(meant(&fixture, "pdf"), ("The person's.".to_owned(), false));
    let load = fixture.gongfu(["tool", "call", "skill_load", "skill_name=pdf"]);
    let load = load.ends(1);
    assert!(load.stderr.contains("SKILL_DEACTIVATED"), "{}", load.stderr);
    // The control: by its full name, and a name that only the project has.
    fixture
        .gongfu(["skill", "read", "project-claude/pdf"])
        .good();
    assert_eq!(meant(&fixture, "lint"), ("The project's.".to_owned(), true));
    let create = |name: &str| {
        let name = format!("name={name}");
        let call = [
            "tool",
            "call",
            "skill_create",
            &name,
            "description=The new one.",
        ];
        fixture.gongfu(call)
    };
    create("lint").good();
    assert_eq!(meant(&fixture, "lint"), ("The new one.".to_owned(), true));
    // One's own blocks it, a disabled one as well.
    for name in ["lint", "pdf"] {
        let exists = create(name).ends(1);
        assert!(exists.stderr.contains("SKILL_EXISTS"), "{}", exists.stderr);
    }
    fixture.gongfu(["trust"]).good();
    assert_eq!(meant(&fixture, "lint"), ("The project's.".to_owned(), true));
}

#[test]
fn refusal_in_one_client_wins_over_trust_in_another() {
    let trusts = r#"{"projects": {"PROJECT": {"hasTrustDialogAccepted": true}}}"#;
    for (file, refuses, client) in [
        (
            ".codex/config.toml",
            "[projects.\"PROJECT\"]\ntrust_level = \"untrusted\"\n",
            "Codex",
        ),
        (
            ".codex/config.toml",
            "[projects.\"PROJECT/\"]\ntrust_level = \"untrusted\"\n",
            "Codex",
        ),
        (
            ".gemini/trustedFolders.json",
            r#"{"PROJECT": "DO_NOT_TRUST"}"#,
            "Gemini CLI",
        ),
        (
            ".gemini/trustedFolders.json",
            r#"{"PROJECT/..": "DO_NOT_TRUST"}"#,
            "Gemini CLI",
        ),
    ] {
        let fixture = fixture();
        let project = project(&fixture);
        fixture.write("user/.claude.json", trusts.replace("PROJECT", &project));
        run(&fixture, "lint").good();
        fixture.write(
            format!("user/{file}"),
            refuses.replace("PROJECT", "/elsewhere"),
        );
        run(&fixture, "lint").good();
        fixture.write(format!("user/{file}"), refuses.replace("PROJECT", &project));
        refused(&run(&fixture, "lint"));
        let listed = fixture.gongfu(["trust", "list"]).good();
        assert!(listed.stderr.contains(client), "{}", listed.stderr);
        // What a person decides here wins over both.
        fixture.gongfu(["trust"]).good();
        run(&fixture, "lint").good();
    }
}

#[test]
fn project_does_not_trust_itself() {
    for (variable, file, text) in [
        (
            "CLAUDE_CONFIG_DIR",
            ".claude.json",
            r#"{"projects": {"PROJECT": {"hasTrustDialogAccepted": true}}}"#,
        ),
        (
            "CODEX_HOME",
            "config.toml",
            "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n",
        ),
        (
            "GEMINI_CLI_HOME",
            ".gemini/trustedFolders.json",
            r#"{"PROJECT": "TRUST_FOLDER"}"#,
        ),
    ] {
        let fixture = fixture();
        let text = text.replace("PROJECT", &project(&fixture));
        // The control: the same file elsewhere.
        fixture.write(format!("elsewhere/{file}"), &text);
        run(&fixture, "lint")
            .with(variable, fixture.path("elsewhere"))
            .good();
        fixture.write(format!("project/own/{file}"), &text);
        symlink("../elsewhere", fixture.path("project/link")).unwrap();
        symlink("project/own", fixture.path("out")).unwrap();
        for folder in ["project/own", "project/link", "out", "user/../project/own"] {
            refused(&run(&fixture, "lint").with(variable, fixture.path(folder)));
        }
    }
}

#[test]
fn relative_folder_of_skills_is_as_trusted_as_its_project() {
    let fixture = fixture();
    fixture.skill_in("project/extra", "evil", "Somebody's.");
    let evil = || run(&fixture, "evil");
    let settings = |text: &str| drop(fixture.write("home/config.toml", text));
    let absolute = fixture.path("project/extra");
    for relative in ["extra", "./extra", "../project/extra"] {
        settings(&format!("skills_dirs = [{relative:?}]\n"));
        refused(&evil());
        settings("");
        for variable in [
            "GONGFU_SKILLS_DIRS",
            "LLP_SKILLS_DIRS",
            "SKILL_STORAGE_PATH",
        ] {
            refused(&evil().with(variable, relative));
            // The control: an absolute one is the same folder everywhere.
            evil().with(variable, &absolute).good();
        }
        let global = evil().with("LLP_ENABLE_CLAUDE_GLOBAL", "1");
        refused(&global.with("LLP_CLAUDE_SKILLS_DIR", relative));
    }
    settings(&format!("skills_dirs = [{absolute:?}]\n"));
    evil().good();
    settings("");
    // Somebody who types a folder chose it.
    let typed = ["run", "evil", "--skills-dir", "extra", "--", "echo", "ran"];
    fixture.gongfu(typed).good();
    // The entry of a client is the same in all projects.
    let call = json!({ "skill_name": "evil", "command": "echo ran" });
    for (folder, is_refused) in [("extra", true), (absolute.to_str().unwrap(), false)] {
        let mut client = Client::start(&fixture.gongfu(["mcp", "--skills-dir", folder]));
        client.initialize("2025-11-25");
        client.good("skill_load", json!({ "skill_name": "evil" }));
        if is_refused {
            let refused = client.bad("skill_run", call.clone()).to_string();
            assert!(refused.contains("isn't trusted yet"), "{refused}");
        } else {
            client.good("skill_run", call.clone());
        }
        client.close();
    }
    fixture.gongfu(["trust"]).good();
    evil().with("GONGFU_SKILLS_DIRS", "extra").good();
}

#[test]
fn home_of_gongfu_is_no_relative_folder() {
    let fixture = fixture();
    let trust = json!({ "projects": { project(&fixture): 0 } }).to_string();
    fixture.write("project/own/trust.json", &trust);
    let relative = run(&fixture, "lint").with("GONGFU_HOME", "own").ends(1);
    assert!(
        relative.stderr.contains("HOME_UNUSABLE") && relative.stderr.contains("absolute"),
        "{}",
        relative.stderr
    );
    // The control: the record is one that counts.
    fixture.write("other/trust.json", &trust);
    let other = fixture.path("other");
    run(&fixture, "lint").with("GONGFU_HOME", other).good();
}

#[test]
fn link_leads_out_of_a_project_once_it_is_trusted() {
    let fixture = fixture();
    fixture.skill_in("outside", "private", "Nobody's business.");
    fixture.skill_in("project/.agents/skills", "inner", "As installers put it.");
    let link = |target: &str, name: &str| symlink(target, fixture.path(name)).unwrap();
    link("../../.agents/skills/inner", "project/.claude/skills/inner");
    link("../outside", "project/skills");
    fs::create_dir_all(fixture.path("project/sub")).unwrap();
    link("../../outside-claude", "project/sub/.claude");
    link("../outside", "project/extra");
    fixture.skill_in("outside-claude/skills", "hidden", "Nobody's business.");
    let listed = || {
        let list = fixture.gongfu(["skill", "list", "--json"]);
        let list = list.within(fixture.path("project/sub"));
        let listed = list.with("GONGFU_SKILLS_DIRS", "../extra").good().json();
        let skills = list_at(&listed, "").iter();
        let mut names: Vec<String> = skills
            .map(|skill| text_at(skill, "/name").to_owned())
            .collect();
        names.sort_unstable();
        names
    };
    let names = listed();
    for name in ["inner", "lint"] {
        assert!(names.iter().any(|one| one == name), "{names:?}");
    }
    for name in ["private", "hidden"] {
        assert!(names.iter().all(|one| one != name), "{names:?}");
    }
    let check = || {
        let check = fixture.gongfu(["skill", "check"]);
        let ran = check.within(fixture.path("project/sub")).run();
        ran.text()
    };
    let said = check();
    assert_eq!(said.matches("skills-link-outside").count(), 2, "{said}");
    fixture.gongfu(["trust"]).good();
    let names = listed();
    for name in ["inner", "lint", "private", "hidden"] {
        assert!(names.iter().any(|one| one == name), "{names:?}");
    }
    assert!(!check().contains("skills-link-outside"));
}

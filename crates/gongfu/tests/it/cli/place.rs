//! Where skills come from: flags, settings, the project, the environment, the person, gongfu itself.

use std::fs;

use gongfu_testing::json::text_at;

use crate::fixture::{Fixture, Run};

/// The descriptions of what a run lists, in order, without the built-in skills.
fn listed(run: &Run) -> Vec<String> {
    let skills = run.good().json();
    let mine = skills
        .as_array()
        .unwrap()
        .iter()
        .filter(|skill| text_at(skill, "/source") != "built-in");
    mine.map(|skill| text_at(skill, "/description").to_owned())
        .collect()
}

fn list(fixture: &Fixture) -> Run {
    fixture.gongfu(["skill", "list", "--json"])
}

#[test]
fn sources_have_this_precedence() {
    let fixture = Fixture::new();
    for (folder, name) in [
        ("flag", "flag"),
        ("settings", "settings"),
        ("project/.agents/skills", "agents"),
        ("project/.claude/skills", "claude"),
        ("project/skills", "project"),
        ("variable", "variable"),
        ("home/skills", "home"),
        ("user/.agents/skills", "user-agents"),
        ("user/.claude/skills", "user-claude"),
    ] {
        fixture.skill_in(folder, "same", name);
    }
    fixture.write(
        "home/config.toml",
        format!("skills_dirs = [{:?}]\n", fixture.path("settings")),
    );
    let run = fixture
        .gongfu([
            "skill".into(),
            "list".into(),
            "--json".into(),
            "--skills-dir".into(),
            fixture.path("flag"),
        ])
        .with("GONGFU_SKILLS_DIRS", fixture.path("variable"));
    let before = ["flag", "settings"];
    let of_project = ["agents", "claude", "project"];
    let others = ["variable", "home", "user-agents", "user-claude"];
    // A project that nobody trusts takes no name from anybody.
    assert_eq!(listed(&run), [&before[..], &others, &of_project].concat());
    fixture.gongfu(["trust"]).good();
    assert_eq!(listed(&run), [&before[..], &of_project, &others].concat());
    let all = run.good().json();
    let winners =
        all.as_array().unwrap().iter().filter(|skill| {
            text_at(skill, "/name") == "same" && skill.get("shadowed_by").is_none()
        });
    assert_eq!(
        winners
            .map(|skill| text_at(skill, "/description"))
            .collect::<Vec<_>>(),
        ["flag"]
    );
    let sources: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| text_at(skill, "/source"))
        .collect();
    assert!(
        sources.contains(&"built-in"),
        "gongfu brings skills of its own: {sources:?}"
    );
}

#[test]
fn no_default_dirs_leaves_only_named_folders() {
    let fixture = Fixture::with_skills();
    fixture.skill_in("project/.agents/skills", "a", "project");
    fixture.skill_in("user/.claude/skills", "b", "user");
    fixture.skill_in("variable", "c", "variable");
    fixture.write(
        "home/config.toml",
        format!("skills_dirs = [{:?}]\n", fixture.path("variable")),
    );
    let run = fixture
        .only(["skill", "list", "--json"])
        .with("GONGFU_SKILLS_DIRS", fixture.path("variable"));
    assert_eq!(run.good().json().as_array().unwrap().len(), 2);
}

#[test]
fn project_reaches_up_to_its_repository() {
    let fixture = Fixture::new();
    fixture.skill_in("project/skills", "a", "top");
    fixture.skill_in("project/deep/er/.agents/skills", "b", "deep");
    fixture.skill_in("skills", "c", "above the repository");
    fs::create_dir_all(fixture.path("project/.git")).unwrap();
    assert_eq!(
        listed(&list(&fixture).within(fixture.path("project/deep/er"))),
        ["deep", "top"]
    );
    let elsewhere = fixture
        .gongfu([
            "skill".into(),
            "list".into(),
            "--json".into(),
            "--workspace".into(),
            fixture.path("project/deep/er"),
        ])
        .within(fixture.path("user"));
    assert_eq!(listed(&elsewhere), ["deep", "top"]);
    let wrong = fixture
        .gongfu(["skill", "list", "--workspace", "/nowhere/at/all"])
        .ends(1);
    assert!(wrong.stderr.contains("--workspace"), "{}", wrong.stderr);
}

#[test]
fn variables_of_other_systems_name_folders() {
    let fixture = Fixture::new();
    for folder in [
        "one",
        "two",
        "claude",
        "storage/skills",
        "plain",
        "settings",
    ] {
        fixture.skill_in(folder, &format!("in-{}", folder.replace('/', "-")), folder);
    }
    fixture.skill_in("user/.claude/skills", "mine", "mine");
    let both = std::env::join_paths([fixture.path("one"), fixture.path("two")]).unwrap();
    assert_eq!(
        listed(&list(&fixture).with("LLP_SKILLS_DIRS", &both)),
        ["one", "two", "mine"]
    );
    assert_eq!(
        listed(&list(&fixture).with("GONGFU_SKILLS_DIRS", &both)),
        ["one", "two", "mine"]
    );
    // Its own name comes first.
    assert_eq!(
        listed(
            &list(&fixture)
                .with("GONGFU_SKILLS_DIRS", fixture.path("two"))
                .with("LLP_SKILLS_DIRS", fixture.path("one"))
        ),
        ["two", "one", "mine"]
    );

    let claude = || list(&fixture).with("LLP_CLAUDE_SKILLS_DIR", fixture.path("claude"));
    assert_eq!(
        listed(&claude().with("LLP_ENABLE_CLAUDE_GLOBAL", "1")),
        ["claude", "mine"]
    );
    assert_eq!(
        listed(&claude()),
        ["mine"],
        "without the switch the folder isn't asked for"
    );
    assert_eq!(
        listed(&claude().with("LLP_ENABLE_CLAUDE_GLOBAL", "0")),
        [""; 0],
        "0 keeps off the person's home"
    );

    assert_eq!(
        listed(&list(&fixture).with("SKILL_STORAGE_PATH", fixture.path("storage"))),
        ["storage/skills", "mine"]
    );
    assert_eq!(
        listed(&list(&fixture).with("SKILL_STORAGE_PATH", fixture.path("plain"))),
        ["plain", "mine"]
    );
    fixture.write(
        "home/config.toml",
        format!("skills_dirs = [{:?}]\n", fixture.path("settings")),
    );
    assert_eq!(
        listed(&list(&fixture).with("SKILL_STORAGE_PATH", fixture.path("plain"))),
        ["settings", "mine"],
        "the settings win over it"
    );
}

#[test]
fn settings_turn_sources_off() {
    let fixture = Fixture::new();
    fixture.skill_in("user/.agents/skills", "mine", "mine");
    fixture.skill_in("user/extra", "extra", "extra");
    fixture.write(
        "home/config.toml",
        "skills_dirs = [\"~/extra\"]\n[discovery]\nhome = false\nbuilt_in = false\n",
    );
    let skills = list(&fixture).good().json();
    assert_eq!(
        skills
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| text_at(skill, "/name"))
            .collect::<Vec<_>>(),
        ["extra"]
    );
}

#[test]
fn missing_folder_is_reported_only_if_named() {
    let fixture = Fixture::with_skills();
    let ran = fixture
        .gongfu([
            "skill",
            "list",
            "--json",
            "--no-default-dirs",
            "--skills-dir",
            "/nowhere/at/all",
        ])
        .ends(1);
    let error = ran.json();
    let message = text_at(&error, "/error/message");
    assert!(message.contains("/nowhere/at/all"), "{message}");
    let ran = list(&fixture).good();
    assert!(
        ran.stderr.is_empty(),
        "a conventional folder may be missing: {}",
        ran.stderr
    );
}

#[test]
fn home_defaults_to_the_data_folder_of_the_platform() {
    let fixture = Fixture::new();
    let said = fixture
        .gongfu(["init", "--offline"])
        .with("GONGFU_HOME", "")
        .with("XDG_DATA_HOME", fixture.path("data"))
        .good()
        .text();
    assert!(
        said.contains(fixture.path("data/gongfu").to_str().unwrap())
            || cfg!(not(target_os = "linux")),
        "{said}"
    );
}

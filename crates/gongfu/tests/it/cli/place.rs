//! Where skills come from: flags, settings, the project, the environment, the person, gongfu itself.

use std::fs;

use crate::world::{Run, World, text_at};

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

fn list(world: &World) -> Run {
    world.gongfu(["skill", "list", "--json"])
}

#[test]
fn the_order_of_precedence() {
    let world = World::new();
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
        world.skill_in(folder, "same", name);
    }
    world.write(
        "home/config.toml",
        format!("skills_dirs = [{:?}]\n", world.path("settings")),
    );
    let run = world
        .gongfu([
            "skill".into(),
            "list".into(),
            "--json".into(),
            "--skills-dir".into(),
            world.path("flag"),
        ])
        .with("GONGFU_SKILLS_DIRS", world.path("variable"));
    let wanted = [
        "flag",
        "settings",
        "agents",
        "claude",
        "project",
        "variable",
        "home",
        "user-agents",
        "user-claude",
    ];
    assert_eq!(listed(&run), wanted);
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
fn only_what_is_named_when_that_is_asked_for() {
    let world = World::with_skills();
    world.skill_in("project/.agents/skills", "a", "project");
    world.skill_in("user/.claude/skills", "b", "user");
    world.skill_in("variable", "c", "variable");
    world.write(
        "home/config.toml",
        format!("skills_dirs = [{:?}]\n", world.path("variable")),
    );
    let run = world
        .only(["skill", "list", "--json"])
        .with("GONGFU_SKILLS_DIRS", world.path("variable"));
    assert_eq!(run.good().json().as_array().unwrap().len(), 2);
}

#[test]
fn folders_up_to_the_repository_are_the_project() {
    let world = World::new();
    world.skill_in("project/skills", "a", "top");
    world.skill_in("project/deep/er/.agents/skills", "b", "deep");
    world.skill_in("skills", "c", "above the repository");
    fs::create_dir_all(world.path("project/.git")).unwrap();
    assert_eq!(
        listed(&list(&world).within(world.path("project/deep/er"))),
        ["deep", "top"]
    );
    let elsewhere = world
        .gongfu([
            "skill".into(),
            "list".into(),
            "--json".into(),
            "--workspace".into(),
            world.path("project/deep/er"),
        ])
        .within(world.path("user"));
    assert_eq!(listed(&elsewhere), ["deep", "top"]);
    let wrong = world
        .gongfu(["skill", "list", "--workspace", "/nowhere/at/all"])
        .ends(1);
    assert!(wrong.stderr.contains("--workspace"), "{}", wrong.stderr);
}

#[test]
fn variables_of_the_source_systems() {
    let world = World::new();
    for folder in [
        "one",
        "two",
        "claude",
        "storage/skills",
        "plain",
        "settings",
    ] {
        world.skill_in(folder, &format!("in-{}", folder.replace('/', "-")), folder);
    }
    world.skill_in("user/.claude/skills", "mine", "mine");
    let both = std::env::join_paths([world.path("one"), world.path("two")]).unwrap();
    assert_eq!(
        listed(&list(&world).with("LLP_SKILLS_DIRS", &both)),
        ["one", "two", "mine"]
    );
    assert_eq!(
        listed(&list(&world).with("GONGFU_SKILLS_DIRS", &both)),
        ["one", "two", "mine"]
    );
    // Its own name comes first.
    assert_eq!(
        listed(
            &list(&world)
                .with("GONGFU_SKILLS_DIRS", world.path("two"))
                .with("LLP_SKILLS_DIRS", world.path("one"))
        ),
        ["two", "one", "mine"]
    );

    let claude = || list(&world).with("LLP_CLAUDE_SKILLS_DIR", world.path("claude"));
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
        listed(&list(&world).with("SKILL_STORAGE_PATH", world.path("storage"))),
        ["storage/skills", "mine"]
    );
    assert_eq!(
        listed(&list(&world).with("SKILL_STORAGE_PATH", world.path("plain"))),
        ["plain", "mine"]
    );
    world.write(
        "home/config.toml",
        format!("skills_dirs = [{:?}]\n", world.path("settings")),
    );
    assert_eq!(
        listed(&list(&world).with("SKILL_STORAGE_PATH", world.path("plain"))),
        ["settings", "mine"],
        "the settings win over it"
    );
}

#[test]
fn settings_turn_places_off() {
    let world = World::new();
    world.skill_in("user/.agents/skills", "mine", "mine");
    world.skill_in("user/extra", "extra", "extra");
    world.write(
        "home/config.toml",
        "skills_dirs = [\"~/extra\"]\n[discovery]\nhome = false\nbuilt_in = false\n",
    );
    let skills = list(&world).good().json();
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
fn a_place_that_is_missing_is_told_when_somebody_named_it() {
    let world = World::with_skills();
    let ran = world
        .gongfu([
            "skill",
            "list",
            "--json",
            "--no-default-dirs",
            "--skills-dir",
            "/nowhere/at/all",
        ])
        .good();
    assert_eq!(ran.json(), serde_json::json!([]));
    assert!(ran.stderr.contains("/nowhere/at/all"), "{}", ran.stderr);
    let ran = list(&world).good();
    assert!(
        ran.stderr.is_empty(),
        "a conventional folder may be missing: {}",
        ran.stderr
    );
}

#[test]
fn the_home_folder_of_the_platform_stands_in() {
    let world = World::new();
    let said = world
        .gongfu(["init", "--offline"])
        .with("GONGFU_HOME", "")
        .with("XDG_DATA_HOME", world.path("data"))
        .good()
        .text();
    assert!(
        said.contains(world.path("data/gongfu").to_str().unwrap())
            || cfg!(not(target_os = "linux")),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn one_folder_by_two_ways_is_one_source_of_skills() {
    let world = World::with_skills();
    std::os::unix::fs::symlink(world.path("skills"), world.path("alias")).unwrap();
    let run = world.gongfu([
        "skill".into(),
        "list".into(),
        "--json".into(),
        "--no-default-dirs".into(),
        "--skills-dir".into(),
        world.path("skills"),
        "--skills-dir".into(),
        world.path("alias"),
    ]);
    assert_eq!(run.good().json().as_array().unwrap().len(), 2);
}

//! Each change is seen by the next call, wherever it happens.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use gongfu_core::library::Revision;
use gongfu_files::Home;
use gongfu_records::FileRecords;
use gongfu_testing::now;

use super::{Ground, listed, shape};
use crate::source::Settings;
use crate::switches::SwitchRecord;
use crate::watch::Limit;

/// Something that happens to the folders.
type Change = fn(&Ground);

#[test]
fn each_change_is_seen_by_the_next_call() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    ground.skill("lib/group/b", "two");
    let (watched, control) = ground.both();
    let old = listed(&control);
    let changes: [(&str, Change); 24] = [
        ("a file is added", |g| g.write("lib/a/extra.md", "x")),
        ("a file changes", |g| g.write("lib/a/extra.md", "[x](y.md)")),
        ("a file goes", |g| {
            fs::remove_file(g.path("lib/a/extra.md")).unwrap();
        }),
        ("the document changes", |g| g.skill("lib/a", "changed")),
        ("a save by rename", |g| {
            g.write(
                "lib/a/SKILL.md.tmp",
                "---\nname: a\ndescription: saved\n---\n",
            );
            fs::rename(g.path("lib/a/SKILL.md.tmp"), g.path("lib/a/SKILL.md")).unwrap();
        }),
        ("a folder comes with files", |g| {
            g.write("lib/a/references/deep/er.md", "x");
        }),
        ("in it something changes", |g| {
            g.write("lib/a/references/deep/er.md", "yy");
        }),
        ("a folder is renamed", |g| {
            fs::rename(g.path("lib/a/references"), g.path("lib/a/docs")).unwrap();
        }),
        ("in it something changes again", |g| {
            g.write("lib/a/docs/deep/er.md", "zzz");
        }),
        ("a folder goes", |g| {
            fs::remove_dir_all(g.path("lib/a/docs")).unwrap();
        }),
        ("a skill comes", |g| g.skill("lib/c", "three")),
        ("a skill comes deep", |g| {
            g.skill("lib/group/more/d", "four");
        }),
        ("it changes", |g| g.skill("lib/group/more/d", "five")),
        ("a skill is renamed", |g| {
            fs::rename(g.path("lib/c"), g.path("lib/cc")).unwrap();
        }),
        ("the renamed one changes", |g| g.skill("lib/cc", "six")),
        ("its old name comes again", |g| g.skill("lib/c", "seven")),
        ("SKILL.md goes", |g| {
            fs::remove_file(g.path("lib/c/SKILL.md")).unwrap();
        }),
        ("SKILL.md comes back", |g| g.skill("lib/c", "eight")),
        ("a group becomes a skill", |g| g.skill("lib/group", "nine")),
        ("and is none again", |g| {
            fs::remove_file(g.path("lib/group/SKILL.md")).unwrap();
        }),
        ("a link within", |g| {
            symlink("SKILL.md", g.path("lib/c/link.md")).unwrap();
        }),
        ("a link out to a skill", |g| {
            g.skill("elsewhere", "x");
            symlink("../elsewhere", g.path("lib/out")).unwrap();
        }),
        ("a skill in code", |g| {
            g.write("lib/code/run.py", "SKILL_MANIFEST = 1");
        }),
        ("a skill goes", |g| {
            fs::remove_dir_all(g.path("lib/group/more")).unwrap();
        }),
    ];
    for (what, change) in changes {
        let before = watched.current().unwrap();
        change(&ground);
        assert_eq!(shape(&watched), ground.fresh(ground.settings()), "{what}");
        let after = watched.current().unwrap();
        assert!(after.revision() > before.revision(), "{what}");
        assert!(Arc::ptr_eq(&after, &watched.current().unwrap()), "{what}");
    }
    assert_eq!(
        listed(&control),
        old,
        "without watches nothing is looked at"
    );
}

#[test]
fn the_root_itself_comes_and_goes() {
    let ground = Ground::new();
    let (watched, control) = ground.both();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    ground.skill("lib/a", "one");
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fs::rename(ground.path("lib"), ground.path("away")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    assert_eq!(watched.current().unwrap().unloadable().len(), 1);
    ground.skill("away/b", "unseen");
    fs::rename(ground.path("away"), ground.path("lib")).unwrap();
    assert_eq!(listed(&watched), ["lib/a: one", "lib/b: unseen"]);
    // Another folder in its place, without a moment in between that anybody sees.
    ground.skill("other/c", "three");
    fs::rename(ground.path("lib"), ground.path("old")).unwrap();
    fs::rename(ground.path("other"), ground.path("lib")).unwrap();
    assert_eq!(listed(&watched), ["lib/c: three"]);
    ground.skill("lib/c", "four");
    ground.skill("old/a", "not ours any more");
    assert_eq!(listed(&watched), ["lib/c: four"]);
    fs::remove_dir_all(ground.path("lib")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    assert_eq!(listed(&control), [] as [&str; 0], "it saw none of it");
    assert_eq!(control.current().unwrap().revision(), Revision(1));
}

#[test]
fn a_folder_above_the_root_may_be_renamed() {
    let ground = Ground::new();
    ground.skill("x/y/lib/a", "one");
    let settings = Settings {
        explicit: vec![ground.path("x/y/lib")],
        ..Settings::default()
    };
    let watched = ground.library(settings, "home");
    watched.watching(Limit::default());
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fs::rename(ground.path("x"), ground.path("z")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    fs::create_dir(ground.path("x")).unwrap();
    fs::rename(ground.path("z/y"), ground.path("x/y")).unwrap();
    assert_eq!(listed(&watched), ["lib/a: one"]);
    ground.skill("x/y/lib/a", "two");
    assert_eq!(listed(&watched), ["lib/a: two"]);
}

#[test]
fn places_that_come_later_are_found() {
    let ground = Ground::new();
    for folder in ["project/sub", "person", "env"] {
        fs::create_dir_all(ground.path(folder)).unwrap();
    }
    let settings = Settings {
        project: Some(ground.path("project/sub")),
        user: Some(ground.path("person")),
        environment: vec![ground.path("env")],
        default_dirs: true,
        discover_user: true,
        ..Settings::default()
    };
    let watched = ground.library(settings.clone(), "home");
    let control = ground.library(settings.clone(), "home");
    watched.watching(Limit::default());
    let old = listed(&control);
    let steps: [(&str, &str); 7] = [
        ("project/sub/.claude/skills/a", "project-claude/a: x"),
        ("person/.agents/skills/b", "user-agents/b: x"),
        ("home/skills/c", "home/c: x"),
        ("project/skills/d", ""),
        ("project/.git/e", "project-skills-2/d: x"),
        ("env/f", "environment/f: x"),
        ("env/skills/g", "environment/g: x"),
    ];
    for (folder, wanted) in steps {
        ground.skill(folder, "x");
        let now = listed(&watched);
        assert!(
            wanted.is_empty() || now.iter().any(|skill| skill == wanted),
            "{folder}: {now:?}"
        );
        let mut home = ground.settings();
        home.clone_from(&settings);
        assert_eq!(
            shape(&watched),
            shape(&ground.library(home, "home")),
            "{folder}"
        );
    }
    // What a person links into their own folder is a place of its own.
    ground.skill("far/h", "x");
    symlink(ground.path("far"), ground.path("person/.agents/skills/far")).unwrap();
    assert!(
        listed(&watched).contains(&"user-agents-far/h: x".to_owned()),
        "{:?}",
        listed(&watched)
    );
    ground.skill("far/h", "y");
    assert!(listed(&watched).contains(&"user-agents-far/h: y".to_owned()));
    fs::remove_file(ground.path("person/.agents/skills/far")).unwrap();
    assert!(!listed(&watched).contains(&"user-agents-far/h: y".to_owned()));
    assert_eq!(listed(&control), old);
}

#[test]
fn sees_the_switch_of_another_process() {
    let ground = Ground::new();
    ground.skill("lib/a", "one");
    let (watched, control) = ground.both();
    let path = ground.path("lib/a").display().to_string();
    let records = FileRecords::new(Home::at(ground.path("home")));
    let other = SwitchRecord::new(Arc::new(records));
    for _ in 0..3 {
        now(other.set(&path, false)).unwrap();
        assert!(watched.current().unwrap().resolve("a").is_err());
        now(other.set(&path, true)).unwrap();
        assert!(watched.current().unwrap().resolve("a").is_ok());
    }
    ground.write("home/switches.json", "{");
    assert!(
        watched.current().is_err() && watched.current().is_err(),
        "told each time"
    );
    ground.write(
        "home/switches.json",
        &format!("{{\"disabled\": [{path:?}]}}"),
    );
    assert!(watched.current().unwrap().resolve("a").is_err());
    assert!(control.current().unwrap().resolve("a").is_ok());
}

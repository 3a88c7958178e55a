//! Each change is seen by the next call, wherever it happens.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use gongfu_core::library::Revision;
use gongfu_files::Home;
use gongfu_records::FileRecords;
use gongfu_testing::now;

use super::{Fixture, listed, shape};
use crate::source::Settings;
use crate::switches::SwitchRecord;
use crate::watch::Limit;

/// Something that happens to the folders.
type Change = fn(&Fixture);

#[test]
fn each_change_is_seen_by_the_next_call() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    fixture.skill("lib/group/b", "two");
    let (watched, control) = fixture.both();
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
        change(&fixture);
        assert_eq!(shape(&watched), fixture.fresh(fixture.settings()), "{what}");
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
    let fixture = Fixture::new();
    let (watched, control) = fixture.both();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    fixture.skill("lib/a", "one");
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fs::rename(fixture.path("lib"), fixture.path("away")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    assert_eq!(watched.current().unwrap().unloadable().len(), 1);
    fixture.skill("away/b", "unseen");
    fs::rename(fixture.path("away"), fixture.path("lib")).unwrap();
    assert_eq!(listed(&watched), ["lib/a: one", "lib/b: unseen"]);
    // Another folder in its place, without a moment in between that anybody sees.
    fixture.skill("other/c", "three");
    fs::rename(fixture.path("lib"), fixture.path("old")).unwrap();
    fs::rename(fixture.path("other"), fixture.path("lib")).unwrap();
    assert_eq!(listed(&watched), ["lib/c: three"]);
    fixture.skill("lib/c", "four");
    fixture.skill("old/a", "not ours any more");
    assert_eq!(listed(&watched), ["lib/c: four"]);
    fs::remove_dir_all(fixture.path("lib")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    assert_eq!(listed(&control), [] as [&str; 0], "it saw none of it");
    assert_eq!(control.current().unwrap().revision(), Revision(1));
}

#[test]
fn a_folder_above_the_root_may_be_renamed() {
    let fixture = Fixture::new();
    fixture.skill("x/y/lib/a", "one");
    let settings = Settings {
        explicit: vec![fixture.path("x/y/lib")],
        ..Settings::default()
    };
    let watched = fixture.library(settings, "home");
    watched.watching(Limit::default());
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fs::rename(fixture.path("x"), fixture.path("z")).unwrap();
    assert_eq!(listed(&watched), [] as [&str; 0]);
    fs::create_dir(fixture.path("x")).unwrap();
    fs::rename(fixture.path("z/y"), fixture.path("x/y")).unwrap();
    assert_eq!(listed(&watched), ["lib/a: one"]);
    fixture.skill("x/y/lib/a", "two");
    assert_eq!(listed(&watched), ["lib/a: two"]);
}

#[test]
fn places_that_come_later_are_found() {
    let fixture = Fixture::new();
    for folder in ["project/sub", "person", "env"] {
        fs::create_dir_all(fixture.path(folder)).unwrap();
    }
    let settings = Settings {
        project: Some(fixture.path("project/sub")),
        user: Some(fixture.path("person")),
        environment: vec![fixture.path("env")],
        default_dirs: true,
        discover_user: true,
        adopted: Vec::new(),
        ..Settings::default()
    };
    let watched = fixture.library(settings.clone(), "home");
    let control = fixture.library(settings.clone(), "home");
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
        fixture.skill(folder, "x");
        let now = listed(&watched);
        assert!(
            wanted.is_empty() || now.iter().any(|skill| skill == wanted),
            "{folder}: {now:?}"
        );
        let mut home = fixture.settings();
        home.clone_from(&settings);
        assert_eq!(
            shape(&watched),
            shape(&fixture.library(home, "home")),
            "{folder}"
        );
    }
    // What a person links into their own folder is a place of its own.
    fixture.skill("far/h", "x");
    symlink(
        fixture.path("far"),
        fixture.path("person/.agents/skills/far"),
    )
    .unwrap();
    assert!(
        listed(&watched).contains(&"user-agents/far/h: x".to_owned()),
        "{:?}",
        listed(&watched)
    );
    fixture.skill("far/h", "y");
    assert!(listed(&watched).contains(&"user-agents/far/h: y".to_owned()));
    fs::remove_file(fixture.path("person/.agents/skills/far")).unwrap();
    assert!(!listed(&watched).contains(&"user-agents/far/h: y".to_owned()));
    assert_eq!(listed(&control), old);
}

#[test]
fn sees_the_switch_of_another_process() {
    let fixture = Fixture::new();
    fixture.skill("lib/a", "one");
    let (watched, control) = fixture.both();
    let path = fixture.path("lib/a").display().to_string();
    let records = FileRecords::new(Home::at(fixture.path("home")));
    let other = SwitchRecord::new(Arc::new(records));
    for _ in 0..3 {
        now(other.set(&path, false)).unwrap();
        assert!(watched.current().unwrap().resolve("a").is_err());
        now(other.set(&path, true)).unwrap();
        assert!(watched.current().unwrap().resolve("a").is_ok());
    }
    fixture.write("home/switches.json", "{");
    assert!(
        watched.current().is_err() && watched.current().is_err(),
        "told each time"
    );
    fixture.write(
        "home/switches.json",
        &format!("{{\"disabled\": [{path:?}]}}"),
    );
    assert!(watched.current().unwrap().resolve("a").is_err());
    assert!(control.current().unwrap().resolve("a").is_ok());
}

//! Skills that are placed, replaced and removed, with their locks.

use std::fs;
use std::path::PathBuf;

use gongfu_files::Home;
use gongfu_files::disk::Root;

use super::{Changes, Overwrite, Placement, place, verify_all};
use crate::candidate::{Candidate, Choice, stage};
use crate::discover::{Search, discover};
use crate::error::ImportCode;
use crate::fetch::folder;
use crate::lock::npx::NpxLock;
use crate::lock::own::OwnLock;
use crate::origin::Origin;
use crate::scope::Scope;

const NOW: &str = "2026-01-02T03:04:05.678Z";

struct Project {
    folder: tempfile::TempDir,
    home: Home,
    scope: Scope,
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join(".claude")).unwrap();
        Self {
            home: Home::at(folder.path().join("home")),
            scope: Scope::project(&root),
            folder,
        }
    }

    fn source(&self) -> PathBuf {
        self.scope.base.join("source")
    }

    fn write(&self, text: &str) {
        let skill = self.source().join("a");
        fs::create_dir_all(&skill).unwrap();
        fs::write(
            skill.join("SKILL.md"),
            "---\nname: a\ndescription: A.\n---\n",
        )
        .unwrap();
        fs::write(skill.join("text"), text).unwrap();
    }

    /// The changes that install the source.
    fn changes(&self) -> Changes {
        let origin = Origin::folder(&self.source(), &self.scope.base);
        let mut content = folder::fetch(&self.source()).unwrap();
        let found = discover(&mut content, Search::default()).unwrap().skills;
        let candidates = found
            .into_iter()
            .map(|found| Candidate::of(&content, found, Choice::Usual));
        let candidates = candidates.collect::<Result<_, _>>().unwrap();
        let staged = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        let skills = stage(&mut content, candidates, &Root::open(&staged).unwrap()).unwrap();
        let put = skills.iter().map(|skill| Placement {
            key: skill.folder.clone(),
            staged: skill.staged.clone(),
            locked: origin.locked(skill),
            before: Overwrite::Nothing,
            npx: origin
                .npx_entry(NpxLock::Project, skill, &self.scope.base)
                .map(|entry| (skill.found.name.clone(), entry)),
        });
        Changes {
            put: put.collect(),
            clients: vec![self.scope.base.join(".claude/skills")],
            ..Changes::default()
        }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.scope.base.join(path)).unwrap()
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests look at the folders that they made"
)]
fn a_skill_is_placed_linked_locked_and_removed() {
    let project = Project::new();
    project.write("one");
    place(&project.home, &project.scope, &project.changes(), NOW).unwrap();
    assert_eq!(project.text(".claude/skills/a/text"), "one");
    let link = fs::read_link(project.scope.base.join(".claude/skills/a")).unwrap();
    assert_eq!(link, PathBuf::from("../../.agents/skills/a"));
    let lock = project.text("skills-lock.json");
    assert!(
        lock.contains("\"source\": \"./source\"") && lock.contains("\"sourceType\": \"local\"")
    );
    assert!(verify_all(&project.scope).unwrap()["a"].is_empty());
    // A new version of the same source replaces it.
    project.write("two");
    place(&project.home, &project.scope, &project.changes(), NOW).unwrap();
    assert_eq!(project.text(".agents/skills/a/text"), "two");
    let removal = Changes {
        removed: vec!["a".to_owned()],
        removed_npx: vec!["a".to_owned()],
        ..Changes::default()
    };
    place(&project.home, &project.scope, &removal, NOW).unwrap();
    assert!(!project.scope.base.join(".agents/skills/a").exists());
    assert!(fs::symlink_metadata(project.scope.base.join(".claude/skills/a")).is_err());
    assert!(
        OwnLock::read(&project.scope.own_lock)
            .unwrap()
            .skills
            .is_empty()
    );
    assert!(project.text("skills-lock.json").contains("\"skills\": {}"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a person changes a skill here")]
fn what_a_person_changed_is_never_lost() {
    let project = Project::new();
    project.write("one");
    place(&project.home, &project.scope, &project.changes(), NOW).unwrap();
    let file = project.scope.base.join(".agents/skills/a/text");
    fs::write(&file, "mine").unwrap();
    let locked = project.text("gongfu.lock");
    project.write("two");
    let error = place(&project.home, &project.scope, &project.changes(), NOW).unwrap_err();
    assert_eq!(error.code, ImportCode::SkillChanged);
    assert_eq!(
        (
            project.text(".agents/skills/a/text"),
            project.text("gongfu.lock")
        ),
        ("mine".to_owned(), locked)
    );
    let changes = Changes {
        replace: true,
        ..project.changes()
    };
    let outcome = place(&project.home, &project.scope, &changes, NOW).unwrap();
    let [(_, kept)] = &outcome.kept[..] else {
        panic!("{outcome:?}")
    };
    assert_eq!(fs::read_to_string(kept.join("text")).unwrap(), "mine");
    assert_eq!(project.text(".agents/skills/a/text"), "two");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a person has a skill of their own here"
)]
fn a_folder_in_the_way_of_a_link_is_never_lost() {
    let project = Project::new();
    project.write("one");
    let own = project.scope.base.join(".claude/skills/a");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("text"), "mine").unwrap();
    let error = place(&project.home, &project.scope, &project.changes(), NOW).unwrap_err();
    assert_eq!(error.code, ImportCode::SkillChanged);
    assert_eq!(project.text(".claude/skills/a/text"), "mine");
    assert!(!project.scope.own_lock.exists());
    let changes = Changes {
        replace: true,
        ..project.changes()
    };
    let outcome = place(&project.home, &project.scope, &changes, NOW).unwrap();
    let [(place, kept)] = &outcome.kept[..] else {
        panic!("{outcome:?}")
    };
    assert_eq!(*place, own);
    assert_eq!(fs::read_to_string(kept.join("text")).unwrap(), "mine");
    assert_eq!(project.text(".claude/skills/a/text"), "one");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a lock is broken here")]
fn a_lock_that_cannot_be_read_stops_all() {
    let project = Project::new();
    project.write("one");
    fs::write(project.scope.base.join("skills-lock.json"), "<<<<<<< a\n").unwrap();
    let error = place(&project.home, &project.scope, &project.changes(), NOW).unwrap_err();
    assert_eq!(error.code, ImportCode::LockUnreadable);
    assert!(!project.scope.base.join(".agents/skills").exists());
    assert!(!project.scope.own_lock.exists());
}

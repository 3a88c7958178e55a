//! Adoptions that are made and taken back.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that are adopted"
)]

use std::fs;
use std::path::{Path, PathBuf};

use gongfu_files::Home;

use super::{Adoption, LockChange, Return, plan};
use crate::agents::Machine;
use crate::inventory::{Inventory, Territory};
use crate::lock::own::{LockedSkill, OwnLock, SourceKind};
use crate::place::verify_all;
use crate::scope::Scope;

struct World {
    _folder: tempfile::TempDir,
    user: PathBuf,
    home: Home,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        Self {
            _folder: folder,
            user: base.join("user"),
            home: Home::at(base.join("gongfu")),
        }
    }

    fn skill(&self, folder: &str) {
        let folder = self.user.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("SKILL.md"),
            "---\nname: x\ndescription: d\n---\n",
        )
        .unwrap();
    }

    fn plan(&self) -> Vec<LockChange> {
        let none = |_: &str| None;
        let territory = Territory {
            machine: Machine {
                home: &self.user,
                variable: &none,
            },
            state: None,
            project: None,
        };
        let earlier = Adoption::all(&self.home).unwrap();
        plan(&Inventory::of(territory), territory, &earlier).unwrap()
    }

    fn lock(&self) -> PathBuf {
        self.user.join(".agents/gongfu.lock")
    }

    fn undo(&self, change: &LockChange) -> Return {
        let mut told = Return::default();
        change.undo(&self.home, &mut told).unwrap();
        told
    }
}

#[test]
fn lock_comes_and_goes_with_its_folder() {
    let world = World::new();
    world.skill(".claude/skills/a");
    let changes = world.plan();
    changes[0].apply(&world.home).unwrap();
    let lock = OwnLock::read(&world.lock()).unwrap();
    let entry = &lock.skills[".claude/skills/a"];
    assert_eq!(
        (entry.kind, entry.name.as_deref()),
        (SourceKind::Unknown, Some("x"))
    );
    let verified = verify_all(&Scope::user(&world.user, None)).unwrap();
    assert!(verified.values().all(Vec::is_empty), "{verified:?}");
    assert!(world.plan().is_empty());
    let told = world.undo(&changes[0]);
    assert_eq!(told.restored, [(world.lock(), true)]);
    assert!(!world.user.join(".agents").exists());
    // Once more: nothing is there to be taken back.
    assert_eq!(world.undo(&changes[0]), Return::default());
}

#[test]
fn lock_is_restored_byte_for_byte_with_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::new();
    world.skill(".claude/skills/a");
    fs::create_dir_all(world.user.join(".agents")).unwrap();
    let before = "{ \"skills\": {}, \"version\":1,\n\"mine\": true }";
    fs::write(world.lock(), before).unwrap();
    fs::set_permissions(world.lock(), fs::Permissions::from_mode(0o600)).unwrap();
    let changes = world.plan();
    changes[0].apply(&world.home).unwrap();
    assert!(
        fs::read_to_string(world.lock())
            .unwrap()
            .contains("\"mine\": true")
    );
    let told = world.undo(&changes[0]);
    assert_eq!(told.restored, [(world.lock(), false)]);
    assert_eq!(fs::read_to_string(world.lock()).unwrap(), before);
    let mode = fs::metadata(world.lock()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn entries_that_changed_since_are_kept_and_told() {
    let world = World::new();
    world.skill(".claude/skills/a");
    world.skill(".claude/skills/b");
    let changes = world.plan();
    changes[0].apply(&world.home).unwrap();
    let mut lock = OwnLock::read(&world.lock()).unwrap();
    lock.skills.get_mut(".claude/skills/a").unwrap().reference = Some("v2".to_owned());
    lock.skills
        .insert("later".to_owned(), LockedSkill::default());
    fs::write(world.lock(), lock.bytes()).unwrap();
    let told = world.undo(&changes[0]);
    assert_eq!(told.reduced, [world.lock()]);
    assert!(told.kept.len() == 1 && told.kept[0].contains("`.claude/skills/a`"));
    let left = OwnLock::read(&world.lock()).unwrap();
    let keys: Vec<&str> = left.skills.keys().map(String::as_str).collect();
    assert_eq!(keys, [".claude/skills/a", "later"]);
}

#[test]
fn entries_go_with_the_folders_that_were_adopted() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.skill(&format!(".claude/skills/{name}"));
    }
    let first = world.plan();
    first[0].apply(&world.home).unwrap();
    let adoption = Adoption::new("2026-11-27T00:00:00.000Z".to_owned(), first.clone());
    adoption.write(&world.home, None).unwrap();
    let adopted = fs::read(world.lock()).unwrap();
    // One is gone, one is gone and no longer as it was adopted, and one is new.
    let mut lock = OwnLock::read(&world.lock()).unwrap();
    lock.skills.get_mut(".claude/skills/b").unwrap().version = Some("2".to_owned());
    fs::write(world.lock(), lock.bytes()).unwrap();
    let changed = fs::read(world.lock()).unwrap();
    for name in ["a", "b"] {
        fs::remove_dir_all(world.user.join(".claude/skills").join(name)).unwrap();
    }
    world.skill(".claude/skills/d");
    let second = world.plan();
    second[0].apply(&world.home).unwrap();
    let lock = OwnLock::read(&world.lock()).unwrap();
    let keys: Vec<&str> = lock
        .skills
        .keys()
        .map(|key| &key[".claude/skills/".len()..])
        .collect();
    assert_eq!(keys, ["b", "c", "d"]);
    world.undo(&second[0]);
    assert_eq!(fs::read(world.lock()).unwrap(), changed);
    assert_ne!(changed, adopted);
}

#[test]
fn lock_that_changed_meanwhile_is_not_written() {
    let world = World::new();
    world.skill(".claude/skills/a");
    let changes = world.plan();
    fs::create_dir_all(world.user.join(".agents")).unwrap();
    let other = "{\"version\": 1, \"skills\": {}}";
    fs::write(world.lock(), other).unwrap();
    changes[0].apply(&world.home).unwrap_err();
    assert_eq!(fs::read_to_string(world.lock()).unwrap(), other);
    let names = fs::read_dir(world.user.join(".agents")).unwrap();
    assert_eq!(names.count(), 1, "what was staged is left");
}

#[test]
fn records_are_numbered_and_damaged_ones_refused() {
    let world = World::new();
    let adoption = Adoption::new("2026-11-27T00:00:00.000Z".to_owned(), Vec::new());
    let first = adoption.write(&world.home, None).unwrap();
    let second = adoption.write(&world.home, None).unwrap();
    assert_eq!((&*first, &*second), ("0001.json", "0002.json"));
    assert_eq!(Adoption::names(&world.home).unwrap(), [&*second, &*first]);
    assert_eq!(Adoption::read(&world.home, &first).unwrap(), adoption);
    let path = world.home.path().join("adopted").join(&second);
    fs::write(&path, "{").unwrap();
    let error = Adoption::read(&world.home, &second).unwrap_err();
    assert!(error.message.contains("0002.json"), "{error}");
    Adoption::remove(&world.home, &second).unwrap();
    assert!(!Path::new(&path).exists());
}

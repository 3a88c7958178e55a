//! Transactions that end well, fail, and are interrupted at each step.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Journal, Record, Recovery, Step, Transaction};
use crate::disk::Root;
use crate::home::Home;

#[expect(
    clippy::disallowed_methods,
    reason = "tests look at the folders that they made"
)]
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let root = Root::open(folder).unwrap();
    root.walk(|entry| {
        let path = folder.join(&entry.path);
        let text = match fs::read_link(&path) {
            Ok(target) => format!("-> {}", target.display()),
            Err(_) => fs::read_to_string(&path).unwrap_or_else(|_| "folder".to_owned()),
        };
        found.insert(entry.path, text);
        Ok::<_, ()>(())
    })
    .unwrap();
    found
}

struct Project {
    folder: tempfile::TempDir,
    home: Home,
}

impl Project {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests make the folders that they look at"
    )]
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("project");
        fs::create_dir_all(base.join("skills/old/deep")).unwrap();
        fs::write(base.join("skills/old/deep/x"), "old").unwrap();
        fs::write(base.join("lock"), "old").unwrap();
        fs::create_dir(base.join("skills/gone")).unwrap();
        let home = Home::at(folder.path().join("home"));
        Self { folder, home }
    }

    fn base(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn recover(&self) -> Recovery {
        let journal = Journal::open(&self.home, &self.base()).unwrap();
        journal.recover().unwrap()
    }

    /// Stages a change of each kind.
    #[expect(
        clippy::disallowed_methods,
        reason = "tests make the folders that they move"
    )]
    fn stage(&self) -> Transaction {
        let base = self.base();
        let mut transaction = Transaction::begin(&self.home, &base).unwrap();
        for name in ["old", "new"] {
            let new = self.folder.path().join(name);
            fs::create_dir_all(&new).unwrap();
            fs::write(new.join("SKILL.md"), name).unwrap();
            let at = base.join("skills").join(name);
            transaction.move_folder(&at, &new).unwrap();
        }
        let link = base.join("clients/skills/old");
        transaction
            .put_link(&link, Path::new("../../skills/old"))
            .unwrap();
        transaction.put_file(&base.join("lock"), b"new").unwrap();
        transaction.remove(&base.join("skills/gone")).unwrap();
        transaction
    }

    fn tree(&self) -> BTreeMap<PathBuf, String> {
        tree(&self.base())
    }
}

fn after() -> BTreeMap<PathBuf, String> {
    [
        ("clients", "folder"),
        ("clients/skills", "folder"),
        ("clients/skills/old", "-> ../../skills/old"),
        ("lock", "new"),
        ("skills", "folder"),
        ("skills/new", "folder"),
        ("skills/new/SKILL.md", "new"),
        ("skills/old", "folder"),
        ("skills/old/SKILL.md", "old"),
    ]
    .into_iter()
    .map(|(path, text)| (PathBuf::from(path), text.to_owned()))
    .collect()
}

#[test]
fn all_changes_are_made_or_none() {
    let project = Project::new();
    let before = project.tree();
    drop(project.stage());
    assert_eq!(project.tree(), before);
    project.stage().commit().unwrap();
    assert_eq!(project.tree(), after());
    assert_eq!(project.recover(), Recovery::Nothing);
}

#[test]
fn a_crash_at_each_step_leaves_what_the_next_one_finishes() {
    let steps = 5;
    for at in 0..=steps {
        let project = Project::new();
        let mut transaction = project.stage();
        assert_eq!(transaction.steps.len(), steps);
        for step in &transaction.steps {
            step.prepare().unwrap();
        }
        let record = Record {
            staged: transaction.staged.path().to_owned(),
            id: Some(super::EntryId::of(
                &transaction.staged.dir().dir_metadata().unwrap(),
            )),
            steps: Some(transaction.steps.clone()),
        };
        transaction.journal.write(&record).unwrap();
        for step in transaction.steps.iter().take(at) {
            step.apply(transaction.staged.dir()).unwrap();
        }
        transaction.is_committed = true;
        drop(transaction);
        let recovered = project.recover();
        assert_eq!(recovered, Recovery::Completed, "{at}");
        assert_eq!(project.tree(), after(), "{at}");
    }
}

#[test]
fn a_crash_before_all_is_staged_leaves_nothing() {
    let project = Project::new();
    let before = project.tree();
    let mut transaction = project.stage();
    transaction.is_committed = true;
    drop(transaction);
    assert_ne!(project.tree(), before);
    let recovered = project.recover();
    assert_eq!((recovered, project.tree()), (Recovery::Removed, before));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "another program changes a folder here"
)]
fn a_change_that_fails_takes_the_others_back() {
    let project = Project::new();
    let transaction = project.stage();
    // Another program replaces the lock, which is the fourth step.
    fs::write(project.base().join("other"), "other").unwrap();
    fs::rename(project.base().join("other"), project.base().join("lock")).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(error.to_string().contains("lock"), "{error}");
    let mut expected = Project::new().tree();
    expected.insert("lock".into(), "other".to_owned());
    expected.insert("clients".into(), "folder".to_owned());
    expected.insert("clients/skills".into(), "folder".to_owned());
    assert_eq!(project.tree(), expected);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a stranger makes a folder here")]
fn a_record_of_a_stranger_counts_for_nothing() {
    let project = Project::new();
    let strange = project.base().join(".gongfu-import");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join("journal.json"), "{}").unwrap();
    let before = project.tree();
    assert_eq!(project.recover(), Recovery::Nothing);
    assert_eq!(project.tree(), before);
    // A folder that was put in the place of the staged one isn't touched.
    let transaction = project.stage();
    let staged = transaction.staged.path().to_owned();
    let steps: Vec<Step> = transaction.steps.clone();
    let record = Record {
        staged: strange.clone(),
        id: Some(super::EntryId::of(
            &transaction.staged.dir().dir_metadata().unwrap(),
        )),
        steps: Some(steps),
    };
    drop(transaction);
    assert!(!staged.exists());
    let journal = Journal::open(&project.home, &project.base()).unwrap();
    journal.write(&record).unwrap();
    assert_eq!(journal.recover().unwrap(), Recovery::Nothing);
    assert_eq!(project.tree(), before);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
fn folder_that_was_made_just_before_a_crash_is_removed_and_no_other() {
    let project = Project::new();
    let before = project.tree();
    for has_file in [false, true] {
        let staged = project.base().join(".gongfu-import-x");
        fs::create_dir(&staged).unwrap();
        if has_file {
            fs::write(staged.join("mine"), "x").unwrap();
        }
        let journal = Journal::open(&project.home, &project.base()).unwrap();
        let record = Record {
            staged: staged.clone(),
            id: None,
            steps: None,
        };
        journal.write(&record).unwrap();
        drop(journal);
        let recovery = project.recover();
        assert_eq!(recovery, Recovery::Removed);
        assert_eq!(staged.join("mine").exists(), has_file);
    }
    fs::remove_dir_all(project.base().join(".gongfu-import-x")).unwrap();
    assert_eq!(project.tree(), before);
}

//! The skills of an account: blobs, manifests and the checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::library::OWN_SOURCE;
use gongfu_core::library::Skill;
use gongfu_core::port::{
    FileEdit, LogEntry, LogHold, Materialize as _, Pending, PortError, Record, RecordChange,
    RecordKey, Records, SkillStore as _, Transactions, Version, ready,
};
use gongfu_core::skill::{SkillName, SkillPath};
use gongfu_files::Home;
use gongfu_library::{AccountSkills, StoreLimits, StoreParts, StoredSkills, changed_by_hand};
use gongfu_records::FileBlobs;
use gongfu_testing::{FixedClock, MemoryRecords, now};

const DOCUMENT: &str =
    "---\nname: pdf\ndescription: Fills forms. Use it for forms.\n---\n\n# PDF\n";

/// Records whose commits can be refused.
struct Refusing {
    records: MemoryRecords,
    refuses: AtomicBool,
}

impl Records for Refusing {
    fn get<'a>(&'a self, key: &'a RecordKey) -> Pending<'a, Option<Record>> {
        self.records.get(key)
    }

    fn set<'a>(
        &'a self,
        key: &'a RecordKey,
        expected: Option<Version>,
        value: Option<&'a [u8]>,
    ) -> Pending<'a, Option<Version>> {
        self.records.set(key, expected, value)
    }

    fn list<'a>(&'a self, prefix: &'a RecordKey) -> Pending<'a, Vec<(RecordKey, Record)>> {
        self.records.list(prefix)
    }

    fn append<'a>(&'a self, log: &'a RecordKey, entry: &'a [u8]) -> Pending<'a, ()> {
        self.records.append(log, entry)
    }

    fn entries<'a>(&'a self, log: &'a RecordKey, limit: usize) -> Pending<'a, Vec<Vec<u8>>> {
        self.records.entries(log, limit)
    }

    fn hold_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, Option<LogHold>> {
        self.records.hold_log(log)
    }

    fn remove_log<'a>(&'a self, log: &'a RecordKey) -> Pending<'a, ()> {
        self.records.remove_log(log)
    }
}

impl Transactions for Refusing {
    fn commit<'a>(
        &'a self,
        changes: &'a [RecordChange<'a>],
        entries: &'a [LogEntry<'a>],
    ) -> Pending<'a, Vec<Option<Version>>> {
        if self.refuses.load(Ordering::Relaxed) {
            return ready(Err(PortError::Unavailable("the disk is full".to_owned())));
        }
        self.records.commit(changes, entries)
    }
}

/// An account on disk.
struct Account {
    folder: tempfile::TempDir,
    records: Arc<Refusing>,
}

impl Account {
    fn new() -> Self {
        let records = Refusing {
            records: MemoryRecords::default(),
            refuses: AtomicBool::new(false),
        };
        Self {
            folder: tempfile::tempdir().unwrap(),
            records: Arc::new(records),
        }
    }

    fn open(&self) -> StoredSkills {
        self.open_with(StoreLimits::default())
    }

    fn open_with(&self, limits: StoreLimits) -> StoredSkills {
        let parts = StoreParts {
            owner: Owner::User(UserId::new("ann").unwrap()),
            source: OWN_SOURCE.to_owned(),
            records: Arc::<Refusing>::clone(&self.records),
            blobs: Arc::new(FileBlobs::new(Home::at(self.folder.path().join("home")))),
            folder: self.skills(),
            limits,
            clock: Arc::<FixedClock>::default(),
        };
        now(StoredSkills::open(parts)).unwrap()
    }

    fn changed_by_hand(&self) -> Vec<PathBuf> {
        now(changed_by_hand(&*self.records, self.skills())).unwrap()
    }

    fn skills(&self) -> PathBuf {
        self.folder.path().join("skills/ann")
    }

    /// The paths of all files and links, but not of the blobs' folders.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(self.folder.path(), self.folder.path(), &mut found);
        found.sort();
        found
    }

    fn blobs(&self) -> usize {
        let files = self.files();
        files.iter().filter(|file| file.contains("/blobs/")).count()
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            walk(root, &entry.path(), found);
        } else {
            let below = entry.path().strip_prefix(root).unwrap().to_owned();
            found.push(below.to_str().unwrap().to_owned());
        }
    }
}

fn path(text: &str) -> SkillPath {
    SkillPath::new(text).unwrap()
}

fn create(
    store: &StoredSkills,
    name: &str,
    files: &[(&str, &str)],
) -> Result<Arc<Skill>, PortError> {
    let files: Vec<(SkillPath, &str)> = files.iter().map(|(at, text)| (path(at), *text)).collect();
    let edits = files.iter().map(|(path, text)| FileEdit {
        path,
        content: Some(text.as_bytes()),
        is_executable: Some(path.extension() == "sh"),
    });
    now(store.create_whole(&SkillName::new(name).unwrap(), &edits.collect::<Vec<_>>()))
}

fn pdf(store: &StoredSkills) -> Arc<Skill> {
    create(
        store,
        "pdf",
        &[
            ("SKILL.md", DOCUMENT),
            ("scripts/run.sh", "#!/bin/sh\necho 1\n"),
        ],
    )
    .unwrap()
}

fn edit(
    store: &StoredSkills,
    skill: &Skill,
    at: &str,
    content: Option<&str>,
) -> Result<Arc<Skill>, PortError> {
    let edit = FileEdit {
        path: &path(at),
        content: content.map(str::as_bytes),
        is_executable: None,
    };
    now(store.edit(skill, &[edit]))
}

fn text(store: &StoredSkills, skill: &Skill, at: &str) -> String {
    let content = now(store.read(skill, &path(at), 1_000)).unwrap();
    String::from_utf8(content.bytes).unwrap()
}

#[test]
fn skill_is_stored_edited_and_deleted_whole() {
    use std::os::unix::fs::PermissionsExt as _;

    let account = Account::new();
    let store = account.open();
    let skill = pdf(&store);
    assert_eq!(&*skill.full_name, "own/pdf");
    assert_eq!(skill.files.len(), 2);
    let run = account.skills().join("pdf/scripts/run.sh");
    assert_eq!(fs::read_to_string(&run).unwrap(), "#!/bin/sh\necho 1\n");
    assert_eq!(
        fs::metadata(&run).unwrap().permissions().mode() & 0o777,
        0o755
    );
    assert!(matches!(
        create(&store, "pdf", &[("SKILL.md", DOCUMENT)]),
        Err(PortError::Conflict(_))
    ));

    let edited = edit(&store, &skill, "scripts/run.sh", Some("echo 2")).unwrap();
    assert_ne!(edited.digest(), skill.digest());
    assert_eq!(fs::read_to_string(&run).unwrap(), "echo 2");
    // Still a program.
    assert_eq!(
        fs::metadata(&run).unwrap().permissions().mode() & 0o777,
        0o755
    );
    assert_eq!(text(&store, &edited, "SKILL.md"), DOCUMENT);
    // The version of before is known no more, and nothing of it is left.
    assert!(matches!(
        edit(&store, &skill, "x", Some("x")),
        Err(PortError::Conflict(_))
    ));
    assert!(matches!(
        now(store.delete(&skill)),
        Err(PortError::Conflict(_))
    ));
    assert_eq!(account.blobs(), 2);
    assert_eq!(
        fs::read_dir(account.skills().join(".versions"))
            .unwrap()
            .count(),
        1
    );

    let smaller = edit(&store, &edited, "scripts/run.sh", None).unwrap();
    assert_eq!(smaller.files.len(), 1);
    now(store.delete(&smaller)).unwrap();
    assert!(now(store.library()).unwrap().skills().is_empty());
    assert_eq!(account.files(), Vec::<String>::new());
    // Another process sees the same.
    assert!(now(account.open().library()).unwrap().skills().is_empty());
}

#[test]
fn names_in_other_scripts_are_stored() {
    let account = Account::new();
    let store = account.open();
    let names = ["\u{5408}\u{5e76}", "caf\u{e9}-au-lait", "\u{e9}", "pdf"];
    for name in names {
        let document = DOCUMENT.replace("name: pdf", &format!("name: {name}"));
        create(&store, name, &[("SKILL.md", &document)]).unwrap();
        assert!(account.skills().join(name).join("SKILL.md").exists());
    }
    drop(store);
    let store = account.open();
    let library = now(store.library()).unwrap();
    for name in names {
        let skill = library
            .skills()
            .iter()
            .find(|skill| skill.name.as_str() == name);
        let skill = skill.unwrap();
        let edited = edit(&store, skill, "a.txt", Some(name)).unwrap();
        assert_eq!(text(&store, &edited, "a.txt"), name);
        now(store.delete(&edited)).unwrap();
    }
    assert_eq!(account.files(), Vec::<String>::new());
}

#[test]
fn refused_change_leaves_everything_as_it_was() {
    let account = Account::new();
    let store = account.open();
    let skill = pdf(&store);
    let before = account.files();
    account.records.refuses.store(true, Ordering::Relaxed);
    assert!(
        edit(
            &store,
            &skill,
            "SKILL.md",
            Some(&DOCUMENT.replace("Fills", "Reads"))
        )
        .is_err()
    );
    assert!(create(&store, "other", &[("SKILL.md", DOCUMENT)]).is_err());
    assert!(now(store.delete(&skill)).is_err());
    account.records.refuses.store(false, Ordering::Relaxed);
    assert_eq!(text(&store, &skill, "SKILL.md"), DOCUMENT);
    // Blobs without a skill stay until they are needed or removed with the account.
    let visible = |files: Vec<String>| -> Vec<String> {
        files
            .into_iter()
            .filter(|file| !file.contains("/blobs/"))
            .collect()
    };
    assert_eq!(visible(account.files()), visible(before));
    // What would be no skill.
    for content in [None, Some("")] {
        let refused = edit(&store, &skill, "SKILL.md", content);
        assert!(
            matches!(refused, Err(PortError::Denied(_))),
            "{content:?}: {refused:?}"
        );
    }
    assert!(matches!(
        create(&store, "Pdf", &[("SKILL.md", DOCUMENT)]),
        Err(PortError::Denied(_))
    ));
    edit(&store, &skill, "new.md", Some("x")).unwrap();
}

#[test]
fn run_keeps_its_version_while_the_skill_changes() {
    let account = Account::new();
    let store = account.open();
    let skill = pdf(&store);
    let lease = now(store.materialize(&skill)).unwrap();
    let second = now(store.materialize(&skill)).unwrap();
    assert_eq!(lease.folder, second.folder);
    assert_eq!(lease.folder.file_name().unwrap(), "pdf");
    let edited = edit(&store, &skill, "scripts/run.sh", Some("echo 2")).unwrap();
    now(store.delete(&edited)).unwrap();
    let script = lease.folder.join("scripts/run.sh");
    assert_eq!(fs::read_to_string(&script).unwrap(), "#!/bin/sh\necho 1\n");
    drop(lease);
    assert!(script.exists());
    drop(second);
    assert!(!script.exists());
    assert!(matches!(
        now(store.materialize(&skill)),
        Err(PortError::NotFound)
    ));
}

#[test]
fn change_by_hand_is_reported_kept_and_never_run() {
    let account = Account::new();
    let store = account.open();
    let skill = pdf(&store);
    assert_eq!(account.changed_by_hand(), Vec::<PathBuf>::new());
    let script = account.skills().join("pdf/scripts/run.sh");
    for (number, damage) in [
        |script: &Path| fs::write(script, "echo evil\n").unwrap(),
        // As long as before.
        |script: &Path| fs::write(script, "#!/bin/sh\necho 3\n").unwrap(),
        |script: &Path| fs::remove_file(script).unwrap(),
        |script: &Path| fs::write(script.with_file_name("more.sh"), "x").unwrap(),
        |script: &Path| {
            fs::remove_file(script).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", script).unwrap();
        },
    ]
    .into_iter()
    .enumerate()
    {
        // It was compared before.
        drop(now(store.materialize(&skill)).unwrap());
        damage(&script);
        assert_eq!(account.changed_by_hand().len(), number + 1);
        let lease = now(store.materialize(&skill)).unwrap();
        let run = fs::read_to_string(lease.folder.join("scripts/run.sh")).unwrap();
        assert_eq!(run, "#!/bin/sh\necho 1\n", "damage {number}");
        assert_eq!(text(&store, &skill, "scripts/run.sh"), run);
        assert_eq!(account.changed_by_hand().len(), number + 1);
    }
    let kept = account.skills().join(".changed/pdf-1/pdf/scripts/run.sh");
    assert_eq!(fs::read_to_string(kept).unwrap(), "echo evil\n");
}

#[test]
fn checkout_is_made_again_from_the_records() {
    let account = Account::new();
    let skill = pdf(&account.open());
    fs::remove_dir_all(account.skills()).unwrap();
    // What a killed process may leave.
    fs::create_dir_all(account.skills().join(".versions/0123")).unwrap();
    fs::write(account.skills().join(".versions/0123/x"), "x").unwrap();
    std::os::unix::fs::symlink(".versions/0123", account.skills().join("gone")).unwrap();
    let store = account.open();
    let lease = now(store.materialize(&skill)).unwrap();
    assert_eq!(
        fs::read_to_string(lease.folder.join("SKILL.md")).unwrap(),
        DOCUMENT
    );
    assert_eq!(
        fs::read_to_string(account.skills().join("pdf/SKILL.md")).unwrap(),
        DOCUMENT
    );
    let names = fs::read_dir(account.skills()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".versions", "pdf"]);
    assert_eq!(
        fs::read_dir(account.skills().join(".versions"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn account_has_only_as_much_as_it_may() {
    let account = Account::new();
    let store = account.open_with(StoreLimits {
        skills: 2,
        bytes: 300,
        files: 2,
        file: 200,
    });
    let document = |name: &str| DOCUMENT.replace("pdf", name);
    let first = pdf(&store);
    let full = |result: Result<Arc<Skill>, PortError>| matches!(result, Err(PortError::Full(_)));
    let denied =
        |result: Result<Arc<Skill>, PortError>| matches!(result, Err(PortError::Denied(_)));
    assert!(denied(edit(&store, &first, "third.md", Some("x"))));
    assert!(denied(edit(
        &store,
        &first,
        "scripts/run.sh",
        Some(&"x".repeat(201))
    )));
    create(&store, "csv", &[("SKILL.md", &document("csv"))]).unwrap();
    assert!(full(create(
        &store,
        "xls",
        &[("SKILL.md", &document("xls"))]
    )));
    assert!(full(edit(
        &store,
        &first,
        "scripts/run.sh",
        Some(&"x".repeat(199))
    )));
    // Less is always possible.
    edit(&store, &first, "scripts/run.sh", Some("x")).unwrap();
}

#[test]
fn switches_are_the_accounts_own() {
    let account = Account::new();
    let store = account.open();
    let skill = pdf(&store);
    let seen = AccountSkills::alone(store.clone());
    let enabled = || now(seen.library()).unwrap().skills()[0].enabled;
    let first = now(seen.library()).unwrap().revision();
    assert!(enabled());
    assert!(now(seen.set_enabled(&skill, false)).unwrap());
    assert!(!now(seen.set_enabled(&skill, false)).unwrap());
    assert!(!enabled());
    assert_ne!(now(seen.changed(first)).unwrap(), first);
    let again = AccountSkills::alone(account.open());
    assert!(!now(again.library()).unwrap().skills()[0].enabled);
    assert!(now(seen.set_enabled(&skill, true)).unwrap());
    assert!(enabled());
}

//! Writing skills on a real disk: where it is allowed, what is seen afterwards.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use gongfu_core::port::{Change, PortError, Timestamp};
use gongfu_core::skill::{SkillName, SkillPath};

use gongfu_files::Home;
use gongfu_testing::FixedClock;

use super::LocalSkills;
use crate::local::tests::open;
use crate::source::Settings;

/// A clock that stands still, so that nothing is seen because an answer is old.
fn clock() -> Arc<FixedClock> {
    Arc::new(FixedClock::at(Timestamp(4_000_000_000_000)))
}

const DOCUMENT: &[u8] = b"---\nname: new\ndescription: d\n---\nbody\n";

fn library(home: &Path, explicit: &[&Path]) -> LocalSkills {
    let settings = Settings {
        explicit: explicit.iter().map(|path| path.to_path_buf()).collect(),
        writable: explicit.first().map(|path| path.to_path_buf()),
        default_dirs: explicit.is_empty(),
        ..Settings::default()
    };
    open(Home::at(home), settings, clock())
}

fn change(bytes: &[u8]) -> Change<'_> {
    Change {
        bytes,
        expected: None,
    }
}

#[test]
fn new_skill_is_there_at_once_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let skills = library(&folder.path().join("home"), &[]);
    assert!(skills.current().unwrap().resolve("new").is_err());
    let name = SkillName::new("new").unwrap();
    let made = skills.create_skill(&name, DOCUMENT).unwrap();
    assert_eq!(&*made.full_name, "home/new");
    assert!(skills.current().unwrap().resolve("new").is_ok());
    let file = folder.path().join("home/skills/new/SKILL.md");
    assert_eq!(fs::read(&file).unwrap(), DOCUMENT);
    let again = skills.create_skill(&name, b"other");
    assert!(matches!(again, Err(PortError::Conflict(_))), "{again:?}");
    fs::create_dir(folder.path().join("home/skills/empty")).unwrap();
    let empty = skills.create_skill(&SkillName::new("empty").unwrap(), DOCUMENT);
    assert!(matches!(empty, Err(PortError::Conflict(_))), "{empty:?}");
    assert_eq!(fs::read(&file).unwrap(), DOCUMENT);
    for odd in [".hidden", "~", &"技".repeat(200)] {
        let refused = skills.create_skill(&SkillName::new(odd).unwrap(), DOCUMENT);
        assert!(
            matches!(refused, Err(PortError::Denied(_))),
            "{odd}: {refused:?}"
        );
    }
    assert_eq!(
        fs::read_dir(folder.path().join("home/skills"))
            .unwrap()
            .count(),
        2
    );
}

#[test]
fn only_the_first_named_folder_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    fs::create_dir_all(second.join("old")).unwrap();
    fs::write(
        second.join("old/SKILL.md"),
        "---\nname: old\ndescription: d\n---\nb\n",
    )
    .unwrap();
    let skills = library(&folder.path().join("home"), &[&first, &second]);
    let made = skills
        .create_skill(&SkillName::new("new").unwrap(), DOCUMENT)
        .unwrap();
    let path = SkillPath::new("references/a.md").unwrap();
    assert!(skills.put(&made, &path, change(b"one")).unwrap());
    assert_eq!(fs::read(first.join("new/references/a.md")).unwrap(), b"one");
    let current = skills.current().unwrap();
    assert_eq!(
        current.resolve("new").unwrap().files.len(),
        2,
        "the next look sees it"
    );
    let old = current.resolve("old").unwrap();
    match skills.put(old, &path, change(b"x")) {
        Err(PortError::ReadOnly { place, instead }) => {
            assert_eq!(place, "second");
            assert_eq!(instead, Some(first.display().to_string()));
        }
        other => panic!("{other:?}"),
    }
    assert!(!second.join("old/references").exists());
    let none = Settings::default();
    let none = open(Home::at(folder.path().join("home")), none, clock());
    let refused = none.create_skill(&SkillName::new("x").unwrap(), DOCUMENT);
    assert!(
        matches!(refused, Err(PortError::ReadOnly { .. })),
        "{refused:?}"
    );
}

//! Versions that are compared, and sources that are fetched again.

use std::collections::BTreeMap;
use std::path::Path;

use gongfu_core::skill::{Digest, SkillPath};

use super::{FileChangeKind, FileState, changes};
use crate::lock::own::{LockedFile, LockedSkill, SourceKind};
use crate::source::Source;
use crate::verify::{Difference, DifferenceKind};

fn files(files: &[(&str, &str, bool)]) -> BTreeMap<SkillPath, LockedFile> {
    let file = |(path, text, executable): &(&str, &str, bool)| {
        let file = LockedFile {
            digest: Digest::of(text.as_bytes()),
            size: text.len() as u64,
            executable: *executable,
        };
        (SkillPath::new(path).unwrap(), file)
    };
    files.iter().map(file).collect()
}

#[test]
fn three_versions_are_told_apart() {
    let before = files(&[
        ("both", "1", false),
        ("gone", "1", false),
        ("mine", "1", false),
        ("mode", "1", false),
        ("same", "1", false),
        ("theirs", "1", false),
    ]);
    let after = files(&[
        ("both", "2", false),
        ("mine", "1", false),
        ("mode", "1", true),
        ("new", "1", false),
        ("same", "1", false),
        ("theirs", "2", false),
    ]);
    let difference = |path: &str, kind| Difference {
        path: path.to_owned(),
        kind,
    };
    let state = FileState::Changed(vec![
        difference("added", DifferenceKind::Added),
        difference("both", DifferenceKind::Content),
        difference("mine", DifferenceKind::Missing),
    ]);
    let found = changes(&before, &after, &state);
    let found: Vec<_> = found
        .iter()
        .map(|change| (&*change.path, change.source, change.yours))
        .collect();
    assert_eq!(
        found,
        [
            ("added", None, true),
            ("both", Some(FileChangeKind::Content), true),
            ("gone", Some(FileChangeKind::Removed), false),
            ("mine", None, true),
            ("mode", Some(FileChangeKind::Mode), false),
            ("new", Some(FileChangeKind::Added), false),
            ("theirs", Some(FileChangeKind::Content), false),
        ]
    );
}

#[test]
fn exact_source_is_the_locked_one_and_the_newest_follows_its_branch() {
    let base = Path::new("/p");
    let commit = "c".repeat(40);
    let locked = LockedSkill {
        source: "https://github.com/o/r.git".to_owned(),
        kind: SourceKind::Git,
        reference: Some("main".to_owned()),
        commit: Some(commit.clone()),
        ..LockedSkill::default()
    };
    for (exact, expected) in [(false, "main"), (true, &*commit)] {
        let Ok(Source::Git(git)) = locked.fetchable(base, exact) else {
            panic!("no repository");
        };
        assert_eq!(git.reference.as_deref(), Some(expected));
    }
    let package = LockedSkill {
        source: "npm:@o/p".to_owned(),
        kind: SourceKind::Npm,
        version: Some("1.2.3".to_owned()),
        ..LockedSkill::default()
    };
    let version = |exact| package.fetchable(base, exact).unwrap();
    assert_eq!(version(false), Source::Npm("@o/p".to_owned(), None));
    let exactly = Source::Npm("@o/p".to_owned(), Some("1.2.3".to_owned()));
    assert_eq!(version(true), exactly);
    let folder = LockedSkill {
        source: "../x".to_owned(),
        kind: SourceKind::Folder,
        ..LockedSkill::default()
    };
    let path = Source::Local("/p/../x".into());
    assert_eq!(folder.fetchable(base, true), Ok(path));
}

#[test]
fn what_another_program_updates_is_not_fetched() {
    let base = Path::new("/p");
    let skill = |locked: LockedSkill| locked.fetchable(base, false).unwrap_err();
    let manager = |manager: &str| LockedSkill {
        source: "https://github.com/o/r.git".to_owned(),
        manager: Some(manager.to_owned()),
        ..LockedSkill::default()
    };
    assert!(skill(manager("git")).contains("git pull"));
    assert!(skill(manager("plugin")).contains("plugin"));
    assert!(skill(manager("gh")).contains("`gh`"));
    let unknown = LockedSkill {
        kind: SourceKind::Unknown,
        ..LockedSkill::default()
    };
    assert!(skill(unknown).contains("nobody knows"));
    // A lock that somebody edited starts no program.
    let strange = LockedSkill {
        source: "ext::sh -c id".to_owned(),
        ..LockedSkill::default()
    };
    assert!(skill(strange).contains("start a program"));
}

//! Locks that are read, written, and refused.

use gongfu_core::skill::{Digest, SkillPath};

use super::{LockedFile, LockedSkill, OwnLock, SourceKind};
use crate::error::ImportCode;

fn skill() -> LockedSkill {
    let file = LockedFile {
        digest: Digest::of(b"x"),
        size: 1,
        executable: true,
    };
    let path = SkillPath::new("run.sh").unwrap();
    let digest = super::super::digest::tree_digest([(&path, true, file.digest)]);
    LockedSkill {
        source: "https://example.com/r.git".to_owned(),
        kind: SourceKind::Git,
        commit: Some("c".repeat(40)),
        digest: Some(digest),
        files: [(path, file)].into(),
        ..LockedSkill::default()
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the files that they read"
)]
fn a_lock_comes_back_as_it_was_with_what_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gongfu.lock");
    let mut lock = OwnLock::read(&path).unwrap();
    assert!(lock.skills.is_empty());
    lock.skills.insert("pdf".to_owned(), skill());
    let text = String::from_utf8(lock.bytes()).unwrap();
    let text = text.replace(
        "\"kind\": \"git\"",
        "\"kind\": \"git\",\n      \"signer\": [1]",
    );
    let text = text.replace("\"version\": 1", "\"version\": 1,\n  \"more\": true");
    std::fs::write(&path, &text).unwrap();
    let read = OwnLock::read(&path).unwrap();
    let again = String::from_utf8(read.bytes()).unwrap();
    assert!(
        again.contains("\"signer\"") && again.contains("\"more\": true"),
        "{again}"
    );
    let locked = &read.skills["pdf"];
    assert_eq!(locked.files, skill().files);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the files that they read"
)]
fn a_lock_that_was_edited_wrongly_names_the_member() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gongfu.lock");
    for (text, part) in [
        (
            r#"{"version": 1, "skills": {"a": {"source": 1, "kind": "git"}}}"#,
            "`source`",
        ),
        (
            r#"{"version": 1, "skills": {"a": {"source": "x", "kind": "cvs"}}}"#,
            "`kind`",
        ),
        (
            r#"{"version": 1, "skills": {"../a": {"source": "x", "kind": "git"}}}"#,
            "../a",
        ),
        (
            r#"{"version": 1, "skills": {".git": {"source": "x", "kind": "git"}}}"#,
            ".git",
        ),
        (
            r#"{"version": 1, "skills": {"a": {"source": "x", "kind": "git", "files": {"../x": {"digest": "sha256:00", "size": 1}}}}}"#,
            "files",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = OwnLock::read(&path).unwrap_err();
        assert_eq!(error.code, ImportCode::LockUnreadable);
        assert!(error.message.contains(part), "{}", error.message);
    }
}

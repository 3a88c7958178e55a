//! Renames of a SKILL.md, while others write.

use std::fs;
use std::path::Path;

use super::{propose, rename};
use crate::check::{Verdict, check};
use crate::walk::NAMED;

const TEXT: &str = "---\nname: other\ndescription: Reads files.\n---\nRead.\n";

fn verdict(folder: &Path) -> Verdict {
    check(folder, &[], NAMED, false).remove(0)
}

#[test]
fn file_is_renamed_unless_the_right_one_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("pdf");
    fs::create_dir(&skill).unwrap();
    fs::write(skill.join("skill.md"), TEXT).unwrap();
    let found = verdict(&skill);
    let wanted = rename(&found).unwrap();
    assert_eq!((wanted.from, wanted.to), ("skill.md", "SKILL.md"));
    fs::write(skill.join("SKILL.md"), "mine").unwrap();
    let refused = wanted.write().unwrap_err().to_string();
    assert_eq!(refused, "SKILL.md exists as well");
    assert_eq!(fs::read_to_string(skill.join("SKILL.md")).unwrap(), "mine");
    assert!(rename(&verdict(&skill)).is_none());
    fs::remove_file(skill.join("SKILL.md")).unwrap();
    wanted.write().unwrap();
    assert_eq!(fs::read_to_string(skill.join("SKILL.md")).unwrap(), TEXT);
    assert!(wanted.write().is_err(), "it is gone");
}

#[test]
fn file_that_changes_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("pdf");
    fs::create_dir(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), TEXT).unwrap();
    let proposal = propose(&verdict(&skill), "SKILL.md").unwrap().unwrap();
    let newer = TEXT.replace("files", "more files");
    fs::write(skill.join("SKILL.md"), &newer).unwrap();
    assert!(proposal.write().is_err());
    assert_eq!(fs::read_to_string(skill.join("SKILL.md")).unwrap(), newer);
}

//! The files of skills that are chosen, staged and refused.

use std::collections::BTreeMap;

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;

use super::{Candidate, Choice, folder_name, stage};
use crate::content::{Content, ContentFile};
use crate::discover::{Search, discover};
use crate::error::ImportCode;

fn content(files: &[(&str, &str, u32)]) -> Content {
    let file = |(path, text, mode): &(&str, &str, u32)| {
        let path = SkillPath::new(path).unwrap();
        (path, (text.as_bytes().to_vec(), *mode))
    };
    Content::in_memory(files.iter().map(file).collect::<BTreeMap<_, _>>())
}

const DOCUMENT: &str = "---\nname: a\ndescription: A.\n---\n";

#[test]
fn staged_files_are_those_of_the_skill() {
    let mut content = content(&[
        ("skills/a/SKILL.md", DOCUMENT, ContentFile::PLAIN),
        ("skills/a/run.sh", "#!/bin/sh\n", ContentFile::PROGRAM),
        ("skills/a/metadata.json", "{}", ContentFile::PLAIN),
        ("skills/a/__pycache__/x.pyc", "x", ContentFile::PLAIN),
        ("skills/a/deep/file.txt", "x", 0o400),
        ("skills/ab/file.txt", "x", ContentFile::PLAIN),
        ("skills/a.txt", "x", ContentFile::PLAIN),
    ]);
    let found = discover(&mut content, Search::default())
        .unwrap()
        .skills
        .remove(0);
    let candidate = Candidate::of(&content, found, Choice::Usual).unwrap();
    assert_eq!(candidate.size().0, 3);
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    let staged = stage(&mut content, vec![candidate], &root)
        .unwrap()
        .remove(0);
    let paths: Vec<&str> = staged.files.keys().map(SkillPath::as_str).collect();
    assert_eq!(paths, ["SKILL.md", "deep/file.txt", "run.sh"]);
    assert_eq!(staged.survey.scripts.len(), 1);
    let mut seen = Vec::new();
    Root::open(&staged.staged)
        .unwrap()
        .walk(|entry| {
            seen.push((entry.path.display().to_string(), entry.mode));
            Ok::<_, ()>(())
        })
        .unwrap();
    seen.sort();
    let files: Vec<_> = seen.iter().filter(|(path, _)| path != "deep").collect();
    assert_eq!(
        files,
        [
            &("SKILL.md".to_owned(), 0o644),
            &("deep/file.txt".to_owned(), 0o600),
            &("run.sh".to_owned(), 0o755),
        ]
    );
    // Other installers count what they leave out.
    assert_ne!(staged.computed_hash, staged.digest.to_string());
}

#[test]
fn a_skill_with_what_none_may_have_is_refused() {
    let found = |content: &mut Content| {
        discover(content, Search::default())
            .unwrap()
            .skills
            .remove(0)
    };
    let mut twins = content(&[
        ("a/SKILL.md", DOCUMENT, ContentFile::PLAIN),
        ("a/Read.md", "", ContentFile::PLAIN),
        ("a/read.md", "", ContentFile::PLAIN),
    ]);
    let skill = found(&mut twins);
    let error = Candidate::of(&twins, skill, Choice::Usual).unwrap_err();
    assert!(error.message.contains("letter case"), "{error}");
    let mut linked = content(&[("a/SKILL.md", DOCUMENT, ContentFile::PLAIN)]);
    linked
        .refused
        .push(("b/link".to_owned(), "elsewhere".to_owned()));
    let skill = found(&mut linked);
    Candidate::of(&linked, skill.clone(), Choice::Usual).unwrap();
    linked
        .refused
        .push(("a/link".to_owned(), "it leads out".to_owned()));
    let error = Candidate::of(&linked, skill, Choice::Usual).unwrap_err();
    assert!(error.message.contains("`a/link`: it leads out"), "{error}");
    let mut left_out = content(&[
        ("a/SKILL.md", DOCUMENT, ContentFile::PLAIN),
        ("a/__pycache__/x", "", ContentFile::PLAIN),
    ]);
    let large = SkillPath::new("a/__pycache__/x").unwrap();
    left_out.files.get_mut(&large).unwrap().size = 65 * 1024 * 1024;
    let skill = found(&mut left_out);
    let error = Candidate::of(&left_out, skill, Choice::Usual).unwrap_err();
    assert_eq!(error.code, ImportCode::SourceTooLarge, "it would be read");
}

#[test]
fn folders_are_named_as_by_other_installers() {
    for (name, folder) in [
        ("pdf", "pdf"),
        ("My Skill", "my-skill"),
        ("a//b  c", "a-b-c"),
        ("..hidden", "hidden"),
        ("-x-", "x"),
        ("A_b.c", "a_b.c"),
        ("../../etc", "etc"),
        ("", "unnamed-skill"),
        ("💥", "unnamed-skill"),
        ("数据 分析", "数据-分析"),
    ] {
        assert_eq!(folder_name(name), folder, "{name}");
    }
    assert_eq!(folder_name(&"x".repeat(300)).len(), 255);
    assert!(folder_name(&"数".repeat(300)).len() <= 255);
}

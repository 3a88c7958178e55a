//! A catalog over spaces in memory.

use std::sync::Arc;

use gongfu_core::library::{FindingCount, Skill};
use gongfu_core::port::{RecordKey, Records as _};
use gongfu_core::skill::{SkillName, SkillPath};
use gongfu_testing::SkillFiles;
use gongfu_testing::{MemorySpace, MemorySpaces, now};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::gate::Quota;

pub(super) const DOCUMENT: &str = "---\nname: pdf\ndescription: Read\n  PDFs.\n---\n\n# PDF\n\nintro\n\n## Use\n\nuse it\n\n## Limits\n\nnone\n";

/// The catalog over four skills, one of them disabled and one shadowed.
pub(super) fn catalog() -> Catalog {
    let wide: Vec<(String, &[u8])> = (0..600)
        .map(|number| (format!("assets/{number:03}.txt"), b"x".as_slice()))
        .collect();
    let wide: Vec<(&str, &[u8])> = wide
        .iter()
        .map(|(path, bytes)| (path.as_str(), *bytes))
        .collect();
    over(&[
        (
            "lib/pdf",
            "pdf",
            &[
                ("SKILL.md", DOCUMENT.as_bytes()),
                ("a.png", b"\x89PNG\0"),
                ("ref/x.md", b"one\ntwo\n"),
            ],
        ),
        ("lib/wide", "wide", &wide),
        ("-lib/off", "off", &[("SKILL.md", DOCUMENT.as_bytes())]),
        ("user/pdf", "pdf", &[("skill.md", b"lower")]),
    ])
}

/// The catalog over skills with these full names, names and files, whatever the files say. A full
/// name that starts with `-` is a disabled skill.
pub(super) fn over(skills: &[(&str, &str, SkillFiles<'_>)]) -> Catalog {
    let space = MemorySpace::default();
    let skills = skills.iter();
    let skills = skills.map(|(full_name, name, files)| (skill(full_name, name), *files));
    space.skills.replace_with(skills.collect());
    catalog_of(space).0
}

fn skill(full_name: &str, name: &str) -> Skill {
    let enabled = !full_name.starts_with('-');
    let full_name = full_name.trim_start_matches('-');
    let frontmatter = if full_name == "lib/pdf" {
        r#"{"metadata":{"use-case":"PDF files","related":"wide off"}}"#
    } else {
        "{}"
    };
    Skill {
        name: SkillName::new(name).unwrap(),
        full_name: full_name.into(),
        description: "Read\n  PDFs.".to_owned(),
        frontmatter: frontmatter.into(),
        source: full_name.split('/').next().unwrap().into(),
        folder: SkillPath::new(full_name.split_once('/').unwrap().1).unwrap(),
        path: format!("/x/{full_name}"),
        files: Arc::new([]),
        unlisted: Arc::default(),
        findings: FindingCount::default(),
        enabled,
    }
}

/// A catalog whose library must not be read.
pub(super) fn sealed() -> Catalog {
    let space = MemorySpace::default();
    space.skills.seal();
    catalog_of(space).0
}

/// The catalog over skills whose documents are read as they are from disk, and its space. A full
/// name that starts with `-` is a disabled skill.
pub(super) fn reading(skills: &[(&str, SkillFiles<'_>)]) -> (Catalog, Arc<MemorySpace>) {
    let space = MemorySpace::default();
    space.skills.replace(skills);
    catalog_of(space)
}

/// The catalog over one space.
pub(super) fn catalog_of(space: MemorySpace) -> (Catalog, Arc<MemorySpace>) {
    let space = Arc::new(space);
    let spaces = MemorySpaces::of(Arc::clone(&space));
    let catalog = Catalog::new(Arc::new(spaces), Quota::default(), None);
    (catalog, space)
}

/// The audit of a space, as JSON.
pub(super) fn audit(space: &MemorySpace) -> Vec<Value> {
    let log = RecordKey::new("audit").unwrap();
    let entries = now(space.records.entries(&log, usize::MAX));
    let entries = entries.unwrap().into_iter();
    entries
        .map(|entry| serde_json::from_slice(&entry).unwrap())
        .collect()
}

/// The names and outcomes in the audit of a space.
pub(super) fn audited(space: &MemorySpace) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = audit(space).into_iter();
    entries
        .map(|entry| (text(&entry["tool"]), text(&entry["outcome"])))
        .collect()
}

//! Sites of skills: their paths, digests and names.

use std::fs;

use gongfu_core::skill::Digest;
use gongfu_files::disk::Root;
use serde_json::Value;

use super::{PublishedSkill, check_marketplace, index, site};
use crate::candidate::{Candidate, Choice, stage};
use crate::discover::{Search, discover};
use crate::error::{ImportCode, ImportError};
use crate::fetch::folder;

#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
fn skills(files: &[(&str, &str)]) -> Result<Vec<PublishedSkill>, ImportError> {
    let source = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = source.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut content = folder::fetch(source.path())?;
    let found = discover(&mut content, Search::default())?.skills;
    let candidates = found
        .into_iter()
        .map(|found| Candidate::of(&content, found, Choice::Usual));
    let candidates = candidates.collect::<Result<_, _>>()?;
    let staged = tempfile::tempdir().unwrap();
    let root = Root::open(staged.path()).unwrap();
    let staged = stage(&mut content, candidates, &root)?;
    staged.iter().map(PublishedSkill::of).collect()
}

const PDF: (&str, &str) = ("pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n");

#[test]
fn an_index_names_documents_and_archives_with_their_digests() {
    let made = skills(&[
        PDF,
        (
            "docx/skill.md",
            "---\nname: docx\ndescription: Writes.\n---\n",
        ),
        ("docx/notes/a.md", "a"),
    ]);
    let made = made.unwrap();
    let site = site(&made, "team").unwrap();
    let json = |path: &str| -> Value { serde_json::from_slice(&site[path].bytes).unwrap() };
    let read = json(".well-known/agent-skills/index.json");
    for (at, name, kind, url) in [
        (0, "docx", "archive", "docx.zip"),
        (1, "pdf", "skill-md", "pdf/SKILL.md"),
    ] {
        let entry = &read["skills"][at];
        assert_eq!(
            (&entry["name"], &entry["type"], &entry["url"]),
            (&name.into(), &kind.into(), &url.into())
        );
        let bytes = &site[&format!(".well-known/agent-skills/{url}")].bytes;
        assert_eq!(entry["digest"], Digest::of(bytes).to_string());
    }
    let read = json(".well-known/skills/index.json");
    assert_eq!(
        read["skills"][0]["files"],
        serde_json::json!(["notes/a.md", "SKILL.md"])
    );
    let read = json(".claude-plugin/marketplace.json");
    assert_eq!(read["plugins"][0]["source"], "./plugins/team");
    assert!(site.contains_key("plugins/team/skills/docx/SKILL.md"));
    // The order of the skills changes nothing, and the part that a server has is the same.
    let turned: Vec<PublishedSkill> = made.iter().rev().cloned().collect();
    assert_eq!(super::site(&turned, "team").unwrap(), site);
    assert!(
        index(&made)
            .unwrap()
            .iter()
            .all(|(path, file)| site[path] == *file)
    );
}

#[test]
fn names_that_clients_do_not_take_are_refused() {
    let error = |files: &[(&str, &str)]| skills(files).unwrap_err().code;
    let upper = ("a/SKILL.md", "---\nname: Upper\ndescription: A.\n---\n");
    let bare = ("a/SKILL.md", "---\ndescription: A.\n---\n");
    assert_eq!(error(&[upper]), ImportCode::SourceRefused);
    assert_eq!(error(&[bare]), ImportCode::SourceRefused);
    let one = skills(&[PDF]).unwrap();
    let twice = [one.clone(), one].concat();
    assert_eq!(index(&twice).unwrap_err().code, ImportCode::SkillNameTaken);
    assert!(check_marketplace("my-team").is_ok());
    for name in [
        "",
        "My Team",
        "agent-skills",
        "claude-plugins-official",
        "anthropic-x",
    ] {
        assert!(check_marketplace(name).is_err(), "{name}");
    }
}

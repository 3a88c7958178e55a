//! The skills of a source, and those that are left out.

use std::collections::BTreeMap;

use gongfu_core::skill::SkillPath;

use super::{Discovery, PluginElsewhere, Search, discover};
use crate::content::{Content, ContentFile, ReadFiles};
use crate::error::ImportError;

fn content(files: &[(&str, &str)]) -> Content {
    let file = |(path, text): &(&str, &str)| {
        let path = SkillPath::new(path).unwrap();
        (path, (text.as_bytes().to_vec(), ContentFile::PLAIN))
    };
    Content::in_memory(files.iter().map(file).collect::<BTreeMap<_, _>>())
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: It is {name}.\n---\nText\n")
}

fn found(paths: &[(&str, &str)], search: Search<'_>) -> Discovery {
    let texts: Vec<String> = paths.iter().map(|(_, name)| skill(name)).collect();
    let files = paths.iter().zip(&texts);
    let files: Vec<(&str, &str)> = files
        .map(|((path, _), text)| (*path, text.as_str()))
        .collect();
    discover(&mut content(&files), search).unwrap()
}

fn names(discovery: &Discovery) -> Vec<&str> {
    discovery
        .skills
        .iter()
        .map(|skill| skill.name.as_str())
        .collect()
}

#[test]
fn a_skill_at_the_top_is_the_only_one() {
    let paths = [
        ("SKILL.md", "top"),
        ("skills/a/SKILL.md", "a"),
        ("x.txt", "x"),
    ];
    let discovery = found(&paths, Search::default());
    assert_eq!(names(&discovery), ["top"]);
    assert!(discovery.others.is_empty(), "what is inside belongs to it");
    let full = Search {
        full_depth: true,
        ..Search::default()
    };
    assert_eq!(names(&found(&paths, full)), ["top", "a"]);
}

#[test]
fn conventional_folders_come_before_all_others() {
    let paths = [
        ("deep/down/below/SKILL.md", "deep"),
        ("one/SKILL.md", "one"),
        ("skills/.curated/two/SKILL.md", "two"),
        ("skills/group/three/SKILL.md", "three"),
        ("skills/a/b/c/four/SKILL.md", "four"),
        (".claude/skills/five/SKILL.md", "five"),
        ("copy/SKILL.md", "three"),
        ("skills/node_modules/x/SKILL.md", "x"),
    ];
    let discovery = found(&paths, Search::default());
    assert_eq!(names(&discovery), ["three", "one", "two", "five"]);
    assert_eq!(discovery.skills[0].folder.as_str(), "copy");
    let others: Vec<&str> = discovery.others.iter().map(SkillPath::as_str).collect();
    assert_eq!(
        others,
        [
            "deep/down/below",
            "skills/a/b/c/four",
            "skills/group/three",
            "skills/node_modules/x"
        ]
    );
    let deep = found(
        &[("a/b/c/SKILL.md", "c"), ("x/y/SKILL.md", "y")],
        Search::default(),
    );
    assert_eq!(
        names(&deep),
        ["c", "y"],
        "without a usual folder, all are searched"
    );
    let below = SkillPath::new("deep").unwrap();
    let search = Search {
        below: Some(&below),
        ..Search::default()
    };
    assert_eq!(names(&found(&paths, search)), ["deep"]);
    let below = SkillPath::new("none").unwrap();
    let search = Search {
        below: Some(&below),
        ..Search::default()
    };
    discover(&mut content(&[("a", "")]), search).unwrap_err();
}

#[test]
fn plugins_name_their_skills() {
    let market = r#"{"plugins": [
        {"name": "office", "source": "./plugins/office", "skills": ["./tools/pdf", "../../../etc"]},
        {"name": "far", "source": {"source": "github", "repo": "o/r"}},
        {"name": "bad", "source": "./../x"}
    ]}"#;
    let (pdf, docx) = (skill("pdf"), skill("docx"));
    let files = [
        (".claude-plugin/marketplace.json", market),
        ("plugins/office/tools/pdf/SKILL.md", pdf.as_str()),
        ("plugins/office/skills/docx/SKILL.md", docx.as_str()),
    ];
    let discovery = discover(&mut content(&files), Search::default()).unwrap();
    assert_eq!(names(&discovery), ["pdf", "docx"]);
    assert_eq!(discovery.skills[0].plugin.as_deref(), Some("office"));
    let far = PluginElsewhere {
        name: "far".to_owned(),
        source: "o/r".to_owned(),
    };
    assert_eq!(discovery.elsewhere, [far]);
}

#[test]
fn skills_that_a_repository_installed_are_not_its_own() {
    let (mine, theirs) = (skill("mine"), skill("Their_s"));
    let lock = r#"{"version": 1, "skills": {"their-s": {}}}"#;
    let files = [
        ("skills-lock.json", lock),
        (".claude/skills/mine/SKILL.md", mine.as_str()),
        (".agents/skills/x/SKILL.md", theirs.as_str()),
    ];
    let discovery = discover(&mut content(&files), Search::default()).unwrap();
    assert_eq!(names(&discovery), ["mine"]);
}

#[test]
fn a_document_without_fields_is_found_and_says_so() {
    let files = [
        ("a/SKILL.md", "# A\n\nDoes it.\n"),
        (
            "b/skill.md",
            "---\nname: b\u{1b}\ndescription: x\nmetadata:\n  internal: true\n---\n",
        ),
        ("c/SKILL.md", ""),
    ];
    let discovery = discover(&mut content(&files), Search::default()).unwrap();
    let seen: Vec<_> = discovery
        .skills
        .iter()
        .map(|skill| (skill.name.as_str(), skill.is_declared, skill.is_internal))
        .collect();
    assert_eq!(seen, [("a", false, false), ("b", true, true)]);
    // They read no `skill.md`.
    assert!(!discovery.skills[1].is_found_elsewhere());
    assert_eq!(discovery.skills[1].document_path(), "b/skill.md");
}

/// A reader of many long documents, which may not be asked for all of them at once.
struct InGroups;

impl ReadFiles for InGroups {
    fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError> {
        assert!(
            paths.len() <= 8,
            "{} documents of 4 MiB at once",
            paths.len()
        );
        let document = |path: &&SkillPath| skill(path.parent().file_name()).into_bytes();
        Ok(paths.iter().map(document).collect())
    }
}

#[test]
fn long_documents_are_not_read_at_once() {
    let file = |at: usize| {
        let path = SkillPath::new(&format!("skills/s{at:02}/SKILL.md")).unwrap();
        (path, ContentFile::new(4 * 1024 * 1024, false))
    };
    let files = (0..20).map(file).collect();
    let mut content = Content::new(files, Vec::new(), Box::new(InGroups));
    let discovery = discover(&mut content, Search::default()).unwrap();
    assert_eq!(discovery.skills.len(), 20);
}

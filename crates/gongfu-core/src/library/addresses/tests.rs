//! Every skill has an address of its own, and every address leads to one file.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::library::{FindingCount, Library, Skill, Source, SourceKind};
use crate::skill::{Digest, FileEntry, FileKind, SkillName, SkillPath};
use proptest::prelude::*;

use super::AddressTable;

/// A library of these skills, path below the source `s` and name; their files are what lies below
/// them of these and their SKILL.md.
fn library(skills: &[(&str, &str)], files: &[&str]) -> Library {
    let documents = skills.iter().map(|(path, _)| joined(path, "SKILL.md"));
    let others = files.iter().map(|file| (*file).to_owned());
    let all: BTreeSet<String> = documents.chain(others).collect();
    let made = skills.iter().map(|(path, name)| {
        let below = |file: &String| {
            if path.is_empty() {
                return Some(file.clone());
            }
            let below = file.strip_prefix(path)?.strip_prefix('/')?;
            Some(below.to_owned())
        };
        let mut files: Vec<FileEntry> = all
            .iter()
            .filter_map(below)
            .map(|file| FileEntry {
                path: SkillPath::new(&file).unwrap(),
                size: 1,
                digest: Some(Digest::of(b"x")),
                kind: FileKind::Text,
            })
            .collect();
        files.sort_by(|left, right| left.path.cmp(&right.path));
        let path = if path.is_empty() { "." } else { path };
        Arc::new(Skill {
            name: SkillName::new(name).unwrap(),
            full_name: format!("s/{path}").into(),
            description: "d".to_owned(),
            frontmatter: "{}".into(),
            source: "s".into(),
            folder: SkillPath::new(path).unwrap(),
            path: format!("/x/{path}"),
            files: files.into(),
            unlisted: Arc::default(),
            findings: FindingCount::default(),
            enabled: true,
        })
    });
    let source = Source {
        id: "s".into(),
        kind: SourceKind::Explicit,
        root: "/x".to_owned(),
        project: None,
    };
    Library::new(vec![source], made.collect(), Vec::new())
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn roots(skills: &[(&str, &str)], files: &[&str]) -> Vec<String> {
    let library = library(skills, files);
    let table = AddressTable::new(&library);
    (0..)
        .zip(library.skills())
        .map(|(at, _)| table.root(at).map_or("-", |root| root).to_owned())
        .collect()
}

#[test]
fn a_skill_is_served_under_its_name() {
    for (skills, files, wanted) in [
        (
            &[("a", "a"), ("b/c", "c")][..],
            &[][..],
            &["s/a", "s/b/c"][..],
        ),
        // Its folder is called otherwise.
        (&[("b/c", "d")], &[], &["s/b/d"]),
        // The name is taken: by a skill, by a folder with skills, by another one of that name.
        (&[("a", "a"), ("b", "a")], &[], &["s/a", "s/b/a"]),
        (&[("a/x", "x"), ("b", "a")], &[], &["s/a/x", "s/b/a"]),
        (&[("b", "a"), ("c", "a")], &[], &["s/b/a", "s/c/a"]),
        // The whole source is one skill, and others lie in it.
        (&[("", "top"), ("b", "b")], &[], &["s/top", "s/top/b"]),
        // What lies in a skill lies in its address.
        (&[("o", "out"), ("o/in", "in")], &[], &["s/out", "s/out/in"]),
        // A file of the enclosing skill is there already.
        (
            &[("o", "o"), ("o/in", "ref")],
            &["o/ref/x.md"],
            &["s/o", "s/o/in/ref"],
        ),
        (
            &[("o", "o"), ("o/in", "ref")],
            &["o/ref", "o/in/ref/x.md"],
            &["s/o", "s/o/in/in/ref"],
        ),
        (
            &[("o", "o"), ("o/a", "x"), ("o/b", "x")],
            &[],
            &["s/o", "s/o/a/x", "s/o/b/x"],
        ),
        // No name that would have to be encoded; what lies in it is served all the same.
        (&[("my", "my skill"), ("my/a", "a")], &[], &["-", "s/my/a"]),
        (&[("o", "日本"), ("p", "o")], &[], &["-", "s/o"]),
    ] {
        assert_eq!(roots(skills, files), wanted, "{skills:?} {files:?}");
    }
}

#[test]
fn an_address_leads_to_the_innermost_skill() {
    let library = library(&[("o", "o"), ("o/in", "in")], &["o/in/x.md", "o/y.md"]);
    let table = AddressTable::new(&library);
    let found = |place| table.roots_above(place).collect::<Vec<_>>();
    assert_eq!(found("s/o/in/x.md"), [(1, "x.md"), (0, "in/x.md")]);
    assert_eq!(found("s/o/y.md"), [(0, "y.md")]);
    assert_eq!(found("s/o"), [(0, "")]);
    assert_eq!(found("s"), []);
    assert_eq!(found("s/other/o"), []);
    let below: Vec<&str> = table.roots_below("s/o").map(|(root, _)| root).collect();
    assert_eq!(below, ["s/o/in"]);
}

#[test]
fn list_continues_after_a_name_that_is_gone() {
    let library = library(&[("c", "c"), ("a", "a"), ("b", "b")], &[]);
    let table = AddressTable::new(&library);
    assert_eq!(table.order(), [1, 2, 0]);
    assert_eq!(table.behind(&library, "s/a"), 1);
    assert_eq!(table.behind(&library, "s/aa"), 1);
    assert_eq!(table.behind(&library, "s/z"), 3);
    assert!(table.has_source_of("s/gone") && !table.has_source_of("t/a"));
}

/// Folders of few names, so that they meet.
fn folder() -> impl Strategy<Value = String> {
    let names = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..4);
    names.prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn no_address_leads_to_two_files(
        skills in prop::collection::btree_map(folder(), prop::sample::select(vec!["a", "b", "c", "d", "x y"]), 0..8),
        files in prop::collection::btree_set((folder(), prop::sample::select(vec!["a", "b", "f.md"])), 0..6),
    ) {
        // A file isn't a folder at the same time.
        let files: Vec<String> = files.iter().map(|(folder, name)| joined(folder, name)).collect();
        let is_folder = |file: &str| {
            let inside = |other: &str| other.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            skills.keys().any(|folder| inside(folder)) || files.iter().any(|other| other != file && inside(other))
        };
        let files: Vec<&str> = files.iter().map(String::as_str).filter(|file| !is_folder(file)).collect();
        let skills: Vec<(&str, &str)> = skills.iter().map(|(path, name)| (path.as_str(), *name)).collect();
        let library = library(&skills, &files);
        let table = AddressTable::new(&library);
        let mut real: HashMap<String, String> = HashMap::new();
        for ((at, skill), (path, name)) in (0_u32..).zip(library.skills()).zip(&skills) {
            let Some(root) = table.root(at) else {
                prop_assert_eq!(*name, "x y", "{:?} has no address", skill.full_name);
                continue;
            };
            prop_assert!(root.starts_with("s/") && root.ends_with(&format!("/{name}")), "{root}");
            for file in skill.files.iter() {
                let place = format!("{root}/{}", file.path);
                let lies = joined(path, file.path.as_str());
                // Every other folder that lists this address means the same file.
                let other = real.insert(place.clone(), lies.clone());
                prop_assert!(other.as_ref().is_none_or(|other| *other == lies), "{place}: {other:?} and {lies}");
                // It is found where it is listed.
                let (found, below) = table.roots_above(&place).next().unwrap();
                let (outer, _) = skills[found as usize];
                prop_assert_eq!(joined(outer, below), lies, "{}", place);
            }
        }
    }
}

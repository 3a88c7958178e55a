//! A SKILL.md that is anything but a document.

use std::fmt::Write as _;
use std::path::PathBuf;

use gongfu_testing::json::{at, codes, list_at, text_at};
use serde_json::{Value, json};

use super::neighbour_is_well;
use crate::fixture::Fixture;

fn with_frontmatter(frontmatter: &str) -> Vec<u8> {
    format!("---\n{frontmatter}\n---\n\nText.\n").into_bytes()
}

fn utf16(text: &str) -> Vec<u8> {
    [0xFF, 0xFE]
        .into_iter()
        .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
        .collect()
}

/// What is planted: its name here, its bytes, whether it can be loaded, and how a code that is
/// found begins.
type Planted = (&'static str, Vec<u8>, bool, &'static str);

const GOOD: &str = "name: planted\ndescription: Grows.";

/// Bytes that are hardly text.
fn bytes() -> Vec<Planted> {
    let good = with_frontmatter(GOOD);
    let marked = [b"\xef\xbb\xbf".to_vec(), good.clone()].concat();
    let wide = utf16(&String::from_utf8(good).unwrap());
    let binary: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let nul = b"---\nname: planted\ndescription: a\0b\n---\nText.\n";
    let invalid = b"---\nname: planted\ndescription: a \xff\xc0 b\n---\nText.\n";
    let returns = b"---\rname: planted\rdescription: Grows.\r---\rText.\r";
    vec![
        ("binary", binary, false, "skill-file-not-text"),
        ("empty", Vec::new(), false, "skill-file-empty"),
        ("blank", b" \n\n\t\n".to_vec(), false, "skill-file-empty"),
        ("nul", nul.to_vec(), true, "control-characters"),
        ("invalid-utf8", invalid.to_vec(), true, "encoding-invalid"),
        ("mark", marked, true, "byte-order-mark"),
        ("utf16", wide, true, "encoding-utf16"),
        ("lone-returns", returns.to_vec(), true, ""),
        (
            "text",
            b"Just text.\n".to_vec(),
            true,
            "frontmatter-missing",
        ),
        (
            "unclosed",
            format!("---\n{GOOD}\n\nText.\n").into(),
            true,
            "frontmatter-unclosed",
        ),
    ]
}

/// Frontmatter that is hardly YAML or far too much of it: a name, how a code that is found begins,
/// and the text, in which `GOOD` stands for good fields.
const FRONTMATTER: &[&str] = &[
    "mixed name-mixed-script name: pl\u{430}nted\ndescription: Grows.",
    "hidden hidden-characters name: planted\ndescription: \"Grows\u{200b}\u{e0041}.\"",
    "cycle yaml- GOOD\nmetadata: &a\n  b: *a",
    "list yaml-not-a-mapping - name\n- planted",
    "twice yaml-duplicate-key GOOD\nname: planted",
    "slash name-unusable name: a/b\ndescription: Grows.",
    "dots name-unusable name: ..\ndescription: Grows.",
    "climb name-unusable name: ../../etc/passwd\ndescription: Grows.",
    "null name- name: ~\ndescription: Grows.",
    "map name- name: {a: b}\ndescription: [c]",
    "tags name- name: !!python/object/apply:os.system ['x']\ndescription: !!binary aGk=",
    "anchors yaml- name: *nowhere\ndescription: Grows.",
];

/// The same, too long for a table.
fn long_frontmatter() -> [(&'static str, &'static str, String); 7] {
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for letter in 'b'..='j' {
        let before = char::from(letter as u8 - 1);
        let nine = vec![format!("*{before}"); 9].join(", ");
        let _ = writeln!(laughs, "{letter}: &{letter} [{nine}]");
    }
    let lists = ["[".repeat(20_000), "]".repeat(20_000)].concat();
    let maps = (1..150).map(|level| format!("\n{}k:", " ".repeat(level)));
    let maps: String = maps.collect();
    let value = "v".repeat(2_000_000);
    let (name, description) = ("n".repeat(5_000), "d".repeat(100_000));
    let good = GOOD;
    [
        ("laughs", "yaml-too-many-nodes", format!("{good}\n{laughs}")),
        ("deep", "yaml-", format!("{good}\nmetadata: {lists}")),
        (
            "deep-maps",
            "yaml-too-deep",
            format!("{good}\nmetadata:{maps}"),
        ),
        (
            "huge",
            "frontmatter-too-large",
            format!("{good}\nmetadata:\n  k: {value}"),
        ),
        ("documents", "", format!("{good}\n...\n%YAML 9.9\n")),
        (
            "long-name",
            "name-unusable",
            format!("name: {name}\ndescription: Grows."),
        ),
        (
            "long",
            "description-too-long",
            format!("name: planted\ndescription: {description}"),
        ),
    ]
}

fn documents() -> Vec<Planted> {
    let short = FRONTMATTER.iter().map(|line| {
        let parts: Vec<&str> = line.splitn(3, ' ').collect();
        (parts[0], parts[1], parts[2].replace("GOOD", GOOD))
    });
    let all = short.chain(long_frontmatter());
    let all = all.map(|(what, code, text)| (what, with_frontmatter(&text), true, code));
    bytes().into_iter().chain(all).collect()
}

/// Plants every document in a folder of its own; returns the folders.
fn plant(fixture: &Fixture) -> Vec<PathBuf> {
    let planted = documents().into_iter().enumerate();
    planted
        .map(|(number, (_, bytes, ..))| {
            let file = fixture.write(format!("skills/{number}/planted/SKILL.md"), bytes);
            file.parent().unwrap().to_owned()
        })
        .collect()
}

/// Checks the folders; returns their skills in the same order.
fn checked(fixture: &Fixture, folders: &[PathBuf], more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["skill".into(), "check".into(), "--json".into()];
    arguments.extend(more.iter().map(PathBuf::from));
    arguments.extend_from_slice(folders);
    let judged = fixture.gongfu(arguments).run().json();
    let find = |folder: &PathBuf| {
        let mut skills = list_at(&judged, "/skills").iter();
        let found = skills.find(|skill| text_at(skill, "/path") == folder.to_str().unwrap());
        found
            .unwrap_or_else(|| panic!("{folder:?} isn't judged"))
            .clone()
    };
    folders.iter().map(find).collect()
}

#[test]
fn each_document_is_judged_and_none_harms_its_neighbour() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    let folders = plant(&fixture);
    let judged = checked(&fixture, &folders, &[]);
    for ((what, _, loadable, code), skill) in documents().iter().zip(&judged) {
        let found = codes(skill);
        assert_eq!(at(skill, "/loadable"), *loadable, "{what}: {found:?}");
        let is_found = found.iter().any(|known| known.starts_with(code));
        assert!(code.is_empty() || is_found, "{what}: {found:?}");
    }
    for mode in ["--strict", "--fix --dry-run", "--strict --fix --dry-run"] {
        checked(&fixture, &folders, &mode.split(' ').collect::<Vec<_>>());
    }
    neighbour_is_well(&fixture);
    let listed = fixture.listed();
    let mut client = fixture.client();
    for ((what, bytes, loadable, _), folder) in documents().iter().zip(&folders) {
        let now = std::fs::read(folder.join("SKILL.md")).unwrap();
        assert_eq!(&now, bytes, "{what}: nobody writes without --fix");
        let is_it = |skill: &&Value| text_at(skill, "/path") == folder.to_str().unwrap();
        let mine = listed.iter().find(is_it);
        assert_eq!(mine.is_some(), *loadable, "{what}");
        if let Some(mine) = mine {
            let name = text_at(mine, "/name");
            let is_name = !name.is_empty() && !name.contains('/') && name != "..";
            assert!(is_name, "{what}: {name}");
            let full_name = json!({ "skill_name": text_at(mine, "/full_name") });
            client.good("skill_load", full_name.clone());
            client.good("skill_read", full_name);
        }
    }
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn fix_never_breaks_a_document_more() {
    let fixture = Fixture::new();
    let folders = plant(&fixture);
    let errors = |more: &[&str]| -> Vec<usize> {
        let is_error = |found: &&Value| text_at(found, "/severity") == "error";
        let judged = checked(&fixture, &folders, more);
        let errors = documents().into_iter().zip(&judged);
        errors
            .map(|((what, _, loadable, _), skill)| {
                assert_eq!(at(skill, "/loadable"), loadable, "{what}");
                list_at(skill, "/diagnostics")
                    .iter()
                    .filter(is_error)
                    .count()
            })
            .collect()
    };
    let before = errors(&[]);
    for after in [errors(&["--fix"]), errors(&[])] {
        for ((what, ..), (after, before)) in documents().iter().zip(after.iter().zip(&before)) {
            assert!(after <= before, "{what}");
        }
    }
}

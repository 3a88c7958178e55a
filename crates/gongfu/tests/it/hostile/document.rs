//! A SKILL.md that is anything but a document.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{neighbour_is_well, read_on};
use crate::world::{World, at, codes, text_at};

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
    let good = GOOD;
    vec![
        (
            "binary",
            (0..=255).cycle().take(10_000).collect(),
            false,
            "skill-file-not-text",
        ),
        ("empty", Vec::new(), false, "skill-file-empty"),
        ("blank", b" \n\n\t\n".to_vec(), false, "skill-file-empty"),
        (
            "nul",
            b"---\nname: planted\ndescription: a\0b\n---\nText.\n".to_vec(),
            true,
            "control-characters",
        ),
        (
            "invalid-utf8",
            b"---\nname: planted\ndescription: a \xff\xc0 b\n---\nText.\n".to_vec(),
            true,
            "encoding-invalid",
        ),
        (
            "mark",
            [b"\xef\xbb\xbf".to_vec(), with_frontmatter(good)].concat(),
            true,
            "byte-order-mark",
        ),
        (
            "utf16",
            utf16(&String::from_utf8(with_frontmatter(good)).unwrap()),
            true,
            "encoding-utf16",
        ),
        (
            "hidden",
            with_frontmatter("name: planted\ndescription: \"Grows\u{200b}\u{e0041}.\""),
            true,
            "hidden-characters",
        ),
        (
            "lone-returns",
            b"---\rname: planted\rdescription: Grows.\r---\rText.\r".to_vec(),
            true,
            "",
        ),
    ]
}

/// Frontmatter that is hardly YAML, or far too much of it.
fn yaml() -> Vec<Planted> {
    let good = GOOD;
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for letter in 'b'..='j' {
        let before = char::from(letter as u8 - 1);
        let nine = vec![format!("*{before}"); 9].join(", ");
        let _ = writeln!(laughs, "{letter}: &{letter} [{nine}]");
    }
    let deep = format!(
        "{good}\nmetadata: {}{}",
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    let maps: Vec<String> = (1..150)
        .map(|level| format!("{}k:", " ".repeat(level)))
        .collect();
    let maps = maps.join("\n");
    vec![
        (
            "laughs",
            with_frontmatter(&format!("{good}\n{laughs}")),
            true,
            "yaml-too-many-nodes",
        ),
        ("deep", with_frontmatter(&deep), true, "yaml-"),
        (
            "deep-maps",
            with_frontmatter(&format!("{good}\nmetadata:\n{maps}")),
            true,
            "yaml-too-deep",
        ),
        (
            "cycle",
            with_frontmatter(&format!("{good}\nmetadata: &a\n  b: *a")),
            true,
            "yaml-",
        ),
        (
            "unclosed",
            format!("---\n{good}\n\nText.\n").into_bytes(),
            true,
            "frontmatter-unclosed",
        ),
        (
            "none",
            b"Just text.\n".to_vec(),
            true,
            "frontmatter-missing",
        ),
        (
            "list",
            with_frontmatter("- name\n- planted"),
            true,
            "yaml-not-a-mapping",
        ),
        (
            "twice",
            with_frontmatter(&format!("{good}\nname: planted")),
            true,
            "yaml-duplicate-key",
        ),
        (
            "huge-frontmatter",
            with_frontmatter(&format!(
                "{good}\nmetadata:\n  k: {}",
                "v".repeat(2_000_000)
            )),
            true,
            "frontmatter-too-large",
        ),
        (
            "documents",
            with_frontmatter(&format!("{good}\n...\n%YAML 9.9\n")),
            true,
            "",
        ),
    ]
}

/// Fields that are not what they should be.
fn fields() -> Vec<Planted> {
    vec![
        (
            "slash",
            with_frontmatter("name: a/b\ndescription: Grows."),
            true,
            "name-unusable",
        ),
        (
            "dots",
            with_frontmatter("name: ..\ndescription: Grows."),
            true,
            "name-unusable",
        ),
        (
            "climb",
            with_frontmatter("name: ../../etc/passwd\ndescription: Grows."),
            true,
            "name-unusable",
        ),
        (
            "null",
            with_frontmatter("name: ~\ndescription: Grows."),
            true,
            "name-",
        ),
        (
            "map",
            with_frontmatter("name: {a: b}\ndescription: [c]"),
            true,
            "name-",
        ),
        (
            "long-name",
            with_frontmatter(&format!("name: {}\ndescription: Grows.", "n".repeat(5_000))),
            true,
            "name-unusable",
        ),
        (
            "long",
            with_frontmatter(&format!(
                "name: planted\ndescription: {}",
                "d".repeat(100_000)
            )),
            true,
            "description-too-long",
        ),
        (
            "tags",
            with_frontmatter(
                "name: !!python/object/apply:os.system ['x']\ndescription: !!binary aGk=",
            ),
            true,
            "name-",
        ),
        (
            "anchors",
            with_frontmatter("name: *nowhere\ndescription: Grows."),
            true,
            "yaml-",
        ),
    ]
}

fn documents() -> Vec<Planted> {
    [bytes(), yaml(), fields()].concat()
}

#[test]
fn each_is_judged_and_none_harms_its_neighbour() {
    for (what, bytes, loadable, code) in documents() {
        let world = World::new();
        world.skill("neighbour", "Lives next door.");
        let file = world.write("skills/planted/SKILL.md", &bytes);
        let judged = world
            .gongfu([
                "skill".into(),
                "check".into(),
                "--json".into(),
                world.path("skills/planted"),
            ])
            .run()
            .json();
        let skill = at(&judged, "/skills/0");
        let found = codes(skill);
        assert_eq!(at(skill, "/loadable"), loadable, "{what}: {found:?}");
        assert!(
            code.is_empty() || found.iter().any(|known| known.starts_with(code)),
            "{what}: {found:?}"
        );
        for mode in [
            &["--strict"][..],
            &["--fix", "--dry-run"],
            &["--strict", "--fix", "--dry-run"],
        ] {
            let mut arguments = vec!["skill".into(), "check".into(), world.path("skills/planted")];
            arguments.extend(mode.iter().map(std::path::PathBuf::from));
            world.gongfu(arguments).run();
        }
        assert_eq!(
            std::fs::read(&file).unwrap(),
            bytes,
            "{what}: nobody writes without --fix"
        );
        neighbour_is_well(&world);
        let listed = world.listed();
        let mine = listed
            .iter()
            .find(|skill| text_at(skill, "/path").ends_with("planted"));
        assert_eq!(mine.is_some(), loadable, "{what}");
        if let Some(mine) = mine {
            reachable(
                &world,
                what,
                text_at(mine, "/full_name"),
                text_at(mine, "/name"),
            );
        }
    }
}

/// A skill that is listed can be loaded by both of its names.
fn reachable(world: &World, what: &str, full_name: &str, name: &str) {
    assert!(
        !name.is_empty() && !name.contains('/') && name != "..",
        "{what}: {name}"
    );
    let mut client = world.client();
    for name in [full_name, name] {
        let loaded = client.call("skill_load", json!({ "skill_name": name }));
        assert_ne!(
            loaded.get("isError"),
            Some(&Value::Bool(true)),
            "{what}: {name}: {loaded:#}"
        );
        client.good("skill_read", json!({ "skill_name": name }));
    }
    assert_eq!(client.close().code, Some(0), "{what}");
}

#[test]
fn mending_never_breaks_a_document_more() {
    for (what, bytes, loadable, _) in documents() {
        let world = World::new();
        world.write("skills/planted/SKILL.md", &bytes);
        let errors = |fix: &[&str]| {
            let mut arguments = vec![
                "skill".into(),
                "check".into(),
                "--json".into(),
                world.path("skills/planted"),
            ];
            arguments.extend(fix.iter().map(std::path::PathBuf::from));
            let judged = world.gongfu(arguments).run().json();
            assert_eq!(at(&judged, "/skills/0/loadable"), loadable, "{what}");
            at(&judged, "/summary/errors").as_u64().unwrap()
        };
        let before = errors(&[]);
        assert!(errors(&["--fix"]) <= before, "{what}");
        assert!(errors(&[]) <= before, "{what}");
    }
}

#[test]
fn line_ends_of_every_kind_arrive_as_they_are() {
    let world = World::new();
    let text = "---\r\nname: planted\r\ndescription: Grows.\r\n---\r\n\r\n# One\r\nfirst\r\n# Two\r\nsecond\r\n";
    world.write("skills/planted/SKILL.md", text);
    let mut client = world.client();
    let mut load = |arguments: Value| {
        text_at(&client.good("skill_load", arguments), "/content/0/text").to_owned()
    };
    assert_eq!(load(json!({ "skill_name": "planted" })), text);
    assert_eq!(
        load(json!({ "skill_name": "planted", "section": "One" })),
        "# One\r\nfirst\r\n"
    );
    assert_eq!(
        load(json!({ "skill_name": "planted", "start_line": 7, "end_line": 7 })),
        "first\r\n"
    );
    assert_eq!(
        world.only(["skill", "read", "planted"]).good().stdout,
        text.as_bytes()
    );
}

#[test]
fn a_long_document_is_read_on_to_its_end() {
    let world = World::new();
    let head = "---\nname: long\ndescription: Goes on and on.\n---\n";
    let mut lines = String::new();
    for number in 0..30_000 {
        let _ = writeln!(lines, "line {number}");
    }
    let one = format!("{}é{}", "x".repeat(200_000), "ü".repeat(60_000));
    let crlf = "a line that is ended in two\r\n".repeat(11_000);
    for body in [
        lines,
        one.clone(),
        format!("short\n{one}\nshort\n"),
        crlf,
        "\n".repeat(300_000),
    ] {
        assert!(body.len() >= 300_000, "{}", body.len());
        let whole = format!("{head}{body}");
        world.write("skills/long/SKILL.md", &whole);
        world.write("skills/long/references/copy.md", &whole);
        let mut client = world.client();
        let loaded = read_on(&mut client, "skill_load", &json!({ "skill_name": "long" }));
        assert_eq!((loaded.len(), loaded == whole), (whole.len(), true));
        let copied = read_on(
            &mut client,
            "skill_read",
            &json!({ "skill_name": "long", "path": "references/copy.md" }),
        );
        assert!(copied == whole);
        assert!(world.only(["skill", "read", "long"]).good().text() == whole);
    }
}

#[test]
fn a_file_larger_than_any_answer_is_refused_with_its_size() {
    let world = World::new();
    world.skill("big", "Has large files.");
    world.write("skills/big/huge.bin", vec![0; 5 * 1024 * 1024]);
    world.write("skills/big/huge.txt", vec![b'x'; 17 * 1024 * 1024]);
    let mut client = world.client();
    for path in ["huge.bin", "huge.txt"] {
        let error = client.bad("skill_read", json!({ "skill_name": "big", "path": path }));
        assert_eq!(text_at(&error, "/code"), "FILE_TOO_LARGE", "{path}");
    }
    let listed = client.good("skill_read", json!({ "skill_name": "big" }));
    assert_eq!(at(&listed, "/structuredContent/total"), 3);
    assert_eq!(
        world
            .only(["skill", "read", "big", "huge.txt"])
            .good()
            .stdout
            .len(),
        17 * 1024 * 1024
    );
    world.write("skills/big/SKILL.md", vec![b'x'; 65 * 1024 * 1024]);
    let judged = world
        .gongfu([
            "skill".into(),
            "check".into(),
            "--json".into(),
            world.path("skills/big"),
        ])
        .ends(1)
        .json();
    assert_eq!(codes(at(&judged, "/skills/0")), ["skill-file-too-large"]);
}

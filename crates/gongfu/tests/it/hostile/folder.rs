//! Folders that are too full, too deep, or never the same.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::neighbour_is_well;
use crate::world::{World, at, codes, text_at};

#[test]
fn ten_thousand_files_are_listed_page_by_page() {
    let world = World::new();
    world.skill("many", "Has many files.");
    for number in 0..9_999 {
        let folder = world.path(format!("skills/many/data/{}", number % 10));
        if number < 10 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(folder.join(format!("{number}.txt")), "x").unwrap();
    }
    let listed = world.listed();
    assert_eq!(at(&listed[0], "/files"), 10_000);
    let mut client = world.client();
    let (mut seen, mut after, mut pages) = (BTreeSet::new(), Value::Null, 0);
    loop {
        let page = client.good(
            "skill_read",
            json!({ "skill_name": "many", "after": after }),
        );
        let data = at(&page, "/structuredContent");
        assert_eq!(at(data, "/total"), 10_000);
        for file in at(data, "/files").as_array().unwrap() {
            assert!(
                seen.insert(text_at(file, "/path").to_owned()),
                "{file} comes twice"
            );
        }
        pages += 1;
        match data.get("next") {
            Some(next) => after = next.clone(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 10_000);
    assert!(pages < 100, "{pages} pages");
    let error = client.bad(
        "skill_read",
        json!({ "skill_name": "many", "path": "data/3/nope.txt" }),
    );
    assert!(
        error.to_string().len() < 20_000,
        "an error doesn't list ten thousand names"
    );
    assert_eq!(
        world
            .only(["skill", "read", "many", "data/7/9997.txt"])
            .good()
            .text(),
        "x"
    );
    world.only(["skill", "show", "many"]).good();
    let checked = world.only(["skill", "check", "--json"]).good().json();
    assert!(codes(at(&checked, "/skills/0")).contains(&"files-too-many".to_owned()));
}

#[test]
fn a_folder_that_comes_and_goes_breaks_nothing() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                world.skill("ghost", &format!("Appears for the {round}th time."));
                world.write("skills/ghost/references/a.md", "x".repeat(round % 5_000));
                world.write(
                    "skills/ghost/deep/er/SKILL.md",
                    "---\nname: er\ndescription: Nested.\n---\n\nText.\n",
                );
                let _ = fs::rename(world.path("skills/ghost"), world.path("skills/spirit"));
                let _ = fs::remove_dir_all(world.path("skills/spirit"));
                fs::write(world.path("skills/ghost"), "now a file").unwrap();
                fs::remove_file(world.path("skills/ghost")).unwrap();
            }
        });
        // The thread above has to end whatever is found below.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&world)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    neighbour_is_well(&world);
}

fn look(world: &World) {
    let mut client = world.client();
    for round in 0..300 {
        match round % 5 {
            0 => {
                let listed = world.listed();
                assert!(
                    listed
                        .iter()
                        .any(|skill| text_at(skill, "/name") == "neighbour"),
                    "{listed:?}"
                );
            }
            1 => {
                let checked = world.only(["skill", "check", "--json"]).run();
                assert!(matches!(checked.code, Some(0 | 1)), "{}", checked.stderr);
                assert!(checked.json().to_string().contains("neighbour"));
            }
            2 => {
                let shown = world.only(["skill", "show", "ghost", "--json"]).run();
                assert!(matches!(shown.code, Some(0 | 1)), "{}", shown.stderr);
            }
            3 => {
                let loaded = world
                    .only([
                        "tool",
                        "call",
                        "--json",
                        "skill_read",
                        "skill_name=ghost",
                        "path=references/a.md",
                    ])
                    .run();
                assert!(matches!(loaded.code, Some(0 | 1)), "{}", loaded.stderr);
                let text = loaded.text();
                assert!(!text.contains("INTERNAL"), "{text}");
            }
            _ => {
                for _ in 0..5 {
                    let loaded = client.call("skill_load", json!({ "skill_name": "ghost" }));
                    assert!(!loaded.to_string().contains("INTERNAL"), "{loaded:#}");
                    client.good("skill_load", json!({ "skill_name": "neighbour" }));
                }
            }
        }
    }
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn what_changes_is_seen_within_seconds() {
    let world = World::with_skills();
    let mut client = world.client();
    let mut wait = |what: &str, holds: &dyn Fn(&Value) -> bool| {
        let started = std::time::Instant::now();
        loop {
            let listed = client.good("skill_list", json!({}));
            if holds(at(&listed, "/structuredContent")) {
                return;
            }
            assert!(started.elapsed().as_secs() < 20, "{what}: {listed:#}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    wait("at first", &|page| at(page, "/total") == 2);
    world.skill("new", "Is new.");
    wait("a new skill", &|page| page.to_string().contains("Is new."));
    world.skill("new", "Was new.");
    wait("a changed one", &|page| {
        page.to_string().contains("Was new.")
    });
    fs::rename(world.path("skills/new"), world.path("skills/old")).unwrap();
    wait("a moved one", &|page| {
        page.to_string().contains("skills/old")
    });
    fs::remove_dir_all(world.path("skills/old")).unwrap();
    wait("a removed one", &|page| at(page, "/total") == 2);
    fs::rename(world.path("skills"), world.path("away")).unwrap();
    wait("no folder at all", &|page| at(page, "/total") == 0);
    fs::rename(world.path("away"), world.path("skills")).unwrap();
    wait("the folder again", &|page| at(page, "/total") == 2);
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let world = World::new();
    let file = world.skill("same", "It is this.");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    // Long enough for the index to trust what it has.
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    for _ in 0..2 {
        assert_eq!(text_at(&world.listed()[0], "/description"), "It is this.");
    }
    world.skill("same", "It is that.");
    let written = fs::File::options().write(true).open(&file).unwrap();
    written.set_modified(before).unwrap();
    assert_eq!(text_at(&world.listed()[0], "/description"), "It is that.");
}

#[test]
fn a_deep_tree_is_walked_to_its_limit_and_no_further() {
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    let mut below = String::from("skills/deep");
    for _ in 0..100 {
        below.push_str("/d");
    }
    world.write(
        format!("{below}/SKILL.md"),
        "---\nname: bottom\ndescription: Far down.\n---\n\nText.\n",
    );
    let ran = world.only(["skill", "list", "--json"]).good();
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    assert!(
        ran.stderr.contains("levels deep"),
        "a limit never stops silently: {}",
        ran.stderr
    );
    neighbour_is_well(&world);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_left_out_and_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    world.skill("neighbour", "Lives next door.");
    world.skill("odd", "Has odd names.");
    let odd = |bytes: &[u8]| std::path::PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    for name in [
        &b"skills/odd/\xff\xfe.md"[..],
        b"skills/odd/back\\slash.md",
        b"skills/odd/line\nbreak.md",
        b"skills/odd/\x1b[31m.md",
        b"skills/\xff/SKILL.md",
        b"skills/~/SKILL.md",
        b"skills/C:/SKILL.md",
        b"skills/a:b/SKILL.md",
        b"skills/...md/SKILL.md",
        b"skills/ x /SKILL.md",
    ] {
        world.write(
            odd(name),
            "---\nname: strange\ndescription: Strange.\n---\n\nText.\n",
        );
    }
    let checked = world.only(["skill", "check", "--json"]).run().json();
    let mine = at(&checked, "/skills")
        .as_array()
        .unwrap()
        .iter()
        .find(|skill| text_at(skill, "/path").ends_with("odd"))
        .unwrap();
    assert_eq!(
        codes(mine)
            .iter()
            .filter(|code| *code == "file-name-unusable")
            .count(),
        4,
        "{mine:#}"
    );
    let mut client = world.client();
    for skill in world.listed() {
        let loaded = client.good(
            "skill_load",
            json!({ "skill_name": text_at(&skill, "/full_name") }),
        );
        assert!(text_at(&loaded, "/content/0/text").starts_with("---"));
    }
    let listed = client.good("skill_read", json!({ "skill_name": "odd" }));
    assert_eq!(at(&listed, "/structuredContent/total"), 1);
    neighbour_is_well(&world);
    // A folder of skills that itself has no textual name.
    let root = world.path(odd(b"ro\xffot"));
    fs::create_dir_all(root.join("a")).unwrap();
    fs::write(
        root.join("a/SKILL.md"),
        "---\nname: a\ndescription: A.\n---\n\nText.\n",
    )
    .unwrap();
    let run = world.gongfu([
        std::ffi::OsString::from("skill"),
        "list".into(),
        "--json".into(),
        "--no-default-dirs".into(),
        "--skills-dir".into(),
        root.into(),
    ]);
    assert_eq!(run.good().json().as_array().unwrap().len(), 1);
}

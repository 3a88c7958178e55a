//! Folders that are too full, too deep, or never the same.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use gongfu_testing::json::{at, codes, list_at, text_at};
use serde_json::json;

use super::neighbour_is_well;
use crate::fixture::Fixture;

#[test]
fn changing_folder_breaks_no_command() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                fixture.skill("ghost", &format!("Appears for the {round}th time."));
                fixture.write("skills/ghost/references/a.md", "x".repeat(round % 5_000));
                fixture.write(
                    "skills/ghost/deep/er/SKILL.md",
                    "---\nname: er\ndescription: Nested.\n---\n\nText.\n",
                );
                let _ = fs::rename(fixture.path("skills/ghost"), fixture.path("skills/spirit"));
                let _ = fs::remove_dir_all(fixture.path("skills/spirit"));
                fs::write(fixture.path("skills/ghost"), "now a file").unwrap();
                fs::remove_file(fixture.path("skills/ghost")).unwrap();
            }
        });
        // The thread above has to end whatever is found below.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&fixture)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    neighbour_is_well(&fixture);
}

fn look(fixture: &Fixture) {
    let mut client = fixture.client();
    for round in 0..300 {
        match round % 5 {
            0 => {
                let listed = fixture.listed();
                assert!(
                    listed
                        .iter()
                        .any(|skill| text_at(skill, "/name") == "neighbour"),
                    "{listed:?}"
                );
            }
            1 => {
                let checked = fixture.only(["skill", "check", "--json"]).run();
                assert!(matches!(checked.code, Some(0 | 1)), "{}", checked.stderr);
                assert!(checked.json().to_string().contains("neighbour"));
            }
            2 => {
                let shown = fixture.only(["skill", "show", "ghost", "--json"]).run();
                assert!(matches!(shown.code, Some(0 | 1)), "{}", shown.stderr);
            }
            3 => {
                let loaded = fixture
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
fn depth_limit_is_reported() {
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    let mut below = String::from("skills/deep");
    for _ in 0..100 {
        below.push_str("/d");
    }
    fixture.write(
        format!("{below}/SKILL.md"),
        "---\nname: bottom\ndescription: Far down.\n---\n\nText.\n",
    );
    let ran = fixture.only(["skill", "list", "--json"]).good();
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    assert!(
        ran.stderr.contains("levels deep"),
        "a limit never stops silently: {}",
        ran.stderr
    );
    neighbour_is_well(&fixture);
}

#[cfg(target_os = "linux")]
#[test]
fn file_names_that_are_no_text_are_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = Fixture::new();
    fixture.skill("neighbour", "Lives next door.");
    fixture.skill("odd", "Has odd names.");
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
        fixture.write(
            odd(name),
            "---\nname: strange\ndescription: Strange.\n---\n\nText.\n",
        );
    }
    let checked = fixture.only(["skill", "check", "--json"]).run().json();
    let mine = list_at(&checked, "/skills")
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
    let mut client = fixture.client();
    for skill in fixture.listed() {
        let loaded = client.good(
            "skill_load",
            json!({ "skill_name": text_at(&skill, "/full_name") }),
        );
        assert!(text_at(&loaded, "/content/0/text").starts_with("---"));
    }
    let listed = client.good("skill_read", json!({ "skill_name": "odd" }));
    assert_eq!(at(&listed, "/structuredContent/total"), 1);
    neighbour_is_well(&fixture);
    // A folder of skills that itself has no textual name.
    let root = fixture.path(odd(b"ro\xffot"));
    fs::create_dir_all(root.join("a")).unwrap();
    fs::write(
        root.join("a/SKILL.md"),
        "---\nname: a\ndescription: A.\n---\n\nText.\n",
    )
    .unwrap();
    let run = fixture.gongfu([
        std::ffi::OsString::from("skill"),
        "list".into(),
        "--json".into(),
        "--no-default-dirs".into(),
        "--skills-dir".into(),
        root.into(),
    ]);
    assert_eq!(run.good().json().as_array().unwrap().len(), 1);
}

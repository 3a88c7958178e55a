//! There and back: what is entered, and that nothing is left behind.

use std::fs;

use serde_json::{Value, json};

use super::{CASES, install, shown, uninstall};
use crate::world::{World, at};

#[test]
fn install_shows_its_change_and_uninstall_leaves_nothing_behind() {
    let mut diffs = String::new();
    for case in &CASES {
        for how in [&["--stdio"][..], &["--http"][..]] {
            let scope = ["--scope", case.scope];
            let world = World::new();
            fs::create_dir(world.path("project/.git")).unwrap();
            let path = world.write(case.file, case.text);
            let wanted = [&scope[..], how].concat();
            if case.name == "claude-desktop" && how == ["--http"] {
                continue;
            }
            let dry = install(&world, case.name, &[&wanted[..], &["--dry-run"]].concat());
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                case.text,
                "{}",
                case.name
            );
            assert!(!world.path("home/clients").exists());
            diffs += &["==> ", case.name, " ", &wanted.join(" "), "\n"].concat();
            diffs += &shown(&world, &dry.text());

            let said = install(&world, case.name, &wanted).text();
            assert!(
                said.contains("added") && said.contains("as it was: "),
                "{said}"
            );
            let installed = fs::read_to_string(&path).unwrap();
            let backups: Vec<_> = fs::read_dir(world.path("home/clients"))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|end| end == "bak"))
                .collect();
            assert_eq!(backups.len(), 1);
            assert_eq!(fs::read_to_string(&backups[0]).unwrap(), case.text);

            let again = install(&world, case.name, &wanted).text();
            assert!(again.contains("already there"), "{again}");
            assert_eq!(fs::read_to_string(&path).unwrap(), installed);

            let said = uninstall(&world, case.name, &scope).text();
            assert!(said.contains("removed"), "{said}");
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                case.text,
                "{}",
                case.name
            );
            let said = uninstall(&world, case.name, &scope).text();
            assert!(said.contains("not there"), "{said}");

            // The same with somebody's edit in between, with and without a record.
            for record in [true, false] {
                install(&world, case.name, &wanted);
                let edited = |text: &str| {
                    text.replacen(case.edit.0, &[case.edit.0, case.edit.1].concat(), 1)
                };
                fs::write(&path, edited(&fs::read_to_string(&path).unwrap())).unwrap();
                if !record {
                    fs::remove_dir_all(world.path("home/clients")).unwrap();
                }
                uninstall(&world, case.name, &scope);
                let left = fs::read_to_string(&path).unwrap();
                if record {
                    assert_eq!(left, edited(case.text), "{} {}", case.name, case.scope);
                }
                assert!(!left.contains("gongfu"), "{left}");
                fs::write(&path, case.text).unwrap();
            }
        }
    }
    insta::assert_snapshot!(diffs);
}

#[test]
fn a_file_that_was_not_there_is_made_and_goes_again() {
    let world = World::new();
    for case in &CASES {
        let scope = ["--scope", case.scope];
        install(&world, case.name, &scope);
        let path = world.path(case.file.replace("opencode.jsonc", "opencode.json"));
        assert!(path.is_file(), "{}", case.name);
        uninstall(&world, case.name, &scope);
        assert!(!path.exists(), "{}", case.name);
    }
    let left = |folder: &str| fs::read_dir(world.path(folder)).unwrap().count();
    assert_eq!(
        (left("user"), left("project")),
        (0, 0),
        "folders that were made are gone, too"
    );

    // An empty one, and one with a comment alone, are there before and after.
    for (name, file, text) in [
        ("cursor", "user/.cursor/mcp.json", ""),
        ("zed", "user/.config/zed/settings.json", "// none\n"),
        ("codex", "user/.codex/config.toml", "# none"),
        ("goose", "user/.config/goose/config.yaml", "# none\n"),
    ] {
        world.write(file, text);
        install(&world, name, &[]);
        uninstall(&world, name, &[]);
        assert_eq!(world.read(file), text, "{name}");
    }

    // What somebody put into a file that was made stays.
    install(&world, "vscode", &[]);
    let file = "user/.config/Code/User/mcp.json";
    let text = world
        .read(file)
        .replace("{\n  \"servers\"", "{\n  \"inputs\": [],\n  \"servers\"");
    world.write(file, text);
    uninstall(&world, "vscode", &[]);
    assert_eq!(world.read(file), "{\n  \"inputs\": []\n}\n");
}

#[test]
fn null_is_a_place_without_entries() {
    let world = World::new();
    for (name, file, text) in [
        (
            "cursor",
            "user/.cursor/mcp.json",
            "{\n  \"mcpServers\": null, // none\n  \"z\": 1\n}\n",
        ),
        (
            "opencode",
            "user/.config/opencode/opencode.json",
            "{\"mcp\":null}",
        ),
        ("goose", "user/.config/goose/config.yaml", "extensions:\n"),
        ("goose", "user/.config/goose/config.yaml", "extensions: "),
        (
            "goose",
            "user/.config/goose/config.yaml",
            "a: 1\r\nextensions:  null  # none\r\n\r\nz: 1\r\n",
        ),
    ] {
        world.write(file, text);
        // The way back is the same for a file that was changed in between.
        for edit in ["", "\n"] {
            let said = install(&world, name, &[]).text();
            assert!(said.contains("added"), "{said}");
            let now = world.read(file);
            world.write(file, format!("{now}{edit}"));
            uninstall(&world, name, &[]);
            assert_eq!(world.read(file), format!("{text}{edit}"), "through {now}");
            world.write(file, text);
        }
    }
}

#[test]
fn what_uninstall_calls_removed_is_removed() {
    let world = World::new();
    let file = "user/.cursor/mcp.json";
    // Entered by hand, then brought up to date.
    world.write(
        file,
        "{\"mcpServers\":{\"gongfu\":{\"type\":\"stdio\",\"command\":\"gongfu\",\"args\":[\"mcp\"],\"env\":{\"A\":\"b\"}}}}",
    );
    install(&world, "cursor", &[]);
    let said = uninstall(&world, "cursor", &[]).text();
    assert!(said.contains("removed"), "{said}");
    assert!(!world.read(file).contains("gongfu"), "{}", world.read(file));
    // Somebody else's entry comes back, whether the file was edited in between or not.
    let other = "{\"mcpServers\":{\"gongfu\":{\"command\":\"/opt/other\"}}}";
    for edit in ["", "\"more\":1,"] {
        world.write(file, other);
        install(&world, "cursor", &["--force"]);
        let edited = world.read(file).replacen('{', &format!("{{{edit}"), 1);
        world.write(file, &edited);
        let said = uninstall(&world, "cursor", &[]).text();
        assert!(said.contains("restored"), "{said}");
        let now: Value = serde_json::from_str(&world.read(file)).unwrap();
        assert_eq!(
            at(&now, "/mcpServers/gongfu"),
            &json!({ "command": "/opt/other" })
        );
    }
}

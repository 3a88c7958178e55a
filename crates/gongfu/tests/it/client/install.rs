//! Install and uninstall on files of every client: the entry comes and goes, all else stays.

use std::fs;

use serde_json::{Value, json};

use super::{CASES, install, shown, uninstall};
use crate::world::{World, at};

#[test]
fn diff_shows_only_the_entry() {
    let mut diffs = String::new();
    for case in &CASES {
        for transport in ["--stdio", "--http"] {
            if (case.name, transport) == ("claude-desktop", "--http") {
                continue;
            }
            let world = World::new();
            fs::create_dir(world.path("project/.git")).unwrap();
            world.write(case.file, case.text);
            let wanted = ["--scope", case.scope, transport];
            let diff = install(&world, case.name, &[&wanted[..], &["--dry-run"]].concat());
            assert_eq!(world.read(case.file), case.text, "{}", case.name);
            assert!(!world.path("home/clients").exists());
            diffs += &["==> ", case.name, " ", &wanted.join(" "), "\n"].concat();
            diffs += &shown(&world, &diff.text());
        }
    }
    insta::assert_snapshot!(diffs);
}

#[test]
fn uninstall_restores_an_untouched_file_byte_for_byte() {
    for case in &CASES {
        let scope = ["--scope", case.scope];
        let world = World::new();
        fs::create_dir(world.path("project/.git")).unwrap();
        world.write(case.file, case.text);

        let said = install(&world, case.name, &scope).text();
        let has_backup = said.contains("as it was: ");
        assert!(said.contains("added") && has_backup, "{said}");
        let installed = world.read(case.file);
        let backups: Vec<_> = fs::read_dir(world.path("home/clients"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "bak"))
            .collect();
        assert_eq!(backups.len(), 1);
        assert_eq!(fs::read_to_string(&backups[0]).unwrap(), case.text);

        let said = install(&world, case.name, &scope).text();
        assert!(said.contains("already there"), "{said}");
        assert_eq!(world.read(case.file), installed);

        let said = uninstall(&world, case.name, &scope).text();
        assert!(said.contains("removed"), "{said}");
        assert_eq!(world.read(case.file), case.text, "{}", case.name);
        let said = uninstall(&world, case.name, &scope).text();
        assert!(said.contains("not there"), "{said}");
    }
}

#[test]
fn uninstall_from_an_edited_file_removes_only_the_entry() {
    for case in &CASES {
        for has_backup in [true, false] {
            let scope = ["--scope", case.scope];
            let world = World::new();
            fs::create_dir(world.path("project/.git")).unwrap();
            world.write(case.file, case.text);
            install(&world, case.name, &scope);
            let edit = |text: &str| {
                let (place, addition) = case.edit;
                text.replacen(place, &[place, addition].concat(), 1)
            };
            world.write(case.file, edit(&world.read(case.file)));
            if !has_backup {
                fs::remove_dir_all(world.path("home/clients")).unwrap();
            }
            uninstall(&world, case.name, &scope);
            let left = world.read(case.file);
            assert!(!left.contains("gongfu"), "{left}");
            // The name around the entry may stay, empty.
            let mut left_words = words(&left);
            let all_kept = words(&edit(case.text)).all(|word| left_words.any(|left| left == word));
            assert!(all_kept, "{}: {left}", case.name);
        }
    }
}

/// Everything but white space and punctuation.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

#[test]
fn uninstall_deletes_a_file_that_install_created() {
    let world = World::new();
    for case in &CASES {
        let scope = ["--scope", case.scope];
        install(&world, case.name, &scope);
        let path = world.path(case.file.replace("opencode.jsonc", "opencode.json"));
        assert!(path.is_file(), "{}", case.name);
        uninstall(&world, case.name, &scope);
        assert!(!path.exists(), "{}", case.name);
    }
    for folder in ["user", "project"] {
        let left = fs::read_dir(world.path(folder)).unwrap().count();
        assert_eq!(left, 0, "created folders are gone, too");
    }

    // A person's edit keeps the file.
    install(&world, "vscode", &[]);
    let file = "user/.config/Code/User/mcp.json";
    let edited = world.read(file).replacen('{', "{\n  // mine", 1);
    world.write(file, edited);
    uninstall(&world, "vscode", &[]);
    assert_eq!(world.read(file), "{\n  // mine\n  \"servers\": {}\n}\n");
}

#[test]
fn empty_and_null_files_take_an_entry() {
    let world = World::new();
    for (name, file, text) in [
        ("cursor", "user/.cursor/mcp.json", ""),
        ("cursor", "user/.cursor/mcp.json", "{\"mcpServers\":null}"),
        ("zed", "user/.config/zed/settings.json", "// none\n"),
        ("codex", "user/.codex/config.toml", "# none"),
        ("goose", "user/.config/goose/config.yaml", "# none\n"),
        ("goose", "user/.config/goose/config.yaml", "extensions: "),
        (
            "goose",
            "user/.config/goose/config.yaml",
            "a: 1\r\nextensions:  null  # none\r\n\r\nz: 1\r\n",
        ),
    ] {
        world.write(file, text);
        let said = install(&world, name, &[]).text();
        assert!(said.contains("added"), "{said}");
        let status = world.gongfu(["client", "status", name]).good().text();
        assert!(status.contains("stdio"), "{status}");
        uninstall(&world, name, &[]);
        assert_eq!(world.read(file), text, "{name}");
    }
}

#[test]
fn uninstall_removes_an_entry_made_by_hand() {
    let world = World::new();
    let file = "user/.cursor/mcp.json";
    let by_hand = json!({ "command": "gongfu", "args": ["mcp"], "env": { "A": "b" } });
    world.write(
        file,
        json!({ "mcpServers": { "gongfu": by_hand } }).to_string(),
    );
    install(&world, "cursor", &[]);
    let said = uninstall(&world, "cursor", &[]).text();
    assert!(said.contains("removed"), "{said}");
    assert!(!world.read(file).contains("gongfu"), "{}", world.read(file));
}

#[test]
fn uninstall_restores_an_entry_that_was_replaced() {
    let world = World::new();
    let file = "user/.cursor/mcp.json";
    let other = "{\"mcpServers\":{\"gongfu\":{\"command\":\"/opt/other\"}}}";
    for edit in ["", "\"more\":1,"] {
        world.write(file, other);
        install(&world, "cursor", &["--force"]);
        let edited = world.read(file).replacen('{', &format!("{{{edit}"), 1);
        world.write(file, &edited);
        let said = uninstall(&world, "cursor", &[]).text();
        assert!(said.contains("restored"), "{said}");
        let now: Value = serde_json::from_str(&world.read(file)).unwrap();
        let entry = at(&now, "/mcpServers/gongfu");
        assert_eq!(entry, &json!({ "command": "/opt/other" }));
    }
}

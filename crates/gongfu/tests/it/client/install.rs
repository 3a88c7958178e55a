//! Install and uninstall on files of every client: the entry comes and goes, all else stays.

use std::fs;

use gongfu_testing::json::at;
use serde_json::{Value, json};

use super::{CASES, install, shown, uninstall};
use crate::fixture::Fixture;

#[test]
fn diff_shows_only_the_entry() {
    let mut diffs = String::new();
    for case in &CASES {
        for transport in ["--stdio", "--http"] {
            if (case.name, transport) == ("claude-desktop", "--http") {
                continue;
            }
            let fixture = Fixture::new();
            fs::create_dir(fixture.path("project/.git")).unwrap();
            fixture.write(case.file, case.text);
            let wanted = ["--scope", case.scope, transport];
            let diff = install(&fixture, case.name, &[&wanted[..], &["--dry-run"]].concat());
            assert_eq!(fixture.read(case.file), case.text, "{}", case.name);
            assert!(!fixture.path("home/clients").exists());
            diffs += &["==> ", case.name, " ", &wanted.join(" "), "\n"].concat();
            diffs += &shown(&fixture, &diff.text());
        }
    }
    insta::assert_snapshot!(diffs);
}

#[test]
fn uninstall_restores_an_untouched_file_byte_for_byte() {
    for case in &CASES {
        let scope = ["--scope", case.scope];
        let fixture = Fixture::new();
        fs::create_dir(fixture.path("project/.git")).unwrap();
        fixture.write(case.file, case.text);

        let said = install(&fixture, case.name, &scope).text();
        let has_backup = said.contains("backup: ");
        assert!(said.contains("added") && has_backup, "{said}");
        let installed = fixture.read(case.file);
        let backups: Vec<_> = fs::read_dir(fixture.path("home/clients"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "bak"))
            .collect();
        assert_eq!(backups.len(), 1);
        assert_eq!(fs::read_to_string(&backups[0]).unwrap(), case.text);

        let said = install(&fixture, case.name, &scope).text();
        assert!(said.contains("already added"), "{said}");
        assert_eq!(fixture.read(case.file), installed);

        let said = uninstall(&fixture, case.name, &scope).text();
        assert!(said.contains("removed"), "{said}");
        assert_eq!(fixture.read(case.file), case.text, "{}", case.name);
        let said = uninstall(&fixture, case.name, &scope).text();
        assert!(said.contains("not configured"), "{said}");
    }
}

#[test]
fn uninstall_from_an_edited_file_removes_only_the_entry() {
    for case in &CASES {
        for has_backup in [true, false] {
            let scope = ["--scope", case.scope];
            let fixture = Fixture::new();
            fs::create_dir(fixture.path("project/.git")).unwrap();
            fixture.write(case.file, case.text);
            install(&fixture, case.name, &scope);
            let edit = |text: &str| {
                let (place, addition) = case.edit;
                text.replacen(place, &[place, addition].concat(), 1)
            };
            fixture.write(case.file, edit(&fixture.read(case.file)));
            if !has_backup {
                fs::remove_dir_all(fixture.path("home/clients")).unwrap();
            }
            uninstall(&fixture, case.name, &scope);
            let left = fixture.read(case.file);
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
    let fixture = Fixture::new();
    for case in &CASES {
        let scope = ["--scope", case.scope];
        install(&fixture, case.name, &scope);
        let path = fixture.path(case.file.replace("opencode.jsonc", "opencode.json"));
        assert!(path.is_file(), "{}", case.name);
        uninstall(&fixture, case.name, &scope);
        assert!(!path.exists(), "{}", case.name);
    }
    for folder in ["user", "project"] {
        let left = fs::read_dir(fixture.path(folder)).unwrap().count();
        assert_eq!(left, 0, "created folders are gone, too");
    }

    // A person's edit keeps the file.
    install(&fixture, "vscode", &[]);
    let file = "user/.config/Code/User/mcp.json";
    let edited = fixture.read(file).replacen('{', "{\n  // mine", 1);
    fixture.write(file, edited);
    uninstall(&fixture, "vscode", &[]);
    assert_eq!(fixture.read(file), "{\n  // mine\n  \"servers\": {}\n}\n");
}

#[test]
fn empty_and_null_files_take_an_entry() {
    let fixture = Fixture::new();
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
        fixture.write(file, text);
        let said = install(&fixture, name, &[]).text();
        assert!(said.contains("added"), "{said}");
        let status = fixture.gongfu(["client", "status", name]).good().text();
        assert!(status.contains("stdio"), "{status}");
        uninstall(&fixture, name, &[]);
        assert_eq!(fixture.read(file), text, "{name}");
    }
}

#[test]
fn uninstall_removes_an_entry_made_by_hand() {
    let fixture = Fixture::new();
    let file = "user/.cursor/mcp.json";
    let by_hand = json!({ "command": "gongfu", "args": ["mcp"], "env": { "A": "b" } });
    fixture.write(
        file,
        json!({ "mcpServers": { "gongfu": by_hand } }).to_string(),
    );
    install(&fixture, "cursor", &[]);
    let said = uninstall(&fixture, "cursor", &[]).text();
    assert!(said.contains("removed"), "{said}");
    assert!(
        !fixture.read(file).contains("gongfu"),
        "{}",
        fixture.read(file)
    );
}

#[test]
fn uninstall_restores_an_entry_that_was_replaced() {
    let fixture = Fixture::new();
    let file = "user/.cursor/mcp.json";
    let other = "{\"mcpServers\":{\"gongfu\":{\"command\":\"/opt/other\"}}}";
    for edit in ["", "\"more\":1,"] {
        fixture.write(file, other);
        install(&fixture, "cursor", &["--force"]);
        let edited = fixture.read(file).replacen('{', &format!("{{{edit}"), 1);
        fixture.write(file, &edited);
        let said = uninstall(&fixture, "cursor", &[]).text();
        assert!(said.contains("restored"), "{said}");
        let now: Value = serde_json::from_str(&fixture.read(file)).unwrap();
        let entry = at(&now, "/mcpServers/gongfu");
        assert_eq!(entry, &json!({ "command": "/opt/other" }));
    }
}

//! `gongfu uninstall`, with clients and a home as a person has them.

use std::fs;

use crate::fixture::Fixture;

/// A client's file with another server in it, and a project's.
const FILES: [(&str, &str); 3] = [
    (
        "user/.cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"x\" } // mine\n  }\n}\n",
    ),
    ("user/.codex/config.toml", "# mine\nmodel = \"x\"\n"),
    ("project/.mcp.json", "{ \"mcpServers\": {} }\n"),
];

fn installed() -> Fixture {
    let fixture = Fixture::with_skills();
    for (file, text) in FILES {
        fixture.write(file, text);
    }
    fixture.gongfu(["init", "--offline"]).good();
    fixture
        .gongfu(["client", "install", "cursor", "codex"])
        .good();
    fixture
        .gongfu(["client", "install", "claude-code", "--scope", "project"])
        .good();
    fixture.write(
        "home/skills/mine/SKILL.md",
        "---\nname: mine\ndescription: x\n---\nx\n",
    );
    fixture
}

#[test]
fn uninstall_removes_every_entry_and_the_home() {
    let fixture = installed();
    let plan = fixture.gongfu(["uninstall", "--dry-run"]).good().text();
    assert!(
        plan.contains("would remove the Cursor entry") && plan.contains("with your skills"),
        "{plan}"
    );
    assert!(fixture.path("home/skills/mine/SKILL.md").exists());

    let said = fixture.gongfu(["uninstall", "--yes"]).good().text();
    for (file, text) in FILES {
        assert_eq!(fixture.read(file), text);
    }
    assert!(!fixture.path("home").exists(), "{said}");
    assert!(
        said.contains(env!("CARGO_BIN_EXE_gongfu")) && said.contains("a build of the sources"),
        "{said}"
    );
    // Nothing is left to remove.
    let again = fixture.gongfu(["uninstall", "--yes"]).good().text();
    assert!(!again.contains("removed"), "{again}");
}

#[test]
fn uninstall_without_a_terminal_needs_a_yes() {
    let fixture = installed();
    let refused = fixture.gongfu(["uninstall"]).ends(2);
    assert!(refused.stderr.contains("NO_TERMINAL") && refused.stderr.contains("--yes"));
    assert!(fixture.path("home/skills/mine/SKILL.md").exists());
    fixture.gongfu(["client", "status", "cursor"]).good();
}

#[test]
fn uninstall_leaves_what_others_own() {
    let fixture = installed();
    // Another program's entry, a broken file, a file in the home that is not gongfu's.
    let foreign = "{\"mcpServers\": {\"gongfu\": {\"command\": \"other\"}}}";
    fixture.write("user/.codeium/windsurf/mcp_config.json", foreign);
    fixture.write("user/.gemini/settings.json", "{");
    fixture.write("home/notes.txt", "mine");
    let said = fixture.gongfu(["uninstall", "--yes"]).ends(1);
    assert!(said.stderr.contains("settings.json"), "{}", said.stderr);
    assert!(
        said.text().contains("gongfu did not create notes.txt"),
        "{}",
        said.text()
    );
    assert_eq!(
        fixture.read("user/.codeium/windsurf/mcp_config.json"),
        foreign
    );
    assert_eq!(fixture.read("home/notes.txt"), "mine");
    assert_eq!(fs::read_dir(fixture.path("home")).unwrap().count(), 1);
    assert_eq!(fixture.read(FILES[0].0), FILES[0].1);
}

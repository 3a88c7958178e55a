//! `gongfu init` and `gongfu doctor`: the first minutes, and the bad ones.

use std::fs;

use serde_json::Value;

use crate::world::{World, at, keys, text_at};

/// The check of this name.
fn check<'a>(checks: &'a Value, id: &str) -> &'a Value {
    let all = checks.as_array().unwrap();
    all.iter()
        .find(|check| text_at(check, "/id") == id)
        .unwrap_or_else(|| panic!("no check `{id}` in {checks:#}"))
}

fn status<'a>(checks: &'a Value, id: &str) -> &'a str {
    text_at(check(checks, id), "/status")
}

#[test]
fn init_can_be_repeated() {
    let world = World::with_skills();
    let first = world.only(["init", "--offline"]).good().text();
    assert!(
        first.contains("(made)") && first.contains("\"mcpServers\""),
        "{first}"
    );
    assert!(
        first.contains("skills") && first.contains(world.path("home").to_str().unwrap()),
        "{first}"
    );
    fs::write(world.path("home/config.toml"), "# mine\n").unwrap();
    world.only(["skill", "disable", "pdf-tools"]).good();
    let switches = world.read("home/switches.json");
    let second = world.only(["init", "--offline"]).good().text();
    assert!(second.contains("(there already)"), "{second}");
    assert_eq!(first.replace("(made)", "(there already)"), second);
    assert_eq!(
        (
            world.read("home/config.toml").as_str(),
            world.read("home/switches.json")
        ),
        ("# mine\n", switches)
    );
    let snippet = second.split_once("configuration:\n").unwrap().1;
    let snippet: Value = serde_json::from_str(snippet).unwrap();
    assert_eq!(
        at(&snippet, "/mcpServers/gongfu/args"),
        &serde_json::json!(["mcp"])
    );
    assert_eq!(
        text_at(&snippet, "/mcpServers/gongfu/command"),
        env!("CARGO_BIN_EXE_gongfu")
    );
}

#[test]
fn init_finds_the_clients() {
    let world = World::new();
    assert!(
        world
            .gongfu(["init", "--offline"])
            .good()
            .text()
            .contains("none of those that gongfu knows")
    );
    world.write("user/.cursor/mcp.json", "{}");
    world.write("user/.codex/config.toml", "");
    let before = fs::read_dir(world.path("user/.cursor")).unwrap().count();
    let said = world.gongfu(["init", "--offline"]).good().text();
    assert!(said.contains("Cursor") && said.contains("Codex"), "{said}");
    assert_eq!(
        fs::read_dir(world.path("user/.cursor")).unwrap().count(),
        before,
        "other programs' files are only looked at"
    );
    assert_eq!(world.read("user/.cursor/mcp.json"), "{}");
}

#[test]
fn a_healthy_doctor_says_ok() {
    let world = World::with_skills();
    let checks = world.only(["doctor", "--json"]).good().json();
    for check in checks.as_array().unwrap() {
        assert_eq!(keys(check), ["fix", "id", "message", "status"]);
        let well = text_at(check, "/status") == "ok";
        assert_eq!(text_at(check, "/fix").is_empty(), well, "{check:#}");
    }
    for id in ["version", "home", "handles", "config", "switches", "skills"] {
        assert_eq!(status(&checks, id), "ok", "{checks:#}");
    }
    let words = world.only(["doctor"]).good().text();
    assert!(words.starts_with("ok "), "{words}");
    let left: Vec<_> = fs::read_dir(world.path("home"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn damaged_switches_are_told_and_never_guessed_about() {
    let world = World::with_skills();
    for damaged in [
        "{\"disabled\": [",
        "",
        "[]",
        "{\"disabled\": [1]}",
        "{\"off\": []}",
    ] {
        let file = world.write("home/switches.json", damaged);
        let checks = world.only(["doctor", "--json"]).ends(1).json();
        assert_eq!(status(&checks, "switches"), "fail", "{damaged}: {checks:#}");
        assert!(
            text_at(check(&checks, "switches"), "/message").contains("switches.json"),
            "{checks:#}"
        );
        assert!(!text_at(check(&checks, "switches"), "/fix").is_empty());
        let listed = world.only(["skill", "list"]).ends(1);
        assert!(
            listed.stdout.is_empty() && listed.stderr.contains("switches.json"),
            "{}",
            listed.stderr
        );
        world.only(["skill", "disable", "pdf-tools"]).ends(1);
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
        let error = world.client().bad("skill_list", serde_json::json!({}));
        assert_eq!(text_at(&error, "/code"), "UNAVAILABLE");
    }
}

#[test]
fn bad_settings_are_told_with_their_line() {
    let world = World::with_skills();
    for (settings, line) in [
        ("skills_dirs = []\n\n[discovery]\nhoem = false\n", "line 4"),
        ("skills_dirs = 1\n", "line 1"),
        ("\n\nskills_dirs = [\n", "line "),
        ("[discovery]\nhome = \"yes\"\n", "line 2"),
    ] {
        world.write("home/config.toml", settings);
        let checks = world.only(["doctor", "--json"]).ends(1).json();
        assert_eq!(status(&checks, "config"), "fail", "{settings}: {checks:#}");
        let message = text_at(check(&checks, "config"), "/message");
        assert!(
            message.contains("config.toml") && message.contains(line),
            "{settings}: {message}"
        );
        let listed = world.only(["skill", "list"]).ends(1);
        assert!(
            listed.stderr.contains(line) && listed.stderr.starts_with("error: "),
            "{}",
            listed.stderr
        );
    }
    world.write("home/config.toml", b"\xff\xfe");
    assert_eq!(
        status(&world.only(["doctor", "--json"]).ends(1).json(), "config"),
        "fail"
    );
}

#[test]
fn a_home_that_cannot_be_written_is_told_and_skills_still_read() {
    let world = World::with_skills();
    // Not even root can make a folder there.
    let nowhere = "/proc/gongfu-home";
    let checks = world
        .only(["doctor", "--json"])
        .with("GONGFU_HOME", nowhere)
        .ends(1)
        .json();
    assert_eq!(status(&checks, "home"), "fail", "{checks:#}");
    assert!(text_at(check(&checks, "home"), "/fix").contains("GONGFU_HOME"));
    let listed = world
        .only(["skill", "list", "--json"])
        .with("GONGFU_HOME", nowhere)
        .good()
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let loaded = world
        .only(["tool", "call", "skill_load", "skill_name=pdf-tools"])
        .with("GONGFU_HOME", nowhere)
        .good();
    assert!(loaded.text().contains("# PDF tools"));
    let disabled = world
        .only(["skill", "disable", "pdf-tools"])
        .with("GONGFU_HOME", nowhere)
        .ends(1);
    assert!(
        disabled.stderr.contains("the audit can't be written"),
        "{}",
        disabled.stderr
    );
    let init = world
        .only(["init", "--offline"])
        .with("GONGFU_HOME", nowhere)
        .ends(1);
    assert!(init.stderr.contains("GONGFU_HOME"), "{}", init.stderr);
    let with_built_in = world
        .gongfu(["skill", "list"])
        .with("GONGFU_HOME", nowhere)
        .good();
    assert!(
        with_built_in.stderr.contains("built-in"),
        "{}",
        with_built_in.stderr
    );
}

#[test]
fn a_file_in_the_home_s_place_is_told() {
    let world = World::with_skills();
    world.write("file", "x");
    let checks = world
        .only(["doctor", "--json"])
        .with("GONGFU_HOME", world.path("file"))
        .ends(1)
        .json();
    assert_eq!(status(&checks, "home"), "fail", "{checks:#}");
    assert_eq!(world.read("file"), "x");
    // A server would find out only when somebody calls it.
    for home in ["file", "file/home"] {
        for command in [&["serve", "--listen", ":0"][..], &["mcp"]] {
            let run = world.only(command).with("GONGFU_HOME", world.path(home));
            let ran = run.ends(1);
            let told = ["HOME_UNUSABLE", "is no folder; set GONGFU_HOME"];
            assert!(
                ran.text().is_empty() && told.iter().all(|told| ran.stderr.contains(told)),
                "{}",
                ran.stderr
            );
            let path = world.path(home).display().to_string();
            assert!(ran.stderr.contains(&path), "{}", ran.stderr);
        }
    }
    assert_eq!(world.read("file"), "x");
}

#[test]
fn doctor_counts_what_is_wrong_with_the_skills() {
    let world = World::with_skills();
    world.write("skills/bad/SKILL.md", "no frontmatter\n");
    world.write("skills/dead/SKILL.md", b"\0\0\0");
    world.write(
        "skills/twin/release-notes/SKILL.md",
        "---\nname: release-notes\ndescription: Another.\n---\n\nText.\n",
    );
    let checks = world.only(["doctor", "--json"]).good().json();
    for id in ["format", "names", "left-out"] {
        assert_eq!(status(&checks, id), "warn", "{id}");
    }
    assert!(text_at(check(&checks, "left-out"), "/message").contains("dead"));
    let missing = world
        .gongfu([
            "doctor",
            "--json",
            "--no-default-dirs",
            "--skills-dir",
            "/nowhere/at/all",
        ])
        .good()
        .json();
    assert_eq!(status(&missing, "skills"), "warn");
}

#[test]
fn what_was_done_is_in_the_audit_without_its_arguments() {
    let world = World::with_skills();
    let mut client = world.client();
    client.good(
        "skill_load",
        serde_json::json!({ "skill_name": "pdf-tools" }),
    );
    client.bad(
        "skill_load",
        serde_json::json!({ "skill_name": "a-private-name" }),
    );
    client.close();
    let audit = world.read("home/audit/audit.jsonl");
    let lines: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let outcomes: Vec<(&str, &str, &str)> = lines
        .iter()
        .map(|line| {
            (
                text_at(line, "/tool"),
                text_at(line, "/outcome"),
                text_at(line, "/client"),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            ("skill_load", "ok", "test 1"),
            ("skill_load", "SKILL_NOT_FOUND", "test 1")
        ]
    );
    assert!(!audit.contains("private"), "{audit}");
}

//! `gongfu init` and `gongfu doctor`: the first minutes, and the bad ones.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use gongfu_testing::json::{at, keys, text_at};
use serde_json::Value;

use crate::fixture::Fixture;

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
    let fixture = Fixture::with_skills();
    let first = fixture.only(["init", "--offline"]).good().text();
    assert!(
        first.contains("(created)") && first.contains("\"mcpServers\""),
        "{first}"
    );
    assert!(
        first.contains("skills") && first.contains(fixture.path("home").to_str().unwrap()),
        "{first}"
    );
    fs::write(fixture.path("home/config.toml"), "# mine\n").unwrap();
    fixture.only(["skill", "disable", "pdf-tools"]).good();
    let switches = fixture.read("home/switches.json");
    let second = fixture.only(["init", "--offline"]).good().text();
    assert!(second.contains("(exists)"), "{second}");
    assert_eq!(first.replace("(created)", "(exists)"), second);
    assert_eq!(
        (
            fixture.read("home/config.toml").as_str(),
            fixture.read("home/switches.json")
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
    let fixture = Fixture::new();
    assert!(
        fixture
            .gongfu(["init", "--offline"])
            .good()
            .text()
            .contains("none found")
    );
    fixture.write("user/.cursor/mcp.json", "{}");
    fixture.write("user/.codex/config.toml", "");
    let before = fs::read_dir(fixture.path("user/.cursor")).unwrap().count();
    let said = fixture.gongfu(["init", "--offline"]).good().text();
    assert!(said.contains("Cursor") && said.contains("Codex"), "{said}");
    assert_eq!(
        fs::read_dir(fixture.path("user/.cursor")).unwrap().count(),
        before,
        "other programs' files are only looked at"
    );
    assert_eq!(fixture.read("user/.cursor/mcp.json"), "{}");
}

#[test]
fn doctor_reports_ok_for_a_healthy_home() {
    let fixture = Fixture::with_skills();
    let checks = fixture.only(["doctor", "--json"]).good().json();
    for check in checks.as_array().unwrap() {
        assert_eq!(keys(check), ["details", "fix", "id", "message", "status"]);
        let well = text_at(check, "/status") == "ok";
        assert_eq!(text_at(check, "/fix").is_empty(), well, "{check:#}");
    }
    for id in [
        "version", "home", "symlinks", "config", "switches", "skills",
    ] {
        assert_eq!(status(&checks, id), "ok", "{checks:#}");
    }
    let words = fixture.only(["doctor"]).good().text();
    assert!(words.starts_with("ok "), "{words}");
    let left: Vec<_> = fs::read_dir(fixture.path("home"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn home_that_others_may_enter_is_told_and_stays_as_it_is() {
    let fixture = Fixture::with_skills();
    let home = fixture.path("home");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let fix = format!("chmod 700 {}", home.display());
    let told = || {
        let checks = fixture.only(["doctor", "--json"]).good().json();
        let served = fixture.only(["mcp"]).good().stderr;
        let warnings = served.matches(&fix).count();
        (status(&checks, "home").to_owned(), warnings)
    };
    assert_eq!(told(), ("ok".to_owned(), 0));
    assert_eq!(mode(&home), 0o700);
    set(&home, 0o755);
    set(&fixture.path(""), 0o755);
    // The folder for temporary files may be closed itself.
    if home.ancestors().all(|folder| mode(folder) & 0o011 != 0) {
        assert_eq!(told(), ("warn".to_owned(), 1));
    }
    assert_eq!(mode(&home), 0o755);
}

#[test]
fn damaged_switches_are_reported_and_never_guessed() {
    let fixture = Fixture::with_skills();
    for damaged in [
        "{\"disabled\": [",
        "",
        "[]",
        "{\"disabled\": [1]}",
        "{\"off\": []}",
    ] {
        let file = fixture.write("home/switches.json", damaged);
        let checks = fixture.only(["doctor", "--json"]).ends(1).json();
        assert_eq!(status(&checks, "switches"), "fail", "{damaged}: {checks:#}");
        assert!(
            text_at(check(&checks, "switches"), "/message").contains("switches.json"),
            "{checks:#}"
        );
        assert!(!text_at(check(&checks, "switches"), "/fix").is_empty());
        let listed = fixture.only(["skill", "list"]).ends(1);
        assert!(
            listed.stdout.is_empty() && listed.stderr.contains("switches.json"),
            "{}",
            listed.stderr
        );
        fixture.only(["skill", "disable", "pdf-tools"]).ends(1);
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
        let error = fixture.client().bad("skill_list", serde_json::json!({}));
        assert_eq!(text_at(&error, "/code"), "UNAVAILABLE");
    }
}

#[test]
fn bad_settings_are_reported_with_their_line() {
    let fixture = Fixture::with_skills();
    for (settings, line) in [
        ("skills_dirs = []\n\n[discovery]\nhoem = false\n", "line 4"),
        ("skills_dirs = 1\n", "line 1"),
        ("\n\nskills_dirs = [\n", "line "),
        ("[discovery]\nhome = \"yes\"\n", "line 2"),
    ] {
        fixture.write("home/config.toml", settings);
        let checks = fixture.only(["doctor", "--json"]).ends(1).json();
        assert_eq!(status(&checks, "config"), "fail", "{settings}: {checks:#}");
        let message = text_at(check(&checks, "config"), "/message");
        assert!(
            message.contains("config.toml") && message.contains(line),
            "{settings}: {message}"
        );
        let listed = fixture.only(["skill", "list"]).ends(1);
        assert!(
            listed.stderr.contains(line) && listed.stderr.starts_with("error[CONFIG_INVALID]: "),
            "{}",
            listed.stderr
        );
    }
    fixture.write("home/config.toml", b"\xff\xfe");
    assert_eq!(
        status(&fixture.only(["doctor", "--json"]).ends(1).json(), "config"),
        "fail"
    );
}

#[test]
fn unwritable_home_is_reported_and_skills_are_read() {
    let fixture = Fixture::with_skills();
    // Not even root can make a folder there.
    let nowhere = "/proc/gongfu-home";
    let checks = fixture
        .only(["doctor", "--json"])
        .with("GONGFU_HOME", nowhere)
        .ends(1)
        .json();
    assert_eq!(status(&checks, "home"), "fail", "{checks:#}");
    assert!(text_at(check(&checks, "home"), "/fix").contains("GONGFU_HOME"));
    let listed = fixture
        .only(["skill", "list", "--json"])
        .with("GONGFU_HOME", nowhere)
        .good()
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let loaded = fixture
        .only(["tool", "call", "skill_load", "skill_name=pdf-tools"])
        .with("GONGFU_HOME", nowhere)
        .good();
    assert!(loaded.text().contains("# PDF tools"));
    let disabled = fixture
        .only(["skill", "disable", "pdf-tools"])
        .with("GONGFU_HOME", nowhere)
        .ends(1);
    assert!(
        disabled
            .stderr
            .contains("the audit can't be used: /proc/gongfu-home/audit: nothing can be created"),
        "{}",
        disabled.stderr
    );
    let init = fixture
        .only(["init", "--offline"])
        .with("GONGFU_HOME", nowhere)
        .ends(1);
    assert!(init.stderr.contains("GONGFU_HOME"), "{}", init.stderr);
    let with_built_in = fixture
        .gongfu(["skill", "list"])
        .with("GONGFU_HOME", nowhere)
        .good();
    let told = [
        "warning[HOME_UNUSABLE]",
        "built-in",
        "hint: set GONGFU_HOME",
    ];
    assert!(
        told.iter().all(|told| with_built_in.stderr.contains(told)),
        "{}",
        with_built_in.stderr
    );
}

#[test]
fn file_in_place_of_the_home_is_reported() {
    let fixture = Fixture::with_skills();
    fixture.write("file", "x");
    let checks = fixture
        .only(["doctor", "--json"])
        .with("GONGFU_HOME", fixture.path("file"))
        .ends(1)
        .json();
    assert_eq!(status(&checks, "home"), "fail", "{checks:#}");
    assert_eq!(fixture.read("file"), "x");
    // A server would find out only when somebody calls it.
    for home in ["file", "file/home"] {
        for command in [&["serve", "--listen", ":0"][..], &["mcp"]] {
            let run = fixture
                .only(command)
                .with("GONGFU_HOME", fixture.path(home));
            let ran = run.ends(1);
            let told = ["HOME_UNUSABLE", "is not a folder\n  hint: set GONGFU_HOME"];
            assert!(
                ran.text().is_empty() && told.iter().all(|told| ran.stderr.contains(told)),
                "{}",
                ran.stderr
            );
            let path = fixture.path(home).display().to_string();
            assert!(ran.stderr.contains(&path), "{}", ran.stderr);
        }
    }
    assert_eq!(fixture.read("file"), "x");
}

#[test]
fn doctor_counts_what_is_wrong_with_the_skills() {
    let fixture = Fixture::with_skills();
    fixture.write("skills/bad/SKILL.md", "no frontmatter\n");
    fixture.write("skills/dead/SKILL.md", b"\0\0\0");
    fixture.write(
        "skills/twin/release-notes/SKILL.md",
        "---\nname: release-notes\ndescription: Another.\n---\n\nText.\n",
    );
    let checks = fixture.only(["doctor", "--json"]).good().json();
    for id in ["format", "names", "left-out"] {
        assert_eq!(status(&checks, id), "warn", "{id}");
    }
    assert!(text_at(check(&checks, "left-out"), "/details/0").contains("dead"));
    let missing = fixture
        .gongfu([
            "doctor",
            "--json",
            "--no-default-dirs",
            "--skills-dir",
            "/nowhere/at/all",
        ])
        .ends(1)
        .json();
    assert_eq!(status(&missing, "skills"), "fail");
}

#[cfg(target_os = "linux")]
#[test]
fn home_file_that_is_no_file_is_named() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let fixture = Fixture::with_skills();
    let pipe = fixture.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let skills = fixture.path("skills").display().to_string();
    let disable = ["skill", "disable", "pdf-tools", "--skills-dir", &skills];
    for (file, arguments) in [
        ("grants.json", &["grant", "list"][..]),
        ("approvals.json", &["approve", "list"]),
        ("switches.json", &["skill", "list"]),
        ("config.toml", &["skill", "list"]),
        ("audit/audit.jsonl", &disable),
        ("audit", &disable),
        ("layers", &["layer", "list"]),
        ("changes", &["changes", "list"]),
    ] {
        let place = fixture.path("home").join(file);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        // The control: with nothing in its place the command works.
        fixture.gongfu(arguments).good();
        let _ = fs::remove_file(&place);
        let _ = fs::remove_dir_all(&place);
        for kind in ["folder", "pipe", "link"] {
            match kind {
                // That is what it should be.
                "folder" if !file.contains('.') => continue,
                "folder" => fs::create_dir(&place).unwrap(),
                "pipe" => drop(fs::rename(&pipe, &place)),
                _ => std::os::unix::fs::symlink("/nonesuch/x", &place).unwrap(),
            }
            // A link that leads nowhere is a folder that isn't there yet.
            if kind != "link" || file.contains('.') || file == "audit" {
                let said = fixture.gongfu(arguments).ends(1).stderr;
                let name = place.display().to_string();
                assert!(said.contains(&name), "{file} as a {kind}: {said}");
            }
            match kind {
                "folder" => fs::remove_dir(&place).unwrap(),
                "pipe" => fs::rename(&place, &pipe).unwrap(),
                _ => fs::remove_file(&place).unwrap(),
            }
        }
    }
}

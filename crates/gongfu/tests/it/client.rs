//! `gongfu client` on prepared files of every client: what is entered, and that nothing is left
//! behind.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{Ran, World, at, text_at};

/// A client with a file of its own style: name, scope, file, content, and a text before which
/// another entry can be put with what that is.
struct Case {
    name: &'static str,
    scope: &'static str,
    file: &'static str,
    text: &'static str,
    /// Somebody's edit while gongfu is entered: behind this, that is put in.
    edit: (&'static str, &'static str),
}

const CASES: [Case; 17] = [
    Case {
        name: "claude-code",
        scope: "user",
        file: "user/.claude.json",
        text: "{\n  \"numStartups\": 41,\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"x\"\n    }\n  },\n  \"projects\": {\n    \"/p\": {\n      \"mcpServers\": {}\n    }\n  }\n}",
        edit: ("\"numStartups\": 41,", "\n  \"theme\": \"dark\","),
    },
    Case {
        name: "claude-code",
        scope: "project",
        file: "project/.mcp.json",
        text: "{\n  \"mcpServers\": {}\n}\n",
        edit: ("{", "\n  \"other\": 1,"),
    },
    Case {
        name: "claude-desktop",
        scope: "user",
        file: "user/.config/Claude/claude_desktop_config.json",
        text: "{\"globalShortcut\": \"\"}",
        edit: ("\"globalShortcut\": \"\"", ", \"scale\": 0"),
    },
    Case {
        name: "codex",
        scope: "user",
        file: "user/.codex/config.toml",
        text: "# mine\nmodel = \"x\" # the best\n\n[mcp_servers.docs]\ncommand = \"docs\"\n\n[tui] # look\nnotifications = true",
        edit: ("[tui] # look\n", "theme = \"dark\"\n"),
    },
    Case {
        name: "codex",
        scope: "project",
        file: "project/.codex/config.toml",
        text: "# this project\r\nsandbox_mode = \"read-only\"\r\n",
        edit: ("# this project\r\n", "# and more\r\n"),
    },
    Case {
        name: "cursor",
        scope: "user",
        file: "user/.cursor/mcp.json",
        text: "{\n\t// servers of mine\n\t\"mcpServers\": {\n\t\t\"x\": { \"url\": \"http://x/mcp\" }, // remote\n\t\t/* more below */\n\t},\n}\n",
        edit: ("// remote", "\n\t\t\"y\": { \"command\": \"y\" },"),
    },
    Case {
        name: "cursor",
        scope: "project",
        file: "project/.cursor/mcp.json",
        text: "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"x\": {}\r\n  }\r\n}\r\n",
        edit: ("\"x\": {", "\"command\": \"x\""),
    },
    Case {
        name: "gemini-cli",
        scope: "user",
        file: "user/.gemini/settings.json",
        text: "// settings\n{\n  \"ui\": { \"theme\": \"x\" } // dark\n}\n",
        edit: ("// settings\n", "// of mine\n"),
    },
    Case {
        name: "gemini-cli",
        scope: "project",
        file: "project/.gemini/settings.json",
        text: "{\n}\n",
        edit: ("{", "\n  // mine"),
    },
    Case {
        name: "goose",
        scope: "user",
        file: "user/.config/goose/config.yaml",
        text: "# goose\nGOOSE_MODEL: x # the best\nextensions:\n  # built in\n  developer:\n    enabled: true\n    type: builtin\n\nGOOSE_MODE: auto",
        edit: ("    type: builtin\n", "  mine:\n    cmd: mine # !\n"),
    },
    Case {
        name: "opencode",
        scope: "user",
        file: "user/.config/opencode/opencode.jsonc",
        text: "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // second version\n  \"mcp\": {\n    \"servers\": {\n      \"x\": { \"type\": \"local\", \"command\": [\"x\"] },\n    },\n  },\n}\n",
        edit: ("// second version", " of it"),
    },
    Case {
        name: "opencode",
        scope: "project",
        file: "project/opencode.json",
        text: "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": { \"x\": { \"type\": \"remote\", \"url\": \"http://x/\", \"enabled\": false } }\n}\n",
        edit: ("{\n", "  \"share\": \"manual\",\n"),
    },
    Case {
        name: "vscode",
        scope: "user",
        file: "user/.config/Code/User/mcp.json",
        text: "{\n\t\"servers\": {\n\t\t// nothing yet\n\t},\n\t\"inputs\": []\n}\n",
        edit: ("\"inputs\": [", "1"),
    },
    Case {
        name: "vscode",
        scope: "project",
        file: "project/.vscode/mcp.json",
        text: "{ \"inputs\": [] } // no servers\n",
        edit: ("// no servers", "!"),
    },
    Case {
        name: "windsurf",
        scope: "user",
        file: "user/.codeium/windsurf/mcp_config.json",
        text: "{\n    \"mcpServers\": {\n        \"x\": {\n            \"serverUrl\": \"http://x/\"\n        }\n    }\n}",
        edit: ("\"serverUrl\": \"http://x/", "mcp"),
    },
    Case {
        name: "zed",
        scope: "user",
        file: "user/.config/zed/settings.json",
        text: "// Zed settings\n//\n// see the documentation\n{\n  \"theme\": {\n    \"mode\": \"system\",\n  },\n  // fonts\n  \"ui_font_size\": 16, // large\n}\n",
        edit: ("\"ui_font_size\": 1", "8"),
    },
    Case {
        name: "zed",
        scope: "project",
        file: "project/.zed/settings.json",
        text: "{\n  \"tab_size\": 2 // of this project\n}\n",
        edit: ("{\n", "  // a rule\n"),
    },
];

fn install(world: &World, name: &str, more: &[&str]) -> Ran {
    world
        .gongfu([&["client", "install", name], more].concat())
        .good()
}

fn uninstall(world: &World, name: &str, more: &[&str]) -> Ran {
    world
        .gongfu([&["client", "uninstall", name], more].concat())
        .good()
}

/// What was said, with the names of this machine left out.
fn shown(world: &World, text: &str) -> String {
    text.replace(env!("CARGO_BIN_EXE_gongfu"), "[gongfu]")
        .replace(
            world.path("").to_str().unwrap().trim_end_matches('/'),
            "[world]",
        )
}

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
fn settings_are_updated_and_what_a_person_added_stays() {
    let world = World::new();
    let before = "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n";
    world.write("user/.cursor/mcp.json", before);
    install(&world, "cursor", &[]);
    let mine = world.read("user/.cursor/mcp.json").replace(
        "\"args\"",
        "\"env\": {\"A\": \"b\"}, // mine\n      \"args\"",
    );
    world.write("user/.cursor/mcp.json", &mine);
    let said = install(&world, "cursor", &["--", "--profile", "all"]).text();
    assert!(said.contains("updated"), "{said}");
    let text = world.read("user/.cursor/mcp.json");
    assert_eq!(
        text,
        mine.replace("[\"mcp\"]", "[\"mcp\", \"--profile\", \"all\"]")
    );
    let status = world
        .gongfu(["client", "status", "cursor", "--json"])
        .good()
        .json();
    assert_eq!(
        at(&status, "/0/arguments"),
        &json!(["mcp", "--profile", "all"])
    );
    install(&world, "cursor", &["--http", "http://127.0.0.1:9/mcp"]);
    let status = world
        .gongfu(["client", "status", "cursor", "--json"])
        .good()
        .json();
    assert_eq!(text_at(&status, "/0/transport"), "http");
    assert_eq!(text_at(&status, "/0/url"), "http://127.0.0.1:9/mcp");
    assert!(world.read("user/.cursor/mcp.json").contains("// mine"));
    uninstall(&world, "cursor", &[]);
    assert_eq!(world.read("user/.cursor/mcp.json"), before);
    // Two installations that nobody touched in between are undone at once.
    install(&world, "cursor", &[]);
    world
        .gongfu(["client", "install", "--http", "cursor"])
        .good();
    assert!(
        world
            .read("user/.cursor/mcp.json")
            .contains("http://127.0.0.1:7878/mcp")
    );
    uninstall(&world, "cursor", &[]);
    assert_eq!(world.read("user/.cursor/mcp.json"), before);
}

#[test]
fn an_entry_that_was_switched_off_stays_so() {
    let world = World::new();
    for (name, file, text, switch) in [
        (
            "codex",
            "user/.codex/config.toml",
            "[mcp_servers.gongfu]\ncommand = \"/old/gongfu\"\nargs = [\"mcp\"]\nenabled = false # for now\n",
            "enabled = false # for now\n",
        ),
        (
            "zed",
            "user/.config/zed/settings.json",
            "{\"context_servers\": {\"gongfu\": {\"enabled\": false, \"command\": \"/old/gongfu\", \"args\": [\"mcp\"]}}}",
            "\"enabled\": false",
        ),
        (
            "opencode",
            "user/.config/opencode/opencode.json",
            "{\n  \"mcp\": {\n    \"gongfu\": {\n      \"type\": \"local\",\n      \"command\": [\"/old/gongfu\", \"mcp\"],\n      \"enabled\": false // for now\n    }\n  }\n}\n",
            "\"enabled\": false",
        ),
        (
            "goose",
            "user/.config/goose/config.yaml",
            "extensions:\n  gongfu:\n    enabled: false # for now\n    type: stdio\n    cmd: /old/gongfu\n    args:\n      - mcp\n",
            "enabled: false # for now\n",
        ),
    ] {
        world.write(file, text);
        for (more, how) in [
            (&[][..], "updated"),
            (&[], "already there"),
            (&["--http"], "updated"),
        ] {
            let said = install(&world, name, more).text();
            assert!(
                said.contains(how) && said.contains("switched off there and stays so"),
                "{said}"
            );
            let now = world.read(file);
            assert!(now.contains(switch) && !now.contains("/old/"), "{now}");
        }
        let status = world.gongfu(["client", "status", name, "--json"]).good();
        assert_eq!(at(&status.json(), "/0/switched_off"), &json!(true));
        uninstall(&world, name, &[]);
        assert!(!world.read(file).contains("gongfu"), "{}", world.read(file));
    }
    let said = install(&world, "cursor", &[]).text();
    assert!(!said.contains("switched off"), "{said}");
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
fn an_entry_of_somebody_else_is_left_alone() {
    let world = World::new();
    let text = "{\"mcpServers\": {\"gongfu\": {\"command\": \"/opt/other\", \"args\": [\"serve\"], \"env\": {\"TOKEN\": \"x\"}}}}";
    world.write("user/.cursor/mcp.json", text);
    for verb in ["install", "uninstall"] {
        let ran = world.gongfu(["client", verb, "cursor"]).ends(1);
        assert!(
            ran.stderr.contains("foreign-entry")
                && ran.stderr.contains("/opt/other serve")
                && ran.stderr.contains("--force"),
            "{}",
            ran.stderr
        );
        assert_eq!(world.read("user/.cursor/mcp.json"), text);
    }
    let said = install(&world, "cursor", &["--force"]).text();
    assert!(
        said.contains("replaced") && said.contains("/opt/other serve"),
        "{said}"
    );
    let now: Value = serde_json::from_str(&world.read("user/.cursor/mcp.json")).unwrap();
    assert_eq!(
        at(&now, "/mcpServers/gongfu"),
        &json!({ "command": env!("CARGO_BIN_EXE_gongfu"), "args": ["mcp"] })
    );
    uninstall(&world, "cursor", &[]);
    assert_eq!(
        world.read("user/.cursor/mcp.json"),
        text,
        "what was replaced is back"
    );
    // gongfu of another place is ours.
    world.write(
        "user/.cursor/mcp.json",
        "{\"mcpServers\": {\"gongfu\": {\"command\": \"/old/gongfu\", \"args\": [\"mcp\"]}}}",
    );
    let said = install(&world, "cursor", &[]).text();
    assert!(said.contains("updated"), "{said}");
}

#[test]
fn refusals_write_nothing_and_say_what_to_do() {
    let world = World::new();
    let mut said = String::new();
    for (name, file, text) in [
        (
            "cursor",
            "user/.cursor/mcp.json",
            "{\n  \"mcpServers\": {\n    \"x\": {}\n    \"y\": {}\n  }\n}\n",
        ),
        (
            "cursor",
            "user/.cursor/mcp.json",
            "{\n  \"mcpServers\": []\n}\n",
        ),
        (
            "windsurf",
            "user/.codeium/windsurf/mcp_config.json",
            "{\"mcpServers\": {},\n \"mcpServers\": {}}",
        ),
        ("codex", "user/.codex/config.toml", "a = 1\nb =\n"),
        ("codex", "user/.codex/config.toml", "mcp_servers = \"x\"\n"),
        ("goose", "user/.config/goose/config.yaml", "a: 1\nb: [\n"),
        (
            "goose",
            "user/.config/goose/config.yaml",
            "extensions:\n- a\n",
        ),
    ] {
        world.write(file, text);
        let ran = world.gongfu(["client", "install", name]).ends(1);
        assert!(ran.stdout.is_empty(), "{}", ran.text());
        said += &ran.stderr;
        let status = world.gongfu(["client", "status", name]).ends(1);
        assert!(status.text().contains("can't be told"), "{}", status.text());
        assert_eq!(world.read(file), text);
    }
    // One that can't be changed doesn't keep the others from it.
    let ran = world.gongfu(["client", "install", "goose", "zed"]).ends(1);
    assert!(ran.text().contains("zed"), "{}", ran.text());
    for arguments in [
        &["client", "install", "claude-desktop", "--http"][..],
        &["client", "install", "goose", "--scope", "project"],
        &["client", "print", "claude-desktop", "--http"],
    ] {
        said += &world.gongfu(arguments).ends(1).stderr;
    }
    for arguments in [
        &["client", "install", "cursor", "--", "--profil", "x"][..],
        &["client", "install", "cursr"],
        &["client", "install"],
        &["client", "uninstall"],
        &["client", "print"],
        &["client", "install", "cursor", "--http=localhost"],
        &[
            "client",
            "install",
            "cursor",
            "--http",
            "--",
            "--profile",
            "all",
        ],
    ] {
        let ran = world.gongfu(arguments).ends(2);
        assert!(!ran.stderr.is_empty());
    }
    insta::assert_snapshot!(shown(&world, &said));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let world = World::new();
    // Not even root can make a folder there.
    let ran = world
        .gongfu(["client", "install", "codex"])
        .with("CODEX_HOME", "/proc/gongfu-codex")
        .ends(1);
    assert!(
        ran.stderr.contains("error[unwritable]")
            && ran.stderr.contains("/proc/gongfu-codex/config.toml"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        fs::read_dir(world.path("home/clients")).unwrap().count(),
        0,
        "no record of what was not done"
    );
    // A home that can't be written: without a backup nothing is changed.
    world.write("user/.cursor/mcp.json", "{}");
    let ran = world
        .gongfu(["client", "install", "cursor"])
        .with("GONGFU_HOME", "/proc/gongfu-home")
        .ends(1);
    assert!(ran.stderr.contains("error[no-backup]"), "{}", ran.stderr);
    assert_eq!(world.read("user/.cursor/mcp.json"), "{}");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay_and_backups_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let real = world.write("dotfiles/zed.json", "{\n  \"a\": 1\n}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(world.path("user/.config/zed")).unwrap();
    let link = world.path("user/.config/zed/settings.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let said = install(&world, "zed", &[]).text();
    assert!(said.contains("a link to"), "{said}");
    let is_link = |path: &Path| fs::symlink_metadata(path).unwrap().is_symlink();
    assert!(is_link(&link) && world.read("dotfiles/zed.json").contains("gongfu"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&real), mode(&world.path("home/clients"))),
        (0o600, 0o700)
    );
    uninstall(&world, "zed", &[]);
    assert!(is_link(&link));
    assert_eq!(world.read("dotfiles/zed.json"), "{\n  \"a\": 1\n}\n");
    assert_eq!(mode(&real), 0o600);
}

#[test]
fn list_and_status_say_what_is_there() {
    let world = World::new();
    fs::create_dir_all(world.path("user/.cursor")).unwrap();
    world.write(
        "user/.codex/config.toml",
        "[mcp_servers.gongfu]\ncommand = \"/gone/gongfu\"\nargs = [\"mcp\"]\n",
    );
    world.write("user/.config/goose/config.yaml", "extensions:\n  gongfu:\n    enabled: false\n    type: streamable_http\n    uri: http://127.0.0.1:7878/mcp\n");
    world.write(
        "user/.config/zed/settings.json",
        "{\"context_servers\": {\"gongfu\": {\"settings\": {}}}}",
    );
    install(&world, "claude-code", &[]);
    let list = world.gongfu(["client", "list"]).good().text();
    let status = world.gongfu(["client", "status"]).ends(1).text();
    let project = world
        .gongfu(["client", "list", "--scope", "project"])
        .good()
        .text();
    insta::assert_snapshot!(shown(&world, &format!("{list}\n{status}\n{project}")));

    let list = world.gongfu(["client", "list", "--json"]).good().json();
    assert_eq!(list.as_array().unwrap().len(), 10);
    let cursor = list
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "cursor")
        .unwrap();
    assert_eq!(
        (&cursor["found"], &cursor["exists"]),
        (&json!(true), &json!(false))
    );
    let status = world
        .gongfu([
            "client",
            "status",
            "codex",
            "goose",
            "claude-code",
            "--json",
        ])
        .ends(1)
        .json();
    assert_eq!(at(&status, "/0/command_exists"), &json!(false));
    assert_eq!(at(&status, "/1/switched_off"), &json!(true));
    assert_eq!(at(&status, "/2/command_exists"), &json!(true));
    assert_eq!(text_at(&status, "/2/command"), env!("CARGO_BIN_EXE_gongfu"));
}

#[test]
fn what_is_printed_is_what_is_entered() {
    let world = World::new();
    let mut all = String::new();
    for name in ["claude-code", "codex", "goose", "opencode", "vscode", "zed"] {
        for how in ["--stdio", "--http"] {
            let printed = world.gongfu(["client", "print", name, how]).good().text();
            all += &["==> ", name, " ", how, "\n", &printed].concat();
            if let ("codex", "--stdio") = (name, how) {
                install(&world, name, &[how]);
                assert_eq!(world.read("user/.codex/config.toml"), printed);
            }
        }
    }
    insta::assert_snapshot!(shown(&world, &all));
}

#[test]
fn another_way_to_be_reached_leaves_no_setting_that_clients_refuse() {
    let world = World::new();
    let file = "user/.codex/config.toml";
    let program = "[mcp_servers.gongfu]\ncommand = \"gongfu\"\nargs = [\"mcp\"]\nstartup_timeout_sec = 5\n\n[mcp_servers.gongfu.env]\nRUST_LOG = \"debug\"\n";
    world.write(file, program);
    let said = install(&world, "codex", &["--http"]).text();
    assert!(said.contains("left out") && said.contains("env"), "{said}");
    let now = world.read(file);
    assert!(
        now.contains("url = ") && now.contains("startup_timeout_sec = 5"),
        "{now}"
    );
    assert!(!now.contains("env") && !now.contains("command"), "{now}");
    world.write(
        file,
        "[mcp_servers.gongfu]\nurl = \"http://127.0.0.1:7878/mcp\"\nbearer_token_env_var = \"T\"\n",
    );
    install(&world, "codex", &[]);
    let now = world.read(file);
    assert!(
        now.contains("command") && !now.contains("bearer") && !now.contains("url"),
        "{now}"
    );
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

#[cfg(unix)]
#[test]
fn a_folder_behind_a_link_is_left_as_it_was() {
    let world = World::new();
    fs::create_dir_all(world.path("dotfiles")).unwrap();
    fs::create_dir_all(world.path("user")).unwrap();
    std::os::unix::fs::symlink(world.path("dotfiles"), world.path("user/.cursor")).unwrap();
    install(&world, "cursor", &[]);
    assert!(world.path("dotfiles/mcp.json").exists());
    uninstall(&world, "cursor", &[]);
    assert!(!world.path("dotfiles/mcp.json").exists());
}

#[test]
fn two_installations_at_once_leave_a_way_back() {
    for round in 0..8 {
        let world = World::new();
        let file = "user/.codex/config.toml";
        let before = "a = 1\n";
        world.write(file, before);
        let codes = std::thread::scope(|scope| {
            let runs = [&[][..], &["--http"]].map(|more| {
                let install = world.gongfu([&["client", "install", "codex"], more].concat());
                scope.spawn(move || install.run().code)
            });
            runs.map(|run| run.join().unwrap())
        });
        // One of them may be told to try again.
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert_ne!(world.read(file), before);
        uninstall(&world, "codex", &[]);
        assert_eq!(world.read(file), before, "round {round}");
    }
}

#[test]
fn an_entry_is_found_in_whichever_file_it_is() {
    let world = World::new();
    world.write("user/.config/opencode/opencode.jsonc", "{}");
    install(&world, "opencode", &[]);
    world.write("user/.config/opencode/opencode.json", "{}");
    let said = world.gongfu(["client", "status", "opencode"]).good().text();
    assert!(said.contains("stdio"), "{said}");
    uninstall(&world, "opencode", &[]);
    assert_eq!(world.read("user/.config/opencode/opencode.jsonc"), "{}");
    let said = world
        .gongfu(["client", "status", "opencode"])
        .ends(1)
        .text();
    assert!(said.contains("not entered"), "{said}");
}

#[test]
fn paths_are_entered_whole() {
    let world = World::new();
    let printed = world
        .gongfu([
            "client",
            "print",
            "cursor",
            "--",
            "--skills-dir",
            "here",
            "--workspace=there",
        ])
        .good()
        .json();
    let arguments = at(&printed, "/mcpServers/gongfu/args").as_array().unwrap();
    for (place, end) in [(2, "/here"), (3, "/there")] {
        let argument = arguments[place].as_str().unwrap();
        let path = argument.trim_start_matches("--workspace=");
        assert!(
            Path::new(path).is_absolute() && path.ends_with(end),
            "{argument}"
        );
    }
}

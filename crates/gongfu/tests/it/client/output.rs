//! The output of `gongfu client`: refusals, lists, and snippets.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_testing::json::{at, list_at, text_at};
use serde_json::json;

use super::{install, shown};
use crate::fixture::Fixture;

#[test]
fn refusals_name_file_and_line_and_what_to_do() {
    let fixture = Fixture::new();
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
        fixture.write(file, text);
        let ran = fixture.gongfu(["client", "install", name]).ends(1);
        assert!(ran.stdout.is_empty(), "{}", ran.text());
        said += &ran.stderr;
        let status = fixture.gongfu(["client", "status", name]).ends(1);
        assert!(status.text().contains("broken: "), "{}", status.text());
        assert_eq!(fixture.read(file), text);
    }
    // One that can't be changed doesn't keep the others from it.
    let ran = fixture
        .gongfu(["client", "install", "goose", "zed"])
        .ends(1);
    assert!(ran.text().contains("zed"), "{}", ran.text());
    for arguments in [
        &["client", "install", "claude-desktop", "--http"][..],
        &["client", "install", "goose", "--scope", "project"],
        &["client", "print", "claude-desktop", "--http"],
    ] {
        said += &fixture.gongfu(arguments).ends(1).stderr;
    }
    for arguments in [
        &["client", "install", "cursor", "--", "--profil", "x"][..],
        &["client", "install", "cursr"],
        &["client", "install"],
        &["client", "uninstall"],
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
        let ran = fixture.gongfu(arguments).ends(2);
        assert!(!ran.stderr.is_empty());
    }
    insta::assert_snapshot!(shown(&fixture, &said));
}

#[test]
fn list_and_status_describe_each_client() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("user/.cursor")).unwrap();
    fixture.write(
        "user/.codex/config.toml",
        "[mcp_servers.gongfu]\ncommand = \"/gone/gongfu\"\nargs = [\"mcp\"]\n",
    );
    fixture.write("user/.config/goose/config.yaml", "extensions:\n  gongfu:\n    enabled: false\n    type: streamable_http\n    uri: http://127.0.0.1:7878/mcp\n");
    fixture.write(
        "user/.config/zed/settings.json",
        "{\"context_servers\": {\"gongfu\": {\"settings\": {}}}}",
    );
    install(&fixture, "claude-code", &[]);
    let list = fixture.gongfu(["client", "list"]).good().text();
    let status = fixture.gongfu(["client", "status"]).ends(1).text();
    let project = fixture
        .gongfu(["client", "list", "--scope", "project"])
        .good()
        .text();
    insta::assert_snapshot!(shown(&fixture, &format!("{list}\n{status}\n{project}")));

    let list = fixture.gongfu(["client", "list", "--json"]).good().json();
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
    let status = fixture
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
fn print_shows_what_install_writes() {
    let fixture = Fixture::new();
    let mut all = String::new();
    for name in ["claude-code", "codex", "goose", "opencode", "vscode", "zed"] {
        for how in ["--stdio", "--http"] {
            let printed = fixture.gongfu(["client", "print", name, how]).good().text();
            all += &["==> ", name, " ", how, "\n", &printed].concat();
            if let ("codex", "--stdio") = (name, how) {
                install(&fixture, name, &[how]);
                assert_eq!(fixture.read("user/.codex/config.toml"), printed);
            }
        }
    }
    insta::assert_snapshot!(shown(&fixture, &all));
}

#[test]
fn links_hold_the_entry() {
    let fixture = Fixture::new();
    let link = |name: &str, how: &[&str]| {
        let arguments = [&["client", "print", name, "--link"], how].concat();
        let link = fixture.gongfu(arguments).good().text();
        let beside = fixture
            .gongfu([&["client", "print", name], how].concat())
            .good();
        assert!(beside.stderr.contains(link.trim()), "{}", beside.stderr);
        link.trim().to_owned()
    };
    let decoded = |text: &str| {
        let pair = format!("value={text}");
        let (_, value) = form_urlencoded::parse(pair.as_bytes()).next().unwrap();
        value.into_owned()
    };
    let program = env!("CARGO_BIN_EXE_gongfu");

    let cursor = link("cursor", &["--", "--skills-dir", "/a b+c/é"]);
    let config =
        cursor.strip_prefix("cursor://anysphere.cursor-deeplink/mcp/install?name=gongfu&config=");
    let entry = STANDARD.decode(decoded(config.unwrap())).unwrap();
    let entry: serde_json::Value = serde_json::from_slice(&entry).unwrap();
    assert_eq!(
        entry,
        json!({ "command": program, "args": ["mcp", "--skills-dir", "/a b+c/é"] })
    );

    let vscode = link("vscode", &["--http", "http://127.0.0.1:7878/mcp"]);
    let entry = decoded(vscode.strip_prefix("vscode:mcp/install?").unwrap());
    let entry: serde_json::Value = serde_json::from_str(&entry).unwrap();
    assert_eq!(
        entry,
        json!({ "name": "gongfu", "type": "http", "url": "http://127.0.0.1:7878/mcp" })
    );

    let none = fixture
        .gongfu(["client", "print", "codex", "--link"])
        .ends(1);
    assert!(none.stderr.contains("NO_LINK") && none.stderr.contains("cursor and vscode"));
}

#[test]
fn program_in_a_cache_is_entered_by_what_fills_the_cache() {
    let fixture = Fixture::new();
    for (folder, command, arguments) in [
        (
            "user/.cache/uv/archive-v0/x/bin",
            "uvx",
            &["gongfu", "mcp"][..],
        ),
        (
            "user/.npm/_npx/x/node_modules/g/bin",
            "npx",
            &["-y", "gongfu", "mcp"],
        ),
    ] {
        let program = fixture.path(folder).join("gongfu");
        fs::create_dir_all(fixture.path(folder)).unwrap();
        fs::hard_link(env!("CARGO_BIN_EXE_gongfu"), &program)
            .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_gongfu"), &program).map(drop))
            .unwrap();
        let run = |arguments: &[&str]| fixture.gongfu(arguments).at(&program).good();
        run(&["client", "install", "cursor"]);
        let entry: serde_json::Value =
            serde_json::from_str(&fixture.read("user/.cursor/mcp.json")).unwrap();
        assert_eq!(
            entry["mcpServers"]["gongfu"],
            json!({ "command": command, "args": arguments })
        );
        // It is known as gongfu's again.
        assert!(
            run(&["client", "uninstall", "cursor"])
                .text()
                .contains("removed")
        );
    }
}

#[test]
fn relative_paths_become_absolute() {
    let fixture = Fixture::new();
    let printed = fixture
        .gongfu([
            "client",
            "print",
            "cursor",
            "--",
            "--skills-dir",
            "here",
            "--mount=there",
        ])
        .good()
        .json();
    let arguments = list_at(&printed, "/mcpServers/gongfu/args");
    for (place, end) in [(2, "/here"), (3, "/there")] {
        let argument = arguments[place].as_str().unwrap();
        let path = argument.trim_start_matches("--mount=");
        assert!(
            Path::new(path).is_absolute() && path.ends_with(end),
            "{argument}"
        );
    }
}

#[test]
fn relative_workspace_is_for_an_entry_of_a_project() {
    let fixture = Fixture::new();
    let install = |arguments: &[&str]| {
        let all = ["client", "install", "cursor"].iter().chain(arguments);
        fixture.gongfu(all)
    };
    for workspace in [&["--workspace", "."][..], &["--workspace=sub"]] {
        let mut arguments = vec!["--"];
        arguments.extend(workspace);
        let refused = install(&arguments).ends(2);
        assert!(
            refused.stderr.contains("--scope project") && refused.stderr.contains("leave it out"),
            "{}",
            refused.stderr
        );
        assert!(!fixture.path("user/.cursor").exists());
    }
    install(&["--scope", "project", "--", "--workspace", "."]).good();
    let entry: serde_json::Value =
        serde_json::from_str(&fixture.read("project/.cursor/mcp.json")).unwrap();
    let arguments = list_at(&entry, "/mcpServers/gongfu/args");
    assert_eq!(arguments, &["mcp", "--workspace", "."]);
    // An absolute one is the same folder everywhere.
    let folder = fixture.path("project").display().to_string();
    install(&["--", "--workspace", &folder]).good();
}

#[test]
fn workspace_of_an_entry_is_one_that_the_server_takes() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("home")).unwrap();
    let home = fixture.path("home").display().to_string();
    for (folder, why) in [
        ("/", "it is the root of the file system"),
        ("/etc", "it is a system folder"),
        (&*home, "it belongs to gongfu"),
        ("/nowhere/at/all", "there is no such folder"),
    ] {
        let server = fixture.gongfu(["mcp", "--workspace", folder]).ends(1);
        let told = format!("--workspace {folder}: {why}");
        assert!(server.stderr.contains(&told), "{}", server.stderr);
        for place in [
            &["install", "cursor"][..],
            &["install", "cursor", "--scope", "project"],
            &["print", "cursor"],
        ] {
            for end in [
                &["--workspace", folder][..],
                &[&format!("--workspace={folder}")],
            ] {
                let words = ["client"].iter().chain(place).chain(&["--"]).chain(end);
                let refused = fixture.gongfu(words).ends(1);
                assert!(refused.stderr.contains(&told), "{}", refused.stderr);
            }
        }
    }
    // Relative ones are below the project.
    let relative = [
        "client",
        "install",
        "cursor",
        "--scope",
        "project",
        "--",
        "--workspace",
    ];
    let up = "../".repeat(64);
    let refused = fixture.gongfu(relative.iter().chain(&[&*up])).ends(1);
    assert!(
        refused.stderr.contains("root of the file system"),
        "{}",
        refused.stderr
    );
    assert!(!fixture.path("user/.cursor").exists() && !fixture.path("project/.cursor").exists());
    fixture.gongfu(relative.iter().chain(&["."])).good();
}

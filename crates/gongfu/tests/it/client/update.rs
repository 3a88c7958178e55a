//! Install over an entry that is there: gongfu's own is updated, any other is left alone.

use gongfu_testing::json::{at, text_at};
use serde_json::{Value, json};

use super::{install, uninstall};
use crate::fixture::Fixture;

#[test]
fn update_keeps_what_a_person_added() {
    let fixture = Fixture::new();
    let before = "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n";
    fixture.write("user/.cursor/mcp.json", before);
    install(&fixture, "cursor", &[]);
    let mine = fixture.read("user/.cursor/mcp.json").replace(
        "\"args\"",
        "\"env\": {\"A\": \"b\"}, // mine\n      \"args\"",
    );
    fixture.write("user/.cursor/mcp.json", &mine);
    let said = install(&fixture, "cursor", &["--", "--profile", "all"]).text();
    assert!(said.contains("updated"), "{said}");
    let text = fixture.read("user/.cursor/mcp.json");
    assert_eq!(
        text,
        mine.replace("[\"mcp\"]", "[\"mcp\", \"--profile\", \"all\"]")
    );
    let status = fixture
        .gongfu(["client", "status", "cursor", "--json"])
        .good()
        .json();
    assert_eq!(
        at(&status, "/0/arguments"),
        &json!(["mcp", "--profile", "all"])
    );
    install(&fixture, "cursor", &["--http", "http://127.0.0.1:9/mcp"]);
    let status = fixture
        .gongfu(["client", "status", "cursor", "--json"])
        .good()
        .json();
    assert_eq!(text_at(&status, "/0/transport"), "http");
    assert_eq!(text_at(&status, "/0/url"), "http://127.0.0.1:9/mcp");
    uninstall(&fixture, "cursor", &[]);
    let left = fixture.read("user/.cursor/mcp.json");
    assert!(
        left.contains("\"x\": {}") && !left.contains("gongfu"),
        "{left}"
    );

    // One uninstall undoes two installs.
    fixture.write("user/.cursor/mcp.json", before);
    install(&fixture, "cursor", &[]);
    fixture
        .gongfu(["client", "install", "--http", "cursor"])
        .good();
    assert!(
        fixture
            .read("user/.cursor/mcp.json")
            .contains("http://127.0.0.1:7878/mcp")
    );
    uninstall(&fixture, "cursor", &[]);
    assert_eq!(fixture.read("user/.cursor/mcp.json"), before);
}

#[test]
fn update_keeps_an_entry_switched_off() {
    let fixture = Fixture::new();
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
        fixture.write(file, text);
        for (more, how) in [
            (&[][..], "updated"),
            (&[], "already added"),
            (&["--http"], "updated"),
        ] {
            let said = install(&fixture, name, more).text();
            assert!(
                said.contains(how) && said.contains("is disabled and stays disabled"),
                "{said}"
            );
            let now = fixture.read(file);
            assert!(now.contains(switch) && !now.contains("/old/"), "{now}");
        }
        let status = fixture.gongfu(["client", "status", name, "--json"]).good();
        assert_eq!(at(&status.json(), "/0/switched_off"), &json!(true));
        uninstall(&fixture, name, &[]);
        assert!(
            !fixture.read(file).contains("gongfu"),
            "{}",
            fixture.read(file)
        );
    }
    let said = install(&fixture, "cursor", &[]).text();
    assert!(!said.contains("disabled"), "{said}");
}

#[test]
fn entry_of_another_program_needs_force() {
    let fixture = Fixture::new();
    let text = "{\"mcpServers\": {\"gongfu\": {\"command\": \"/opt/other\", \"args\": [\"serve\"], \"env\": {\"TOKEN\": \"x\"}}}}";
    fixture.write("user/.cursor/mcp.json", text);
    for verb in ["install", "uninstall"] {
        let ran = fixture.gongfu(["client", verb, "cursor"]).ends(1);
        assert!(
            ran.stderr.contains("FOREIGN_ENTRY")
                && ran.stderr.contains("/opt/other serve")
                && ran.stderr.contains("--force"),
            "{}",
            ran.stderr
        );
        assert_eq!(fixture.read("user/.cursor/mcp.json"), text);
    }
    let said = install(&fixture, "cursor", &["--force"]).text();
    assert!(
        said.contains("replaced") && said.contains("/opt/other serve"),
        "{said}"
    );
    let now: Value = serde_json::from_str(&fixture.read("user/.cursor/mcp.json")).unwrap();
    assert_eq!(
        at(&now, "/mcpServers/gongfu"),
        &json!({ "command": env!("CARGO_BIN_EXE_gongfu"), "args": ["mcp"] })
    );
    uninstall(&fixture, "cursor", &[]);
    assert_eq!(
        fixture.read("user/.cursor/mcp.json"),
        text,
        "what was replaced is back"
    );
    // gongfu of another place is ours.
    fixture.write(
        "user/.cursor/mcp.json",
        "{\"mcpServers\": {\"gongfu\": {\"command\": \"/old/gongfu\", \"args\": [\"mcp\"]}}}",
    );
    let said = install(&fixture, "cursor", &[]).text();
    assert!(said.contains("updated"), "{said}");
}

#[test]
fn changed_transport_drops_the_settings_of_the_old_one() {
    let fixture = Fixture::new();
    let file = "user/.codex/config.toml";
    let program = "[mcp_servers.gongfu]\ncommand = \"gongfu\"\nargs = [\"mcp\"]\nstartup_timeout_sec = 5\n\n[mcp_servers.gongfu.env]\nRUST_LOG = \"debug\"\n";
    fixture.write(file, program);
    let said = install(&fixture, "codex", &["--http"]).text();
    assert!(
        said.contains("removed settings") && said.contains("env"),
        "{said}"
    );
    let now = fixture.read(file);
    assert!(
        now.contains("url = ") && now.contains("startup_timeout_sec = 5"),
        "{now}"
    );
    assert!(!now.contains("env") && !now.contains("command"), "{now}");
    fixture.write(
        file,
        "[mcp_servers.gongfu]\nurl = \"http://127.0.0.1:7878/mcp\"\nbearer_token_env_var = \"T\"\n",
    );
    install(&fixture, "codex", &[]);
    let now = fixture.read(file);
    assert!(
        now.contains("command") && !now.contains("bearer") && !now.contains("url"),
        "{now}"
    );
}

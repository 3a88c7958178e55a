//! The token of the server in configurations: in those of a person alone.

use std::os::unix::fs::PermissionsExt as _;

use gongfu_testing::json::text_at;

use super::{CASES, install, uninstall};
use crate::fixture::Fixture;

const HTTP: &str = "--http";

fn mode(fixture: &Fixture, file: &str) -> u32 {
    let metadata = std::fs::metadata(fixture.path(file)).unwrap();
    metadata.permissions().mode() & 0o777
}

#[test]
fn token_is_written_for_a_person_and_never_for_a_project() {
    for case in CASES.iter().filter(|case| case.name != "claude-desktop") {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("project/.git")).unwrap();
        fixture.write(case.file, case.text);
        let is_for_person = case.scope == "user";
        let scope = [HTTP, "--scope", case.scope];
        let diff = install(&fixture, case.name, &[&scope[..], &["--dry-run"]].concat()).text();
        assert_eq!(diff.contains("Bearer TOKEN"), is_for_person, "{diff}");
        assert!(!fixture.path("home/token").exists());

        let said = install(&fixture, case.name, &scope).text();
        assert_eq!(
            said.contains("contains your server's token"),
            is_for_person,
            "{said}"
        );
        assert_eq!(
            said.contains("without your server's token"),
            !is_for_person,
            "{said}"
        );
        let text = fixture.read(case.file);
        assert_eq!(fixture.path("home/token").exists(), is_for_person);
        if is_for_person {
            let header = format!("\"Bearer {}\"", fixture.read("home/token"));
            assert!(text.contains(&header), "{text}");
            assert_eq!(mode(&fixture, case.file), 0o600, "{}", case.name);
        } else {
            assert!(!text.contains("Bearer"), "{text}");
        }
        let said = install(&fixture, case.name, &scope).text();
        assert!(said.contains("already added"), "{said}");
        assert!(!said.contains("token"), "{said}");
        uninstall(&fixture, case.name, &["--scope", case.scope]);
        assert_eq!(fixture.read(case.file), case.text, "{}", case.name);
    }
}

#[test]
fn new_file_with_the_token_is_private_and_a_new_token_is_entered() {
    let fixture = Fixture::new();
    let file = "user/.codex/config.toml";
    install(&fixture, "codex", &[HTTP]);
    assert_eq!(mode(&fixture, file), 0o600);
    assert!(fixture.read(file).contains("http_headers"));
    let old = fixture.read("home/token");
    std::fs::remove_file(fixture.path("home/token")).unwrap();
    let said = install(&fixture, "codex", &[HTTP]).text();
    assert!(said.contains("updated"), "{said}");
    let text = fixture.read(file);
    assert!(!text.contains(&old) && text.contains(&fixture.read("home/token")));
}

#[test]
fn token_goes_to_this_machine_alone_and_replaces_nothing_of_a_person() {
    for address in [
        "http://192.0.2.1:7878/mcp",
        "https://skills.example.com/mcp",
        "http://127.0.0.1@evil.example/mcp",
        "http://127.0.0.1:80@evil.example/mcp",
        "http://127.0.0.1.evil.example/mcp",
        "http://localhost.evil.example:7878/mcp",
        "http://localhost\\@evil.example/mcp",
    ] {
        let fixture = Fixture::new();
        let said = install(&fixture, "cursor", &[HTTP, address]).text();
        assert!(said.contains("add that server's own"), "{said}");
        assert!(!fixture.read("user/.cursor/mcp.json").contains("Bearer"));
    }
    for address in [
        "http://localhost:1/mcp",
        "http://[::1]:7878/mcp",
        "http://127.0.0.1/mcp",
    ] {
        let fixture = Fixture::new();
        install(&fixture, "cursor", &[HTTP, address]);
        assert!(fixture.read("user/.cursor/mcp.json").contains("Bearer"));
    }
    let fixture = Fixture::new();
    let mine = r#"{"mcpServers": {"gongfu": {"url": "http://x/mcp", "headers": {"authorization": "Bearer mine"}}}}"#;
    fixture.write("user/.cursor/mcp.json", mine);
    let said = install(&fixture, "cursor", &[HTTP]).text();
    assert!(
        said.contains("your own `Authorization` header was kept"),
        "{said}"
    );
    let now = serde_json::from_str(&fixture.read("user/.cursor/mcp.json")).unwrap();
    let entry = "/mcpServers/gongfu/headers/authorization";
    assert_eq!(text_at(&now, entry), "Bearer mine");
}

#[test]
fn token_does_not_move_to_another_server() {
    let fixture = Fixture::new();
    let file = "user/.cursor/mcp.json";
    let far = "https://skills.example.com/mcp";
    install(&fixture, "cursor", &[HTTP]);
    let token = fixture.read("home/token");
    assert!(fixture.read(file).contains(&token));
    install(&fixture, "cursor", &[HTTP, far]);
    let text = fixture.read(file);
    assert!(text.contains(far) && !text.contains("headers"), "{text}");
    // The one of that server, which a person added, stays there and goes nowhere else.
    let theirs = "0f".repeat(32);
    let mine = format!(
        "{{\"mcpServers\": {{\"gongfu\": {{\"url\": \"{far}\", \"headers\": {{\"X\": \"y\", \"Authorization\": \"Bearer {theirs}\"}}}}}}}}"
    );
    fixture.write(file, &mine);
    install(&fixture, "cursor", &[HTTP, far]);
    assert_eq!(fixture.read(file), mine);
    install(&fixture, "cursor", &[HTTP]);
    let text = fixture.read(file);
    assert!(text.contains(&token) && !text.contains(&theirs), "{text}");
    install(&fixture, "cursor", &["--stdio"]);
    assert!(!fixture.read(file).contains(&token));
}

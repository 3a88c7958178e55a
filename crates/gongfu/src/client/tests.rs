//! The table of clients: files on each platform, entries, and what an update keeps.

use std::path::PathBuf;

use serde_json::json;

use super::folders::{Folders, Platform};
use super::transport::{Transport, merge};
use super::{CLIENTS, Scope};
use crate::environment::Environment;

/// The files of a person on each platform.
fn user_files(environment: &Environment, platforms: &[Platform]) -> Vec<String> {
    let mut lines = Vec::new();
    for platform in platforms {
        let folders = Folders {
            platform: *platform,
            user: PathBuf::from("~"),
            environment,
        };
        for client in &CLIENTS {
            let file = client.location_in(Scope::User, &folders).file.unwrap();
            lines.push(format!("{platform:?} {}: {}", client.id, file.display()));
        }
    }
    lines
}

#[test]
fn each_client_has_a_file_on_each_platform() {
    let environment = Environment {
        directory: Some(PathBuf::from("/gongfu-project")),
        ..Environment::default()
    };
    let platforms = [Platform::Linux, Platform::MacOs, Platform::Windows];
    let mut lines = user_files(&environment, &platforms);
    for client in &CLIENTS {
        let file = client.location(Scope::Project, &environment).file;
        lines.push(format!("project {}: {file:?}", client.id));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn variables_move_files() {
    let variables = [
        "APPDATA",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "FLATPAK_XDG_CONFIG_HOME",
        "GEMINI_CLI_HOME",
        "GOOSE_PATH_ROOT",
        "VSCODE_APPDATA",
        "XDG_CONFIG_HOME",
    ];
    let environment = Environment {
        client_folders: variables
            .map(|name| (name, PathBuf::from(format!("/{name}"))))
            .into(),
        ..Environment::default()
    };
    let lines = user_files(&environment, &[Platform::Linux, Platform::Windows]);
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn ids_are_sorted_and_entries_are_understood() {
    let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    assert!(
        ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]),
        "{ids:?}"
    );
    let transports = [
        Transport::Stdio {
            command: "/a b/gongfu".to_owned(),
            arguments: vec!["mcp".to_owned(), "--profile".to_owned(), "all".to_owned()],
        },
        Transport::Http {
            url: super::DEFAULT_URL.to_owned(),
        },
    ];
    for client in &CLIENTS {
        for transport in &transports {
            for path in client.paths {
                let entry = (client.entry)(transport, path);
                assert_eq!(
                    Transport::from_entry(&entry).as_ref(),
                    Some(transport),
                    "{}",
                    client.id
                );
                assert_eq!(merge(&entry, entry.clone()), (entry, Vec::new()));
                assert!(transport.is_gongfu());
            }
        }
    }
}

#[test]
fn merge_keeps_what_fits_the_transport() {
    let program = json!({ "type": "stdio", "command": "/old", "args": ["mcp"], "env": { "A": "b" }, "timeout": 5 });
    let newer = json!({ "type": "stdio", "command": "/new", "args": ["mcp"], "timeout": 300 });
    assert_eq!(
        merge(&program, newer),
        (
            json!({ "type": "stdio", "command": "/new", "args": ["mcp"], "env": { "A": "b" }, "timeout": 5 }),
            Vec::new()
        )
    );
    // Some clients refuse a file that has the settings of a program beside an address.
    let address =
        json!({ "type": "http", "url": "http://x/mcp", "headers": { "A": "b" }, "timeout": 300 });
    assert_eq!(
        merge(&program, address.clone()),
        (
            json!({ "type": "http", "timeout": 5, "url": "http://x/mcp", "headers": { "A": "b" } }),
            vec!["env".to_owned()]
        )
    );
    assert_eq!(
        merge(&address, program),
        (
            json!({ "type": "stdio", "timeout": 300, "command": "/old", "args": ["mcp"], "env": { "A": "b" } }),
            vec!["headers".to_owned()]
        )
    );
}

#[test]
fn merge_keeps_switches() {
    for client in &CLIENTS {
        for path in client.paths {
            let transport = |command: &str| Transport::Stdio {
                command: command.to_owned(),
                arguments: vec!["mcp".to_owned()],
            };
            let new = (client.entry)(&transport("/new/gongfu"), path);
            for (name, value) in [("enabled", false), ("enabled", true), ("disabled", true)] {
                let mut old = (client.entry)(&transport("/old/gongfu"), path);
                old[name] = value.into();
                let (merged, dropped) = merge(&old, new.clone());
                assert_eq!(merged[name], json!(value), "{}", client.id);
                assert_eq!(
                    Transport::from_entry(&merged),
                    Transport::from_entry(&new),
                    "{}",
                    client.id
                );
                assert!(dropped.is_empty());
            }
        }
    }
}

//! The clients that gongfu knows: all that is known of each. A new one is an entry of this table.
//!
//! Knows where files are and what belongs in them, and nothing of how they are changed.

use serde_json::{Value, json};

use super::format::Format;
use super::place::Platform;
use super::server::Server;
use super::{Client, Files};

/// Every client, by name.
pub(crate) const CLIENTS: [Client; 10] = [
    Client {
        id: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        paths: &[&["mcpServers"]],
        files: |places| match places.named("CLAUDE_CONFIG_DIR") {
            Some(folder) => Files::one(folder.join(".claude.json"), &[&folder]),
            None => Files::one(
                places.user.join(".claude.json"),
                &[&places.user.join(".claude")],
            ),
        },
        project: &[".mcp.json"],
        entry: |server, _| match server {
            Server::Stdio { command, arguments } => {
                json!({ "type": "stdio", "command": command, "args": arguments })
            }
            Server::Http { url } => json!({ "type": "http", "url": url }),
        },
        no_http: None,
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        paths: &[&["mcpServers"]],
        files: |places| {
            let folder = places.applications().join("Claude");
            Files::one(folder.join("claude_desktop_config.json"), &[&folder])
        },
        project: &[],
        entry: |server, _| plain(server, "url"),
        no_http: Some(
            "its file takes programs alone: leave --http out, or add the address in Claude Desktop under Settings, Connectors",
        ),
    },
    Client {
        id: "codex",
        title: "Codex",
        format: Format::Toml,
        paths: &[&["mcp_servers"]],
        files: |places| {
            let folder = places
                .named("CODEX_HOME")
                .unwrap_or_else(|| places.user.join(".codex"));
            Files::one(folder.join("config.toml"), &[&folder])
        },
        project: &[".codex/config.toml"],
        entry: |server, _| plain(server, "url"),
        no_http: None,
    },
    Client {
        id: "cursor",
        title: "Cursor",
        format: Format::Json,
        paths: &[&["mcpServers"]],
        files: |places| {
            let folder = places.user.join(".cursor");
            Files::one(folder.join("mcp.json"), &[&folder])
        },
        project: &[".cursor/mcp.json"],
        entry: |server, _| plain(server, "url"),
        no_http: None,
    },
    Client {
        id: "gemini-cli",
        title: "Gemini CLI",
        format: Format::Json,
        paths: &[&["mcpServers"]],
        files: |places| {
            let home = places
                .named("GEMINI_CLI_HOME")
                .unwrap_or_else(|| places.user.clone());
            let folder = home.join(".gemini");
            Files::one(folder.join("settings.json"), &[&folder])
        },
        project: &[".gemini/settings.json"],
        // `url` alone would mean the older transport, server-sent events.
        entry: |server, _| plain(server, "httpUrl"),
        no_http: None,
    },
    Client {
        id: "goose",
        title: "goose",
        format: Format::Yaml,
        paths: &[&["extensions"]],
        files: |places| {
            let folder = match (places.named("GOOSE_PATH_ROOT"), places.platform) {
                (Some(root), _) => root.join("config"),
                (None, Platform::Windows) => places
                    .applications()
                    .join("Block")
                    .join("goose")
                    .join("config"),
                (None, _) => places.config().join("goose"),
            };
            Files::one(folder.join("config.yaml"), &[&folder])
        },
        project: &[],
        entry: |server, _| {
            let about = "Agent Skills: find, load and use them";
            match server {
                Server::Stdio { command, arguments } => json!({
                    "enabled": true, "type": "stdio", "name": "gongfu", "description": about,
                    "cmd": command, "args": arguments, "timeout": 300,
                }),
                Server::Http { url } => json!({
                    "enabled": true, "type": "streamable_http", "name": "gongfu",
                    "description": about, "uri": url, "timeout": 300,
                }),
            }
        },
        no_http: None,
    },
    Client {
        id: "opencode",
        title: "opencode",
        format: Format::Json,
        // Its second version has a level more, and reads the shape of the first as well.
        paths: &[&["mcp", "servers"], &["mcp"]],
        files: |places| {
            let folder = places.config().join("opencode");
            let names = ["opencode.json", "opencode.jsonc", "config.json"];
            Files {
                candidates: names.iter().map(|name| folder.join(name)).collect(),
                signs: vec![folder],
            }
        },
        project: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        entry: |server, path| {
            let mut entry = match server {
                Server::Stdio { command, arguments } => {
                    let words: Vec<&String> = std::iter::once(command).chain(arguments).collect();
                    json!({ "type": "local", "command": words })
                }
                Server::Http { url } => json!({ "type": "remote", "url": url }),
            };
            if let (Value::Object(entry), [_]) = (&mut entry, path) {
                entry.insert("enabled".to_owned(), true.into());
            }
            entry
        },
        no_http: None,
    },
    Client {
        id: "vscode",
        title: "VS Code",
        format: Format::Json,
        paths: &[&["servers"]],
        files: |places| {
            let portable = places
                .named("VSCODE_PORTABLE")
                .map(|folder| folder.join("user-data"));
            let folder = portable
                .or_else(|| Some(places.named("VSCODE_APPDATA")?.join("Code")))
                .unwrap_or_else(|| places.applications().join("Code"))
                .join("User");
            Files::one(folder.join("mcp.json"), &[&folder])
        },
        project: &[".vscode/mcp.json"],
        entry: |server, _| match server {
            Server::Stdio { command, arguments } => {
                json!({ "type": "stdio", "command": command, "args": arguments })
            }
            Server::Http { url } => json!({ "type": "http", "url": url }),
        },
        no_http: None,
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        paths: &[&["mcpServers"]],
        files: |places| {
            let folder = places.user.join(".codeium").join("windsurf");
            Files::one(folder.join("mcp_config.json"), &[&folder])
        },
        project: &[],
        entry: |server, _| plain(server, "serverUrl"),
        no_http: None,
    },
    Client {
        id: "zed",
        title: "Zed",
        format: Format::Json,
        paths: &[&["context_servers"]],
        files: |places| {
            let folder = match places.platform {
                Platform::Linux => places
                    .named("FLATPAK_XDG_CONFIG_HOME")
                    .unwrap_or_else(|| places.config())
                    .join("zed"),
                Platform::MacOs => places.user.join(".config").join("zed"),
                Platform::Windows => places.applications().join("Zed"),
            };
            Files::one(folder.join("settings.json"), &[&folder])
        },
        project: &[".zed/settings.json"],
        entry: |server, _| plain(server, "url"),
        no_http: None,
    },
];

/// The entry that most clients take; they differ in what they call an address.
fn plain(server: &Server, address: &str) -> Value {
    match server {
        Server::Stdio { command, arguments } => json!({ "command": command, "args": arguments }),
        Server::Http { url } => json!({ address: url }),
    }
}

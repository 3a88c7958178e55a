//! All that gongfu knows of each client: where its files are and what belongs in them.
//!
//! A new client is an entry of this table.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::folders::{Folders, Platform};
use super::format::Format;
use super::link;
use super::transport::Transport;

/// The name of the entry.
pub(super) const NAME: &str = "gongfu";

/// A program that speaks MCP.
pub(crate) struct Client {
    /// The name on the command line.
    pub(crate) id: &'static str,
    /// The name for people.
    pub(crate) title: &'static str,
    pub(super) format: Format,
    /// The paths that the entry may be at. The first whose shape a file has counts, else the last.
    pub(super) paths: &'static [&'static [&'static str]],
    /// The folder that a person's file is in. An installed client has one of its own.
    pub(super) folder: fn(&Folders<'_>) -> PathBuf,
    /// The names that a person's file may have there. The first with an entry counts, else the first
    /// that exists, else the first is created.
    pub(super) files: &'static [&'static str],
    /// The paths that a project's file may have below its root, by the same rule.
    pub(super) project: &'static [&'static str],
    /// The entry for one of the paths.
    pub(super) entry: fn(&Transport, &[&str]) -> Value,
    /// The field for the headers that it sends to an address.
    pub(super) headers: &'static str,
    /// Advice for a client that takes no address in its file.
    pub(super) no_http: Option<&'static str>,
    /// Makes a link of the entry that the client opens to add it.
    pub(super) link: Option<fn(&Value) -> String>,
}

impl Client {
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }
}

/// The common ground of most clients.
const DEFAULTS: Client = Client {
    id: "",
    title: "",
    format: Format::Json,
    paths: &[&["mcpServers", NAME]],
    folder: |folders| folders.user.clone(),
    files: &[],
    project: &[],
    entry: |transport, _| plain(transport, "url"),
    headers: "headers",
    no_http: None,
    link: None,
};

/// All clients, by id.
pub(crate) const CLIENTS: [Client; 10] = [
    Client {
        id: "claude-code",
        title: "Claude Code",
        folder: |folders| folders.variable_or("CLAUDE_CONFIG_DIR", || folders.user.clone()),
        files: &[".claude.json"],
        project: &[".mcp.json"],
        entry: |transport, _| typed(transport),
        ..DEFAULTS
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        folder: |folders| folders.applications().join("Claude"),
        files: &["claude_desktop_config.json"],
        no_http: Some(
            "its file takes programs only: omit --http, or add the URL in Claude Desktop under Settings, Connectors",
        ),
        ..DEFAULTS
    },
    Client {
        id: "codex",
        title: "Codex",
        format: Format::Toml,
        paths: &[&["mcp_servers", NAME]],
        folder: |folders| folders.variable_or("CODEX_HOME", || folders.user.join(".codex")),
        files: &["config.toml"],
        project: &[".codex/config.toml"],
        headers: "http_headers",
        ..DEFAULTS
    },
    Client {
        id: "cursor",
        title: "Cursor",
        folder: |folders| folders.user.join(".cursor"),
        files: &["mcp.json"],
        project: &[".cursor/mcp.json"],
        link: Some(link::cursor),
        ..DEFAULTS
    },
    Client {
        id: "gemini-cli",
        title: "Gemini CLI",
        folder: |folders| {
            let home = folders.variable_or("GEMINI_CLI_HOME", || folders.user.clone());
            home.join(".gemini")
        },
        files: &["settings.json"],
        project: &[".gemini/settings.json"],
        // `url` means the older transport, server-sent events.
        entry: |transport, _| plain(transport, "httpUrl"),
        ..DEFAULTS
    },
    Client {
        id: "goose",
        title: "goose",
        format: Format::Yaml,
        paths: &[&["extensions", NAME]],
        folder: |folders| match (folders.variable("GOOSE_PATH_ROOT"), folders.platform) {
            (Some(root), _) => root.join("config"),
            (None, Platform::Windows) => folders
                .applications()
                .join("Block")
                .join("goose")
                .join("config"),
            (None, _) => folders.config().join("goose"),
        },
        files: &["config.yaml"],
        entry: |transport, _| {
            let about = "Agent Skills: find, load and use them";
            match transport {
                Transport::Stdio { command, arguments } => json!({
                    "enabled": true, "type": "stdio", "name": "gongfu", "description": about,
                    "cmd": command, "args": arguments, "timeout": 300,
                }),
                Transport::Http { url } => json!({
                    "enabled": true, "type": "streamable_http", "name": "gongfu",
                    "description": about, "uri": url, "timeout": 300,
                }),
            }
        },
        ..DEFAULTS
    },
    Client {
        id: "opencode",
        title: "opencode",
        // The second version has a level more; it also reads the shape of the first.
        paths: &[&["mcp", "servers", NAME], &["mcp", NAME]],
        folder: |folders| folders.config().join("opencode"),
        files: &["opencode.json", "opencode.jsonc", "config.json"],
        project: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        entry: |transport, path| {
            let mut entry = match transport {
                Transport::Stdio { command, arguments } => {
                    let words: Vec<&String> = std::iter::once(command).chain(arguments).collect();
                    json!({ "type": "local", "command": words })
                }
                Transport::Http { url } => json!({ "type": "remote", "url": url }),
            };
            if let (Value::Object(entry), [_, _]) = (&mut entry, path) {
                entry.insert("enabled".to_owned(), true.into());
            }
            entry
        },
        ..DEFAULTS
    },
    Client {
        id: "vscode",
        title: "VS Code",
        paths: &[&["servers", NAME]],
        folder: |folders| {
            let portable = folders.variable("VSCODE_PORTABLE");
            let portable = portable.map(|folder| folder.join("user-data"));
            let settings = || folders.variable_or("VSCODE_APPDATA", || folders.applications());
            let data = portable.unwrap_or_else(|| settings().join("Code"));
            data.join("User")
        },
        files: &["mcp.json"],
        project: &[".vscode/mcp.json"],
        link: Some(link::vscode),
        entry: |transport, _| typed(transport),
        ..DEFAULTS
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        folder: |folders| folders.user.join(".codeium").join("windsurf"),
        files: &["mcp_config.json"],
        entry: |transport, _| plain(transport, "serverUrl"),
        ..DEFAULTS
    },
    Client {
        id: "zed",
        title: "Zed",
        paths: &[&["context_servers", NAME]],
        folder: |folders| match folders.platform {
            Platform::Linux => {
                let config = folders.variable_or("FLATPAK_XDG_CONFIG_HOME", || folders.config());
                config.join("zed")
            }
            Platform::MacOs => folders.user.join(".config").join("zed"),
            Platform::Windows => folders.applications().join("Zed"),
        },
        files: &["settings.json"],
        project: &[".zed/settings.json"],
        ..DEFAULTS
    },
];

/// The entry that most clients take. They differ in the field for an address.
fn plain(transport: &Transport, address: &str) -> Value {
    match transport {
        Transport::Stdio { command, arguments } => json!({ "command": command, "args": arguments }),
        Transport::Http { url } => json!({ address: url }),
    }
}

/// An entry with the kind of transport.
fn typed(transport: &Transport) -> Value {
    match transport {
        Transport::Stdio { command, arguments } => {
            json!({ "type": "stdio", "command": command, "args": arguments })
        }
        Transport::Http { url } => json!({ "type": "http", "url": url }),
    }
}

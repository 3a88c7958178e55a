//! The clients that gongfu knows: where each keeps its configuration, and what to paste there.

use std::path::{Path, PathBuf};

use gongfu_store::disk;

/// A program that speaks MCP.
pub(crate) struct Client {
    /// What people call it.
    pub(crate) name: &'static str,
    /// Its configuration, relative to the home folder; the first that exists counts.
    files: &'static [&'static str],
}

/// Every client that is looked for.
pub(crate) const CLIENTS: [Client; 10] = [
    Client {
        name: "Claude Desktop",
        files: &[
            "Library/Application Support/Claude/claude_desktop_config.json",
            "AppData/Roaming/Claude/claude_desktop_config.json",
            ".config/Claude/claude_desktop_config.json",
        ],
    },
    Client {
        name: "Claude Code",
        files: &[".claude.json", ".claude"],
    },
    Client {
        name: "Cursor",
        files: &[".cursor/mcp.json", ".cursor"],
    },
    Client {
        name: "VS Code",
        files: &[
            "Library/Application Support/Code/User",
            "AppData/Roaming/Code/User",
            ".config/Code/User",
        ],
    },
    Client {
        name: "Codex",
        files: &[".codex/config.toml", ".codex"],
    },
    Client {
        name: "Gemini CLI",
        files: &[".gemini/settings.json", ".gemini"],
    },
    Client {
        name: "goose",
        files: &[
            ".config/goose/config.yaml",
            "AppData/Roaming/Block/goose/config/config.yaml",
        ],
    },
    Client {
        name: "opencode",
        files: &[".config/opencode/opencode.json", ".config/opencode"],
    },
    Client {
        name: "Windsurf",
        files: &[".codeium/windsurf/mcp_config.json", ".codeium/windsurf"],
    },
    Client {
        name: "Zed",
        files: &[
            ".config/zed/settings.json",
            "Library/Application Support/Zed",
        ],
    },
];

impl Client {
    /// Where its configuration is, when it is installed.
    pub(crate) fn found(&self, user: &Path) -> Option<PathBuf> {
        self.files
            .iter()
            .map(|file| user.join(file))
            .find(|path| disk::kind_outside(path).is_some())
    }
}

/// The path of this program, for a configuration.
pub(crate) fn program() -> String {
    std::env::current_exe().map_or_else(
        |_| "gongfu".to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// The configuration that most clients take, to be pasted.
pub(crate) fn snippet(program: &str) -> String {
    let configuration =
        serde_json::json!({ "mcpServers": { "gongfu": { "command": program, "args": ["mcp"] } } });
    format!("{configuration:#}")
}

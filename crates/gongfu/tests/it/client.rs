//! `gongfu client` on prepared files of every client.

mod files;
mod install;
mod output;
#[cfg(unix)]
mod token;
mod update;

use crate::fixture::{Fixture, Ran};

/// A client with a file of its own style.
struct Case {
    name: &'static str,
    scope: &'static str,
    file: &'static str,
    text: &'static str,
    /// Somebody's edit while gongfu is entered: a place, and what is added after it.
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

fn install(fixture: &Fixture, name: &str, more: &[&str]) -> Ran {
    fixture
        .gongfu([&["client", "install", name], more].concat())
        .good()
}

fn uninstall(fixture: &Fixture, name: &str, more: &[&str]) -> Ran {
    fixture
        .gongfu([&["client", "uninstall", name], more].concat())
        .good()
}

/// Output without the paths of this machine.
fn shown(fixture: &Fixture, text: &str) -> String {
    text.replace(env!("CARGO_BIN_EXE_gongfu"), "[gongfu]")
        .replace(
            fixture.path("").to_str().unwrap().trim_end_matches('/'),
            "[world]",
        )
}

"""The plugin for Claude Code, Codex and Cursor, and the marketplaces that list it.

A marketplace is a Git repository, so these files are committed; `check` compares them with what is written here.
"""

from __future__ import annotations

import json
import sys

from release import AUTHOR, DESCRIPTION, KEYWORDS, LICENSE, NAME, REPOSITORY, TITLE, URL, VERSION

PLUGIN = f"plugins/{NAME}"
SERVERS = ".mcp.json"

# The program that is installed, else one from a package manager: a plugin can't install one itself.
START = (
    "command -v gongfu >/dev/null && exec gongfu mcp; "
    "command -v npx >/dev/null && exec npx -y gongfu mcp; "
    "exec uvx gongfu mcp"
)

COMMON = {
    "name": NAME,
    "version": VERSION,
    "description": DESCRIPTION,
    "author": AUTHOR,
    "homepage": URL,
    "repository": URL,
    "license": LICENSE,
    "keywords": KEYWORDS,
}
LISTED = {"name": NAME, "description": DESCRIPTION}

FILES = {
    f"{PLUGIN}/{SERVERS}": {"mcpServers": {NAME: {"command": "sh", "args": ["-c", START]}}},
    f"{PLUGIN}/.claude-plugin/plugin.json": COMMON,
    f"{PLUGIN}/.codex-plugin/plugin.json": {
        **COMMON,
        "skills": "./skills/",
        "mcpServers": f"./{SERVERS}",
        "interface": {
            "displayName": TITLE,
            "shortDescription": DESCRIPTION,
            "developerName": AUTHOR["name"],
            "category": "Developer Tools",
            "websiteURL": URL,
        },
    },
    f"{PLUGIN}/.cursor-plugin/plugin.json": {
        **COMMON,
        "author": {"name": AUTHOR["name"]},
        "skills": "./skills/",
        "mcpServers": f"./{SERVERS}",
    },
    ".claude-plugin/marketplace.json": {
        "name": NAME,
        "owner": AUTHOR,
        "metadata": {"description": DESCRIPTION},
        "plugins": [{**LISTED, "source": f"./{PLUGIN}"}],
    },
    ".agents/plugins/marketplace.json": {
        "name": NAME,
        "interface": {"displayName": TITLE},
        "plugins": [
            {
                "name": NAME,
                "source": {"source": "local", "path": f"./{PLUGIN}"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Developer Tools",
            }
        ],
    },
    ".cursor-plugin/marketplace.json": {
        "name": NAME,
        "owner": {"name": AUTHOR["name"]},
        "metadata": {"description": DESCRIPTION},
        "plugins": [{**LISTED, "source": PLUGIN}],
    },
}


def check(fix: bool) -> int:
    """Compares the files with what they should hold, or writes them."""
    stale = []
    for name, value in FILES.items():
        file = REPOSITORY / name
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        if not file.exists() or file.read_text() != text:
            stale.append(name)
            if fix:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
    if stale and not fix:
        print(f"error: stale: {', '.join(stale)}\n  hint: run `python3 scripts/dist check --fix`", file=sys.stderr)
    return 1 if stale and not fix else 0

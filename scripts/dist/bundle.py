"""The `.mcpb` bundle, which Claude Desktop installs by a double click."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from release import (
    AUTHOR, DESCRIPTION, DIST, KEYWORDS, LICENSE, NAME, REPOSITORY, TITLE, URL, VERSION, Build, run, tool,
)


def pack(build: Build) -> list[Path]:
    folder = build.folder("mcpb")
    build.put_program(folder / "server", "bundle")
    shutil.copy(REPOSITORY / "LICENSE", folder)
    program = f"server/{NAME}"
    manifest = {
        "manifest_version": "0.3",
        "name": NAME,
        "display_name": TITLE,
        "version": VERSION,
        "description": DESCRIPTION,
        "author": AUTHOR,
        "repository": {"type": "git", "url": f"{URL}.git"},
        "homepage": URL,
        "license": LICENSE,
        "keywords": KEYWORDS,
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {"command": f"${{__dirname}}/{program}", "args": ["mcp"], "env": {}},
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": [build.platform.system]},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    bundle = DIST / f"{NAME}-{build.platform.target}.mcpb"
    run(tool("mcpb"), "validate", folder / "manifest.json")
    run(tool("mcpb"), "pack", folder, bundle)
    return [bundle]

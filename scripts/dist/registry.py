"""The `server.json` of the MCP Registry: where each kind of package is."""

from __future__ import annotations

import json
from pathlib import Path

from release import (
    DESCRIPTION, DIST, DOWNLOADS, IMAGE, NAME, PLATFORMS, REGISTRY_NAME, TITLE, URL, VERSION, Failed, digest,
)

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
MAX_DESCRIPTION = 100


def join() -> list[Path]:
    start = {"transport": {"type": "stdio"}, "packageArguments": [{"type": "positional", "value": "mcp"}]}
    packages = [
        {"registryType": "pypi", "identifier": NAME, "version": VERSION, "runtimeHint": "uvx", **start},
        {"registryType": "npm", "identifier": NAME, "version": VERSION, "runtimeHint": "npx", **start},
        {"registryType": "oci", "identifier": f"{IMAGE}:{VERSION}", "runtimeHint": "docker", **start},
    ]
    for platform in PLATFORMS:
        bundle = DIST / f"{NAME}-{platform.target}.mcpb"
        if bundle.exists():
            address = f"{DOWNLOADS}/{bundle.name}"
            packages.append(
                {
                    "registryType": "mcpb",
                    "identifier": address,
                    "fileSha256": digest(bundle),
                    "transport": {"type": "stdio"},
                }
            )
    server = {
        "$schema": SCHEMA,
        "name": REGISTRY_NAME,
        "title": TITLE,
        "description": DESCRIPTION,
        "repository": {"url": URL, "source": "github"},
        "version": VERSION,
        "packages": packages,
    }
    # The whole schema is checked by `mcp-publisher validate` in the release; this is what an edit here can break.
    if len(DESCRIPTION) > MAX_DESCRIPTION:
        raise Failed(f"the MCP Registry takes {MAX_DESCRIPTION} characters of description, not {len(DESCRIPTION)}")
    (DIST / "server.json").write_text(json.dumps(server, indent=2) + "\n")
    return [DIST / "server.json"]


"""The packages for npm: a small one that everybody installs, and one with the program for each platform.

npm installs the optional dependency that fits the machine. No install script is run.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from release import (
    AUTHOR, DESCRIPTION, DIST, FILES, KEYWORDS, LICENSE, NAME, NPM_SCOPE, PLATFORMS, REGISTRY_NAME, REPOSITORY, URL,
    VERSION, Build, run, tool,
)

COMMON = {
    "version": VERSION,
    "license": LICENSE,
    "author": AUTHOR,
    "homepage": URL,
    "repository": {"type": "git", "url": f"git+{URL}.git"},
    "publishConfig": {"access": "public"},
}


def pack(build: Build) -> list[Path]:
    platform = build.platform
    folder = build.folder("npm-platform")
    build.put_program(folder / "bin")
    manifest = {
        "name": platform.npm,
        "description": f"The program of {NAME} for {platform.system} {platform.cpu}",
        **COMMON,
        "os": [platform.system],
        "cpu": [platform.cpu],
        # The program needs glibc; npm leaves it out where musl is.
        **({"libc": ["glibc"]} if platform.system == "linux" else {}),
        "files": ["bin/"],
        "preferUnplugged": True,
    }
    (folder / "README.md").write_text(f"The program of [{NAME}]({URL}) for one platform. Install `{NAME}` instead.\n")
    main = build.folder("npm-main")
    (main / "bin").mkdir()
    launcher = (FILES / "launcher.js").read_text().replace("@SCOPE@", NPM_SCOPE)
    (main / "bin" / "gongfu.js").write_text(launcher)
    (main / "bin" / "gongfu.js").chmod(0o755)
    shutil.copy(REPOSITORY / "README.md", main)
    main_manifest = {
        "name": NAME,
        "description": DESCRIPTION,
        "mcpName": REGISTRY_NAME,
        "keywords": KEYWORDS,
        **COMMON,
        "bin": {NAME: "bin/gongfu.js"},
        "files": ["bin/"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {one.npm: VERSION for one in PLATFORMS},
    }
    return [packed(folder, manifest), packed(main, main_manifest)]


def packed(folder: Path, manifest: dict[str, object]) -> Path:
    """A folder as `npm publish` would send it."""
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    shutil.copy(REPOSITORY / "LICENSE", folder)
    run(tool("npm"), "pack", folder, "--pack-destination", DIST, "--ignore-scripts")
    name = str(manifest["name"]).lstrip("@").replace("/", "-")
    return DIST / f"{name}-{VERSION}.tgz"

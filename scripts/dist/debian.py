"""The package for Debian and Ubuntu, with units of systemd that nothing enables by itself."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from release import (
    AUTHOR, DESCRIPTION, DIST, FAST, FILES, LICENSE, NAME, REPOSITORY, URL, VERSION, Build, run, timestamp, tool,
)

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/gongfu",
    "zsh": "usr/share/zsh/vendor-completions/_gongfu",
    "fish": "usr/share/fish/vendor_completions.d/gongfu.fish",
}
# What systemd needs to be told, where it runs.
SCRIPTS = {
    "postinst": "if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi",
    "prerm": 'if [ -d /run/systemd/system ] && [ "$1" = remove ]; then systemctl stop gongfu.service; fi',
    "postrm": """if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then rm -rf /var/lib/private/gongfu /var/lib/gongfu; fi""",
}


def pack(build: Build) -> list[Path]:
    if build.platform.debian is None:
        return []
    root = build.folder("deb")
    build.put_program(root / "usr/bin")
    for kind in ("system", "user"):
        units = root / "usr/lib/systemd" / kind
        units.mkdir(parents=True)
        shutil.copy(FILES / "systemd" / kind / "gongfu.service", units)
    for shell, place in COMPLETIONS.items():
        (root / place).parent.mkdir(parents=True)
        (root / place).write_text(build.output("completions", shell))
    documents = root / "usr/share/doc" / NAME
    documents.mkdir(parents=True)
    shutil.copy(REPOSITORY / "README.md", documents)
    with gzip.GzipFile(documents / "changelog.gz", "wb", 9, mtime=timestamp()) as changelog:
        changelog.write((REPOSITORY / "CHANGELOG.md").read_bytes())
    (documents / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        f"Upstream-Name: {NAME}\nSource: {URL}\n\nFiles: *\nCopyright: {AUTHOR['name']}\nLicense: {LICENSE}\n\n"
        f"License: {LICENSE}\n On Debian systems, the text is in /usr/share/common-licenses/{LICENSE}.\n"
    )
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
    control = root / "DEBIAN"
    control.mkdir()
    # A pre-release comes before its release.
    version = VERSION.replace("-", "~")
    (control / "control").write_text(
        f"Package: {NAME}\nVersion: {version}\nArchitecture: {build.platform.debian}\nSection: utils\n"
        f"Priority: optional\nMaintainer: {AUTHOR['name']} <gongfu@users.noreply.github.com>\nHomepage: {URL}\n"
        f"Depends: libc6 (>= 2.28)\nSuggests: bubblewrap, nodejs, python3\nInstalled-Size: {size // 1024}\n"
        f"Description: {DESCRIPTION[0].lower()}{DESCRIPTION[1:]}\n"
        " gongfu keeps a library of Agent Skills (folders with a SKILL.md), serves them to\n"
        " AI agents over MCP, and runs their scripts in a sandbox.\n"
    )
    for name, text in SCRIPTS.items():
        (control / name).write_text(f"#!/bin/sh\nset -e\n{text}\n")
        (control / name).chmod(0o755)
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    package = DIST / f"{NAME}_{version}_{build.platform.debian}.deb"
    run(tool("dpkg-deb"), "--root-owner-group", *(["-Zgzip", "-z1"] if FAST else ["-Zxz"]), "--build", root, package)
    return [package]

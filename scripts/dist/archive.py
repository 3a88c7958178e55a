"""The archives, their checksums, and the installer that uses both."""

from __future__ import annotations

import shutil
from pathlib import Path

from release import DIST, FILES, NAME, REPOSITORY, URL, Build, digest, write_archive

SHELLS = {"bash": "gongfu.bash", "zsh": "_gongfu", "fish": "gongfu.fish"}
SUMS = "SHA256SUMS"


def pack(build: Build) -> list[Path]:
    folder = build.folder(f"{NAME}-{build.platform.target}")
    build.put_program(folder)
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(REPOSITORY / name, folder)
    (folder / "completions").mkdir()
    for shell, name in SHELLS.items():
        (folder / "completions" / name).write_text(build.output("completions", shell))
    if build.platform.system == "linux":
        shutil.copytree(FILES / "systemd", folder / "systemd")
    # Without the version in its name it has the same address in each release.
    archive = DIST / f"{folder.name}.tar.gz"
    write_archive(folder, archive)
    return [archive]


def join() -> list[Path]:
    installer = DIST / "install.sh"
    installer.write_text((FILES / "install.sh").read_text().replace("@URL@", URL))
    installer.chmod(0o755)
    return [installer]


def write_sums() -> Path:
    """Writes the digests of all files beside it."""
    files = sorted(file for file in DIST.iterdir() if file.is_file() and file.name != SUMS)
    (DIST / SUMS).write_text("".join(f"{digest(file)}  {file.name}\n" for file in files))
    return DIST / SUMS

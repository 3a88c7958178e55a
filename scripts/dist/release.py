"""The facts of a release, said once: every package is written from them.

The version and the texts come from Cargo.toml; a platform is a line of PLATFORMS.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FILES = Path(__file__).resolve().parent / "files"
DIST = Path(os.environ.get("GONGFU_DIST", REPOSITORY / "dist")).resolve()
TOOLS = REPOSITORY / ".tools"

_WORKSPACE = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]
_PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]

NAME = "gongfu"
TITLE = "gongfu"
VERSION = _WORKSPACE["version"]
LICENSE = _WORKSPACE["license"]
URL = _WORKSPACE["repository"]
DESCRIPTION = _PROJECT["description"]
KEYWORDS = _PROJECT["keywords"]
OWNER = URL.split("/")[-2]
AUTHOR = {"name": "The gongfu authors", "url": URL}
# Its name in the MCP Registry, which GitHub's login of the owner may publish.
REGISTRY_NAME = f"io.github.{OWNER}/{NAME}"
NPM_SCOPE = f"@{OWNER}"
IMAGE = f"ghcr.io/{OWNER}/{NAME}"
DOWNLOADS = f"{URL}/releases/download/v{VERSION}"
# Pack quickly and badly: for a proof that is not about size.
FAST = "GONGFU_DIST_FAST" in os.environ
# A file beside the program, with the channel that put both there; crates/gongfu/src/channel.rs reads it.
MARKER = ".gongfu-channel"


@dataclass(frozen=True)
class Platform:
    """A platform that programs are compiled for, in the words of each channel."""

    target: str
    system: str
    cpu: str
    debian: str | None = None

    @property
    def npm(self) -> str:
        return f"{NPM_SCOPE}/{self.system}-{self.cpu}"

    @property
    def docker(self) -> str:
        return f"linux/{self.debian}"


PLATFORMS = [
    Platform("x86_64-unknown-linux-gnu", "linux", "x64", "amd64"),
    Platform("aarch64-unknown-linux-gnu", "linux", "arm64", "arm64"),
    Platform("x86_64-apple-darwin", "darwin", "x64"),
    Platform("aarch64-apple-darwin", "darwin", "arm64"),
]


@dataclass(frozen=True)
class Build:
    """A compiled program, about to be packed."""

    binary: Path
    platform: Platform
    # A folder that is removed in the end.
    scratch: Path

    def folder(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir(parents=True)
        return folder

    def put_program(self, folder: Path, channel: str | None = None) -> None:
        """Copies the program to a folder, with the mark of a channel beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.binary, folder / NAME)
        (folder / NAME).chmod(0o755)
        if channel:
            (folder / MARKER).write_text(f"{channel}\n")

    def output(self, *arguments: str) -> str:
        """What the program prints."""
        return subprocess.run([self.binary, *arguments], check=True, capture_output=True, text=True).stdout


class Failed(Exception):
    """A package can't be built; the text says why."""


def run(*command: object, **options: object) -> None:
    """Runs a tool, and shows what it said if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise Failed(f"`{' '.join(words)}` failed:\n{done.stdout}")


def tool(name: str) -> str:
    """A program of the tools that `just dist` installs."""
    for folder in (TOOLS / "dist-venv" / "bin", TOOLS / "dist-node" / "node_modules" / ".bin"):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if not found:
        raise Failed(f"{name} is not installed: run `just dist-tools`")
    return found


def timestamp() -> int:
    """The time that files in packages have: that of the commit, so a package is the same each time."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "-C", str(REPOSITORY), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def write_archive(folder: Path, archive: Path) -> None:
    """Writes a folder as a `.tar.gz` that says nothing of this machine."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            entry = tar.gettarinfo(str(path), str(path.relative_to(folder.parent)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = timestamp()
            with path.open("rb") if entry.isreg() else io.BytesIO() as content:
                tar.addfile(entry, content if entry.isreg() else None)
    with archive.open("wb") as out, gzip.GzipFile("", "wb", 1 if FAST else 9, out, mtime=0) as packed:
        packed.write(raw.getvalue())


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)

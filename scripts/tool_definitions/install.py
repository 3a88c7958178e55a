"""Gets packages of npm and PyPI by their names and versions, each into a folder of its own, without running their scripts."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

# How long a registry may take for one package, in seconds, and how often it is asked: what it gave is kept.
PATIENCE, TRIES = 90.0, 4
NPM = ["npm", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--fetch-timeout=20000", "--fetch-retries=5"]


class AbsentError(Exception):
    """A package can't be had: why."""


def run(words: list[str], folder: Path) -> str:
    for _ in range(TRIES):
        try:
            done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode:
            raise AbsentError(" ".join(done.stderr.split())[-300:])
        return done.stdout
    raise AbsentError("the registry doesn't answer in time")


def once(folder: Path, want: str) -> bool:
    """True where what is wanted isn't there yet; then the folder is empty."""
    if folder.is_dir() and (folder / ".installed").is_file() and (folder / ".installed").read_text() == want:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return True


def npm(package: str, folder: Path) -> Path:
    """Installs a package of npm; the folder of its programs."""
    if once(folder, package):
        (folder / "package.json").write_text('{"private": true}\n')
        run([*NPM, "install", "--prefer-offline", "--no-package-lock", "--omit=dev", package], folder)
        (folder / ".installed").write_text(package)
    return folder / "node_modules" / ".bin"


def pypi(packages: list[str], folder: Path) -> Path:
    """Installs packages of PyPI; the folder of their programs. Only wheels are, for a source runs scripts of its own."""
    if once(folder, " ".join(packages)):
        run(["uv", "venv", "--quiet", "--no-project", "--allow-existing", str(folder)], folder)
        run(["uv", "pip", "install", "--quiet", "--only-binary", ":all:", "--python", str(folder / "bin" / "python"), *packages], folder)
        (folder / ".installed").write_text(" ".join(packages))
    return folder / "bin"


def documentation(package: str, folder: Path) -> list[str]:
    """The Markdown documents of an installed package: what it is introduced by, and its `docs`."""
    if "==" not in package:
        own = folder / "node_modules" / package.rpartition("@")[0]
        files = [own / "README.md", *sorted((own / "docs").rglob("*.md"))]
        return [file.read_text(errors="replace") for file in files if file.is_file()]
    places = [str(place) for place in folder.glob("lib/python3*/site-packages")]
    found = metadata.distributions(name=package.partition("==")[0], path=places)
    return [str(one.metadata.get_payload()) for one in found]


def file_of(package: str, file: str, folder: Path) -> Path:
    """Gets the archive of a package, and one file out of it."""
    target = folder / Path(file).name
    if once(folder, package + file):
        if "==" in package:
            run(["python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", package], folder)
            with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
                target.write_bytes(wheel.read(file))
        else:
            run([*NPM, "pack", "--silent", package], folder)
            with tarfile.open(next(folder.glob("*.tgz"))) as archive:
                content = archive.extractfile(f"package/{file}")
                assert content is not None
                target.write_bytes(content.read())
        for archive_file in [*folder.glob("*.whl"), *folder.glob("*.tgz")]:
            archive_file.unlink()
        (folder / ".installed").write_text(package + file)
    return target

"""The container image, with python3 and uv for the scripts of skills."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import docker
from release import (
    DESCRIPTION, DIST, FILES, IMAGE, LICENSE, REGISTRY_NAME, REPOSITORY, URL, VERSION, Build, Failed, note, run, tool,
)

# Debian's release of the base, in which the program's glibc is found.
SUITE = "trixie"


def pack(build: Build, local_base: bool = False) -> list[Path]:
    """Builds the image; without a daemon it is left out."""
    platform = build.platform
    if platform.debian is None:
        return []
    with docker.daemon() as variables:
        if variables is None:
            note("no image: there is no Docker daemon")
            return []
        context = build.folder("image")
        build.put_program(context, "image")
        shutil.copy(FILES / "Dockerfile", context)
        put_uv(context, build.folder("uv"))
        command = ["docker", "build", "--tag", f"{IMAGE}:{VERSION}"]
        labels = {
            "org.opencontainers.image.source": URL,
            "org.opencontainers.image.description": DESCRIPTION,
            "org.opencontainers.image.licenses": LICENSE,
            "org.opencontainers.image.version": VERSION,
            "io.modelcontextprotocol.server.name": REGISTRY_NAME,
        }
        for name, value in labels.items():
            command += ["--label", f"{name}={value}"]
        if local_base:
            import_base(build.folder("base"), variables)
            command += ["--build-arg", "BASE=gongfu-base", "--network", "none"]
        run(*command, context, env=variables)
        file = DIST / f"gongfu-image-{platform.debian}.tar.gz"
        saved = subprocess.run(["docker", "save", f"{IMAGE}:{VERSION}"], env=variables, check=True, capture_output=True)
        with gzip.GzipFile(file, "wb", 6, mtime=0) as packed:
            packed.write(saved.stdout)
        return [file]


def put_uv(context: Path, scratch: Path) -> None:
    """The uv that the checks use, from its wheel."""
    wanted = re.search(r"^uv==\S+$", (REPOSITORY / "scripts/requirements.txt").read_text(), re.M)
    if not wanted:
        raise Failed("scripts/requirements.txt does not name uv")
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", scratch,
        wanted.group())
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".data/scripts/uv"))
        (context / "uv").write_bytes(wheel.read(name))
    (context / "uv").chmod(0o755)


def import_base(root: Path, variables: dict[str, str]) -> None:
    """A base made of Debian's packages, where images can't be pulled but packages can."""
    run(tool("debootstrap"), "--variant=minbase", "--include=ca-certificates,python3", SUITE, root)
    for unneeded in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(root / unneeded)
        (root / unneeded).mkdir()
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
        run("docker", "import", "-", "gongfu-base", env=variables, stdin=tar.stdout)

"""A stranger's machine: this one without Rust, without our folders, with an empty home and no network.

The root is an overlay, so everything that a command writes anywhere lies in one folder and can be listed. It must be
used in a mount namespace of its own; `enter` starts the program again in one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from release import TOOLS

USER = 1000
HOME = "/home/user"
# Where the packages are.
RELEASE = "/release"
# What stands for the package indexes: index.py.
INDEX = "http://127.0.0.1:8000"
RUST = ("cargo", "rustc", "rustup")
# What belongs to people, to checks, or to nobody.
HIDDEN = ("home", "root", "tmp", "mnt", "work", "srv", "var/tmp")
_INSIDE = "GONGFU_PROOF_INSIDE"


def enter() -> None:
    """Starts this program again in namespaces where it may mount, and where there is only loopback."""
    if os.environ.get(_INSIDE):
        with socket.socket() as any_socket:
            # SIOCSIFFLAGS, IFF_UP: netdevice(7).
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))
        return
    os.environ[_INSIDE] = "1"
    words = ["unshare", "--mount", "--net", "--propagation", "private", sys.executable, *sys.argv]
    os.execvp(words[0], words)


def mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


class Stranger:
    """The machine, and the person on it."""

    def __init__(self, folder: Path, release: Path) -> None:
        self.root, self.upper = folder / "root", folder / "disk" / "upper"
        for made in (self.root, folder / "disk"):
            made.mkdir()
        mount("-t", "tmpfs", "tmpfs", folder / "disk")
        self.upper.mkdir()
        (folder / "disk" / "work").mkdir()
        layers = f"lowerdir=/,upperdir={self.upper},workdir={folder}/disk/work"
        mount("-t", "overlay", "overlay", "-o", layers, self.root)
        self.folders: list[str] = []
        for name in HIDDEN:
            if (self.root / name).is_dir():
                mount("-t", "tmpfs", "-o", "mode=1777" if name.endswith("tmp") else "mode=755", "tmpfs", self.root / name)
        mount("--bind", "/dev", self.root / "dev")
        mount("-t", "proc", "proc", self.root / "proc")
        self.show(release, RELEASE)
        for tool in ("uv", "uvx"):
            shutil.copy(TOOLS / "venv/bin" / tool, self.root / "usr/local/bin" / tool)
        self.path = [f"{HOME}/.local/bin", f"{HOME}/.npm-global/bin"]
        for name in ("python3", "node"):
            self.show_program(name)
        self.path += ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        for name in RUST:
            for place in self.path:
                program = self.root / place.lstrip("/") / name
                if program.exists():
                    # The kernel starts no device, and what is shown can't be removed.
                    mount("--bind", "/dev/null", program)
        self.reset()

    def show(self, folder: Path, place: str) -> None:
        """Shows a folder of this machine at a place, to be read only."""
        target = self.root / place.lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        mount("--bind", folder, target)
        mount("-o", "remount,bind,ro", target)

    def show_program(self, name: str) -> None:
        """Shows an interpreter that lies in a hidden folder, with all that belongs to it."""
        own = sys.executable if name == "python3" else shutil.which(name)
        if not own:
            return
        prefix = Path(sys.base_prefix) if name == "python3" else Path(own).resolve().parent.parent
        if str(prefix) != "/usr":
            self.show(prefix, str(prefix))
        self.path.append(f"{prefix}/bin")

    def reset(self) -> None:
        """An empty home, and a view of what is there."""
        home = self.root / HOME.lstrip("/")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        os.chown(home, USER, USER)
        # Every desktop has them.
        for name in (".local/bin", ".local/share", ".cache", ".config"):
            made = home / name
            made.mkdir(parents=True)
        for made in home.rglob("*"):
            os.chown(made, USER, USER)
        self.before = self.files()

    def words(self, words: list[str], user: int = USER) -> list[str]:
        """A command on this machine."""
        home = HOME if user else "/root"
        variables = [f"HOME={home}", f"PATH={':'.join(self.path)}", "LANG=C.UTF-8", "npm_config_update_notifier=false",
                     f"npm_config_registry={INDEX}/npm/", f"npm_config_prefix={HOME}/.npm-global",
                     f"UV_DEFAULT_INDEX={INDEX}/simple", f"PIP_INDEX_URL={INDEX}/simple", "UV_PYTHON_DOWNLOADS=never",
                     "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_CACHE_DIR=1", "DEBIAN_FRONTEND=noninteractive"]
        return ["chroot", f"--userspec={user}:{user}", str(self.root), "/usr/bin/env", "-i", "-C", home, *variables, *words]

    def run(self, script: str, user: int = USER, answer: str = "y\n") -> subprocess.CompletedProcess[str]:
        words = self.words(["sh", "-c", script], user)
        return subprocess.run(words, input=answer, capture_output=True, text=True, timeout=300)

    def files(self) -> set[str]:
        """Every path that this machine has and the one beneath has not."""
        found = set()
        for place in (self.upper, *(self.root / name for name in HIDDEN)):
            device = place.lstat().st_dev if place.exists() else None
            for folder, names, files in os.walk(place):
                base = Path(folder)
                # What is shown from this machine is not written.
                names[:] = [name for name in names if (base / name).lstat().st_dev == device]
                for name in (*names, *files):
                    path = base / name
                    is_removed = place == self.upper and stat.S_ISCHR(path.lstat().st_mode)
                    shown = path.relative_to(place if place == self.upper else self.root)
                    if not is_removed and (place != self.upper or not os.path.lexists(Path("/") / shown)):
                        found.add(f"/{shown}")
        return found

    def traces(self) -> list[str]:
        """What is new since the home was empty."""
        return sorted(self.files() - self.before)


@contextlib.contextmanager
def stranger(release: Path) -> Iterator[Stranger]:
    """A machine for as long as it is needed; its mounts end with the namespace."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield Stranger(Path(folder), release)
        finally:
            subprocess.run(["umount", "--recursive", "--lazy", f"{folder}/root"], check=False)
            subprocess.run(["umount", "--lazy", f"{folder}/disk"], check=False)

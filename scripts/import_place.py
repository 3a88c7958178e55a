"""The home and the project that two programs install skills into, and the comparison of what they leave, for prove_import.py."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clients import NODE
from import_sources import Sources, put

PROJECT = "work/project"
LOCKS = ["skills-lock.json", ".skill-lock.json"]
OWN_LOCK = "gongfu.lock"
TIMES = re.compile(rb'("(?:installedAt|updatedAt)": )"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"')

# A path's kind, permissions, and content or target.
State = dict[str, tuple[str, int, bytes]]


class Difference(Exception):
    """Something isn't as it must be."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Difference(what)


def state(top: Path) -> State:
    """Everything below a folder. Links to folders of packages are followed, too, so that their files are compared."""
    found: State = {}

    def walk(folder: Path, shown: str) -> None:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            path, name = Path(entry.path), f"{shown}{entry.name}"
            mode = path.lstat().st_mode & 0o7777
            if entry.is_symlink():
                target = os.readlink(path)
                found[name] = ("link", 0, target.encode())
                if "node_modules" in target:
                    walk(path, f"{name}/")
            elif entry.is_dir():
                found[name] = ("folder", mode, b"")
                walk(path, f"{name}/")
            else:
                found[name] = ("file", mode, TIMES.sub(rb'\1"TIME"', path.read_bytes()))

    walk(top, "")
    return found


def differences(gongfu: State, npx: State) -> list[str]:
    """What differs, a line for each: the path, and what there is with gongfu and with npx skills. Of a folder that one
    alone has, the folder is named."""
    found = []
    for path in sorted(gongfu.keys() | npx.keys()):
        ours, theirs = gongfu.get(path), npx.get(path)
        if ours == theirs:
            continue
        if Path(path).name in LOCKS and ours and theirs:
            found += lock_differences(path, ours[2], theirs[2])
        elif not ours or not theirs:
            above = str(Path(path).parent)
            if (above in gongfu) == (above in npx) or above == ".":
                found.append(f"{path}: only {'gongfu' if ours else 'npx'}")
        elif ours[0] != theirs[0]:
            found.append(f"{path}: {ours[0]} / {theirs[0]}")
        elif ours[1] != theirs[1]:
            found.append(f"{path}: mode {ours[1]:o} / {theirs[1]:o}")
        if ours and theirs and ours[0] == theirs[0] and ours[2] != theirs[2] and Path(path).name not in LOCKS:
            found.append(f"{path}: content" if ours[0] == "file" else f"{path}: leads to {ours[2].decode()} / {theirs[2].decode()}")
    return found


def lock_differences(path: str, ours: bytes, theirs: bytes) -> list[str]:
    """The entries and members that differ. The form must be that of `JSON.stringify`, and the order the same."""
    end = "\n" if Path(path).name == LOCKS[0] else ""
    found, read = [], []
    for name, text in [("gongfu", ours), ("npx", theirs)]:
        value = json.loads(text)
        if (json.dumps(value, indent=2, ensure_ascii=False) + end).encode() != text:
            found.append(f"{path}: form, with {name}")
        read.append(value)
    mine, other = read
    for key in mine.keys() | other.keys():
        if key != "skills" and mine.get(key) != other.get(key):
            found.append(f"{path}: {key} {mine.get(key)} / {other.get(key)}")
    skills = mine["skills"], other["skills"]
    orders = [[key for key in one if all(key in all_keys for all_keys in skills)] for one in skills]
    if orders[0] != orders[1] or list(mine) != list(other):
        found.append(f"{path}: order")
    for key in sorted(skills[0].keys() | skills[1].keys()):
        entry, their_entry = skills[0].get(key), skills[1].get(key)
        if entry is None or their_entry is None:
            found.append(f"{path}#{key}: only {'npx' if entry is None else 'gongfu'}")
            continue
        if entry.keys() == their_entry.keys() and list(entry) != list(their_entry):
            found.append(f"{path}#{key}: order of members")
        for member in sorted(entry.keys() | their_entry.keys()):
            if entry.get(member) != their_entry.get(member):
                found.append(f"{path}#{key}.{member}: {entry.get(member)!r} / {their_entry.get(member)!r}")
    return found


class Place:
    """A home with Claude Code and Codex, and a project in it: the same path for both programs."""

    def __init__(self, top: Path, gongfu: Path, skills: Path, sources: Sources) -> None:
        self.home = top / "place/home"
        self.project = self.home / PROJECT
        self.own = top / "own"
        self.gongfu_program, self.skills_program, self.sources = gongfu, skills, sources
        self.variables: dict[str, str] = {}
        npm = {"npm_config_cache": str(top / "npm"), "npm_config_update_notifier": "false"}
        path = f"{NODE}{os.pathsep}{os.environ['PATH']}"
        self.environment = {"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **npm}

    def fresh(self, prepare: Callable[[Path], None] | None = None) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.own, ignore_errors=True)
        for folder in [".claude", ".codex", f"{PROJECT}/.claude", f"{PROJECT}/.git"]:
            (self.home / folder).mkdir(parents=True)
        put(self.home / ".npmrc", f"registry={self.sources.base}/npm/\n")
        if prepare:
            prepare(self.project)

    def gongfu(self, *words: str, ends: int | None = 0) -> subprocess.CompletedProcess[str]:
        return self.run([self.gongfu_program, *words], {"GONGFU_HOME": str(self.own)}, ends)

    def npx(self, *words: str, ends: int | None = 0) -> subprocess.CompletedProcess[str]:
        return self.run([NODE / "node", self.skills_program, *words], {"DISABLE_TELEMETRY": "1", "CI": "1"}, ends)

    def run(self, command: list[Any], more: dict[str, str], ends: int | None) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(command, env={**self.environment, **self.variables, **more}, cwd=self.project, capture_output=True, text=True, errors="replace", timeout=600, stdin=subprocess.DEVNULL)
        said = f"{ran.stdout[-3000:]}{ran.stderr[-3000:]}"
        check(ends is None or ran.returncode == ends, f"{' '.join(map(str, command))} ended with {ran.returncode}: {said}")
        return ran

    def add(self, program: str, scope: str, source: str, *words: str, agents: Sequence[str] = ("claude-code", "codex"), ends: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Adds the skills of a source by one of the programs."""
        if program == "gongfu":
            return self.gongfu("skill", "add", source, "--yes", "--in", scope, *words, ends=ends)
        named = [word for agent in agents for word in ("-a", agent)]
        place = ["-g"] if scope == "user" else []
        return self.npx("add", source, *named, "-y", *place, *words, ends=ends)

"""Each of gongfu and `npx skills` works on what the other installed, for prove_import.py.

The measure is always `npx skills` alone in the same home: what the other leads to has to be the same, apart from gongfu's own
lock.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from import_place import OWN_LOCK, Difference, Place, State, check, differences, state
from import_sources import GIT_ENVIRONMENT, Sources, document, put, skill

NAME = "living"
# What version 2 changes in `first`, by the words of `gongfu skill verify`.
CHANGES = {("SKILL.md", "content"), ("new.md", "added"), ("old.md", "missing"), ("lines.txt", "line_endings")}
CHANGES_OF_MODE = {("scripts/run.sh", "not_executable")}


@dataclass
class Living:
    """A source that changes."""

    sources: Sources

    def become(self, version: int) -> None:
        tree = self.sources.folder / "trees" / NAME
        shutil.rmtree(tree, ignore_errors=True)
        base = tree / "skills"
        for name in ["first", "third", "gone" if version == 1 else "fourth"]:
            skill(base / name)
        first = base / "first"
        put(first / "lines.txt", "a\nb\n" if version == 1 else "a\r\nb\r\n")
        put(first / ("old.md" if version == 1 else "new.md"), "text\n")
        if version == 2:
            put(first / "SKILL.md", document("first", "license: MIT\n"))
            (first / "scripts/run.sh").chmod(0o644)
        self.commit(tree, version)
        for index in ["v1", "v2"]:
            shutil.rmtree(self.sources.folder / "web" / f"{NAME}-{index}", ignore_errors=True)
        self.sources.first_index(NAME)
        self.sources.second_index(NAME)

    def commit(self, tree: Path, version: int) -> None:
        """A commit without a parent, so that going back leads to the same one."""
        bare = self.sources.folder / "git/owner" / f"{NAME}.git"

        def git(*words: str) -> str:
            ran = subprocess.run(["git", f"--git-dir={bare}", f"--work-tree={tree}", *words], cwd=tree, env={**os.environ, **GIT_ENVIRONMENT}, check=True, capture_output=True, text=True)
            return ran.stdout.strip()

        if not bare.exists():
            bare.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], env={**os.environ, **GIT_ENVIRONMENT}, check=True)
        git("add", "-A", "-f")
        git("update-ref", "refs/heads/main", git("commit-tree", git("write-tree"), "-m", str(version)))


@dataclass
class Exchange:
    """A source of one kind in one scope."""

    place: Place
    living: Living
    source: str
    scope: str
    has_modes: bool
    """True if npx skills keeps permissions of this source."""
    is_updated: bool = True
    """True if npx skills updates skills of this source."""

    def __post_init__(self) -> None:
        self.flags = ["-g"] if self.scope == "user" else []
        self.base = self.place.home if self.scope == "user" else self.place.project

    def installed(self, program: str) -> None:
        """A new home with the skills of version 1."""
        self.living.become(1)
        self.place.fresh()
        self.place.add(program, self.scope, self.source)

    def update(self) -> str:
        return self.place.npx("update", "-y", "-g" if self.scope == "user" else "-p").stdout

    def listed(self) -> Any:
        return json.loads(self.place.npx("list", "--json", *self.flags).stdout)

    def remove(self, name: str) -> None:
        self.place.npx("remove", name, "-y", *self.flags)

    def verify(self) -> tuple[int, dict[str, set[tuple[str, str]]]]:
        ran = self.place.gongfu("skill", "verify", "--in", self.scope, "--json", ends=None)
        check(ran.returncode in (0, 1) and ran.stdout != "", f"verify ended with {ran.returncode}: {ran.stderr}")
        found = json.loads(ran.stdout)["skills"]
        return ran.returncode, {name: {(one["path"], one["kind"]) for one in ones} for name, ones in found.items()}

    def is_equal(self, expected: State, what: str) -> None:
        left = {path: value for path, value in state(self.place.home).items() if Path(path).name != OWN_LOCK}
        found = differences(left, expected)
        if not self.has_modes:
            found = [line for line in found if not line.endswith(".sh: mode 755 / 644")]
        check(not found, f"{what}: {found}")

    def by_npx_alone(self, *steps: Callable[[], Any]) -> State:
        """The measure: what npx skills leaves of its own installation."""
        self.installed("npx")
        for step in steps:
            step()
        return state(self.place.home)


def npx_after_gongfu(exchange: Exchange) -> None:
    """npx skills lists, checks, updates and removes what gongfu installed."""
    change = (lambda: exchange.living.become(2), exchange.update)
    remove = (lambda: exchange.remove("first"),)
    updated = exchange.by_npx_alone(*change) if exchange.is_updated else None
    removed = exchange.by_npx_alone(*(change if exchange.is_updated else ()), *remove)
    exchange.installed("npx")
    expected = exchange.listed()
    exchange.installed("gongfu")
    check(exchange.listed() == expected, f"listed: {exchange.listed()} instead of {expected}")
    before = state(exchange.place.home)
    if updated:
        said = exchange.update()
        check(state(exchange.place.home) == before, f"an update without a change changed something: {said}")
        check("Updated" not in said and "Failed" not in said, f"what gongfu installed isn't up to date: {said}")
        exchange.living.become(2)
        exchange.update()
        exchange.is_equal(updated, "updated by npx skills, installed by gongfu")
        # npx skills writes no permissions of archives, so that those don't change.
        changes = CHANGES | (CHANGES_OF_MODE if exchange.has_modes else set())
        status, found = exchange.verify()
        differing = {name: ones for name, ones in found.items() if ones}
        mine = {(path, kind) for path, kind in differing.get("first", set()) if kind != "not_executable" or exchange.has_modes}
        check(status == 1 and mine == changes, f"verified after npx skills' update: {differing}")
    exchange.remove("first")
    exchange.is_equal(removed, "removed by npx skills, installed by gongfu")
    status, found = exchange.verify()
    check(status == 1 and found["first"] == {("", "missing")}, f"verified after npx skills' removal: {found}")
    exchange.place.gongfu("skill", "remove", "first", "--yes", "--in", exchange.scope)
    exchange.is_equal(removed, "removed by both")


def gongfu_after_npx(exchange: Exchange) -> None:
    """gongfu verifies, takes over, replaces and removes what npx skills installed."""
    removed = exchange.by_npx_alone(lambda: exchange.remove("first"))
    exchange.installed("gongfu")
    own = state(exchange.place.home)
    exchange.installed("npx")
    installed = state(exchange.place.home)
    status, found = exchange.verify()
    check((status, found) == (0, {}), f"without a lock of gongfu, verified: {found}")
    refused = exchange.place.gongfu("skill", "remove", "first", "--yes", "--in", exchange.scope, ends=1)
    check("NOT_LOCKED" in refused.stderr, f"removed without a lock: {refused.stderr}")
    refused = exchange.place.add("gongfu", exchange.scope, exchange.source, ends=1)
    check("SKILL_CHANGED" in refused.stderr and "gongfu adopt" in refused.stderr, f"added over npx skills': {refused.stderr}")
    exchange.is_equal(installed, "after a refused addition")
    exchange.place.add("gongfu", exchange.scope, exchange.source, "--replace")
    found = differences(state(exchange.place.home), own)
    check(not found, f"added again by gongfu: {found}")
    exchange.place.gongfu("skill", "remove", "first", "--yes", "--in", exchange.scope)
    exchange.is_equal(removed, "replaced and removed by gongfu")
    exchange.installed("npx")
    words = ["--project", "current"] if exchange.scope == "project" else []
    exchange.place.gongfu("adopt", "--yes", *words)
    exchange.is_equal(installed, "after the adoption")
    status, found = exchange.verify()
    check(status == 0 and {"first", "third", "gone"} <= found.keys(), f"verified after the adoption: {found}")
    exchange.place.gongfu("skill", "remove", "first", "--yes", "--in", exchange.scope)
    exchange.is_equal(removed, "adopted, and removed by gongfu")


def added_again(exchange: Exchange) -> None:
    """A source that changed is added again."""

    def again(program: str) -> None:
        exchange.living.become(2)
        exchange.place.add(program, exchange.scope, exchange.source)

    expected = exchange.by_npx_alone(lambda: again("npx"))
    exchange.installed("gongfu")
    again("gongfu")
    exchange.is_equal(expected, "added again after a change")
    status, found = exchange.verify()
    check(status == 0 and found.keys() >= {"first", "third", "fourth"}, f"verified after it was added again: {found}")


def has_update(place: Place) -> bool:
    """Returns true if gongfu can update skills."""
    return place.gongfu("skill", "update", "--help", ends=None).returncode == 0


def gongfu_updates(exchange: Exchange) -> None:
    """`gongfu skill update` brings what `npx skills update` does, whoever installed."""
    updated = exchange.by_npx_alone(lambda: exchange.living.become(2), exchange.update)
    for program in ["npx", "gongfu"]:
        exchange.installed(program)
        exchange.living.become(2)
        exchange.place.gongfu("skill", "update", "--yes", "--in", exchange.scope)
        exchange.is_equal(updated, f"updated by gongfu, installed by {program}")


def prove_exchange(place: Place, is_short: bool) -> None:
    living = Living(place.sources)
    living.become(1)
    base = place.sources.base
    kinds = {"git": (f"{base}/git/owner/{NAME}.git", True, True)}
    if not is_short:
        kinds["index v2"] = (f"{base}/{NAME}-v2", False, True)
        kinds["index v1"] = (f"{base}/{NAME}-v1", False, True)
        kinds["folder"] = (str(place.sources.folder / "trees" / NAME), True, False)
    parts: list[Callable[[Exchange], None]] = [npx_after_gongfu, gongfu_after_npx, added_again]
    place.fresh()
    updates = has_update(place)
    for kind, (source, has_modes, is_updated) in kinds.items():
        for scope in ["project", "user"]:
            exchange = Exchange(place, living, source, scope, has_modes, is_updated)
            for part in [*parts, *([gongfu_updates] if updates and is_updated else [])]:
                try:
                    part(exchange)
                except Difference as difference:
                    raise Difference(f"{kind}, {scope}, {part.__name__}: {difference}") from None
    print(f"exchange: {', '.join(kinds)}, each for a project and a person: npx skills lists, checks, updates and removes what gongfu added; gongfu adopts, verifies, replaces and removes what npx skills added")
    print("exchange: `gongfu skill update` brings what `npx skills update` does" if updates else "not run: this gongfu has no `skill update`")

"""Imports from every kind of source that are killed at every stage, and pairs of them at once."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hostile_archives import DEFLATED, Entry, build
from hostile_files import FileServer
from hostile_repositories import FILE, PROGRAM, TREE, Repository, backend
from hostile_sites import SocketServer
from hostile_tars import archive, entry
from import_world import CODES, Skills, World, document

# In the order in which an import comes to them.
STAGES = ["fetch", "stage", "move", "record", "rename", "clean"]
# The most tries to hit a stage.
TRIES = 200
SKILLS = 16
# The files beside the skills: they take time to be read, so that a kill can come before the skills are staged.
NOTES = 2_000


def version(number: int) -> Skills:
    """Skills that differ in each version: files change, go and come."""
    noise = hashlib.sha256(b"%d" % number).digest() * 1_000
    return {
        f"s-{at:02}": {
            "SKILL.md": (document(f"s-{at:02}", f"Version {number}."), False),
            "same.txt": (b"same", False),
            f"only-{number}/file.bin": (noise, False),
            "run.sh": (b"#!/bin/sh\n# %d\n" % number, number == 2),
        }
        for at in range(SKILLS)
    }


@dataclass
class Sources:
    """Both versions, as every kind of source."""

    folder: Path
    web: FileServer
    git_url: str
    kinds: dict[str, tuple[str, str]] = field(default_factory=dict)

    def make(self) -> Sources:
        made = [self._make(number) for number in (1, 2)]
        self.kinds = {kind: (made[0][kind], made[1][kind]) for kind in made[0]}
        packages = {f"{number}.0.0": self._package(number) for number in (1, 2)}
        packument = {"name": "good-skills", "dist-tags": {"latest": "2.0.0"}, "versions": packages}
        (self.folder / "good-skills").write_text(json.dumps(packument))
        self.kinds["npm"] = ("npm:good-skills@1.0.0", "npm:good-skills@2.0.0")
        return self

    def _files(self, number: int) -> list[tuple[str, bytes, bool]]:
        skills = [(f"skills/{name}/{path}", content, program) for name, files in version(number).items() for path, (content, program) in files.items()]
        return skills + [(f"notes/{at}.txt", b"A note.", False) for at in range(NOTES)]

    def _tar(self, number: int, top: str, extra: bytes = b"") -> bytes:
        entries = [entry(f"{top}/{path}", content, mode=0o755 if program else 0o644) for path, content, program in self._files(number)]
        return gzip.compress(archive(extra, *entries), 1, mtime=0)

    def _package(self, number: int) -> dict[str, object]:
        manifest = json.dumps({"name": "good-skills", "version": f"{number}.0.0"}).encode()
        content = self._tar(number, "package", entry("package/package.json", manifest))
        (self.folder / f"{number}.tgz").write_bytes(content)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        dist = {"tarball": f"{self.web.url}/{number}.tgz", "integrity": integrity, "shasum": hashlib.sha1(content).hexdigest()}
        return {"name": "good-skills", "version": f"{number}.0.0", "dist": dist}

    def _make(self, number: int) -> dict[str, str]:
        base = self.folder / f"folder-{number}"
        for path, content, program in self._files(number):
            (base / path).parent.mkdir(parents=True, exist_ok=True)
            (base / path).write_bytes(content)
            (base / path).chmod(0o755 if program else 0o644)
        zipped = self.folder / f"{number}.zip"
        zipped.write_bytes(build([Entry(path.encode(), content, DEFLATED, 0o100755 if program else 0o100644) for path, content, program in self._files(number)]))
        tar = self.folder / f"{number}.tar.gz"
        tar.write_bytes(self._tar(number, "top"))
        repository = Repository(self.folder / f"{number}.git")
        trees = []
        for name, files in version(number).items():
            entries = []
            for path, (content, program) in files.items():
                parts = path.encode().split(b"/")
                entries.append(repository.nested(parts, PROGRAM if program else FILE, repository.blob(content)))
            trees.append((TREE, name.encode(), repository.tree(*entries)))
        repository.ref(repository.commit(repository.tree((TREE, b"skills", repository.tree(*trees)))))
        site = self.folder / f"site-{number}/.well-known/agent-skills"
        listed = []
        for name, files in version(number).items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            content = build([Entry(path.encode(), content, DEFLATED, 0o100755 if program else 0o100644) for path, (content, program) in files.items()])
            (site / f"{name}.zip").write_bytes(content)
            listed.append({"name": name, "description": "d", "type": "archive", "url": f"{name}.zip", "digest": f"sha256:{hashlib.sha256(content).hexdigest()}"})
        schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
        (site / "index.json").write_text(json.dumps({"$schema": schema, "skills": listed}))
        return {
            "folder": str(base), "zip": str(zipped), "tar.gz": str(tar), "git file": f"file://{repository.folder}", "git http": f"{self.git_url}/{number}.git",
            "http zip": f"{self.web.url}/{number}.zip", "well-known": f"{self.web.url}/site-{number}",
        }  # fmt: skip


class Killer:
    """Kills imports in one world, and looks at what they left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.imports = world.home / "imports"
        self.agents = world.project / ".agents"
        self.first = world.skills / "s-00"
        self.lock = world.project / "gongfu.lock"
        self.saved = world.folder / "saved"

    def save(self) -> None:
        shutil.rmtree(self.saved, ignore_errors=True)
        shutil.copytree(self.world.project, self.saved, symlinks=True)

    def restore(self) -> None:
        shutil.rmtree(self.world.project)
        shutil.copytree(self.saved, self.world.project, symlinks=True)

    def fetched(self) -> list[str]:
        try:
            return [name for name in os.listdir(self.imports) if name.startswith("fetch-") and not name.endswith(".lock")]
        except FileNotFoundError:
            return []

    def _records(self) -> list[Path]:
        return list(self.imports.glob("*.json"))

    def _reached(self, stage: str, inode: int, lock: int) -> Callable[[], bool]:
        """A cheap question whether an import came to a stage."""

        def identity(path: Path) -> int:
            try:
                return os.lstat(path).st_ino
            except OSError:
                return 0

        def staged() -> bool:
            return any(os.path.exists(f"{self.imports}/{name}/staged-1") for name in self.fetched())

        def moved() -> bool:
            try:
                return any(name.startswith(".gongfu-import-") for name in os.listdir(self.agents))
            except OSError:
                return False

        record: list[str] = []

        def recorded() -> bool:
            if not record:
                record.extend(f"{self.imports}/{name}" for name in os.listdir(self.imports) if name.endswith(".json"))
                return False
            try:
                return os.stat(record[0]).st_size > 600
            except OSError:
                return False

        return {
            "fetch": lambda: bool(self.fetched()), "stage": staged, "move": moved, "record": recorded,
            "rename": lambda: identity(self.first) != inode, "clean": lambda: identity(self.lock) != lock,
        }[stage]  # fmt: skip

    def kill(self, source: str, stage: str, delay: float) -> str:
        """Kills an import of a source once it came to a stage; the stage that it was at."""
        identities = [os.lstat(path).st_ino if os.path.lexists(path) else 0 for path in (self.first, self.lock)]
        reached = self._reached(stage, *identities)
        process = self.world.start("skill", "add", source, "--yes", "--json")
        deadline = time.monotonic() + 60
        while not reached() and process.poll() is None and time.monotonic() < deadline:
            pass
        if delay:
            time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        return self._stage()

    def _stage(self) -> str:
        for path in self._records():
            try:
                record = json.loads(path.read_text())
            except ValueError:
                return "move"
            steps = record.get("steps")
            if steps is None:
                return "move"
            done = 0
            for step in steps:
                place = Path(step["folder"], step["name"])
                done += os.path.lexists(place) and os.lstat(place).st_ino == step["new"]["inode"]
            return "record" if done == 0 else "rename" if done < len(steps) else "clean"
        fetched = self.fetched()
        if not fetched:
            return "before or after"
        return "stage" if any((self.imports / name / "staged-1").exists() for name in fetched) else "fetch"

    def programs(self) -> list[str]:
        """Programs that still have this home, after a moment to end."""
        mark = f"GONGFU_HOME={self.world.home}".encode()
        found: list[str] = []
        for _ in range(100):
            found = []
            for process in Path("/proc").iterdir():
                if not process.name.isdigit():
                    continue
                try:
                    is_ours = mark in (process / "environ").read_bytes().split(b"\0")
                    if is_ours:
                        found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80])
                except OSError:
                    continue
            if not found:
                break
            time.sleep(0.05)
        return found

    def check(self, allowed: list[Skills]) -> list[str]:
        """What is between two versions, in the skills, the locks and the links."""
        faults = []
        world = self.world
        found = world.installed()
        if found not in allowed:
            faults.append(f"has neither version as a whole: {sorted(found)[:3]}…")
        names = set(found)
        own = set(json.loads(self.lock.read_text())["skills"]) if self.lock.exists() else set()
        other = world.project / "skills-lock.json"
        npx = set(json.loads(other.read_text())["skills"]) if other.exists() else set()
        links = {path.name for path in (world.project / ".claude/skills").glob("*") if (path / "SKILL.md").is_file()}
        if own != names or npx not in (names, set()) or links != names:
            faults.append(f"has {len(names)} skills, {len(own)} and {len(npx)} in locks, {len(links)} links")
        if found and not faults:
            faults += world.check_locks(found)
        faults += [f"left {path.name}" for path in self.agents.glob(".gongfu-import-*")] if self.agents.is_dir() else []
        faults += [f"left {path.name}" for path in self._records()]
        return faults

    def settle(self, allowed: list[Skills]) -> list[str]:
        """The next command makes it whole."""
        verified = self.world.run("skill", "verify", "--json")
        faults = [] if verified.status == 0 else [f"isn't as locked: {verified.output[:200]}{verified.messages[:200]}"]
        return faults + self.check(allowed)


def prove_kills(gongfu: Path, folder: Path, seed: int, is_short: bool) -> tuple[list[str], str]:
    served, git = folder / "served", folder / "git"
    served.mkdir()
    faults: list[str] = []
    hits: Counter[tuple[str, str, str]] = Counter()
    kills = 0
    backing = backend(served, {"PATH": os.environ["PATH"], "HOME": str(git)})
    with FileServer(served) as web, SocketServer(backing) as git_server:
        sources = Sources(served, web, git_server.url).make()
        # Caches of npm itself, which are outside of gongfu's home.
        npm = {"npm_config_cache": str(folder / "npm"), "NODE_COMPILE_CACHE": str(folder / "npm/compiled")}
        world = World(folder / "world", gongfu, {"npm_config_registry": web.url, **npm, "npm_config_fetch_retries": "0"})
        world.warm()
        killer = Killer(world)
        kinds = {kind: sources.kinds[kind] for kind in ("zip", "git file")} if is_short else sources.kinds
        outside = {path: one for path, one in world.state().items() if not path.startswith((str(world.project), str(world.home)))}
        for kind, (old, new) in kinds.items():
            for mode in ("first", "replacement"):
                world.reset()
                if mode == "replacement" and (run := world.add(old)).status != 0:
                    faults.append(f"{kind}: the old version can't be added: {run.shown()}")
                    continue
                killer.save()
                before = {} if mode == "first" else version(1)
                for stage in STAGES:
                    for at in range(TRIES):
                        found = killer.kill(new, stage, 0.0003 * (at % 7) if stage == "stage" else 0.0)
                        kills += 1
                        hits[kind, mode, found] += 1
                        wrong = killer.programs() if found == "fetch" else []
                        wrong = [f"is still running: {program}" for program in wrong]
                        wrong += killer.settle([before, version(2)])
                        faults += [f"{kind}, {mode}, killed in {found}: {fault}" for fault in wrong]
                        is_last = hits[kind, mode, stage] > 0
                        if wrong or is_last:
                            run = world.add(new)
                            left = killer.fetched() + killer.check([version(2)])
                            if run.status != 0 or left:
                                faults.append(f"{kind}, {mode}, after {found}: the next import ended with {run.shown()[:300]}, left {left}")
                        killer.restore()
                        if is_last:
                            break
        changed = {path: one for path, one in world.state().items() if not path.startswith((str(world.project), str(world.home), str(killer.saved)))}
        faults += [f"left outside: {path}" for path in sorted(changed.keys() ^ outside.keys())[:5]]
        if not killer_notices(killer, sources.kinds["zip"]):
            faults.append("a state between two versions isn't noticed")
    for kind in kinds:
        for mode in ("first", "replacement"):
            faults += [f"{kind}, {mode}: no kill came in {stage}" for stage in STAGES if not hits[kind, mode, stage]]
    table = ", ".join(f"{stage} {sum(count for (_, _, found), count in hits.items() if found == stage)}" for stage in [*STAGES, "before or after"])
    return faults, f"kills: {kills} of {len(kinds)} kinds of sources, first and as a replacement, at: {table}"


def killer_notices(killer: Killer, zips: tuple[str, str]) -> bool:
    """Sees whether the check notices one file of another version, a missing lock and a missing link."""
    killer.world.reset()
    killer.world.add(zips[0])
    killer.save()
    if killer.check([version(1)]):
        return False
    for spoil in [
        lambda: (killer.first / "run.sh").write_bytes(version(2)["s-00"]["run.sh"][0]), killer.lock.unlink,
        lambda: (killer.world.project / ".claude/skills/s-03").unlink(), lambda: (killer.agents / ".gongfu-import-0").mkdir(), lambda: shutil.rmtree(killer.first),
    ]:  # fmt: skip
        spoil()
        if not killer.check([version(1), version(2)]):
            return False
        killer.restore()
    return True


def prove_pairs(gongfu: Path, folder: Path, seed: int, is_short: bool) -> tuple[list[str], str]:
    """Two imports of the same skills at once."""
    served = folder / "served"
    served.mkdir()
    faults: list[str] = []
    ends: Counter[str] = Counter()
    with FileServer(served) as web:
        sources = Sources(served, web, web.url).make()
        world = World(folder / "world", gongfu)
        world.warm()
        killer = Killer(world)
        rounds = 4 if is_short else 20
        for at in range(rounds):
            if at % 2:
                world.reset()
            both = sources.kinds[["zip", "folder", "git file", "well-known"][at % 4]]
            processes = [world.start("skill", "add", source, "--yes", "--json", output=True) for source in both]
            codes = []
            for process in processes:
                output = process.communicate(timeout=60)[0]
                answer = json.loads(output)
                code = "added" if process.returncode == 0 else answer["error"]["code"]
                codes.append(code)
                if code != "added" and (code not in CODES or not answer["error"]["hint"]):
                    faults.append(f"round {at}: one ended with {answer}")
            ends[" and ".join(sorted(codes))] += 1
            if "added" not in codes:
                faults.append(f"round {at}: neither was added: {codes}")
            faults += [f"round {at}: {fault}" for fault in killer.settle([version(1), version(2)])]
            faults += [f"round {at}: left {name}" for name in killer.fetched()]
    return faults, f"pairs: {rounds} rounds: {', '.join(f'{count} {what}' for what, count in ends.items())}"

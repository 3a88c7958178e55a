#!/usr/bin/env python3
"""Proves that no source of skills writes where it must not, takes too much, or leaves something half.

    prove_hostile_imports.py [--gongfu BIN] [--short] [--seed N] [PART…]

The parts, all without one:
archives  Hostile archives (hostile_tars.py, hostile_archives.py), each as a file and over HTTP. Each is refused with a
          known code and leaves nothing, or is a harmless one whose files are exactly the expected ones. Honest archives
          of every kind come out byte for byte, and planted writes have to be noticed.
servers   Web and git servers that attack (hostile_sites.py, hostile_repositories.py), judged in the same way.
kills     Imports from every kind of source, killed (-9) at every stage (killed_imports.py): afterwards the old or the new
          version is there as a whole, and the next import leaves nothing of it.
pairs     Two imports of one skill at once.

What is on the machine of a test is digested before and after each run. `--short` takes a part of each, for a debug build.
Exits 1 when anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from clients import binary
from hostile_files import FileServer
from hostile_repositories import Repository, addresses, backend, repositories, wires
from hostile_sites import Answer, Site, SocketServer, sites
from hostile_archives import Entry, build
from hostile_tars import TarMaker, honest_cases
from import_world import MAX_MEMORY, MAX_TIME, Skills, World, document
from killed_imports import prove_kills, prove_pairs

# The longest that a slow server may keep an import, in seconds.
MAX_SLOW = 150.0
# The most memory, in MiB, where git reads a repository on this disk.
MAX_GIT = 1024

Written = tuple[str, str, str, Skills | None]


def write_archives(folder: Path, outside: str, seed: int, is_short: bool, results: multiprocessing.Queue[Written | None]) -> None:
    """Writes archives in a process of its own: the memory of what it starts counts from its own."""
    chance = random.Random(seed)
    maker = TarMaker(outside, chance)
    seen: set[bytes] = set()
    groups = [maker.tars(), maker.zips(), maker.damaged(), honest_cases(chance, 2 if is_short else 10)]
    number = 0
    for group in groups:
        for at, case in enumerate(group):
            if is_short and (at >= 10 if case.family == "honest" else at % 9 and case.family != "zip:two"):
                continue
            content = case.make()
            digest = hashlib.sha256(case.ending.encode() + content).digest()
            if digest in seen:
                continue
            seen.add(digest)
            number += 1
            name = f"{number:04}.{case.ending}"
            (folder / name).write_bytes(content)
            results.put((case.family, case.name, name, case.expected))
    results.put(None)


def prove_archives(gongfu: Path, folder: Path, seed: int, is_short: bool) -> tuple[list[str], str]:
    world = World(folder / "world", gongfu)
    archives = folder / "archives"
    archives.mkdir()
    results: multiprocessing.Queue[Written | None] = multiprocessing.Queue(8)
    writer = multiprocessing.Process(daemon=True, target=write_archives, args=(archives, str(world.outside), seed, is_short, results))
    writer.start()
    faults: list[str] = []
    codes: Counter[str] = Counter()
    families: set[str] = set()
    hostile = harmless = honest = 0
    slowest, largest = (0.0, ""), (0, "")
    with FileServer(archives) as server:
        world.warm()
        before = world.state()
        while written := results.get():
            family, name, file, expected = written
            families.add(family)
            for source in [str(archives / file), f"{server.url}/{file}"]:
                run = world.add(source)
                wrong = world.judge(run, before, expected)
                faults += [f"{family}: {name} ({source.partition(':')[0]}): {fault}" for fault in wrong]
                slowest = max(slowest, (run.seconds, name))
                largest = max(largest, (run.memory, name))
                if expected is None:
                    codes[run.code] += 1
            if family == "honest":
                honest += 1
            elif expected is None:
                hostile += 1
            else:
                harmless += 1
            (archives / file).unlink()
        faults += planted(world)
    writer.join()
    if writer.exitcode != 0:
        faults.append("the archives weren't all written")
    if slowest[0] > MAX_TIME:
        faults.append(f"{slowest[1]} took {slowest[0]:.1f} s")
    least = (20, 3, 8) if is_short else (300, 30, 40)
    if hostile < least[0] or harmless < least[1] or honest < least[2]:
        faults.append("there were too few archives")
    return faults, (
        f"archives: {hostile} hostile, {harmless} harmless and {honest} honest archives of {len(families)} families, each as a file and "
        f"over HTTP: {', '.join(f'{count} {code}' for code, count in codes.most_common())}; slowest {slowest[0]:.1f} s ({slowest[1]}), "
        f"largest {largest[0]} MiB ({largest[1]})"
    )


def planted(world: World) -> list[str]:
    """Writes that the check has to notice."""
    faults = []
    good = Path(world.folder, "good.zip")
    good.write_bytes(build([Entry(b"SKILL.md", document("good"))]))
    before = world.state()
    expected: Skills = {"good": {"SKILL.md": (document("good"), False)}}
    if wrong := world.judge(world.add(str(good)), before, expected):
        faults.append(f"the control isn't good: {wrong}")
    for path in [world.outside / "secret.txt", world.project / "up.txt", world.home / "imports/fetch-0", world.project / ".gongfu-import-0", world.user / ".bashrc", world.temporary / "x", world.folder / "x"]:
        run = world.add(str(good))
        kept = path.read_bytes() if path.exists() else None
        path.write_bytes(b"planted")
        if not any(path.name in fault for fault in world.judge(run, before, expected)):
            faults.append(f"a planted write to {path.name} isn't noticed")
        path.unlink() if kept is None else path.write_bytes(kept)
    for other in [{"good": {}}, {"good": {"SKILL.md": (b"other", False)}}, {"good": {"SKILL.md": (document("good"), True)}}, {}, None]:
        if not world.judge(world.add(str(good)), before, other):
            faults.append("a wrong expectation isn't noticed")
    good.unlink()
    return faults


@dataclass
class Trial:
    """One source, and what has to come of it."""

    name: str
    words: list[str]
    expected: Skills | None
    answer: Answer | None = None
    path: str = ""
    is_slow: bool = False


@dataclass
class Judge:
    """Runs trials, each in a world that nothing else uses meanwhile, and counts."""

    gongfu: Path
    folder: Path
    variables: dict[str, str]
    faults: list[str] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    count: int = 0
    harmless: int = 0
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")
    worlds: list[World] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, trial: Trial) -> None:
        with self.lock:
            world = self.worlds.pop() if self.worlds else None
            number = self.count
            self.count += 1
        if world is None:
            world = World(self.folder / f"world-{number}", self.gongfu, dict(self.variables))
            world.warm()
        before = world.state()
        if trial.answer:
            with SocketServer(trial.answer) as server:
                run = world.add(f"{server.url}{trial.path}", *trial.words, limit=MAX_SLOW if trial.is_slow else MAX_TIME)
        else:
            run = world.add(*trial.words)
        # The programs that gongfu starts count, too: of a repository on this disk, git reads a long file whole.
        memory = MAX_GIT if not trial.answer and trial.words[0].startswith("file:") else MAX_MEMORY
        wrong = world.judge(run, before, trial.expected, memory)
        if "\x1b" in run.output + run.messages:
            wrong.append("a terminal would obey what is printed")
        with self.lock:
            self.worlds.append(world)
            self.faults += [f"{trial.name}: {fault}" for fault in wrong]
            self.slowest = max(self.slowest, (run.seconds, trial.name)) if not trial.is_slow else self.slowest
            self.largest = max(self.largest, (run.memory, trial.name))
            self.harmless += trial.expected is not None
            if trial.expected is None:
                self.codes[run.code] += 1

    def all(self, trials: list[Trial]) -> None:
        """The slow ones at once, beside the others."""
        slow = [trial for trial in trials if trial.is_slow]
        with ThreadPoolExecutor(max(1, len(slow))) as pool:
            futures = [pool.submit(self.run, trial) for trial in slow]
            for trial in trials:
                if not trial.is_slow:
                    self.run(trial)
            for future in futures:
                future.result()

    def line(self, what: str) -> str:
        return (
            f"{what}: {self.count - self.harmless} hostile and {self.harmless} harmless ones: "
            f"{', '.join(f'{count} {code}' for code, count in self.codes.most_common())}; slowest {self.slowest[0]:.1f} s ({self.slowest[1]}), "
            f"largest {self.largest[0]} MiB ({self.largest[1]})"
        )


def prove_servers(gongfu: Path, folder: Path, seed: int, is_short: bool) -> tuple[list[str], str]:
    """Sites on the web, repositories by their files and by git's server, servers of git, and strange addresses."""
    outside, served = folder / "outside", folder / "served"
    outside.mkdir()
    served.mkdir()
    judge = Judge(gongfu, folder, {})
    step = 7 if is_short else 1
    with SocketServer(lambda exchange: exchange.respond(b"---\nname: private\ndescription: d\n---\n")) as private:
        trials = [of_site(site) for at, site in enumerate(sites(private.url)) if at % step == 0 or not is_short and site.is_slow]
        trials += [Trial(f"address {address!r}", [address], None) for at, address in enumerate(addresses(outside)) if at % step == 0]
        for wire in wires(private.url, outside):
            if not is_short or len(trials) % step == 0 and not wire.is_slow and not wire.is_large:
                trials.append(Trial(f"git server: {wire.name}", [], wire.expected, wire.answer, f"/x.git{wire.ending}", wire.is_slow))
        if is_short:
            trials = [trial for trial in trials if not trial.is_slow]
        judge.all(trials)
        with SocketServer(backend(served, {"PATH": os.environ["PATH"], "HOME": str(outside)})) as server:
            for at, case in enumerate(repositories(outside)):
                if at % step:
                    continue
                repository = Repository(served / f"{at}.git")
                case.make(repository)
                for address in [f"file://{repository.folder}", f"{server.url}/{at}.git"]:
                    judge.run(Trial(f"repository: {case.name} ({address[:4]})", [f"{address}{case.ending}", *case.words], case.expected))
                shutil.rmtree(repository.folder)
        judge.faults += [f"a private server was asked for {path}" for path in private.paths]
    if left := sorted(path.name for path in outside.iterdir()):
        judge.faults.append(f"something acted: {left}")
    if judge.count - judge.harmless < (40 if is_short else 400) or judge.harmless < (3 if is_short else 30):
        judge.faults.append("there were too few servers")
    return judge.faults, judge.line("servers")


def of_site(site: Site) -> Trial:
    return Trial(f"site: {site.name}", site.words, site.expected, site.answer, site.path, site.is_slow)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    gongfu = binary(options.gongfu)
    provers = {"archives": prove_archives, "servers": prove_servers, "kills": prove_kills, "pairs": prove_pairs}
    if unknown := set(options.parts) - provers.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    count = 0
    for name, prove in provers.items():
        if options.parts and name not in options.parts:
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="gongfu-imports-") as folder:
            faults, line = prove(gongfu, Path(folder).resolve(), options.seed, options.short)
        for fault in faults[:200]:
            print(f"fault: {fault}")
        print(f"{line}: {len(faults)} faults, {time.monotonic() - started:.0f} s", flush=True)
        count += len(faults)
    return 0 if count == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

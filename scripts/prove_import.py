#!/usr/bin/env python3
"""Proves that `gongfu skill add` installs and locks what `npx skills add` does, and that each works on what the other installed.

    prove_import.py [--gongfu BIN] [--skills CLI] [--corpus FOLDER] [--short] [--only TEXT] [--bench]

Both programs take the same sources (import_sources.py) in the same home and project, one after the other. What they leave is
compared byte for byte: paths, permissions, targets of links, contents and locks, of which only the times are left out. Each
difference must be in the table `DIFFERENCES` with its reason, and each line of the table must occur. A fault in the
comparison is planted first.

Then each works on what the other installed: update, list, remove, verify, add again. Last, thousands of changes are made to
locked skills, which `gongfu skill verify` has to name, each by its kind. `--bench` compares time and room with `git clone`.

It runs in a network of loopback alone. Exits 1 when something differs, and 77 where there is no such network or no
`npx skills`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clients import NODE, REPOSITORY, binary
from import_differences import DIFFERENCES, Expected
from import_exchange import prove_exchange
from import_place import PROJECT, Difference, Place, State, check, differences, state
from import_sources import Sources, document, put

NOT_INSTALLED = 77
ISOLATED = "GONGFU_PROVE_IMPORT_ISOLATED"
SKILLS = REPOSITORY / ".tools/node/node_modules/skills/bin/cli.mjs"
SCOPES = ["project", "user"]


@dataclass
class Case:
    """A source that both programs are given."""

    name: str
    source: Callable[[Sources], str]
    words: list[str] = field(default_factory=list)
    prepare: Callable[[Sources, Path], None] | None = None
    """Changes the project before."""
    variables: dict[str, str] = field(default_factory=dict)
    """Variables of the environment; their values are below the home."""
    agents: list[str] = field(default_factory=lambda: ["claude-code", "codex"])
    """The agents that npx skills is told; without any, it looks which are installed, as gongfu does."""
    npx: list[str] | None = None
    """The words of npx skills, where it takes the source in another way, for a project alone."""
    short: bool = False


def git_case(name: str, short: bool = False) -> Case:
    return Case(f"git {name}", lambda sources: sources.git_url(name), short=short)


def folder_case(name: str, short: bool = False) -> Case:
    return Case(f"folder {name}", lambda sources: str(sources.tree(name)), short=short)


def linked_client(_: Sources, project: Path) -> None:
    """The skills of Claude Code are those of all agents."""
    (project / ".agents/skills").mkdir(parents=True)
    (project / ".claude/skills").symlink_to("../.agents/skills")


def moved_client(_: Sources, project: Path) -> None:
    """The folder of Claude Code lies elsewhere."""
    (project / ".claude").rmdir()
    (project / "other/deeper").mkdir(parents=True)
    (project / ".claude").symlink_to("other/deeper")


def locked_before(_: Sources, project: Path) -> None:
    """The lock has skills of others, and members that no program knows."""
    entry = {"source": "o/r", "sourceType": "github", "skillPath": "x/SKILL.md", "computedHash": "0" * 64, "more": 1}
    value = {"version": 1, "skills": {"zz": entry, "10": entry, "aa": entry}}
    put(project / "skills-lock.json", json.dumps(value, indent=2) + "\n")


def no_client(_: Sources, project: Path) -> None:
    """No agent has a folder in the project yet."""
    (project / ".claude").rmdir()


def more_clients(_: Sources, project: Path) -> None:
    """Agents of which some have a folder in the project."""
    for folder in [".config/goose", ".cursor", ".roo", ".codeium/windsurf", ".gemini", f"{PROJECT}/.goose", f"{PROJECT}/.cursor"]:
        (project.parents[1] / folder).mkdir(parents=True)


def other_client(_: Sources, project: Path) -> None:
    """The project has a folder of an agent that isn't installed here."""
    (project / ".goose").mkdir()


MOVED = {"XDG_STATE_HOME": ".local/state", "CLAUDE_CONFIG_DIR": ".config/claude"}


def moved_folders(_: Sources, project: Path) -> None:
    """Folders of the home that variables name."""
    for folder in MOVED.values():
        (project.parents[1] / folder).mkdir(parents=True)


def package(name: str, built: bool) -> Callable[[Sources, Path], None]:
    def prepare(sources: Sources, project: Path) -> None:
        shutil.copytree(sources.package(name, built), project / "node_modules" / name)
        put(project / "package.json", json.dumps({"name": "p", "version": "1.0.0", "dependencies": {name: "1.2.3"}}))

    return prepare


SYNC = ["experimental_sync", "-y", "-a", "claude-code", "codex"]
CASES = [
    *[git_case(name, name in ["mixed", "plugins", "quirks"]) for name in ["mixed", "modes", "root", "plugins", "deep", "clients", "quirks", "scripts", "attributes", "doubles", "links", "outward"]],
    *[folder_case(name, name in ["mixed", "modes"]) for name in ["mixed", "modes", "root", "plugins", "quirks", "links", "outward"]],
    Case("git without an owner", lambda sources: sources.flat_url("single"), short=True),
    Case("git over file", lambda sources: sources.file_url("mixed")),
    Case("git over the old protocol", lambda sources: sources.dumb_url("single")),
    Case("git at a tag", lambda sources: f"{sources.git_url('single')}#v1"),
    Case("git at a branch", lambda sources: f"{sources.git_url('single')}#other"),
    Case("git at no branch", lambda sources: f"{sources.git_url('single')}#missing"),
    Case("git, one skill", lambda sources: sources.git_url("mixed"), ["--skill", "PLAIN"]),
    Case("git, an internal skill", lambda sources: sources.git_url("mixed"), ["--skill", "internal"]),
    Case("git, no such skill", lambda sources: sources.git_url("mixed"), ["--skill", "missing"]),
    Case("git, all folders", lambda sources: sources.git_url("mixed"), ["--full-depth"]),
    Case("git, linked client", lambda sources: sources.git_url("single"), prepare=linked_client),
    Case("git, moved client", lambda sources: sources.git_url("single"), prepare=moved_client),
    Case("git, agents found", lambda sources: sources.git_url("single"), agents=[], short=True),
    Case("git, no client", lambda sources: sources.git_url("single"), prepare=no_client, agents=[], short=True),
    Case("git, more clients", lambda sources: sources.git_url("single"), prepare=more_clients, agents=[], short=True),
    Case("git, another client", lambda sources: sources.git_url("single"), prepare=other_client, agents=[]),
    Case("git, moved folders", lambda sources: sources.git_url("single"), prepare=moved_folders, variables=MOVED),
    Case("git, locked before", lambda sources: sources.git_url("single"), prepare=locked_before),
    Case("index v2", lambda sources: sources.second_index("single"), short=True),
    Case("index v2, one skill", lambda sources: sources.second_index("single"), ["--skill", "alone"]),
    Case("index v1", lambda sources: sources.first_index("single"), short=True),
    Case("zip", lambda sources: sources.zip_url("mixed"), short=True),
    Case("zip in a folder", lambda sources: sources.zip_url("single", "single-main/")),
    Case("tar", lambda sources: sources.tar_url("mixed")),
    Case("tar in a folder", lambda sources: sources.tar_url("single", "single-main/")),
    Case("document", lambda sources: sources.document_url("alone"), short=True),
    Case("package", lambda _: "npm:single", prepare=package("single", False), npx=SYNC, short=True),
    Case("package, built", lambda _: "npm:single", prepare=package("single", True), npx=SYNC),
]


def corpus_cases() -> list[Case]:
    return [
        Case("corpus by git", lambda sources: sources.git_url("corpus")),
        Case("corpus by folder", lambda sources: str(sources.tree("corpus"))),
    ]


def compare(place: Place, case: Case, scope: str) -> tuple[list[str], int, int]:
    """Installs a source by both programs, and says what differs; with the number of paths that are equal, and of all."""
    source = case.source(place.sources)
    prepare = case.prepare
    states: dict[str, State] = {}
    ends = {}
    place.variables = {name: str(place.home / folder) for name, folder in case.variables.items()}
    for program in ["npx", "gongfu"]:
        place.fresh((lambda project: prepare(place.sources, project)) if prepare else None)
        if program == "npx" and case.npx:
            ran = place.npx(*case.npx)
        else:
            ran = place.add(program, scope, source, *case.words, agents=case.agents, ends=None)
        check(ran.returncode in (0, 1), f"{case.name}: {program} ended with {ran.returncode}: {ran.stderr}")
        states[program], ends[program] = state(place.home), ran
    place.variables = {}
    ours, theirs = states["gongfu"], states["npx"]
    found = differences(ours, theirs)
    if ends["gongfu"].returncode != ends["npx"].returncode:
        said = ends["gongfu"].stderr.split("\n")[0]
        found.insert(0, f"exit status {ends['gongfu'].returncode} / {ends['npx'].returncode}: {said}")
    equal = sum(1 for path in ours.keys() & theirs.keys() if ours[path] == theirs[path])
    return found, equal, len(ours.keys() | theirs.keys())


def prove_comparison(place: Place) -> None:
    """A comparison that notices nothing would prove nothing."""
    place.fresh()
    place.add("npx", "project", place.sources.git_url("single"))
    before = state(place.home)
    check(not differences(before, state(place.home)), "a home differs from itself")
    for path in [".agents/skills/first/SKILL.md", ".agents/skills/first/references/ünï.md", "skills-lock.json"]:
        file = place.project / path
        content = file.read_bytes()
        at = content.index(b"first") if b"first" in content else 0
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        found = differences(before, state(place.home))
        check(bool(found) and path in found[0], f"a changed byte in {path} isn't noticed: {found}")
        file.write_bytes(content)
    file = place.project / ".agents/skills/first/scripts/run.sh"
    file.chmod(0o644)
    check(differences(before, state(place.home)) == [f"{PROJECT}/.agents/skills/first/scripts/run.sh: mode 755 / 644"], "a changed permission isn't noticed")
    file.chmod(0o755)
    link = place.project / ".claude/skills/first"
    link.unlink()
    link.symlink_to("../../.agents/skills/second")
    check(len(differences(before, state(place.home))) == 1, "a changed link isn't noticed")
    print("control: one changed byte, permission or link is noticed")


def prove_installations(place: Place, cases: list[Case]) -> list[str]:
    """Compares all sources, and prints the table of the differences."""
    used: dict[Expected, list[str]] = {}
    wrong, equal, paths = [], 0, 0
    for case in cases:
        for scope in SCOPES if case.npx is None else SCOPES[:1]:
            found, same, all_paths = compare(place, case, scope)
            equal, paths = equal + same, paths + all_paths
            for line in found:
                name = f"{case.name}, {scope}"
                expected = next((one for one in DIFFERENCES if one.is_met(name, line)), None)
                if expected:
                    used.setdefault(expected, []).append(f"{name}: {line}")
                else:
                    wrong.append(f"{name}: {line}")
    names = [f"{case.name}, {scope}" for case in cases for scope in (SCOPES if case.npx is None else SCOPES[:1])]
    for expected in DIFFERENCES:
        if expected not in used and any(expected.concerns(name) for name in names):
            wrong.append(f"expected, and not there: {expected.case}: {expected.what}")
    print(f"{len(names)} installations by each program: {equal} of {paths} paths are equal")
    rows = [(one.about, str(len(lines)), one.reason) for one, lines in used.items()]
    print_rows([("different", "paths", "because"), *rows])
    return wrong


def print_rows(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def collection(folder: Path, count: int) -> None:
    """Skills of a handful of files each."""
    for number in range(count):
        base = folder / "skills" / f"skill-{number:04}"
        put(base / "SKILL.md", document(base.name) + f"\nNumber {number}.\n" * 20)
        put(base / "scripts/run.sh", f"#!/bin/sh\necho {number}\n", 0o755)
        put(base / "scripts/tool.py", f"print({number})\n" * 30)
        put(base / "references/more.md", f"# More\n\n{number}\n" * 50)
        put(base / "assets/data.bin", bytes((number + at) % 256 for at in range(512)))


def verified(place: Place, ends: int) -> dict[str, list[tuple[str, str]]]:
    """The differences that `gongfu skill verify` names, by skill."""
    found = json.loads(place.gongfu("skill", "verify", "--json", ends=ends).stdout)
    check(found["valid"] == (ends == 0), f"valid: {found['valid']}, and ended with {ends}")
    return {name: [(one["path"], one["kind"]) for one in ones] for name, ones in found["skills"].items() if ones}


def changed_byte(content: bytes, chance: random.Random) -> bytes:
    """A content with one byte exchanged, added or missing, which isn't a change of line endings."""
    at = chance.randrange(len(content))
    match chance.randrange(3):
        case 0:
            return content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :]
        case 1:
            return content[:at] + b"x" + content[at:]
        case _:
            return content[:at] + content[at + 1 :]


def prove_verify(place: Place, skills: int, count: int, few: int) -> None:
    """Changes many files of locked skills: each is named by its kind, and no other."""
    tree = place.sources.folder / "trees/many"
    collection(tree, skills)
    place.fresh()
    place.add("gongfu", "project", str(tree))
    base = place.project / ".agents/skills"
    files = sorted(path for path in base.rglob("*") if path.is_file())
    check(verified(place, 0) == {}, "an untouched lock isn't clean")
    chance = random.Random(7)

    def prove(kind: str, chosen: list[Path], change: Callable[[Path], object], kinds: Callable[[Path], str]) -> None:
        before = {path: (path.read_bytes(), path.stat().st_mode) for path in chosen}
        expected: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(chosen):
            name, _, rest = str(path.relative_to(base)).partition("/")
            expected.setdefault(name, []).append((rest, kinds(path)))
            change(path)
        found = verified(place, 1)
        wrong = [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]
        check(not wrong, f"{kind}: {[(name, found.get(name), expected.get(name)) for name in wrong[:3]]}")
        for path, (content, mode) in before.items():
            path.write_bytes(content)
            path.chmod(mode)
        check(verified(place, 0) == {}, f"{kind}: not clean after they were taken back")
        print(f"verify: {len(chosen)} of {len(files)} files of {skills} skills with {kind}: each is named, and no other")

    def byte(path: Path) -> None:
        # Another byte, also where an added one is equal to its neighbours.
        path.write_bytes(changed_byte(path.read_bytes(), chance))

    texts = [path for path in files if path.suffix != ".bin"]
    prove("one changed byte", chance.sample(files, count), byte, lambda _: "content")
    prove("other line endings", chance.sample(texts, few), lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")), lambda _: "line_endings")
    programs = {path for path in files if path.stat().st_mode & 0o111}
    chosen = chance.sample(sorted(programs), few // 2) + chance.sample(sorted(set(files) - programs), few - few // 2)
    prove("another permission", chosen, lambda path: path.chmod(path.stat().st_mode ^ 0o111), lambda path: "not_executable" if path in programs else "executable")


def room(*folders: Path) -> int:
    """The bytes that folders take on the disk."""
    total = 0
    for folder in folders:
        for here, names, files in os.walk(folder):
            total += sum(Path(here, name).lstat().st_blocks for name in [*names, *files]) * 512
    return total


def bench(place: Place, skills: int = 500, rounds: int = 5) -> None:
    """Times of `git clone`, `npx skills add` and `gongfu skill add`, in turn."""
    collection(place.sources.tree("bench"), skills)
    url = place.sources.file_url("bench")
    times: dict[str, list[float]] = {}
    rooms: dict[str, tuple[int, int]] = {}

    def clone() -> None:
        place.run(["git", "clone", "-q", url, str(place.project / "clone")], {}, 0)

    ways: dict[str, Callable[[], object]] = {
        "git clone": clone,
        "npx skills add": lambda: place.add("npx", "project", url),
        "gongfu skill add": lambda: place.add("gongfu", "project", url),
    }
    for _ in range(rounds):
        for name, way in ways.items():
            place.fresh()
            empty = room(place.home)
            start = time.monotonic()
            way()
            times.setdefault(name, []).append(time.monotonic() - start)
            rooms[name] = room(place.home) - empty, room(place.own)
    base = statistics.median(times["git clone"])
    print(f"bench: {skills} skills of 5 files from a repository on this disk, median of {rounds}")
    rows = [("", "seconds", "of git clone", "KiB", "of git clone", "KiB in gongfu's home")]
    for name in ways:
        median = statistics.median(times[name])
        rows.append((name, f"{median:.2f}", f"{median / base:.1f}", str(rooms[name][0] // 1024), f"{rooms[name][0] / rooms['git clone'][0]:.2f}", str(rooms[name][1] // 1024)))
    print_rows(rows)


def isolate() -> None:
    """Goes on in a network of its own, with loopback alone."""
    if os.environ.get(ISOLATED):
        return
    os.environ[ISOLATED] = "1"
    shell = 'ip link set lo up && exec "$0" "$@"'
    # A person who isn't root has one in a user namespace, and root of a container perhaps only without.
    for options in ["-rn", "-n"]:
        command = ["unshare", options, "sh", "-c", shell, sys.executable]
        if shutil.which("unshare") and subprocess.run([*command, "-c", ""], capture_output=True).returncode == 0:
            os.execvp("unshare", [*command, *sys.argv])
    print("not run: a network of its own can't be had here")
    sys.exit(NOT_INSTALLED)


def check_isolation() -> None:
    for address in ["192.0.2.1", "1.1.1.1"]:
        try:
            socket.create_connection((address, 443), 3).close()
        except OSError:
            continue
        raise Difference(f"{address} can be reached")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--skills", type=Path, default=SKILLS, help="the program `npx skills`")
    parser.add_argument("--corpus", type=Path, help="real skills to install, too")
    parser.add_argument("--short", action="store_true", help="fewer sources, and fewer changes")
    parser.add_argument("--only", help="only the sources whose names have this text, and no other part")
    parser.add_argument("--bench", action="store_true", help="only measure time and room, beside `git clone`")
    options = parser.parse_args()
    program = binary(options.gongfu)
    if not options.skills.is_file() or not (NODE / "node").exists():
        print("not run: `npx skills` isn't installed; `scripts/test --install` installs it")
        return NOT_INSTALLED
    isolate()
    os.umask(0o022)
    corpus = options.corpus and options.corpus.resolve()
    with tempfile.TemporaryDirectory(prefix="gongfu-import-") as name:
        top = Path(name).resolve()
        sources = Sources(top / "sources", corpus)
        place = Place(top, program, options.skills.resolve(), sources)
        try:
            check_isolation()
            if options.bench:
                bench(place)
                return 0
            prove_comparison(place)
            cases = [case for case in CASES if (case.short or not options.short) and (options.only or "") in case.name]
            cases += corpus_cases() if corpus and not options.only else []
            wrong = prove_installations(place, cases)
            check(not wrong, "\n  ".join(["not in the table:", *wrong]))
            if not options.only:
                prove_exchange(place, options.short)
                prove_verify(place, *((60, 100, 30) if options.short else (500, 1000, 100)))
        except Difference as difference:
            print(f"difference: {difference}")
            return 1
        finally:
            sources.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

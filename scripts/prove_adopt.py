#!/usr/bin/env python3
"""Proves that `gongfu adopt` finds what is on a machine, changes no file but those it tells, and leaves all as it was.

    prove_adopt.py [--gongfu BIN] [--count SKILLS] [--kills NUMBER] [--corpus FOLDER]

Makes a home with every kind of skill (adopted_home.py), and compares the list of gongfu with what was made. Then it adopts:
every path, mode, byte and time of the home has to be as before, apart from the locks that gongfu names. `--undo` has to leave
exactly the first state, also after a second adoption, and a fault in this comparison is planted first. With changes in
between (an entry of the lock, another skill, a setting, an approved connection), these stay and are told.

Adoptions are killed at many moments, too, and taken back. Last, a home with many skills is listed and adopted, and the times are printed. Exits 1 when something differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from adopted_home import EXPECTED, KINDS, World, put, skill
from clients import binary

State = dict[str, tuple[int, str, int]]


class Difference(Exception):
    """Something isn't as it must be."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Difference(what)


def state(home: Path) -> State:
    """Everything below a folder: mode, content, and the time of files."""
    found: State = {}
    for folder, names, files in os.walk(home):
        for name in names + files:
            path = Path(folder, name)
            stat = path.lstat()
            if path.is_symlink():
                found[str(path)] = (stat.st_mode, os.readlink(path), stat.st_mtime_ns)
            elif path.is_file():
                found[str(path)] = (stat.st_mode, hashlib.sha256(path.read_bytes()).hexdigest(), stat.st_mtime_ns)
            else:
                found[str(path)] = (stat.st_mode, "", 0)
    return found


def differences(before: State, after: State) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


class Gongfu:
    """The program in a home of its own, outside of the one that it looks into."""

    def __init__(self, program: Path, world: World, own: Path) -> None:
        self.program, self.world, self.own = program, world, own
        self.environment = {"HOME": str(world.home), "PATH": os.environ["PATH"], "GONGFU_HOME": str(own)}

    def run(self, *words: str, ends: int | None = 0) -> str:
        ran = subprocess.run([self.program, *words], env=self.environment, cwd=self.world.project, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        check(ends is None or ran.returncode == ends, f"gongfu {' '.join(words)} ended with {ran.returncode}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        return ran.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


def check_list(world: World, listed: Any) -> None:
    """Compares the list with what was made."""
    def short(path: str) -> str:
        for base, mark in [(world.project, "."), (world.home, "~")]:
            if path.startswith(f"{base}/"):
                return mark + path[len(str(base)) :]
        return path

    found = {short(one["folder"]): one for one in listed["skills"]}
    check(len(found) == len(listed["skills"]), "a folder is listed twice")
    missing, more = EXPECTED.keys() - found.keys(), found.keys() - EXPECTED.keys()
    check(not missing and not more, f"missing: {sorted(missing)}; too many: {sorted(more)}")
    for folder, expected in EXPECTED.items():
        one = found[folder]
        source = one["origin"] and one["origin"]["source"]
        got = (source, one["rank"], one["lock"])
        check(got == expected, f"{folder}: {got} instead of {expected}")
    links = [short(path) for path in found["~/.agents/skills/npx-user"]["places"]]
    check(links == ["~/.agents/skills/npx-user", "~/.claude/skills/npx-user"], f"places: {links}")
    check("secret" not in json.dumps(listed), "a password of an address is shown")
    texts = [problem["message"] for problem in listed["problems"]]
    for file, line in [(".roo/.clawhub/lock.json", 3), (".claude-plugin/marketplace.json", 3)]:
        check(any(file in text and f"line {line}" in text for text in texts), f"no problem names {file}, line {line}: {texts}")
    check(len(texts) == 2, f"other problems: {texts}")
    names = sorted({one["name"] for one in listed["servers"]})
    check(names == ["docs", "remote"], f"servers: {names}")
    check([one["from"] for one in listed["sources"] if one["name"] == "market"] == ["https://github.com/owner/market.git"], "the marketplace isn't listed")


def told(answer: Any) -> set[str]:
    return {lock["path"] for lock in answer["changes"]["locks"]}


def adopt_and_return(gongfu: Gongfu, first: State) -> None:
    home = gongfu.world.home
    gongfu.run("adopt", ends=2)
    check(not differences(first, state(home)), "a refused adoption changed something")
    dry = gongfu.json("adopt", "--project", "current", "--dry-run")
    check_list(gongfu.world, dry)
    check(not differences(first, state(home)), "a dry run changed something")
    made = gongfu.json("adopt", "--project", "current", "--yes")
    changed = differences(first, state(home))
    check(set(changed) == told(made) and len(changed) == 2, f"changed: {changed}; told: {told(made)}")
    locked = {lock["path"]: set(lock["added"]) for lock in made["changes"]["locks"]}
    user = locked[str(home / ".agents/gongfu.lock")]
    check({"npx-user", ".claude/skills/plain", ".claude/plugins/cache/market/tools/1.10.0/skills/by-plugin"} <= user, f"locked: {sorted(user)}")
    check(not any("1.9.0" in key for key in user), "a plugin that is only cached was locked")
    check(sorted(made["changes"]["servers"]) == ["docs", "remote"], f"imported: {made['changes']['servers']}")
    check([Path(folder).name for folder in made["changes"]["folders_to_review"]] == ["skills"], "the project's own folder isn't told")
    names = {one["name"] for one in gongfu.json("list")}
    for name in ["for-codex", "for-cursor", "for-gemini", "for-opencode", "for-goose", "by-plugin", "by-clawhub", "npx-user"]:
        check(name in names, f"gongfu doesn't list {name} after the adoption")
    again = gongfu.json("adopt", "--project", "current", "--yes")
    check(not again["adopted"] and not again["changes"]["locks"], "a second adoption found something new")
    check(set(differences(first, state(home))) == told(made), "a second adoption changed something")
    connections = {one["name"]: one["approved"] for one in gongfu.json("connection", "list", "--no-start")}
    check(connections == {"docs": False, "remote": False}, f"connections: {connections}")
    verified = json.loads(gongfu.run("skill", "verify", "--in", "user", "--json", ends=None))["skills"]
    check(not any(verified.values()), f"not as locked: {verified}")
    skill(home / ".codex/skills/later")
    gongfu.run("adopt", "--yes")
    gongfu.run("adopt", "--undo")
    shutil.rmtree(home / ".codex/skills/later")
    left = differences(first, state(home))
    check(not left, f"not as it was: {left}")
    check(not (gongfu.own / "connections.json").exists() and not (gongfu.own / "config.toml").exists(), "gongfu's own files are left")
    gongfu.run("adopt", "--undo", ends=1)


def change_and_return(gongfu: Gongfu, first: State) -> None:
    """Changes between an adoption and its end stay, and are told."""
    home = gongfu.world.home
    gongfu.run("config", "set", "discovery.home", "true")
    settings = (gongfu.own / "config.toml").read_text()
    gongfu.run("adopt", "--project", "current", "--yes")
    lock = home / ".agents/gongfu.lock"
    value = json.loads(lock.read_text())
    value["skills"]["npx-user"]["ref"] = "v9"
    value["skills"]["added-later"] = {"source": "x", "kind": "unknown"}
    lock.write_text(json.dumps(value))
    gongfu.run("source", "add", str(home / "src"))
    connections = json.loads((gongfu.own / "connections.json").read_text())
    table = next(value for value in connections.values() if isinstance(value, dict) and "docs" in value)
    table["docs"]["command"] = "other"
    (gongfu.own / "connections.json").write_text(json.dumps(connections))
    answer = gongfu.json("adopt", "--undo")
    left = json.loads(lock.read_text())["skills"]
    check(sorted(left) == ["added-later", "npx-user"], f"left in the lock: {sorted(left)}")
    check(answer["reduced"] == [str(lock)], f"told: {answer}")
    kept = "\n".join(answer["kept"])
    check("npx-user" in kept and "docs" in kept, f"kept: {kept}")
    folders = [gongfu.json("config", "get", key) for key in ("skills_dirs", "discovery.adopted")]
    check(str(home / "src") in json.dumps(folders) and ".codex" not in json.dumps(folders), f"settings: {folders}")
    check([one["name"] for one in gongfu.json("connection", "list", "--no-start")] == ["docs"], "connections after the undo")
    changed = [path for path in differences(first, state(home)) if Path(path) != lock]
    check(not changed, f"not as it was: {changed}")
    lock.unlink()
    check(not differences(first, state(home)), "more than the lock is left")
    check("home" in settings, "the setting before is missing")


def kill_and_return(program: Path, folder: Path, count: int) -> None:
    """An adoption that is killed at any moment is taken back as a whole."""
    world = World(folder)
    for make in KINDS:
        make(world)
    for number in range(200):
        skill(world.home / f".claude/skills/many-{number}", str(number))
    first = state(world.home)
    gongfu = Gongfu(program, world, folder / "own")
    start = time.monotonic()
    gongfu.run("adopt", "--project", "current", "--yes")
    whole = time.monotonic() - start
    gongfu.run("adopt", "--undo")
    check(not differences(first, state(world.home)), "before the kills: not as it was")
    begun = changed = staged = 0
    for number in range(count):
        # Most of the time goes by before anything is written.
        delay = whole * (0.4 + 0.7 * number / count)
        process = subprocess.Popen([program, "adopt", "--project", "current", "--yes"], env=gongfu.environment, cwd=world.project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 2:
            # The moments after the record are few, and matter most.
            while process.poll() is None and not any((gongfu.own / "adopted").glob("*.json")):
                time.sleep(0.0002)
            delay = 0.001 * number
        time.sleep(delay)
        process.kill()
        process.wait()
        is_begun = any((gongfu.own / "adopted").glob("*.json"))
        begun += is_begun
        before = differences(first, state(world.home))
        changed += any(path.endswith("gongfu.lock") for path in before)
        staged += any(".gongfu-import" in path for path in before)
        gongfu.run("adopt", "--undo", ends=0 if is_begun else 1)
        left = differences(first, state(world.home))
        check(not left, f"killed after {delay:.3f} s: not as it was: {left}")
        table = gongfu.json("connection", "list", "--no-start")
        check(table == [] and ".codex" not in gongfu.run("source", "list"), f"killed after {delay:.3f} s: {table}")
    print(f"{count} kills, {begun} after the record was written, {staged} in a transaction, {changed} after a lock was: each was taken back")


def fill(world: World, count: int, corpus: Path | None) -> None:
    """Many skills: ten in turn as folders of four clients, and ten as a plugin from a marketplace."""
    sources = sorted(path.parent for path in corpus.rglob("SKILL.md")) if corpus else []
    folders = [world.home / name for name in [".claude/skills", ".agents/skills", ".codex/skills", ".cursor/skills"]]
    for number in range(count):
        ten = number // 10
        base = folders[number % len(folders)]
        if ten % 2:
            base = world.plugin_folder(f"plugin-{ten}", "1.0.0") / "skills"
        target = base / f"skill-{number:04}"
        if sources:
            shutil.copytree(sources[number % len(sources)], target, symlinks=False, ignore_dangling_symlinks=True)
            put(target / "number", f"{number}\n")
        else:
            skill(target, str(number))
    world.install_plugins([f"plugin-{ten}" for ten in range(1, count // 10, 2)], "1.0.0")


def measure(program: Path, folder: Path, count: int, corpus: Path | None) -> None:
    world = World(folder)
    fill(world, count, corpus)
    files = sum(len(files) for _, _, files in os.walk(world.home))
    first = state(world.home)
    gongfu = Gongfu(program, world, folder / "own")
    times = []
    for words in [("adopt", "--dry-run"), ("adopt", "--dry-run"), ("adopt", "--yes"), ("adopt", "--undo")]:
        start = time.monotonic()
        answer = gongfu.json(*words)
        times.append(f"{' '.join(words)} {time.monotonic() - start:.2f} s")
        if "skills" not in answer:
            continue
        check(len(answer["skills"]) == count, f"{len(answer['skills'])} of {count} skills")
        of_plugins = sum("/plugins/cache/" in copy["folder"] for copy in answer["skills"])
        check(of_plugins == count // 20 * 10, f"{of_plugins} skills of plugins")
    check(not differences(first, state(world.home)), "many skills: not as it was")
    print(f"{count} skills, half in {count // 20} plugins, {files} files{' of the corpus' if corpus else ''}: {', '.join(times)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    program = binary(options.gongfu)
    with tempfile.TemporaryDirectory(prefix="gongfu-adopt-") as name:
        try:
            for number, prove in enumerate([adopt_and_return, change_and_return]):
                folder = Path(name, str(number)).resolve()
                world = World(folder)
                for make in KINDS:
                    make(world)
                first = state(world.home)
                # A comparison that notices nothing would prove nothing.
                planted = world.home / ".claude/skills/plain/SKILL.md"
                os.utime(planted, ns=(1, 1))
                check(differences(first, state(world.home)) == [str(planted)], "a planted change isn't noticed")
                first = state(world.home)
                prove(Gongfu(program, world, folder / "own"), first)
            print(f"{len(KINDS)} kinds, {len(EXPECTED)} copies: listed, adopted and given back")
            kill_and_return(program, Path(name, "killed").resolve(), options.kills)
            measure(program, Path(name, "many").resolve(), options.count, options.corpus)
        except Difference as difference:
            print(f"difference: {difference}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Proves that scripts of strangers run in gongfu, with the packages that they import.

    strangers.py [--gongfu BIN] [--uv BIN] [--skills DIR] [--cache DIR] [--count N] [--least PERCENT]
                 [--parallel N] [--only NAME] [--timeout SECONDS] [--json FILE]

Every script of a collection of skills that imports something that neither Python nor its skill has is a
candidate. What counts is whether `python SCRIPT --help` ends with 0:

1. in the reference, an environment that uv makes outside gongfu, with the packages that a person wrote
   down in strangers_packages.toml. Where it doesn't, the script isn't counted, and the output says why;
2. in gongfu, with a home of its own and `auto_install`, by `gongfu run`.

What takes more than 300 s or 2 GB is listed apart: a reference isn't counted then, and a run of gongfu
doesn't count as one. References are kept in the cache, by a digest of the skill and the packages, so a
second run is about gongfu alone. Of those that run, the table says which need no package for `--help`
("bare"): they prove little. One that needs packages, and runs in gongfu without an environment, has them
from the Python of this machine, and doesn't count as run.

The reference runs strangers' code outside gongfu. Where bubblewrap works, it can write to nothing of this
machine and reaches no network, as in gongfu; it has neither this shell's variables nor its home anywhere.

Exits 1 when fewer than --least percent run, or when nothing was tried; 77 without uv or npm.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clients import NOT_INSTALLED, REPOSITORY, binary
from strangers_collection import COLLECTION, Script, Skill, fetch, find

TABLE = Path(__file__).with_name("strangers_packages.toml")
# What one environment may take, in MiB, and how long may pass until it is there, in seconds.
ROOM = 2048
BUILD = 300.0
# How much of what uv keeps may lie in the cache, in MiB.
KEPT = 3072
# The order of a run in short, and how many scripts of one skill may be in it.
SEED = 7
OF_ONE_SKILL = 2
# How much of what a program prints is looked at, in bytes.
SHOWN = 1 << 20
# Another number makes every reference anew.
FORMAT = 1
# A line that says what went wrong: an exception of Python, or an error of gongfu.
ERROR = re.compile(r"^\s*((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|NotFound|Exit)\b.*|.*\bDEPENDENCIES_[A-Z]+\b.*|error: .*)$")


@dataclass
class Ran:
    """One run of a program; the code is None when it took too long."""

    code: int | None
    printed: str
    seconds: float


def run(command: list[str], folder: Path, variables: dict[str, str], timeout: float) -> Ran:
    """Runs a program with nothing to read, in a group of its own, which is ended with it."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - SHOWN))
        printed = output.read().decode(errors="replace")
    return Ran(code, printed, time.monotonic() - begun)


def last_line(ran: Ran, timeout: float) -> str:
    """The line that says why a run failed."""
    if ran.code is None:
        return f"took longer than {timeout:g} s"
    lines = [line.strip() for line in ran.printed.splitlines() if re.search(r"\w", line)]
    line = next((line for line in reversed(lines) if ERROR.match(line)), lines[-1] if lines else "it printed nothing")
    return f"{line[:200]} (exit code {ran.code})"


def kind(problem: str) -> str:
    """The short name of a reason, by which those like it are counted."""
    missing = re.match(r"ModuleNotFoundError: No module named '([\w]+)", problem)
    named = re.search(r"\b(DEPENDENCIES_[A-Z]+|[A-Z]\w*(?:Error|Exception))\b", problem)
    code = re.search(r"\(exit code (-?\d+)\)$", problem)
    if missing:
        return f"no module `{missing[1]}`"
    if named:
        return named[1]
    return f"exit code {code[1]}" if code else problem.split(":")[0]


def size_of(folder: Path) -> int:
    """What a folder takes, in MiB; a file counts even when another folder has it too."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            total += os.lstat(os.path.join(top, name)).st_size
    return total >> 20


def in_parallel(what: str, work: Callable[[Skill], None], skills: list[Skill], parallel: int) -> None:
    """Does something for each skill, several at once."""
    with ThreadPoolExecutor(parallel) as pool:
        for skill, _ in zip(skills, pool.map(work, skills), strict=True):
            print(f"{what}: {skill.name}", file=sys.stderr, flush=True)


class Reference:
    """Environments outside gongfu, and what scripts do in them."""

    def __init__(self, cache: Path, uv: Path, timeout: float) -> None:
        self.cache, self.uv, self.timeout = cache, uv, timeout
        (cache / "references").mkdir(exist_ok=True)
        probe = [*self.walls(cache), "true"]
        self.contained = shutil.which("bwrap") is not None and subprocess.run(probe, capture_output=True).returncode == 0

    @staticmethod
    def walls(folder: Path) -> list[str]:
        """What begins a program that can write to this folder alone."""
        bind = ["--ro-bind", sys.base_prefix, sys.base_prefix, "--bind", str(folder), str(folder)]
        # By its full path: scripts have another search path than this program.
        return [shutil.which("bwrap") or "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", *bind, "--unshare-pid", "--unshare-net", "--die-with-parent", "--"]

    def judge(self, skill: Skill) -> None:
        """Says of each script whether it works where its packages are installed."""
        for script in skill.scripts:
            if script.heavy:
                script.reference, script.why_not = "exceeds", f"{', '.join(script.heavy)}: more than 2 GB, by the list; not tried"
        scripts = [script for script in skill.scripts if not script.heavy]
        digest = hashlib.sha256(f"{FORMAT} {sys.version} {self.timeout} {[(one.path, one.packages) for one in scripts]}".encode())
        for file in sorted(skill.folder.rglob("*")):
            if file.is_file() and not file.is_symlink():
                digest.update(f"{file.relative_to(skill.folder)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
        kept = self.cache / "references" / f"{digest.hexdigest()}.json"
        if kept.is_file():
            for script in scripts:
                script.reference, script.why_not, script.bare = json.loads(kept.read_text())[script.path]
        elif scripts and not self.try_all(skill, scripts):
            kept.write_text(json.dumps({one.path: [one.reference, one.why_not, one.bare] for one in scripts}, indent=1))

    def try_all(self, skill: Skill, scripts: list[Script]) -> bool:
        """Tries scripts in one environment, or each in its own; answers whether one couldn't be made, which may pass."""
        shared = self.try_some(skill, scripts)
        failed = False
        for script in scripts if shared else []:
            problem = self.try_some(skill, [script]) if len(scripts) > 1 else shared
            if problem:
                failed = True
                script.reference, script.why_not = "exceeds" if problem.startswith("exceeds") else "fails", problem
        return failed

    def try_some(self, skill: Skill, scripts: list[Script]) -> str:
        """Makes one environment and tries scripts in it; answers why there can't be such a one."""
        with tempfile.TemporaryDirectory(dir=self.cache, prefix="reference-", ignore_cleanup_errors=True) as text:
            scratch = Path(text)
            tool = {**os.environ, "UV_CACHE_DIR": str(self.cache / "uv"), "UV_PYTHON_DOWNLOADS": "never", "UV_CONCURRENT_BUILDS": "1"}
            for name in ("venv", "bare"):
                made = run([str(self.uv), "venv", "--quiet", "--no-project", "--python", sys.executable, str(scratch / name)], scratch, tool, BUILD)
                if made.code != 0:
                    return f"uv venv: {last_line(made, BUILD)}"
            packages = sorted({package for script in scripts for package in script.packages})
            if packages:
                install = [str(self.uv), "pip", "install", "--quiet", "--python", str(scratch / "venv" / "bin" / "python"), *packages]
                made = run(install, scratch, tool, BUILD)
                self.bound()
                if made.code is None:
                    return f"exceeds: {BUILD:g} s to install {', '.join(packages)}"
                if made.code != 0:
                    return f"packages can't be had: {last_line(made, BUILD)}"
            if size_of(scratch / "venv") > ROOM:
                return f"exceeds: {size_of(scratch / 'venv')} MiB of {', '.join(packages)}"
            for script in scripts:
                ran = self.help(skill, script, scratch, "venv")
                script.reference = "works" if ran.code == 0 else "fails"
                script.why_not = "" if ran.code == 0 else last_line(ran, self.timeout)
                script.bare = ran.code == 0 and self.help(skill, script, scratch, "bare").code == 0
        return ""

    def help(self, skill: Skill, script: Script, scratch: Path, environment: str) -> Ran:
        """Runs a script in folders that nobody used before."""
        for name in ("skill", "home", "empty"):
            shutil.rmtree(scratch / name, ignore_errors=True)
        for name in ("home", "empty"):
            (scratch / name).mkdir()
        shutil.copytree(skill.folder, scratch / "skill", ignore_dangling_symlinks=True)
        binaries = scratch / environment / "bin"
        variables = {"PATH": f"{binaries}:{os.defpath}", "HOME": str(scratch / "home"), "LANG": "C.UTF-8"}
        command = [str(binaries / "python"), str(scratch / "skill" / script.path), "--help"]
        return run([*(self.walls(scratch) if self.contained else []), *command], scratch / "empty", variables, self.timeout)

    def bound(self) -> None:
        """Empties what uv keeps once it is too much."""
        if (self.cache / "uv").is_dir() and size_of(self.cache / "uv") > KEPT:
            subprocess.run([str(self.uv), "cache", "clean", "--quiet", "--cache-dir", str(self.cache / "uv")], stdin=subprocess.DEVNULL, capture_output=True)


class Gongfu:
    """The runs by gongfu, each skill in a home of its own, which goes with its environments."""

    def __init__(self, gongfu: Path, uv: Path, timeout: float) -> None:
        self.gongfu, self.uv, self.timeout = gongfu, uv, timeout

    def judge(self, skill: Skill) -> None:
        """Runs the scripts of a skill whose reference works."""
        scripts = [script for script in skill.scripts if script.reference == "works"]
        if not scripts:
            return
        with tempfile.TemporaryDirectory(prefix="gongfu-strangers-", ignore_cleanup_errors=True) as text:
            scratch = Path(text).resolve()
            for name in ("home", "work", "skills", "person"):
                (scratch / name).mkdir()
            settings = f"[dependencies]\nauto_install = true\ndisk_mib = {ROOM}\nseconds = {BUILD:.0f}\n"
            (scratch / "home" / "config.toml").write_text(settings)
            shutil.copytree(skill.folder, scratch / "skills" / skill.folder.name, ignore_dangling_symlinks=True)
            listed = self.ask(scratch, "skill", "list")
            for script in scripts:
                script.problem = self.try_one(scratch, script, listed[0]["name"]) if listed else "gongfu lists no such skill"
                script.gongfu = "fails" if script.problem else "runs"
            size = sum(one["bytes"] for one in self.ask(scratch, "env", "list")) >> 20
            for script in scripts:
                script.mebibytes = size
                if script.gongfu == "runs" and (script.seconds > BUILD or size > ROOM):
                    script.gongfu, script.problem = "exceeds", f"it runs, after {script.seconds:.0f} s, with {size} MiB"

    def try_one(self, scratch: Path, script: Script, skill: str) -> str:
        """Runs a script; answers what is wrong with that."""
        command = [*self.command(scratch, "run", skill), "--json", "--timeout", f"{self.timeout:.0f}", "--", "python3", script.path, "--help"]
        ran = run(command, scratch / "work", self.variables(scratch), self.timeout + BUILD)
        script.seconds = round(ran.seconds, 1)
        try:
            told = json.loads(ran.printed)
        except ValueError:
            return last_line(ran, self.timeout + BUILD)
        if "error" in told:
            return "{code} ({reason}): {message}".format(**{"reason": "", **told["error"]})[:300]
        if told["reason"] != "ok":
            return f"it was ended: {told['reason']}"
        if ran.code != 0:
            return last_line(Ran(ran.code, told["stdout"] + "\n" + told["stderr"], 0), self.timeout)
        # Else it is an accident: elsewhere it doesn't run.
        lent = not script.bare and not told.get("environments")
        return "it has no environment: it runs on packages of this machine's Python" if lent else ""

    def command(self, scratch: Path, *arguments: str) -> list[str]:
        """A command of gongfu over the one skill."""
        return [str(self.gongfu), *arguments, "--skills-dir", str(scratch / "skills"), "--no-default-dirs"]

    def variables(self, scratch: Path) -> dict[str, str]:
        """The variables of gongfu, with a home of its own."""
        return {**os.environ, "GONGFU_HOME": str(scratch / "home"), "HOME": str(scratch / "person"), "PATH": f"{self.uv.parent}:{os.environ['PATH']}"}

    def ask(self, scratch: Path, *arguments: str) -> Any:
        """Answers what a command of gongfu prints as JSON."""
        command = [*self.command(scratch, *arguments), "--json"]
        done = subprocess.run(command, cwd=scratch / "work", env=self.variables(scratch), stdin=subprocess.DEVNULL, capture_output=True, timeout=BUILD)
        return json.loads(done.stdout) if done.returncode == 0 else []


def choose(skills: list[Skill], count: int, table: dict[str, Any], reference: Reference) -> list[Skill]:
    """Skills with small packages, in the order of a fixed seed, until so many scripts work."""
    light = set(table["light"]["packages"])
    small = [skill for skill in skills if all(not one.absent and set(one.packages) <= light for one in skill.scripts)]
    random.Random(SEED).shuffle(small)
    chosen: list[Skill] = []
    for skill in small:
        missing = count - sum(one.reference == "works" for other in chosen for one in other.scripts)
        if missing <= 0:
            break
        skill.scripts = random.Random(SEED).sample(skill.scripts, min(len(skill.scripts), OF_ONE_SKILL, missing))
        reference.judge(skill)
        chosen.append(skill)
    return chosen


def print_table(scripts: list[Script]) -> None:
    """Prints a line for each script, and below it those that fail and those that exceed, with reasons."""
    lines = [("script", "reference", "gongfu", "s", "MiB")]
    for one in scripts:
        numbers = (f"{one.seconds:.1f}", str(one.mebibytes)) if one.gongfu else ("", "")
        lines.append((f"{one.skill}/{one.path}", one.reference + (", bare" if one.bare else ""), one.gongfu, *numbers))
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    for line in lines:
        cells = [cell.ljust(width) if column < 3 else cell.rjust(width) for column, (cell, width) in enumerate(zip(line, widths, strict=True))]
        print("  ".join(cells).rstrip())
    groups = (
        ("not counted, because the reference fails", [(one, one.why_not + (f"; not installed: {', '.join(one.absent)}" if one.absent else "")) for one in scripts if one.reference == "fails"]),
        ("listed apart, because the reference exceeds 300 s or 2 GB", [(one, one.why_not) for one in scripts if one.reference == "exceeds"]),
        ("listed apart, because gongfu exceeds 300 s or 2 GB; they don't count as run", [(one, one.problem) for one in scripts if one.gongfu == "exceeds"]),
        ("works in the reference, fails in gongfu", [(one, one.problem) for one in scripts if one.gongfu == "fails"]),
    )
    for title, members in groups:
        if members:
            print(f"\n{title}:")
            for problem, times in Counter(kind(why) for _, why in members).most_common():
                print(f"  {times:>3}  {problem}")
            for one, why in members:
                print(f"       {one.skill}/{one.path}: {why}")


def sums(scripts: list[Script]) -> dict[str, Any]:
    """The numbers that the run is about."""
    works = [one for one in scripts if one.reference == "works"]
    runs = [one for one in works if one.gongfu == "runs"]
    needy = [one for one in works if not one.bare]
    share = {"percent": (runs, works), "need_packages_percent": ([one for one in runs if not one.bare], needy)}
    return {
        "candidates": len(scripts),
        "reference_fails": sum(one.reference == "fails" for one in scripts),
        "reference_exceeds": sum(one.reference == "exceeds" for one in scripts),
        "reference_works": len(works),
        "gongfu_runs": len(runs),
        "gongfu_exceeds": sum(one.gongfu == "exceeds" for one in works),
        "need_packages": len(needy),
        "need_packages_and_run": sum(not one.bare for one in runs),
        **{name: math.floor(1000 * len(part) / len(whole)) / 10 if whole else 0.0 for name, (part, whole) in share.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--uv", type=Path, help="uv (default: the one on the search path)")
    parser.add_argument("--skills", type=Path, help=f"a folder of skills (default: those of the npm package {COLLECTION})")
    parser.add_argument("--cache", type=Path, default=REPOSITORY / ".tools" / "strangers", help="where the collection and references are kept (default: .tools/strangers)")
    parser.add_argument("--count", type=int, default=0, help="only so many, with small packages (default: all)")
    parser.add_argument("--least", type=float, default=90.0, help="the least percentage that has to run (default: 90)")
    parser.add_argument("--parallel", type=int, default=1, help="how many skills at once (default: 1)")
    parser.add_argument("--only", default="", help="only the skills whose folder's name holds this")
    parser.add_argument("--timeout", type=float, default=300.0, help="the seconds that a script may take (default: 300)")
    parser.add_argument("--json", type=Path, help="writes all that was found to this file")
    options = parser.parse_args()
    uv = options.uv or shutil.which("uv")
    if uv is None or (options.skills is None and shutil.which("npm") is None):
        print("error: uv or npm is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin on the search path", file=sys.stderr)
        return NOT_INSTALLED
    gongfu = binary(options.gongfu)
    options.cache.mkdir(parents=True, exist_ok=True)
    cache = options.cache.resolve()
    table = tomllib.loads(TABLE.read_text())
    skills = find((options.skills or fetch(cache)).resolve(), options.only, table)
    reference = Reference(cache, Path(uv).absolute(), options.timeout)
    if not reference.contained:
        print("note: bubblewrap doesn't work here: the reference runs scripts of strangers as you", file=sys.stderr)
    times = [time.monotonic()]
    if options.count:
        skills = choose(skills, options.count, table, reference)
    else:
        in_parallel("reference", reference.judge, skills, options.parallel)
    times.append(time.monotonic())
    in_parallel("gongfu", Gongfu(gongfu, Path(uv).absolute(), options.timeout).judge, skills, options.parallel)
    times.append(time.monotonic())
    scripts = [script for skill in skills for script in skill.scripts]
    total = {**sums(scripts), "reference_seconds": round(times[1] - times[0]), "gongfu_seconds": round(times[2] - times[1])}
    if options.json:
        options.json.write_text(json.dumps({"sums": total, "scripts": [asdict(script) for script in scripts]}, indent=1) + "\n")
    print_table(scripts)
    print(f"\n{total['candidates']} candidates: the reference works for {total['reference_works']}, fails for {total['reference_fails']}, exceeds for {total['reference_exceeds']}")
    print(f"gongfu runs {total['gongfu_runs']} of {total['reference_works']}, {total['percent']} %")
    print(f"of those that need a package for it: {total['need_packages_and_run']} of {total['need_packages']}, {total['need_packages_percent']} %")
    print(f"references {total['reference_seconds']} s, gongfu {total['gongfu_seconds']} s")
    if not total["reference_works"]:
        print("error: nothing was tried", file=sys.stderr)
        return 1
    return 0 if total["percent"] >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Proves that each package installs on a machine without Rust, starts, and is removed without a trace.

    prove.py [--short] [--only NAME…]

Each package of dist/ (GONGFU_DIST) is installed in a changed root with an empty home (stranger.py), from the file or
from an index that is made of the files (index.py): there is no network but loopback. A real MCP client starts it; the time from the first command to its answer to `tools/list` is shown.
Then `gongfu doctor` must name the channel, `gongfu uninstall --yes` must remove the home and a client's entry, and
the command that it prints must remove the program. What is left in the file system is a failure.

The controls must fail: a wrong checksum, packages without the program, a file that is left behind. Exits 77 where
namespaces can't be made.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

import docker
import index
from plugins import START
from release import DIST, IMAGE, NAME, TOOLS, VERSION, digest
from stranger import HOME, INDEX, RELEASE, RUST, USER, Stranger, enter, stranger

SKIPPED = 77
TARGET = "x86_64-unknown-linux-gnu"
ARCHIVE = f"gongfu-{TARGET}.tar.gz"
BUNDLE = f"gongfu-{TARGET}.mcpb"
DEB = f"gongfu_{VERSION.replace('-', '~')}_amd64.deb"
NPM = [f"gongfu-{VERSION}.tgz", f"gongfu-skills-linux-x64-{VERSION}.tgz"]
WHEEL = next((file.name for file in DIST.glob("*.whl")), "gongfu.whl")
INSTALLER = f"sh {RELEASE}/install.sh"
# What package managers keep for themselves, whatever they install.
OF_MANAGERS = re.compile(
    r"^/home/user/(\.npm/(_logs|_cacache|_update-notifier-last-checked|_npx$)|\.npm$|\.npm-global|\.cache/uv|\.local/share/uv)|"
    r"^/var/(log|cache|lib/(dpkg|apt|systemd))/|^/root\b|^/tmp/(node-compile-cache|uv-|npm-)"
)


@dataclass
class Case:
    """A package: how it is installed and started, and what `gongfu doctor` must call its channel."""

    name: str
    files: list[str]
    start: str
    channel: str
    install: str = ""
    # Seconds that it may take.
    goal: float = 15
    # By root.
    as_root: bool = False
    # What there is before the clock starts.
    prepare: str = ""
    short: bool = False
    # The command of the program itself, where it isn't that of the server.
    program: str = "gongfu"


CASES = [
    Case("uvx", [WHEEL], "uvx gongfu mcp", "uvx, in its cache", program="uvx gongfu"),
    Case("uv tool", [WHEEL], "gongfu mcp", "uv", "uv tool install gongfu"),
    Case("pip", [WHEEL], "~/v/bin/gongfu mcp", "pip", f"~/v/bin/pip install --no-index {RELEASE}/{WHEEL}",
         prepare="python3 -m venv ~/v", program="~/v/bin/gongfu"),
    Case("npx", NPM, "npx --yes gongfu mcp", "npx, in its cache", program="npx --yes gongfu"),
    Case("npm", NPM, "gongfu mcp", "npm", "npm install --global gongfu", short=True),
    Case("archive", [ARCHIVE], "gongfu mcp", "the installer", f"GONGFU_BASE={RELEASE} {INSTALLER}", 3, short=True),
    Case("archive by http", [ARCHIVE], "gongfu mcp", "the installer", f"GONGFU_BASE={INDEX} {INSTALLER}", 3),
    Case("plugin", [ARCHIVE], f"sh -c {shlex.quote(START)}", "the installer", f"GONGFU_BASE={RELEASE} {INSTALLER}", 3,
         short=True),
    Case("deb", [DEB], "gongfu mcp", "the Debian package", f"dpkg --install {RELEASE}/{DEB}", 3, as_root=True, short=True),
    Case("mcpb", [BUNDLE], "~/bundle/server/gongfu mcp", "an .mcpb bundle",
         f"node /mcpb/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js unpack {RELEASE}/{BUNDLE} ~/bundle",
         program="~/bundle/server/gongfu"),
]


class Wrong(Exception):
    """A package did not do what it must."""


@dataclass
class Row:
    name: str
    size: int
    seconds: float
    goal: float | None
    problems: list[str] = field(default_factory=list)


async def tools(words: list[str]) -> int:
    """The number of tools that a server lists, asked by a real client."""
    parameters = StdioServerParameters(command=words[0], args=words[1:])
    with Path(os.devnull).open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), read_timeout_seconds=120) as client:
            return len((await client.list_tools()).tools)


def checked(machine: Stranger, script: str, user: int = USER) -> str:
    done = machine.run(script, user)
    if done.returncode:
        raise Wrong(f"`{script}` exits {done.returncode}: {(done.stderr + done.stdout).strip()[-500:]}")
    return done.stdout


def prove(machine: Stranger, case: Case, release: Path, program: str) -> Row:
    """Installs, starts, asks, removes."""
    row = Row(case.name, sum((release / name).stat().st_size for name in case.files), 0, case.goal)
    try:
        machine.reset()
        if case.prepare:
            checked(machine, case.prepare)
            machine.before = machine.files()
        started = time.monotonic()
        if case.install:
            checked(machine, case.install, 0 if case.as_root else USER)
        listed = asyncio.run(tools(machine.words(["sh", "-c", f"exec {case.start}"])))
        row.seconds = time.monotonic() - started
        if not listed:
            raise Wrong("no tools are listed")
        doctor = json.loads(machine.run(f"{case.program} doctor --json").stdout)
        said = next(check["message"] for check in doctor if check["id"] == "install")
        path = said.split(", installed by ")[0]
        if f", installed by {case.channel};" not in said:
            raise Wrong(f"doctor says: {said}")
        if digest(machine.root / path.lstrip("/")) != program:
            raise Wrong(f"{path} is another program than that of the archive")
        remove(machine, case)
        left = [path for path in machine.traces() if not OF_MANAGERS.search(path)]
        named = [path for path in machine.traces() if NAME in path and path not in left]
        if left or named:
            raise Wrong(f"left behind: {' '.join((left + named)[:5])}")
    except (Wrong, Exception) as problem:
        row.problems.append(f"{type(problem).__name__}: {problem}" if not isinstance(problem, Wrong) else str(problem))
    return row


def remove(machine: Stranger, case: Case) -> None:
    """Removes all by the commands that gongfu prints."""
    checked(machine, f"{case.program} client install cursor")
    said = checked(machine, f"{case.program} uninstall --yes")
    if "removed   the Cursor entry" not in said or "removed   the home" not in said:
        raise Wrong(f"uninstall says: {said}")
    command = said.strip().splitlines()[-1].strip()
    as_root = command.startswith("sudo ")
    if command.startswith("remove the extension"):
        command = "rm -r ~/bundle"
    command = command.removeprefix("sudo ").replace("apt ", "apt-get --yes ")
    checked(machine, command, 0 if as_root else USER)


def prove_image() -> Row | None:
    """The image, with a root that can't be written and no network."""
    file = DIST / "gongfu-image-amd64.tar.gz"
    if not file.exists():
        return None
    row = Row("image", file.stat().st_size, 0, None)
    with docker.daemon() as variables:
        if variables is None:
            return None
        started = time.monotonic()
        subprocess.run(["docker", "load", "--input", file], env=variables, check=True, capture_output=True)
        base = ["env", *(f"{name}={variables[name]}" for name in ("DOCKER_HOST",) if name in variables)]
        start = [*base, "docker", "run", "--interactive", "--rm", "--read-only", "--network", "none"]
        image = f"{IMAGE}:{VERSION}"
        if not asyncio.run(tools([*start, image])):
            row.problems.append("no tools are listed")
        row.seconds = time.monotonic() - started
        for words, wanted in [
            (["doctor", "--json"], "installed by the container image"),
            (["run", "gcd-calculator", "--", "python3", "scripts/gcd.py", "12", "18"], "6\n"),
        ]:
            done = subprocess.run([*start, image, *words], capture_output=True, text=True)
            if wanted not in done.stdout:
                row.problems.append(f"`{' '.join(words)}` says: {(done.stdout + done.stderr)[-300:]}")
        inside = subprocess.run([*start, "--entrypoint", "sh", image, "-c", "id -u; uv --version; touch /x"],
                                capture_output=True, text=True)
        if not inside.stdout.startswith("10001\nuv ") or "Read-only" not in inside.stderr:
            row.problems.append(f"inside: {inside.stdout}{inside.stderr}")
    return row


def controls(machine: Stranger, release: Path, program: str) -> list[tuple[str, bool]]:
    """Attempts that must fail; each with whether it did."""
    outcomes = []
    machine.reset()
    rust = machine.run("command -v " + " || command -v ".join(RUST))
    outcomes.append(("no Rust on this machine", rust.returncode != 0))

    def refused(name: str, change: str, wanted: str) -> None:
        machine.reset()
        script = f"mkdir r && cp {RELEASE}/{ARCHIVE} {RELEASE}/SHA256SUMS r && cd r && {change} && GONGFU_BASE=$PWD {INSTALLER}"
        done = machine.run(script)
        nothing = not (machine.root / HOME.lstrip("/") / ".local/bin/gongfu").exists()
        outcomes.append((name, done.returncode == 1 and wanted in done.stderr and nothing))

    refused("archive with a wrong checksum", f"printf x >> {ARCHIVE}", "the checksum of")
    refused("archive that is not listed", "echo > SHA256SUMS", "does not list")
    empty = f"mkdir gongfu-{TARGET} && tar -czf {ARCHIVE} gongfu-{TARGET} && sha256sum {ARCHIVE} > SHA256SUMS"
    refused("archive without the program", empty, "can't be unpacked")
    refused("home that can't be written", "rmdir ~/.local/bin && chmod 500 ~/.local", "can't be created")

    for name, argument in [("replacing another one's program", ""), ("removing another one's program", " --uninstall")]:
        machine.reset()
        other = machine.run(f"echo x > ~/.local/bin/gongfu; GONGFU_BASE={RELEASE} {INSTALLER}{argument}; cat ~/.local/bin/gongfu")
        outcomes.append((name, "error:" in other.stderr and other.stdout == "x\n"))
    without = Case("npm", NPM[:1], "gongfu mcp", "npm",
                   "npm install --global gongfu && rm -r ~/.npm-global/lib/node_modules/gongfu/node_modules")
    outcomes.append(("npm without the program", bool(prove(machine, without, release, program).problems)))
    leaking = Case("archive", [ARCHIVE], "gongfu mcp", "the installer",
                   f"GONGFU_BASE={RELEASE} {INSTALLER} && touch ~/.config/left")
    problems = prove(machine, leaking, release, program).problems
    outcomes.append(("a file that is left behind", any("left behind" in problem for problem in problems)))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="the packages that CI builds of an unoptimised program")
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    if os.geteuid():
        print("note: not run: a changed root needs root", file=sys.stderr)
        return SKIPPED
    enter()
    cases = [case for case in CASES if not options.only or case.name in options.only]
    cases = [case for case in cases if case.short or not options.short]
    missing = {name for case in cases for name in case.files if not (DIST / name).exists()}
    if missing:
        print(f"error: not in dist/: {', '.join(sorted(missing))}\n  hint: run `just dist`", file=sys.stderr)
        return 1
    rows = []
    with stranger(DIST) as machine, tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(DIST / ARCHIVE, folder)
        program = digest(Path(folder) / f"gongfu-{TARGET}" / NAME)
        if (TOOLS / "dist-node").exists():
            machine.show(TOOLS / "dist-node", "/mcpb")
        with index.served(Path(folder) / "index", INDEX):
            rows = [prove(machine, case, DIST, program) for case in cases]
            outcomes = controls(machine, DIST, program)
    if not options.short and (not options.only or "image" in options.only):
        image = prove_image()
        rows += [image] if image else []
        if not image:
            print("note: image: not run: it is not in dist/, or there is no Docker daemon", file=sys.stderr)
    print(f"{'package':16} {'MB':>6} {'seconds':>8} {'goal':>5}  outcome")
    for row in rows:
        # An unoptimised program on a busy machine proves nothing about time.
        late = row.goal and not options.short and row.seconds > row.goal
        outcome = "; ".join(row.problems) or ("too slow" if late else "ok, no trace")
        print(f"{row.name:16} {row.size / 1e6:6.1f} {row.seconds:8.2f} {row.goal or '-':>5}  {outcome}")
        row.problems += ["too slow"] if late else []
    for name, has_failed in outcomes:
        print(f"control: {name:32} {'refused' if has_failed else 'NOT REFUSED'}")
    is_good = not any(row.problems for row in rows) and all(has_failed for _, has_failed in outcomes)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())

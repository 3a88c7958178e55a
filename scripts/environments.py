#!/usr/bin/env python3
"""Runs skills whose scripts need packages, from the configured package index, by a real MCP client.

    environments.py [--gongfu BIN] [--uv BIN] [--rounds N] [--only NAME]

Each skill is run as it comes, and again once its environment is there; then all of them again while no
index can be reached, where one that was never made has to be refused. Then a skill tries to change its
environment in every way that it can: what is tried has to work on a copy that it may write, and the
environment's digest has to stay.

Prints a row for each, with times. Exits 1 on any failure, 77 when what it needs is not installed here.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from clients import NOT_INSTALLED, Client, Failure, Row, binary, described, expect, print_table, shown
from environment_poison import POISON
from environment_skills import SKILLS, Skill

try:
    from mcp import StdioServerParameters, stdio_client
except ImportError:
    pass

# How long a call may take that has to make an environment.
PATIENCE = 300.0
# Nobody listens there.
NOWHERE = "https://localhost:9/simple"
# What begins a program that reaches no network at all, where that may be made.
ALONE = ["unshare", "--net", "--"]


def lay_out(skill: Skill, folder: Path, uv: Path) -> None:
    """Makes the folder of a skill, and its lock by the ordinary tool."""
    for path, text in {"SKILL.md": f"---\nname: {skill.name}\ndescription: Runs {skill.command} for the checks.\n---\n# {skill.name}\n", **skill.files}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if path.endswith(".py"):
            file.chmod(0o755)
            if not text.startswith("#!"):
                file.write_text("#!/usr/bin/env python3\n" + text)
    if skill.lock == "uv":
        run_tool([str(uv), "lock", "--quiet", "--project", str(folder / "scripts")], folder)
    if skill.lock == "npm":
        run_tool(["npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--silent"], folder)


def run_tool(command: list[str], folder: Path) -> None:
    """Runs a tool that prepares something."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed: {done.stderr[-500:]}")


class World:
    """A home, a folder of skills, and the server over them."""

    def __init__(self, base: Path, gongfu: Path, uv: Path) -> None:
        self.base, self.gongfu, self.uv = base, gongfu, uv
        self.skills = base / "skills"
        self.skills.mkdir()

    def server(self, *, auto: bool = False, reachable: bool = True) -> Any:
        """The parameters of a server; without an index it has none at all where that can be made."""
        home = self.base / "home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(f"[dependencies]\nauto_install = {str(auto).lower()}\n")
        variables = {**os.environ, "GONGFU_HOME": str(home), "PATH": f"{self.uv.parent}:{os.environ['PATH']}"}
        command = [str(self.gongfu), "mcp", "--skills-dir", str(self.skills), "--no-default-dirs"]
        if not reachable:
            variables.update(UV_DEFAULT_INDEX=NOWHERE, npm_config_registry=NOWHERE)
            if os.geteuid() == 0:
                command = [*ALONE, *command]
        return StdioServerParameters(command=command[0], args=command[1:], env=variables, cwd=str(self.base))

    def tell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs gongfu at the command line."""
        places = ["--skills-dir", str(self.skills), "--no-default-dirs"]
        variables = {**os.environ, "GONGFU_HOME": str(self.base / "home"), "PATH": f"{self.uv.parent}:{os.environ['PATH']}"}
        return subprocess.run([str(self.gongfu), *arguments, *places], env=variables, cwd=self.base, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


async def call(client: Any, skill: Skill) -> tuple[Any, float]:
    """Runs a skill once; answers with what came of it and how long it took, in milliseconds."""
    begun = time.perf_counter()
    result = await client.call_tool("skill_run", {"skill_name": skill.name, "command": skill.command})
    return result, (time.perf_counter() - begun) * 1000


def judge(skill: Skill, result: Any, made: bool | None) -> None:
    """Whether a run said what it has to, with the environment that it has to have."""
    text = shown(result)
    expect(skill.says in text, f"it says {skill.says!r}: {text[-800:]}")
    data = result.structured_content or {}
    used = {one["from"]: one for one in data.get("environments") or []}
    if skill.proposes:
        packages = [name for one in data.get("lacks") or [] for name in one["packages"]]
        expect(skill.proposes in packages, f"{skill.proposes} is proposed: {data.get('lacks')}")
        expect(not used, f"nothing is installed: {used}")
        return
    expect(data.get("exit_code") == 0, f"it ends well: {text[-800:]}")
    source = next((one for one in used if one.startswith(skill.source)), None) if skill.source else None
    expect(bool(source) == bool(skill.source), f"its packages come from {skill.source or 'nowhere'}: {used}")
    if source and made is not None:
        expect(used[source]["made"] == made, f"made: {made}: {used}")


async def session(parameters: Any, body: Callable[[Any], Awaitable[None]]) -> None:
    """Has a client talk with a server."""
    async with Client(stdio_client(parameters)) as client:
        await body(client)


def plain_python(rounds: int) -> float:
    """How long the interpreter takes that scripts would be run by, to do nothing; in milliseconds."""
    python = shutil.which("python3")
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run([str(python), "-c", "pass"], check=True, stdin=subprocess.DEVNULL)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


async def works(world: World, table: list[Row], skills: list[Skill], rounds: int) -> dict[str, tuple[float, float]]:
    """Runs each, first without its environment and then with it."""
    times: dict[str, tuple[float, float]] = {}
    for auto in (False, True):
        chosen = [skill for skill in skills if skill.auto == auto]

        async def body(client: Any, chosen: list[Skill] = chosen) -> None:
            for skill in chosen:
                begun = time.monotonic()
                problem = ""
                try:
                    result, cold = await call(client, skill)
                    judge(skill, result, True)
                    warm = []
                    for _ in range(rounds):
                        result, took = await call(client, skill)
                        judge(skill, result, False)
                        warm.append(took)
                    times[skill.name] = (cold, statistics.median(warm))
                except Exception as error:
                    problem = described(error)
                table.append(Row(skill.name, "as it comes, and again", problem, elapsed(begun)))

        if chosen:
            await session(world.server(auto=auto), body)
    return times


async def offline(world: World, table: list[Row], skills: list[Skill]) -> None:
    """Runs each again while no index can be reached; one that was never made is refused."""
    new = Skill("never-made", {"requirements.txt": "iniconfig==2.0.0\n", "x.py": "import iniconfig\nprint('there')\n"}, "python x.py", "there", "requirements.txt")
    lay_out(new, world.skills / new.name, world.uv)
    for auto in (False, True):
        chosen = [skill for skill in skills if skill.auto == auto]

        async def body(client: Any, chosen: list[Skill] = chosen, auto: bool = auto) -> None:
            for skill in chosen:
                begun = time.monotonic()
                problem = ""
                try:
                    judge(skill, (await call(client, skill))[0], False)
                except Exception as error:
                    problem = described(error)
                table.append(Row(skill.name, "without an index", problem, elapsed(begun)))
            if not auto:
                begun = time.monotonic()
                problem = ""
                try:
                    result, _ = await call(client, new)
                    text = shown(result)
                    expect(result.is_error and "DEPENDENCIES_UNAVAILABLE" in text, f"it is refused: {text}")
                    expect("index" in text and "nothing was run" in text, f"it says why: {text}")
                except Exception as error:
                    problem = described(error)
                table.append(Row(new.name, "refused without an index", problem, elapsed(begun)))

        await session(world.server(auto=auto, reachable=False), body)

    # The control: with an index it is made.
    async def control(client: Any) -> None:
        result, _ = await call(client, new)
        judge(new, result, True)

    begun = time.monotonic()
    problem = ""
    try:
        await session(world.server(), control)
    except Exception as error:
        problem = described(error)
    table.append(Row(new.name, "made with one", problem, elapsed(begun)))


async def poisoned(world: World, table: list[Row]) -> None:
    """Lets a skill do what it can to its environment, and looks whether the next one's is as it was."""
    skill = Skill("poison", {"requirements.txt": "six\n", "scripts/poison.py": POISON}, "python scripts/poison.py /env", "tried", "requirements.txt")
    lay_out(skill, world.skills / skill.name, world.uv)
    victim = Skill("victim", {"requirements.txt": "six\n", "x.py": "import six\nprint('clean' if not hasattr(six, 'poisoned') else 'poisoned')\n"}, "python x.py", "clean", "requirements.txt")
    lay_out(victim, world.skills / victim.name, world.uv)

    def told(text: str) -> dict[str, str]:
        lines = re.findall(r"^(worked|failed): ([^:\n]+)", text, re.MULTILINE)
        return {name: how for how, name in lines}

    async def body(client: Any) -> None:
        begun = time.monotonic()
        result, _ = await call(client, skill)
        tried = told(shown(result))
        # The control: on a copy that may be written all of it works.
        copied = await client.call_tool("skill_run", {"skill_name": skill.name, "command": "cp -rL /env /workspace/copy && python scripts/poison.py /workspace/copy"})
        control = told(shown(copied))
        for name in control:
            problem = ""
            if control[name] != "worked":
                problem = f"the control fails, so it proves nothing: {shown(copied)[-500:]}"
            elif tried.get(name) != "failed":
                problem = f"it works: {shown(result)[-500:]}"
            table.append(Row(f"poison: {name}", "fails; works on a copy", problem, elapsed(begun)))
        if not control:
            table.append(Row("poison", "was tried at all", shown(copied)[-500:], elapsed(begun)))
        judge(victim, (await call(client, victim))[0], False)

    begun = time.monotonic()
    problem = ""
    try:
        before = world.tell("env", "list", "--verify")
        await session(world.server(), body)
        after = world.tell("env", "list", "--verify")
        expect(after.returncode == 0, f"every environment is as it was made: {after.stdout}")
        # The control: a change of one letter is seen.
        kept = (world.base / "home" / "environments").iterdir()
        roots = sorted(file for folder in kept for file in (folder / "root").glob("lib/python*/site-packages/six.py"))
        expect(bool(roots), "there is an environment with it")
        text = roots[0].read_bytes()
        roots[0].write_bytes(text + b"#")
        changed = world.tell("env", "list", "--verify")
        roots[0].write_bytes(text)
        expect(changed.returncode == 1 and "its files have changed" in changed.stdout, f"a change is seen: {changed.stdout}")
        expect(before.returncode == 0, f"they are whole before as well: {before.stdout}")
    except Exception as error:
        problem = described(error)
    table.append(Row("digests", "as before; a change is seen", problem, elapsed(begun)))


def elapsed(begun: float) -> int:
    """How long ago something began, in milliseconds."""
    return round((time.monotonic() - begun) * 1000)


def print_times(times: dict[str, tuple[float, float]], plain: float, start: float) -> None:
    """Prints what was measured."""
    print(f"\n{'skill':<26} {'cold':>9} {'warm':>9}")
    for name, (cold, warm) in times.items():
        print(f"{name:<26} {cold:>6.0f} ms {warm:>6.1f} ms")
    print(f"\n`python -c pass`: plain {plain:.1f} ms, in a warm environment by skill_run {start:.1f} ms, {start / plain:.2f}x\n")


async def started(world: World, rounds: int) -> float:
    """How long a run takes that does nothing in a warm environment; in milliseconds."""
    nothing = Skill("requirements-csv", {}, "python -c pass", "")
    times: list[float] = []

    async def body(client: Any) -> None:
        for _ in range(rounds):
            result, took = await call(client, nothing)
            expect(bool((result.structured_content or {}).get("environments")), "it has its environment")
            times.append(took)

    await session(world.server(), body)
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--uv", type=Path, default=None, help="uv (default: the one on the search path)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run with its environment (default: 5)")
    parser.add_argument("--only", default="", help="only the skills whose name holds this")
    options = parser.parse_args()
    uv = options.uv or shutil.which("uv")
    if Client is None or uv is None:
        print("error: the Python packages mcp and uv are not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
        return NOT_INSTALLED
    table: list[Row] = []
    skills = [skill for skill in SKILLS if options.only in skill.name]
    with tempfile.TemporaryDirectory(prefix="gongfu-environments-") as folder:
        world = World(Path(folder).resolve(), binary(options.gongfu), Path(uv).absolute())
        for skill in skills:
            lay_out(skill, world.skills / skill.name, world.uv)
        times = asyncio.run(works(world, table, skills, options.rounds))
        asyncio.run(offline(world, table, skills))
        asyncio.run(poisoned(world, table))
        if "requirements-csv" in times:
            print_times(times, plain_python(20), asyncio.run(started(world, 20)))
    print_table(table)
    failures = sum(bool(row.problem) for row in table)
    print(f"{len(table) - failures} passed, {failures} failed")
    return 1 if failures or not table else 0


if __name__ == "__main__":
    sys.exit(main())
